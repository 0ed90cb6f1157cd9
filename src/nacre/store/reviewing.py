"""Conflicts and the review queue: the part of the face that asks for decisions, and takes them."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.engine import reviewing
from nacre.engine.reviewing import STALE_DAYS, Queue
from nacre.engine.scanning import noted_conflicts, scan
from nacre.errors import MemoryNotFound
from nacre.model import Conflict, Filter
from nacre.model.review import KINDS, ReviewItem
from nacre.ports import Progress
from nacre.remember.compare import ConflictFn
from nacre.store.space import Space


class Reviewing(Space):
    def find_conflicts(
        self,
        memory_id: str | None = None,
        *,
        threshold: float | None = None,
        contradiction_fn: ConflictFn | None = None,
        progress: Progress | None = None,
    ) -> list[Conflict]:
        """What one memory conflicts with, or every pair of the space that does; worst first. Nothing is changed.

        Candidates come from the word and vector indexes, so that the whole space is scanned without comparing all
        pairs. Pairs that were decided before are passed over.
        """
        comparison = self._comparison(Filter.live(self._clock()), threshold, contradiction_fn)
        if memory_id is None:
            return scan(comparison, self.space, progress)
        asked = self._store.get(self.space, [memory_id])
        if not asked:
            raise MemoryNotFound(memory_id, self.space)
        vectors = self._store.vectors(self.space, [memory_id]).get(memory_id)
        return comparison.conflicts(asked[0], None if vectors is None else vectors[0])

    def note_conflicts(self, conflicts: Iterable[Conflict], *, why: str = "") -> int:
        """Puts found conflicts into the review queue, in one act; returns how many were not there yet."""
        return noted_conflicts(self._engine, self.space, list(conflicts), why=why)

    def review(
        self, *, kinds: Iterable[str] | str = KINDS, stale_days: float = STALE_DAYS, limit: int | None = 50
    ) -> list[ReviewItem]:
        """What waits for a decision: noted conflicts, memories that nobody confirmed or that have grown stale,
        words that came up by themselves, and names that may be one."""
        wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        return Queue(self._engine, self.space, stale_days).items(wanted, limit)

    def decide(
        self,
        item: ReviewItem | str,
        decision: str,
        *,
        into: str = "",
        text: str = "",
        why: str = "",
        stale_days: float = STALE_DAYS,
    ) -> bool:
        """Settles an item of the queue, by itself or by its id, in one act that `undo` takes back; False for `skip`.

        `item.decisions` lists what can be decided. `into` names the relation that a word is merged with, or what merged
        entities go by; `text` is what merged memories say together, by default the newer text.
        """
        known = Queue(self._engine, self.space, stale_days).found(item) if isinstance(item, str) else item
        said = str(self._guard.fields({"text": text})[0]["text"]) if text else ""
        return reviewing.decide(self._engine, self.space, known, decision, into=into, text=said, why=why)
