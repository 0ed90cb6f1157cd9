"""What a remember did, in one word for every interface."""

from __future__ import annotations

import pytest

from nacre.model import Conflict, Memory, RememberResult
from nacre.model.instants import DAY
from nacre.model.review import newer_first
from nacre.recall.versions import is_newer

NEW, OLD = Memory("new", "The quay is closed"), Memory("old", "The quay is open")
CONFLICT = (Conflict(NEW, OLD, 0.9, "contradiction", "polarity"),)


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (RememberResult(NEW), "stored"),
        (RememberResult(NEW, CONFLICT), "stored"),
        (RememberResult(OLD, (), "known"), "known"),
        (RememberResult(OLD, (), "merged"), "known"),
        (RememberResult(OLD, CONFLICT, "merged"), "merged"),
        (RememberResult(NEW, CONFLICT, "superseded"), "replaced"),
        (RememberResult(NEW, (), "superseded", stored_before=True), "replaced_by_known"),
    ],
)
def test_every_result_has_one_outcome(result: RememberResult, outcome: str) -> None:
    assert result.outcome == outcome


NOON = 20_000 * DAY + DAY / 2
TODAY, YESTERDAY = NOON - DAY / 2, NOON - DAY * 3 / 2
HOUR = DAY / 24


@pytest.mark.parametrize(
    ("earlier", "later", "newer"),
    [
        ({}, {}, "later"),
        ({}, {"valid_from": TODAY}, "later"),
        ({}, {"occurred_at": TODAY}, "later"),
        ({"valid_from": TODAY}, {}, "later"),
        ({"valid_from": TODAY}, {"valid_from": TODAY}, "later"),
        ({}, {"valid_from": TODAY + 1}, "earlier"),  # with a clock it is a moment
        ({}, {"valid_from": YESTERDAY}, "earlier"),  # stored later, of an earlier time
        ({"valid_from": TODAY + DAY}, {}, "earlier"),  # begins tomorrow
        ({"valid_from": TODAY}, {"valid_from": YESTERDAY}, "earlier"),
        ({"created_at": YESTERDAY + HOUR}, {"valid_from": YESTERDAY}, "later"),
    ],
)
def test_which_of_two_is_newer_is_the_same_for_the_verdict_and_for_a_recall(
    earlier: dict[str, float], later: dict[str, float], newer: str
) -> None:
    first = Memory("earlier", "The quay is open", **{"created_at": NOON, **earlier})  # type: ignore[arg-type]
    second = Memory("later", "The quay is closed", **{"created_at": NOON + HOUR, **later})  # type: ignore[arg-type]
    assert newer_first(first, second)[0].id == newer_first(second, first)[0].id == newer
    pair = (second, first) if newer == "later" else (first, second)
    assert is_newer(*pair) and not is_newer(*reversed(pair))
