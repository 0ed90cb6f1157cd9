"""Which space the hooks and `nacre ingest --space project` use for a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from nacre.project import project_of
from nacre.settings import ENVIRONMENT, from_files


def space_of(folder: Path, known: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> str:
    """The space that was chosen (environment, .nacre.toml, config.toml), else the project's own."""
    return chosen_space(folder, os.environ if environment is None else environment) or project_of(folder).space(known)


def chosen_space(folder: Path, environment: Mapping[str, str]) -> str:
    """Empty when none was chosen. Raises `ConfigError`."""
    named = environment.get(f"{ENVIRONMENT}SPACE", "").strip()
    if named:
        return named
    for source in reversed(from_files(folder.absolute())):
        if space := str(source.values.get("space", "")):
            return space
    return ""
