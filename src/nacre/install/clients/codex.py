"""Codex: a table of config.toml, guidance in AGENTS.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients import toml
from nacre.install.clients.installer import Installer, Notation
from nacre.install.clients.places import named


@dataclass(frozen=True)
class CodexInstaller(Installer):
    """A project's own settings count only where Codex trusts the project."""

    client: ClassVar[str] = "codex"
    title: ClassVar[str] = "Codex"
    commands: ClassVar[tuple[str, ...]] = ("codex",)
    section: ClassVar[str] = "mcp_servers"
    notation: ClassVar[Notation] = toml

    @classmethod
    def user_path(cls) -> Path:
        return named("CODEX_HOME", Path.home() / ".codex") / "config.toml"

    @classmethod
    def project_path(cls, folder: Path) -> Path:
        return folder / ".codex" / "config.toml"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else self.user_path().parent) / "AGENTS.md"
