"""Every public operation that `growth.py` times, with the figure that is wanted of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from growth_world import (
    BATCH,
    COMMON_WORD,
    RARE_TAG,
    YEAR,
    fields_of,
    id_of,
    name_of,
    question,
    text,
    time_of,
)
from nacre import MemoryStore
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.retention import Trash, compress_old

HUNDRED_THOUSAND, MILLION = 100_000, 1_000_000
PAGE = 50
LONG_QUESTION = 20_000  # characters
HALF_A_YEAR = YEAR / 86_400 / 2  # days


@dataclass(frozen=True, slots=True)
class Wanted:
    """At most so many units (milliseconds unless the row says otherwise), or so many times another figure of the run:
    that of the smallest size, or that of another operation at the same size."""

    at_most: float = 0.0
    times_smallest: float = 0.0
    times: float = 0.0
    of: str = ""

    def __str__(self) -> str:
        if self.times_smallest:
            return f"<= {self.times_smallest:g}x of the smallest"
        return f"<= {self.times:g}x of {self.of!r}" if self.of else f"<= {self.at_most:g}"


@dataclass(frozen=True, slots=True)
class Timed:
    """`prepare` gets the number of the repeat and is not timed; `run` gets what it returns. `repeats` is an upper
    bound: a slow operation is repeated less often."""

    name: str
    run: Callable[[Any], object]
    prepare: Callable[[int], object] = int
    repeats: int = 15


WANTED: dict[str, dict[int, Wanted]] = {
    "remember": {HUNDRED_THOUSAND: Wanted(times_smallest=2), MILLION: Wanted(times_smallest=3)},
    "recall": {HUNDRED_THOUSAND: Wanted(20), MILLION: Wanted(60)},
    "recall: one common word": {HUNDRED_THOUSAND: Wanted(30)},
    "recall: rare tag": {HUNDRED_THOUSAND: Wanted(times=1, of="recall")},
    "list: rare tag": {HUNDRED_THOUSAND: Wanted(10), MILLION: Wanted(30)},
    "list: by importance": {HUNDRED_THOUSAND: Wanted(10), MILLION: Wanted(30)},
    "list: by last use": {HUNDRED_THOUSAND: Wanted(10), MILLION: Wanted(30)},
    "list: deep cursor": {HUNDRED_THOUSAND: Wanted(10), MILLION: Wanted(30)},
    "list: newest": {HUNDRED_THOUSAND: Wanted(10), MILLION: Wanted(30)},
    "count": {HUNDRED_THOUSAND: Wanted(5), MILLION: Wanted(30)},
    "stats": {HUNDRED_THOUSAND: Wanted(30)},
    "memories_about": {HUNDRED_THOUSAND: Wanted(20)},
    "entities": {HUNDRED_THOUSAND: Wanted(20)},
    "review": {HUNDRED_THOUSAND: Wanted(20), MILLION: Wanted(30)},
    "decide": {HUNDRED_THOUSAND: Wanted(20)},
    "undo: last": {HUNDRED_THOUSAND: Wanted(30)},
    "purge": {HUNDRED_THOUSAND: Wanted(30), MILLION: Wanted(50)},
    "list: as of half way": {HUNDRED_THOUSAND: Wanted(times=3, of="list: newest")},
    "recall: as of half way": {size: Wanted(times=3, of="recall") for size in (HUNDRED_THOUSAND, MILLION)},
    "decay plan": {HUNDRED_THOUSAND: Wanted(1_500)},
    "compress": {HUNDRED_THOUSAND: Wanted(1_500)},
    "cold: first recall": {HUNDRED_THOUSAND: Wanted(450), MILLION: Wanted(1_500)},
    "cold: first remember": {HUNDRED_THOUSAND: Wanted(450)},
    "resident memory, MB": {MILLION: Wanted(700)},
    "WAL of a tag, KiB": {size: Wanted(16) for size in (HUNDRED_THOUSAND, MILLION)},
    "statements: recall": {size: Wanted(8) for size in (HUNDRED_THOUSAND, MILLION)},
    "statements: remember": {size: Wanted(12) for size in (HUNDRED_THOUSAND, MILLION)},
    "statements: remember_many(256)": {size: Wanted(40) for size in (HUNDRED_THOUSAND, MILLION)},
    "eight processes: p99 of a remember": {HUNDRED_THOUSAND: Wanted(500)},
    "eight processes: ended by an error": {HUNDRED_THOUSAND: Wanted(0)},
    "import: us per record": {HUNDRED_THOUSAND: Wanted(200)},
    "import: longest wait of a writer": {HUNDRED_THOUSAND: Wanted(500)},
    "import: writers refused": {HUNDRED_THOUSAND: Wanted(0)},
    "import: peak memory, MB": {HUNDRED_THOUSAND: Wanted(200)},
    "undo of the import: us per record": {HUNDRED_THOUSAND: Wanted(200)},
    "undo of the import: longest wait of a writer": {HUNDRED_THOUSAND: Wanted(500)},
    "undo of the import: writers refused": {HUNDRED_THOUSAND: Wanted(0)},
    "undo of the import: peak memory, MB": {HUNDRED_THOUSAND: Wanted(200)},
}


@dataclass(slots=True)
class Operations:
    """The operations on one filled store. Each repeat works on memories that no other has changed."""

    store: MemoryStore
    size: int
    used: int = 0

    def fresh(self) -> int:
        """The number of a stored memory that nothing here has touched: spread over the store, none twice, and never
        the last, which succeeds others."""
        self.used += 1
        number = (self.used * 7_919) % (self.size - 1)
        while (memory := self.store.get(id_of(number))) is None or memory.status == "trashed" or memory.superseded_by:
            number = (number + 1) % (self.size - 1)
        return number

    def fresh_id(self, _: int = 0) -> str:
        return id_of(self.fresh())

    def asked(self, _: int) -> str:
        return question(self.fresh())

    def recall(self, name: str, repeats: int = 15, **options: Any) -> Timed:
        return Timed(name, lambda asked: self.store.recall(asked, **options), self.asked, repeats)

    def listing(self, name: str, repeats: int = 15, **options: Any) -> Timed:
        return Timed(name, lambda _: self.store.list_recent(PAGE, **options), repeats=repeats)

    def decided(self, _: int) -> str:
        return self.store.review(kinds="conflict", limit=1)[0].id

    def tagged(self, _: int) -> None:
        self.store.tag(self.fresh_id(), add=["undone"])

    def all(self) -> list[Timed]:
        return [*self.reads(), *self.past(), *self.writes(), *self.maintenance()]

    def reads(self) -> list[Timed]:
        store, size = self.store, self.size
        cursor = store.list_recent(PAGE, offset=size // 2).cursor
        long = " ".join(text(number) for number in range(LONG_QUESTION // 100))[:LONG_QUESTION]
        return [
            self.recall("recall", 40),
            Timed("recall: one common word", lambda _: store.recall(COMMON_WORD)),
            self.recall("recall: rare tag", tag=RARE_TAG),
            self.recall("recall: type and importance", type="semantic", min_importance=0.8),
            self.recall("recall: one session", session="s7"),
            self.recall("recall: semantic", strategy="semantic"),
            self.recall("recall: keyword", strategy="keyword"),
            self.recall("recall: without touch", touch=False),
            Timed("recall_pack", store.recall_pack, self.asked),
            Timed("recall: question of 20,000 characters", lambda _: store.recall(long), repeats=3),
            Timed("get", store.get, self.fresh_id),
            Timed("get_many(50)", store.get_many, lambda n: [id_of((n * 97 + at * 31) % size) for at in range(PAGE)]),
            self.listing("list: newest"),
            self.listing("list: by importance", order="importance"),
            self.listing("list: by last use", order="accessed"),
            self.listing("list: rare tag", tag=RARE_TAG),
            self.listing("list: deep cursor", cursor=cursor),
            self.listing("list: deep offset", 5, offset=size // 2),
            Timed("count", lambda _: store.count()),
            Timed("count: common tag", lambda _: store.count(tag="tag0")),
            Timed("stats", lambda _: store.stats()),
            Timed("tally: tags", lambda _: store.tally("tags")),
            Timed("memories_about", store.memories_about, lambda _: name_of(self.fresh())),
            Timed("entities", lambda _: store.entities(20)),
            Timed("review", lambda _: store.review(limit=PAGE), repeats=7),
            Timed("neighbors: depth 2", lambda id: store.neighbors(id, depth=2), self.fresh_id),
            Timed("find_conflicts: one", store.find_conflicts, self.fresh_id),
            Timed("journal", lambda _: store.journal(limit=20)),
            Timed("journal: one memory", store.journal, self.fresh_id),
            Timed("history", store.history, self.fresh_id),
            Timed("spaces", lambda _: store.spaces()),
            Timed("resolve_id", store.resolve_id, self.fresh_id),
        ]

    def past(self) -> list[Timed]:
        store, older = self.store, self.size // 2
        half = time_of(older, self.size)
        return [
            self.listing("list: as of half way", as_of=half),
            Timed("recall: as of half way", lambda q: store.recall(q, as_of=half), lambda n: question(n * 13 % older)),
            self.recall("recall: rare tag, as of half way", tag=RARE_TAG, as_of=half),
            Timed("count: as of half way", lambda _: store.count(as_of=half)),
            Timed("get: as of half way", lambda id: store.get(id, as_of=half), lambda n: id_of(n * 17 % older)),
        ]

    def writes(self) -> list[Timed]:
        store = self.store
        return [
            Timed("remember", lambda new: store.remember(new, tags=["new"]), lambda n: text(n, "new"), 40),
            Timed(
                "remember: ignoring conflicts",
                lambda new: store.remember(new, on_conflict="ignore"),
                lambda n: text(n, "plain"),
            ),
            Timed("remember_many(256)", store.remember_many, self.batch, 3),
            Timed("edit: text", lambda id: store.edit(id, text=text(int(id[1:]), "edited")), self.fresh_id),
            Timed("tag", lambda id: store.tag(id, add=["touched"]), self.fresh_id),
            Timed("link", lambda id: store.link(id, id_of(1)), self.fresh_id),
            Timed("pin", store.pin, self.fresh_id),
            Timed("supersede", lambda id: store.supersede(id, id_of(self.size - 1)), self.fresh_id),
            Timed("forget", store.forget, self.fresh_id),
            Timed("decide", lambda id: store.decide(id, "keep_both"), self.decided, 5),
            Timed("undo: last", lambda _: store.undo(), self.tagged),
            Timed("purge", store.purge, self.fresh_id, 10),
            Timed("redact", store.redact, self.fresh_id, 5),
        ]

    def batch(self, number: int) -> list[dict[str, object]]:
        """Of new memories; their ids are free."""
        self.used += 1
        new = (fields_of(number * BATCH + each, self.size) for each in range(BATCH))
        return [{**fields, "id": f"x{self.used}-{fields['id']}"} for fields in new]

    def maintenance(self) -> list[Timed]:
        return [
            Timed("decay plan", lambda _: DecayEngine(self.store).plan(), repeats=2),
            Timed("compress", lambda _: compress_old(self.store, HALF_A_YEAR), repeats=2),
            Timed("empty the trash: plan", lambda _: Trash(self.store).plan(), repeats=2),
        ]
