"""Claude Code: servers in ~/.claude.json or a project's .mcp.json, hooks in settings.json, guidance in CLAUDE.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients import claude_hooks
from nacre.install.clients import guidance as guiding
from nacre.install.clients.files import Rewritten, rewrite
from nacre.install.clients.installer import Installer
from nacre.install.clients.launching import own_command
from nacre.install.clients.places import any_there, named


@dataclass(frozen=True)
class ClaudeCodeInstaller(Installer):
    """By itself it writes the settings file that it was always asked to write. Claude Code reads servers from
    `user_path` and `project_path`, and an empty `settings_path` means those."""

    settings_path: str = "~/.claude/settings.json"
    overwrite_unparseable: bool = True

    client: ClassVar[str] = "claude-code"
    title: ClassVar[str] = "Claude Code"
    commands: ClassVar[tuple[str, ...]] = ("claude",)

    @classmethod
    def user_path(cls) -> Path:
        return named("CLAUDE_CONFIG_DIR", Path.home()) / ".claude.json"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".mcp.json"

    @classmethod
    def found(cls) -> bool:
        return any_there((cls.user_path(), user_folder()), cls.commands)

    @property
    def hooks_path(self) -> Path:
        return (self.folder / ".claude" if self.folder is not None else user_folder()) / "settings.json"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else user_folder()) / "CLAUDE.md"

    def hook_command(self) -> tuple[str, ...]:
        chosen = {"--store": self.environment().get("NACRE_STORE", ""), "--space": self.space}
        return (*own_command(), *(word for flag, value in chosen.items() if value for word in (flag, value)))

    def hooks_text(self) -> str:
        return claude_hooks.with_hooks("", self.hook_command()).rstrip("\n")

    def write_hooks(self) -> Rewritten:
        command = self.hook_command()
        return rewrite(
            self.hooks_path,
            lambda text: claude_hooks.with_hooks(text, command),
            replace_unreadable=self.overwrite_unparseable,
        )

    def remove_hooks(self) -> bool:
        return rewrite(self.hooks_path, claude_hooks.without_hooks).changed

    @staticmethod
    def claudemd_snippet() -> str:
        return guiding.guidance()


def user_folder() -> Path:
    return named("CLAUDE_CONFIG_DIR", Path.home() / ".claude")
