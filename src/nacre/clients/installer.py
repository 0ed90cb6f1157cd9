"""The base of all installers: writes the MCP server and the guidance into the files of a client."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from nacre.clients import jsonc
from nacre.clients.files import FileChange, pruned, rewrite, take_back, text_of, unreadable
from nacre.errors import ConfigError
from nacre.factory import IN_MEMORY, is_database, store_file
from nacre.files import PRIVATE_FILE
from nacre.settings import has_password

SHARED_COMMAND = "nacre"
SCRIPT = "nacre.exe" if sys.platform == "win32" else "nacre"


def own_command() -> tuple[str, ...]:
    """The command that starts this program from any folder: the script beside this interpreter, else the interpreter.

    -P keeps files of the current folder, perhaps of a stranger's project, from being imported instead of ours.
    """
    interpreter = Path(os.path.abspath(sys.executable))  # noqa: PTH100 (must not follow a link into an environment)
    script = interpreter.with_name(SCRIPT)
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (str(interpreter), "-P", "-m", "nacre")


def any_exists(places: Iterable[Path], commands: Iterable[str]) -> bool:
    return any(place.exists() for place in places) or any(shutil.which(command) for command in commands)


def is_own(entry: Mapping[str, object] | None) -> bool:
    """Whether an entry starts this program, or holds the token of a server."""
    if entry is None:
        return False
    command, arguments = entry.get("command"), entry.get("args")
    started = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    words = [*started, *(arguments if isinstance(arguments, list) else [])]
    headers = next((value for name, value in entry.items() if name.endswith("headers")), {})
    named = isinstance(headers, dict) and "authorization" in {str(name).lower() for name in headers}
    return named or any(Path(str(word)).name in (SHARED_COMMAND, SCRIPT) for word in words)


BEGIN = "<!-- nacre:begin -->"
END = "<!-- nacre:end -->"
SECTION = re.compile(rf"(?:\r?\n)?{BEGIN}.*?{END}(?:\r?\n|\Z)", re.DOTALL)


def guidance(server: str = "nacre") -> str:
    """What to tell an agent about its memory."""
    return Path(__file__).with_name("guidance.md").read_text("utf-8").format(server=server)


def with_guidance(text: str, guidance_text: str, header: str = "") -> str:
    """Between marks, so that it can be updated or removed. `header` starts a new file."""
    line = "\r\n" if "\r\n" in text else "\n"
    section = f"{BEGIN}\n{guidance_text.strip()}\n{END}\n".replace("\n", line)
    if not text:
        return header.replace("\n", line) + section
    if (match := SECTION.search(text)) is not None:
        begin = text.index(BEGIN, match.start())
        return text[:begin] + section + text[match.end() :]
    ended = text if text.endswith("\n") else text + line
    return ended + line + section


def without_guidance(text: str, header: str = "") -> str:
    """Empty where the file held nothing else."""
    if SECTION.search(text) is None:
        return text
    rest = SECTION.sub("", text)
    return "" if rest.strip() == header.strip() else rest


class Notation(Protocol):
    """A file format. Changes one place of a text and keeps the rest; raises `ValueError` for an invalid text."""

    def read(self, text: str) -> dict[str, object]: ...
    def put(self, text: str, path: Sequence[str], value: object) -> str: ...
    def take(self, text: str, path: Sequence[str]) -> str: ...
    def render(self, value: object) -> str: ...


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts the server."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Installer:
    """An empty `store` or `space` leaves the choice to the settings where the server is started. The default path is
    that of the client: of the project in `folder`, or of the user."""

    store: str = ""
    space: str = ""
    settings_path: str = ""
    server_name: str = "nacre"
    extra_env: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    url: str = ""  # of a server that runs already; else the client starts one
    token: str = ""
    folder: Path | None = None
    overwrite_unparseable: bool = False
    required: bool = True  # whether a client that can wait for the server does, and does not start without it

    client: ClassVar[str]
    title: ClassVar[str]
    commands: ClassVar[tuple[str, ...]] = ()  # one of them on the PATH means that the client is installed
    section: ClassVar[str] = "mcpServers"
    notation: ClassVar[Notation] = jsonc
    # How the client writes a server at a URL; an empty key where it has none in this file.
    url_key: ClassVar[str] = "url"
    headers_key: ClassVar[str] = "headers"
    remote_type: ClassVar[str] = ""
    # Files, empty where the client has none: a project's are relative to its folder, the user's guidance to the folder
    # of the user's settings.
    user_file: ClassVar[str] = ""
    project_file: ClassVar[str] = ""
    user_guidance: ClassVar[str] = ""
    project_guidance: ClassVar[str] = ""
    guidance_header: ClassVar[str] = ""

    @classmethod
    def user_path(cls) -> Path:
        return Path(cls.user_file).expanduser()

    @classmethod
    def project_path(cls, folder: Path) -> Path | None:
        """None where the client has no settings per project."""
        return folder / cls.project_file if cls.project_file else None

    def guidance_path(self) -> Path | None:
        """The file of instructions that the client reads; None where there is none."""
        if self.folder is not None:
            return self.folder / self.project_guidance if self.project_guidance else None
        return self.user_path().parent / self.user_guidance if self.user_guidance else None

    @classmethod
    def is_present(cls) -> bool:
        """Whether the client seems to be on this machine."""
        return any_exists((cls.user_path(), cls.user_path().parent), cls.commands)

    @property
    def path(self) -> Path:
        if self.settings_path:
            return Path(self.settings_path).expanduser().absolute()
        own = self.project_path(self.folder) if self.folder is not None else None
        return own if own is not None else self.user_path()

    def program(self) -> tuple[str, ...]:
        """Others may share a project's file, so there it is the program on the PATH."""
        return own_command() if self.folder is None else (SHARED_COMMAND,)

    def launch(self) -> Launch:
        command, *start = self.program()
        named = ("--profile", self.profile) if self.profile else ()
        return Launch(command, (*start, "mcp", *named), self.environment())

    def environment(self) -> dict[str, str]:
        as_it_is = self.folder is not None or self.store in ("", IN_MEMORY) or is_database(self.store)
        placed = self.store if as_it_is else str(store_file(self.store).absolute())
        values = {"NACRE_STORE": placed, "NACRE_SPACE": self.space}
        return {**{name: value for name, value in values.items() if value}, **self.extra_env}

    def build_mcp_block(self) -> dict[str, object]:
        return self.remote_block() if self.url else self.local_block()

    def remote_block(self) -> dict[str, object]:
        kind = {"type": self.remote_type} if self.remote_type else {}
        headers = {self.headers_key: {"Authorization": f"Bearer {self.token}"}} if self.token else {}
        return {**kind, self.url_key: self.url, **headers}

    def local_block(self) -> dict[str, object]:
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
        """The server's entry in the settings. Raises `ConfigError` where they cannot be read."""
        try:
            return self._entry_in(text_of(self.path))
        except ValueError as error:
            raise unreadable(self.path, error) from error

    def _entry_in(self, text: str) -> dict[str, object] | None:
        servers = self.notation.read(text).get(self.section)
        server = servers.get(self.server_name) if isinstance(servers, dict) else None
        return server if isinstance(server, dict) else None

    def install(self) -> Path:
        """Sets only its own entry. A second call changes nothing."""
        return self.write_settings().file

    def with_server(self, text: str) -> str:
        """The settings with its own entry."""
        return self.notation.put(text, (self.section, self.server_name), self.build_mcp_block())

    def write_settings(self) -> FileChange:
        return rewrite(
            self.path,
            self.with_server,
            replace_unreadable=self.overwrite_unparseable,
            mode=PRIVATE_FILE if self.token or has_password(self.store) else None,
        )

    def uninstall(self) -> bool:
        """Removes only its own entry, and a file that has nothing else; False where there was no entry.

        An entry of this name that starts another program stays, also in backups.
        """

        def remove(text: str) -> str:
            entry = self._entry_in(text)
            foreign = entry is not None and "command" in entry and not is_own(entry)
            return text if foreign else self.notation.take(text, (self.section, self.server_name))

        def remove_own(text: str) -> str:
            return remove(text) if is_own(self._entry_in(text)) else text

        return take_back(self.path, remove, lambda text: pruned(self.notation.read(text)), remove_own)

    def take_back(self, file: Path, remove: Callable[[str], str]) -> bool:
        """Of a JSON file beside the settings."""
        return take_back(file, remove, lambda text: pruned(jsonc.read(text)))

    def verify(self) -> bool:
        """Whether the settings hold the entry that would be written now."""
        try:
            return self.entry() == self.build_mcp_block()
        except ConfigError:
            return False

    def guidance(self) -> str:
        return guidance(self.server_name)

    def with_guidance(self, text: str) -> str:
        return with_guidance(text, self.guidance(), self.guidance_header)

    def write_guidance(self) -> FileChange | None:
        place = self.guidance_path()
        if place is None:
            return None
        return rewrite(place, self.with_guidance)

    def remove_guidance(self) -> bool:
        place = self.guidance_path()
        if place is None:
            return False
        return take_back(place, lambda text: without_guidance(text, self.guidance_header), str.rstrip)
