"""Any memory that a store can hold comes out of an archive as it went in."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre import Memory, MemoryStore
from nacre.errors import InvalidInput
from nacre.model.validate import CHECKS, validate_fields
from nacre.settings import Settings
from nacre.transfer.export import Choice, export_archive
from nacre.transfer.import_archive import import_archive
from tests.property.strategies import memories

# The guard would change some random texts on purpose; what it does has tests of its own.
PLAIN = Settings(embedder="hashing", secrets="allow", suspicious="allow")
ALL = Choice(include_trashed=True)


def admitted(memory: Memory, types: tuple[str, ...]) -> dict[str, object]:
    """Those of its fields that `remember` takes."""
    found: dict[str, object] = {"text": "some text"}
    for name in CHECKS:
        try:
            found |= validate_fields({name: getattr(memory, name)}, types)
        except InvalidInput:
            continue
    return found


def kept(store: MemoryStore, drafts: list[Memory]) -> list[Memory]:
    for number, draft in enumerate(drafts):
        fields = {**admitted(draft, store.types()), "id": f"m{number}"}
        if None not in (since := fields.get("valid_from"), until := fields.get("valid_until")) and until < since:  # type: ignore[operator]
            del fields["valid_until"]  # what ends before it begins is refused
        store.remember(on_conflict="ignore", **fields)  # type: ignore[arg-type]
    return everything(store)


def everything(store: MemoryStore) -> list[Memory]:
    return list(
        store.iterate(include_superseded=True, include_archived=True, include_expired=True, include_trashed=True)
    )


@pytest.mark.slow
@given(st.lists(memories(), min_size=1, max_size=4), st.booleans(), st.booleans(), st.data())
def test_a_fresh_store_has_the_same_memories_afterwards(
    drafts: list[Memory], vectors: bool, in_file: bool, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one = MemoryStore(Path(folder) / "one.db" if in_file else ":memory:", settings=PLAIN)
        before = kept(one, drafts)
        if len(before) > 1 and data.draw(st.booleans()):
            with suppress(InvalidInput):  # what is archived or has expired replaces nothing
                one.supersede(before[0].id, before[1].id)
        if data.draw(st.booleans()):
            one.forget(before[-1].id)
        path = Path(folder) / "all.nacre"
        export_archive(one, path, Choice(include_trashed=True, vectors=vectors))
        two = MemoryStore(":memory:" if in_file else Path(folder) / "two.db", settings=PLAIN)
        done = import_archive(two, path)
        assert (done.errors, done.faults) == (0, ())
        assert everything(two) == everything(one)
        assert done.vectors_regenerated == (0 if vectors else len(before))
        two.undo()
        assert everything(two) == []
        one.close()
        two.close()
