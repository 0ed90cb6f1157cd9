"""Windsurf: one file of servers for all projects, guidance in the user's rules or the project's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer


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
