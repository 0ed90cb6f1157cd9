"""The text that lets the system itself keep the maintenance of a store running: systemd on Linux, launchd on macOS."""

from __future__ import annotations

import plistlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from nacre.errors import InvalidInput

STOPPING_SECONDS = 300  # a job under way is finished; after this the system ends it, which harms nothing
AGAIN_SECONDS = 60
PLAIN = re.compile(r"[\w@+=:,./-]+\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Service:
    """`command` runs in the foreground; `folder` is where it starts, so that it reads the same settings as here."""

    command: Sequence[str]
    store: Path
    folder: Path
    log: Path

    @property
    def name(self) -> str:
        """One for each store."""
        return f"nacre-maintenance-{blake2b(str(self.store).encode(), digest_size=4).hexdigest()}"


def systemd(service: Service) -> str:
    return "\n".join([
        f"# ~/.config/systemd/user/{service.name}.service",
        f"# systemctl --user daemon-reload && systemctl --user enable --now {service.name}",
        "[Unit]",
        f"Description=Maintenance of the Nacre store {printed(str(service.store))}",
        "",
        "[Service]",
        "Type=simple",
        f"ExecStart={' '.join(map(quoted, service.command))}",
        f"WorkingDirectory={printed(str(service.folder))}",
        "Restart=on-failure",
        f"RestartSec={AGAIN_SECONDS}",
        f"TimeoutStopSec={STOPPING_SECONDS}",
        "Nice=10",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ])  # fmt: skip


def quoted(word: str) -> str:
    """As a word of ExecStart, where a percent sign and a dollar mean something even in quotes."""
    plain = printed(word).replace("$", "$$")
    if PLAIN.match(plain):
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def printed(text: str) -> str:
    if any(sign in text for sign in "\n\r\x00"):
        raise InvalidInput(f"{text!r} holds a line break, which no unit can; move it to another path.")
    return text.replace("%", "%%")


def launchd(service: Service) -> str:
    told: Mapping[str, object] = {
        "Label": service.name,
        "ProgramArguments": list(service.command),
        "WorkingDirectory": str(service.folder),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_SECONDS,
        "ExitTimeOut": STOPPING_SECONDS,
        "ProcessType": "Background",
        "StandardErrorPath": str(service.log),
    }
    return plistlib.dumps(told, sort_keys=False).decode("utf-8")


UNITS = {"systemd": systemd, "launchd": launchd}


def usual() -> str:
    """What this system has."""
    return "launchd" if sys.platform == "darwin" else "systemd"
