"""When each job last ran, as a JSON file."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nacre.lifecycle import state


@dataclass
class MaintenanceState(state.MaintenanceState):
    @staticmethod
    def next_run_at(last: float | None, every: float, now: float | None = None) -> float:
        """What never ran is due at once."""
        return (time.time() if now is None else now) - 1 if last is None else last + every
