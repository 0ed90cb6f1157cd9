"""Runs a suite: remembers each corpus, asks each question in every way, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from nacre.bench import beam, locomo, longmemeval
from nacre.bench.corpus import Corpus, Question, Suite, Unit, by_session
from nacre.bench.keeping import Pace, kept
from nacre.bench.rankers import DEFAULT, DEPTH, RANKERS, Answer, Ranker, Stored
from nacre.bench.repeated import EmbeddedOnce
from nacre.bench.report import Asked, Report, report
from nacre.errors import InvalidInput, UnknownName
from nacre.ports import Embedder, Progress

SEPARATE: Mapping[str, Callable[[Path], Suite]] = {"locomo": locomo.load, "beam": beam.load}
SUITES = ("locomo", "longmemeval", "beam")
MODES = ("pooled", "haystack")
UNITS: tuple[Unit, ...] = ("turn", "session")
WARM_UP = "What was said first of all?"


def load(suite: str, file: Path, mode: str = "", unit: Unit | None = None) -> Suite:
    """`mode` is LongMemEval's alone, pooled unless given; `unit` is what the dataset is usually asked for unless given.

    Raises `InvalidInput` when the file is not of this suite.
    """
    check_names(suite, mode, unit)
    try:
        found = read(suite, file, mode, unit)
    except InvalidInput:
        raise
    except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError) as error:
        raise foreign(suite, file, f"{type(error).__name__}: {error}") from error
    if not any(corpus.questions for corpus in found.corpora):
        raise foreign(suite, file, "it holds no question that can be judged")
    return found


def check_names(suite: str, mode: str, unit: str | None) -> None:
    for kind, given, known in (("suite", suite, SUITES), ("mode", mode, ("", *MODES)), ("unit", unit, (None, *UNITS))):
        if given not in known:
            raise UnknownName(kind, str(given), filter(None, known))
    if mode == "haystack" and suite in SEPARATE:
        raise InvalidInput(f"{suite} has a store for each conversation; haystacks are for longmemeval.")


def read(suite: str, file: Path, mode: str, unit: Unit | None) -> Suite:
    if suite == "longmemeval":
        return longmemeval.load(file, mode or "pooled", unit or "session")
    found = SEPARATE[suite](file)
    return by_session(found) if unit == "session" else found


def foreign(suite: str, file: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"{file} does not read as a {suite} dataset ({reason}); give the official file.")


def run(
    suite: Suite, embedder: Embedder, *, progress: Progress | None = None, only: Collection[str] | None = None
) -> Report:
    """`only` names the rankers to compare, the default always among them."""
    once = EmbeddedOnce(embedder)
    # Loads the model, which is no part of a rate; and a store would answer from words alone where there is none.
    once.embed([WARM_UP])
    pace, rankers = Pace(once), chosen(only)
    steps = Steps(suite, pace, progress)
    asked = [
        each
        for number, corpus in enumerate(suite.corpora)
        for each in measured(number, corpus, suite.unit, once, steps, rankers)
    ]
    return report(suite, once.identity, asked, pace.per_second)


def chosen(only: Collection[str] | None) -> dict[str, Ranker]:
    for name in only or ():
        if name not in RANKERS:
            raise UnknownName("ranker", name, RANKERS)
    return {name: rank for name, rank in RANKERS.items() if only is None or name == DEFAULT or name in only}


class Steps:
    """One progress for all stores: a step is a turn remembered or a question asked."""

    def __init__(self, suite: Suite, pace: Pace, progress: Progress | None) -> None:
        self._total = sum(len(corpus.turns) + len(corpus.questions) for corpus in suite.corpora)
        self._done = self._kept = 0
        self._pace, self._progress = pace, progress

    def begin(self) -> None:
        self._kept = 0
        self._pace.start()

    def remembered(self, done: int, total: int, what: str) -> None:
        self._pace(done, total, what)
        self._add(done - self._kept)
        self._kept = done

    def asked(self) -> None:
        self._add(1)

    def _add(self, steps: int) -> None:
        self._done += steps
        if self._progress is not None:
            self._progress(self._done, self._total, "remembering and asking")


def measured(
    number: int, corpus: Corpus, unit: Unit, embedder: Embedder, steps: Steps, rankers: Mapping[str, Ranker]
) -> Iterator[Asked]:
    steps.begin()
    with kept(corpus, embedder, steps.remembered) as store:
        stored = Stored(corpus, store, unit)
        store.recall(WARM_UP, DEPTH, touch=False)  # reads the vectors of the store, once for all that is asked
        for question in corpus.questions:
            yield Asked(number, question, answers(stored, question, rankers))
            steps.asked()


def answers(stored: Stored, question: Question, rankers: Mapping[str, Ranker]) -> dict[str, Answer]:
    """The plain ways are not asked what nothing answers: only the default says how sure it is."""
    asked = rankers if question.gold else {DEFAULT: rankers[DEFAULT]}
    return {name: rank(stored, question) for name, rank in asked.items()}
