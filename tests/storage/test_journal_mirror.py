"""The journal's mirror: lines that many processes share, set aside, pack and scrub."""

from __future__ import annotations

import gzip
import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.files import file_lock
from nacre.model import JournalEntry
from nacre.protocols import JournalSink
from nacre.storage import journal_mirror
from nacre.storage.journal_mirror import JournalMirror
from tests.samples import SPACE, entry
from tests.torture.crowd import PROCESSES, at_once, started

KIB = 1 / 1024  # of a megabyte
SECRET = "xyzzyplugh"


def mirror(folder: Path, **options: Any) -> JournalMirror:
    return JournalMirror(folder / "journal.jsonl", **options)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.endswith(".lock"))


def archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("journal-*"))


def content(folder: Path) -> bytes:
    return b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in folder.iterdir())


def told(memory_id: str, word: str = "", **fields: Any) -> JournalEntry:
    return entry(memory_id, after={"text": word or memory_id}, **fields)


def records(folder: Path) -> list[dict[str, Any]]:
    """The lines of all files, oldest first; an archive stands for the plain file that it was packed from."""
    aside = (file for file in sorted(folder.glob("journal-[0-9]*")) if not Path(f"{file}.gz").exists())
    live = [file for file in (folder / "journal.jsonl",) if file.exists()]
    lines = (line for file in (*aside, *live) for line in journal_mirror.lines(file))
    return [json.loads(line) for line in lines if not line.isspace()]


def named(found: JournalMirror) -> list[str]:
    return [each["memory_id"] for each in records(found.path.parent)]


def test_an_act_is_lines_that_tell_everything(tmp_path: Path) -> None:
    sink: JournalSink = mirror(tmp_path / "deep" / "er")
    acts = [
        entry(
            "m1",
            operation="edit",
            at=1_700_000_000.5,
            why='says "so"\n',
            before={"text": "a\u2028b"},
            after={"text": "ü"},
        ),
        entry("m2", batch="b2", operation="purge"),
    ]
    sink(acts)
    file = tmp_path / "deep" / "er" / "journal.jsonl"
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert lines[0] == {
        "ts": 1_700_000_000.5, "at": "2023-11-14T22:13:20.500000Z", "act": "edit", "actor": "tester", "batch": "b1",
        "space": SPACE, "kind": "memory", "memory_id": "m1", "why": 'says "so"\n',
        "before": {"text": "a\u2028b"}, "after": {"text": "ü"},
    }  # fmt: skip
    assert [line["memory_id"] for line in lines] == ["m1", "m2"]


def test_what_grows_too_large_is_set_aside_and_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_mirror, "LOOK_EVERY", 1)
    sink = mirror(tmp_path, rotate_mb=1 * KIB)
    ids = [f"m{number}" for number in range(60)]
    for id in ids:
        sink([told(id)])
    assert len(archives(tmp_path)) > 5
    assert all(file.name.endswith("Z.jsonl.gz") for file in archives(tmp_path))
    assert named(sink) == ids


def test_the_size_is_looked_at_with_the_first_write_of_a_process(tmp_path: Path) -> None:
    first = mirror(tmp_path, rotate_mb=1 * KIB)
    for number in range(30):
        first([told(f"m{number}")])
    assert files(tmp_path) == ["journal.jsonl"]
    mirror(tmp_path, rotate_mb=1 * KIB)([told("last")])
    assert len(archives(tmp_path)) == 1
    assert len(named(first)) == 31


def test_zero_means_that_nothing_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_mirror, "LOOK_EVERY", 1)
    sink = mirror(tmp_path, rotate_mb=0)
    sink([told("a")])
    sink([told("b")])
    assert files(tmp_path) == ["journal.jsonl"]


def test_archives_are_removed_when_they_are_old_and_by_the_stamp_in_their_name(tmp_path: Path) -> None:
    now = [1_000_000.0]
    sink = JournalMirror(tmp_path / "journal.jsonl", rotate_mb=1e-6, keep_days=2, clock=lambda: now[0])
    sink([told("old")])
    (tmp_path / "journal-notes.jsonl.gz").write_bytes(b"somebody else's")
    now[0] += 2 * 86_400 - 1
    JournalMirror(sink.path, rotate_mb=0, keep_days=2, clock=lambda: now[0])([told("new")])
    assert named(sink) == ["old", "new"]
    now[0] += 2
    JournalMirror(sink.path, rotate_mb=0, keep_days=0, clock=lambda: now[0])([told("newer")])
    assert named(sink) == ["old", "new", "newer"]
    JournalMirror(sink.path, rotate_mb=0, keep_days=2, clock=lambda: now[0])([told("newest")])
    assert named(sink) == ["new", "newer", "newest"]
    assert "journal-notes.jsonl.gz" in files(tmp_path)


def test_a_clock_that_stands_or_runs_backwards_neither_overwrites_nor_disorders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_mirror, "LOOK_EVERY", 1)
    hours = iter([10.0, 10.0, 10.0, 9.0, 8.0, 11.0] * 4)
    sink = JournalMirror(tmp_path / "journal.jsonl", rotate_mb=1e-6, keep_days=0, clock=lambda: next(hours) * 3600)
    for id in "abcdef":
        sink([told(id)])
    assert len(archives(tmp_path)) == 6
    assert named(sink) == list("abcdef")


def test_a_file_that_cannot_be_written_is_said_once_and_fails_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "journal.jsonl").mkdir()
    sink = mirror(tmp_path)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            sink([told("a")])
    assert len(caplog.records) == 1
    assert "journal.jsonl" in caplog.text
    sink.scrub(SPACE, ["a"])
    assert "still contains" in caplog.text


def test_a_full_disk_is_said_and_the_line_that_it_cut_swallows_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sink = mirror(tmp_path)
    sink([told("before")])
    whole = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, data: whole(file, data[:-20]))
        sink([told("cut")])
    sink([told("after")])
    assert "disk is full" in caplog.text
    first, cut, last = sink.path.read_bytes().splitlines()
    assert [json.loads(line)["memory_id"] for line in (first, last)] == ["before", "after"]
    with pytest.raises(ValueError):
        json.loads(cut)


def test_scrubbing_takes_the_content_of_these_memories_out_of_all_files(tmp_path: Path) -> None:
    for number in range(3):  # two archives and the live file
        sink = mirror(tmp_path, rotate_mb=1e-6 if number < 2 else 64)
        sink(
            [told("gone", SECRET, operation="edit", why=SECRET, at=number), told("stays", "kept"), told("too", SECRET)]
        )
        sink([told("gone", "of another space", space="elsewhere")])
    assert content(tmp_path).count(SECRET.encode()) == 9
    sink.scrub(SPACE, ["gone", "too"])
    assert SECRET.encode() not in content(tmp_path)
    assert named(sink) == ["gone", "stays", "too", "gone"] * 3
    first, *_ = found = records(tmp_path)
    assert [first[key] for key in ("act", "ts", "why", "before", "after")] == ["edit", 0.0, "", None, None]
    assert all(each["after"] for each in found if each["memory_id"] == "stays" or each["space"] == "elsewhere")


def test_scrubbing_takes_the_data_of_links_to_these_memories(tmp_path: Path) -> None:
    sink = mirror(tmp_path)
    odd = 'quo"te\\ü'
    links = [{"to": odd, "rel": "quotes", "data": {"said": SECRET}}, {"to": "other", "rel": "quotes", "data": {"x": 1}}]
    sink([entry("stays", before={"links": links}, after={"text": "kept", "links": links}), told("last", "kept")])
    sink.scrub(SPACE, [odd])
    assert SECRET.encode() not in content(tmp_path)
    first, last = records(tmp_path)
    left = [{"to": odd, "rel": "quotes"}, links[1]]
    assert (first["before"], first["after"]) == ({"links": left}, {"text": "kept", "links": left})
    assert last["after"] == {"text": "kept"}


def test_scrubbing_what_is_not_told_rewrites_nothing(tmp_path: Path) -> None:
    sink = mirror(tmp_path, rotate_mb=1e-6)
    sink([told("a")])
    sink([told("b")])
    before = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in tmp_path.glob("*.jsonl*")}
    sink.scrub(SPACE, ["nobody"])
    sink.scrub("elsewhere", ["a", "b"])
    assert {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in before} == before


def test_an_odd_id_is_scrubbed_as_any_other(tmp_path: Path) -> None:
    sink = mirror(tmp_path)
    odd = 'quo"te\\ü\n\u2028'
    sink([told(odd, SECRET), told('x"memory_id":"' + odd, "stays")])
    sink.scrub(SPACE, [odd])
    assert SECRET.encode() not in content(tmp_path)
    assert [each["after"] for each in records(tmp_path)] == [None, {"text": "stays"}]


def test_what_a_crash_left_behind_is_scrubbed_too(tmp_path: Path) -> None:
    """A line cut short, a file set aside and not yet packed, a half-written archive, an archive with a broken end."""
    sink = mirror(tmp_path)
    sink([told("gone", SECRET)])
    line = sink.path.read_bytes()
    with sink.path.open("ab") as file:
        file.write(line[:-5])
    (tmp_path / "journal-20200101T000000000000Z.jsonl").write_bytes(line)
    (tmp_path / "journal-20200101T000000000001Z.jsonl.gz.tmp").write_bytes(line)
    (tmp_path / "journal-20200101T000000000002Z.jsonl.gz").write_bytes(gzip.compress(line, mtime=0)[:-4])
    sink = JournalMirror(sink.path, keep_days=0)
    sink.scrub(SPACE, ["gone"])
    assert SECRET.encode() not in content(tmp_path)
    assert named(sink) == ["gone"] * 3
    assert [file.suffix for file in archives(tmp_path)] == [".gz"] * 3


def test_a_file_that_was_packed_and_not_yet_removed_is_removed(tmp_path: Path) -> None:
    sink = JournalMirror(tmp_path / "journal.jsonl", keep_days=0)
    sink([told("live")])
    line = sink.path.read_bytes().replace(b"live", b"past")
    (tmp_path / "journal-20200101T000000000000Z.jsonl").write_bytes(line)
    (tmp_path / "journal-20200101T000000000000Z.jsonl.gz").write_bytes(gzip.compress(line))
    assert named(sink) == ["past", "live"]
    JournalMirror(sink.path, keep_days=0)([told("more")])
    assert named(sink) == ["past", "live", "more"]
    assert files(tmp_path) == ["journal-20200101T000000000000Z.jsonl.gz", "journal.jsonl"]


def test_the_archives_are_their_owners_alone(tmp_path: Path) -> None:
    sink = mirror(tmp_path, rotate_mb=1e-6)
    sink([told("a", SECRET)])
    sink([told("a", SECRET)])
    sink.scrub(SPACE, ["a"])
    assert {archive.stat().st_mode & 0o777 for archive in archives(tmp_path)} == {0o600}


def test_a_writer_does_not_wait_while_another_process_packs(tmp_path: Path) -> None:
    sink = mirror(tmp_path, rotate_mb=1e-6)
    with file_lock(tmp_path / "journal.jsonl.keeping.lock", exclusive=True, patience=0):
        began = time.monotonic()
        sink([told("a")])
        assert time.monotonic() - began < 1
    assert files(tmp_path) == ["journal.jsonl"]


def test_the_file_is_neither_set_aside_under_a_writers_hands_nor_written_while_it_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(journal_mirror, "WRITER_WAITS", 0.01)
    lock = tmp_path / "journal.jsonl.lock"
    with file_lock(lock, exclusive=False, patience=0):
        mirror(tmp_path, rotate_mb=1e-6)([told("a")])
    assert files(tmp_path) == ["journal.jsonl"]
    with file_lock(lock, exclusive=True, patience=0):
        mirror(tmp_path)([told("b")])
    assert "not mirrored" in caplog.text
    assert named(mirror(tmp_path)) == ["a"]


def write(path: str, seed: int, count: int) -> list[str]:
    journal_mirror.LOOK_EVERY = 2
    sink, random, ids = JournalMirror(Path(path), rotate_mb=4 * KIB), Random(seed), list[str]()
    while len(ids) < count:
        batch = [f"{seed}-{len(ids) + place}" for place in range(random.choice((1, 1, 5)))]
        sink([told(id, "word " * random.randrange(200)) for id in batch])
        ids += batch
    return ids


def scrub_now_and_then(path: str, times: int) -> list[str]:
    sink, ids = JournalMirror(Path(path), rotate_mb=4 * KIB), list[str]()
    for number in range(times):
        sink([told(f"scrubbed-{number}", SECRET)])
        sink.scrub(SPACE, [f"scrubbed-{number}"])
        ids.append(f"scrubbed-{number}")
    return ids


@pytest.mark.slow
def test_of_many_processes_that_write_rotate_and_scrub_no_line_is_lost_or_written_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.jsonl")
    calls: list[tuple[Callable[..., list[str]], tuple[object, ...]]] = [(write, (path, n, 1000)) for n in range(4)]
    calls.append((scrub_now_and_then, (path, 10)))
    written = [id for ids in at_once(calls) for id in ids]
    assert Counter(each["memory_id"] for each in records(tmp_path)) == Counter(written)
    assert len(archives(tmp_path)) > 5
    assert SECRET.encode() not in content(tmp_path)


def keep_writing(path: str, acknowledge: Connection) -> None:
    journal_mirror.LOOK_EVERY = 1
    sink = JournalMirror(Path(path), rotate_mb=2 * KIB)
    for number in range(100_000):
        sink([told(f"{os.getpid()}-{number}")])
        acknowledge.send_bytes(b"!")


def killed_while_writing(path: Path, after: int) -> tuple[str, int]:
    """The writer's id, and how many of its writes had returned."""
    here, there = PROCESSES.Pipe(duplex=False)
    process = started(keep_writing, str(path), there)
    there.close()
    for _ in range(after):
        here.recv_bytes()
    process.kill()
    process.join()
    with suppress(EOFError):
        while True:
            here.recv_bytes()
            after += 1
    here.close()
    return str(process.pid), after


@pytest.mark.slow
def test_a_process_killed_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path, random = tmp_path / "journal.jsonl", Random(7)
    acknowledged = dict(killed_while_writing(path, random.randrange(1, 120)) for _ in range(8))
    sink = mirror(tmp_path)
    sink([told("last-0")])
    found = Counter(id.split("-")[0] for id in named(sink))
    assert all(found[writer] - count in (0, 1) for writer, count in acknowledged.items())
    assert set(Counter(named(sink)).values()) == {1}
    assert not list(tmp_path.glob("*.tmp"))
