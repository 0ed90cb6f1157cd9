"""What a remember did, in one word for every interface."""

from __future__ import annotations

import pytest

from nacre.model import Conflict, Memory, RememberResult

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
