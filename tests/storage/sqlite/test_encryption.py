"""An encrypted store: what opens it, what does not, and what its bytes tell."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import NotAStore, NotEncrypted, PlainMirror, StoreDamaged, WeakKey, WrongKey
from nacre.lifecycle.daemon import write_pid
from nacre.lifecycle.doctor import salvage
from nacre.settings import Settings
from nacre.storage.sqlite import Key, SQLiteBackend
from nacre.storage.sqlite import connection as key
from nacre.storage.sqlite.backup import rekey
from nacre.storage.sqlite.connection import derived
from tests.samples import SPACE, listed, memory, put

RAW = Key("5a" * 32)
WORDS = Key("walnut under the snow")
TOLD = "heliotrope"

KILLED = """
import os, signal, sys, apsw
file, key, sql = sys.argv[1:]
connection = apsw.Connection(file)
if key:
    connection.pragma("key", key)
connection.pragma("cache_size", 5)
connection.execute(sql).fetchall()
os.kill(os.getpid(), signal.SIGKILL)
"""


def filled(file: Path, key: Key | None, text: str = TOLD) -> Path:
    store = SQLiteBackend(file, key)
    put(store, memory("a", text))
    store.close()
    return file


def killed_during(sql: str, file: Path, key: Key | None) -> None:
    salt = file.read_bytes()[:16]
    subprocess.run([sys.executable, "-c", KILLED, str(file), key.raw(salt) if key else "", sql], check=False)


def texts(file: Path, key: Key | None) -> list[str]:
    store = SQLiteBackend(file, key)
    try:
        return [each.text for each in listed(store, SPACE)]
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("key", [RAW, WORDS], ids=["raw", "passphrase"])
def test_neither_the_file_nor_its_log_tells_what_is_remembered(tmp_path: Path, key: Key) -> None:
    store = SQLiteBackend(tmp_path / "s.db", key)
    put(store, memory("a", TOLD))
    parts = {part.name: part.read_bytes() for part in tmp_path.iterdir()}
    assert len(parts["s.db-wal"]) > 4096
    store.close()
    parts["closed"] = (tmp_path / "s.db").read_bytes()
    assert [name for name, content in parts.items() if TOLD.encode() in content or b"SQLite format" in content] == []


def test_the_same_search_finds_the_text_in_a_plain_file(tmp_path: Path) -> None:
    assert TOLD.encode() in filled(tmp_path / "s.db", None).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "secret",
    ["walnut under the snow", "it's snow", 'a "b" c d', "raw:" + "5a" * 32, "Nüsse im Schnee", "5a" * 31, "x" * 999],
)
def test_a_passphrase_may_be_any_text(tmp_path: Path, secret: str) -> None:
    file = filled(tmp_path / "s.db", Key(secret))
    assert texts(file, Key(secret)) == [TOLD]
    with pytest.raises(WrongKey):
        SQLiteBackend(file, RAW)


@pytest.mark.slow
def test_the_drivers_own_derivation_opens_a_file_with_a_passphrase(tmp_path: Path) -> None:
    connection = apsw.Connection(str(filled(tmp_path / "s.db", WORDS)))
    connection.pragma("cipher", "chacha20")
    connection.pragma("kdf_iter", 600_000)
    connection.pragma("key", WORDS.secret)
    assert connection.execute("SELECT text FROM content").fetchall() == [(TOLD,)]
    connection.close()


@pytest.mark.slow
def test_a_passphrase_is_derived_once_a_process_and_not_for_every_thread(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", WORDS)
    store = SQLiteBackend(file, WORDS)
    before, found = derived.cache_info().misses, list[int]()
    threads = [threading.Thread(target=lambda: found.append(store.health().memories)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert (found, derived.cache_info().misses) == ([1] * 4, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kept", "given", "error", "said"),
    [
        (RAW, None, WrongKey, "no key was given"),
        (RAW, Key("6b" * 32), WrongKey, "does not open it"),
        (WORDS, Key("walnut under the rain"), WrongKey, "does not open it"),
        (WORDS, None, WrongKey, "no key was given"),
        (None, RAW, NotEncrypted, "run `nacre store encrypt`"),
        (None, WORDS, NotEncrypted, "run `nacre store encrypt`"),
    ],
)
def test_what_does_not_open_is_one_clear_sentence_and_changes_nothing(
    tmp_path: Path, kept: Key | None, given: Key | None, error: type[Exception], said: str
) -> None:
    file = filled(tmp_path / "s.db", kept)
    content = file.read_bytes()
    with pytest.raises(error, match=said) as caught:
        SQLiteBackend(file, given)
    for secret_key in (kept, given):
        assert secret_key is None or secret_key.secret not in str(caught.value)
    assert file.read_bytes() == content
    assert texts(file, kept) == [TOLD]


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [b"just some text, longer than a header " * 99, b"short", b"\x00" * 5000, b"\x00" * 5, bytes(range(256)) * 20],
)
def test_another_file_is_no_store_whatever_the_key(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(content)
    for any_key in (RAW, WORDS, None):
        with pytest.raises(NotAStore):
            SQLiteBackend(file, any_key)
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("missing", "key", "other"),
    [
        (4096, "a pear in the snow", "a plum in the snow"),
        pytest.param(9000, "5a" * 32, "5b" * 32, marks=pytest.mark.slow),
    ],
    ids=["passphrase", "raw"],
)
def test_a_file_that_was_cut_short_is_damaged_and_its_texts_are_salvaged_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int, key: str, other: str
) -> None:
    monkeypatch.setenv("SOME_KEY", key)
    monkeypatch.setenv("OTHER_KEY", other)
    settings = Settings(key="env:SOME_KEY", embedder="hashing")
    with MemoryStore(tmp_path / "s.db", settings=settings) as store:
        store.remember_many([f"Row {number} was watered" for number in range(40)])
    content = (tmp_path / "s.db").read_bytes()
    (tmp_path / "s.db").write_bytes(content[:-missing])
    with pytest.raises(StoreDamaged, match="nacre doctor --fix"):
        MemoryStore(tmp_path / "s.db", settings=settings)
    with pytest.raises(WrongKey):
        MemoryStore(tmp_path / "s.db", settings=Settings(key="env:OTHER_KEY", embedder="hashing"))
    salvage(settings, tmp_path / "s.db", tmp_path / "new.db", 1_800_000_000.0)
    with MemoryStore(tmp_path / "new.db", settings=settings) as store:
        assert store.count(include_archived=True) == 40


def test_a_key_is_never_shown() -> None:
    for any_key in (RAW, WORDS):
        assert any_key.secret not in repr(any_key) and any_key.secret not in str([any_key])


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize(("kept", "tried"), [(RAW, None), (RAW, WORDS), (None, RAW)])
def test_what_a_killed_writer_left_in_the_log_outlives_a_wrong_key(
    tmp_path: Path, kept: Key | None, tried: Key | None
) -> None:
    file = filled(tmp_path / "s.db", kept)
    killed_during("UPDATE content SET text = 'changed'", file, kept)
    assert (tmp_path / "s.db-wal").stat().st_size > 0
    with pytest.raises((WrongKey, NotEncrypted)):
        SQLiteBackend(file, tried)
    assert texts(file, kept) == ["changed"]


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize(("kept", "tried"), [(RAW, None), (RAW, WORDS), (None, RAW)])
@pytest.mark.slow
def test_what_a_crash_left_to_be_rolled_back_is_rolled_back_after_a_wrong_key(
    tmp_path: Path, kept: Key | None, tried: Key | None
) -> None:
    file = filled(tmp_path / "s.db", kept, "as it was")
    half = "PRAGMA journal_mode = delete; BEGIN; UPDATE content SET text = 'half'; CREATE TABLE t(x);"
    half += "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    killed_during(f"{half} INSERT INTO t SELECT randomblob(3000) FROM n", file, kept)
    assert (tmp_path / "s.db-journal").stat().st_size > 0
    with pytest.raises((WrongKey, NotEncrypted)):
        SQLiteBackend(file, tried)
    assert texts(file, kept) == ["as it was"]
    assert not (tmp_path / "s.db-journal").exists()


@pytest.mark.slow
@pytest.mark.parametrize("key", [RAW, WORDS], ids=["raw", "passphrase"])
def test_a_copy_is_encrypted_and_opens_with_the_same_key(tmp_path: Path, key: Key) -> None:
    store = SQLiteBackend(filled(tmp_path / "s.db", key), key)
    store.copy_to(tmp_path / "copy.db")
    store.close()
    assert TOLD.encode() not in (tmp_path / "copy.db").read_bytes()
    assert texts(tmp_path / "copy.db", key) == [TOLD]
    with pytest.raises(WrongKey):
        SQLiteBackend(tmp_path / "copy.db")


CRASHING = """
import os, sys
from nacre import MemoryStore
from nacre.settings import Settings
store = MemoryStore(sys.argv[1], settings=Settings(embedder="hashing", key="env:RIGHT"))
store.remember("The crane is green")
os._exit(9)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the log of a process that ended by itself")
def test_a_wrong_key_after_a_crash_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setenv("RIGHT", "5a" * 32)
    monkeypatch.setenv("WRONG", "7c" * 32)
    assert subprocess.run([sys.executable, "-c", CRASHING, str(path)], check=False).returncode == 9
    log = path.with_name("s.db-wal")
    before = log.read_bytes()
    assert before  # what was written lies in the log alone
    with pytest.raises(WrongKey):
        MemoryStore(path, settings=Settings(embedder="hashing", key="env:WRONG"))
    assert log.read_bytes() == before
    with MemoryStore(path, settings=Settings(embedder="hashing", key="env:RIGHT")) as store:
        assert [memory.text for memory in store.list_recent()] == ["The crane is green"]


OTHER_RAW = Key("5a" * 32)


def test_a_passphrase_is_derived_with_the_rounds_that_are_advised_and_a_raw_key_with_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert key.ITERATIONS >= 600_000
    monkeypatch.setattr(key, "derived", lambda *_: pytest.fail("a raw key needs no derivation"))
    assert OTHER_RAW.raw(b"\0" * 16).startswith("raw:" + "5a" * 32)


@pytest.mark.parametrize("short", ["a", "sevenly", "       a        "])
def test_a_short_passphrase_is_refused_and_nothing_is_changed(tmp_path: Path, short: str) -> None:
    SQLiteBackend(tmp_path / "s.db").close()
    before = (tmp_path / "s.db").read_bytes()
    with pytest.raises(WeakKey, match="at least 8 characters"):
        rekey(tmp_path / "s.db", None, Key(short))
    assert (tmp_path / "s.db").read_bytes() == before
    with pytest.raises(WeakKey):
        SQLiteBackend(tmp_path / "new.db", Key(short))
    assert not (tmp_path / "new.db").exists()


@pytest.mark.slow
def test_a_store_that_has_a_short_passphrase_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as lax:
        lax.setattr(key, "LEAST_CHARACTERS", 1)
        SQLiteBackend(tmp_path / "s.db", Key("abc")).close()
    SQLiteBackend(tmp_path / "s.db", Key("abc")).close()


def test_an_encrypted_store_does_not_open_with_a_mirror_of_its_journal(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("5a" * 32)
    (tmp_path / "key").chmod(0o600)
    known = Settings(
        store=str(tmp_path / "s.db"), embedder="hashing", key=f"file:{tmp_path / 'key'}",
        journal_mirror=str(tmp_path / "mirror.jsonl"),
    )  # fmt: skip
    with pytest.raises(PlainMirror, match="plain text"):
        MemoryStore(settings=known)
    assert [file.name for file in tmp_path.iterdir()] == ["key"]


def test_no_file_is_left_behind_when_the_process_cannot_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_pid(tmp_path / "s.db.maintenance.pid")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_change_of_key_left_is_gone_when_the_store_is_next_opened(tmp_path: Path) -> None:
    left = [tmp_path / f".s.db.0123abcd.rekeyed{part}" for part in ("", "-journal")]
    others = [tmp_path / name for name in (".t.db.0123abcd.rekeyed", "s.db.rekeyed", ".s.db.copy")]
    for file in (*left, *others):
        file.write_text("the whole store, in plain text")
    SQLiteBackend(tmp_path / "s.db", Key("correct horse battery")).close()
    assert [file for file in left if file.exists()] == []
    assert all(file.exists() for file in others)
