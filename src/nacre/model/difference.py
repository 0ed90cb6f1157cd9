"""The fields in which two versions of a memory differ, as the journal stores them, and how to take a change back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nacre.model.journal import JournalEntry
from nacre.model.memory import NAMES, Json, Link, Memory, plain, typed

# Uses are not journaled: a recall between an operation and its undo must not block the undo.
NOT_JOURNALED = ("id", "space", "last_accessed", "access_count")
JOURNALED = tuple(name for name in NAMES if name not in NOT_JOURNALED)
POSITION = "at"  # the position in its memory's links of a link that was added or removed


Images = tuple[dict[str, Json] | None, dict[str, Json] | None]


def images(before: Memory | None, after: Memory | None) -> Images:
    """What the journal records of a change: the changed fields alone, or the whole record that came or went."""
    if before is None or after is None:
        return (None if before is None else before.to_dict()), (None if after is None else after.to_dict())
    return difference(before, after), difference(after, before)


def difference(one: Memory, other: Memory) -> dict[str, Json]:
    """The fields of `one` whose values differ from `other`; of the links, those that `other` lacks."""
    changed = (name for name in JOURNALED if getattr(one, name) != getattr(other, name))
    fields = {name: plain(name, getattr(one, name)) for name in changed}
    if "links" in fields:
        # A memory may have a thousand links: only those that changed go into the journal.
        fields["links"] = missing_links(one.links, other.links)
    return fields


def missing_links(one: Sequence[Link], other: Sequence[Link]) -> list[Json]:
    here, there = by_target(one), by_target(other)
    common = [key for key, link in here.items() if there.get(key) == link]
    if common != [key for key, link in there.items() if here.get(key) == link]:
        common = []  # their order changed: all of them are recorded
    unchanged = set(common)
    return [{**link.to_dict(), POSITION: at} for at, (key, link) in enumerate(here.items()) if key not in unchanged]


def by_target(links: Sequence[Link]) -> dict[tuple[str, str], Link]:
    return {(link.to, link.rel): link for link in links}


def has_values(memory: Memory, fields: Mapping[str, Json]) -> bool:
    """True when the memory has these values; of the links, when these are among its own."""
    for name, value in fields.items():
        if name == "links" and isinstance(value, list):
            links = by_target(memory.links)
            if any(links.get((link.to, link.rel)) != link for _, link in positioned(value)):
                return False
        elif name in JOURNALED and plain(name, getattr(memory, name)) != value:
            return False
    return True


def set_back(memory: Memory, before: Mapping[str, Json], after: Mapping[str, Json]) -> Memory:
    """The memory as it was before a change from `before` to `after`."""
    fields = {name: typed(name, value) for name, value in before.items() if name in JOURNALED and name != "links"}
    if "links" in before or "links" in after:
        fields["links"] = links_before(memory.links, json_list(before.get("links")), json_list(after.get("links")))
    return replace(memory, **fields)  # type: ignore[arg-type]


def removed_memory(entry: JournalEntry) -> Memory:
    """As it was when this entry removed it; its space may have been renamed since."""
    return replace(Memory.from_dict(entry.before or {}), space=entry.space)


def links_before(links: Sequence[Link], removed: Sequence[Json], added: Sequence[Json]) -> tuple[Link, ...]:
    dropped = {(link.to, link.rel) for _, link in positioned(added)}
    restored = [link for link in links if (link.to, link.rel) not in dropped]
    for at, link in positioned(removed):
        restored.insert(len(restored) if at is None else at, link)
    return tuple(restored)


def positioned(items: Sequence[Json]) -> list[tuple[int | None, Link]]:
    pairs = []
    for item in items:
        if isinstance(item, dict):
            at = item.get(POSITION)
            pairs.append((at if isinstance(at, int) else None, Link.from_dict(item)))
    return pairs


def json_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
