"""What becomes of ids that are here already, and how an import is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Link, MemoryStore
from nacre.errors import ImportConflict, ModelUnavailable, UnknownName
from nacre.model import JournalEntry
from nacre.settings import Settings
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.transfer.archives import everything, full, opened


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    return opened(tmp_path / "here.db" if request.param == "file" else ":memory:")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    source = opened()
    source.remember("The ferry leaves at nine", id="a", links=[Link("b", "related"), Link("gone", "related")])
    source.remember("The ferry has a red funnel", id="b", links=[Link("a", "refines")], on_conflict="ignore")
    source.remember("The ferry has a blue funnel", id="c", on_conflict="ignore")
    source.supersede("c", "b")
    path = tmp_path / "ferry.nacre"
    export_archive(source, path)
    return path


def texts(store: MemoryStore) -> dict[str, str]:
    return {memory.id: memory.text for memory in everything(store)}


def test_skip_leaves_what_stands(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="a")
    done = import_archive(store, archive)
    assert (done.imported, done.skipped) == (2, 1) and texts(store)["a"] == "Something else"


def test_what_is_skipped_in_the_trash_is_said(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="a")
    store.forget("a")
    assert any("trash" in note for note in import_archive(store, archive).notes)


def test_overwrite_puts_the_archives_in_its_place(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="a")
    done = import_archive(store, archive, on_conflict="overwrite")
    assert (done.imported, done.overwritten) == (2, 1) and texts(store)["a"] == "The ferry leaves at nine"
    assert store.recall("when does the ferry leave", 1)[0].memory.id == "a"
    again = import_archive(store, archive, on_conflict="overwrite")
    assert (again.overwritten, again.skipped, again.batch) == (0, 3, "")


def test_overwriting_never_brings_back_what_was_redacted(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="a")
    store.redact("a")
    done = import_archive(store, archive, on_conflict="overwrite")
    assert done.overwritten == 0 and store.get("a").text == "[redacted]"  # type: ignore[union-attr]


def test_newer_takes_only_what_was_changed_later(tmp_path: Path, archive: Path) -> None:
    early = MemoryStore(tmp_path / "early.db", embedder="hashing", clock=lambda: 1_000.0)
    late = MemoryStore(tmp_path / "late.db", embedder="hashing", clock=lambda: 9_999_999_999.0)
    for store, kept in ((early, "The ferry leaves at nine"), (late, "Something else")):
        store.remember("Something else", id="a")
        import_archive(store, archive, on_conflict="newer")
        assert texts(store)["a"] == kept


def test_rename_gives_another_id_and_ties_follow_it(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="a")
    store.remember("And another", id="b", on_conflict="ignore")
    done = import_archive(store, archive, on_conflict="rename")
    assert (done.imported, done.renamed) == (1, 2)
    found = {memory.text: memory for memory in everything(store)}
    a, b = found["The ferry leaves at nine"], found["The ferry has a red funnel"]
    c = found["The ferry has a blue funnel"]
    assert {a.id, b.id} & {"a", "b"} == set() and c.id == "c" and len(a.id) == 36
    assert {(link.to, link.rel) for link in a.links} == {(b.id, "related"), ("gone", "related")}
    assert {(link.to, link.rel) for link in b.links} == {(a.id, "refines"), ("c", "supersedes")}
    assert c.superseded_by == b.id and texts(store)["a"] == "Something else"


def test_error_names_the_collisions_and_changes_nothing(store: MemoryStore, archive: Path) -> None:
    store.remember("Something else", id="b")
    before = everything(store)
    with pytest.raises(ImportConflict) as refused:
        import_archive(store, archive, on_conflict="error")
    assert refused.value.collisions == ("b",) and refused.value.count == 1
    assert everything(store) == before and len(store.journal()) == 1


def test_an_unknown_policy_is_refused(store: MemoryStore, archive: Path) -> None:
    with pytest.raises(UnknownName, match="skip"):
        import_archive(store, archive, on_conflict="skp")


@pytest.mark.parametrize("policy", ["skip", "overwrite", "rename", "newer"])
def test_a_dry_run_foretells_and_changes_nothing(store: MemoryStore, archive: Path, policy: str) -> None:
    store.remember("Something else", id="a")
    before, journal = everything(store), store.journal(limit=None)
    told = import_archive(store, archive, on_conflict=policy, dry_run=True)
    assert everything(store) == before and store.journal(limit=None) == journal
    done = import_archive(store, archive, on_conflict=policy)
    counts = ("imported", "skipped", "overwritten", "renamed", "errors", "vectors_regenerated", "words")
    assert [getattr(told, name) for name in counts] == [getattr(done, name) for name in counts]


@pytest.mark.parametrize("policy", ["skip", "overwrite", "rename", "newer"])
def test_undo_takes_all_of_an_import_back(store: MemoryStore, archive: Path, policy: str) -> None:
    store.remember("Something else", id="a", tags=["x"])
    before, words = everything(store), store.relations()
    done = import_archive(store, archive, on_conflict=policy)
    assert {entry.operation.batch for entry in store.journal(operation="import", limit=None)} == {done.batch}
    assert {entry.operation.actor for entry in store.journal(operation="import", limit=None)} == {"import"}
    back = store.undo(done.batch)
    assert everything(store) == before and store.relations() == words
    store.undo(back[0])
    assert len(everything(store)) >= 3


def test_undo_takes_back_types_and_relations_that_came_along(store: MemoryStore, tmp_path: Path) -> None:
    source = opened()
    full(source)
    path = tmp_path / "full.nacre"
    export_archive(source, path)
    types, relations = store.types(), store.relations()
    import_archive(store, path)
    assert store.types() != types
    store.undo()
    assert (everything(store), store.types(), store.relations()) == ([], types, relations)


@pytest.mark.slow
def test_thousands_are_one_act_and_gone_with_one_undo(tmp_path: Path) -> None:
    count = 2_500  # more vectors than a transaction holds back
    source, store = opened(tmp_path / "one.db"), opened(tmp_path / "two.db")
    source.remember_many({"id": f"m{number}", "text": f"Buoy {number}"} for number in range(count))
    path = tmp_path / "many.nacre"
    export_archive(source, path)
    done = import_archive(store, path)
    assert done.imported == store.count() == store.health().vectors == count
    assert len({entry.operation.batch for entry in store.journal(limit=None)}) == 1
    store.undo()
    assert store.count() == 0 and store.health().vectors == 0
    assert store.health(thorough=True).problems == ()


def test_the_mirror_of_the_journal_is_told_every_entry_once(tmp_path: Path, archive: Path) -> None:
    from dataclasses import replace

    heard: list[JournalEntry] = []

    class Sink:
        def __call__(self, entries: object) -> None:
            heard.extend(entries)  # type: ignore[arg-type]

        def scrub(self, space: str, ids: object) -> None: ...

    store = opened(tmp_path / "here.db")
    store._engine = replace(store._engine, sink=Sink())
    import_archive(store, archive)
    assert heard == store.journal(newest_first=False) and len(heard) == 3


def test_a_tie_does_not_supersede_what_stays_as_it_is(store: MemoryStore, archive: Path) -> None:
    store.remember("The ferry has a green funnel", id="c")
    done = import_archive(store, archive)
    assert store.get("c").superseded_by == ""  # type: ignore[union-attr]
    assert [link.rel for link in store.get("b").links] == ["refines"]  # type: ignore[union-attr]
    assert any("links that would supersede unchanged memories" in note for note in done.notes)
    store.edit("c", created_at=store.get("c").created_at + 1)  # type: ignore[union-attr]
    import_archive(store, archive, on_conflict="newer")
    again = import_archive(store, archive, on_conflict="newer")
    assert (again.overwritten, again.skipped, again.batch) == (0, 3, "")


def test_an_heir_that_came_later_keeps_its_place(store: MemoryStore, archive: Path) -> None:
    import_archive(store, archive)
    store.remember("The ferry leaves at ten", id="later", on_conflict="ignore")
    store.supersede("a", "later")
    done = import_archive(store, archive, on_conflict="overwrite")
    assert store.get("a").superseded_by == "later" and done.errors == 0  # type: ignore[union-attr]


def test_strict_links_hold_for_what_is_imported(archive: Path) -> None:
    store = MemoryStore(":memory:", settings=Settings(embedder="hashing", strict_links=True))
    done = import_archive(store, archive)
    assert (done.imported, done.errors) == (2, 1) and "'gone'" in done.faults[0].why


def test_words_that_stand_stay_unless_everything_is_overwritten(store: MemoryStore, tmp_path: Path) -> None:
    source = opened()
    source.register_relation("feeds", "gives it to eat")
    store.register_relation("feeds", "another meaning")
    path = tmp_path / "words.nacre"
    export_archive(source, path)
    assert import_archive(store, path).words == 0 and store.relations()["feeds"] == "another meaning"
    done = import_archive(store, path, on_conflict="overwrite")
    assert done.words == 1 and store.relations()["feeds"] == "gives it to eat"
    store.undo()
    assert store.relations()["feeds"] == "another meaning"


def test_a_model_that_is_away_leaves_memories_to_be_found_by_their_words(archive: Path) -> None:
    def away(_texts: object) -> list[list[float]]:
        raise ModelUnavailable("m", "offline", "Go online.")

    store = MemoryStore(":memory:", embedder=away)
    done = import_archive(store, archive)
    assert done.imported == 3 and done.vectors_regenerated == 0
    assert any("found by keywords only" in note for note in done.notes) and store.health().pending == 3
