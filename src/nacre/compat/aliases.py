"""Lets `import ai_houkai` find `nacre.compat.ai_houkai`: the older names, for programs that cannot be changed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType

from nacre.errors import UnknownName

HOME = "nacre.compat"
SYSTEMS = ("ai_houkai", "mnemosyne", "amplihack_memory", "ai_lessons")


class Alias(InspectLoader):
    """Gives the same module under another name, not a copy: a change under one name is seen under the other."""

    def __init__(self, target: ModuleSpec) -> None:
        self.target = target

    def exec_module(self, module: ModuleType) -> None:
        """The import system returns what is in `sys.modules` afterwards, and drops the empty module it made."""
        sys.modules[module.__name__] = import_module(self.target.name)

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002 (the protocol's signature)
        return self.target.submodule_search_locations is not None

    def get_source(self, fullname: str) -> str | None:  # noqa: ARG002
        loader = self.target.loader
        return loader.get_source(self.target.name) if isinstance(loader, InspectLoader) else None

    def get_code(self, fullname: str) -> CodeType | None:  # noqa: ARG002
        """For `python -m`."""
        loader = self.target.loader
        return loader.get_code(self.target.name) if isinstance(loader, InspectLoader) else None


class Aliases(MetaPathFinder):
    """Is the first finder, so that no other one loads a part of such a package a second time."""

    def __init__(self) -> None:
        self.systems: dict[str, bool] = {}  # whether each also replaces an installed package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in self.systems or not (is_ours(root) if path is not None else self._is_free(root, target)):
            return None
        result = find_spec(f"{HOME}.{fullname}")
        return None if result is None else spec_from_loader(fullname, Alias(result), origin=result.origin)

    def _is_free(self, root: str, target: ModuleType | None) -> bool:
        """A package of that name that is really installed keeps its name, unless it is replaced by force."""
        if self.systems[root]:
            return True
        others = (finder for finder in sys.meta_path if finder is not self)
        matches = (finder.find_spec(root, None, target) for finder in others)
        installed = next((spec.origin for spec in matches if spec is not None and spec.origin is not None), None)
        if installed is not None:  # a mere folder has no origin
            remedy = f"nacre.compat.install({root!r}, force=True) replaces it"
            warnings.warn(f"{root} is the package at {installed}, not Nacre's; {remedy}.", stacklevel=2)
        return installed is None


ALIASES = Aliases()


def install(*systems: str, force: bool = False) -> None:
    """From now on these packages, or all four, are imported from here. An installed package of that name is replaced
    only with `force`, also where it was imported before; else its import warns. Raises `UnknownName`."""
    names = [named(system) for system in systems] or list(SYSTEMS)
    ALIASES.systems |= dict.fromkeys(names, force)
    if ALIASES not in sys.meta_path:
        sys.meta_path.insert(0, ALIASES)
    replaced = [name for name in names if force and not is_ours(name)]
    for module in [module for module in sys.modules if module.partition(".")[0] in replaced]:
        del sys.modules[module]


def named(system: str) -> str:
    """The package's name; distribution names such as ai-houkai and amplihack-memory-lib are accepted too."""
    name = system.lower().replace("-", "_").removesuffix("_lib")
    if name not in SYSTEMS:
        raise UnknownName("system", system, SYSTEMS)
    return name


def is_ours(root: str) -> bool:
    return root in sys.modules and sys.modules[root] is sys.modules.get(f"{HOME}.{root}")
