"""Starts and stops the maintenance process, and finds it by its pid file."""

from __future__ import annotations

import sys
from pathlib import Path

from nacre.files import atomic_write, private_folder
from nacre.lifecycle import daemon

get_pid, remove_pid, stop_daemon = daemon.get_pid, daemon.remove_pid, daemon.stop_daemon


def write_pid(pid_path: str | Path, pid: int) -> None:
    """The process id only, as other programs read it."""
    private_folder(Path(pid_path).parent)
    atomic_write(Path(pid_path), str(pid))


def is_alive(pid_path: str | Path) -> bool:
    pid = get_pid(pid_path)
    return pid is not None and daemon.is_alive(pid)


def spawn_detached(store_path: str, collection: str, log_path: str, pid_path: str) -> int:
    """Starts `houkai maintenance run` in the background; returns its process id."""
    command = [sys.executable, "-m", "nacre.compat.ai_houkai.cli", "--store", store_path, "--collection", collection]
    pid = daemon.spawn_detached([*command, "maintenance", "run"], log_path)
    write_pid(pid_path, pid)
    return pid
