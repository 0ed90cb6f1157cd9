"""A hundred damaged copies of a store: what is salvaged was there, and what is missing is said."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import StorageError, WrongKey
from nacre.factory import rekey_store
from nacre.lifecycle.doctor import salvage
from nacre.settings import Settings

FILES = 50  # damaged copies of each kind of store
TEXTS = {f"Note {at}: row {at * 7} of the orchard was watered." for at in range(120)}
FLIPS = 40  # bits of one file at most
HEADER = 100  # bytes that say what kind of file it is; a file that lost them is no store any more
PASSPHRASE = "a pear " + "in the snow"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("salvage") / "plain.db"
    with MemoryStore(file, embedder="hashing") as store:
        store.remember_many(sorted(TEXTS))
    return file


def damaged(content: bytes, chance: random.Random, *, encrypted: bool) -> bytes:
    if chance.random() < 0.3:
        return content[: chance.randrange(len(content) // 3, len(content))]
    changed = bytearray(content)
    for _ in range(chance.choice((1, 5, FLIPS))):
        changed[chance.randrange(4096 if encrypted else HEADER, len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True])
def test_what_is_salvaged_was_there_and_what_is_missing_is_said(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encrypted: bool
) -> None:
    monkeypatch.setenv("SALVAGE_KEY", PASSPHRASE)
    key = "env:SALVAGE_KEY" if encrypted else ""
    source = tmp_path / "source.db"
    source.write_bytes(plain.read_bytes())
    if encrypted:
        rekey_store(source, "", key)
    with MemoryStore(plain, embedder="hashing") as store:
        ids = {memory.id for memory in store.iterate()}
    content = source.read_bytes()
    salvaged, complete = 0, 0
    for number in range(FILES):
        chance = random.Random(number)
        file, target = tmp_path / f"{number}.db", tmp_path / f"{number}-new.db"
        file.write_bytes(damaged(content, chance, encrypted=encrypted))
        before = file.read_bytes()
        settings = Settings(store=str(target), key=key, embedder="hashing")
        try:
            missing = salvage(settings, file, target, 1_800_000_000.0)
        except StorageError as error:
            assert not target.exists() and not isinstance(error, WrongKey), number
            continue
        finally:
            assert file.read_bytes() == before
        with MemoryStore(target, settings=settings) as store:
            memories = list(store.iterate(include_archived=True))
        rescued = {memory.id for memory in memories}
        of_text = {memory.id: memory.text for memory in memories if "salvaged" in memory.tags and memory.id not in ids}
        assert len(set(of_text.values()) - TEXTS) <= FLIPS, number
        assert len(rescued - ids - of_text.keys()) <= FLIPS, (
            number
        )  # a letter may differ, also of an id: the file has no checksums
        assert len(rescued) == len(ids) or missing, f"file {number} lost memories, and nobody was told"
        salvaged += 1
        complete += len(rescued) == len(ids)
        target.unlink()
    print(f"encrypted={encrypted}: {salvaged} of {FILES} salvaged, {complete} without a loss")
    assert salvaged >= FILES // 2
