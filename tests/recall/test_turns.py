"""Which turns of a conversation tell something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nacre.model import Hit
from nacre.recall.turns import announced_changes, is_chatter, is_echo, without_repetitions
from tests.samples import memory


def test_a_turn_that_states_something_before_it_asks_is_no_chatter() -> None:
    stated = "The server of the shop moved to Frankfurt because of the new contract. Shall I update the notes?"
    assert not is_chatter(memory("m", stated, role="user"))
    assert is_chatter(memory("m", "Where is the server of the shop? Who moved it?", role="user"))


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("fetch the docs of the webhook vendor", False),
        ("Please rename the module. Then run the tests.", False),
        ("could you fix the typo in README", False),
        ("Ok, run the tests.", False),
        ("Great, now fix the build.", False),
        ("please always use pnpm instead of npm in this repo", True),
        ("Run the tests. The staging server is called hera.", True),
        ("Tests run on hera.", True),
        ("Run the tests before every commit.", True),
        ("We no longer deploy on Fridays.", True),
    ],
)
def test_a_request_for_one_piece_of_work_tells_nothing(text: str, tells: bool) -> None:
    assert is_chatter(memory("m", text, role="user")) is not tells
    assert not is_chatter(memory("m", text))  # a note may be a task


@pytest.mark.parametrize(
    "text",
    [
        "Test server is now 10.0.0.7.",
        "Deploy target: Hetzner.",
        "Go is our backend language.",
        "Change of plan, Fly.io it is",
        "Push to main is forbidden.",
        "Write commit messages in German in this repo.",
        "Stop using emojis in your replies.",
        "Explain things to me in German, I don't read English well.",
    ],
)
def test_a_statement_that_begins_like_a_request_tells_something(text: str) -> None:
    assert not is_chatter(memory("m", text, role="user"))


@pytest.mark.parametrize(
    ("text", "is_change"),
    [
        ("We no longer deploy with Fly.io.", True),
        ("Wir deployen jetzt auf Hetzner.", True),
        ("We don't use Fly.io anymore.", True),
        ("I work at Acme now.", True),
        ("The error tracker is Sentry now.", True),
        ("The office has been in Berlin since 2019.", False),
        ("The header should be 40px high.", False),
        ("It works now, the page is shown.", False),
        ("The error is gone now.", False),
        ("My branch is called fix/typo now.", False),
    ],
)
def test_only_what_says_that_something_changed_is_compared(text: str, is_change: bool) -> None:
    turn = memory("m", text, role="user")
    assert announced_changes([turn]) == ([turn] if is_change else [])


def test_an_answer_to_a_doubt_is_no_echo() -> None:
    doubt = memory(
        "m", "I never know whether the billing database is Postgres or MySQL.", role="user", session="s", position=0
    )
    answer = memory("n", "The billing database is Postgres.", role="assistant", session="s", position=1)
    assert not is_echo(answer, doubt) and is_echo(answer, replace(doubt, text="The billing database is now Postgres."))


def test_of_turns_with_the_same_words_the_first_is_listed_and_notes_are_left_alone() -> None:
    turns = [memory(f"t{number}", text, role="user") for number, text in enumerate(("One moment.", "one  moment."))]
    notes = [memory(f"n{number}", "One moment.") for number in range(2)]
    kept = without_repetitions([Hit(each, 1.0) for each in (*turns, *notes)])
    assert [hit.memory.id for hit in kept] == ["t0", "n0", "n1"]
