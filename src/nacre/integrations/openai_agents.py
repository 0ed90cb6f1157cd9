"""The OpenAI Agents SDK's `Session`: a conversation as turns that later conversations can recall."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from agents.memory import SessionSettings
from agents.memory.session_settings import resolve_session_limit

from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Memory

TAG = "openai-agents"
SPEAKERS = ("user", "assistant", "system", "developer")
# Values that only the service reads. They are stored in hexadecimal digits, or the guard would take them for secrets.
OPAQUE = ("id", "call_id", "encrypted_content")  # and data: URLs
HEX = "nacre-hex"


class NacreSession:
    """Give it to `Runner.run(agent, …, session=NacreSession("ann-1", store))`.

    What was said is stored as turns, in words that `recall` finds. Calls of tools and their results are archived: they
    are part of this conversation, and of no recall. Items come back as they were, but without secrets; one may
    hold 100,000 characters besides its text, so that large files must be given by reference.
    """

    def __init__(self, session_id: str, store: MemoryStore, *, session_settings: SessionSettings | None = None) -> None:
        records.check_keys([session_id], "session")
        self.session_id = session_id
        self.store = store
        self.session_settings = session_settings

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """In the order of the conversation; with a limit the last ones."""
        wanted = resolve_session_limit(limit, self.session_settings)
        return await asyncio.to_thread(lambda: [item_of(memory) for memory in self._memories(wanted)])

    async def add_items(self, items: list[Any]) -> None:
        turns = [turn_of(dict(item)) for item in items]
        await asyncio.to_thread(records.add_turns, self.store, self.session_id, turns)

    async def pop_item(self) -> Any | None:
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """To the trash, in one operation that `undo` takes back."""
        await asyncio.to_thread(lambda: self.store.forget(*(memory.id for memory in self._memories(None))))

    def _pop(self) -> Any | None:
        last = self._memories(1)
        if not last:
            return None
        self.store.forget(last[0].id)
        return item_of(last[0])

    def _memories(self, limit: int | None) -> list[Memory]:
        if limit is None:
            stored = list(self.store.iterate(session=self.session_id, tag=TAG, include_archived=True))
        else:
            stored = self.store.list_recent(max(0, limit), session=self.session_id, tag=TAG, include_archived=True)
        return sorted(stored, key=lambda memory: (memory.position or 0, memory.created_at))


def turn_of(item: dict[str, Any]) -> dict[str, Any]:
    """The item's text is the text of the turn; the rest of the item is in its metadata."""
    rest, path = deepcopy(item), text_path(item)
    content = ""
    if path:
        *way, last = path
        holder = at_path(rest, way)
        content, holder[last] = holder[last], None
    kind = item.get("type", "message")
    said = kind == "message" and item.get("role") in SPEAKERS
    return {
        **records.text_fields(content, kind, {"item": opaque(rest), "text_at": path}),
        "role": str(item.get("role") or ("tool" if kind.endswith("_output") else "assistant")),
        "tags": [TAG],
        "pinned": True,  # a conversation with gaps is refused by the service
        "status": "short_term" if said and content.strip() else "archived",
    }


def item_of(memory: Memory) -> dict[str, Any]:
    item: Any = plain(deepcopy(memory.metadata.get("item")))
    path: Any = memory.metadata.get("text_at")
    if path:
        *way, last = path
        at_path(item, way)[last] = records.content_of(memory)
    return dict(item)


def text_path(item: dict[str, Any]) -> list[Any]:
    """Where the text of an item is: what is said, what a tool is given, or what it returned."""
    for key in ("content", "output", "arguments"):
        value = item.get(key)
        if isinstance(value, str):
            return [key]
        for at, part in enumerate(value if isinstance(value, list) else ()):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return [key, at, "text"]
    return []


def at_path(value: Any, path: list[Any]) -> Any:
    for step in path:
        value = value[step]
    return value


def opaque(value: Any) -> Any:
    if isinstance(value, list):
        return [opaque(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {HEX: each.encode().hex()} if isinstance(each, str) and is_opaque(key, each) else opaque(each)
        for key, each in value.items()
    }


def is_opaque(key: str, value: str) -> bool:
    return key in OPAQUE or value.startswith("data:")


def plain(value: Any) -> Any:
    """The way back from `opaque`."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(digits := value.get(HEX), str):
        return bytes.fromhex(digits).decode()
    return {key: plain(each) for key, each in value.items()}
