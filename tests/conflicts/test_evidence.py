"""What the judge makes of evidence where no rule decides."""

from __future__ import annotations

import pytest

from nacre.conflicts.evidence import NOTED, SPEAKING_FOR, SURE, WEIGHTS, evidence, score
from nacre.conflicts.frames import frame
from nacre.conflicts.judge import judge
from nacre.conflicts.statements import statement
from nacre.model.memory import Memory
from nacre.model.review import Verdict


def said(new: str, old: str, similarity: float) -> Verdict | None:
    return judge(Memory("new", new), Memory("old", old), similarity)


def test_every_kind_of_evidence_has_its_weight() -> None:
    told = evidence(frame(statement("Logs are public."), statement("Logs are private.")), 0.9, "opposites")
    assert set(told) == set(WEIGHTS)
    assert set(SPEAKING_FOR) <= set(WEIGHTS)


def test_a_verdict_is_noted_long_before_it_is_sure() -> None:
    assert NOTED < SURE


def test_more_evidence_for_a_conflict_scores_higher() -> None:
    assert score({"news": 1.0, "change stated": 1.0}) > score({"news": 1.0}) > score({"news": 1.0, "values agree": 1.0})


def test_what_no_rule_saw_is_noted_and_never_sure() -> None:
    found = said("Bundling is done by Vite.", "We use webpack for bundling.", 0.58)
    assert found is not None
    assert (found.kind, found.sure) == ("update", False)


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("The port is 80.", "The port is 81.", 0.95),
        ("Logs are public.", "Logs are private.", 0.88),
        ("Avoid mutable defaults.", "Use mutable defaults.", 0.89),
        ("Nora reports to Ivan.", "Ivan reports to Nora.", 0.98),
        ("I prefer tabs over spaces.", "I prefer spaces over tabs.", 0.98),
    ],
)
def test_texts_that_differ_in_one_place_are_surely_in_conflict(old: str, new: str, similarity: float) -> None:
    found = said(new, old, similarity)
    assert found is not None
    assert (found.kind in ("contradiction", "update"), found.sure) == (True, True)


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("Elif moved the login page to Oslo.", "Elif moved the audit log to Oslo.", 0.7),
        ("Prefer version 12 of the audit log.", "Prefer version 14 of the login page.", 0.7),
        ("Mia and Jon married in 2014.", "Jon married Mia in 2014.", 0.85),
    ],
)
def test_other_things_and_other_words_for_one_are_no_conflict(old: str, new: str, similarity: float) -> None:
    found = said(new, old, similarity)
    assert found is None or found.kind == "duplicate"


def test_a_name_of_two_words_is_shown_whole() -> None:
    found = said("We live in New York.", "We live in New Jersey.", 0.77)
    assert found is not None
    assert found.words == ("New York", "New Jersey")
