"""Keeping a store in order: types, spaces, indexes, health."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from nacre.engine import indexing
from nacre.engine.change import AnyChange, WordChange
from nacre.ports import Health, Progress, Transaction
from nacre.remember.check import named
from nacre.store.space import Space

STAMP = "%Y%m%dT%H%M%SZ"  # in UTC: sorts by time, and any file system takes it


class Keeping(Space):
    def register_type(self, name: str) -> None:
        """Opens this store, in all its spaces, to another memory type."""
        word = named("type", name).lower()

        def plan(transaction: Transaction) -> list[AnyChange]:
            known = transaction.word("type", word) is not None
            return [] if known else [WordChange(self.space, "type", word, None, {})]

        self._engine.commit("register", plan, "")

    def spaces(self) -> dict[str, int]:
        return self._store.spaces()

    def reindex(self, *, restart: bool = False, progress: Progress | None = None) -> int:
        """Computes everything derived again with the present embedder; returns how many memories.

        One that was interrupted is gone on with where it ended, unless `restart` begins anew.
        """
        return indexing.reindex(self._engine, restart=restart, progress=progress)

    def catch_up(self, *, progress: Progress | None = None) -> int:
        """Embeds what was kept while the model was away; returns how many memories."""
        return indexing.catch_up_all(self._engine, progress=progress)

    def backup(self, path: Path | str) -> Path:
        """Copies the whole store, all its spaces, while others write; a folder gets a file named after the time.

        The copy is verified before it gets its name, and never replaces anything. Returns the copy's path.
        """
        target = Path(path).expanduser()
        if target.is_dir() or str(path).endswith(("/", "\\")):
            target = target / f"nacre-{stamp(self._clock())}.db"
        self._store.copy_to(target)
        return target

    def check_records(self) -> None:
        """Raises `StoreDamaged` when a walk over all memories would miss some."""
        self._store.check_records()

    def health(self, *, thorough: bool = False) -> Health:
        return self._store.health(thorough=thorough)


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(STAMP)
