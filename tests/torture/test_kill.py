"""A process killed at any moment: the store opens, is whole, and stands exactly as after some act."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.torture.acts import State, observed, steps, token
from tests.torture.crowd import PROCESSES, started
from tests.torture.workers import act_until_killed, first, opened

SHORT_ROUNDS = 15
LONG_ROUNDS = 200
ROUNDS_A_FILE = 20  # a fresh file now and then: its creation is killed too, and the journal stays short to compare
MOST_ACTS = (
    12  # a writer lives for some acts and then for a moment more: counted in acts, a busy machine changes nothing
)
LONGEST_MOMENT = 0.02  # seconds; an operation takes a few thousandths
LATEST_FOUND = 5  # memories looked for after each round; the whole file at its end

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")


def killed_while_acting(path: str, seed: int, acts: int, moment: float) -> int:
    """Returns how many acts were acknowledged before the end, which comes a moment after so many of them."""
    parent, child = PROCESSES.Pipe(duplex=False)
    process = started(act_until_killed, path, seed, child)
    child.close()
    for _ in range(1 + acts):
        parent.recv_bytes()
    time.sleep(moment)
    assert process.is_alive(), "the worker ended by itself: its own error is on stderr"
    process.kill()
    process.join()
    process.close()
    acknowledged = acts
    while True:
        try:
            parent.recv_bytes()
        except EOFError:
            parent.close()
            return acknowledged
        acknowledged += 1


def possible(before: State, seed: int, acknowledged: int) -> list[State]:
    """After the last acknowledged act, or after the one that was under way."""
    states = [before]
    for _, state in steps(before, Random(seed)):
        states.append(state)
        if len(states) == acknowledged + 2:
            return states[-2:]
    raise AssertionError("steps never end")


def not_found(state: State, path: str, latest: int | None = None) -> list[str]:
    live = state.live()[-latest:] if latest else state.live()
    with opened(path) as store:
        return [
            id
            for id in live
            if [id] != first(store, token(id), "keyword") or [id] != first(store, state.memories[id].text, "semantic")
        ]


def check_rounds(folder: Path, rounds: int) -> int:
    random = Random(rounds)
    state, total = State({}), 0
    for number in range(rounds):
        path = str(folder / f"memory-{number // ROUNDS_A_FILE}.db")
        state = State({}) if number % ROUNDS_A_FILE == 0 else state
        acts, moment = random.randint(0, MOST_ACTS), random.uniform(0, LONGEST_MOMENT)
        acknowledged = killed_while_acting(path, number, acts, moment)
        total += acknowledged
        expected = possible(state, number, acknowledged)
        with opened(path) as store:
            state = observed(store)
            assert state in expected, f"round {number}: the store stands as after no act"
            assert store.health(thorough=True).problems == (), f"round {number}"
        assert not_found(state, path, LATEST_FOUND) == [], f"round {number}"
        if (number + 1) % ROUNDS_A_FILE == 0 or number + 1 == rounds:
            assert not_found(state, path) == []
    return total


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_every_acknowledged_act_and_no_half_of_one(tmp_path: Path) -> None:
    assert check_rounds(tmp_path, SHORT_ROUNDS) > SHORT_ROUNDS


@pytest.mark.slow
def test_two_hundred_kills_leave_every_acknowledged_act_and_no_half_of_one(tmp_path: Path) -> None:
    assert check_rounds(tmp_path, LONG_ROUNDS) > LONG_ROUNDS
