"""OpenCode: opencode.json or opencode.jsonc of the user or of a project, guidance in AGENTS.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer, Launch, pairs, words
from nacre.install.clients.places import config_home

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
        command, *args = words(entry.get("command")) or ("",)
        return Launch(command, tuple(args), pairs(entry.get("environment")))

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else self.user_path().parent) / "AGENTS.md"


def in_use(folder: Path) -> Path:
    return next((folder / name for name in FILES if (folder / name).exists()), folder / FILES[-1])
