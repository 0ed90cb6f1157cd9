"""Unusual input and unusual orders of operations: refused in one sentence, or handled without a trace of others."""

from __future__ import annotations

import base64
import json
import re
from inspect import signature
from pathlib import Path
from pydoc import plain, render_doc

import pytest

from nacre import AsyncMemoryStore, MemoryStore
from nacre.engine import undo
from nacre.engine.operation_parts import PART
from nacre.errors import InvalidInput
from nacre.model import Condition, Filter
from nacre.model.validate import Fields
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.embedders import WordBag


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "store.db", embedder=WordBag(16))


def test_a_filter_up_to_full_trust_admits_every_memory(store: MemoryStore) -> None:
    store.remember("The lamp is green", trust=1.0)
    store.remember("The rope is blue", trust=0.4)
    backend = store.acting_as("lib").store
    for op, value, count in (("le", 1.0, 2), ("lt", 1.0, 1), ("le", 0.9, 1), ("lt", 2.0, 2), ("ge", 0.4, 2)):
        assert backend.count(store.space, Filter((Condition("trust", op, value),))) == count


def test_a_crafted_cursor_is_refused(store: MemoryStore) -> None:
    store.remember("The lamp is green")
    for values in (["newest", 10**30, 1], ["newest", "x", 1], 5):
        cursor = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
        with pytest.raises(InvalidInput, match="cursor"):
            store.list_recent(cursor=cursor)
    nested = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    with pytest.raises(InvalidInput, match="cursor"):
        store.list_recent(cursor=nested)
    with pytest.raises(InvalidInput, match="limit"):
        store.list_recent(2**63 - 1)


def test_link_data_that_is_not_plain_is_refused(store: MemoryStore) -> None:
    one, two = store.remember("The lamp is green"), store.remember("The rope is blue")
    store.link(one.id, two.id, data={"k": {"inner": 2}})
    looped: dict[str, object] = {}
    looped["self"] = looped
    with pytest.raises(InvalidInput, match="data"):
        store.link(one.id, two.id, "next", data=looped)  # type: ignore[arg-type]


def test_a_tag_given_as_one_text_is_refused_and_not_split(store: MemoryStore) -> None:
    memory = store.remember("The lamp is green")
    for given in ({"add": "abc"}, {"remove": "abc"}):
        with pytest.raises(InvalidInput):
            store.tag(memory.id, **given)
    assert store.get(memory.id).tags == ()  # type: ignore[union-attr]


def test_renaming_to_a_name_that_was_used_before_leaves_nothing_of_it(store: MemoryStore, tmp_path: Path) -> None:
    other = store.in_space("harbour")
    other.remember("The quixotic albatross sleeps here")
    other.undo()
    here = store.in_space("office")
    here.remember("The lamp is green")
    with pytest.raises(InvalidInput, match="has a journal"):
        here.rename_space("harbour")
    other.delete_space(purge=True)
    here.rename_space("harbour")
    assert store.health(thorough=True).problems == ()
    store.close()
    assert b"albatross" not in (tmp_path / "store.db").read_bytes()


@pytest.mark.slow
def test_an_undo_that_is_broken_off_changes_nothing(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = store.remember_many(f"Buoy {number} is green" for number in range(PART + 40))
    store.forget(*(memory.id for memory in made))
    parts = []
    really = undo.undo_part

    def broken_off(*given: object) -> object:
        parts.append(given)
        if len(parts) == 2:
            raise KeyboardInterrupt
        return really(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(undo, "undo_part", broken_off)
    with pytest.raises(KeyboardInterrupt):
        store.undo()
    monkeypatch.undo()
    assert store.count() == 0
    store.undo()
    assert store.count() == len(made)


class BrokenOff(BaseException):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("how", ["purge", "rename"])
def test_an_import_begins_anew_when_what_it_had_written_is_gone(store: MemoryStore, tmp_path: Path, how: str) -> None:
    count = PART + 60
    with MemoryStore(tmp_path / "other.db", embedder=WordBag(16)) as source:
        source.remember_many(f"Buoy {number} is green" for number in range(count))
        export_archive(source, tmp_path / "many.nacre")
    target = store.in_space("harbour")

    def break_off(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if what == "importing memories" and done > PART:
            raise BrokenOff

    with pytest.raises(BrokenOff):
        import_archive(target, tmp_path / "many.nacre", progress=break_off)
    assert 0 < target.count() < count
    if how == "purge":
        target.delete_space(purge=True)
    else:
        target.rename_space("pier")
    again = store.in_space("harbour")
    import_archive(again, tmp_path / "many.nacre")
    assert again.count() == count


def test_help_names_every_argument_of_remember() -> None:
    page = plain(render_doc(MemoryStore.remember))
    names = {*signature(MemoryStore.remember_result).parameters, *Fields.__optional_keys__} - {"fields"}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", page)] == []
    assert signature(AsyncMemoryStore.remember).parameters.keys() == signature(MemoryStore.remember).parameters.keys()
