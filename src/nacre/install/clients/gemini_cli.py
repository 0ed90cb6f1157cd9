"""Gemini CLI: settings.json of the user or of a project, guidance in GEMINI.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer


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
