"""A file with flipped bytes or a missing end: nothing but our errors, every call ends, and a repair keeps the rest."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from uuid import UUID

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import NacreError, StoreDamaged
from nacre.lifecycle import doctor
from nacre.model import Memory
from nacre.model.memory import short_id
from nacre.settings import Settings
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite.damage import damaged_rows
from nacre.transfer.export import export_archive

MEMORIES = 200
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def settings(file: Path) -> Settings:
    return Settings(store=str(file), embedder="hashing")


def opened(file: Path) -> MemoryStore:
    return MemoryStore(settings=settings(file))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Memory]]:
    file = tmp_path_factory.mktemp("sound") / "s.db"
    random = Random(1)
    with MemoryStore(settings=settings(file), clock=count(1_760_000_000).__next__) as store:
        texts = [
            {
                "id": str(UUID(int=random.getrandbits(128))),  # the same each time, so that the same bytes are damaged
                "tags": ["a tag"],
                "text": f"memory {number} about {' '.join(random.choices(WORDS, k=12))}",
            }
            for number in range(MEMORIES)
        ]
        kept = store.remember_many(texts)
        store.link(kept[0].id, kept[1].id)
        return file, {memory.id: memory for memory in store.iterate()}


@pytest.fixture
def copy(sound: tuple[Path, dict[str, Memory]], tmp_path: Path) -> Path:
    return Path(shutil.copy(sound[0], tmp_path / "s.db"))


def change(file: Path, sql: str) -> None:
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "delete")
    connection.execute(sql)
    connection.close()


def damage_index(file: Path, index: str) -> None:
    """Takes every second row out of an index and leaves it in the table: through a table that lies over the index."""
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "delete")
    root = root_page(connection, index)
    named = ", ".join(str(name) for _, _, name in connection.execute(f"PRAGMA index_info({index})").fetchall())
    connection.execute(f"CREATE TABLE shadow({named}, row, PRIMARY KEY({named}, row)) WITHOUT ROWID")
    own = root_page(connection, "shadow")
    lay_over(connection, root)
    connection = apsw.Connection(str(file))
    connection.execute("DELETE FROM shadow WHERE row % 2")
    lay_over(connection, own)
    change(file, "DROP TABLE shadow")


def root_page(connection: apsw.Connection, name: str) -> int:
    found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    return int(found[0][0])  # type: ignore[arg-type]


def lay_over(connection: apsw.Connection, page: int) -> None:
    connection.pragma("writable_schema", "on")
    connection.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'shadow'", (page,))
    connection.close()


def destroy(file: Path, *names: str) -> None:
    """Overwrites the first page of tables and indexes."""
    connection = apsw.Connection(str(file))
    pages = [root_page(connection, name) for name in names]
    connection.close()
    content = bytearray(file.read_bytes())
    for page in pages:
        content[(page - 1) * 1024 : page * 1024] = b"\xff" * 1024
    file.write_bytes(bytes(content))


def problems(file: Path) -> list[doctor.Finding]:
    return [each for each in doctor.examine(settings(file)) if each.level == "problem" and each.check != "disk"]


def fix(file: Path) -> list[str]:
    """As `nacre doctor --fix` does it."""
    found = doctor.examine(settings(file))
    said = doctor.repair(settings(file), found, 1_800_000_000.0)
    found = doctor.examine(settings(file))
    if any(each.fixed_by for each in found):
        with opened(file) as store:
            doctor.compute_missing(store, found)
    return said


def listed(file: Path) -> dict[str, Memory]:
    with opened(file) as store:
        return {memory.id: memory for memory in store.iterate(include_trashed=True)}


@pytest.mark.slow
@pytest.mark.parametrize("index", ["version_created", "sqlite_autoindex_memory_1", "version_key"])
def test_an_index_that_misses_memories_is_told_and_reindexing_heals_it(
    copy: Path, sound: tuple[Path, dict[str, Memory]], index: str, tmp_path: Path
) -> None:
    damage_index(copy, index)
    assert any("missing from index" in each.message and "doctor --fix" in each.message for each in problems(copy))
    with opened(copy) as store:
        with pytest.raises(StoreDamaged, match="doctor --fix"):
            export_archive(store, tmp_path / "all.nacre")
        with pytest.raises(StoreDamaged, match="no copy was made"):
            store.backup(tmp_path / "copy.db")
        assert not (tmp_path / "all.nacre").exists() and not (tmp_path / "copy.db").exists()
        assert store.reindex() == MEMORIES
    assert problems(copy) == [] and listed(copy) == sound[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "CAST(x'6162ff63' AS TEXT)"),
        ("text", "x'0102'"),
        ("lists", "'{\"tags\": [1'"),
        ("lists", "'[]'"),
        ("created_at", "'yesterday'"),
        ("created_at", "1e300"),
        ("source", "CAST(x'ff' AS TEXT)"),
        ("importance", "NULL"),
    ],
)
def test_a_damaged_record_is_named_once_and_left_out_and_set_aside(
    copy: Path, sound: tuple[Path, dict[str, Memory]], column: str, value: str,
    caplog: pytest.LogCaptureFixture, tmp_path: Path,
) -> None:  # fmt: skip
    id = sorted(sound[1])[7]
    table, number = ("content", "content") if column == "text" else ("version", "row")
    of_it = f"(SELECT {number} FROM memory JOIN version USING (key) WHERE id = '{id}' AND seq_to IS NULL)"
    change(copy, f"UPDATE {table} SET {column} = {value} WHERE rowid = {of_it}")
    others = sound[1].keys() - {id}
    with caplog.at_level(logging.WARNING), opened(copy) as store:
        assert {memory.id for memory in store.list_recent(1000)} == others
        assert {memory.id for memory in store.iterate()} == others
        assert len(store.recall("alpha beta", k=MEMORIES)) > 0
        assert store.count(tag="a tag") == len(others)
        assert export_archive(store, tmp_path / "all.nacre").count == len(others)
        assert store.remember("something new").id
        assert store.reindex() == len(others) + 1
    assert len([record for record in caplog.records if id in record.getMessage()]) == 1
    (found,) = problems(copy)
    assert id in found.message and found.fixed_by == "repair"
    said = str(fix(copy))
    assert problems(copy) == [] and others < listed(copy).keys()
    if column == "text":
        assert short_id(id) in said
        with opened(copy) as store:
            assert any(entry.damaged for entry in store.journal(id)), "its entries are found, and can be purged"
    else:
        recovered = listed(copy)[id]
        assert "from their text alone: 1." in said and recovered.text == sound[1][id].text
        assert recovered.tags == ("a tag", "salvaged")
    connection = apsw.Connection(str(copy))
    assert connection.execute("SELECT id FROM quarantine").fetchall() == [(id,)]
    connection.close()


@pytest.mark.slow
def test_nothing_that_was_derived_from_a_record_stays_when_it_is_set_aside(copy: Path) -> None:
    with MemoryStore(settings=settings(copy), space="another") as store:
        store.remember("memory of another space", id="elsewhere")
    change(copy, "UPDATE content SET text = x'01' WHERE number IN (7, 8) OR number = (SELECT max(number) FROM content)")
    said = doctor.repair(settings(copy), doctor.examine(settings(copy)), 1_800_000_000.0)
    assert any("elsewhere" in sentence for sentence in said)
    connection = apsw.Connection(str(copy))
    assert connection.execute("SELECT count(*) FROM quarantine").fetchall() == [(3,)]
    for table, column in (("content", "number"), ("chunk", "content"), ("vector", "owner")):
        held = connection.execute(f"SELECT DISTINCT {column} FROM {table} ORDER BY 1").fetchall()
        assert held == connection.execute("SELECT DISTINCT content FROM version ORDER BY 1").fetchall(), table
    told = connection.execute("SELECT space.name, count(*) FROM removed JOIN space ON number = space GROUP BY name")
    assert told.fetchall() == [("another", 1), ("default", 2)]
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("table", ["space", "memory", "content", "version"])
def test_a_wrong_letter_in_a_definition_hides_no_memory(
    copy: Path, sound: tuple[Path, dict[str, Memory]], table: str
) -> None:
    copy.write_bytes(copy.read_bytes().replace(f"CREATE TABLE {table}(".encode(), f"CREATE TAB\0E {table}(".encode()))
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]


@pytest.mark.slow
def test_a_wrong_letter_in_the_name_of_a_column_hides_no_memory(
    copy: Path, sound: tuple[Path, dict[str, Memory]]
) -> None:
    content = copy.read_bytes()
    assert content.count(b" latest REAL NOT NULL DEFAULT 0") == 1
    copy.write_bytes(content.replace(b" latest REAL NOT NULL DEFAULT 0", b" lavest REAL NOT NULL DEFAULT 0"))
    damage_index(copy, "version_created")
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER e AFTER INSERT ON memory BEGIN DELETE FROM memory WHERE rowid < new.rowid; END",
        "CREATE TABLE kept(text)",
    ],
)
def test_what_somebody_else_has_defined_in_the_file_is_named_and_a_repair_leaves_it_out(
    copy: Path, sound: tuple[Path, dict[str, Memory]], statement: str
) -> None:
    change(copy, statement)
    (found,) = problems(copy)
    assert statement.split()[2].removesuffix("(text)") in found.message and "doctor --fix" in found.message
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]
    with opened(copy) as store:
        store.remember("one more")
        assert store.count() == MEMORIES + 1


def test_a_version_that_a_flipped_bit_gives_to_another_memory_comes_back_to_its_own(
    copy: Path, sound: tuple[Path, dict[str, Memory]]
) -> None:
    without_index(copy, "version_key", "UPDATE version SET key = 44 WHERE key = 40")
    assert len(listed(copy)) < MEMORIES
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]


@pytest.mark.parametrize(
    "flipped",
    ["UPDATE version SET content = content + 1024 WHERE row = 40", "UPDATE version SET row = row + 1024 WHERE row = 40",
     "UPDATE version SET role = CAST(x'ff' AS TEXT) WHERE row = 40"],
)  # fmt: skip
def test_a_version_that_a_search_cannot_find_is_named_and_found_again_after_a_repair(
    copy: Path, sound: tuple[Path, dict[str, Memory]], flipped: str
) -> None:
    change(copy, flipped)
    assert problems(copy)
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]
    with opened(copy) as store:
        assert len(store.recall("alpha beta", k=MEMORIES)) == MEMORIES


def test_later_versions_of_a_text_are_found_by_a_search_when_the_first_is_compacted_away(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", settings=Settings(embedder="hashing")) as store:
        id = store.remember("The harbour opens at six").id
        for tag in ("a", "b", "c"):
            store.tag(id, add=[tag])
        tagged_thrice = store.journal(limit=1)[0].operation.at
        store.edit(id, importance=0.9)
        assert [hit.memory.tags for hit in store.recall("when does the harbour open?", as_of=tagged_thrice)] == [
            ("a", "b", "c")
        ]
        store.compact(older_than_days=0)
        assert [hit.memory.importance for hit in store.recall("when does the harbour open?")] == [0.9]
        store.tag(id, add=["d"])
        assert store.recall("when does the harbour open?")[0].memory.tags == ("a", "b", "c", "d")


@pytest.mark.slow
@pytest.mark.parametrize(
    "flipped",
    ["UPDATE journal SET act = CAST(act AS BLOB) WHERE seq = 9", "UPDATE space SET name = CAST(name AS BLOB)",
     "UPDATE space SET name = CAST(x'ff66' AS TEXT)"],
)  # fmt: skip
def test_a_text_that_is_no_text_any_more_costs_no_memory(
    copy: Path, sound: tuple[Path, dict[str, Memory]], flipped: str
) -> None:
    change(copy, flipped)
    damage_index(copy, "sqlite_autoindex_memory_1")
    content = copy.read_bytes()
    copy.write_bytes(content.replace(b"CREATE TABLE link(", b"CREATE TAB\0E link("))
    fix(copy)
    assert problems(copy) == []
    with opened(copy) as store:
        (space,) = store.spaces()
        kept = {memory.id: memory.text for memory in store.in_space(space).iterate()}
    assert kept == {memory.id: memory.text for memory in sound[1].values()}


def test_a_memory_is_found_though_what_is_computed_from_its_text_is_damaged(copy: Path) -> None:
    change(copy, "UPDATE content SET characters = x'00ff' WHERE number < 100")
    change(copy, "UPDATE version SET asks = x'' WHERE content < 100")
    with opened(copy) as store:
        assert len(store.recall("alpha beta", k=150)) == 150


def without_index(file: Path, index: str, sql: str) -> None:
    """Runs a statement that the index does not follow."""
    change(file, "CREATE TABLE hidden AS SELECT * FROM sqlite_schema WHERE 0")
    connection = apsw.Connection(str(file))
    connection.pragma("writable_schema", "on")
    connection.execute("INSERT INTO hidden SELECT * FROM sqlite_schema WHERE name = ?", (index,))
    connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
    connection.close()
    change(file, sql)
    connection = apsw.Connection(str(file))
    connection.pragma("writable_schema", "on")
    connection.execute("INSERT INTO sqlite_schema SELECT * FROM hidden")
    connection.close()
    change(file, "DROP TABLE hidden")


@pytest.mark.slow
@pytest.mark.parametrize("flipped", ["gone = 5", "space = 7"])
def test_a_memory_that_has_left_its_versions_is_brought_back_to_them(
    copy: Path, sound: tuple[Path, dict[str, Memory]], flipped: str
) -> None:
    change(copy, f"UPDATE memory SET {flipped} WHERE key = 7")
    assert "cannot be written" in str(problems(copy))
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]
    with opened(copy) as store:
        for id in sound[1]:
            store.tag(id, add=["seen"])
        assert store.count(tags=["seen"]) == MEMORIES


def test_a_store_whose_own_values_are_damaged_says_so_when_it_is_opened(copy: Path) -> None:
    destroy(copy, "meta")
    with pytest.raises(StoreDamaged, match="doctor"):
        SQLiteBackend(copy)


def edit_after_repair(file: Path, id: str) -> None:
    """The present and the state as of now stay whole, and every edit gets a number of its own."""
    with MemoryStore(settings=settings(file), clock=count(1_800_000_001).__next__) as store:
        assert len(list(store.iterate(as_of=1_800_000_000.0))) == MEMORIES
        for number in range(5):
            store.edit(id, importance=number / 10)
        assert [entry.seq for entry in store.journal(id=id)][:5] == [206, 205, 204, 203, 202]
        assert len(list(store.iterate(as_of=store.now()))) == MEMORIES
    assert problems(file) == []


@pytest.mark.slow
def test_numbers_go_on_above_every_version_where_the_journal_is_lost(
    copy: Path, sound: tuple[Path, dict[str, Memory]]
) -> None:
    destroy(copy, "journal")
    assert "Journal entries that could not be read: 201." in str(fix(copy))
    assert problems(copy) == [] and listed(copy) == sound[1]
    edit_after_repair(copy, next(iter(sound[1])))


def test_entries_that_were_compacted_away_are_not_lost_with_the_row_of_their_space(tmp_path: Path) -> None:
    with MemoryStore(settings=settings(tmp_path / "s.db"), clock=count(1_760_000_000).__next__) as store:
        memory = store.remember("The pump is red")
        store.remember_many(["The quay is long", "The crane is tall"])
        assert store.compact(older_than_days=0) == 3
        store.edit(memory.id, importance=0.3)
        kept = [entry.seq for entry in store.journal()]
    destroy(tmp_path / "s.db", "space")
    assert "Journal entries" not in str(fix(tmp_path / "s.db"))
    with opened(tmp_path / "s.db") as store:
        assert [entry.seq for entry in store.journal()] == kept


def test_an_entry_whose_number_has_a_flipped_bit_is_one_lost_entry(copy: Path) -> None:
    change(copy, "UPDATE journal SET place = place + 65536 WHERE seq = 120")
    destroy(copy, "counter")  # so that a new file is made
    assert "Journal entries that could not be read: 1." in str(fix(copy))


@pytest.mark.slow
@pytest.mark.parametrize("last", [0, 150])
def test_numbers_that_would_be_given_again_are_a_problem_that_a_repair_in_place_mends(
    copy: Path, sound: tuple[Path, dict[str, Memory]], last: int
) -> None:
    change(copy, f"DELETE FROM journal WHERE seq > {last}")
    assert "numbers that would be given again" in str(problems(copy))
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]
    edit_after_repair(copy, next(iter(sound[1])))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("destroyed", "name"), [(["space"], "default"), (["space", "sqlite_autoindex_space_1"], "space 1")]
)
def test_a_lost_row_of_a_space_costs_no_memory(
    copy: Path, sound: tuple[Path, dict[str, Memory]], destroyed: list[str], name: str
) -> None:
    destroy(copy, *destroyed)
    said = str(fix(copy))
    assert "quarantine" not in said and ("space 1" in said) == (name == "space 1") and problems(copy) == []
    with opened(copy) as store:
        assert store.spaces() == {name: MEMORIES}
        assert {memory.id for memory in store.in_space(name).iterate()} == set(sound[1])


@pytest.mark.slow
def test_catching_up_ends_when_a_record_cannot_be_found_by_its_id(copy: Path) -> None:
    change(copy, "UPDATE content SET pending = 1")
    damage_index(copy, "sqlite_autoindex_memory_1")
    with opened(copy) as store, pytest.raises(NacreError, match="doctor --fix"):
        store.catch_up()


def damaged(content: bytes, seed: int) -> bytes:
    random, changed = Random(seed), bytearray(content)
    if seed % 4 == 3:
        return bytes(changed[: random.randrange(len(changed) // 2, len(changed))])
    for _ in range((1, 4, 20)[seed % 4]):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_whatever_is_damaged_only_our_errors_come_and_a_repair_keeps_what_is_sound(
    copy: Path, seed: int, tmp_path: Path
) -> None:
    copy.write_bytes(damaged(copy.read_bytes(), seed))
    readable = directly_readable(copy)
    uses: tuple[Callable[[MemoryStore], object], ...] = (
        lambda store: store.list_recent(1000),
        lambda store: store.recall("alpha beta"),
        lambda store: export_archive(store, tmp_path / "all.nacre"),
        lambda store: store.backup(tmp_path / "copy.db"),
        lambda store: store.journal(limit=None),
        lambda store: store.reindex(),
    )
    for use in uses[: 5 + seed % 2]:
        try:
            with opened(copy) as store:
                use(store)
        except NacreError as error:
            assert str(error).rstrip().endswith((".", "`"))
    fix(copy)
    assert problems(copy) == []
    assert readable <= directly_readable(copy)
    assert directly_readable(copy) and len(listed(copy)) >= len(readable) - 3  # a flipped bit may hide one lawfully


def directly_readable(file: Path) -> set[str]:
    """The records that the file gives one by one, whatever else is wrong with it."""
    try:
        store = SQLiteBackend(file)
        connection = store._connections.get()
        bad = damaged_rows(connection)
        rows = connection.execute(
            "SELECT version.row, CAST(memory.id AS BLOB) FROM version NOT INDEXED CROSS JOIN memory"
            " ON memory.key = version.key WHERE seq_to IS NULL"
        ).fetchall()
    except (NacreError, apsw.Error):
        return set()
    store.close()
    return {bytes(id).decode() for row, id in rows if row not in bad}  # type: ignore[arg-type]


@pytest.mark.slow
def test_walks_are_still_counted_after_a_repair_and_an_illegible_measure_of_the_embedder_is_left_behind(
    copy: Path, sound: tuple[Path, dict[str, Memory]]
) -> None:
    change(copy, "INSERT OR REPLACE INTO meta VALUES ('measured', '{\"floor\": ')")
    change(copy, "UPDATE link SET walks = 3")
    destroy(copy, "journal")
    fix(copy)
    assert problems(copy) == [] and listed(copy) == sound[1]
    with closing(SQLiteBackend(copy)) as store:
        assert store.embedder().measured is None
        assert [edge.walks for edge in store.edges("default")] == [3]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two memories with a few versions each, and a link between them."""
    file = tmp_path / "small.db"
    with MemoryStore(settings=settings(file), clock=count(1_760_000_000).__next__) as store:
        store.remember("The giraffe eats leaves", id="a", tags=["tall"])
        store.remember("The walrus swims", id="b", tags=["wet"])
        store.tag("a", add=["mild"])
        store.link("a", "b", "needs")
        store.edit("b", text="The walrus dives in the cold sea")
        store.edit("a", importance=0.9)
    return file


def contents(file: Path) -> dict[str, tuple[object, ...]]:
    """All that is known of each memory and its history, and that a search and a filter find it."""
    with opened(file) as store:
        (space,) = store.spaces()
        here = store.in_space(space)
        for memory in here.iterate():
            assert memory.id in [hit.memory.id for hit in here.recall(memory.text, touch=False)]
            assert memory.id in [each.id for each in here.list_recent(tags=[memory.tags[-1]])]
        return {
            memory.id: (
                memory.text,
                memory.tags,
                memory.importance,
                memory.links,
                memory.version,
                [(each.text, each.tags) for each in here.history(memory.id).versions],
                [edge.source for edge in here.backend.edges(space, into=[memory.id])],
            )
            for memory in here.iterate()
        }


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM version WHERE row = 1", "Texts that no search finds"),
        ("DELETE FROM space", "its space is not of the right kind"),
        ("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'content'", "numbers that would be given again"),
        ("DELETE FROM sqlite_sequence WHERE name = 'memory'", "numbers that would be given again"),
        ("UPDATE version SET seq_to = NULL WHERE key = 1", "do not end where the next one"),
        ("UPDATE version SET seq_to = seq_from WHERE key = 1", "do not end where the next one"),
        ("UPDATE version SET seq_to = 5 WHERE key = 1 AND seq_to IS NULL", "present version is lost"),
        ("UPDATE memory SET access_count = 'x', last_accessed = 1e300", "access_count is not of the right kind"),
        ("DELETE FROM label", "The index of tags and other names holds 0 of"),
        ("DELETE FROM link", "The index of links holds 0 of 1"),
    ],
)
def test_what_other_rows_still_tell_is_mended_without_loss(small: Path, damage: str, said: str) -> None:
    before = contents(small)
    change(small, damage)
    assert said in str(problems(small))
    fix(small)
    assert problems(small) == []
    after = contents(small)
    if "version WHERE row" in damage:  # the lost row is that of an earlier state
        before, after = ({id: (*each[:5], each[6]) for id, each in state.items()} for state in (before, after))
    assert after == before
    with opened(small) as store:
        (space,) = store.spaces()
        assert store.in_space(space).remember("The heron waits", id="c").id == "c"
    assert problems(small) == []


@pytest.mark.parametrize("damage", ["lists = 'none'", "importance = 'x'", "created_at = 1e300"])
def test_a_damaged_version_costs_no_memory_whose_earlier_versions_are_sound(small: Path, damage: str) -> None:
    change(small, f"UPDATE version SET {damage} WHERE seq_to IS NULL")
    said = str(fix(small))
    assert "from their text alone: 2." in said and problems(small) == []
    memories = listed(small)
    assert {id: memory.text for id, memory in memories.items()} == {
        "a": "The giraffe eats leaves", "b": "The walrus dives in the cold sea",
    }  # fmt: skip
    assert memories["a"].tags[:-1] == ("tall", "mild")
    assert [link.to for link in memories["a"].links] == ["b"]
    (kept,) = small.parent.glob("small.db.damaged-*")
    assert str(kept) in said
    with pytest.raises(NacreError), opened(kept) as store:
        store.edit("a", importance=0.5)


def test_a_memory_whose_present_version_is_lost_comes_back_as_it_was_before(small: Path) -> None:
    change(small, "DELETE FROM version WHERE key = 1 AND seq_to IS NULL")
    assert "present version is lost: 1." in str(problems(small))
    fix(small)
    assert problems(small) == []
    with opened(small) as store:
        memory = store.get_many(["a"])[0]
        assert (memory.text, memory.status) == ("The giraffe eats leaves", "archived")
        assert {"tall", "mild", "salvaged"} == set(memory.tags) and "earlier version" in memory.source_notes


def test_a_reindexing_makes_lost_names_and_links_again_and_keeps_the_walks(small: Path) -> None:
    before = contents(small)
    change(small, "UPDATE link SET walks = 3")
    change(small, "DELETE FROM label WHERE name = 'mild'")
    with opened(small) as store:
        store.reindex()
        assert [edge.walks for edge in store.backend.edges("default")] == [3]
    assert contents(small) == before and problems(small) == []


def test_an_entry_that_the_journal_lacks_is_noted(small: Path) -> None:
    with opened(small) as store:
        assert store.health(thorough=True).notes == ()
    change(small, "DELETE FROM journal WHERE seq = 3")
    with opened(small) as store:
        assert "Entries that the journal lacks: 1." in str(store.health(thorough=True).notes)
