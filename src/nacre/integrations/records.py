"""Records under the keys of a framework: each is a pinned memory whose id is the key.

Decay and retention leave pinned memories alone: a framework's data goes when the framework deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nacre.client import RemoteStore
from nacre.engine.engine import retry_while_none
from nacre.engine.supersede import TIMES_GIVEN, is_redacted, with_times_given
from nacre.errors import InvalidInput
from nacre.files import ThreadLock
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Hit, Memory
from nacre.model.fence import fenced
from nacre.model.memory import SUSPICION, TRASHED, TRUST_GIVEN, Json
from nacre.model.validate import shortened
from nacre.recall.pack import memory_line

MARKS = (SUSPICION, TRUST_GIVEN)  # what the guard notes in the metadata of a memory
BLANKS = (
    "blanks_around"  # the key in the metadata for what a memory's text cannot hold: blanks around it, or nothing else
)
_placing = ThreadLock()
PART = 256  # records in one operation, so that others can write in between


def put(store: MemoryStore, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Stores the fields of each record (`text` and those of `MemoryStore.remember`) under its key, in place of what was
    there, also of what is in the trash or was redacted."""
    items = list(records.items())
    check_keys(records)
    for start in range(0, len(items), PART):
        part = dict(items[start : start + PART])
        known = store.get_many(list(part))
        try:
            _put_part(store, part, known)
        except InvalidInput:
            meanwhile = store.get_many(list(part))
            if len(meanwhile) == len(known):
                raise
            _put_part(store, part, meanwhile)  # another process has stored one of these keys first


def _put_part(store: MemoryStore, part: Mapping[str, Mapping[str, Any]], known: Sequence[Memory]) -> None:
    new = {key: fields for key, fields in part.items() if key not in {memory.id for memory in known}}
    if new:
        store.remember_many([{"pinned": True, **fields, "id": key} for key, fields in new.items()])
    if known:
        store.write("edit", edits={memory.id: overwriting(store, memory, part[memory.id]) for memory in known})


def overwriting(store: MemoryStore, stored: Memory, fields: Mapping[str, Any]) -> Any:
    gone = not is_present(store, stored)
    revived = {"status": "short_term", "created_at": store.now()} if gone else {}
    edit = store.editing(**{"metadata": {}, "tags": (), "expires_at": None, **revived, **fields})

    def overwrite(memory: Memory) -> Memory:
        if is_redacted(memory):  # a framework goes on using its key
            memory = replace(memory, metadata={})
        memory = with_times_given(memory)
        after = replace(edit(memory), superseded_by="", superseded_at=None)
        if after.text != memory.text:
            return after  # the guard has judged the new text
        marks = {key: memory.metadata[key] for key in MARKS if key in memory.metadata}
        return replace(after, metadata={**after.metadata, **marks})

    return overwrite


def get(store: MemoryStore, keys: Sequence[str]) -> dict[str, Memory]:
    """Those that are there and have not expired."""
    check_keys(keys)
    return {memory.id: memory for memory in store.get_many(keys) if is_present(store, memory)}


def delete(store: MemoryStore, keys: Iterable[str]) -> bool:
    """To the trash, in one operation that `undo` takes back."""
    named = list(keys)
    check_keys(named)
    return store.forget(*named)


def check_keys(keys: Iterable[str], kind: str = "key") -> None:
    """A store cuts blanks around ids and spaces: two keys would be one, or one would never be found."""
    for key in keys:
        if isinstance(key, str) and key != key.strip():
            raise InvalidInput(f"The {kind} {shortened(key)} has blanks around it; remove them.")


def ranked(store: MemoryStore, query: str, k: int, where: Filter, **options: Any) -> list[Hit]:
    """The `k` best records as `recall` ranks them, however little they match, which frameworks expect of a search;
    `options` are of `recall`, and `min_relevance` among them leaves out what matches less."""
    if asks_for_nothing(query, k):
        return []
    chosen: dict[str, Any] = {"min_relevance": 0.0, "collapse": False, "where": where, **options}
    hits = list(store.recall(query, k, **chosen))
    if len(hits) < k and not chosen["min_relevance"] and "strategy" not in options:
        known = {hit.memory.id for hit in hits}
        nearest = store.recall(query, k, **chosen, strategy="semantic", touch=False)
        hits += [hit for hit in nearest if hit.memory.id not in known][: k - len(hits)]
    return hits


def asks_for_nothing(query: str, k: int) -> bool:
    """Frameworks search with what their users type, which may be blank, and expect no error."""
    return not query.strip() or k == 0


def add_turns(store: MemoryStore, session: str, turns: Sequence[Mapping[str, Any]]) -> list[Memory]:
    """Stores turns of a conversation after those that it has, in one operation, or several where they are many; each
    has `text`, `role` and what else `MemoryStore.remember` takes. What others write at the same moment comes before or
    after them. The newest turn is the last one also where the clock was set back, which then only tells when a turn
    happened."""
    with _placing:  # threads need not overtake each other
        if isinstance(store, RemoteStore):
            return store.remember_many(placed_turns(store, session, turns, last_turn(store, session)))
        stored: list[Memory] = []
        for start in range(0, len(turns), PART):
            part = turns[start : start + PART]
            stored += retry_while_none(partial(add_after_last, store, session, part))
        return stored


def add_after_last(store: MemoryStore, session: str, turns: Sequence[Mapping[str, Any]]) -> list[Memory] | None:
    """None where others have added turns to the session meanwhile."""
    last = last_turn(store, session)
    drafts = [store.draft(**fields) for fields in placed_turns(store, session, turns, last)]

    def is_still_last(present: MemoryStore) -> bool:
        now_last = last_turn(present, session)
        return place_of(now_last) == place_of(last)

    return store.write("remember", new=drafts, only_if=is_still_last) or None


def last_turn(store: MemoryStore, session: str) -> Memory | None:
    """Also one that is archived or was replaced: its position is taken."""
    where = Filter.where(position__ge=0)
    last = store.list_recent(
        1, session=session, where=where, include_archived=True, include_superseded=True, include_expired=True
    )
    return last[0] if last else None


def place_of(turn: Memory | None) -> tuple[object, ...]:
    return () if turn is None else (turn.position, turn.created_at)


def placed_turns(
    store: MemoryStore, session: str, turns: Sequence[Mapping[str, Any]], last: Memory | None
) -> list[dict[str, Any]]:
    """The fields of the turns with the positions that follow."""
    start = 0 if last is None else (last.position or 0) + 1
    fields: dict[str, Any] = {"type": "episodic", "session": session}
    now = store.now()
    # A server gives turns its own time, which our clock says nothing about.
    if last is not None and now < last.created_at and not isinstance(store, RemoteStore):
        fields |= {"created_at": last.created_at, "occurred_at": now}
    return [{**fields, "position": start + at, **turn} for at, turn in enumerate(turns)]


def fenced_hits(hits: Iterable[Hit]) -> str:
    """The memories with their ids, inside the fence that says that they are data; empty without a hit."""
    lines = [memory_line(hit.memory, hit.marks, label=hit.memory.id) for hit in hits]
    return fenced(lines) if lines else ""


def is_present(store: MemoryStore, memory: Memory) -> bool:
    return memory.status != TRASHED and (memory.expires_at is None or memory.expires_at > store.now())


def own_metadata(memory: Memory) -> dict[str, Json]:
    """Without what Nacre itself has noted there."""
    return {key: value for key, value in memory.metadata.items() if key not in (*MARKS, TIMES_GIVEN, BLANKS)}


def text_fields(content: str, stand_in: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields `text` and `metadata` for a content that a text cannot hold exactly, as it has no blanks around it and
    is never empty. `stand_in` is the text of an empty content. `content_of` is the way back."""
    text = content.strip()
    start = content.find(text)
    around = [content[:start], content[start + len(text) :]] if text else [content, ""]
    blanks: dict[str, Any] = {} if around == ["", ""] and text else {"before": around[0], "after": around[1]}
    if not text:
        blanks["stand_in"] = stand_in.strip()
    return {"text": text or stand_in, "metadata": {**metadata, **({BLANKS: blanks} if blanks else {})}}


def content_of(memory: Memory) -> str:
    blanks = memory.metadata.get(BLANKS)
    if not isinstance(blanks, dict):
        return memory.text
    text = "" if memory.text == blanks.get("stand_in") else memory.text
    return f"{blanks.get('before', '')}{text}{blanks.get('after', '')}"
