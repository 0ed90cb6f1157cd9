"""The supported clients: an installer for each, and the list of all by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from nacre.clients import toml
from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.files import config_home, folder_from, settings_home
from nacre.clients.hooks import EVENTS, TIMEOUT_SECONDS, HookInstaller
from nacre.clients.installer import Installer, Notation
from nacre.errors import UnknownName


class ClaudeDesktopInstaller(Installer):
    """It knows servers at a URL only as connectors of an account."""

    client, title = "claude-desktop", "Claude Desktop"
    url_key = ""

    @classmethod
    def user_path(cls) -> Path:
        home = settings_home()
        # Older builds for Linux have a small letter; their folder is used where there is no other.
        older = sys.platform == "linux" and (home / "claude").is_dir() and not (home / "Claude").is_dir()
        return home / ("claude" if older else "Claude") / "claude_desktop_config.json"


class CursorInstaller(Installer):
    """A user's rules are in Cursor's own settings, which only Cursor can change."""

    client, title, commands = "cursor", "Cursor", ("cursor", "cursor-agent")
    user_file = "~/.cursor/mcp.json"
    project_file = ".cursor/mcp.json"
    project_guidance = ".cursor/rules/nacre.mdc"
    guidance_header = "---\ndescription: How to use the long-term memory\nalwaysApply: true\n---\n\n"


class GeminiCLIInstaller(HookInstaller):
    """Its hooks are in the same file as its servers, and their time limit is in milliseconds."""

    client, title, commands = "gemini-cli", "Gemini CLI", ("gemini",)
    user_file = "~/.gemini/settings.json"
    project_file = ".gemini/settings.json"
    user_guidance = project_guidance = "GEMINI.md"
    url_key = "httpUrl"
    events: ClassVar[Mapping[str, str]] = {
        "SessionStart": "session-start", "BeforeAgent": "prompt", "AfterAgent": "stop",
    }  # fmt: skip
    timeout = 1_000 * TIMEOUT_SECONDS

    @property
    def hooks_path(self) -> Path:
        return self.path


class WindsurfInstaller(Installer):
    client, title, commands = "windsurf", "Windsurf", ("windsurf",)
    user_file = "~/.codeium/windsurf/mcp_config.json"
    user_guidance = "memories/global_rules.md"
    url_key = "serverUrl"
    project_guidance = ".windsurf/rules/nacre.md"


class VSCodeInstaller(Installer):
    client, title, commands = "vscode", "VS Code", ("code",)
    section = "servers"
    remote_type = "http"
    project_file = ".vscode/mcp.json"
    project_guidance = ".github/copilot-instructions.md"

    @classmethod
    def user_path(cls) -> Path:
        return settings_home() / "Code" / "User" / "mcp.json"

    def local_block(self) -> dict[str, object]:
        return {"type": "stdio", **super().local_block()}


class CodexInstaller(HookInstaller):
    """Codex reads the settings of a project only where it trusts the project, and runs hooks only after the user has
    looked at them (`/hooks`)."""

    client, title, commands = "codex", "Codex", ("codex",)
    section = "mcp_servers"
    notation: ClassVar[Notation] = toml
    project_file = ".codex/config.toml"
    user_guidance = project_guidance = "AGENTS.md"
    headers_key = "http_headers"
    events: ClassVar[Mapping[str, str]] = {
        event: name for event, name in EVENTS.items() if event != "SessionEnd"  # which older versions do not know
    }  # fmt: skip

    @classmethod
    def user_path(cls) -> Path:
        return folder_from("CODEX_HOME", Path.home() / ".codex") / "config.toml"

    @property
    def hooks_path(self) -> Path:
        return self.path.with_name("hooks.json")

    def local_block(self) -> dict[str, object]:
        """A server that is not required has one second to start, and Codex then goes on without it. In a file that
        others share it stays optional: Codex does not start without a required server."""
        return {**super().local_block(), **({"required": True} if self.required and self.folder is None else {})}


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

    remote_type = "remote"

    def remote_block(self) -> dict[str, object]:
        return {**super().remote_block(), "enabled": True}

    def local_block(self) -> dict[str, object]:
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
