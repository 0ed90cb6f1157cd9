"""Which turns of a conversation tell something."""

from __future__ import annotations

import pytest

from nacre.hooks.turns import is_chatter
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
