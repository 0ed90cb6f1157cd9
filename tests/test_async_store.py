"""The asynchronous face is the same face."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from nacre import AsyncMemoryStore, MemoryStore
from nacre.access.capabilities import Role, user_capabilities
from nacre.errors import AccessDenied, InvalidInput, MemoryNotFound, VersionMismatch
from tests.embedders import WordBag

STREAMED = ("iterate", "iterate_journal")


def test_what_is_streamed_says_that_it_is_an_asynchronous_iterator() -> None:
    for name, value in zip(STREAMED, ("Memory", "JournalEntry"), strict=True):
        shape, plain = (inspect.signature(getattr(each, name)) for each in (AsyncMemoryStore, MemoryStore))
        assert shape.return_annotation == f"AsyncIterator[{value}]" and shape.parameters == plain.parameters


# For plans, which are not asynchronous; `store.sync` has them.
INNER = ("access", "acting_as", "backend", "reading", "unrestricted_backend")


def test_every_public_method_and_property_is_there() -> None:
    for name, member in inspect.getmembers(
        MemoryStore, lambda each: inspect.isfunction(each) or inspect.isdatadescriptor(each)
    ):
        if not name.startswith("_") and name not in INNER:
            assert hasattr(AsyncMemoryStore, name), name
            assert (getattr(AsyncMemoryStore, name).__doc__ or "") == (member.__doc__ or "") or name in STREAMED


def test_a_view_is_asynchronous_too() -> None:
    async def views() -> None:
        async with AsyncMemoryStore(MemoryStore(":memory:", embedder="hashing")) as store:
            other = store.in_space("other")
            assert isinstance(other, AsyncMemoryStore) and (other.space, store.space) == ("other", "default")
            kept = await other.as_actor("ada").remember("Bees sleep in winter")
            assert (await other.journal(kept.id))[0].operation.actor == "ada"
            assert await store.count() == 0
            expecting = await other.expecting({kept.id: kept.version})
            assert (await expecting.edit(kept.id, text="Bees wake in spring")).version == kept.version + 1
            with pytest.raises(VersionMismatch):
                await expecting.edit(kept.id, text="Bees swarm in summer")
            reader = other.as_user("bob", user_capabilities(Role.READER))
            assert reader.user_rights == ("reader", ())
            with pytest.raises(AccessDenied):
                await reader.forget(kept.id)
            assert store.now() == pytest.approx(store.sync.now()) and store.settings == store.sync.settings
            assert store.embedder is store.sync.embedder and store.clean(kept) == kept
            assert (store.agent, store.session, store.can_edit_vocabulary) == ("", "", True)

    asyncio.run(views())


@pytest.mark.slow
def test_the_whole_life_of_memories_without_blocking(tmp_path: Path) -> None:
    async def life() -> None:
        async with AsyncMemoryStore(MemoryStore(tmp_path / "s.db", embedder=WordBag())) as store:
            kept = await asyncio.gather(*(store.remember(f"memory {i} word{i}") for i in range(20)))
            found = await asyncio.gather(*(store.recall(f"word{i}", k=1) for i in range(20)))
            assert [hits[0].memory.id for hits in found] == [memory.id for memory in kept]
            assert await store.count() == 20
            assert {memory.id async for memory in store.iterate()} == {memory.id for memory in kept}
            assert (await store.edit(kept[0].id, text="edited")).text == "edited"
            await store.undo()
            assert (await store.get(kept[0].id)) is not None
            with pytest.raises(MemoryNotFound):
                await store.edit("nobody", importance=0.5)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db"]

    asyncio.run(life())


def test_the_loop_turns_while_a_slow_call_runs() -> None:
    begun, turned = threading.Event(), threading.Event()

    class Slow(WordBag):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            begun.set()
            assert turned.wait(60), "the loop stood still"
            return super().count_tokens(texts)

    async def both() -> None:
        store = AsyncMemoryStore(MemoryStore(":memory:", embedder=Slow(token_limit=1)))
        slow = asyncio.create_task(store.remember("two words"))
        while not begun.is_set():
            await asyncio.sleep(0)
        turned.set()
        await slow

    asyncio.run(both())


def test_a_path_instead_of_a_store_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="MemoryStore"):
        AsyncMemoryStore("notes.db")  # type: ignore[arg-type]
