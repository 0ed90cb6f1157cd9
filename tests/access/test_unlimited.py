"""Who opens a store itself is refused nothing, and is asked the same as anybody else."""

from __future__ import annotations

import inspect

from nacre import MemoryStore
from nacre.access.capabilities import Access
from nacre.access.unlimited import Unlimited


def test_it_has_nothing_that_an_access_has_not() -> None:
    names = [name for name in vars(Unlimited) if not name.startswith("_")]
    for name in names:
        own = getattr(Unlimited, name)
        if inspect.isfunction(own):
            assert inspect.signature(own) == inspect.signature(getattr(Access, name)), name
        else:
            assert name in Access.__annotations__ or isinstance(getattr(Access, name), property), name


def test_a_store_that_nothing_restricts_refuses_nothing() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("The pier is closed.", id="pier")
        assert isinstance(store.access, Unlimited) and store.can_edit_vocabulary and store.user_rights is None
        assert [entry.seq for entry in store.changes()] == [1] and len(store.operations()) == 1
        store.create_space("quay")
        store.rename_space("harbour")
        assert store.reindex() == 1 and store.delete_space() == 1
