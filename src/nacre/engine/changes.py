"""What an act does to one memory or to one word, and how the journal tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from nacre.errors import InvalidInput
from nacre.model import JournalEntry, Link, Memory, Operation
from nacre.model.memory import NAMES, Json, plain, typed
from nacre.protocols import Derived, Transaction

# Touches are not acts: a recall between an act and its undo must not stand in the way.
UNTOLD = ("id", "space", "last_accessed", "access_count")
TOLD = tuple(name for name in NAMES if name not in UNTOLD)
SPACE = "space"  # the kind of the word that tells of a space
SPACE_NAME = "space_name"  # the kind of a journal entry that tells of its new name
FORMERLY = "formerly"  # in a space's word: the names that copies outside of the store may still know it by
PLACE = "at"  # where in the order a link that came or went stood


@dataclass(frozen=True, slots=True)
class Change:
    """No `before`: the memory is new. No `after`: it goes. `derived` is None where it stays as it was."""

    before: Memory | None
    after: Memory | None
    derived: Derived | None = None

    @property
    def subject(self) -> Memory:
        return self.after or self.before  # type: ignore[return-value]

    @property
    def embeds(self) -> bool:
        return self.derived is not None and self.derived.vectors is not None

    def carry_out(self, transaction: Transaction) -> None:
        if self.after is None:
            transaction.remove(self.subject.space, self.subject.id)
        else:
            transaction.put(self.after, self.derived)

    def told(self, operation: Operation) -> JournalEntry:
        before, after = self.before, self.after
        return JournalEntry(
            seq=0,
            operation=operation,
            space=self.subject.space,
            memory_id=self.subject.id,
            before=None if before is None else before.to_dict() if after is None else difference(before, after),
            after=None if after is None else after.to_dict() if before is None else difference(after, before),
        )


@dataclass(frozen=True, slots=True)
class TermChange:
    """A word of the store's vocabulary; None where it is not there. `space` is the one whose journal tells it."""

    space: str
    kind: str
    name: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    embeds: bool = False

    def carry_out(self, transaction: Transaction) -> None:
        transaction.put_term(self.kind, self.name, self.after)

    def told(self, operation: Operation) -> JournalEntry:
        return JournalEntry(0, operation, self.space, self.name, self.before, self.after, self.kind)


@dataclass(frozen=True, slots=True)
class SpaceRenamed:
    """Told in the journal of the space under its new name, which the whole journal goes by from then on."""

    old: str
    new: str
    embeds: bool = False

    def carry_out(self, transaction: Transaction) -> None:
        transaction.rename_space(self.old, self.new)
        known = transaction.term(SPACE, self.new) or {}
        former = [name for name in (*listed(known.get(FORMERLY)), self.old) if name != self.new]
        transaction.put_term(SPACE, self.new, {**known, FORMERLY: list(dict.fromkeys(map(str, former)))})

    def told(self, operation: Operation) -> JournalEntry:
        return JournalEntry(0, operation, self.new, self.new, {"name": self.old}, {"name": self.new}, SPACE_NAME)


AnyChange: TypeAlias = Change | TermChange | SpaceRenamed


def difference(one: Memory, other: Memory) -> dict[str, Json]:
    """The fields of `one` that `other` has otherwise; of the links, those that `other` lacks."""
    changed = (name for name in TOLD if getattr(one, name) != getattr(other, name))
    told = {name: plain(name, getattr(one, name)) for name in changed}
    if "links" in told:
        # Told whole, each tie of a memory with a thousand would write a thousand into the journal.
        told["links"] = links_apart(one.links, other.links)
    return told


def links_apart(one: Sequence[Link], other: Sequence[Link]) -> list[Json]:
    here, there = by_end(one), by_end(other)
    common = [end for end, link in here.items() if there.get(end) == link]
    if common != [end for end, link in there.items() if here.get(end) == link]:
        common = []  # put into another order: told whole
    kept = set(common)
    return [{**link.to_dict(), PLACE: at} for at, (end, link) in enumerate(here.items()) if end not in kept]


def by_end(links: Sequence[Link]) -> dict[tuple[str, str], Link]:
    return {(link.to, link.rel): link for link in links}


def stands_as(memory: Memory, fields: Mapping[str, Json]) -> bool:
    """True when the memory has these values; of the links, when these are among its own."""
    for name, value in fields.items():
        if name == "links" and isinstance(value, list):
            held = by_end(memory.links)
            if any(held.get((link.to, link.rel)) != link for _, link in placed(value)):
                return False
        elif name in TOLD and plain(name, getattr(memory, name)) != value:
            return False
    return True


def set_back(memory: Memory, before: Mapping[str, Json], after: Mapping[str, Json]) -> Memory:
    """As the memory was before a change from the one to the other."""
    fields = {name: typed(name, value) for name, value in before.items() if name in TOLD and name != "links"}
    if "links" in before or "links" in after:
        fields["links"] = tied_back(memory.links, listed(before.get("links")), listed(after.get("links")))
    return replace(memory, **fields)  # type: ignore[arg-type]


def tied_back(links: Sequence[Link], back: Sequence[Json], gone: Sequence[Json]) -> tuple[Link, ...]:
    dropped = {(link.to, link.rel) for _, link in placed(gone)}
    whole = [link for link in links if (link.to, link.rel) not in dropped]
    for at, link in placed(back):
        whole.insert(len(whole) if at is None else at, link)
    return tuple(whole)


def placed(told: Sequence[Json]) -> list[tuple[int | None, Link]]:
    found = []
    for item in told:
        if isinstance(item, dict):
            at = item.get(PLACE)
            found.append((at if isinstance(at, int) else None, Link.from_dict(item)))
    return found


def listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def new_only(memories: Sequence[Memory], derived: Sequence[Derived], transaction: Transaction) -> list[Change]:
    seen: set[str] = set()
    for memory in memories:
        if memory.id in seen or transaction.get(memory.space, memory.id) is not None:
            raise InvalidInput(f"A memory {memory.id!r} is there already; edit it, or give another id.")
        seen.add(memory.id)
    return [Change(None, memory, found) for memory, found in zip(memories, derived, strict=True)]
