"""The pairs that the four reference systems get wrong, with the real model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre import MemoryStore
from nacre.models.shipped_embedder import ShippedEmbedder
from tests.samples import existing


@pytest.fixture(scope="module")
def model() -> ShippedEmbedder:
    return ShippedEmbedder()


@pytest.fixture
def store(model: ShippedEmbedder) -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder=model) as opened:
        yield opened


def found(store: MemoryStore, older: str, newer: str) -> list[tuple[str, str, tuple[str, str]]]:
    store.remember(older)
    return [(each.kind, each.reason, each.words) for each in store.remember_result(newer).conflicts]


def test_nine_and_ten_gold_medals_are_told_apart_by_their_numbers_and_are_no_duplicate(store: MemoryStore) -> None:
    """Their cosine is 0.945."""
    store.remember("Klaebo has won 9 gold medals", id="nine")
    result = store.remember_result("Klaebo has won 10 gold medals", on_conflict="supersede")
    (conflict,) = result.conflicts
    assert conflict.kind in ("contradiction", "update")
    assert conflict.words == ("10", "9")
    assert conflict.similarity > 0.9
    assert result.action == "superseded"
    assert [(each.before, each.after) for each in store.history("nine").transitions] == [("9", "10")]


def test_one_linter_in_the_place_of_another_is_seen_far_below_the_threshold(store: MemoryStore) -> None:
    """Their cosine is 0.704."""
    store.remember("Use ruff for linting")
    (conflict,) = store.remember_result("Use flake8 for linting").conflicts
    assert (conflict.kind, conflict.reason, conflict.words) == ("update", "conflict_model", ("flake8", "ruff"))
    assert conflict.similarity < 0.75


def test_a_negation_contradicts(store: MemoryStore) -> None:
    assert [each[:2] for each in found(store, "Deploy on Fridays", "Do not deploy on Fridays")] == [
        ("contradiction", "conflict_model")
    ]


def test_two_ways_to_say_the_same_are_a_duplicate(store: MemoryStore) -> None:
    assert found(store, "Anna leads the design team", "The design team is led by Anna") == [
        ("duplicate", "conflict_model", ("", ""))
    ]


def test_two_subjects_of_one_sentence_do_not_conflict(store: MemoryStore) -> None:
    assert found(store, "Anna is allergic to peanuts", "Ben is allergic to peanuts") == []


def marked(store: MemoryStore) -> set[tuple[str, str]]:
    """The newer and the older text of what waits for review."""
    items = store.review(kinds="conflict")
    return {(item.conflict.a.text, item.conflict.b.text) for item in items if item.conflict}


LIMIT, SAID = "The API rate limit is 100 requests per minute.", "the API rate limit is 100 per minute"
RAISED = "The API rate limit is 250 requests per minute."


@pytest.mark.parametrize(
    ("said", "note", "successor"),
    [
        (SAID, LIMIT, RAISED),
        ("our staging environment runs on Fly.io", "Staging runs on Fly.io.", "Staging runs on Hetzner."),
        ("Maria owns the checkout", "Maria owns the checkout of the app.", "Chen owns the checkout of the app."),
    ],
)
def test_the_turn_that_a_note_was_made_of_is_outdated_when_the_note_is_replaced(
    store: MemoryStore, said: str, note: str, successor: str
) -> None:
    old = store.remember(note)
    store.remember(said, session="s", position=0, role="user")
    store.remember("Production runs on AWS, and Ines owns the search of the app.", session="s", position=1, role="user")
    result = store.remember_result(successor, replaces=old.id)
    assert result.conflicts == () and marked(store) == {(successor, said)}
    hits = {hit.memory.text: hit for hit in store.recall(note)}
    assert [str(mark).startswith("newer: ") for mark in hits[said].conflicts] == [True]
    store.undo()
    assert marked(store) == set()


def test_what_a_replacement_says_in_other_words_outdates_nothing(store: MemoryStore) -> None:
    old = store.remember(LIMIT)
    store.remember(SAID, session="s", position=0, role="user")
    store.remember("The rate limit of the API is 100 requests a minute.", replaces=old.id)
    assert marked(store) == set()


def test_a_replacement_is_compared_with_the_other_notes(store: MemoryStore) -> None:
    old = store.remember("The code is checked by hand.")
    other = store.remember("Use ruff for linting")
    result = store.remember_result("Use flake8 for linting", replaces=old.id)
    assert [each.b.id for each in result.conflicts] == [other.id]
    assert marked(store) == {("Use flake8 for linting", "Use ruff for linting")}


@pytest.mark.parametrize(
    ("role", "said", "note"),
    [
        ("user", "run the migrations", "Migrations are run with `pnpm drizzle-kit migrate`."),
        ("assistant", "Deployed to production.", "Deploys to production are done with `kamal deploy`."),
        ("user", "the linter is ruff, line length 110", "The linter is ruff with a line length of 110."),
    ],
)
def test_a_new_note_conflicts_with_no_request_no_answer_and_not_with_the_turn_that_says_the_same(
    store: MemoryStore, role: str, said: str, note: str
) -> None:
    store.remember(said, session="s", position=0, role=role)
    assert store.remember_result(note).conflicts == () and marked(store) == set()


def test_a_new_note_conflicts_with_what_the_user_stated(store: MemoryStore) -> None:
    store.remember(LIMIT, session="s", position=0, role="user")
    assert [each.kind for each in store.remember_result(RAISED).conflicts] == ["update"]


def test_of_texts_that_differ_in_many_places_no_words_are_quoted(store: MemoryStore) -> None:
    store.remember("All events go through RabbitMQ 3.12", id="old")
    (conflict,) = store.remember_result("Ripped out RabbitMQ; NATS carries all events as of today").conflicts
    assert conflict.explanation == "judged by reading both"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("API on port 8080, redis on 6379, web on 3000", "The API moved to port 8090"),
        ("The API listens on port 8080 and the database is on host db1", "The API listens on port 9090"),
        ("The API listens on port 8080 (the database is on host db1)", "The API listens on port 9090"),
        ("The rent is 900 euros and includes heating", "The rent is 950 euros now"),
        ("Staging is PostgreSQL 15; backups run at 2am", "By the way, staging is PostgreSQL 17"),
    ],
)
def test_what_says_more_is_not_replaced_without_review(store: MemoryStore, older: str, newer: str) -> None:
    store.remember(older, id="older")
    store.remember("We deploy on Fridays", id="day")
    store.remember("Our office is in Kreuzberg, Oranienstraße 12", id="office")
    assert store.remember_result(newer, on_conflict="supersede").action != "superseded"
    for full in ("We deploy on Mondays now", "Our office is in Neukölln, Sonnenallee 5"):
        assert store.remember_result(full, on_conflict="supersede").action == "superseded"
    assert existing(store, "older").superseded_by == ""
