"""Any memory that a store can hold comes back from a table and from notes as it went out."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from nacre import Memory, MemoryStore
from nacre.errors import InvalidInput
from nacre.model.instants import iso, seconds
from nacre.transfer.cells import TIMES
from nacre.transfer.export import Choice
from nacre.transfer.export_files import export_file
from nacre.transfer.import_archive import import_path
from tests.property.strategies import memories
from tests.property.test_archives import PLAIN, everything, kept

ALL = Choice(include_trashed=True, redact=False)
FORMS = {"jsonl": "all.jsonl", "csv": "all.csv", "memory": "notes", "day": "notes"}


def promised(memory: Memory, form: str) -> Memory:
    """JSON lines promise every field; a CSV and notes write times, to the microsecond, and so round them."""
    if form == "jsonl":
        return memory
    times = {name: getattr(memory, name) for name in TIMES}
    rounded = {name: seconds(iso(at)) for name, at in times.items() if at is not None}
    return replace(memory, **rounded)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@given(drafts=st.lists(memories(), min_size=1, max_size=4), data=st.data())
def test_a_fresh_store_has_the_same_memories_afterwards(form: str, drafts: list[Memory], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one = MemoryStore(":memory:", settings=PLAIN)
        try:
            before = kept(one, drafts)
        except InvalidInput:  # times of a draft may contradict each other
            reject()
        if len(before) > 1 and data.draw(st.booleans()):
            with suppress(InvalidInput):  # what is archived or has expired replaces nothing
                one.supersede(before[0].id, before[1].id)
        if data.draw(st.booleans()):
            one.forget(before[-1].id)
        path = Path(folder) / FORMS[form]
        if form in ("memory", "day"):
            export_file(one, path, ALL, format="markdown", per=form)
        else:
            export_file(one, path, ALL)
        two = MemoryStore(":memory:", settings=PLAIN)
        done = import_path(two, path)
        assert (done.errors, done.faults) == (0, ())
        wanted = [promised(memory, form) for memory in everything(one)]
        assert sorted(everything(two), key=by_id) == sorted(wanted, key=by_id)
        assert (done.imported, import_path(two, path).imported) == (len(wanted), 0)
        two.undo()
        assert everything(two) == []
        one.close()
        two.close()


def by_id(memory: Memory) -> str:
    return memory.id
