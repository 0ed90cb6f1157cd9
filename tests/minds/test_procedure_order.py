"""The order of procedures for an empty question."""

from __future__ import annotations

import pytest

from nacre.minds import cognitive as procedures
from nacre.minds.cognitive import CognitiveMemory
from tests.minds.minding import Watch


def store_all(mind: CognitiveMemory, watch: Watch, *names: str) -> None:
    for name in names:
        mind.store_procedure(name, [f"first step of {name}"])
        watch.now += 1


def listed(mind: CognitiveMemory, limit: int = 5) -> list[str]:
    return [each.name for each in mind.recall_procedure("", limit)]


def test_an_empty_question_lists_the_most_used_first_and_among_equals_the_oldest(
    mind: CognitiveMemory, watch: Watch
) -> None:
    store_all(mind, watch, "boil", "fry", "steam", "roast", "grill")
    for name in ("roast", "steam", "grill", "grill"):
        watch.now += 1
        mind.recall_procedure(name, limit=1)
    assert listed(mind, 0) == []
    assert listed(mind) == ["grill", "steam", "roast", "boil", "fry"]
    assert listed(mind, 2) == ["grill", "steam"]


def test_procedures_never_used_come_in_the_order_in_which_they_were_stored(mind: CognitiveMemory, watch: Watch) -> None:
    store_all(mind, watch, "c", "a", "b")
    assert listed(mind) == ["c", "a", "b"]


def test_the_oldest_are_not_lost_where_more_are_stored_than_are_read(
    mind: CognitiveMemory, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procedures, "MATCHES", 2)
    store_all(mind, watch, "first", "second", "third", "fourth")
    assert listed(mind, 3) == ["first", "second", "third"]
