"""Texts that stand whole in a damaged file come back, with or without their records."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import StorageError, StoreDamaged, WrongKey
from nacre.factory import rekey_store
from nacre.lifecycle import doctor
from nacre.model import Memory
from nacre.protocols import Clock
from nacre.settings import Settings
from nacre.storage.sqlite.lost_records import first_page, invented_name, row_values, sound_fields, varint

PAGE = 1024
REPAIRED_AT = 1_800_000_000.0
TEXTS = [f"Note {number}: the {'long ' * (number % 7) * 60}path to the mill." for number in range(90)]
TAKEN_BACK = "A text that was taken back."
RAW_KEY = "5a" * 32  # a passphrase would be made a key anew by each connection


def opened(file: Path, key: str = "", clock: Clock = time.time) -> MemoryStore:
    return MemoryStore(settings=Settings(store=str(file), embedder="hashing", key=key), clock=clock)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, Memory]]:
    file = tmp_path_factory.mktemp("sound") / "s.db"
    with opened(file) as store:
        kept = store.remember_many([{"text": text, "tags": ["mill"]} for text in TEXTS])
        store.edit(kept[3].id, text="A path that was renamed.")
        store.forget(kept[4].id)
        store.purge(kept[5].id)
        store.remember(TAKEN_BACK)
        store.undo()
        store.link(kept[6].id, kept[7].id, "causes")
        store.register_relation("powers", "what drives what")
        memories = {memory.id: memory for memory in store.iterate(include_trashed=True)}
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "delete")
    connection.close()
    return file.read_bytes(), memories


def pages(content: bytes, folder: Path, *names: str, leaves: bool = False) -> list[int]:
    """The root pages of tables and indexes, or all their leaves."""
    file = folder / "look.db"
    file.write_bytes(content)
    connection = apsw.Connection(str(file))
    sql = "SELECT pageno FROM dbstat WHERE name = ? AND " + ("pagetype = 'leaf'" if leaves else "path = '/'")
    numbers = [int(row[0]) for name in names for row in connection.execute(sql, (name,)).fetchall()]  # type: ignore[arg-type]
    connection.close()
    return numbers


def overwritten(content: bytes, numbers: list[int]) -> bytes:
    changed = bytearray(content)
    for number in numbers:
        changed[(number - 1) * PAGE : number * PAGE] = b"\xa5" * PAGE
    return bytes(changed)


def salvaged(content: bytes, folder: Path, key: str = "") -> tuple[dict[str, Memory], list[str]]:
    file, target = folder / "damaged.db", folder / "new.db"
    file.write_bytes(content)
    settings = Settings(store=str(file), embedder="hashing", key=key)
    said = doctor.salvage(settings, file, target, REPAIRED_AT)
    target_settings = Settings(store=str(target), embedder="hashing", key=key)
    findings = doctor.examine(target_settings)
    assert [each.message for each in findings if each.level == "problem" and each.check != "disk"] == []
    with opened(target, key) as store:
        (space,) = store.spaces()
        memories = store.in_space(space).iterate(include_trashed=True, include_archived=True)
        return {memory.id: memory for memory in memories}, said


@pytest.mark.parametrize("table", ["version", "content", "memory"])
def test_a_table_whose_first_page_is_lost_costs_nothing(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path, table: str
) -> None:
    memories, said = salvaged(overwritten(sound[0], pages(sound[0], tmp_path, table)), tmp_path)
    assert memories == sound[1] and said == []


def test_texts_whose_versions_are_lost_come_back_under_their_ids_and_are_marked(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path
) -> None:
    memories, said = salvaged(overwritten(sound[0], pages(sound[0], tmp_path, "version", leaves=True)), tmp_path)
    assert {id: memory.text for id, memory in memories.items()} == {id: memory.text for id, memory in sound[1].items()}
    for id, memory in memories.items():
        before = sound[1][id]
        assert memory.tags == ("mill", "salvaged") and "damaged file" in memory.source_notes
        assert (memory.status, memory.created_at, memory.links) == (before.status, before.created_at, before.links)
    assert f"from their text alone: {len(memories)}. They have the tag `salvaged`" in said[0] and len(said) == 1


def test_a_text_of_which_nothing_else_is_left_becomes_a_memory_of_its_own(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path
) -> None:
    indexes = ["version_content", "version_created", "version_updated", "version_status", "label"]
    lost = [
        *pages(sound[0], tmp_path, "version", "memory", "sqlite_autoindex_memory_1", leaves=True),
        *pages(sound[0], tmp_path, *indexes),
    ]
    memories, _ = salvaged(overwritten(sound[0], lost), tmp_path)
    texts = [memory.text for memory in memories.values()]
    assert (
        {memory.text for memory in sound[1].values()} <= set(texts) <= {*TEXTS, "A path that was renamed.", TAKEN_BACK}
    )
    assert TEXTS[5] not in texts, "what was purged is not in the file"
    assert len(texts) == len(set(texts)) and all(memory.tags == ("salvaged",) for memory in memories.values())
    # It may have been forgotten or undone, and nobody knows how far it was trusted.
    assert {(memory.status, memory.trust) for memory in memories.values()} == {("archived", 0.5)}


def test_texts_of_an_encrypted_store_come_back_too(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOST_RECORDS_KEY", RAW_KEY)
    key, file = "env:LOST_RECORDS_KEY", tmp_path / "locked.db"
    file.write_bytes(sound[0])
    rekey_store(file, "", key)
    content = file.read_bytes()
    for number in (9, 11, 12, 40):
        folder = tmp_path / str(number)
        folder.mkdir()
        memories, _ = salvaged(overwritten(content, [number]), folder, key)
        texts = {id: memory.text for id, memory in memories.items()}
        assert texts == {id: memory.text for id, memory in sound[1].items()}, f"page {number}"


def test_values_that_no_memory_can_have_are_not_brought_back() -> None:
    sound = {"status": "trashed", "trashed_from": "", "importance": 1, "pinned": 1, "position": None, "created_at": 5.0}
    possible = sound_fields({**sound, "polarity": -1, "valence": -0.5, "superseded_by": "x", "source_notes": "a\nb"})
    assert possible == {
        "status": "trashed", "trashed_from": "", "importance": 1, "pinned": True, "created_at": 5.0, "polarity": -1,
        "valence": -0.5, "superseded_by": "x", "source_notes": "a\nb",
    }  # fmt: skip
    damaged = {"status": "rm{}[17949", "trashed_from": "shor_term", "importance": 1e300, "confidence": -7.5, "trust": 2}
    assert sound_fields({**damaged, "polarity": 3, "valence": 9.0, "position": -4, "created_at": 1e300}) == {}


def test_a_row_is_read_as_sqlite_writes_it() -> None:
    assert varint(b"\x7f", 0) == (127, 1) and varint(b"\x81\x00", 0) == (128, 2)
    assert varint(b"\xff" * 8 + b"\x05", 0) == ((1 << 56) - 1 << 8 | 5, 9)
    assert row_values(bytes([6, 0, 1, 9, 17, 2]) + b"\xff" + b"ab" + b"\x01\x00") == (None, -1, 1, "ab", 256)
    for broken in (bytes([3, 1, 1, 5]), bytes([2, 10]), bytes([2, 1, 5, 6])):
        with pytest.raises(ValueError):
            row_values(broken)


def test_a_search_as_of_before_the_repair_still_reaches_everything(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path
) -> None:
    """What the repair adds must not look older than what was there."""
    file = tmp_path / "short.db"
    file.write_bytes(sound[0])
    connection = apsw.Connection(str(file))
    connection.execute("DELETE FROM version WHERE row = (SELECT min(row) FROM version)")
    connection.close()
    memories, _ = salvaged(file.read_bytes(), tmp_path)
    assert sum(memory.tags == ("salvaged",) for memory in memories.values()) == 1
    with opened(tmp_path / "new.db", clock=lambda: REPAIRED_AT) as store:
        (space,) = store.spaces()
        there = store.in_space(space)
        store.reindex()  # the vectors come back with it
        asked = {"strategy": "semantic", "min_relevance": 0.0}
        hits = there.recall("the path to the mill", 200, as_of=REPAIRED_AT - 1, **asked)  # type: ignore[arg-type]
        assert len(hits) == len(there.recall("the path to the mill", 200, **asked)) >= len(TEXTS) - 4  # type: ignore[arg-type]


def test_a_space_that_was_called_like_an_invented_one_is_not_said_to_have_lost_its_name(tmp_path: Path) -> None:
    with opened(tmp_path / "own.db") as store:
        store.in_space(invented_name(1)).remember("The only space of this store has the number 1.")
    memories, said = salvaged((tmp_path / "own.db").read_bytes(), tmp_path)
    assert {memory.space for memory in memories.values()} == {invented_name(1)} and said == []


def test_a_store_whose_header_is_damaged_is_said_to_be_damaged_and_comes_back_whole(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path
) -> None:
    flipped, other_length, gone = (bytearray(sound[0]) for _ in range(3))
    flipped[0] ^= 1
    other_length[16:18] = b"\x10\x00"  # pages of 4,096 bytes
    other_length[21] = 0
    gone[:100] = bytes(100)
    for number, content in enumerate((flipped, other_length, gone)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "refused.db").write_bytes(content)
        with pytest.raises(StoreDamaged, match="header cannot be read"):
            opened(folder / "refused.db")
        memories, said = salvaged(bytes(content), folder)
        assert memories == sound[1] and said == []
        assert (folder / "damaged.db").read_bytes() == content


def test_a_header_that_hides_the_ends_of_long_rows_is_mended(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path
) -> None:
    content = bytearray(sound[0])
    content[20] ^= 1  # how many bytes of each page are not SQLite's
    memories, said = salvaged(bytes(content), tmp_path)
    assert memories == sound[1] and said == []


def test_the_pages_of_a_store_that_was_encrypted_once_are_found_without_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages end with room for the tags, which moves where a long text continues."""
    monkeypatch.setenv("LOST_RECORDS_KEY", RAW_KEY)
    key, file = "env:LOST_RECORDS_KEY", tmp_path / "decrypted.db"
    with opened(file, key) as store:
        kept = store.remember("An unlikely text, " + " ".join(map(str, range(2000))))
    rekey_store(file, key, "")
    memories, _ = salvaged(bytes(100) + file.read_bytes()[100:], tmp_path)
    assert memories[kept.id].text == kept.text


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sqlite_schema SET name = '1', sql = NULL WHERE name = 'version'",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'chunk')"
        " WHERE name = 'content'",
        "UPDATE sqlite_schema SET rootpage = (SELECT min(pageno) FROM dbstat WHERE name = 'sqlite_schema'"
        " AND pagetype = 'leaf') WHERE name = 'content'",
        "DELETE FROM sqlite_schema",
    ],
)
def test_definitions_that_lead_to_no_table_cost_no_memory(
    sound: tuple[bytes, dict[str, Memory]], tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "misled.db"
    file.write_bytes(sound[0])
    connection = apsw.Connection(str(file))
    connection.pragma("writable_schema", "on")
    connection.execute(damage)
    connection.close()
    memories, said = salvaged(file.read_bytes(), tmp_path)
    assert memories == sound[1] and said == []
    with opened(tmp_path / "new.db") as store:
        assert ("powers" in store.relations()) is ("DELETE" not in damage), "its own table can be read"


@pytest.fixture
def left_log(tmp_path: Path) -> tuple[Path, dict[str, Memory]]:
    """A log whose store is gone, and which does not hold all of its pages."""
    file, log = tmp_path / "s.db", tmp_path / "left" / "s.db-wal"
    with opened(file) as store:
        store.remember_many([{"text": text} for text in TEXTS[:30]])
    log.parent.mkdir()
    with opened(file) as store:
        written = store.remember_many([{"text": f"{text} Written last.", "tags": ["mill"]} for text in TEXTS[:5]])
        log.write_bytes(file.with_name("s.db-wal").read_bytes())
    return log, {memory.id: memory for memory in written}


def test_a_log_without_its_store_is_not_written_over(left_log: tuple[Path, dict[str, Memory]]) -> None:
    log, _ = left_log
    content, file = log.read_bytes(), log.with_name("s.db")
    for missing in (True, False):
        with pytest.raises(StoreDamaged, match=r"only its write-ahead log s\.db-wal has content"):
            opened(file)
        assert file.exists() is not missing and log.read_bytes() == content
        file.touch()


def test_a_log_without_its_store_is_salvaged(left_log: tuple[Path, dict[str, Memory]], tmp_path: Path) -> None:
    log, written = left_log
    content, target = log.read_bytes(), tmp_path / "new.db"
    doctor.salvage(Settings(), log, target, REPAIRED_AT)
    assert log.read_bytes() == content and [each.name for each in log.parent.iterdir()] == [log.name]
    with opened(target) as store:
        memories = {memory.id: memory for memory in store.iterate(include_archived=True)}
        assert {id: memories[id].text for id in written} == {id: memory.text for id, memory in written.items()}


def test_a_log_takes_the_place_of_its_store_and_is_kept(left_log: tuple[Path, dict[str, Memory]]) -> None:
    log, written = left_log
    content, file = log.read_bytes(), log.with_name("s.db")
    settings = Settings(store=str(file), embedder="hashing")
    said = doctor.repair(settings, doctor.examine(settings), REPAIRED_AT)
    with opened(file) as store:
        assert written.keys() <= {memory.id for memory in store.iterate(include_archived=True)}
    (kept,) = log.parent.glob("s.db.damaged-*-wal")
    assert kept.read_bytes() == content and str(kept) in said[0]


def test_a_log_of_an_encrypted_store_is_salvaged_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOST_RECORDS_KEY", RAW_KEY)
    key, log = "env:LOST_RECORDS_KEY", tmp_path / "left-wal"
    with opened(tmp_path / "s.db", key) as store:
        kept = store.remember("The key of the mill is in the fog.")
        log.write_bytes((tmp_path / "s.db-wal").read_bytes())
    with pytest.raises(WrongKey):
        doctor.salvage(Settings(), log, tmp_path / "new.db", REPAIRED_AT)
    doctor.salvage(Settings(key=key), log, tmp_path / "new.db", REPAIRED_AT)
    with opened(tmp_path / "new.db", key) as store:
        assert [memory.text for memory in store.iterate()] == [kept.text]


def test_a_log_without_the_first_page_gives_what_it_has(
    left_log: tuple[Path, dict[str, Memory]], tmp_path: Path
) -> None:
    content = left_log[0].read_bytes()
    page, pages_in_all = first_page(content)
    assert page.startswith(b"SQLite format 3") and len(page) == PAGE and pages_in_all > len(content) // PAGE
    empty = tmp_path / "empty.db"
    empty.write_bytes(first_page(content[:32])[0])
    connection = apsw.Connection(str(empty))
    assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == [] and empty.stat().st_size == PAGE
    connection.close()
    assert first_page(bytes(32)) == (b"", 0)


def test_a_new_store_is_not_put_beside_the_log_of_another(left_log: tuple[Path, dict[str, Memory]]) -> None:
    log, _ = left_log
    with pytest.raises(StorageError, match=r"s\.db-wal is there already"):
        doctor.salvage(Settings(), log, log.with_name("s.db"), REPAIRED_AT)
    assert not log.with_name("s.db").exists()
