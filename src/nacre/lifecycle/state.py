"""The history of the maintenance jobs, in the store itself."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from nacre.model.memory import Json
from nacre.protocols import TermSet

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

HISTORY_KIND = "maintenance"
SET_BACK = 3_600.0  # a last run so far ahead was recorded by a clock that was set back since
LONGEST_ERROR = 500  # characters; the log has all of it


@dataclass(frozen=True, slots=True)
class JobHistory:
    """`last_at` is the last success; `error` is what went wrong since, and empty after a success."""

    last_at: float | None = None
    runs: int = 0
    done: int = 0
    error: str = ""
    failed_at: float | None = None

    def due(self, every: float, now: float) -> bool:
        """A job that never ran is due."""
        return self.last_at is None or not -SET_BACK < now - self.last_at < every

    def ran(self, done: int, now: float) -> JobHistory:
        return JobHistory(now, self.runs + 1, self.done + done)

    def failed(self, error: str, now: float) -> JobHistory:
        return replace(self, error=error[:LONGEST_ERROR], failed_at=now)


@dataclass(frozen=True, slots=True)
class StoredHistories:
    """One vocabulary term for each job; `key` names a job, with the space where it runs in each. Only the holder of the
    lease writes them."""

    store: MemoryStore

    def history(self, key: str) -> JobHistory:
        fields = self.store.acting_as(HISTORY_KIND).store.terms(HISTORY_KIND).get(key) or {}
        error = fields.get("error")
        return JobHistory(
            moment(fields.get("last_at")),
            count(fields.get("runs")),
            count(fields.get("done")),
            error if isinstance(error, str) else "",
            moment(fields.get("failed_at")),
        )

    def note(self, key: str, history: JobHistory) -> None:
        self.store.acting_as(HISTORY_KIND).store.commit([TermSet(HISTORY_KIND, key, asdict(history))])


def moment(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def count(value: Json) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
