"""AI-Houkai's journal beside the store: a line of JSON for every change, rotated and compressed when it has grown."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from nacre.files import private_folder, private_opener
from nacre.model.instants import DAY
from nacre.storage.journal_mirror import lines, pack

log = logging.getLogger("nacre")

OPS = "remember forget supersede restore link unlink edit reflect decay import export undo".split()
MEGABYTE = 1 << 20
STAMP = "%Y%m%dT%H%M%S"
SHORT = 8  # characters of an id, and
TAIL_LENGTH = 60  # of a text, in a summary


@dataclass
class JournalEntry:
    ts: float
    op: str
    actor: str
    id: str = ""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def to_line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JournalEntry:
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    def summary(self) -> str:
        said = (self.after or self.before or {}).get("text", "")
        data = said or " ".join(f"{name}={value}" for name, value in self.meta.items())
        return f"{self.op} {self.id[:SHORT]} {data[:TAIL_LENGTH]}".strip()


class Journal:
    _ROTATE_CHECK_EVERY = 256

    def __init__(self, path: Path | str, rotate_mb: float = 64, keep_days: float = 90) -> None:
        self.path = Path(path)
        self.rotate_mb = rotate_mb
        self.keep_days = keep_days
        self._writes_since_check = 0

    def append(self, entry: JournalEntry) -> None:
        """Never raises: an operation must not fail because it cannot be journaled."""
        try:
            private_folder(self.path.parent)
            with open(self.path, "a", encoding="utf-8", opener=private_opener) as file:
                file.write(entry.to_line())
            self._writes_since_check += 1
            if self._writes_since_check >= self._ROTATE_CHECK_EVERY:
                self._writes_since_check = 0
                if self.path.stat().st_size > self.rotate_mb * MEGABYTE:
                    self._rotate()
                self._prune()
        except (OSError, TypeError, ValueError) as error:
            log.warning("The journal %s was not written: %s", self.path, error)

    def read(
        self, since: float | None = None, until: float | None = None, op: str | None = None, actor: str | None = None,
        memory_id: str | None = None, limit: int | None = None, include_archives: bool = False,
    ) -> Iterator[JournalEntry]:  # fmt: skip
        """Oldest first; an unreadable line is skipped."""
        matches = (
            each
            for each in self._entries(include_archives)
            if (since is None or each.ts >= since)
            and (until is None or each.ts <= until)
            and op in (None, each.op)
            and actor in (None, each.actor)
            and memory_id in (None, each.id)
        )
        return islice(matches, limit)

    def find_by_ts(self, ts: float, tol: float = 1e-3) -> JournalEntry | None:
        return next((each for each in self.read(include_archives=True) if abs(each.ts - ts) <= tol), None)

    def _entries(self, include_archives: bool) -> Iterator[JournalEntry]:
        files = [*(self._archives() if include_archives else ()), *([self.path] if self.path.exists() else ())]
        for line in (line for file in files for line in lines(file)):
            with suppress(ValueError, TypeError):
                yield JournalEntry.from_dict(json.loads(line))

    def _archives(self) -> list[Path]:
        """A file that is not compressed yet is used instead of its archive, which may be incomplete."""
        plain = list(self.path.parent.glob(f"{self.path.stem}-*.log"))
        packed = self.path.parent.glob(f"{self.path.stem}-*.log.gz")
        return sorted([*plain, *(file for file in packed if file.with_suffix("") not in plain)])

    def _rotate(self) -> None:
        aside = self.path.with_name(f"{self.path.stem}-{time.strftime(STAMP)}-{uuid4().hex[:4]}.log")
        self.path.rename(aside)
        pack(lines(aside), aside.with_name(f"{aside.name}.gz"))
        aside.unlink()

    def _prune(self) -> None:
        for archive in self._archives():
            if archive.stat().st_mtime < time.time() - self.keep_days * DAY:
                archive.unlink()
