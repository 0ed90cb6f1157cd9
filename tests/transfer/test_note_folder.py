"""A folder of notes is written, follows the store, and brings edits back."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.instants import FIRST, LAST
from nacre.settings import Settings
from nacre.transfer.export import Choice
from nacre.transfer.import_archive import import_path
from nacre.transfer.note_folder import NoteFolder, export_notes, walk
from nacre.transfer.sources import recognise
from tests.transfer.archives import opened


@pytest.fixture
def store() -> MemoryStore:
    return opened()


def note_of(folder: Path, word: str) -> Path:
    [path] = [each for each in walk(folder) if word in each.read_text()]
    return path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("per", ["memory", "day"])
def test_edits_come_back_by_id_and_version_and_can_be_undone(store: MemoryStore, tmp_path: Path, per: str) -> None:
    ferry, pier = store.remember("The ferry leaves at nine"), store.remember("The pier closes at dusk")
    folder = tmp_path / "notes"
    export_notes(store, folder, per=per)
    assert recognise(folder).name == "notes"
    assert import_path(store, folder).skipped == 2
    edit(note_of(folder, "at nine"), "leaves at nine", "leaves at ten")
    done = import_path(store, folder)
    assert (done.overwritten, done.skipped, done.imported, done.errors) == (1, 1, 0, 0)
    after = store.get(ferry.id)
    assert after is not None and after.text == "The ferry leaves at ten" and after.updated_at > ferry.updated_at
    assert store.get(pier.id) == pier
    assert store.recall("when does the ferry leave")[0].memory.text == "The ferry leaves at ten"
    assert import_path(store, folder).overwritten == 0
    store.undo(done.batch)
    assert getattr(store.get(ferry.id), "text", "") == "The ferry leaves at nine"


@pytest.mark.parametrize("per", ["memory", "day"])
def test_a_note_can_be_edited_again_after_its_edit_was_imported(store: MemoryStore, tmp_path: Path, per: str) -> None:
    ferry, pier = store.remember("The ferry leaves at nine"), store.remember("The pier closes at dusk")
    store.link(ferry.id, pier.id)
    folder = NoteFolder(store, tmp_path / "notes", per=per)
    folder.write()
    for before, after in (("at nine", "at ten"), ("at ten", "at noon")):
        edit(note_of(folder.folder, f"leaves {before}"), f"leaves {before}", f"leaves {after}")
        assert import_path(store, folder.folder, dry_run=True).overwritten == 1
        done = import_path(store, folder.folder)
        assert (done.overwritten, done.errors) == (1, 0)
        assert getattr(store.get(ferry.id), "text", "") == f"The ferry leaves {after}"
        assert folder.edited() == []
    store.undo(done.batch)
    assert not folder.follow().edited
    assert "leaves at ten" in note_of(folder.folder, "leaves at").read_text()


def test_an_edit_that_the_store_has_does_not_keep_a_note_from_being_written(store: MemoryStore, tmp_path: Path) -> None:
    ferry = store.remember("The ferry leaves at nine", tags=["harbour"])
    folder = NoteFolder(store, tmp_path / "notes")
    folder.write()
    path = note_of(folder.folder, "at nine")
    edit(path, "leaves at nine", "leaves at ten")
    store.edit(ferry.id, text="The ferry leaves at ten", tags=["pier"])
    assert folder.write().edited == [path]
    store.edit(ferry.id, tags=["harbour"])
    assert (folder.write().edited, folder.edited()) == ([], [])


def test_what_is_stored_while_notes_are_written_gets_its_note(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("The ferry leaves at nine")
    folder = NoteFolder(store, tmp_path / "notes")
    give_names = folder._give_names

    def and_another() -> None:
        give_names()
        store.remember("The pier closes at dusk")

    monkeypatch.setattr(folder, "_give_names", and_another)
    folder.write()
    assert note_of(folder.folder, "at dusk")


@pytest.mark.parametrize("per", ["memory", "day"])
def test_notes_whose_import_was_undone_are_named_and_can_be_taken_again(
    store: MemoryStore, tmp_path: Path, per: str
) -> None:
    ferry, pier = store.remember("The ferry leaves at nine"), store.remember("The pier closes at dusk")
    folder = tmp_path / "notes"
    export_notes(store, folder, per=per)
    edit(note_of(folder, "at nine"), "leaves at nine", "leaves at ten")
    store.undo(import_path(store, folder).batch)
    again = import_path(store, folder)
    assert (again.overwritten, again.skipped, len(again.notes)) == (0, 2, 1)
    assert "1 note differs from the store, which was changed after it was written" in again.notes[0]
    assert import_path(store, folder, on_conflict="overwrite").overwritten == 1
    assert (texts_of(store, ferry, pier)) == ["The ferry leaves at ten", "The pier closes at dusk"]
    assert import_path(store, folder).notes == ()
    store.undo()
    edit(note_of(folder, "at ten"), "leaves at ten", "leaves at noon")
    assert "`--on-conflict overwrite`" in import_path(store, folder).faults[0].why
    assert import_path(store, folder, on_conflict="overwrite").overwritten == 1
    assert texts_of(store, ferry, pier) == ["The ferry leaves at noon", "The pier closes at dusk"]
    store.remember("Something else")  # what the store has besides does not count
    store.recall("when does the ferry leave")
    assert import_path(store, folder).notes == ()


def texts_of(store: MemoryStore, *memories: Memory) -> list[str]:
    return [getattr(store.get(memory.id), "text", "") for memory in memories]


def test_an_edit_of_what_changed_in_the_store_too_is_refused_and_listed(store: MemoryStore, tmp_path: Path) -> None:
    ferry, pier = store.remember("The ferry leaves at nine"), store.remember("The pier closes at dusk")
    folder = tmp_path / "notes"
    export_notes(store, folder)
    edit(note_of(folder, "at nine"), "leaves at nine", "leaves at ten")
    edit(note_of(folder, "at dusk"), "at dusk", "at dawn")
    store.edit(ferry.id, text="The ferry leaves at noon")
    done = import_path(store, folder)
    assert (done.overwritten, done.errors) == (1, 1)
    assert "version 2 now, 1 when it was exported" in done.faults[0].why and ".md" in done.faults[0].why
    assert getattr(store.get(ferry.id), "text", "") == "The ferry leaves at noon"
    assert getattr(store.get(pier.id), "text", "") == "The pier closes at dawn"


@pytest.mark.parametrize("per", ["memory", "day"])
def test_a_copy_of_a_note_does_not_change_the_memory_of_its_original(
    store: MemoryStore, tmp_path: Path, per: str
) -> None:
    ferry = store.remember("The ferry leaves at nine")
    folder = NoteFolder(store, tmp_path / "notes", per=per)
    folder.write()
    original = note_of(folder.folder, "at nine")
    copy = folder.folder / "01 copy.md"  # sorted before the original
    copy.write_text(original.read_text())
    assert import_path(store, folder.folder).errors == 0
    edit(copy, "at nine", "at noon")
    done = import_path(store, folder.folder, on_conflict="overwrite")
    assert (done.overwritten, done.errors) == (0, 1)
    name = original.relative_to(folder.folder)
    assert f"01 copy.md: it has the id of {name}," in done.faults[0].why and "its id line" in done.faults[0].why
    assert store.get(ferry.id) == ferry
    edit(original, "at nine", "at ten")
    assert import_path(store, folder.folder).overwritten == 1
    assert getattr(store.get(ferry.id), "text", "") == "The ferry leaves at ten"
    assert folder.edited() == [] and "at noon" in copy.read_text()


def test_of_two_renamed_notes_with_one_id_an_edited_one_is_not_taken(store: MemoryStore, tmp_path: Path) -> None:
    ferry = store.remember("The ferry leaves at nine")
    export_notes(store, tmp_path / "notes")
    original = note_of(tmp_path / "notes", "at nine")
    renamed, copy = original.with_name("ferry.md"), original.with_name("boat.md")
    original.rename(renamed)
    copy.write_text(renamed.read_text())
    edit(copy, "at nine", "at noon")
    done = import_path(store, tmp_path / "notes")
    assert (done.overwritten, done.skipped, done.errors) == (0, 1, 1)
    assert store.get(ferry.id) == ferry
    copy.unlink()
    edit(renamed, "at nine", "at ten")
    assert import_path(store, tmp_path / "notes").overwritten == 1


def test_following_writes_what_changed_and_removes_what_is_gone(store: MemoryStore, tmp_path: Path) -> None:
    ferry = store.remember("The ferry leaves at nine", tags=["sea"])
    folder = NoteFolder(store, tmp_path / "notes", Choice(tags=("sea",)))
    assert folder.write().written == 1 and not folder.follow()
    path = note_of(folder.folder, "at nine")
    other = store.remember("Gulls steal chips", tags=["sea"])
    store.remember("Not of the sea")
    store.edit(ferry.id, text="The boat leaves at ten")
    store.link(ferry.id, other.id, "mentions")
    changes = folder.follow()
    assert (changes.written, changes.removed) == (2, 0)
    assert note_of(folder.folder, "leaves at ten") == path  # a name stays, so that links stay valid
    assert f"- mentions: [[{note_of(folder.folder, 'Gulls').stem}]]" in path.read_text()
    store.tag(other.id, remove=["sea"])
    store.forget(ferry.id)
    assert folder.follow().removed == 2 and list(walk(folder.folder)) == []
    store.restore(ferry.id)
    assert folder.follow().written == 1


def test_the_first_and_the_last_day_of_the_calendar_have_their_notes(store: MemoryStore, tmp_path: Path) -> None:
    for at in (FIRST, LAST):
        store.remember(f"At {at:.0f}", created_at=at)
    export_notes(store, tmp_path / "notes", per="day")
    assert sorted(path.name for path in walk(tmp_path / "notes")) == ["0001-01-01.md", "9999-12-31.md"]


def test_a_day_follows_too(store: MemoryStore, tmp_path: Path) -> None:
    one = store.remember("First", created_at="2025-01-01T10:00:00Z")
    folder = NoteFolder(store, tmp_path / "notes", per="day")
    folder.write()
    store.remember("Second", created_at="2025-01-01T23:59:59Z")
    store.remember("Third", created_at="2025-01-02T00:00:00Z")
    assert folder.follow().written == 2
    assert sorted(path.name for path in walk(folder.folder)) == ["2025-01-01.md", "2025-01-02.md"]
    assert "Second" in (folder.folder / "2025-01-01.md").read_text()
    store.forget(one.id)
    folder.follow()
    assert "First" not in (folder.folder / "2025-01-01.md").read_text()


def test_an_edited_note_is_neither_overwritten_nor_removed(store: MemoryStore, tmp_path: Path) -> None:
    ferry, pier = store.remember("The ferry leaves at nine"), store.remember("The pier closes at dusk")
    folder = NoteFolder(store, tmp_path / "notes")
    folder.write()
    paths = [note_of(folder.folder, "at nine"), note_of(folder.folder, "at dusk")]
    edit(paths[0], "leaves at nine", "leaves at ten")
    edit(paths[1], "at dusk", "at dawn")
    store.edit(ferry.id, text="The ferry leaves at noon")
    store.forget(pier.id)
    changes = folder.follow()
    assert sorted(changes.edited) == sorted(paths) and not changes.written and not changes.removed
    assert "leaves at ten" in paths[0].read_text() and "at dawn" in paths[1].read_text()


def test_a_second_export_keeps_names_and_writes_nothing_new(store: MemoryStore, tmp_path: Path) -> None:
    ferry = store.remember("The ferry leaves at nine")
    folder = tmp_path / "notes"
    export_notes(store, folder)
    path = note_of(folder, "at nine")
    moved = path.rename(folder / "My ferry.md")
    store.recall("ferry")  # a use is no change
    before = moved.stat().st_mtime_ns
    export_notes(store, folder, force=True)
    assert moved.stat().st_mtime_ns == before and list(walk(folder)) == [moved]
    store.edit(ferry.id, text="The ferry leaves at ten")
    export_notes(store, folder, force=True)
    assert "at ten" in moved.read_text()


def test_a_folder_of_others_or_of_another_layout_is_left_alone(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("The ferry leaves at nine")
    (tmp_path / "mine.md").write_text("mine")
    with pytest.raises(InvalidInput, match="--force"):
        export_notes(store, tmp_path)
    export_notes(store, tmp_path, force=True)
    assert (tmp_path / "mine.md").read_text() == "mine"
    with pytest.raises(InvalidInput, match="one for each memory"):
        export_notes(store, tmp_path, per="day", force=True)
    done = import_path(store, tmp_path)
    assert any("1 note that was not exported was left out" in note for note in done.notes)


def test_a_note_without_its_secret_cannot_bring_an_edit_back(tmp_path: Path) -> None:
    secret = "ghp_" + "q1W2e3R4t5Z6u7I8o9P0a1S2d3F4g5H6j7K8"
    file, folder = tmp_path / "store.db", tmp_path / "notes"
    with MemoryStore(file, settings=Settings(embedder="hashing", secrets="allow")) as store:
        memory = store.remember(f"The token is {secret}")
    with opened(file) as store:
        assert export_notes(store, folder).redacted == 1
        path = note_of(folder, "The token is")
        assert secret not in path.read_text()
        assert import_path(store, folder).skipped == 1
        edit(path, "The token is", "The old token is")
        assert "exported without a secret" in import_path(store, folder).faults[0].why
        assert store.get(memory.id) == memory


@pytest.mark.parametrize("policy", ["overwrite", "newer"])
@pytest.mark.parametrize("per", ["memory", "day"])
def test_a_note_without_its_secret_never_replaces_what_the_store_has(tmp_path: Path, per: str, policy: str) -> None:
    secret = "ghp_" + "q1W2e3R4t5Z6u7I8o9P0a1S2d3F4g5H6j7K8"
    file, folder = tmp_path / "store.db", tmp_path / "notes"
    with MemoryStore(file, settings=Settings(embedder="hashing", secrets="allow")) as store:
        memory = store.remember(f"The token is {secret}")
    with opened(file) as store:
        assert export_notes(store, folder, per=per).notes == (
            "1 memory was written without what looked like a secret.",
        )
        store.edit(memory.id, importance=0.1)
        kept = store.get(memory.id)
        done = import_path(store, folder, on_conflict=policy)
        assert (done.overwritten, done.skipped, done.batch) == (0, 1, "")
        assert done.notes == ("1 memory is in the file without its secret, and the store keeps what it has.",)
        assert store.get(memory.id) == kept
        store.edit(memory.id, text="The token was revoked")
        assert import_path(store, folder, on_conflict=policy).overwritten == 0
        assert texts_of(store, memory) == ["The token was revoked"]


def test_notes_of_another_space_below_the_folder_stay(store: MemoryStore, tmp_path: Path) -> None:
    other = store.in_space("other")
    other.remember("The gull steals bread")
    store.remember("The ferry leaves at nine")
    export_notes(other, tmp_path / "docs" / "other")
    export_notes(store, tmp_path / "docs", force=True)
    export_notes(store, tmp_path / "docs", force=True)
    assert note_of(tmp_path / "docs" / "other", "gull").is_file()
    assert note_of(tmp_path / "docs", "ferry").is_file()


@pytest.mark.parametrize("value", ["!!bool foo", "!!timestamp foo", "!!int foo", "!!float x"])
def test_front_matter_with_a_wrong_value_costs_only_its_own_note(
    store: MemoryStore, tmp_path: Path, value: str
) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    (tmp_path / "vault" / "a.md").write_text(f"---\nx: {value}\n---\n\nhi\n")
    (tmp_path / "vault" / "b.md").write_text("The pier closes at dusk\n")
    import_path(store, tmp_path / "vault")
    assert "The pier closes at dusk" in {memory.text for memory in store.list_recent()}
