"""Which memories a new one is compared with, and who is asked about them, at the bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from nacre import Memory, MemoryStore
from nacre.conflicts.judge import THRESHOLD, PairJudge
from nacre.model.review import Verdict
from nacre.protocols import Vectors
from nacre.settings import Settings
from tests.embedders import Moody, WordBag
from tests.samples import memory

NEW = "copper kettle whistles loudly"
UNLIKE = "seven grey herons"


class Placed(Moody):
    """Lays each text at the cosine from the new one that a test chose; the new one itself at 1."""

    def __init__(self, cosines: Mapping[str, float]) -> None:
        super().__init__()
        self.cosines = cosines

    def _row(self, text: str) -> Vectors:
        cosine = self.cosines.get(text, 1.0)
        row = np.zeros(self.dimensions, np.float32)
        row[:2] = cosine, math.sqrt(1 - cosine**2)
        return row


def compared(cosines: Mapping[str, float], new: str = NEW, *, away: bool = False) -> set[str]:
    """The standing texts that `new` is compared with: the rules see a conflict, or the caller's judge is asked."""
    asked: set[str] = set()

    def ask(_new: Memory, other: Memory) -> bool:
        asked.add(other.text)
        return False

    embedder = Placed(cosines)
    with MemoryStore(":memory:", embedder=embedder, conflict_threshold=0.0, clock=lambda: 1_000.0) as store:
        store.remember_many(list(cosines))
        embedder.well = not away
        result = store.remember_result(new, contradiction_fn=ask)
    return asked | {conflict.b.text for conflict in result.conflicts}


def numbered(count: int, cosine: float, words: str = "grey heron number") -> dict[str, float]:
    return {f"{words} {name(number)}": cosine for number in range(count)}


def name(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}") + "zz"


@pytest.mark.parametrize(("cosine", "looked_at"), [(0.41, True), (0.39, False)])
def test_without_a_common_word_only_what_is_near_in_meaning_is_compared(cosine: float, looked_at: bool) -> None:
    nearer = numbered(1, 0.5)
    assert compared({UNLIKE: cosine, **nearer}) == ({UNLIKE, *nearer} if looked_at else set(nearer))


@pytest.mark.parametrize(
    ("text", "looked_at"), [("copper kettle herons gather", True), ("copper herons gather", False)]
)
def test_what_is_far_in_meaning_is_compared_where_it_shares_half_of_the_words(text: str, looked_at: bool) -> None:
    assert compared({text: 0.1}) == ({text} if looked_at else set())


def test_a_long_text_is_compared_with_the_twelve_nearest_alone() -> None:
    new = "amber birch cedar dune ember fjord grove harbor island jungle kelp"  # eleven stems
    framed = {"amber birch": 0.1}
    near = numbered(13, 0.5)
    assert len(compared(near, new)) == 12
    assert compared({**numbered(12, 0.5), **framed}, new) == set(numbered(12, 0.5))
    short = new.rpartition(" ")[0]
    assert compared({**numbered(12, 0.5), **framed}, short) == {*numbered(12, 0.5), *framed}


@pytest.mark.parametrize(("cosine", "looked_at"), [(0.62, False), (0.58, True)])
def test_where_twelve_are_very_near_nobody_is_looked_for_by_words(cosine: float, looked_at: bool) -> None:
    framed = {"copper kettle": 0.1}
    assert (set(framed) <= compared({**numbered(12, cosine), **framed})) is looked_at
    assert set(framed) <= compared({**numbered(11, cosine), **framed})


def test_without_the_model_the_twelve_best_by_words_are_compared() -> None:
    assert len(compared(numbered(13, 0.0, "copper kettle"), away=True)) == 12


def test_a_model_that_fails_while_two_memories_are_compared_does_not_stop_the_new_one() -> None:
    embedder = Moody()
    with MemoryStore(":memory:", embedder=embedder) as store:
        store.remember("Deploys run on Fridays", id="old")
        embedder.well = False
        kept = store.remember_result("Deploys do not run on Fridays", id="new")
        assert [conflict.b.id for conflict in kept.conflicts] == ["old"]
        assert store.count() == 2


def test_without_the_model_the_six_longest_words_are_looked_for() -> None:
    new = "aluminium blackbirds chandelier dragonflies elephant fountain tea"
    assert compared({"elephant": 0.0}, new, away=True) == {"elephant"}
    assert compared({"tea": 0.0}, new, away=True) == set()


class Second:
    """A second judge that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def __call__(self, a: Memory, b: Memory, similarity: float) -> Verdict | None:  # noqa: ARG002
        self.asked.append(similarity)
        return Verdict("contradiction", "second")


@pytest.mark.parametrize(("similarity", "asked"), [(0.7999, False), (THRESHOLD, True), (0.9, True)])
def test_the_second_judge_and_the_callers_are_not_asked_below_the_threshold(similarity: float, asked: bool) -> None:
    one, other = memory("a", NEW), memory("b", UNLIKE)
    second, own = Second(), Second()
    judge = PairJudge(second=second)
    assert judge.verdicts(one, [(other, similarity)])[0] == [Verdict("contradiction", "second") if asked else None]
    assert second.asked == ([similarity] if asked else [])
    also = PairJudge(second=second, contradiction_fn=lambda a, b: own(a, b, similarity) is not None)
    verdict = Verdict("contradiction", "custom_fn") if asked else None
    assert also.verdicts(one, [(other, similarity)])[0] == [verdict]
    assert (own.asked, second.asked) == (([similarity], [similarity]) if asked else ([], []))


def test_the_threshold_is_four_fifths_unless_the_caller_says_otherwise() -> None:
    asked: list[str] = []

    def ask(_new: Memory, other: Memory) -> bool:
        asked.append(other.text)
        return False

    cosines = {"grey heron": 0.79, "blue heron": 0.81}
    with MemoryStore(":memory:", embedder=Placed(cosines)) as store:
        store.remember_many(list(cosines))
        store.remember(NEW, contradiction_fn=ask)
    assert asked == ["blue heron"]


@pytest.mark.parametrize(("cosine", "action"), [(0.96, "merged"), (0.94, "stored")])
def test_what_says_the_same_is_merged_from_nineteen_twentieths_on(cosine: float, action: str) -> None:
    with MemoryStore(":memory:", embedder=Placed({"Office is in Berlin!": cosine})) as store:
        store.remember("Office is in Berlin!", id="office", importance=0.5, tags=["place"])
        kept = store.remember_result("The office is in Berlin", on_conflict="supersede", importance=0.3, tags=["place"])
        assert kept.action == action
        assert store.count() == (1 if action == "merged" else 2)
        if action == "merged":
            assert kept.memory.importance == pytest.approx(0.55)


def test_copies_are_alike_by_1_although_stored_vectors_are_rounded(tmp_path: Path) -> None:
    texts = ("Use ruff for linting", "Anna moved to Rome", "The port is 80", "A door opens at noon")
    rules = Settings(conflict_judge="rules")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), settings=rules, on_conflict="ignore") as store:
        for text in texts:
            for name in ("one", "other"):
                store.remember(text, id=f"{text} {name}")
        alike = [conflict.similarity for conflict in store.find_conflicts() if conflict.kind == "duplicate"]
    assert len(alike) >= len(texts) and max(alike) <= 1.0
