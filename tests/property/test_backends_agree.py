"""Whatever is written, SQLite answers as the reference does: today and in every earlier state."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.model import Filter, Link, Memory, Operation
from nacre.protocols import ALL, AnyChange, Backend, Change, Committed, Derived, Order, Reader, Scrubbed, Search
from nacre.storage.in_memory import InMemoryBackend
from nacre.storage.sqlite import SQLiteBackend
from tests import postgres_server, samples
from tests.samples import ids, listed, unit

SPACES = ("one", "two")
IDS = ("a", "b", "c", "d")
STEMS = ("tea", "milk", "pad")
ORDERS: tuple[Order, ...] = typing.get_args(Order)
FILTERS = (ALL, Filter.live(50.0), Filter.where(tags="x"), Filter.where(session="s", importance__ge=0.5))

KINDS = ("write", "write", "write", "several", "remove", "purge", "redact", "touch", "reindex")

few = st.sampled_from([0.0, 0.5, 1.0])
some_stems = st.lists(st.sampled_from(STEMS), max_size=4).map(" ".join)
memories = st.builds(
    Memory, id=st.sampled_from(IDS), space=st.sampled_from(SPACES), text=some_stems,
    tags=st.sampled_from([(), ("x",), ("x", "y")]), importance=few, confidence=few, created_at=few, updated_at=few,
    session=st.sampled_from(["", "s"]), position=st.sampled_from([None, 1, 2, 3]),
    status=st.sampled_from(["long_term", "trashed"]), superseded_by=st.sampled_from(["", "a"]),
    links=st.sampled_from([(), (Link("a"),), (Link("b", "cites", 0.5), Link("a"))]),
)  # fmt: skip
# Of a text by its length: words and vectors depend on it.
ROWS = ((), (unit(1),), (unit(1, 1),), (unit(0, 1),), (unit(-1, 0.5),))

REWRITING = ("redact", "purge", "reindex")  # what changes the past
Step = Callable[[Backend], None]


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, Step]:
    memory, kind = draw(memories), draw(st.sampled_from(KINDS))
    others = draw(st.lists(memories, min_size=2, max_size=3)) if kind == "several" else [memory]
    return f"{kind} {memory.space}/{memory.id}", lambda store: take(store, kind, others)


def take(store: Backend, kind: str, memories: Sequence[Memory]) -> None:
    memory = memories[0]
    if kind == "touch":
        store.touch(memory.space, [memory.id], 9.0)
        return
    now = {(each.space, each.id): store.get(each.space, each.id) for each in memories}
    changes: list[AnyChange] = []
    if kind in ("write", "several"):
        for each in memories:
            changes.append(Change(now[each.space, each.id], each, derived(each)))
            now[each.space, each.id] = each
    elif (before := now[memory.space, memory.id]) is not None:
        empty = Memory(memory.id, "[redacted]", memory.space)
        scrubbed = Scrubbed(memory.space, memory.id)
        made: dict[str, list[AnyChange]] = {
            "reindex": [Change(before, before, derived(before), journaled=False)],
            "redact": [Change(before, empty, derived(empty), journaled=False), scrubbed],
            "remove": [Change(before, None)],
            "purge": [Change(before, None, journaled=False), scrubbed],
        }
        changes += made[kind]
    result = store.commit(changes, None, Operation("write", "tester", 0.0, "b1"), lambda: 1.0)
    assert isinstance(result, Committed)


def derived(memory: Memory) -> Derived:
    return samples.derived(memory.text, *ROWS[len(memory.text) % len(ROWS)], tags=" ".join(memory.tags))


class Near(float):
    """Equal to what differs by less than a hundredth, since backends store vectors and weights rounded."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(self - other) < 0.01

    __hash__ = None  # type: ignore[assignment]


def rounded(values: Any) -> list[Near]:
    return [Near(value) for value in values]


def answers(reader: Reader, space: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "edges": reader.edges(space),
        "replaced": sorted(ids(reader.replaced_by(space, "a"))),
        "journal": [(e.seq, e.memory_id, e.before, e.after) for e in reader.journal(space)],
        "vectors": {id: rounded(found[0]) for id, found in reader.vectors(space, IDS).items()},
    }
    for at, where in enumerate(FILTERS):
        told |= {f"{order} {at}": ids(listed(reader, space, where, order=order)) for order in ORDERS}
        told[f"count {at}"] = reader.count(space, where)
        told[f"tags {at}"] = reader.tally(space, "tags", where)
        told[f"near {at}"] = sorted((m.id, Near(m.score)) for m in reader.by_vector(space, unit(1), where, 9))
        told[f"pages {at}"] = in_pages(reader, space, where)
    told["all"] = [(replace(each, last_accessed=0, access_count=0), each.version) for each in listed(reader, space)]
    found = reader.gather(space, Search(STEMS, unit(1), FILTERS[1], reach=1, windows=((0.2, 0.7),)))
    told["candidates"] = sorted(
        (place[1:], cosine) for place, cosine in zip(found.places, rounded(found.cosines), strict=True)
    )
    return told


def in_pages(reader: Reader, space: str, where: Filter) -> list[str]:
    found, cursor = list[str](), ""
    for _ in count():
        page = reader.page(space, where, order="importance", limit=1, cursor=cursor)
        found += ids(page.memories)
        cursor = page.cursor
        if not cursor:
            break
    return found


def scores(reader: Reader, space: str) -> dict[str, Any]:
    """With the statistics by which words are weighed."""
    told: dict[str, Any] = {"uses": [(m.id, m.last_accessed, m.access_count) for m in listed(reader, space)]}
    for name, visible in (("all", ALL), ("seen", Filter.where(tags="x"))):
        found = reader.gather(space, Search((*STEMS, "tea milk"), None, visible=visible))
        order = np.argsort(found.terms)
        places = np.argsort(ids(found.places))
        told[f"{name} terms"] = [found.terms[i] for i in order]
        told[f"{name} rarity"] = rounded(found.rarity[order])
        told[f"{name} shares"] = [rounded(row) for row in found.shares[order][:, places]]
        words = reader.by_words(space, ["tea", "pad"], ALL, 9, visible)
        told[f"{name} words"] = sorted((match.id, Near(match.score)) for match in words)
    return told


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(steps(), min_size=1, max_size=12))
def test_both_backends_answer_alike_now_and_about_the_past(history: list[tuple[str, Step]], tmp_path: Path) -> None:
    agree(SQLiteBackend(tmp_path / f"{len(list(tmp_path.iterdir()))}.db"), history)


@pytest.mark.slow
@given(history=st.lists(steps(), min_size=1, max_size=12))
def test_a_database_answers_like_the_reference(history: list[tuple[str, Step]]) -> None:
    address = postgres_server.empty_database()
    from nacre.storage.postgres import PostgresBackend

    agree(PostgresBackend(address), history)


def agree(other: Backend, history: list[tuple[str, Step]]) -> None:
    stores: tuple[Backend, Backend] = (InMemoryBackend(), other)
    try:
        for _, step in history:
            for store in stores:
                step(store)
        reference, store = stores
        for space in SPACES:
            assert answers(store, space) == answers(reference, space)
            assert scores(store, space) == scores(reference, space)
            last = reference.seq_at(space, 1e12)
            assert store.seq_at(space, 1e12) == last
            assert store.changes_since(space, 1) == reference.changes_since(space, 1)
            rewritten = any(
                name.startswith(REWRITING) for name, _ in history
            )  # earlier states are counted as they were
            for seq in range(last + 1):
                assert answers(store.at(space, seq), space) == answers(reference.at(space, seq), space)
                if not rewritten:
                    assert scores(store.at(space, seq), space) == scores(reference.at(space, seq), space)
    finally:
        stores[1].close()
