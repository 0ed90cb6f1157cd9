"""The notes of transcripts that nobody has captured yet."""

from __future__ import annotations

import os
import stat
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.hooks import capture as capturing
from nacre.hooks import unread
from nacre.hooks.capture import capture_with_left
from nacre.hooks.client import open_store
from nacre.hooks.request import Request
from nacre.settings import Settings
from tests.hooks.hook_client import log
from tests.transcripts import secret, turn, write_lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def request_for(transcript: Path, **environment: str) -> Request:
    payload = {"session_id": transcript.stem, "transcript_path": str(transcript), "prompt": "what was typed"}
    return Request("stop", payload, str(transcript.parent), {"space": "orchard"}, environment)


def written(folder: Path, name: str, *texts: str) -> Path:
    return write_lines(folder / f"{name}.jsonl", [turn(number, text, sessionId=name, uuid=f"{name}-{number}")
                                                  for number, text in enumerate(texts)])  # fmt: skip


def test_a_note_names_the_transcript_and_no_secret_and_nothing_that_was_said(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for(written(tmp_path, "a", "hello"), NACRE_KEY=secret(), NACRE_SPACE="orchard")
    unread.note(file, request)
    (noted,) = unread.notes_folder().iterdir()
    assert secret() not in noted.read_text() and "what was typed" not in noted.read_text()
    assert stat.S_IMODE(noted.stat().st_mode) == 0o600
    monkeypatch.setenv("NACRE_KEY", "of this process")
    (left,) = unread.left(file)
    assert (left.transcript, left.session, left.flags) == (request.transcript, "a", {"space": "orchard"})
    assert left.environment == {"NACRE_KEY": "of this process", "NACRE_SPACE": "orchard"}
    assert list(unread.left(tmp_path / "another.db")) == []


def test_what_a_client_gives_with_the_call_is_not_noted(file: Path) -> None:
    unread.note(file, Request("stop", {"prompt": "a", "prompt_response": "b"}, "/nowhere"))
    assert not unread.notes_folder().exists()


@pytest.mark.parametrize("fate", ["old", "gone", "broken"])
def test_a_note_of_no_use_is_not_listed_and_goes_with_the_next_capture(file: Path, tmp_path: Path, fate: str) -> None:
    transcript = written(tmp_path, "a", "hello")
    unread.note(file, request_for(transcript))
    (noted,) = unread.notes_folder().iterdir()
    assert len(list(unread.left(file))) == 1
    if fate == "old":
        os.utime(noted, (time.time() - 15 * 86_400,) * 2)
    elif fate == "gone":
        transcript.unlink()
    else:
        noted.write_text("{half of")
    assert list(unread.left(file)) == [] and noted.exists()  # looking removes nothing
    store = MemoryStore(":memory:", embedder="hashing")
    capture_with_left(file, request_for(written(tmp_path, "b", "bye")), lambda _: nullcontext(store))
    assert not noted.exists() and [memory.text for memory in store.list_recent()] == ["bye"]


def test_one_that_fails_keeps_its_note_and_the_others_are_captured(file: Path, tmp_path: Path) -> None:
    store = MemoryStore(":memory:", embedder="hashing")
    first, bad, last = (request_for(written(tmp_path, name, f"of {name}")) for name in ("first", "bad", "last"))
    for each in (first, bad, last):
        unread.note(file, each)

    def opened(request: Request) -> AbstractContextManager[MemoryStore]:
        if request.session == "bad":
            raise ValueError("the settings of this folder")
        return nullcontext(store)

    capture_with_left(file, first, opened)
    assert {memory.text for memory in store.list_recent()} == {"of first", "of last"}
    assert [each.session for each in unread.left(file)] == ["bad"]
    assert log().count("the settings of this folder") == 1
    capture_with_left(file, bad, opened)
    assert log().count("the settings of this folder") == 2  # its own note is not tried again at once


def test_what_waits_because_a_call_had_no_key_is_captured_by_the_next_that_has_it(file: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    settings = Settings(store=str(file), space="orchard", key=f"file:{key}")
    with MemoryStore(settings=settings, embedder="hashing") as store:
        store.remember("The store is encrypted")
    flags = {"store": str(file), "embedder": "hashing"}
    without = replace(request_for(written(tmp_path, "first", "of first")), flags=flags)
    unread.note(file, without)
    capture_with_left(file, without, open_store)
    assert [each.session for each in unread.left(file)] == ["first"] and "no key was given" in log()
    later = request_for(written(tmp_path, "second", "of second"))
    capture_with_left(file, replace(later, flags={**flags, "key": f"file:{key}"}), open_store)
    assert list(unread.left(file)) == []
    with MemoryStore(settings=settings, embedder="hashing") as store:
        texts = {memory.text for space in store.spaces() for memory in store.in_space(space).iterate()}
    assert texts == {"The store is encrypted", "of first", "of second"}


def test_a_note_stays_until_the_end_of_the_transcript_was_read(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capturing, "LINES", 1)
    store = MemoryStore(":memory:", embedder="hashing")
    request = request_for(written(tmp_path, "a", "one", "two"))
    unread.note(file, request)
    capture_with_left(file, request, lambda _: nullcontext(store), until=time.monotonic())
    assert store.count() == 1 and len(list(unread.left(file))) == 1
    capture_with_left(file, request, lambda _: nullcontext(store))
    assert store.count() == 2 and list(unread.left(file)) == []
