"""What would undo an encryption is refused: a short passphrase, few rounds, a journal in plain text."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nacre.errors import PlainMirror, WeakKey
from nacre.lifecycle.daemon import write_pid
from nacre.memory_store import MemoryStore
from nacre.settings import Settings
from nacre.storage.sqlite import Key, SQLiteBackend
from nacre.storage.sqlite import connection as key
from nacre.storage.sqlite.backup import rekey

RAW = Key("5a" * 32)


def test_a_passphrase_is_derived_with_the_rounds_that_are_advised_and_a_raw_key_with_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert key.ITERATIONS >= 600_000
    monkeypatch.setattr(key, "derived", lambda *_: pytest.fail("a raw key needs no derivation"))
    assert RAW.raw(b"\0" * 16).startswith("raw:" + "5a" * 32)


@pytest.mark.parametrize("short", ["a", "sevenly", "       a        "])
def test_a_short_passphrase_is_refused_and_nothing_is_changed(tmp_path: Path, short: str) -> None:
    SQLiteBackend(tmp_path / "s.db").close()
    before = (tmp_path / "s.db").read_bytes()
    with pytest.raises(WeakKey, match="at least 8 characters"):
        rekey(tmp_path / "s.db", None, Key(short))
    assert (tmp_path / "s.db").read_bytes() == before
    with pytest.raises(WeakKey):
        SQLiteBackend(tmp_path / "new.db", Key(short))


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
