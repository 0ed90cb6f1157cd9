"""The supported clients: an installer for each, and the list of all by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from nacre.clients import toml
from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.installer import Installer, Notation, config_home, folder_from, settings_home
from nacre.errors import UnknownName


class ClaudeDesktopInstaller(Installer):
    client, title = "claude-desktop", "Claude Desktop"

    @classmethod
    def user_path(cls) -> Path:
        home = settings_home()
        # Builds for Linux differ in the letter; an existing folder decides.
        capital = sys.platform in ("darwin", "win32") or (home / "Claude").is_dir()
        return home / ("Claude" if capital else "claude") / "claude_desktop_config.json"


class CursorInstaller(Installer):
    """A user's rules are in Cursor's own settings, which only Cursor can change."""

    client, title, commands = "cursor", "Cursor", ("cursor", "cursor-agent")
    user_file = "~/.cursor/mcp.json"
    project_file = ".cursor/mcp.json"
    project_guidance = ".cursor/rules/nacre.mdc"
    guidance_header = "---\ndescription: How to use the long-term memory\nalwaysApply: true\n---\n\n"


class GeminiCLIInstaller(Installer):
    client, title, commands = "gemini-cli", "Gemini CLI", ("gemini",)
    user_file = "~/.gemini/settings.json"
    project_file = ".gemini/settings.json"
    user_guidance = project_guidance = "GEMINI.md"


class WindsurfInstaller(Installer):
    client, title, commands = "windsurf", "Windsurf", ("windsurf",)
    user_file = "~/.codeium/windsurf/mcp_config.json"
    user_guidance = "memories/global_rules.md"
    project_guidance = ".windsurf/rules/nacre.md"


class VSCodeInstaller(Installer):
    client, title, commands = "vscode", "VS Code", ("code",)
    section = "servers"
    project_file = ".vscode/mcp.json"
    project_guidance = ".github/copilot-instructions.md"

    @classmethod
    def user_path(cls) -> Path:
        return settings_home() / "Code" / "User" / "mcp.json"

    def build_mcp_block(self) -> dict[str, object]:
        return {"type": "stdio", **super().build_mcp_block()}


class CodexInstaller(Installer):
    """Codex reads the settings of a project only where it trusts the project."""

    client, title, commands = "codex", "Codex", ("codex",)
    section = "mcp_servers"
    notation: ClassVar[Notation] = toml
    project_file = ".codex/config.toml"
    user_guidance = project_guidance = "AGENTS.md"

    @classmethod
    def user_path(cls) -> Path:
        return folder_from("CODEX_HOME", Path.home() / ".codex") / "config.toml"


class OpenCodeInstaller(Installer):
    client, title, commands = "opencode", "OpenCode", ("opencode",)
    section = "mcp"
    user_guidance = project_guidance = "AGENTS.md"

    @classmethod
    def user_path(cls) -> Path:
        return cls.project_path(config_home() / "opencode")

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        commented = folder / "opencode.jsonc"
        return commented if commented.exists() else folder / "opencode.json"

    def build_mcp_block(self) -> dict[str, object]:
        launch = self.launch()
        env = {"environment": dict(launch.env)} if launch.env else {}
        return {"type": "local", "command": [launch.command, *launch.args], "enabled": True, **env}


INSTALLERS: Mapping[str, type[Installer]] = {
    each.client: each
    for each in (
        ClaudeCodeInstaller, ClaudeDesktopInstaller, CursorInstaller, VSCodeInstaller, WindsurfInstaller,
        CodexInstaller, GeminiCLIInstaller, OpenCodeInstaller,
    )
}  # fmt: skip


def installer_for(client: str) -> type[Installer]:
    return UnknownName.get("client", client, INSTALLERS)
