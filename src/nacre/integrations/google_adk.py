"""Google ADK's `BaseMemoryService`: a space for each user of an app."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Hit

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

NO_SESSION = "unknown"


class NacreMemoryService(BaseMemoryService):
    """Give it to `Runner(memory_service=NacreMemoryService(store))`; `load_memory` and `preload_memory` use it.

    Events are turns whose id is the event's, so that a session may be added again at any time; what was deleted stays
    deleted. ADK puts what a search returns into the prompt, so each memory is fenced. `options` are of `recall`.
    """

    def __init__(self, store: MemoryStore, *, k: int = 10, **options: Any) -> None:
        self.store = store
        self.k = k
        self.options = options

    def user_store(self, app_name: str, user_id: str) -> MemoryStore:
        """The store in the space of this user, `APP/USER`; other characters than letters and digits are quoted."""
        return self.store.in_space(f"{quote(app_name, safe='')}/{quote(user_id, safe='')}")

    async def add_session_to_memory(self, session: Session) -> None:
        view = self.user_store(session.app_name, session.user_id)
        await asyncio.to_thread(add_events, view, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        view = self.user_store(app_name, user_id)
        await asyncio.to_thread(add_events, view, session_id or NO_SESSION, events, custom_metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        items: list[dict[str, Any]] = []
        for entry in memories:
            if text := text_of(entry.content):
                metadata = {**(custom_metadata or {}), **entry.custom_metadata}
                time = {"occurred_at": entry.timestamp} if entry.timestamp else {}
                items.append({"text": text, "metadata": metadata, **time, **({"id": entry.id} if entry.id else {})})
        await asyncio.to_thread(self.user_store(app_name, user_id).remember_many, items)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        view = self.user_store(app_name, user_id)
        hits = await asyncio.to_thread(lambda: view.recall(query, self.k, **self.options))
        return SearchMemoryResponse(memories=[entry_of(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """To the trash, from which `restore` and `undo` bring it back."""
        if memory_id:
            await asyncio.to_thread(self.user_store(app_name, user_id).forget, memory_id)


def add_events(
    store: MemoryStore, session: str, events: Iterable[Event], metadata: Mapping[str, object] | None = None
) -> None:
    said = {event.id: event for event in events if text_of(event.content)}
    known = {memory.id for memory in store.get_many(list(said))}
    turns = [
        {
            "id": id,
            "text": text_of(event.content),
            "role": "user" if event.author == "user" else "assistant",
            "occurred_at": event.timestamp,
            "metadata": {**(metadata or {}), "author": event.author},
        }
        for id, event in said.items()
        if id not in known
    ]
    records.add_turns(store, session, turns)


def text_of(content: Content | None) -> str:
    """What is said; not what was only thought, and no calls of tools."""
    parts = (content.parts if content is not None else None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def entry_of(hit: Hit) -> MemoryEntry:
    memory = hit.memory
    return MemoryEntry(
        id=memory.id,
        content=Content(role="user", parts=[Part(text=records.fenced_hits([hit]))]),
        author=memory.role or None,
        timestamp=datetime.fromtimestamp(memory.happened_at, UTC).isoformat(),
        custom_metadata={"relevance": round(hit.relevance, 4), "trust": memory.trust, "space": memory.space},
    )
