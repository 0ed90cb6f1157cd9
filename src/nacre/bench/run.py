"""Runs a suite: stores each corpus, asks by the default recall and by four baselines, and reports quality and speed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, TypedDict

from nacre.bench.datasets import (
    Corpus,
    Question,
    Suite,
    Turn,
    Unit,
    by_session,
    load_beam,
    load_locomo,
    load_longmemeval,
)
from nacre.bench.metrics import Abstention, Folds, Scores, Summary, abstention, folds, percentile, score, summarize
from nacre.errors import InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.model import Recollection
from nacre.models.background import WrappedEmbedder
from nacre.protocols import Embedder, Progress, Vectors
from nacre.settings import Settings
from nacre.text.tokens import STOP_WORDS, words

DEPTH = 20
# Where a store is made, as a path or an address, and removed in the end.
Place: TypeAlias = Callable[[], AbstractContextManager[Path | str]]
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
    held_back = (recollection.nearest,) if recollection.nearest else ()
    return Answer(keys, took, max((hit.relevance for hit in (*recollection, *held_back)), default=0.0))


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


class Report(TypedDict):
    """Percentages from 0 to 100; `n` counts the questions that something answers.

    `ingest_per_s` counts turns whose texts were really embedded; `rss_mb` is the peak of the process with the dataset.
    """

    suite: str
    mode: str
    unit: str
    embedder: str
    n: int
    metrics: dict[str, Summary]
    latency_ms: Scores
    baseline_latency_ms: Scores
    ingest_per_s: float
    rss_mb: float | None
    folds: Folds
    abstention: Abstention


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the number of its corpus, and the answer of each ranker."""

    corpus: int
    question: Question
    answers: Mapping[str, Answer]

    def score(self, ranker: str) -> Scores:
        return score(self.answers[ranker].keys, self.question.gold)

    @property
    def relevance(self) -> float:
        return self.answers[DEFAULT].relevance


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: how one ranker did, over all questions or those of a category."""

    ranker: str
    questions: str
    n: int
    scores: Scores


def report(suite: Suite, embedder: str, asked: Sequence[Asked], per_second: float) -> Report:
    wanted = [each for each in asked if each.question.gold]
    silent = [each for each in asked if not each.question.gold]
    rankers = list(wanted[0].answers if wanted else ())
    return {
        "suite": suite.name,
        "mode": suite.mode,
        "unit": suite.unit,
        "embedder": embedder,
        "n": len(wanted),
        "metrics": {name: summarize((each.question.category, each.score(name)) for each in wanted) for name in rankers},
        "latency_ms": latency(asked, DEFAULT),
        "baseline_latency_ms": latency(asked, VECTOR),
        "ingest_per_s": round(per_second, 1),
        "rss_mb": peak_rss_mb(),
        "folds": folds([(each.corpus, each.score(DEFAULT)) for each in wanted]),
        "abstention": abstention([each.relevance for each in wanted], [each.relevance for each in silent]),
    }


def latency(asked: Sequence[Asked], ranker: str) -> Scores:
    taken = sorted(each.answers[ranker].milliseconds for each in asked if ranker in each.answers)
    return {f"p{share}": percentile(taken, share) for share in (50, 95) if taken}


def peak_rss_mb() -> float | None:
    """None when the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def rows(n: int, metrics: Mapping[str, Summary]) -> list[Row]:
    """Each ranker over all questions, then the default over those of each category."""
    overall = [
        Row(name, "all", n, {key: value for key, value in summary.items() if not isinstance(value, dict)})
        for name, summary in metrics.items()
    ]
    parts = metrics.get(DEFAULT, {}).get("by_category", {})
    if not isinstance(parts, dict):
        return overall
    return [*overall, *(Row(DEFAULT, name, int(scores["n"]), scores) for name, scores in parts.items())]


# What a user may set that changes which memory is found. Nothing else: no language model is asked, and nothing is read
# from or written to the user's own store.
DEFAULTS = Settings()
MEASURED = ("rerank_ms", "min_trust", "on_conflict", "suspicious")


def measured_settings(user: Settings) -> Settings:
    return replace(DEFAULTS, **{name: getattr(user, name) for name in MEASURED})


FRESH = 0.95  # share of new texts in a batch; a repeated "thank you" does not make the batch a cached one


class RunProgress:
    """The `progress` of every store's `remember_many`; all stores make one progress of turns and questions.

    `turns` and `seconds` cover the batches that were really embedded, not read from the cache.
    """

    def __init__(self, embedder: CachingEmbedder, total: int = 0, report: Progress | None = None) -> None:
        self._embedder, self._total, self._report = embedder, total, report
        self._steps = self.turns = 0
        self.seconds = 0.0
        self.begin()

    def begin(self, done: int = 0) -> None:
        self._done, self._at = done, time.perf_counter()
        self._asked, self._embedded = self._embedder.asked, self._embedder.embedded

    def __call__(self, done: int, total: int, what: str) -> None:  # noqa: ARG002 (the signature of Progress)
        asked, embedded = self._embedder.asked - self._asked, self._embedder.embedded - self._embedded
        if asked and embedded >= FRESH * asked:
            self.turns += done - self._done
            self.seconds += time.perf_counter() - self._at
        self.advance(done - self._done)
        self.begin(done)

    def advance(self, steps: int) -> None:
        self._steps += steps
        if self._report is not None:
            self._report(self._steps, self._total, "remembering and asking")

    @property
    def per_second(self) -> float:
        return self.turns / self.seconds if self.seconds else 0.0


@contextmanager
def temporary_file() -> Iterator[Path]:
    """For a store that ends with the measurement."""
    with TemporaryDirectory(prefix="nacre-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "bench.db"


@contextmanager
def store_of(
    corpus: Corpus,
    embedder: Embedder,
    progress: Progress,
    settings: Settings = DEFAULTS,
    place: Place = temporary_file,
) -> Iterator[MemoryStore]:
    """A store of the corpus alone.

    The clock is set to the end of the corpus, so that a question without a date gets the same answer every day.
    """
    now = corpus.ended_at
    with (
        place() as where,
        MemoryStore(where, embedder=embedder, clock=lambda: now, settings=settings) as store,
    ):
        store.remember_many([fields(turn) for turn in corpus.turns], progress=progress)
        yield store


def fields(turn: Turn) -> dict[str, object]:
    own = {"role": turn.role, "session": turn.session, "position": turn.position, "occurred_at": turn.at}
    return {"id": turn.key, "text": turn.text, "type": "episodic", **own}


class CachingEmbedder(WrappedEmbedder):
    """Caches vectors, except of a single text: that is a question, whose embedding belongs to the time of a recall.

    `asked` and `embedded` count the other texts: all of them, and the new ones.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._rows: dict[str, Vectors] = {}
        self._tokens: dict[str, int] = {}
        self.asked = 0
        self.embedded = 0

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        if new:
            self._tokens |= zip(new, self.inner.count_tokens(new), strict=True)
        return [self._tokens[text] for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if len(texts) <= 1:
            return self.inner.embed(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, self.inner.embed(new), strict=True)
        self.asked += len(texts)
        self.embedded += len(new)
        return np.stack([self._rows[text] for text in texts])


SEPARATE: Mapping[str, Callable[[Path], Suite]] = {"locomo": load_locomo, "beam": load_beam}
SUITES = ("locomo", "longmemeval", "beam")
MODES = ("pooled", "haystack")
UNITS: tuple[Unit, ...] = ("turn", "session")
WARM_UP = "What was said first of all?"


def load(suite: str, file: Path, mode: str = "", unit: Unit | None = None) -> Suite:
    """`mode` is for LongMemEval only, by default pooled; `unit` is by default the usual one of the dataset.

    Raises `InvalidInput` when the file does not belong to this suite.
    """
    for kind, name, known in (("suite", suite, SUITES), ("mode", mode, ("", *MODES)), ("unit", unit, (None, *UNITS))):
        if name not in known:
            raise UnknownName(kind, str(name), filter(None, known))
    if mode == "haystack" and suite in SEPARATE:
        raise InvalidInput(f"{suite} has one store for each conversation; the mode haystack is for longmemeval only.")
    try:
        if suite == "longmemeval":
            loaded = load_longmemeval(file, mode or "pooled", unit or "session")
        else:
            loaded = SEPARATE[suite](file)
            loaded = by_session(loaded) if unit == "session" else loaded
    except InvalidInput:
        raise
    except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError) as error:
        raise wrong_format(suite, file, f"{type(error).__name__}: {error}") from error
    if not any(corpus.questions for corpus in loaded.corpora):
        raise wrong_format(suite, file, "it has no question that can be scored")
    return loaded


def wrong_format(suite: str, file: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"{file} is not a {suite} dataset ({reason}); use the official file.")


def run(
    suite: Suite,
    embedder: Embedder,
    *,
    settings: Settings = DEFAULTS,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
    place: Place = temporary_file,
) -> Report:
    """`only` names the rankers to compare; the default is always included. Each store is made at a new `place`."""
    used = measured_settings(settings)
    once = CachingEmbedder(embedder)
    # Loads the model before anything is timed, and fails here when there is none.
    once.embed([WARM_UP])
    total = sum(len(corpus.turns) + len(corpus.questions) for corpus in suite.corpora)
    steps, rankers = RunProgress(once, total, progress), selected_rankers(only)
    opened = partial(store_of, embedder=once, progress=steps, settings=used, place=place)
    asked = [
        each
        for number, corpus in enumerate(suite.corpora)
        for each in measure(number, corpus, suite.unit, partial(opened, corpus), steps, rankers)
    ]
    return report(suite, once.identity, asked, steps.per_second)


def selected_rankers(only: Collection[str] | None) -> dict[str, Ranker]:
    for name in only or ():
        UnknownName.check("ranker", name, RANKERS)
    return {name: rank for name, rank in RANKERS.items() if only is None or name == DEFAULT or name in only}


def measure(
    number: int,
    corpus: Corpus,
    unit: Unit,
    open_store: Callable[[], AbstractContextManager[MemoryStore]],
    steps: RunProgress,
    rankers: Mapping[str, Ranker],
) -> Iterator[Asked]:
    steps.begin()
    with open_store() as store:
        stored = Stored(corpus, store, unit)
        store.recall(WARM_UP, DEPTH, touch=False)  # loads the vectors of the store before anything is timed
        for question in corpus.questions:
            # Only the default gets questions without an answer, because only it reports a relevance.
            asked = rankers if question.gold else {DEFAULT: rankers[DEFAULT]}
            yield Asked(number, question, {name: rank(stored, question) for name, rank in asked.items()})
            steps.advance(1)
