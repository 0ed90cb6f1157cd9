"""Agent files of Letta, built after their documented schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import ArchiveRefused
from nacre.transfer.foreign import letta
from nacre.transfer.import_archive import import_path
from nacre.transfer.sources import recognise
from tests.transfer.archives import opened
from tests.transfer.foreign.fixture_files import everything, taken

MESSAGES: list[dict[str, Any]] = [
    {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are a gardener"}]},
    {"id": "message-1", "role": "user", "content": [{"type": "text", "text": "When do figs ripen?"}],
     "created_at": "2025-08-01T10:00:00+00:00"},
    {"id": "message-2", "role": "assistant", "content": [{"type": "text", "text": "In September"}],
     "created_at": "2025-08-01T10:00:05+00:00"},
    {"id": "message-3", "role": "tool", "content": [{"type": "text", "text": "ok"}]},
]  # fmt: skip


def test_blocks_and_what_was_said_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "gardener.af"
    blocks = [
        {"id": "block-0", "label": "human", "value": "Ines grows figs", "description": "About the person", "limit": 99},
        {"id": "block-1", "label": "persona", "value": ""},
    ]
    agent = {"id": "agent-0", "name": "gardener", "block_ids": ["block-0", "block-1", "gone", {}], "messages": MESSAGES}
    path.write_text(json.dumps({"agents": [agent], "groups": [], "blocks": blocks, "files": []}))
    assert recognise(path).name == "letta"
    memories, done = taken(path)
    by_text = {memory.text: memory for memory in memories}
    human = by_text["Ines grows figs"]
    assert (human.title, human.agent, human.source_notes) == ("human", "gardener", "About the person")
    question, answer = by_text["When do figs ripen?"], by_text["In September"]
    assert (question.role, question.position, answer.role, answer.position) == ("user", 0, "assistant", 1)
    assert question.session == answer.session and answer.occurred_at == 1_754_042_405.0
    assert len(memories) == 3 and any("3 messages" in note for note in done.notes)


def test_an_older_file_is_one_agent(tmp_path: Path) -> None:
    path = tmp_path / "old.af"
    core = [{"label": "human", "value": "Ines grows figs"}]
    path.write_text(
        json.dumps({"agent_type": "memgpt_agent", "name": "old", "core_memory": core, "messages": MESSAGES})
    )
    memories, _ = taken(path)
    assert len(memories) == 3


def agent_file(path: Path, block: str, *messages: dict[str, Any]) -> Path:
    agent = {"id": "agent-0", "name": "memgpt", "block_ids": ["block-0"], "messages": list(messages)}
    path.write_text(json.dumps({"agents": [agent], "blocks": [{"id": "block-0", "label": "human", "value": block}]}))
    return path


def message(number: int, role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"message-{number}", "role": role, "content": [{"type": "text", "text": text}], **more}


def test_ids_that_each_file_counts_anew_do_not_hide_another_agent(tmp_path: Path) -> None:
    first = agent_file(tmp_path / "a.af", "Ines grows figs", message(0, "user", "yes"), message(1, "user", "yes"))
    second = agent_file(tmp_path / "b.af", "Olga sails", message(0, "user", "The key hangs in the shed"))
    with opened() as store:
        assert [import_path(store, path).imported for path in (first, second, first)] == [3, 2, 0]
        turns = {memory.session for memory in everything(store) if memory.role}
        assert turns == {"memgpt a", "memgpt b"}


def test_an_agent_that_speaks_by_a_tool_is_taken_at_its_word(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "send_message", "arguments": json.dumps({"message": "Welcome to Oslo!"})}}
    event = {"type": "user_message", "message": "I moved to Oslo", "time": "2025-05-01 10:00:00 AM"}
    path = agent_file(
        tmp_path / "a.af", "Ines",
        message(0, "user", json.dumps({"type": "login", "last_login": "never", "time": "x"})),
        message(1, "user", json.dumps(event, indent=2)),
        message(2, "assistant", "She moved. I should greet her.", tool_calls=[call]),
        message(3, "user", json.dumps({"type": "heartbeat", "reason": "automated", "time": "x"})),
        message(4, "assistant", "I look it up.", tool_calls=[{"function": {"name": "archival_memory_search"}}, None]),
        message(5, "user", '{"type": "of a fig"}'),
    )  # fmt: skip
    memories, _ = taken(path)
    turns = sorted((memory.position or 0, memory.role, memory.text) for memory in memories if memory.role)
    assert turns == [
        (0, "user", "I moved to Oslo"), (1, "assistant", "Welcome to Oslo!"), (2, "user", '{"type": "of a fig"}'),
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"agents": []}'])
def test_what_holds_no_agent_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.af"
    path.write_text(content)
    with pytest.raises(ArchiveRefused), letta.opened(path):
        pass
