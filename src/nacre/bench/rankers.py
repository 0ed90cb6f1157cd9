"""The default recall and the four baselines that it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from nacre.bench.datasets import Corpus, Question, Unit
from nacre.memory_store import MemoryStore
from nacre.model import Recollection
from nacre.text.tokens import STOP_WORDS, words

DEPTH = 20
# A baseline ranks a session by its best turn: it reads this many times more turns until there are twenty sessions.
DEEPER = 3


class Stored:
    """A corpus in a store, with the lines that grep needs."""

    def __init__(self, corpus: Corpus, store: MemoryStore, unit: Unit) -> None:
        self.store = store
        self.unit = unit
        self.lines = [(self.key(turn.key, turn.session), turn.text.lower()) for turn in reversed(corpus.turns)]

    def key(self, turn: str, session: str) -> str:
        return session if self.unit == "session" else turn

    def keys(self, recollection: Recollection) -> tuple[str, ...]:
        return distinct(self.key(hit.memory.id, hit.memory.session) for hit in recollection)


@dataclass(frozen=True, slots=True)
class Answer:
    """`relevance` is that of the most relevant hit."""

    keys: tuple[str, ...]
    milliseconds: float = 0.0
    relevance: float = 0.0


Ranker: TypeAlias = Callable[[Stored, Question], Answer]


def default(stored: Stored, question: Question) -> Answer:
    """As a user asks; the use of the hits is counted."""
    ask = partial(stored.store.recall, question.text, DEPTH, asked_at=question.asked_at)
    if stored.unit == "session":
        recollection, took = timed(partial(ask, group_by="session"))
        keys = distinct(each.session for each in recollection.sessions)
    else:
        recollection, took = timed(ask)
        keys = distinct(hit.memory.id for hit in recollection)
    return Answer(keys, took, max((hit.relevance for hit in recollection), default=0.0))


def by_strategy(strategy: str) -> Ranker:
    """Only the first search for twenty memories is timed, though sessions may need more."""

    def rank(stored: Stored, question: Question) -> Answer:
        ask = partial(stored.store.recall, question.text, strategy=strategy, touch=False)
        read = DEPTH
        recollection, took = timed(partial(ask, k=read))
        while len(keys := stored.keys(recollection)) < DEPTH and len(recollection) == read:
            read *= DEEPER
            recollection = ask(k=read)
        return Answer(keys, took)

    return rank


def grep(stored: Stored, question: Question) -> Answer:
    """Turns that contain most of the question's words as plain substrings, later ones first among equals."""
    wanted = {word for word in words(question.text) if word not in STOP_WORDS}
    counted = [(sum(word in line for word in wanted), key) for key, line in stored.lines]
    ranked = sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])
    return Answer(distinct(key for _, key in ranked))


def timed(ask: Callable[[], Recollection]) -> tuple[Recollection, float]:
    start = time.perf_counter()
    recollection = ask()
    return recollection, 1000 * (time.perf_counter() - start)


def distinct(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))[:DEPTH]


DEFAULT = "default"
VECTOR = "vector"
RANKERS: Mapping[str, Ranker] = {
    DEFAULT: default,
    "grep": grep,
    "bm25": by_strategy("keyword"),
    VECTOR: by_strategy("semantic"),
    "rrf": by_strategy("rrf"),
}
