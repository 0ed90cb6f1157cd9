"""Reading a transcript on from where it was left, without processes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied
from nacre.hooks import capture as capturing
from nacre.hooks.capture import AlreadyCaptured, ReadPosition, capture, read_positions, step
from tests.transcripts import add_lines, turn, write_lines


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
    assert capture(store, transcript, until=time.monotonic() - 1) == 0
    assert step(store, transcript, None, "") == 2
    assert read_positions(store)[str(transcript)].turns == 2
    assert capture(store, transcript) == 3
    assert texts(store) == [f"turn {number}" for number in range(5)]
    assert len({entry.operation.batch for entry in store.journal(operation="capture", limit=None)}) == 3


def test_who_was_overtaken_writes_nothing(store: MemoryStore, transcript: Path) -> None:
    before = store.vocabulary(capturing.KIND).get(str(transcript))
    capture(store, transcript)
    add_lines(transcript, turn(9, "the last"))
    with pytest.raises(AlreadyCaptured):
        step(store, transcript, before, "")
    assert texts(store) == [f"turn {number}" for number in range(5)]
    assert capture(store, transcript) == 1


def test_a_capture_and_its_place_are_taken_back_together(store: MemoryStore, transcript: Path) -> None:
    capture(store, transcript)
    store.undo()
    assert texts(store) == [] and read_positions(store) == {}


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


def test_a_word_of_another_version_counts_as_nothing_read() -> None:
    assert ReadPosition.from_term({"offset": 3, "colour": "red"}) == ReadPosition.from_term(None) == ReadPosition()


def test_a_narrowed_agent_captures_nothing(tmp_path: Path, transcript: Path) -> None:
    narrow = AgentCapabilities(ScopeLevel.SESSION_ONLY)
    with MemoryStore(
        tmp_path / "s.db", embedder="hashing", agent="a", session="s", capabilities=narrow
    ) as store, pytest.raises(AccessDenied):  # fmt: skip
        capture(store, transcript)
