"""Cursor: mcp.json of the user or of a project, guidance as a rule of the project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer


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
        # The rules of a user live in Cursor's own settings, which only Cursor itself can change.
        return self.folder / ".cursor" / "rules" / "nacre.mdc" if self.folder is not None else None
