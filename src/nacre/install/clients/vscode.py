"""VS Code: mcp.json of the user's profile or of a workspace, which may have comments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer
from nacre.install.clients.places import settings_home


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
