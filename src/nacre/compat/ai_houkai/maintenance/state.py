"""When each job last ran, as a JSON file."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from nacre.files import atomic_write, private_folder

log = logging.getLogger("nacre")


@dataclass
class MaintenanceState:
    last_decay_at: float | None = None
    last_reflect_at: float | None = None
    total_decayed: int = 0
    total_reflected: int = 0

    def save(self, path: Path | str) -> None:
        file = Path(path).expanduser()
        private_folder(file.parent)
        atomic_write(file, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> MaintenanceState:
        """Ignores unknown keys; without a readable file every job counts as never run."""
        file = Path(path).expanduser()
        try:
            values = json.loads(file.read_text("utf-8")) if file.exists() else {}
        except (OSError, ValueError) as error:
            log.warning("The state %s cannot be read, so every job counts as never run: %s", file, error)
            values = {}
        known = {each.name for each in fields(cls)} & {*(values if isinstance(values, dict) else ())}
        return cls(**{name: values[name] for name in known if isinstance(values[name], int | float)})

    @staticmethod
    def next_run_at(last: float | None, every: float, now: float | None = None) -> float:
        """What never ran is due at once."""
        return (time.time() if now is None else now) - 1 if last is None else last + every
