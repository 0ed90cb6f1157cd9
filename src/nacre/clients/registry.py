"""The supported clients: an installer for each, and the list of all by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.clients import toml
from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.installer import (
    Installer,
    Launch,
    Notation,
    config_home,
    folder_from,
    settings_home,
    string_list,
    string_map,
)
from nacre.errors import UnknownName

FILE = "claude_desktop_config.json"


@dataclass(frozen=True)
class ClaudeDesktopInstaller(Installer):
    client: ClassVar[str] = "claude-desktop"
    title: ClassVar[str] = "Claude Desktop"

    @classmethod
    def user_path(cls) -> Path:
        home = settings_home()
        if sys.platform in ("darwin", "win32") or (home / "Claude").is_dir():
            return home / "Claude" / FILE
        return home / "claude" / FILE  # builds for Linux differ in the letter; an existing folder decides


@dataclass(frozen=True)
class CursorInstaller(Installer):
    client: ClassVar[str] = "cursor"
    title: ClassVar[str] = "Cursor"
    commands: ClassVar[tuple[str, ...]] = ("cursor", "cursor-agent")
    guidance_header: ClassVar[str] = "---\ndescription: How to use the long-term memory\nalwaysApply: true\n---\n\n"

    @classmethod
    def user_path(cls) -> Path:
        return Path.home() / ".cursor" / "mcp.json"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".cursor" / "mcp.json"

    def guidance_path(self) -> Path | None:
        # A user's rules are in Cursor's own settings, which only Cursor can change.
        return self.folder / ".cursor" / "rules" / "nacre.mdc" if self.folder is not None else None


@dataclass(frozen=True)
class GeminiCLIInstaller(Installer):
    client: ClassVar[str] = "gemini-cli"
    title: ClassVar[str] = "Gemini CLI"
    commands: ClassVar[tuple[str, ...]] = ("gemini",)

    @classmethod
    def user_path(cls) -> Path:
        return Path.home() / ".gemini" / "settings.json"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".gemini" / "settings.json"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else self.user_path().parent) / "GEMINI.md"


@dataclass(frozen=True)
class WindsurfInstaller(Installer):
    client: ClassVar[str] = "windsurf"
    title: ClassVar[str] = "Windsurf"
    commands: ClassVar[tuple[str, ...]] = ("windsurf",)

    @classmethod
    def user_path(cls) -> Path:
        return Path.home() / ".codeium" / "windsurf" / "mcp_config.json"

    def guidance_path(self) -> Path:
        if self.folder is not None:
            return self.folder / ".windsurf" / "rules" / "nacre.md"
        return self.user_path().parent / "memories" / "global_rules.md"


@dataclass(frozen=True)
class VSCodeInstaller(Installer):
    client: ClassVar[str] = "vscode"
    title: ClassVar[str] = "VS Code"
    commands: ClassVar[tuple[str, ...]] = ("code",)
    section: ClassVar[str] = "servers"

    @classmethod
    def user_path(cls) -> Path:
        return settings_home() / "Code" / "User" / "mcp.json"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".vscode" / "mcp.json"

    def build_mcp_block(self) -> dict[str, object]:
        return {"type": "stdio", **super().build_mcp_block()}

    def guidance_path(self) -> Path | None:
        return self.folder / ".github" / "copilot-instructions.md" if self.folder is not None else None


@dataclass(frozen=True)
class CodexInstaller(Installer):
    """Codex reads the settings of a project only where it trusts the project."""

    client: ClassVar[str] = "codex"
    title: ClassVar[str] = "Codex"
    commands: ClassVar[tuple[str, ...]] = ("codex",)
    section: ClassVar[str] = "mcp_servers"
    notation: ClassVar[Notation] = toml

    @classmethod
    def user_path(cls) -> Path:
        return folder_from("CODEX_HOME", Path.home() / ".codex") / "config.toml"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".codex" / "config.toml"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else self.user_path().parent) / "AGENTS.md"


FILES = ("opencode.jsonc", "opencode.json")


@dataclass(frozen=True)
class OpenCodeInstaller(Installer):
    client: ClassVar[str] = "opencode"
    title: ClassVar[str] = "OpenCode"
    commands: ClassVar[tuple[str, ...]] = ("opencode",)
    section: ClassVar[str] = "mcp"

    @classmethod
    def user_path(cls) -> Path:
        return in_use(config_home() / "opencode")

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return in_use(folder)

    def build_mcp_block(self) -> dict[str, object]:
        launch = self.launch()
        env = {"environment": dict(launch.env)} if launch.env else {}
        return {"type": "local", "command": [launch.command, *launch.args], "enabled": True, **env}

    def launch_of(self, entry: Mapping[str, object]) -> Launch:
        command, *args = string_list(entry.get("command")) or ("",)
        return Launch(command, tuple(args), string_map(entry.get("environment")))

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else self.user_path().parent) / "AGENTS.md"


def in_use(folder: Path) -> Path:
    return next((folder / name for name in FILES if (folder / name).exists()), folder / FILES[-1])


INSTALLERS: Mapping[str, type[Installer]] = {
    each.client: each
    for each in (
        ClaudeCodeInstaller,
        ClaudeDesktopInstaller,
        CursorInstaller,
        VSCodeInstaller,
        WindsurfInstaller,
        CodexInstaller,
        GeminiCLIInstaller,
        OpenCodeInstaller,
    )
}


def installer_for(client: str) -> type[Installer]:
    if client not in INSTALLERS:
        raise UnknownName("client", client, INSTALLERS)
    return INSTALLERS[client]
