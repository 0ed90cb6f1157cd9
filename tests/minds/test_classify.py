"""Which type a text is, by its words."""

from __future__ import annotations

import pytest

from nacre.minds.classify import CUES, classify
from nacre.model import TYPES

PROCEDURAL = (
    "Step one is to preheat the oven", "How to bake rye bread", "A how-to for new colleagues",
    "In step 3 the key is cut",
    "The procedure needs two people", "Grandmother's recipe has no eggs", "Read the instructions before you mount it",
)  # fmt: skip
PROSPECTIVE = (
    "The plan is to move in spring", "Our goal is an answer within a day", "In the future we want two regions",
    "The build will be green by noon", "Will it rain on the wedding?", "Will send the figures later",
    "We'll paint the shed",
    "TODO: oil the hinge", "A to-do for the weekend", "Remind me to water the fern", "Tomorrow the shop is closed",
    "The CEO will step down", "The audit is planned for autumn", "Users WILL notice this",
)  # fmt: skip
EPISODIC = (
    "It happened on the ferry", "An event of the year before", "I observed two herons", "The outage occurred at night",
    "Yesterday the lift was stuck", "The incident cost us an hour",
)  # fmt: skip
SEMANTIC = (
    "The plants need little water", "She is willing to help", "Goodwill is an asset", "William likes tea",
    "Will likes tea",
    "Will Smith won a prize", "I met Will at the station", "His last will was read aloud", "He left against his will",
    "Anna's will names two heirs", "She scored the winning goal", "The event loop blocks on files",
    "An event-driven design", "In the event of fire use the stairs", "asyncio.Future is awaitable",
    "Stored procedures live in the database", "The free plan has three seats", "Footsteps echo in the hall",
    "The photos remind me of home", "Rome is the capital of Italy", "", "...", "Он любит чай",
)  # fmt: skip


@pytest.mark.parametrize(
    ("type", "texts"),
    [("procedural", PROCEDURAL), ("prospective", PROSPECTIVE), ("episodic", EPISODIC), ("semantic", SEMANTIC)],
)
def test_words_decide_the_type(type: str, texts: tuple[str, ...]) -> None:
    assert {text: classify(text) for text in texts} == dict.fromkeys(texts, type)


def test_a_way_of_doing_goes_before_a_plan_and_a_plan_before_an_event() -> None:
    assert classify("It happened that the plan had a recipe") == "procedural"
    assert classify("It happened that there was a plan") == "prospective"


def test_the_concept_is_read_as_well() -> None:
    assert classify("Flour, water, salt", "bread recipe") == "procedural"


def test_every_type_is_one_that_a_memory_can_have() -> None:
    assert {type for type, _ in CUES} | {classify("")} <= set(TYPES)
