"""What the store returns: as columns of a list, as JSON values, as short text and as sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from nacre.cli.ui.output import Column, shortened
from nacre.cli.ui.times import age
from nacre.model import Memory
from nacre.model.instants import iso, last_day
from nacre.model.memory import NAMES, SUPERSEDES, SUSPICION, TRASHED, Json, plain, short_id

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

T = TypeVar("T")

LONGEST_SHOWN = 400  # of a text, in a table; `nacre show` has all of it
ROOMY = 100  # columns of a terminal that has place for the tags too


UNTRUSTED = "(untrusted) "


def headline(memory: Memory) -> str:
    """Its title and text; one that gives orders to a model is marked."""
    mark = UNTRUSTED if SUSPICION in memory.metadata else ""
    title = f"{memory.title}: " if memory.title else ""
    return shortened(f"{mark}{title}{memory.text}", LONGEST_SHOWN)


def marked_text(memory: Memory) -> str:
    """All of its text, for a pipe. One that gives orders to a model is marked here too: a model may read the pipe."""
    return UNTRUSTED + memory.text if SUSPICION in memory.metadata else memory.text


def excerpt(memory: Memory) -> str:
    return shortened(headline(memory))


def count_column(name: str, count: Callable[[T], int]) -> Column[T]:
    return Column(name, lambda each: str(count(each)), lambda each: f"{count(each):,}", right=True)


LITTLE_TRUST = 0.5  # below it a reader should know before believing it
MOST_CONFLICTS = 500  # that are read for the marks of a list
MARKS = {
    "s": "superseded by a newer one",
    "c": "in conflict with another, until `nacre review` settles it",
    "t": "little trusted; `nacre show ID` says why",
    "p": "pinned, and never fades",
}


def marks(memory: Memory, conflicting: Collection[str] = ()) -> str:
    """Letters of `MARKS`. `conflicting` are the ids of memories in a conflict that nobody has settled."""
    said = {
        "s": bool(memory.superseded_by),
        "c": memory.id in conflicting,
        "t": memory.trust < LITTLE_TRUST,
        "p": memory.pinned,
    }
    return "".join(mark for mark in MARKS if said[mark])


def marks_line(memories: Iterable[Memory], conflicting: Collection[str] = ()) -> list[str]:
    """What the marks that occur mean; nothing where none does."""
    there = {mark for memory in memories for mark in marks(memory, conflicting)}
    return (
        [f"Marks: {'; '.join(f'{mark} = {text}' for mark, text in MARKS.items() if mark in there)}."] if there else []
    )


def conflicting_ids(store: MemoryStore) -> set[str]:
    items = store.review(kinds=("conflict",), limit=MOST_CONFLICTS)
    return {side.id for item in items if item.conflict is not None for side in (item.conflict.a, item.conflict.b)}


def space_in_table(space: Callable[[T], str], *, two_spaces: bool) -> list[Column[T]]:
    return [Column("space", space, only="table")] if two_spaces else []


def memory_columns(
    of: Callable[[T], Memory],
    items: Iterable[T] = (),
    *,
    two_spaces: bool,
    wraps: bool = False,
    conflicting: Collection[str] | None = None,
) -> list[Column[T]]:
    """With the space of each: in a table where `two_spaces` were read, in a pipe always, so that its columns do not
    depend on the folder. With `conflicting`, a table has the marks of each, if any."""
    items = list(items)
    marked = conflicting is not None and any(marks(of(item), conflicting) for item in items)
    noted: Column[T] = Column("", lambda item: marks(of(item), conflicting or ()), only="table", style="yellow")
    return [
        Column("id", lambda item: of(item).id, lambda item: short_id(of(item).id), style="cyan"),
        Column("type", lambda item: of(item).type, style="magenta"),
        Column("imp", lambda item: f"{of(item).importance:g}", lambda item: f"{of(item).importance:.2f}", right=True),
        Column("happened", lambda item: iso(of(item).happened_at), only="tsv"),
        Column("date", lambda item: of(item).date, only="table"),
        Column("tags", lambda item: ",".join(of(item).tags), lambda item: " ".join(of(item).tags), least_width=ROOMY),
        *space_in_table(lambda item: of(item).space, two_spaces=two_spaces),
        *([noted] if marked else ()),
        Column("text", lambda item: marked_text(of(item)), lambda item: headline(of(item)), wide=True, wraps=wraps),
        Column("space", lambda item: of(item).space, only="tsv"),  # the last: scripts count the columns
    ]


TIMES = (
    "created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "expires_at", "last_accessed",
    "last_validated_at", "superseded_at",
)  # fmt: skip


def memory_record(memory: Memory) -> dict[str, Json]:
    """Every field is there, whether it was set or not: a script need not know the defaults."""
    return with_iso_times({name: plain(name, getattr(memory, name)) for name in NAMES})


def with_iso_times(fields: Mapping[str, Json]) -> dict[str, Json]:
    plain = {name: iso_or_none(value) if name in TIMES else value for name, value in fields.items()}
    if isinstance(links := plain.get("links"), list):
        plain["links"] = [with_iso_data(link) if isinstance(link, dict) else link for link in links]
    return plain


def with_iso_data(link: dict[str, Json]) -> dict[str, Json]:
    """A link to what a memory replaced notes which times of the two the replacement set: the end of the older one, and
    whether the newer one's beginning, which is no time."""
    data = link.get("data")
    if link.get("rel") != SUPERSEDES or not isinstance(data, dict):
        return link
    flags = {name for name, value in data.items() if name in TIMES and isinstance(value, bool)}
    times = with_iso_times({name: value for name, value in data.items() if name not in flags})
    return {**link, "data": {**times, **{f"{name}_set": data[name] for name in flags}}}


def iso_or_none(at: Json) -> Json:
    return iso(at) if isinstance(at, int | float) else None


def expired_note(memory: Memory, now: float) -> list[str]:
    """A warning about what nobody will see."""
    if memory.expires_at is None or memory.expires_at > now:
        return []
    remedy = f"`nacre edit {short_id(memory.id)} --expires-at ''` lets it stay"
    return [f"It expired {age(memory.expires_at, now)}, so it is neither listed nor recalled; {remedy}."]


def ended_note(memory: Memory, now: float) -> list[str]:
    """A warning about what is stored as no longer true."""
    if memory.valid_until is None or memory.valid_until > now:
        return []
    remedy = f"`nacre edit {short_id(memory.id)} --valid-until ''` takes the end away"
    return [f"It was true until {last_day(memory.valid_until)}, so what holds now is recalled before it; {remedy}."]


def is_current(memory: Memory) -> bool:
    """Whether it can still be in conflict with anything."""
    return memory.status != TRASHED and not memory.superseded_by
