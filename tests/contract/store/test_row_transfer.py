"""Moving a store between any two backends: all that can be asked of it is answered as before, and writing goes on."""

from __future__ import annotations

import threading
import typing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import MigrationRefused
from nacre.model import Edge, Filter, JournalFilter, Link, Operation
from nacre.protocols import (
    ALL,
    MIGRATION,
    AnyChange,
    Backend,
    Change,
    EmbedderBound,
    EmbedderIdentity,
    JournalDropped,
    Listed,
    Order,
    Reader,
    RowTransfer,
    Scrubbed,
    Search,
    SpacePurged,
    SpaceRenamed,
    Tallied,
    TermChange,
    TermSet,
)
from nacre.transfer.migrate import Migrated, Migration
from tests.contract.store.conftest import BACKENDS
from tests.samples import SPACE, derived, ids, listed, memory, put, removed, unit, written

WORDS = ("tea", "milk", "water", "tea milk")
IDS = ("a", "b", "c", "d", "e", "f", "g", "again")
NAMES = ("the source", "the target")
BOUND = EmbedderIdentity("first", 8, b"probe", {"floor": 0.25})


def pairs(*fast: tuple[str, str]) -> list[object]:
    """All of them; those that are not named are in the slow set."""
    return [
        pytest.param(pair, marks=() if pair in fast else pytest.mark.slow, id="-to-".join(pair))
        for pair in product(BACKENDS, BACKENDS)
    ]


# Each kind is read once and written once, though a server takes longer.
EACH_KIND = pytest.mark.parametrize(
    "stores", pairs(("in_memory", "postgres"), ("postgres", "sqlite_encrypted"), ("sqlite", "in_memory")), indirect=True
)


@pytest.fixture(params=pairs(("sqlite", "in_memory")))
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Backend, Backend]]:
    with ExitStack() as stack:
        opened = []
        for name, kind in zip(("from", "to"), request.param, strict=True):
            (tmp_path / name).mkdir()
            opened.append(stack.enter_context(closing(BACKENDS[kind](tmp_path / name))))
        source, target = opened
        if source.rows is None or target.rows is None:
            pytest.skip("cannot be moved row by row")
        yield source, target


def rows(store: Backend) -> RowTransfer:
    assert store.rows is not None
    return store.rows


def operation(name: str, batch: str, why: str = "") -> Operation:
    return Operation(name, "tester", 0.0, batch, why)


def fill(store: Backend) -> None:
    """A history with everything that a store can hold."""
    store.commit([EmbedderBound(BOUND)])
    written(store, (memory("a", "old", tags=("x", "x"), updated_at=1.0), derived("tea", unit(1), tags="x")), at=1.0)
    written(
        store, (memory("b", links=(Link("a"), Link("c", "cites", 0.5, {"kind": "k"}))), derived("tea milk")), at=2.0
    )
    written(store, memory("a", "old", tags=("y",), updated_at=3.0, entities=("Ada",), metadata={"n": [1, {"m": 2}]}))
    written(store, (memory("a", "new", tags=("y",), updated_at=4.0), derived("milk", unit(0, 1), unit(1, 1))), at=3.5)
    written(
        store,
        (memory("c", session="s", position=1, role="user", created_at=4.0), derived("water", unit(1, 0.5))),
        at=4.0,
    )
    written(store, memory("b", links=(Link("c", "cites", 0.75),), superseded_by="c", superseded_at=5.0), at=5.0)
    removed(store, "a", at=6.0)
    written(store, (memory("a", "again", expires_at=99.0, trust=0.5), derived("tea", unit(0, 0, 1))), at=7.0)
    written(store, (memory("d", "secret", pinned=True), derived("water secret", unit(1))), memory("e"), at=8.0)
    put(store, (memory("f", "never journaled", importance=0.75), derived("tea tea", unit(0.5, 0.5), title="milk")))
    before = store.get(SPACE, "d")
    assert before is not None
    redacted = replace(before, text="[redacted]")
    changes: list[AnyChange] = [Change(before, redacted, derived("redacted"), journaled=False), Scrubbed(SPACE, "d")]
    store.commit(changes, None, operation("redact", "b9", "a reason"), lambda: 9.0)
    store.commit(
        [TermChange(SPACE, "tag", "x", None, {"about": "letters"})], None, operation("define", "b10"), lambda: 9.5
    )
    store.commit(
        [TermSet("undo under way/here", "b2", {"left": ["b"]}), TermSet("upkeep", "reindex", {"embedder": "x"})]
    )
    written(store, memory("g", space="there", text="elsewhere"), memory("a", space="there"), at=10.0)
    written(store, memory("g", space="there", text="elsewhere", importance=1), at=11.0)
    store.commit([SpaceRenamed("there", "moved")], None, operation("rename", "b12"), lambda: 12.0)
    written(store, memory("x", space="gone"), at=13.0)
    store.commit([SpacePurged("gone")], None, operation("purge", "b14"), lambda: 14.0)
    store.touch(SPACE, ["a", "b", "a"], 50.0)
    store.touch(SPACE, ["a"], 60.0)
    store.walked(SPACE, [Edge("b", "c", "cites", 0.75, 0, "")])
    store.walked(SPACE, [Edge("b", "c", "cites", 0.75, 0, "")])


class Near(float):
    """Equal to what differs by less than a hundredth: backends keep vectors and weights rounded."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 0.01

    __hash__ = None  # type: ignore[assignment]


def near(values: Any) -> list[Near]:
    return [Near(value) for value in np.asarray(values).ravel().tolist()]


def answers(reader: Reader, space: str) -> dict[str, Any]:
    """All that one state can be asked."""
    found = reader.gather(space, Search(WORDS, unit(1, 0.2), reach=1, windows=((0.0, 2.0),), linked_by=("cites",)))
    terms, places = np.argsort(found.terms), np.argsort(ids(found.places))
    nearest = reader.by_vector(space, unit(1, 0.2), ALL, 9)
    asked: dict[str, Any] = {
        "ids": reader.ids_like(space, "", 99),
        "many": [(each, each.version) for each in reader.get_many(space, IDS)],
        "iterate": ids(list(reader.iterate(space, ALL))),
        "values": list(reader.values(space, ALL, typing.get_args(Listed))),
        "counts": [reader.count(space, each) for each in (ALL, Filter.live(50.0), Filter.where(tags="x"))],
        "size": reader.size(space, ALL),
        "edges": [edge._replace(walks=0) for edge in reader.edges(space)],
        "walks": reader.edges(space, into=["c"]),
        "replaced": ids(reader.replaced_by(space, "c")),
        "journal": reader.journal(space),
        "entries of a": reader.journal(space, JournalFilter(memory_id="a")),
        "begins": reader.journal_begins(space),
        "last": reader.seq_at(space, 1e12),
        "then": reader.seq_at(space, 4.0),
        "border": reader.border(space, 4),
        "vectors": {id: near(of_one) for id, of_one in sorted(reader.vectors(space, IDS).items())},
        "near": sorted((each.id, each.span, Near(each.score)) for each in nearest),
        "words": sorted((match.id, Near(match.score)) for match in reader.by_words(space, ["tea", "milk"], ALL, 9)),
        "places": [found.places[at][1:] for at in places],
        "cosines": near(found.cosines[places]),
        "rarity": near(found.rarity[terms]),
        "shares": near(found.shares[terms][:, places]),
        "links": sorted(found.links),
    }
    for order in typing.get_args(Order):
        asked[order] = ids(listed(reader, space, order=order))
    for tallied in typing.get_args(Tallied):
        asked[f"by {tallied}"] = reader.tally(space, tallied, ALL)
    return asked


NOT_OF_THE_PAST = {"words", "shares", "rarity", "walks"}
SPACES = (SPACE, "moved", "gone", "there")
KINDS = ("tag", "space", "undo under way/here", "upkeep", "type")


def present(store: Backend) -> dict[str, Any]:
    """All that a store can be asked about the present."""
    health, bound = store.health(), store.embedder()
    asked: dict[str, Any] = {
        "spaces": store.spaces(),
        "terms": {kind: store.terms(kind) for kind in KINDS},
        "embedder": (bound, bound.measured, bound.waiting),
        "pending": sorted(ids(store.pending(99))),
        "health": (health.memories, health.pending, health.problems),
    }
    for space in SPACES:
        asked[space] = answers(store, space)
        asked[f"changes in {space}"] = store.changes_since(space, 2)
    return asked


def past(store: Backend) -> dict[str, Any]:
    """All that it can be asked about every earlier state. What backends may answer differently there is left out: the
    weights of words, which are estimated, and the walks of links that were replaced."""
    asked = {}
    for space in SPACES:
        for seq in range(store.journal_begins(space)[0], store.seq_at(space, 1e12) + 1):
            then = answers(store.at(space, seq), space)
            asked[f"{space} at {seq}"] = {name: then[name] for name in then.keys() - NOT_OF_THE_PAST}
    return asked


def migrate(source: Backend, target: Backend) -> Migrated:
    return Migration(source, target, NAMES).run()


def check_equal(source: Backend, target: Backend, *questions: Callable[[Backend], dict[str, Any]]) -> None:
    for asked in (present, *questions):
        found = asked(target)
        for name, answer in asked(source).items():
            assert found[name] == answer, name
    assert target.health(thorough=True).problems == ()


@EACH_KIND
def test_all_that_a_store_answers_it_answers_after_a_move(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    wanted = present(source)
    done = migrate(source, target)
    check_equal(source, target, past)
    assert present(source) == wanted  # it was only read
    assert [(space.name, space.memories, space.entries) for space in done.spaces] == [
        ("gone", 0, 1), (SPACE, 6, 12), ("moved", 2, 4),
    ]  # fmt: skip
    assert (done.terms, done.rounds) == (3, 1)
    assert len({space.digest for space in done.spaces}) == len(done.spaces)


def test_two_stores_with_the_same_rows_have_the_same_digests(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    first = migrate(source, target)
    mark(target)
    assert migrate(source, target).spaces == first.spaces
    source.touch(SPACE, ["c"], 70.0)
    mark(target)
    second = migrate(source, target)
    assert [one == other for one, other in zip(first.spaces, second.spaces, strict=True)] == [True, False, True]


def test_writing_goes_on_where_the_source_ended(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    migrate(source, target)
    for store in stores:
        last = store.seq_at(SPACE, 1e12)
        assert written(store, (memory("a", "again", tags=("z",)), derived("tea", unit(0, 0, 1), tags="z"))) == last + 1
        written(store, (memory("new", links=(Link("a", "cites"),)), derived("milk water", unit(1))), at=20.0)
        removed(store, "c", at=21.0)
        purged: list[AnyChange] = [Change(store.get(SPACE, "a"), None, journaled=False), Scrubbed(SPACE, "a")]
        store.commit(purged, None, operation("purge", "p"), lambda: 21.5)
        store.commit([JournalDropped(SPACE, 5)], None, operation("compact", "c"), lambda: 22.0)
    for store in stores:
        entries = store.journal(SPACE, JournalFilter(after=12), newest_first=False)
        assert [entry.seq for entry in entries] == list(range(13, 18))
    check_equal(source, target)


def test_a_dropped_journal_begins_where_it_began(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    source.commit([JournalDropped(SPACE, 7)], None, operation("compact", "c"), lambda: 22.0)
    migrate(source, target)
    check_equal(source, target)
    assert target.journal_begins(SPACE) == (7, 6.0)


def touch_everything(store: Backend) -> None:
    store.touch(SPACE, list(IDS), 70.0)
    store.walked(SPACE, [Edge("b", "c", "cites", 0.75, 0, "")])


def embed(store: Backend) -> None:
    waiting = store.get(SPACE, "b")
    assert waiting is not None
    store.commit([Change(waiting, waiting, derived("tea milk", unit(1, 1)), journaled=False)])


def edit(store: Backend) -> None:
    written(store, (memory("c", "edited", links=(Link("e"),)), derived("milk", unit(0, 1))), memory("late"), at=30.0)


def purge(store: Backend) -> None:
    changes: list[AnyChange] = [Change(store.get(SPACE, "e"), None, journaled=False), Scrubbed(SPACE, "e")]
    store.commit(changes, None, operation("purge", "e"), lambda: 31.0)


def remove_and_write_anew(store: Backend) -> None:
    removed(store, "c", at=30.0)
    written(store, (memory("c", "anew"), derived("milk", unit(0, 1))), at=31.0)


def drop_journal(store: Backend) -> None:
    edit(store)
    store.commit([JournalDropped(SPACE, store.seq_at(SPACE, 1e12))], None, operation("compact", "c"), lambda: 33.0)


def rename(store: Backend) -> None:
    store.commit([SpaceRenamed("moved", "there")], None, operation("rename", "r"), lambda: 34.0)


def change_terms(store: Backend) -> None:
    store.commit([TermSet("upkeep", "reindex", None), TermSet("type", "dream", {"seen": 1})])


def bind_anew(store: Backend) -> None:
    store.commit([EmbedderBound(EmbedderIdentity("second", 8), anew=True)])


WRITTEN_MEANWHILE = (
    touch_everything, embed, edit, purge, remove_and_write_anew, change_terms, rename, drop_journal, bind_anew,
)  # fmt: skip


def mark(target: Backend) -> None:
    """As if its migration had been interrupted after the last row."""
    target.commit([TermSet(*MIGRATION, {"source": NAMES[0]})])


@EACH_KIND
def test_an_interrupted_move_catches_up_with_whatever_was_done_to_its_source(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    for write in (lambda _: None, *WRITTEN_MEANWHILE):
        write(source)
        migrate(source, target)
        assert target.spaces().keys() == source.spaces().keys()
        for space in {SPACE, "there"} & source.spaces().keys():
            assert answers(target, space) == answers(source, space), write
        assert target.health(thorough=True).problems == ()
        mark(target)
    migrate(source, target)
    check_equal(source, target)


def test_a_move_that_breaks_off_continues_where_it_ended(
    stores: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores
    fill(source)
    monkeypatch.setattr("nacre.transfer.migrate.AT_ONCE", 3)

    class Stopped(Exception):
        pass

    for interrupted in range(1, 20, 3):

        def stop(done: int, total: int, what: str, interrupted: int = interrupted) -> None:  # noqa: ARG001
            if done == interrupted:
                raise Stopped

        with pytest.raises(Stopped):
            Migration(source, target, NAMES, stop).run()
        assert target.term(*MIGRATION) == {"source": NAMES[0]}
    migrate(source, target)
    assert target.term(*MIGRATION) is None
    check_equal(source, target)


def test_a_source_that_is_written_to_is_followed(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    writes = iter(range(3))

    def write_now_and_then(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if done == 5 and (number := next(writes, None)) is not None:
            late = memory(f"late {number}"), derived("tea", unit(1))
            in_thread(lambda: written(source, late, at=40.0 + number))

    done = Migration(source, target, NAMES, write_now_and_then).run()
    assert done.rounds > 1
    check_equal(source, target)


def test_a_source_that_never_rests_is_refused_and_can_be_continued(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)

    def write_always(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if done == 5:
            in_thread(lambda: written(source, memory("busy", f"{source.seq_at(SPACE, 1e12)}"), at=50.0))

    with pytest.raises(MigrationRefused, match="run the same command again"):
        Migration(source, target, NAMES, write_always).run()
    migrate(source, target)
    check_equal(source, target)


def test_a_target_that_holds_anything_is_refused(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    fill(source)
    target.commit([TermSet("type", "dream", {})])
    with pytest.raises(MigrationRefused, match="has settings of its own already"):
        migrate(source, target)
    assert target.spaces() == {}


def test_the_unfinished_move_of_another_source_is_refused(stores: tuple[Backend, Backend]) -> None:
    source, target = stores
    target.commit([TermSet(*MIGRATION, {"source": "elsewhere"})])
    with pytest.raises(MigrationRefused, match="interrupted migration of elsewhere"):
        migrate(source, target)
    with pytest.raises(MigrationRefused, match="not complete itself"):
        migrate(target, source)


def test_a_snapshot_reads_one_state_while_others_write(stores: tuple[Backend, Backend]) -> None:
    source, _ = stores
    fill(source)
    with rows(source).snapshot() as state:
        before = [(row.versions[-1].record, len(row.versions)) for row in state.memories(SPACE)]
        spaces = state.spaces()
        in_thread(lambda: edit(source))
        assert [(row.versions[-1].record, len(row.versions)) for row in state.memories(SPACE)] == before
        assert state.spaces() == spaces
    assert rows(source).spaces() != spaces
    numbers = [row.number for row in rows(source).memories(SPACE)]
    assert all(one < other for one, other in pairwise(numbers))


def in_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
