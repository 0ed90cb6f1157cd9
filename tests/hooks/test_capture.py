"""Reading a transcript on from where it was left, without processes."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied
from nacre.hooks import capture as capturing
from nacre.hooks.capture import AlreadyCaptured, ReadPosition, capture, capture_request, read_positions, step
from nacre.hooks.request import Request
from nacre.model.journal import READ_POSITION
from nacre.settings import Settings
from nacre.transfer.ingest.items import identity
from tests.transcripts import SESSION, add_lines, turn, write_lines


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing")


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "t.jsonl", [turn(number, f"turn {number}") for number in range(5)])


def texts(store: MemoryStore) -> list[str]:
    return [memory.text for memory in store.list_recent(100, order="oldest")]


def test_what_is_left_at_the_time_limit_waits_for_the_next_time(
    store: MemoryStore, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capturing, "LINES", 2)
    assert capture(store, transcript, until=time.monotonic() - 1) == 2  # some in any case: loading may take it all
    assert read_positions(store)[str(transcript)].turns == 2
    assert capture(store, transcript) == 3
    assert texts(store) == [f"turn {number}" for number in range(5)]
    assert len({entry.operation.batch for entry in store.journal(operation="capture", limit=None)}) == 3


def test_who_was_overtaken_writes_nothing(store: MemoryStore, transcript: Path) -> None:
    before = store.vocabulary(READ_POSITION).get(str(transcript))
    capture(store, transcript)
    add_lines(transcript, turn(9, "the last"))
    with pytest.raises(AlreadyCaptured):
        step(store, transcript, before, "")
    assert texts(store) == [f"turn {number}" for number in range(5)]
    assert capture(store, transcript) == 1


def test_what_an_undo_took_back_is_not_captured_again(store: MemoryStore, transcript: Path) -> None:
    capture(store, transcript)
    add_lines(transcript, turn(6, "the sixth"))
    capture(store, transcript)
    first = store.journal(operation="capture", newest_first=False)[0].operation.batch
    (undone, *_) = store.undo(first)  # a later capture of the same transcript does not depend on it
    add_lines(transcript, turn(7, "the seventh"))
    assert capture(store, transcript) == 1
    write_lines(transcript, [{"type": "summary"}, turn(0, "turn 0"), turn(7, "the seventh")])
    assert capture(store, transcript) == 0
    assert texts(store) == ["the sixth", "the seventh"]
    store.undo(undone.operation.batch)
    assert len(texts(store)) == 7


def test_an_operation_of_an_earlier_version_that_journaled_its_position_can_be_undone(
    store: MemoryStore, transcript: Path
) -> None:
    key = (READ_POSITION, str(transcript))
    store.write("capture", new=[store.draft("An older turn")], terms={key: lambda _: asdict(ReadPosition(turns=1))})
    capture(store, transcript)
    reached = read_positions(store)
    store.undo(store.journal(operation="capture", newest_first=False)[0].operation.batch)
    assert read_positions(store) == reached and "An older turn" not in texts(store)


def request_for(transcript: Path) -> Request:
    return Request("stop", {"session_id": "s", "transcript_path": str(transcript)}, str(transcript.parent))


def test_what_was_said_while_capture_was_off_is_not_captured_later(transcript: Path) -> None:
    with MemoryStore(transcript.parent / "s.db", embedder="hashing") as store:
        assert capture_request(store, request_for(transcript)) == 5
    add_lines(transcript, turn(6, "between us"))
    off = Settings(store=str(transcript.parent / "s.db"), hook_capture=False)
    with MemoryStore(settings=off, embedder="hashing") as store:
        assert capture_request(store, request_for(transcript)) == 0
        assert len({entry.operation.batch for entry in store.journal(limit=None)}) == 1
    add_lines(transcript, turn(7, "the seventh"))
    with MemoryStore(transcript.parent / "s.db", embedder="hashing") as store:
        assert capture_request(store, request_for(transcript)) == 1
        assert texts(store) == [*(f"turn {number}" for number in range(5)), "the seventh"]
        assert [memory.position for memory in store.list_recent(order="oldest")] == [*range(6)]
        write_lines(transcript, [{"type": "summary"}, turn(4, "turn 4"), turn(6, "between us"), turn(8, "the eighth")])
        assert capture_request(store, request_for(transcript)) == 1


def test_a_purged_turn_is_not_captured_again_when_the_file_is_replaced(store: MemoryStore, transcript: Path) -> None:
    capture(store, transcript)
    store.purge(store.list_recent(order="oldest")[0].id)
    write_lines(transcript, [{"type": "summary"}, turn(0, "turn 0"), turn(7, "turn 7")])
    assert capture(store, transcript) == 1
    assert texts(store) == ["turn 1", "turn 2", "turn 3", "turn 4", "turn 7"]


def test_a_conversation_that_is_continued_in_a_copy_brings_only_its_new_turns(
    store: MemoryStore, transcript: Path
) -> None:
    capture(store, transcript)
    store.purge(store.list_recent(order="oldest")[0].id)
    copied = [turn(number, f"turn {number}", sessionId="copy") for number in range(5)]
    copy = write_lines(transcript.with_name("copy.jsonl"), [*copied, turn(8, "turn 8", sessionId="copy")])
    assert capture(store, copy, session="copy") == 1
    assert texts(store) == ["turn 1", "turn 2", "turn 3", "turn 4", "turn 8"]


def test_turns_that_an_earlier_version_has_stored_are_known_again(store: MemoryStore, transcript: Path) -> None:
    ids = [identity("claude-code", SESSION, f"uuid-{number}", f"turn {number}") for number in range(2)]
    drafts = [replace(store.draft(f"turn {number}"), id=id) for number, id in enumerate(ids)]
    store.write("capture", new=drafts)
    store.purge(ids[0])
    assert capture(store, transcript) == 3
    assert texts(store) == ["turn 1", "turn 2", "turn 3", "turn 4"]


def test_what_was_forgotten_is_not_captured_again_when_the_file_is_replaced(
    store: MemoryStore, transcript: Path
) -> None:
    capture(store, transcript)
    store.forget(store.list_recent(order="oldest")[0].id)
    write_lines(transcript, [turn(0, "turn 0"), turn(7, "turn 7")])
    assert capture(store, transcript) == 1
    assert texts(store) == ["turn 1", "turn 2", "turn 3", "turn 4", "turn 7"]


def test_lines_that_say_nothing_are_passed_over_for_good(store: MemoryStore, transcript: Path) -> None:
    with transcript.open("a") as file:
        file.write("{broken\n\n[]\n")
    add_lines(transcript, turn(6, "meta", isMeta=True), turn(7, "x" * 1_000_001), turn(8, "kept"))
    assert capture(store, transcript) == 6
    reached = read_positions(store)[str(transcript)]
    assert (reached.offset, reached.turns) == (transcript.stat().st_size, 6)


def test_a_transcript_that_is_gone_or_empty_is_no_fault(store: MemoryStore, tmp_path: Path, transcript: Path) -> None:
    assert capture(store, tmp_path / "nowhere") == 0
    capture(store, transcript)
    transcript.write_text("")
    assert capture(store, transcript) == 0
    assert len(texts(store)) == 5


def test_a_position_that_another_version_stored_is_read() -> None:
    assert ReadPosition.from_term({"offset": 3, "turns": 1, "inode": 71}) == ReadPosition(offset=3, turns=1)
    assert ReadPosition.from_term(None) == ReadPosition()


def test_a_narrowed_agent_captures_nothing(tmp_path: Path, transcript: Path) -> None:
    narrow = AgentCapabilities(ScopeLevel.SESSION_ONLY)
    with MemoryStore(
        tmp_path / "s.db", embedder="hashing", agent="a", session="s", capabilities=narrow
    ) as store, pytest.raises(AccessDenied):  # fmt: skip
        capture(store, transcript)


def codex_line(second: int, kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": f"2026-05-07T09:00:{second:02}Z", "type": kind, "payload": payload}


def codex_item(kind: str, text: str) -> dict[str, object]:
    return {"type": "item_completed", "item": {"type": kind, "content": [{"type": "text", "text": text}]}}


OLDER_CODEX = (
    {"type": "user_message", "message": "The sluice opens at four"},
    {"type": "agent_message", "message": "Noted: four o'clock."},
)
NEWER_CODEX = (
    codex_item("UserMessage", "The sluice opens at four"),
    codex_item("AgentMessage", "Noted: four o'clock."),
)


@pytest.mark.parametrize("messages", [OLDER_CODEX, NEWER_CODEX])
def test_what_was_said_in_codex_is_captured_without_its_context_and_tools(
    messages: tuple[dict[str, object], dict[str, object]], store: MemoryStore, tmp_path: Path
) -> None:
    asked, answered = messages
    environment = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment/>"}]}
    lines = [
        codex_line(1, "session_meta", id="c1", cwd=str(tmp_path)),
        codex_line(2, "response_item", **environment),
        codex_line(3, "event_msg", **asked),
        codex_line(4, "event_msg", type="agent_reasoning", text="thinking"),
        codex_line(5, "event_msg", **answered),
        codex_line(6, "event_msg", **codex_item("Reasoning", "thinking")),
    ]
    transcript = write_lines(tmp_path / "rollout.jsonl", lines)
    assert capture(store, transcript, session="c1") == 2 and capture(store, transcript, session="c1") == 0
    said = store.list_recent(10, order="oldest")
    assert [(each.text, each.role, each.source, each.session, each.position) for each in said] == [
        ("The sluice opens at four", "user", "codex", "c1", 0), ("Noted: four o'clock.", "assistant", "codex", "c1", 1),
    ]  # fmt: skip


def test_a_prompt_and_its_answer_are_captured_from_the_hook_of_gemini_cli(store: MemoryStore, tmp_path: Path) -> None:
    for number in range(2):
        payload = {"session_id": "g1", "transcript_path": str(tmp_path / "none.json"), "cwd": str(tmp_path),
                   "prompt": f"Weir {number} leaks", "prompt_response": f"I noted weir {number}."}  # fmt: skip
        assert capture_request(store, Request("stop", payload, str(tmp_path))) == 2
    said = store.list_recent(10, order="oldest")
    assert [(each.text, each.role, each.position) for each in said] == [
        ("Weir 0 leaks", "user", 0), ("I noted weir 0.", "assistant", 1),
        ("Weir 1 leaks", "user", 2), ("I noted weir 1.", "assistant", 3),
    ]  # fmt: skip
    assert {each.source for each in said} == {"gemini-cli"}


DEPLOYED = "The payments service is deployed with Fly.io, and its database is Postgres 15."
MOVED = "We no longer deploy the payments service with Fly.io; it is deployed to Hetzner with Kamal."


def captured_in_two_sessions(store: MemoryStore, folder: Path, *later: dict[str, object]) -> None:
    capture(store, write_lines(folder / "one.jsonl", [turn(0, DEPLOYED)]), session="one")
    capture(store, write_lines(folder / "two.jsonl", list(later)), session="two")


def test_what_the_user_tells_is_compared_with_what_was_told_before(tmp_path: Path) -> None:
    with MemoryStore(":memory:") as store:
        captured_in_two_sessions(store, tmp_path, turn(1, MOVED))
        (conflict,) = store.review(kinds="conflict")
        assert conflict.conflict is not None
        assert (conflict.conflict.a.text, conflict.conflict.b.text) == (MOVED, DEPLOYED)
        hits = store.recall("How is the payments service deployed?")
        assert [hit.memory.text for hit in hits][:2] == [MOVED, DEPLOYED]
        store.undo()
        assert store.review(kinds="conflict") == [] and texts(store) == [DEPLOYED, MOVED]


def test_an_announced_change_of_a_note_is_noticed(tmp_path: Path) -> None:
    with MemoryStore(":memory:") as store:
        store.remember("We deploy with Fly.io.", occurred_at="2026-01-02")
        said = [turn(1, "we no longer deploy with Fly.io; we deploy on Hetzner now")]
        capture(store, write_lines(tmp_path / "one.jsonl", said), session="one")
        assert [each.conflict.b.text for each in store.review(kinds="conflict") if each.conflict] == [
            "We deploy with Fly.io."
        ]


def test_an_announced_change_is_noted_for_all_that_says_what_it_changes(tmp_path: Path) -> None:
    said, note = (f"{each} as package manager and Node 20." for each in ("We use yarn", "The shop uses yarn"))
    change = write_lines(tmp_path / "two.jsonl", [turn(1, "no, we moved to pnpm last week! don't use yarn anymore")])
    with MemoryStore(":memory:") as store:
        store.remember(note, occurred_at="2026-01-02")
        capture(store, write_lines(tmp_path / "one.jsonl", [turn(0, said)]), session="one")
        capture(store, change, session="two")
        conflicts = [each.conflict for each in store.review(kinds="conflict") if each.conflict]
        assert {each.b.text for each in conflicts} == {said, note}


@pytest.mark.parametrize(
    "later",
    [
        turn(1, MOVED, role="assistant"),
        turn(1, "Do we no longer deploy the payments service with Fly.io?"),
        turn(1, "Deploy the payments service to Hetzner with Kamal."),
    ],
)
def test_answers_questions_and_requests_are_not_compared(tmp_path: Path, later: dict[str, object]) -> None:
    with MemoryStore(":memory:") as store:
        captured_in_two_sessions(store, tmp_path, later)
        assert len(texts(store)) == 2 and store.review(kinds="conflict") == []


def test_nothing_is_compared_where_conflicts_are_ignored_or_no_time_is_left(tmp_path: Path) -> None:
    with MemoryStore(":memory:", settings=Settings(on_conflict="ignore")) as store:
        captured_in_two_sessions(store, tmp_path, turn(1, MOVED))
        assert store.review(kinds="conflict") == []
    with MemoryStore(":memory:") as store:
        captured_in_two_sessions(store, tmp_path)
        late = write_lines(tmp_path / "late.jsonl", [turn(1, MOVED)])
        assert capture(store, late, until=time.monotonic() - 1) == 1 and store.review(kinds="conflict") == []
