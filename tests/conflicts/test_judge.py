"""Whether one memory contradicts, replaces or repeats another; the cosines are MiniLM's own."""

from __future__ import annotations

import pytest

from nacre.conflicts.judge import judge
from nacre.model.memory import Link, Memory
from nacre.model.review import Verdict


def said(new: str, old: str, similarity: float) -> Verdict | None:
    return judge(Memory("new", new), Memory("old", old), similarity)


def kind(new: str, old: str, similarity: float) -> str:
    verdict = said(new, old, similarity)
    return verdict.kind if verdict else ""


@pytest.mark.parametrize(
    ("old", "new", "similarity", "expected"),
    [
        ("Norway has 9 gold medals", "Norway has 10 gold medals", 0.99, Verdict("update", "numbers", ("10", "9"))),
        ("Use flake8 for linting", "Use ruff for linting", 0.43, Verdict("update", "substitution", ("ruff", "flake8"))),
        ("The deadline is Friday.", "The deadline is Monday.", 0.89, Verdict("update", "dates", ("Monday", "Friday"))),
        ("We use Python 3.10.", "We use Python 3.12.", 0.96, Verdict("update", "versions", ("3.12", "3.10"))),
        ("Kim was born in 1980.", "Kim was born in 1982.", 0.92, Verdict("contradiction", "dates", ("1982", "1980"))),
        ("Logs are public.", "Logs are private.", 0.88, Verdict("contradiction", "opposites", ("private", "public"))),
        ("Peter can swim.", "Peter can't swim.", 0.93, Verdict("contradiction", "negation_diff", ("not swim", "swim"))),
        ("Bob lives in Paris.", "Bob moved to Berlin.", 0.58, Verdict("update", "change", ("moved", ""))),
        (
            "The bug is still open.",
            "The bug has been fixed.",
            0.9,
            Verdict("update", "change", ("been fixed", "still")),
        ),
        ("Tom forgot his keys.", "Tom did not remember his keys.", 0.89, Verdict("duplicate", "similarity")),
        ("Tea is nice.", "The bus is late.", 0.1, None),
    ],
)
def test_a_verdict_names_its_reason_and_its_words(
    old: str, new: str, similarity: float, expected: Verdict | None
) -> None:
    assert said(new, old, similarity) == expected


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("The API supports pagination.", "The API does not support pagination.", 0.84),
        ("Use tabs for indentation, not spaces.", "Use spaces for indentation, not tabs.", 0.93),
        ("Dogs are allowed in the park.", "Dogs are not allowed in the park.", 0.88),
        ("Remote work is permitted on Fridays.", "Working remotely on Fridays is prohibited.", 0.93),
        ("The meeting room has no projector.", "There is a projector in the meeting room.", 0.70),
        ("The suspect was seen at the station.", "Nobody saw the suspect at the station.", 0.64),
        ("The shop accepts credit cards.", "Credit cards are refused at the shop.", 0.70),
        ("Cook the rice with the lid on.", "Cook the rice with the lid off.", 0.99),
        ("Emma is the older of the two sisters.", "Emma is the younger of the two sisters.", 0.99),
        ("Sven ran the race in under four hours.", "Sven needed more than four hours for the race.", 0.91),
        ("The treaty was signed in Vienna.", "The treaty was signed in Geneva.", 0.59),
    ],
)
def test_what_cannot_both_be_true_is_a_contradiction(old: str, new: str, similarity: float) -> None:
    assert kind(new, old, similarity) == "contradiction"


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("The team uses Jira for tickets.", "The team no longer uses Jira for tickets.", 0.87),
        ("CI runs on Jenkins.", "We switched from Jenkins to GitHub Actions.", 0.55),
        ("Our CEO is Maria Lopez.", "Our CEO is John Kim.", 0.69),
        ("The CFO is Anna Berg.", "Tom Weiss has taken over as CFO.", 0.58),
        ("The gym costs 30 euros a month.", "My gym fee climbed to 36 euros.", 0.73),
        ("Photos are stored on S3.", "Photos are stored on Cloudflare R2.", 0.67),
        ("The orchestra is looking for a second oboe.", "The orchestra found a second oboe.", 0.92),
        ("Dinner is at seven on Sundays.", "Sunday dinner is at half past six.", 0.79),
        ("The dog sleeps in the hallway.", "The dog sleeps in the kitchen.", 0.69),
    ],
)
def test_what_was_so_and_is_otherwise_now_is_an_update(old: str, new: str, similarity: float) -> None:
    assert kind(new, old, similarity) == "update"


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("The store closes at 8 pm.", "The store is open until 20:00.", 0.77),
        ("Mia failed her driving test.", "Mia did not pass the driving test.", 0.82),
        ("The window stays open at night.", "Don't close the window at night.", 0.70),
        ("The API returns at most 100 items per page.", "The API never returns more than 100 items a page.", 0.88),
        ("Sara moved from Lyon to Nice in 2020.", "In 2020 Sara relocated to Nice from Lyon.", 0.97),
        ("The team no longer uses Jira.", "The team stopped using Jira.", 0.91),
        ("The tests take two hours.", "A test run lasts 120 minutes.", 0.62),
        ("My sister is older than me.", "I am younger than my sister.", 0.88),
        ("All tests pass.", "No test fails.", 0.69),
        ("Do not water the cactus in winter.", "The cactus gets no water during winter.", 0.79),
        ("The gate is always locked after 10 pm.", "After 22:00 the gate is never left unlocked.", 0.79),
        ("The train is faster than the bus.", "The bus is slower than the train.", 0.95),
        ("Keep the medicine away from children.", "Children must not get at the medicine.", 0.77),
        ("Marco sold his Fiat and bought a Skoda.", "Marco has replaced his Fiat with a Skoda.", 0.87),
        ("Anna moved to Rome after her divorce.", "Anna has lived in Rome since she got divorced.", 0.90),
    ],
)
def test_one_thing_said_in_two_ways_is_no_conflict(old: str, new: str, similarity: float) -> None:
    assert kind(new, old, similarity) in ("duplicate", "")


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("Alice likes tea.", "Bob likes tea.", 0.67),
        ("The staging database runs Postgres 15.", "The production database runs Postgres 14.", 0.82),
        ("Alice speaks French.", "Alice speaks German.", 0.83),
        ("Bus 12 leaves at 8:05.", "Bus 14 leaves at 8:20.", 0.87),
        ("The first draft is due on Monday.", "The final draft is due on Friday.", 0.83),
        ("Rita is afraid of spiders.", "Rita is not afraid of snakes.", 0.77),
        ("The left lane is closed.", "The right lane is open.", 0.90),
        ("Carla studies law.", "Carla sold her old bike.", 0.51),
        ("The invoice from Acme was paid.", "The invoice from Globex was cancelled.", 0.46),
        ("Ben hates early meetings.", "Ben loves early flights.", 0.59),
        ("The API timeout is 30 seconds.", "The API retries 3 times.", 0.56),
        ("PR #412 fixes the upload.", "PR #418 fixes the upload.", 0.95),
    ],
)
def test_two_things_that_look_alike_are_neither_a_conflict_nor_the_same(old: str, new: str, similarity: float) -> None:
    assert said(new, old, similarity) is None


def test_opposite_polarity_comes_first_and_needs_like_texts() -> None:
    liked, disliked = Memory("a", "Dark mode", polarity=1), Memory("b", "Dark mode", polarity=-1)
    assert judge(liked, disliked, 0.8) == Verdict("contradiction", "polarity")
    assert judge(liked, disliked, 0.79) is None


@pytest.mark.parametrize(
    "summary",
    [
        Memory("s", "The port is not 80", links=(Link("m", "derived_from"),)),
        Memory("s", "The port is not 80", tags=("reflection",)),
        Memory("s", "The port is not 80", type="reflection"),
    ],
)
def test_a_reflection_never_contradicts_what_it_was_made_of(summary: Memory) -> None:
    source = Memory("m", "The port is 80")
    assert judge(summary, source, 0.9) == Verdict("duplicate", "similarity")
    assert judge(source, summary, 0.9) == Verdict("duplicate", "similarity")
    assert judge(summary, source, 0.5) is None


def test_the_threshold_decides_what_is_the_same() -> None:
    old, new = Memory("a", "Ella came back on Monday"), Memory("b", "On Monday Ella returned")
    assert judge(new, old, 0.7) is None
    assert judge(new, old, 0.7, threshold=0.6) == Verdict("duplicate", "similarity")


def test_phrases_that_mean_the_same_are_no_substitution() -> None:
    old, new = Memory("a", "Use the lift for deliveries"), Memory("b", "Use the hoist for deliveries")
    asked: list[tuple[str, str]] = []

    def alike(one: str, other: str) -> float:
        asked.append((one, other))
        return 0.9

    assert judge(new, old, 0.7) == Verdict("update", "substitution", ("hoist", "lift"))
    assert judge(new, old, 0.7, alike=alike) is None
    assert asked == [("hoist", "lift")]


def test_the_embedder_is_not_asked_where_words_suffice() -> None:
    def never(_one: str, _other: str) -> float:
        raise AssertionError

    judge(Memory("a", "The port is 80"), Memory("b", "The port is 81"), 0.9, alike=never)
    judge(Memory("a", "Cats purr"), Memory("b", "Trains are late"), 0.1, alike=never)
