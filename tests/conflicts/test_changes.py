"""The words that tell of a change."""

from __future__ import annotations

import pytest

from nacre.conflicts.statements import cues


@pytest.mark.parametrize(
    "text",
    [
        "We no longer use Jira",
        "We switched from Jenkins to Buildkite",
        "As of May the office is closed",
        "Fenna took over from Dario",
        "The fee went up",
        "It's Helix these days",
        "Call me Finn from now on",
        "The bins are emptied on Mondays instead",
    ],
)
def test_a_change_is_heard(text: str) -> None:
    assert cues(text).changed


@pytest.mark.parametrize(
    "text", ["Use tabs instead of spaces", "Turn the lights off", "The bus stops here", "I know her"]
)
def test_no_change_is_imagined(text: str) -> None:
    assert not cues(text).changed


def test_what_is_open_and_what_is_settled_are_told_apart() -> None:
    assert cues("The paper is still under review").open
    assert cues("The paper was accepted").settled
    assert not cues("Papers have authors").open


def test_a_passive_is_no_past() -> None:
    assert not cues("It is hosted in Oslo").past
    assert cues("It was hosted in Oslo").past
