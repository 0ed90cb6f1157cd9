"""The same API for asynchronous programs: every method runs in a worker thread over the one core."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.protocols import Embedder
from nacre.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def off_loop(
    method: Callable[Concatenate[MemoryStore, P], R],
) -> Callable[Concatenate[AsyncMemoryStore, P], Coroutine[Any, Any, R]]:
    async def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        own: Callable[..., R] = getattr(self.sync, method.__name__)  # that of its class, which may be another one
        return await asyncio.to_thread(own, *args, **kwargs)

    return update_wrapper(run, method)


def view(
    method: Callable[Concatenate[MemoryStore, P], MemoryStore],
) -> Callable[Concatenate[AsyncMemoryStore, P], AsyncMemoryStore]:
    """At once: to make a view opens and reads nothing."""

    def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> AsyncMemoryStore:
        own: Callable[..., MemoryStore] = getattr(self.sync, method.__name__)
        return type(self)(own(*args, **kwargs))

    return update_wrapper(run, method)


def view_off_loop(
    method: Callable[Concatenate[MemoryStore, P], MemoryStore],
) -> Callable[Concatenate[AsyncMemoryStore, P], Coroutine[Any, Any, AsyncMemoryStore]]:
    async def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> AsyncMemoryStore:
        own: Callable[..., MemoryStore] = getattr(self.sync, method.__name__)
        return type(self)(await asyncio.to_thread(own, *args, **kwargs))

    return update_wrapper(run, method)


def streamed(
    method: Callable[Concatenate[MemoryStore, P], Iterator[R]],
) -> Callable[Concatenate[AsyncMemoryStore, P], AsyncIterator[R]]:
    async def run(self: AsyncMemoryStore, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        own: Callable[..., Iterator[R]] = getattr(self.sync, method.__name__)
        values = await asyncio.to_thread(own, *args, **kwargs)
        while (value := await asyncio.to_thread(next, values, None)) is not None:
            yield value

    shape = signature(method)
    streaming = update_wrapper(run, method)
    streaming.__signature__ = shape.replace(return_annotation=f"Async{shape.return_annotation}")  # type: ignore[attr-defined]
    return streaming


class AsyncMemoryStore:
    """Wraps a MemoryStore; `sync` is the one underneath. What neither reads nor writes answers at once, without
    `await`: views such as `in_space`, `now`, `clean` and the properties."""

    def __init__(self, store: MemoryStore) -> None:
        if not isinstance(store, MemoryStore):
            raise InvalidInput(f"Give a MemoryStore, as in AsyncMemoryStore(MemoryStore({store!r})).")
        self.sync = store

    @property
    def space(self) -> str:
        return self.sync.space

    @property
    def agent(self) -> str:
        return self.sync.agent

    @property
    def session(self) -> str:
        return self.sync.session

    @property
    def embedder(self) -> Embedder:
        return self.sync.embedder

    @property
    def settings(self) -> Settings:
        """With those of the space."""
        return self.sync.settings

    @property
    def can_edit_vocabulary(self) -> bool:
        """Whether the vocabulary, which everybody shares, may be changed through this store."""
        return self.sync.can_edit_vocabulary

    @property
    def user_rights(self) -> tuple[str, tuple[str, ...]] | None:
        """The role of the server's user who works with this store, and the spaces that are open to it; none means all.
        None where the store is no server's."""
        return self.sync.user_rights

    def now(self) -> float:
        return self.sync.now()

    def clean(self, memory: Memory) -> Memory:
        """The memory without secrets that were stored before there was a guard."""
        return self.sync.clean(memory)

    in_space = view(MemoryStore.in_space)
    as_actor = view(MemoryStore.as_actor)
    as_user = view(MemoryStore.as_user)
    expecting = view_off_loop(MemoryStore.expecting)
    remember = off_loop(MemoryStore.remember)
    remember_result = off_loop(MemoryStore.remember_result)
    remember_many = off_loop(MemoryStore.remember_many)
    draft = off_loop(MemoryStore.draft)
    editing = off_loop(MemoryStore.editing)
    write = off_loop(MemoryStore.write)
    edit = off_loop(MemoryStore.edit)
    edit_result = off_loop(MemoryStore.edit_result)
    forget = off_loop(MemoryStore.forget)
    purge = off_loop(MemoryStore.purge)
    supersede = off_loop(MemoryStore.supersede)
    merge = off_loop(MemoryStore.merge)
    restore = off_loop(MemoryStore.restore)
    undo = off_loop(MemoryStore.undo)
    redact = off_loop(MemoryStore.redact)
    validate = off_loop(MemoryStore.validate)
    pin = off_loop(MemoryStore.pin)
    unpin = off_loop(MemoryStore.unpin)
    archive = off_loop(MemoryStore.archive)
    unarchive = off_loop(MemoryStore.unarchive)
    tag = off_loop(MemoryStore.tag)
    bump = off_loop(MemoryStore.bump)
    link = off_loop(MemoryStore.link)
    unlink = off_loop(MemoryStore.unlink)
    neighbors = off_loop(MemoryStore.neighbors)
    subgraph = off_loop(MemoryStore.subgraph)
    path = off_loop(MemoryStore.path)
    relations = off_loop(MemoryStore.relations)
    register_relation = off_loop(MemoryStore.register_relation)
    weak_links = off_loop(MemoryStore.weak_links)
    prune_links = off_loop(MemoryStore.prune_links)
    history = off_loop(MemoryStore.history)
    diff = off_loop(MemoryStore.diff)
    changes = off_loop(MemoryStore.changes)
    operations = off_loop(MemoryStore.operations)
    operation = off_loop(MemoryStore.operation)
    timeline = off_loop(MemoryStore.timeline)
    compact = off_loop(MemoryStore.compact)
    resolve_operation = off_loop(MemoryStore.resolve_operation)
    find_conflicts = off_loop(MemoryStore.find_conflicts)
    note_conflicts = off_loop(MemoryStore.note_conflicts)
    review = off_loop(MemoryStore.review)
    decide = off_loop(MemoryStore.decide)
    entities = off_loop(MemoryStore.entities)
    resolve_entity = off_loop(MemoryStore.resolve_entity)
    memories_about = off_loop(MemoryStore.memories_about)
    merge_entities = off_loop(MemoryStore.merge_entities)
    unalias = off_loop(MemoryStore.unalias)
    entity_suggestions = off_loop(MemoryStore.entity_suggestions)
    tally = off_loop(MemoryStore.tally)
    touch = off_loop(MemoryStore.touch)
    vocabulary = off_loop(MemoryStore.vocabulary)
    get = off_loop(MemoryStore.get)
    get_many = off_loop(MemoryStore.get_many)
    vectors = off_loop(MemoryStore.vectors)
    edges = off_loop(MemoryStore.edges)
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
    space_notes = off_loop(MemoryStore.space_notes)
    create_space = off_loop(MemoryStore.create_space)
    copy_space = off_loop(MemoryStore.copy_space)
    move = off_loop(MemoryStore.move)
    rename_space = off_loop(MemoryStore.rename_space)
    delete_space = off_loop(MemoryStore.delete_space)
    reindex = off_loop(MemoryStore.reindex)
    catch_up = off_loop(MemoryStore.catch_up)
    backup = off_loop(MemoryStore.backup)
    check_records = off_loop(MemoryStore.check_records)
    health = off_loop(MemoryStore.health)
    close = off_loop(MemoryStore.close)
    iterate = streamed(MemoryStore.iterate)
    iterate_journal = streamed(MemoryStore.iterate_journal)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
