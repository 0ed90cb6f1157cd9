"""What setting the server up has in common for all programs; each says where its settings are and how they look."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from nacre.errors import ConfigError
from nacre.install.clients import guidance as guiding
from nacre.install.clients import jsonc
from nacre.install.clients.files import Rewritten, rewrite, text_of, unreadable
from nacre.install.clients.launching import own_command
from nacre.install.clients.places import any_there
from nacre.wiring import IN_MEMORY, store_file


class Notation(Protocol):
    """Changes one place of a text and leaves the rest; raises `ValueError` for a text that it cannot read."""

    def read(self, text: str) -> dict[str, object]: ...
    def put(self, text: str, path: Sequence[str], value: object) -> str: ...
    def take(self, text: str, path: Sequence[str]) -> str: ...
    def render(self, value: object) -> str: ...


@dataclass(frozen=True, slots=True)
class Launch:
    """How a program starts the server."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Installer(ABC):
    """An empty `store` or `space` is left to the settings that hold where the server is started. Without a
    `settings_path` the program's own place is meant: of the project in `folder`, or of the user."""

    store: str = ""
    space: str = ""
    settings_path: str = ""
    server_name: str = "nacre"
    extra_env: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    folder: Path | None = None
    overwrite_unparseable: bool = False

    client: ClassVar[str]
    title: ClassVar[str]
    commands: ClassVar[tuple[str, ...]] = ()  # one on the PATH means that the program is here
    section: ClassVar[str] = "mcpServers"
    notation: ClassVar[Notation] = jsonc
    guidance_header: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def user_path(cls) -> Path: ...

    @classmethod
    def project_path(cls, folder: Path) -> Path | None:  # noqa: ARG003
        """None where the program knows no settings of a project."""
        return None

    def guidance_path(self) -> Path | None:
        """The file of instructions that the program reads by itself; None where there is none."""
        return None

    @classmethod
    def found(cls) -> bool:
        """Whether the program seems to be on this machine."""
        return any_there((cls.user_path(), cls.user_path().parent), cls.commands)

    @property
    def path(self) -> Path:
        if self.settings_path:
            return Path(self.settings_path).expanduser().absolute()
        own = self.project_path(self.folder) if self.folder is not None else None
        return own if own is not None else self.user_path()

    def launch(self) -> Launch:
        command, *start = own_command()
        named = ("--profile", self.profile) if self.profile else ()
        return Launch(command, (*start, "mcp", *named), self.environment())

    def environment(self) -> dict[str, str]:
        placed = self.store if self.store in ("", IN_MEMORY) else str(store_file(self.store).absolute())
        given = {"NACRE_STORE": placed, "NACRE_SPACE": self.space}
        return {**{name: value for name, value in given.items() if value}, **self.extra_env}

    def build_mcp_block(self) -> dict[str, object]:
        launch = self.launch()
        env = {"env": dict(launch.env)} if launch.env else {}
        return {"command": launch.command, "args": list(launch.args), **env}

    def build_settings_block(self) -> dict[str, object]:
        return {self.section: {self.server_name: self.build_mcp_block()}}

    def config_text(self) -> str:
        return self.notation.render(self.build_settings_block())

    def print_config(self) -> None:
        sys.stdout.write(self.config_text() + "\n")

    def entry(self) -> dict[str, object] | None:
        """What stands in the settings under the server's name. Raises `ConfigError` where they cannot be read."""
        try:
            servers = self.notation.read(text_of(self.path)).get(self.section)
        except ValueError as error:
            raise unreadable(self.path, error) from error
        found = servers.get(self.server_name) if isinstance(servers, dict) else None
        return found if isinstance(found, dict) else None

    def install(self) -> Path:
        """Sets only its own entry, and keeps all else; doing it again changes nothing."""
        return self.write_settings().file

    def write_settings(self) -> Rewritten:
        place, block = (self.section, self.server_name), self.build_mcp_block()
        return rewrite(
            self.path,
            lambda text: self.notation.put(text, place, block),
            replace_unreadable=self.overwrite_unparseable,
        )

    def uninstall(self) -> bool:
        """Takes out its own entry alone; False where there was none."""
        return rewrite(self.path, lambda text: self.notation.take(text, (self.section, self.server_name))).changed

    def verify(self) -> bool:
        """Whether the settings hold the entry as it would be written now."""
        try:
            return self.entry() == self.build_mcp_block()
        except ConfigError:
            return False

    def launch_of(self, entry: Mapping[str, object]) -> Launch:
        """How the program would start the server, from what its settings say."""
        return Launch(str(entry.get("command", "")), words(entry.get("args")), pairs(entry.get("env")))

    def guidance(self) -> str:
        return guiding.guidance(self.server_name)

    def write_guidance(self) -> Rewritten | None:
        place = self.guidance_path()
        if place is None:
            return None
        return rewrite(place, lambda text: guiding.with_guidance(text, self.guidance(), self.guidance_header))

    def remove_guidance(self) -> bool:
        place = self.guidance_path()
        if place is None:
            return False
        return rewrite(place, lambda text: guiding.without_guidance(text, self.guidance_header)).changed


def words(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, list) else ()


def pairs(given: object) -> dict[str, str]:
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
