"""The history of the maintenance jobs: in the store itself, or in a JSON file."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from nacre.errors import StorageError
from nacre.files import atomic_write, private_folder
from nacre.model.memory import Json
from nacre.protocols import TermSet

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

log = logging.getLogger("nacre")

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


@dataclass(slots=True)
class MaintenanceState:
    """The complete history. `jobs` has what the four fields of decay and reflection do not."""

    last_decay_at: float | None = None
    last_reflect_at: float | None = None
    total_decayed: int = 0
    total_reflected: int = 0
    jobs: dict[str, JobHistory] = field(default_factory=dict)

    def history(self, key: str) -> JobHistory:
        history = self.jobs.get(key, JobHistory())
        if key == "decay":
            return replace(history, last_at=self.last_decay_at, done=self.total_decayed)
        if key == "reflect":
            return replace(history, last_at=self.last_reflect_at, done=self.total_reflected)
        return history

    def note(self, key: str, history: JobHistory) -> None:
        self.jobs[key] = history
        if key == "decay":
            self.last_decay_at, self.total_decayed = history.last_at, history.done
        elif key == "reflect":
            self.last_reflect_at, self.total_reflected = history.last_at, history.done

    def save(self, path: Path | str) -> None:
        """Atomic. Raises `StorageError` when the file cannot be written."""
        file = Path(path).expanduser()
        try:
            private_folder(file.parent)
            atomic_write(file, json.dumps(asdict(self), indent=2) + "\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(f"The state {file} cannot be written ({reason}); choose another place.") from error

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Ignores unknown keys; without a readable file every job counts as never run."""
        file = Path(path).expanduser()
        try:
            fields = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("The state %s cannot be read, so every job counts as never run: %s", file, error)
            return cls()
        return cls.from_dict(fields) if isinstance(fields, dict) else cls()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Json]) -> Self:
        jobs = fields.get("jobs")
        histories = jobs if isinstance(jobs, dict) else {}
        return cls(
            moment(fields.get("last_decay_at")),
            moment(fields.get("last_reflect_at")),
            count(fields.get("total_decayed")),
            count(fields.get("total_reflected")),
            {key: history_of(each) for key, each in histories.items() if isinstance(each, dict)},
        )


class Histories(Protocol):
    """Where the history is stored; `key` names a job, with the space where it runs in each."""

    def history(self, key: str) -> JobHistory: ...

    def note(self, key: str, history: JobHistory) -> None: ...


@dataclass(frozen=True, slots=True)
class StoredHistories:
    """One vocabulary term for each job. Only the holder of the lease writes them."""

    store: MemoryStore

    def history(self, key: str) -> JobHistory:
        return history_of(self.store.acting_as(HISTORY_KIND).store.terms(HISTORY_KIND).get(key) or {})

    def note(self, key: str, history: JobHistory) -> None:
        self.store.acting_as(HISTORY_KIND).store.commit([TermSet(HISTORY_KIND, key, asdict(history))])


@dataclass(frozen=True, slots=True)
class FileHistories:
    """In the file, the jobs of the space `home` have their plain names."""

    path: Path
    home: str

    def history(self, key: str) -> JobHistory:
        return MaintenanceState.load(self.path).history(self._plain(key))

    def note(self, key: str, history: JobHistory) -> None:
        state = MaintenanceState.load(self.path)
        state.note(self._plain(key), history)
        state.save(self.path)

    def _plain(self, key: str) -> str:
        return key.removesuffix(f"/{self.home}")


def history_of(fields: Mapping[str, Json]) -> JobHistory:
    error = fields.get("error")
    return JobHistory(
        moment(fields.get("last_at")),
        count(fields.get("runs")),
        count(fields.get("done")),
        error if isinstance(error, str) else "",
        moment(fields.get("failed_at")),
    )


def moment(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def count(value: Json) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
