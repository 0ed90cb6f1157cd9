"""Two stores that live through the same year, one looked after and one left alone, under a clock that we set."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Self

import numpy as np

from nacre import MemoryStore
from nacre.factory import make_embedder
from nacre.lifecycle.jobs import MIN_CLUSTER
from nacre.lifecycle.reflection import ReflectionEngine
from nacre.lifecycle.scheduler import MaintenanceScheduler
from nacre.model import Memory, Recollection
from nacre.models.background import WrappedEmbedder
from nacre.protocols import Embedder, Vectors
from nacre.remember.suggest import appraise
from nacre.settings import Settings
from year_changes import Change, remember_changes, settle_conflicts
from year_texts import LASTING, Told

DAY, HOUR, WEEK_DAYS = 86_400.0, 3_600.0, 7
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
TOLD_AT, ASKED_AT, TENDED_AT = 9 * HOUR, 17 * HOUR, 27 * HOUR  # maintenance is done at night
RECALLED = 5
MEMORIES_A_QUESTION = 4  # of a day: at 55 memories, 13 questions


@dataclass(slots=True)
class Calendar:
    now: float = BEGINNING

    def __call__(self) -> float:
        return self.now


class Once(WrappedEmbedder):
    """Embeds each text once: what differs between the stores is what is done with it."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self.known: dict[str, Vectors] = {}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self.inner.embed(new), strict=True))
        return np.stack([self.known[text] for text in texts]) if texts else self.inner.embed([])


@dataclass(slots=True)
class Answered:
    """How many questions the looked-after store and the other answered among the first five."""

    asked: int = 0
    tended: int = 0
    left_alone: int = 0

    @classmethod
    def of(cls, found: Iterable[tuple[bool, bool]]) -> Self:
        whole = cls()
        for tended, left_alone in found:
            whole.add(tended, left_alone)
        return whole

    def add(self, tended: bool, left_alone: bool) -> None:
        self.asked, self.tended, self.left_alone = (
            self.asked + 1, self.tended + tended, self.left_alone + left_alone,
        )  # fmt: skip


class World:
    def __init__(self, folder: Path, plan: Sequence[Sequence[Told]], seed: int, changes: Sequence[Change] = ()) -> None:
        self.files = folder / "tended.db", folder / "left_alone.db"
        settings = Settings(  # nothing is read for a question: 16,000 of them are asked
            store=str(self.files[0]), backup_every="off", maintenance_every="reflect=off, consolidate=7d", rerank_ms=0
        )
        self.plan, self.changes, self.settings, self.clock = plan, changes, settings, Calendar()
        self.settled: dict[bool, int] = {}
        self.embedder = Once(make_embedder(settings))
        self.tended, self.left_alone = map(self.opened, self.files)
        self.scheduler = MaintenanceScheduler(self.tended, settings)
        self.told: dict[str, Told] = {}
        self.used: set[str] = set()
        self.answered = Answered()
        self.seconds: list[float] = []
        self.done: Counter[str] = Counter()
        self._chance = Random(f"uses {seed}")
        self._weights = zipf([told.id for day in plan for told in day if told.kind in LASTING], self._chance)

    def opened(self, file: Path) -> MemoryStore:
        return MemoryStore(file, embedder=self.embedder, clock=self.clock, settings=self.settings)

    def live_through(self, day: int) -> None:
        self.clock.now = BEGINNING + day * DAY + TOLD_AT
        self._remember(self.plan[day])
        remember_changes((self.tended, self.left_alone), self.changes, day)
        self.clock.now = BEGINNING + day * DAY + ASKED_AT
        self._ask(len(self.plan[day]) // MEMORIES_A_QUESTION)
        self.clock.now = BEGINNING + day * DAY + TENDED_AT
        started = time.perf_counter()
        self._tend(day)
        self.seconds.append(time.perf_counter() - started)

    def _remember(self, today: Sequence[Told]) -> None:
        drafts = [draft(told) for told in today]
        for store in (self.tended, self.left_alone):
            store.remember_many(drafts)
        self.told |= {told.id: told for told in today}

    def _ask(self, times: int) -> None:
        """A memory is used when it is asked for and found."""
        known = [told for told in self.told.values() if told.kind in LASTING]
        if not known:
            return
        for told in self._chance.choices(known, [self._weights[told.id] for told in known], k=times):
            found, other = (store.recall(told.question, RECALLED) for store in (self.tended, self.left_alone))
            if any(hit.memory.id == told.id for hit in found):
                self.used.add(told.id)
            self.answered.add(answered(told, found), answered(told, other))

    def _tend(self, day: int) -> None:
        """The jobs as the settings have them; the soft reflection is done here, which no setting asks for."""
        results = list(self.scheduler.tick(self.clock.now).results)
        failed = [str(each) for each in results if each.error]
        if failed:
            raise SystemExit(f"This is no measurement: {' '.join(failed)}")
        self.done.update({each.job: each.done for each in results})
        if day % WEEK_DAYS == WEEK_DAYS - 1:
            settle_conflicts(self.tended, self.settled)
            engine = ReflectionEngine(self.tended, min_cluster_size=MIN_CLUSTER)
            self.done["reflect"] += len(engine.apply(engine.plan(self.clock.now), "soft", why="maintenance"))

    def asked(self, questions: Sequence[Told]) -> dict[str, tuple[bool, bool]]:
        """Whether each store answers each question. Not a use: who looks must not change what is looked at."""
        return {
            told.id: (
                answered(told, self.tended.recall(told.question, RECALLED, touch=False)),
                answered(told, self.left_alone.recall(told.question, RECALLED, touch=False)),
            )
            for told in questions
        }

    def close(self) -> None:
        self.tended.close()
        self.left_alone.close()


def answered(told: Told, found: Recollection) -> bool:
    return any(told.answers(hit.memory.text) for hit in found)


def draft(told: Told) -> Mapping[str, object]:
    importance = appraise(told.text, type=told.type).importance
    return {
        "id": told.id, "text": told.text, "type": told.type, "importance": importance, "pinned": told.kind == "pinned",
    }  # fmt: skip


def zipf(ids: Sequence[str], chance: Random) -> dict[str, float]:
    """A few are asked for all the time, most hardly ever, and age has no part in it."""
    shuffled = list(ids)
    chance.shuffle(shuffled)
    return {id: 1 / rank for rank, id in enumerate(shuffled, start=1)}


def everything(store: MemoryStore) -> dict[str, Memory]:
    whole = store.iterate(include_trashed=True, include_superseded=True, include_expired=True, include_archived=True)
    return {memory.id: memory for memory in whole}
