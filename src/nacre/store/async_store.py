"""The same face for asynchronous programs: every method runs in a worker thread over the one core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from nacre.model import Memory
from nacre.store.scope import Scope
from nacre.store.store import MemoryStore

P = ParamSpec("P")
R = TypeVar("R")


def off_loop(
    method: Callable[Concatenate[MemoryStore, P], R],
) -> Callable[Concatenate[AsyncMemoryStore, P], Coroutine[Any, Any, R]]:
    async def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return update_wrapper(run, method)


class AsyncMemoryStore:
    """Wraps a MemoryStore; `sync` is the one underneath."""

    def __init__(self, store: MemoryStore) -> None:
        self.sync = store

    remember = off_loop(MemoryStore.remember)
    remember_result = off_loop(MemoryStore.remember_result)
    remember_many = off_loop(MemoryStore.remember_many)
    edit = off_loop(MemoryStore.edit)
    forget = off_loop(MemoryStore.forget)
    purge = off_loop(MemoryStore.purge)
    supersede = off_loop(MemoryStore.supersede)
    restore = off_loop(MemoryStore.restore)
    undo = off_loop(MemoryStore.undo)
    get = off_loop(MemoryStore.get)
    resolve_id = off_loop(MemoryStore.resolve_id)
    list_recent = off_loop(MemoryStore.list_recent)
    count = off_loop(MemoryStore.count)
    stats = off_loop(MemoryStore.stats)
    journal = off_loop(MemoryStore.journal)
    recall = off_loop(MemoryStore.recall)
    recall_pack = off_loop(MemoryStore.recall_pack)
    types = off_loop(MemoryStore.types)
    register_type = off_loop(MemoryStore.register_type)
    spaces = off_loop(MemoryStore.spaces)
    reindex = off_loop(MemoryStore.reindex)
    catch_up = off_loop(MemoryStore.catch_up)
    health = off_loop(MemoryStore.health)
    close = off_loop(MemoryStore.close)

    async def iterate(self, **scope: Unpack[Scope]) -> AsyncIterator[Memory]:
        memories = await asyncio.to_thread(self.sync.iterate, **scope)
        while (memory := await asyncio.to_thread(next, memories, None)) is not None:
            yield memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
