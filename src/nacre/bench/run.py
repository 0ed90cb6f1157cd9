"""Runs a suite: stores each corpus, asks its questions, and measures quality and speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from nacre.bench.datasets import Corpus, Suite, Turn, Unit, by_session, load_beam, load_locomo, load_longmemeval
from nacre.bench.rankers import DEFAULT, DEPTH, RANKERS, Ranker, Stored
from nacre.bench.report import Asked, Report, report
from nacre.errors import InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.protocols import Embedder, Progress, Vectors, WrappedEmbedder
from nacre.settings import Settings

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
def store_of(corpus: Corpus, embedder: Embedder, progress: Progress) -> Iterator[MemoryStore]:
    """A temporary store with the default settings.

    The clock is set to the end of the corpus, so that a question without a date gets the same answer every day.
    """
    now = corpus.ended_at
    with (
        TemporaryDirectory(prefix="nacre-bench-", ignore_cleanup_errors=True) as folder,
        MemoryStore(Path(folder) / "bench.db", embedder=embedder, clock=lambda: now, settings=Settings()) as store,
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
    suite: Suite, embedder: Embedder, *, progress: Progress | None = None, only: Collection[str] | None = None
) -> Report:
    """`only` names the rankers to compare; the default is always included."""
    once = CachingEmbedder(embedder)
    # Loads the model before anything is timed, and fails here when there is none.
    once.embed([WARM_UP])
    total = sum(len(corpus.turns) + len(corpus.questions) for corpus in suite.corpora)
    steps, rankers = RunProgress(once, total, progress), selected_rankers(only)
    asked = [
        each
        for number, corpus in enumerate(suite.corpora)
        for each in measure(number, corpus, suite.unit, once, steps, rankers)
    ]
    return report(suite, once.identity, asked, steps.per_second)


def selected_rankers(only: Collection[str] | None) -> dict[str, Ranker]:
    for name in only or ():
        UnknownName.check("ranker", name, RANKERS)
    return {name: rank for name, rank in RANKERS.items() if only is None or name == DEFAULT or name in only}


def measure(
    number: int, corpus: Corpus, unit: Unit, embedder: Embedder, steps: RunProgress, rankers: Mapping[str, Ranker]
) -> Iterator[Asked]:
    steps.begin()
    with store_of(corpus, embedder, steps) as store:
        stored = Stored(corpus, store, unit)
        store.recall(WARM_UP, DEPTH, touch=False)  # loads the vectors of the store before anything is timed
        for question in corpus.questions:
            # Only the default gets questions without an answer, because only it reports a relevance.
            asked = rankers if question.gold else {DEFAULT: rankers[DEFAULT]}
            yield Asked(number, question, {name: rank(stored, question) for name, rank in asked.items()})
            steps.advance(1)
