"""Installs the MCP server, the hooks and the permission to use the tools into Claude Code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.clients import jsonc
from nacre.clients.files import FileChange, folder_from, rewrite
from nacre.clients.hooks import HookInstaller
from nacre.clients.installer import any_exists, guidance

ALLOWED = ("permissions", "allow")
NOT_IN_A_RULE = re.compile(r"[^A-Za-z0-9_-]")  # Claude Code writes these signs of a server's name as underscores


@dataclass(frozen=True)
class ClaudeCodeInstaller(HookInstaller):
    """The default `settings_path` is that of AI-Houkai. Claude Code itself reads servers from `user_path` and
    `project_path`; an empty `settings_path` means those."""

    settings_path: str = "~/.claude/settings.json"
    overwrite_unparseable: bool = True

    client, title, commands = "claude-code", "Claude Code", ("claude",)
    project_file = ".mcp.json"
    remote_type = "http"
    always_load: ClassVar[bool] = True  # else the tools are deferred, and the first turn has none of them

    @classmethod
    def user_path(cls) -> Path:
        return folder_from("CLAUDE_CONFIG_DIR", Path.home()) / ".claude.json"

    @classmethod
    def is_present(cls) -> bool:
        return any_exists((cls.user_path(), user_folder()), cls.commands)

    @property
    def hooks_path(self) -> Path:
        return (self.folder / ".claude" if self.folder is not None else user_folder()) / "settings.json"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else user_folder()) / "CLAUDE.md"

    def build_mcp_block(self) -> dict[str, object]:
        return {**super().build_mcp_block(), **({"alwaysLoad": True} if self.always_load else {})}

    @property
    def rule(self) -> str:
        """The permission for every tool of the server."""
        return f"mcp__{NOT_IN_A_RULE.sub('_', self.server_name)}"

    def allow(self) -> FileChange:
        """Lets the tools be used without asking, which a session without a person could not answer."""
        return rewrite(self.hooks_path, self.with_permission, replace_unreadable=self.overwrite_unparseable)

    def disallow(self) -> bool:
        return self.take_back(self.hooks_path, self._not_allowed)

    def with_permission(self, text: str) -> str:
        return text if self.rule in rules_of(text) else jsonc.append(text, ALLOWED, self.rule)

    def _not_allowed(self, text: str) -> str:
        rules = rules_of(text)
        return jsonc.take(text, (*ALLOWED, rules.index(self.rule))) if self.rule in rules else text

    @staticmethod
    def claudemd_snippet() -> str:
        return guidance()


def rules_of(text: str) -> list[object]:
    permissions = jsonc.read(text).get("permissions")
    rules = permissions.get("allow") if isinstance(permissions, dict) else None
    return rules if isinstance(rules, list) else []


def user_folder() -> Path:
    return folder_from("CLAUDE_CONFIG_DIR", Path.home() / ".claude")
