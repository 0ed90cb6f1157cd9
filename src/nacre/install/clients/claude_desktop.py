"""Claude Desktop: one file of settings, in a place of its own on each system."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.install.clients.installer import Installer
from nacre.install.clients.places import settings_home

FILE = "claude_desktop_config.json"


@dataclass(frozen=True)
class ClaudeDesktopInstaller(Installer):
    client: ClassVar[str] = "claude-desktop"
    title: ClassVar[str] = "Claude Desktop"

    @classmethod
    def user_path(cls) -> Path:
        home = settings_home()
        if sys.platform in ("darwin", "win32") or (home / "Claude").is_dir():
            return home / "Claude" / FILE
        return home / "claude" / FILE  # builds for Linux differ in the letter; a folder that is there decides
