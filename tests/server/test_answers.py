"""A request with a key is carried out once, whatever is killed in between, and its kept answer tells nothing."""

from __future__ import annotations

import contextvars
import json
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role, user_capabilities
from nacre.access.view import ANSWER_KIND, marker
from nacre.errors import Cancelled, InvalidInput
from nacre.server.answers import (
    GIVEN_UP_SECONDS,
    KEPT_SECONDS,
    Answer,
    Answers,
    KeyReused,
    Reservation,
    sealed,
    unsealed,
)
from tests.samples import Clock

KEY, REQUEST = str(uuid.uuid4()), b"remember"
T = TypeVar("T")


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def answers(store: MemoryStore, clock: Clock) -> Answers:
    return Answers(store.acting_as("server").store, clock)


def reserved(answers: Answers) -> Reservation:
    result = answers.begin("ada", KEY, REQUEST)
    assert isinstance(result, Reservation)
    return result


def under(reservation: Reservation, work: Callable[[], T]) -> T:
    def run() -> T:
        marker.set(reservation.marker)
        return work()

    return contextvars.copy_context().run(run)


def view(store: MemoryStore) -> MemoryStore:
    return store.as_user("ada", user_capabilities(Role.WRITER))


def test_an_answer_is_given_again_and_is_not_readable_in_the_store(answers: Answers, store: MemoryStore) -> None:
    first = reserved(answers)
    answers.finish(first, Answer(201, b'{"text": "walnut"}', '"1"', "0f"))
    assert answers.begin("ada", KEY, REQUEST) == Answer(201, b'{"text": "walnut"}', '"1"', "0f")
    kept = json.dumps(store.acting_as("x").store.terms(ANSWER_KIND))
    assert "walnut" not in kept and KEY not in kept and '"ada"' not in kept  # random digits may be ada
    assert isinstance(answers.begin("bea", KEY, REQUEST), Reservation)  # another user's key


def test_the_same_key_with_another_request_is_refused(answers: Answers) -> None:
    answers.finish(reserved(answers), Answer(200, b"{}"))
    with pytest.raises(KeyReused, match="another request"):
        answers.begin("ada", KEY, b"forget")


def test_while_it_is_carried_out_the_same_request_has_to_wait(answers: Answers) -> None:
    first = reserved(answers)
    with pytest.raises(KeyReused, match="wait"):
        answers.begin("ada", KEY, REQUEST)
    answers.abandon(first)
    reserved(answers)


def test_a_server_that_dies_after_writing_does_not_let_it_be_written_again(
    answers: Answers, store: MemoryStore, clock: Clock
) -> None:
    first = reserved(answers)
    under(first, lambda: view(store).remember("Written once"))
    clock.now += GIVEN_UP_SECONDS + 1
    with pytest.raises(KeyReused, match="carried out"):
        answers.begin("ada", KEY, REQUEST)
    assert store.count() == 1


def test_a_server_that_dies_before_writing_lets_another_one_do_it(
    answers: Answers, store: MemoryStore, clock: Clock
) -> None:
    slow = reserved(answers)
    clock.now += GIVEN_UP_SECONDS + 1
    second = reserved(answers)
    under(second, lambda: view(store).remember("Written by the second"))
    answers.finish(second, Answer(201, b"second"))
    with pytest.raises(Cancelled):  # the first one was only slow, and must not write any more
        under(slow, lambda: view(store).remember("Written by the first"))
    answers.finish(slow, Answer(201, b"first"))
    assert [each.text for each in store.list_recent()] == ["Written by the second"]
    assert answers.begin("ada", KEY, REQUEST) == Answer(201, b"second")


def test_what_failed_after_it_had_written_keeps_its_key(answers: Answers, store: MemoryStore) -> None:
    first = reserved(answers)
    under(first, lambda: view(store).remember("Written"))
    answers.abandon(first)
    with pytest.raises(KeyReused):
        answers.begin("ada", KEY, REQUEST)


def test_old_answers_are_forgotten(answers: Answers, store: MemoryStore, clock: Clock) -> None:
    answers.finish(reserved(answers), Answer(200, b"{}"))
    clock.now += KEPT_SECONDS + 1
    answers.begin("ada", str(uuid.uuid4()), REQUEST)
    assert len(store.acting_as("x").store.terms(ANSWER_KIND)) == 1


def test_a_key_that_could_be_guessed_is_refused(answers: Answers) -> None:
    for key in ("1", "x" * 15, "x" * 201):
        with pytest.raises(InvalidInput, match="random"):
            answers.begin("ada", key, REQUEST)


def test_what_was_sealed_is_opened_by_the_same_secret_only() -> None:
    secret = bytes(range(32))
    for plain in (b"", b"x", b"walnut " * 1_000):
        assert unsealed(secret, sealed(secret, plain)) == plain
    text = sealed(secret, b"walnut")
    with pytest.raises(KeyReused, match="damaged"):
        unsealed(bytes(32), text)
    with pytest.raises(KeyReused, match="damaged"):
        unsealed(secret, text[:-8] + ("AAAAAAA=" if text[-8:] != "AAAAAAA=" else "BBBBBBB="))
