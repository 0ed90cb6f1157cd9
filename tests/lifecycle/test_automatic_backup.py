"""The daily copy: made by a process of its own after a write, never of a new store, and never at a person's cost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.lifecycle import automatic_backup
from nacre.lifecycle.automatic_backup import (
    LOOK_AGAIN,
    LastAttempt,
    attempt_file,
    automatic_backups,
    began_at,
    is_due,
    last_attempt,
    lock_file,
    make_copy,
    note_attempt,
    obstacle,
    start_if_due,
    state,
)
from nacre.lifecycle.backups import copies
from nacre.model.instants import DAY
from nacre.settings import Settings
from tests.command_line import CommandLine
from tests.hooks.hook_client import eventually
from tests.mcp.agents import environment, stdio_agent
from tests.transcripts import turn, write_lines

AGO = 3 * DAY


def old_store(file: Path, **settings: str) -> Settings:
    """A store that was begun three days ago, and written now."""
    known = Settings(store=str(file), embedder="hashing", **settings)  # type: ignore[arg-type]
    with MemoryStore(settings=known, clock=lambda: time.time() - AGO) as store:
        store.remember("the heron stands in the shallow water")
    return known


def made(settings: Settings) -> list[Path]:
    return automatic_backups(settings).files()


def ended(settings: Settings) -> bool:
    """Whether the process that copies has said what came of it."""
    lock = lock_file(settings)
    return lock.exists() and bool(made(settings) or last_attempt(settings).why_not)


def test_a_command_that_writes_to_a_store_of_yesterday_leaves_a_copy_that_can_be_put_back(nacre: CommandLine) -> None:
    settings = old_store(nacre.store)
    said = nacre.process("remember", "the reeds are cut in March")
    assert (said.returncode, "copy" in said.stderr.lower()) == (0, False)
    assert eventually(lambda: bool(made(settings)))
    (copy,) = made(settings)
    assert copy.parent == nacre.store.parent / "backups" / "automatic"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600 and stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert nacre.json("backup", "verify", str(copy))["memories"] == 2
    assert [each["kind"] for each in nacre.json("backup", "list")] == ["automatic"]
    nacre.process("remember", "a second one on the same day")
    assert made(settings) == [copy]


def test_a_store_that_was_begun_by_a_clock_which_was_set_back_is_copied(tmp_path: Path) -> None:
    now, known = time.time(), Settings(store=str(tmp_path / "s.db"), embedder="hashing")
    with MemoryStore(settings=known, clock=lambda: now + 400 * DAY) as store:
        store.remember("the heron stands in the shallow water")
        assert is_due(known, store.backend, DAY, now)
        assert not is_due(known, store.backend, DAY, now + 400 * DAY)  # it is a new store


def test_a_store_is_copied_whose_newest_copy_a_clock_named_that_was_set_back(tmp_path: Path) -> None:
    now, known = time.time(), old_store(tmp_path / "s.db")
    with MemoryStore(settings=known, clock=lambda: now) as store:
        make_copy(store, known, now + 400 * DAY)
        store.remember("the reeds are cut in March")
        assert is_due(known, store.backend, DAY, now)
        make_copy(store, known, now)
        assert not is_due(known, store.backend, DAY, now)
        assert len(made(known)) == 2


def test_a_new_store_a_question_and_a_store_in_memory_leave_no_copy(nacre: CommandLine) -> None:
    nacre.process("remember", "made just now")
    assert not (nacre.store.parent / "backups").exists()
    nacre.store.unlink()
    old_store(nacre.store)
    assert nacre.process("recall", "where is the heron?").returncode == 0
    assert nacre.process("list").returncode == 0
    assert not (nacre.store.parent / "backups").exists()
    with MemoryStore(":memory:", embedder="hashing", clock=lambda: time.time() - AGO) as store:
        store.remember("kept nowhere")
        assert start_if_due(store, Settings(store=":memory:")) is None


def test_a_program_with_a_store_of_its_own_starts_no_process(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    with MemoryStore(settings=settings) as store:
        store.remember("written by a program")
    assert not (tmp_path / "backups").exists()


def test_off_is_off(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    old_store(nacre.store)
    monkeypatch.setenv("NACRE_BACKUP_EVERY", "off")
    nacre.process("remember", "no copy of this")
    assert not (nacre.store.parent / "backups").exists()
    (said,) = [each for each in nacre.json("doctor") if each["check"] == "backup"]
    assert said["level"] == "ok" and "automatic copies are off (backup_every)" in said["message"]


@pytest.mark.slow
def test_a_copy_of_an_encrypted_store_is_encrypted(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERON_KEY", "a passphrase " + "of some length")
    monkeypatch.setenv("NACRE_KEY", "env:HERON_KEY")
    nacre.store.unlink()  # it is not encrypted
    settings = old_store(nacre.store, key="env:HERON_KEY")
    assert nacre.process("remember", "nobody else reads this").returncode == 0
    assert eventually(lambda: bool(made(settings)))
    assert b"SQLite format" not in made(settings)[0].read_bytes()[:16]
    assert nacre.json("backup", "verify", str(made(settings)[0]))["encrypted"] is True


def test_seven_are_kept_and_what_a_person_made_stays(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    with MemoryStore(settings=settings) as store:
        by_hand = [store.backup(tmp_path / "backups" / f"s-2020010{day}T000000Z.db") for day in range(1, 10)]
        for day in range(9):
            make_copy(store, settings, time.time() + day * DAY)
    assert len(made(settings)) == 7
    assert all(file.exists() for file in by_hand)
    assert {each.automatic for each in copies(settings)} == {True, False}


def test_only_one_process_copies_at_a_time(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    holding = (
        "import sys; from pathlib import Path; from nacre.files import file_lock\n"
        "with file_lock(Path(sys.argv[1]), exclusive=True, patience=0.0):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", holding, str(lock_file(settings))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        with MemoryStore(settings=settings) as store:
            assert make_copy(store, settings, time.time()) == (None, "Another process is making a copy.")
        other.stdin.close()
    assert made(settings) == []


@pytest.mark.slow
def test_many_commands_at_once_make_one_copy(nacre: CommandLine) -> None:
    settings = old_store(nacre.store)
    command = [sys.executable, "-m", "nacre", "remember"]
    running = [subprocess.Popen([*command, f"note {number}"], stderr=subprocess.DEVNULL) for number in range(4)]
    assert [each.wait(120) for each in running] == [0] * 4
    assert eventually(lambda: ended(settings))
    nacre.process("remember", "after all of them")
    assert len(made(settings)) == 1


def test_a_store_that_is_too_large_or_a_disk_that_is_too_full_is_left_alone_and_the_doctor_says_so(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = old_store(nacre.store)
    size = nacre.store.stat().st_size
    with monkeypatch.context() as small:
        small.setattr(automatic_backup, "LARGEST", size - 1)
        with MemoryStore(settings=settings) as store:
            nothing, why_not = make_copy(store, settings, time.time())
        assert nothing is None and "nacre store backup create" in why_not
    with monkeypatch.context() as full:
        full.setattr(automatic_backup, "ROOM", 10**15)
        assert "Free some space, or set backup_folder" in obstacle(settings)
    assert obstacle(settings) == ""
    (said,) = [each for each in nacre.json("doctor") if each["check"] == "backup"]
    assert said["level"] == "warning" and "is copied automatically only up to" in said["message"]
    assert made(settings) == []


def test_what_was_refused_is_not_tried_again_at_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, started = old_store(tmp_path / "s.db"), []
    monkeypatch.setattr(automatic_backup, "start", lambda known: started.append(known))
    with MemoryStore(settings=settings) as store:
        note_attempt(settings, LastAttempt(time.time() - LOOK_AGAIN / 2, "The disk is full."))
        start_if_due(store, settings)
        assert started == []
        note_attempt(settings, LastAttempt(time.time() - 2 * LOOK_AGAIN, "The disk is full."))
        start_if_due(store, settings)
        start_if_due(store, settings)
        assert len(started) == 1
        attempt_file(settings).write_text("not what was written there")
        start_if_due(store, settings)
        assert len(started) == 2


def test_a_store_that_nobody_has_written_to_since_is_not_copied_again(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    with MemoryStore(settings=settings) as store:
        make_copy(store, settings, time.time() - 2 * DAY)
        os.utime(tmp_path / "s.db", (time.time() - AGO,) * 2)
        for log in tmp_path.glob("s.db-wal"):
            os.utime(log, (time.time() - AGO,) * 2)
        assert start_if_due(store, settings) is None
        store.remember("something new")
        note_attempt(settings, LastAttempt())
        assert start_if_due(store, settings) is not None
    assert eventually(lambda: len(made(settings)) == 2)


def test_a_journal_that_was_cut_tells_the_age_of_the_store_all_the_same(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    with MemoryStore(settings=settings) as store:
        store.remember("of today")
        store.compact(older_than_days=1)
        began = began_at(store._parts.opened)
    assert began is not None and began < time.time() - DAY


def test_the_server_for_agents_makes_a_copy_after_a_write_and_none_after_a_question(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    with stdio_agent(tmp_path / "s.db", tmp_path) as agent:
        agent.ok("recall", query="where is the heron?")
        assert not (tmp_path / "backups").exists()
        agent.ok("remember", text="the agent writes this down")
        assert eventually(lambda: bool(made(settings)))


@pytest.mark.slow
def test_what_a_hook_captures_is_copied(nacre: CommandLine, tmp_path: Path) -> None:
    settings = old_store(nacre.store)
    transcript = write_lines(tmp_path / "t.jsonl", [turn(1, "the ferry leaves at nine")])
    payload = json.dumps({"session_id": "s", "transcript_path": str(transcript), "cwd": str(tmp_path)})
    code = "import sys; from nacre.hooks.client import answer_in_process as a; from nacre.hooks.request import Request"
    code += "; import json, pathlib, time; request = Request.here('stop', json.loads(sys.argv[1]), {})"
    code += "; a(request, pathlib.Path(request.settings().store), until=time.monotonic() + 60)"
    variables = {**os.environ, **environment(tmp_path), "NACRE_STORE": str(nacre.store)}
    subprocess.run([sys.executable, "-c", code, payload], check=True, timeout=120, env=variables)
    assert eventually(lambda: bool(made(settings)))


def test_the_state_is_said_in_a_sentence(tmp_path: Path) -> None:
    settings = old_store(tmp_path / "s.db")
    assert state(settings) == (
        True, "There is no copy of the store yet; one is made after a write, once the store is a day old."
    )  # fmt: skip
    note_attempt(settings, LastAttempt(time.time(), "The disk is full."))
    assert state(settings) == (False, "There is no copy of the store. The disk is full.")
    with MemoryStore(settings=settings) as store:
        make_copy(store, settings, 1_800_000_000.0)
    well, says = state(settings)
    assert well and says.startswith("The newest copy is of 2027-01-15T08:00Z; one is made after a write when that is")
    assert "off" in state(replace(settings, backup_every="off"))[1]
