"""Where programs keep their settings, on each system."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


def settings_home() -> Path:
    """Where desktop programs keep theirs: ~/.config, Application Support, or %APPDATA%."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return named("APPDATA", Path.home() / "AppData" / "Roaming")
    return config_home()


def config_home() -> Path:
    """Where programs of the terminal keep theirs, on every system."""
    return named("XDG_CONFIG_HOME", Path.home() / ".config")


def named(variable: str, otherwise: Path) -> Path:
    """The folder that an environment variable names."""
    given = os.environ.get(variable, "").strip()
    return Path(given).expanduser() if given else otherwise


def any_there(places: Iterable[Path], commands: Iterable[str]) -> bool:
    return any(place.exists() for place in places) or any(shutil.which(command) for command in commands)
