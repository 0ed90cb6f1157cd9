"""What is taken out for good, and what is left of it: redaction, purging and the shortened journal."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.engine import removal, undo
from nacre.errors import HistoryLost, InvalidInput, MemoryNotFound, UndoRefused
from nacre.model import Operation
from nacre.protocols import Change
from nacre.settings import Settings
from nacre.storage import journal_mirror
from nacre.storage.journal_mirror import JournalMirror
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.embedders import WordBag
from tests.engine.conftest import Ticking
from tests.samples import existing

SECRET = "xyzzyplugh"
DAY = 86_400.0


def raw(folder: Path) -> bytes:
    """Every byte of every file, those of packed ones as they were before."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in files)


@pytest.fixture
def mirrored(tmp_path: Path, clock: Ticking, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStore]:
    """A store whose journal is mirrored into a file and many archives."""
    monkeypatch.setattr(journal_mirror, "LOOK_EVERY", 1)
    defaults = JournalMirror.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(JournalMirror.__init__, "__kwdefaults__", {**defaults, "rotate_mb": 1e-3, "keep_days": 0})
    known = Settings(journal_mirror=str(tmp_path / "mirror" / "acts.jsonl"))
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock, settings=known) as store:
        yield store


def keep_secret(store: MemoryStore) -> Memory:
    """A memory with something to hide in every field that can hide it, edited so that it was otherwise before."""
    kept = store.remember(
        f"{SECRET}a " * 300, id="s", title=f"{SECRET}b", tags=[f"{SECRET}c"], metadata={"k": [f"{SECRET}d"]},
        source=f"{SECRET}e", source_notes=f"{SECRET}f", entities=[f"{SECRET}g"], contexts=[f"{SECRET}h"],
        anti_contexts=[f"{SECRET}i"], session=f"{SECRET}j", role=f"{SECRET}k", agent=f"{SECRET}l",
    )  # fmt: skip
    store.edit(kept.id, text=f"{SECRET}m now", title=f"{SECRET}n", tags=[f"{SECRET}o"], why=f"{SECRET}p")
    store.recall(f"{SECRET}m")
    store.link(kept.id, "a", data={"note": f"{SECRET}q"})
    store.link("a", kept.id, "quotes", data={"kind": f"{SECRET}s", "note": [f"{SECRET}t"]})
    store.link("a", kept.id, "mentions", data={"note": f"{SECRET}u"})
    store.unlink("a", kept.id, "mentions")
    store.edit(kept.id, source_notes=f"{SECRET}r")
    return kept


@pytest.mark.slow
@pytest.mark.parametrize("way", ["redact", "purge"])
def test_no_byte_is_left_in_the_store_its_log_the_mirror_or_its_archives(
    mirrored: MemoryStore, tmp_path: Path, way: str
) -> None:
    mirrored.remember_many([f"fellow number {number} speaks of many things" for number in range(100)])
    mirrored.remember("a neighbour", id="a")
    keep_secret(mirrored)
    assert len(list((tmp_path / "mirror").glob("*.gz"))) > 1
    assert SECRET.encode() in raw(tmp_path / "mirror")
    assert getattr(mirrored, way)("s", why="the law") == 1
    assert SECRET.encode() not in raw(tmp_path)
    assert mirrored.health(thorough=True).problems == ()
    last = json.loads((tmp_path / "mirror" / "acts.jsonl").read_text("utf-8").splitlines()[-1])
    assert [last[key] for key in ("act", "why", "memory_id", "before", "after")] == [way, "the law", "s", None, None]
    assert (mirrored.journal("s")[0].operation.name, mirrored.journal("s")[0].operation.why) == (way, "the law")
    assert len(mirrored.recall("fellow", k=5)) == 5
    mirrored.close()
    assert SECRET.encode() not in raw(tmp_path)


def test_what_is_redacted_leaves_a_mark_with_its_ties_and_its_place_in_the_chain(store: MemoryStore) -> None:
    for id in ("a", "heir", "friend"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    kept = keep_secret(store)
    store.link("friend", "s", "mentions")
    store.supersede("s", "heir")
    assert store.redact("s") == 1
    stone = existing(store, "s")
    assert (stone.text, stone.status, stone.superseded_by) == ("[redacted]", "trashed", "heir")
    assert (stone.type, stone.created_at, stone.links) == (kept.type, kept.created_at, (Link("a"),))
    assert SECRET not in repr(stone)
    assert [each.id for each in store.history("s").versions] == ["s", "heir"]
    assert [each.id for each in store.history("heir").versions] == ["s", "heir"]
    reached = {each.memory.id for each in store.neighbors("s", include_hidden=True)}
    assert reached == {"a", "friend", "heir"}
    for words in (SECRET, "redacted", f"{SECRET}m now"):
        assert "s" not in [hit.memory.id for hit in store.recall(words, 9, include_superseded=True)]
    assert [memory.id for memory in store.list_recent(status="trashed", include_superseded=True)] == ["s"]


def test_what_is_redacted_comes_back_by_no_way(store: MemoryStore) -> None:
    store.remember(f"{SECRET} at first", id="s")
    then = store.journal("s")[0].operation.at
    store.edit("s", text=f"{SECRET} later")
    edited = store.journal("s")[0].operation.batch
    store.redact("s")
    stood, told = existing(store, "s"), store.journal(limit=None)
    with pytest.raises(InvalidInput, match="redacted"):
        store.restore("s")
    with pytest.raises(InvalidInput, match="redacted"):
        store.edit("s", text="another text")
    with pytest.raises(InvalidInput, match="redacted"):
        store.write("edit", edits={"s": store.editing(text="another text")})
    with pytest.raises(UndoRefused, match="redacted"):
        store.undo(edited)
    with pytest.raises(UndoRefused, match="redact"):
        store.undo()
    with pytest.raises(UndoRefused, match="redact"):
        store.undo(told[0])
    assert (existing(store, "s"), store.journal(limit=None)) == (stood, told)
    assert SECRET not in repr([store.get("s", as_of=then), store.list_recent(9, as_of=then, include_trashed=True)])
    assert SECRET not in repr(list(store.iterate_journal()))
    assert [entry.operation.name for entry in store.journal("s")] == ["redact", "edit", "remember"]


def test_an_undo_of_several_names_the_one_that_cannot_be_undone_and_what_came_before_it(store: MemoryStore) -> None:
    store.remember("Ida keeps bees", id="bees")
    store.remember(SECRET, id="s")
    store.redact("s")
    store.remember("Ida sells honey", id="honey")
    redaction, before = store.journal("s")[0].operation.batch[:8], store.journal("bees")[0].operation.batch[:8]
    with pytest.raises(
        UndoRefused, match=f"One of the last 2 operations .redact {redaction}.*undo {before}`.*before it"
    ):
        store.undo(last=2)
    store.undo()
    with pytest.raises(UndoRefused, match=f"The last operation .redact {redaction}.*undo {before}`"):
        store.undo(last=2)


@pytest.mark.parametrize("ids", [("nobody",), ("a", "nobody")])
def test_redacting_what_is_not_there_changes_nothing(store: MemoryStore, ids: tuple[str, ...]) -> None:
    kept = store.remember("stays as it is", id="a")
    told = store.journal()
    with pytest.raises(MemoryNotFound, match="'nobody'"):
        store.redact(*ids)
    assert (existing(store, "a"), store.journal()) == (kept, told)
    assert store.recall("stays")[0].memory.id == "a"


def test_a_redaction_stays_within_its_space(tmp_path: Path) -> None:
    with (
        MemoryStore(tmp_path / "s.db", embedder=WordBag(), space="one") as one,
        MemoryStore(tmp_path / "s.db", embedder=WordBag(), space="two") as two,
    ):
        one.remember("mine", id="s")
        kept = two.remember("yours", id="s")
        one.redact("s")
        assert existing(two, "s") == kept
        assert two.journal("s")[0].after is not None


def chain(store: MemoryStore, *ids: str) -> None:
    for id in ids:
        store.remember(f"the capital as {id} has it", id=id, on_conflict="ignore")
    for old, new in pairwise(ids):
        store.supersede(old, new)


def test_purging_a_link_of_a_chain_closes_it(store: MemoryStore) -> None:
    chain(store, "a", "b", "c")
    store.purge("b")
    assert (existing(store, "a").superseded_by, existing(store, "c").superseded_by) == ("c", "")
    assert {link.to for link in existing(store, "c").links if link.rel == "supersedes"} == {"a"}
    assert [each.id for each in store.history("c").versions] == ["a", "c"]
    assert [hit.memory.id for hit in store.recall("capital")] == ["c"]
    store.restore("a")
    assert {hit.memory.id for hit in store.recall("capital")} == {"a", "c"}
    assert (existing(store, "c").links, existing(store, "c").valid_from) == ((), None)


def test_purging_the_tail_of_a_chain_leaves_no_dangling_link(store: MemoryStore) -> None:
    chain(store, "a", "b")
    store.purge("a")
    assert existing(store, "b").links == ()
    assert [each.id for each in store.history("b").versions] == ["b"]


@pytest.mark.parametrize("ids", [("b", "c"), ("c", "b"), ("a", "c"), ("a", "b", "c", "d"), ("d", "b")])
def test_purging_several_of_a_chain_closes_it_around_all_of_them(store: MemoryStore, ids: tuple[str, ...]) -> None:
    chain(store, "a", "b", "c", "d")
    assert store.purge(*ids) == len(ids)
    left = [id for id in "abcd" if id not in ids]
    for id, heir in pairwise([*left, "[purged]" if "d" in ids else ""]):
        assert existing(store, id).superseded_by == heir
        assert {link.to for link in existing(store, id).links} <= set(left)
    assert [hit.memory.id for hit in store.recall("capital")] == ([] if "d" in ids else left[-1:])
    assert all(
        id not in ids or (e.before, e.after) == (None, None) for e in store.journal(limit=None) for id in [e.memory_id]
    )


def test_a_compacted_journal_has_no_history_before_and_all_of_it_after(store: MemoryStore, clock: Ticking) -> None:
    store.remember("first words", id="a")
    early = store.journal("a")[0].operation
    clock.at += 10 * DAY
    store.edit("a", text="second words")
    late = store.journal("a")[0].operation
    clock.at += DAY
    store.edit("a", text="third words")
    assert store.compact(older_than_days=5, why="enough") == 1
    assert [entry.operation.name for entry in store.journal()] == ["compact", "edit", "edit"]
    told = store.journal()[0]
    assert (told.kind, told.operation.why, told.after) == ("journal", "enough", {"dropped": 1})
    for at in (early.at - 1, 0.0):
        for ask in (store.get, store.history):
            with pytest.raises(HistoryLost, match="compacted"):
                ask("a", as_of=at)
        with pytest.raises(HistoryLost):
            store.list_recent(as_of=at)
        with pytest.raises(HistoryLost):
            store.recall("words", as_of=at)
        with pytest.raises(HistoryLost):
            store.diff(at)
    texts = [(found := store.get("a", as_of=at)) and found.text for at in (early.at, late.at - 1, late.at, clock.at)]
    assert texts == ["first words", "first words", "second words", "third words"]
    assert [hit.memory.text for hit in store.recall("words", as_of=late.at)] == ["second words"]


def test_what_a_shortened_journal_no_longer_tells_cannot_be_undone_nor_the_shortening(
    store: MemoryStore, clock: Ticking
) -> None:
    store.remember("first", id="a")
    early = store.journal("a")[0]
    clock.at += 10 * DAY
    store.remember("second", id="b")
    late = store.journal("b")[0]
    store.compact(older_than_days=5)
    for refused in (early, early.operation.batch, None, store.journal()[0]):
        with pytest.raises(UndoRefused):
            store.undo(refused)
    assert store.count() == 2
    store.undo(late)
    assert [memory.id for memory in store.list_recent()] == ["a"]


def test_compacting_concerns_one_space_and_is_no_operation_where_nothing_goes(tmp_path: Path, clock: Ticking) -> None:
    with (
        MemoryStore(tmp_path / "s.db", embedder=WordBag(), space="one", clock=clock) as one,
        MemoryStore(tmp_path / "s.db", embedder=WordBag(), space="two", clock=clock) as two,
    ):
        one.remember("mine", id="a")
        two.remember("yours", id="a")
        assert one.compact(older_than_days=5) == 0
        assert len(one.journal()) == 1
        assert one.compact() == 0  # the setting: kept for ever
        clock.at += 10 * DAY
        assert one.compact(older_than_days=5) == 1
        assert two.get("a", as_of=two.journal()[0].operation.at) is not None
        assert [entry.operation.name for entry in two.journal()] == ["remember"]
        with pytest.raises(InvalidInput):
            one.compact(older_than_days=-1)


@pytest.mark.parametrize("place", ["s.db", ":memory:"])
def test_a_clock_that_runs_backwards_parts_no_act_and_keeps_the_order_of_writing(tmp_path: Path, place: str) -> None:
    now = [1_000.0]
    with MemoryStore(
        place if place == ":memory:" else tmp_path / place, embedder=WordBag(), clock=lambda: now[0]
    ) as store:
        store.remember_many([{"text": f"fact {id}", "id": id} for id in "abc"])
        now[0] = 900.0
        store.remember_many([{"text": f"fact {id}", "id": id} for id in "de"])
        now[0] = 800.0
        store.supersede("a", "b")
        now[0] = 2_000.0
        store.edit("c", text="fact c, revised")
        acts = [entry.operation.name for entry in store.journal(limit=None, newest_first=False)]
        assert acts == ["remember"] * 5 + ["supersede"] * 2 + ["edit"]
        for at in (799.0, 800.0, 850.0, 900.0, 999.0, 1_000.0, 1_999.0, 2_000.0):
            known = {m.id: m for m in store.list_recent(9, as_of=at, include_superseded=True)}
            assert set(known) in ({*()}, set("abc"), set("abcde"))
            if known:
                former, heir = known["a"].superseded_by, [link.to for link in known["b"].links]
                assert (former, heir) in (("", []), ("b", ["a"]))
        assert {m.id for m in store.list_recent(9, as_of=799.0)} == set()
        assert {m.id for m in store.list_recent(9, as_of=1_999.0)} == set("bcde")
        store.undo(last=2)
        assert {m.id for m in store.list_recent()} == set("abcde")


def test_a_redacted_memory_that_was_imported_is_not_there_before_it_came(tmp_path: Path, clock: Ticking) -> None:
    """Also when the journal was shortened, so that nothing tells of the import any more."""
    with MemoryStore(tmp_path / "other.db", embedder=WordBag(), clock=clock) as other:
        other.remember("imported words", id="came")
        export_archive(other, tmp_path / "x.nacre")
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock) as store:
        store.remember("of before", id="before")
        begun = clock()
        store.remember("of between", id="between")
        early = clock()
        import_archive(store, tmp_path / "x.nacre")
        late = clock()
        store.edit("came", text="edited words")
        removal.compact(store.acting_as("tester"), store.space, begun)
        store.redact("came")
        assert store.get("came", as_of=early) is None
        assert sorted(memory.id for memory in store.list_recent(as_of=early)) == ["before", "between"]
        then = store.get("came", as_of=late)
        assert then is not None
        assert "words" not in then.text


def test_links_to_a_purged_memory_do_not_attach_to_a_new_one_with_its_id(store: MemoryStore) -> None:
    for id in ("a", "b", "c"):
        store.remember(f"The port of {id} is 80", id=id, on_conflict="ignore")
    store.link("a", "b", "conflicts")
    store.link("a", "c", "refines")
    store.link("c", "b")
    updated = [memory.updated_at for memory in store.get_many(["a", "c"])]
    store.purge("b")
    store.remember("Tom likes tea", id="b", on_conflict="ignore")
    a, c = store.get_many(["a", "c"])
    assert [(link.to, link.rel) for link in a.links] == [("c", "refines")]
    assert c.links == ()
    assert store.edges(into=["b"]) == []
    assert store.review(kinds="conflict") == []
    assert [a.updated_at, c.updated_at] == updated


def test_purging_memories_that_are_linked_with_each_other_leaves_nothing(store: MemoryStore) -> None:
    for id in ("a", "b"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    store.link("a", "b")
    store.link("b", "a")
    assert store.purge("a", "b") == 2
    assert store.edges() == []
    assert store.health(thorough=True).problems == ()


@pytest.mark.parametrize("how", ["purge", "redact"])
def test_what_an_undo_removed_is_taken_out_of_the_past_for_good(
    mirrored: MemoryStore, tmp_path: Path, how: str
) -> None:
    mirrored.remember("The fern is green", id="fern")
    kept = mirrored.remember(f"The password is {SECRET}", id="s")
    moment = mirrored.now()
    undone = mirrored.undo()[0]
    assert removal.purge(mirrored._engine, "default", ["s"], only=lambda _: True) == 0  # of a plan made earlier
    assert mirrored.get(kept.id, as_of=moment) is not None
    take_out = mirrored.purge if how == "purge" else mirrored.redact
    assert take_out(kept.id) == 1
    assert mirrored.get(kept.id, as_of=moment) is None
    assert next((e.operation.name, e.before, e.after) for e in mirrored.journal("s")) == (how, None, None)
    with pytest.raises(UndoRefused):
        mirrored.undo(undone)
    assert mirrored.purge("s", "nobody") == 0
    with pytest.raises(MemoryNotFound):
        mirrored.redact("s")
    assert mirrored.health(thorough=True).problems == ()
    mirrored.close()
    assert SECRET.encode() not in raw(tmp_path)


def test_a_shortened_journal_has_every_operation_whole_or_not_at_all(store: MemoryStore, clock: Ticking) -> None:
    store.remember("first", id="a")
    for part in ("b", "c"):
        long = Operation("learn", "tester", 0.0, "f" * 32)
        change = Change(None, store.draft(f"words of {part}", id=part))
        store._engine.write(long, lambda _, change=change: [change])  # type: ignore[misc]
        clock.at += 10 * DAY
    assert store.compact(older_than_days=15) == 1
    assert [entry.memory_id for entry in store.journal(operation="learn")] == ["c", "b"]
    store.undo("f" * 32)
    assert [memory.id for memory in store.list_recent()] == ["a"]
    clock.at += 10 * DAY
    assert store.compact(older_than_days=5) == 5


@pytest.mark.parametrize("interrupted", ["an import", "an undo"])
def test_a_shortened_journal_keeps_what_an_interrupted_operation_needs(
    store: MemoryStore, clock: Ticking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str
) -> None:
    monkeypatch.setattr("nacre.engine.operation_parts.PART_GROWTH", 1)
    for module in ("engine.undo", "transfer.import_archive"):
        monkeypatch.setattr(f"nacre.{module}.PART", 3)
    with MemoryStore(":memory:", embedder=WordBag(), clock=clock) as other:
        other.remember_many([{"text": f"text of {n}", "id": f"m{n}"} for n in range(10)])
        export_archive(other, tmp_path / "ten.nacre")

    def broken_off(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if interrupted == "an import" and done > 6:
            raise KeyboardInterrupt

    store.remember("first", id="a")
    with suppress(KeyboardInterrupt):
        import_archive(store, tmp_path / "ten.nacre", progress=broken_off)
    batch = store.journal(operation="import")[0].operation.batch
    if interrupted == "an undo":
        really, parts = undo.undo_part, iter("ab")

        def part(*given: object) -> object:
            if next(parts, None) is None:
                raise KeyboardInterrupt
            return really(*given)  # type: ignore[arg-type]

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(undo, "undo_part", part)
            store.undo(batch)
    clock.at += 10 * DAY
    assert store.compact(older_than_days=5) == 1
    if interrupted == "an import":
        assert import_archive(store, tmp_path / "ten.nacre").batch == batch
    store.undo(batch)
    assert [memory.id for memory in store.list_recent(99)] == ["a"]
