"""The record of a memory: all its fields."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, make_dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, TypeAlias, cast

from nacre.model.instants import DAY, MONDAY, WEEK, day, last_day

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

LESSON = "lesson"
TYPES = ("episodic", "semantic", "procedural", "feedback", "emotional", "sensory", "working", "prospective", LESSON)
# Roles that every chat has: they name nobody.
GENERIC_ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai"))
SUPERSEDES = "supersedes"  # the relation of a link to what the memory took the place of
CONFLICTS = "conflicts"  # the relation of a link that notes a conflict, as long as nobody has settled it
# The relation of a link to what the memory may be a newer version of; its weight is how likely that is.
MAY_REPLACE = "may_replace"
# The key in the data of such a link that has a digest of the two texts, where a comparison made it: an edit voids it.
COMPARED_TEXTS = "compared"
DISTINCT = "distinct_from"  # the relation of a link to what it was compared with, and does not conflict with
CONTRADICTS = "contradicts"  # the relation of a link to what somebody has judged that the memory contradicts
DERIVED_FROM = "derived_from"  # the relation of a link to a source of the memory
TRANSITIONED_TO = "transitioned_to"  # the relation of a link from a fact to the one that it changed to
SETTLED = frozenset((SUPERSEDES, CONTRADICTS, DISTINCT))  # links of these say how two memories relate
SUSPICION = "suspicion"  # the key in a memory's metadata that says why it is not trusted
TRUST_GIVEN = "trust_given"  # beside it: the trust that the memory has again when the mark is lifted, unless that is 1
ARCHIVED, TRASHED = "archived", "trashed"
LIVE_STATUSES = ("short_term", "consolidating", "long_term", ARCHIVED)
STATUSES = (*LIVE_STATUSES, TRASHED)


@dataclass(frozen=True, slots=True)
class Link:
    to: str
    rel: str = "related"
    weight: float = 1.0
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What its data calls its kind: that of a noted conflict, say."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else ""

    def to_dict(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"to": self.to, "rel": self.rel}
        if self.weight != 1.0:
            fields["weight"] = self.weight
        if self.data:
            fields["data"] = dict(self.data)
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Json]) -> Link:
        data = fields.get("data")
        return cls(
            to=str(fields["to"]),
            rel=str(fields.get("rel", "related")),
            weight=float(fields.get("weight", 1.0)),  # type: ignore[arg-type]
            data=data if isinstance(data, dict) else {},
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """Times are UTC seconds; an unknown time or number is None, an unknown word is empty."""

    # identity
    id: str
    text: str
    space: str = "default"
    agent: str = ""
    title: str = ""
    type: str = "semantic"
    # labels
    tags: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    anti_contexts: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str = ""
    source_notes: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    # worth: importance is given, salience is computed
    importance: float = 0.5
    salience: float = 0.5
    confidence: float = 1.0
    polarity: int = 0
    trust: float = 1.0
    pinned: bool = False
    # emotion
    valence: float | None = None
    arousal: float | None = None
    # place in a conversation
    session: str = ""
    position: int | None = None
    role: str = ""
    # time
    created_at: float = 0.0
    updated_at: float = 0.0
    occurred_at: float | None = None
    valid_from: float | None = None
    valid_until: float | None = None
    expires_at: float | None = None
    last_accessed: float = 0.0
    access_count: int = 0
    last_validated_at: float | None = None
    # status; `trashed_from` is the status that a restore returns to
    status: str = "short_term"
    trashed_from: str = ""
    superseded_by: str = ""
    superseded_at: float | None = None
    # links
    links: tuple[Link, ...] = ()
    # how many journaled writes it has seen; the backend counts, and no comparison, archive or filter knows it
    version: int = field(default=0, compare=False)

    @property
    def is_turn(self) -> bool:
        """Whether it was said in a conversation."""
        return is_place_of_turn(self.session, self.position)

    @property
    def asks(self) -> bool:
        """Whether it ends with a question mark."""
        return self.text.rstrip().endswith(("?", "？"))

    @property
    def happened_at(self) -> float:
        """When it took place as far as anyone knows: the caller's word, else the time of writing."""
        return self.created_at if self.occurred_at is None else self.occurred_at

    @property
    def date(self) -> str:
        """The days that a reader should see: since when it holds, until when it held, else when it happened."""
        if self.valid_from is not None and self.valid_until is not None:
            first = day(self.valid_from)
            return f"{first} to {max(first, last_day(self.valid_until))}"  # what never held ends as it begins
        if self.valid_from is not None:
            return f"{'from' if self.was_written_ahead else 'since'} {day(self.valid_from)}"
        if self.valid_until is not None:
            return f"until {last_day(self.valid_until)}"
        return day(self.happened_at) if self.happened_at else ""

    @property
    def was_written_ahead(self) -> bool:
        """Whether it began to hold after it was last written: a reader may see it before that."""
        return self.valid_from is not None and self.valid_from > max(self.created_at, self.updated_at)

    def holds_at(self, at: float) -> bool:
        """Whether it had begun and not ended then, as far as is known."""
        begun = self.valid_from is None or self.valid_from <= at
        return begun and (self.valid_until is None or at < self.valid_until)

    def ends_before(self, other: Memory) -> bool:
        """Whether it had ceased to hold when the other one began: two such memories do not conflict."""
        if self.valid_until is None or other.valid_from is None:
            return False
        # Of two dates, the last day of the one may be the first of the other: the day of the change.
        shared = 0.0 if self.valid_until % DAY else DAY
        return self.valid_until - shared <= other.valid_from

    def is_settled_with(self, other: Memory) -> bool:
        """Whether one ended before the other began, or a link says how the two relate."""
        rels = {link.rel for one, two in ((self, other), (other, self)) for link in one.links if link.to == two.id}
        replaced = other.id == self.superseded_by or self.id == other.superseded_by
        return self.ends_before(other) or other.ends_before(self) or replaced or not rels.isdisjoint(SETTLED)

    def version_link(self, older: Memory) -> Link | None:
        """The link which says that it may be a newer version of the other; None where there is none, or one of the
        texts that were compared was edited since. One made by hand stays."""
        links = (link for link in self.links if (link.to, link.rel) == (older.id, MAY_REPLACE))
        return next(
            (each for each in links if each.data.get(COMPARED_TEXTS) in (None, digest_of_texts(self, older))), None
        )

    @property
    def held_until(self) -> float | None:
        """When it ceased to hold, or else when it was superseded."""
        return self.superseded_at if self.valid_until is None else self.valid_until

    @property
    def week(self) -> str:
        """The date of the Monday (UTC) of the week in which it was created."""
        return week_of(self.created_at)

    def to_dict(self) -> dict[str, Json]:
        """Only what differs from the defaults, in plain JSON values; `from_dict` restores it exactly."""
        return changed_fields(values_of(self))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Json]) -> Memory:
        """Unknown keys are passed over, so that a newer program's record still opens in this one."""
        values = {name: typed(name, value) if isinstance(value, list) else value for name, value in fields.items()}
        return cls.from_fields({**values, "version": 0})

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Memory:
        """Of checked fields; those that are missing get their defaults, and unknown ones are passed over. Raises
        `KeyError` without an id or a text. In half the time of the constructor."""
        values = [*map(fields.__getitem__, REQUIRED), *map(fields.get, OPTIONAL, OPTIONAL_DEFAULTS)]
        if "metadata" not in fields:
            values[METADATA] = {}  # one of its own
        return cls.from_values(values)

    @classmethod
    def from_values(cls, values: Iterable[object]) -> Memory:
        """Of all fields, in their order. The constructor of a frozen class sets each field by its name, which takes
        twelve times as long: most of the time of reading many. So a class with the same fields that is not frozen is
        filled, and its object becomes a memory. Raises `TypeError` unless there is one value for each field."""
        if cls is not Memory:  # an object of a subclass may have another layout
            return cls(*cast("Iterable[Any]", values))
        memory = Draft(*values)
        memory.__class__ = cls
        return cast("Memory", memory)


def is_place_of_turn(session: str, position: int | None) -> bool:
    """A note may belong to a session, too, and has no position in it."""
    return bool(session) and position is not None


DIGEST_BYTES = 16


def embedded_head(title: str, role: str) -> str:
    """What precedes each piece of a text when it is embedded: the title and the speaker."""
    head = f"{title}\n\n" if title else ""
    # With "Ann: …" before her turns, vectors alone find 48 % of the answers about her in the first five, 28 % without.
    return f"{head}{role}: " if role and role.lower() not in GENERIC_ROLES else head


def piece_digest(piece: str) -> bytes:
    """Of a piece of a text, with its head."""
    return blake2b(piece.encode(), digest_size=DIGEST_BYTES).digest()


SALVAGED = "salvaged"  # the tag of a memory that a repair made from its text, because its record was damaged
# Eight digits, with the prefix of its kind; those of a UUID that follow them only make it unique.
SHORT_ID = re.compile(r"((?:[a-z]+_)?[0-9a-f]{8})(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def short_id(id: str) -> str:
    """What a reader sees of an id and may use. One that somebody chose is shown whole: its first characters may be
    those of others too."""
    cut = SHORT_ID.fullmatch(id)
    return cut[1] if cut else id


class Listing(list[Memory]):
    """Memories in the order asked for; `cursor` continues after the last of them, and is empty at the end."""

    def __init__(self, memories: Iterable[Memory] = (), cursor: str = "") -> None:
        super().__init__(memories)
        self.cursor = cursor


def size(memory: Memory) -> int:
    """The bytes of what was said; what is derived from it grows in proportion."""
    size = len(memory.text.encode()) + len(memory.title.encode())
    return size + len(json.dumps(dict(memory.metadata))) if memory.metadata else size


def week_of(at: float) -> str:
    """The date of the Monday (UTC) on or before it."""
    return monday((at - MONDAY) // WEEK)


@lru_cache(maxsize=512)  # ten years
def monday(weeks: float) -> str:
    return day(MONDAY + weeks * WEEK)


def plain(name: str, value: object) -> Json:
    if name == "links":
        return [link.to_dict() for link in value]  # type: ignore[attr-defined]
    if name in LISTS:
        return list(value)  # type: ignore[call-overload, no-any-return]
    return dict(value) if name == "metadata" else value  # type: ignore[call-overload, return-value]


def typed(name: str, value: Json) -> object:
    if name == "links" and isinstance(value, list):
        return tuple(Link.from_dict(item) for item in value if isinstance(item, dict))
    return tuple(value) if isinstance(value, list) else value


def changed_fields(values: Iterable[object]) -> dict[str, Json]:
    """Those of the values of `NAMES` that differ from the defaults, in plain JSON values."""
    return {
        name: plain(name, value) if name in COMPOSED else value  # type: ignore[misc]
        for name, value, default in zip(NAMES, values, DEFAULT_VALUES, strict=True)
        if value is not default and value != default
    }


FIELDS = tuple(each.name for each in fields(Memory))
Draft = make_dataclass("Draft", [(name, object) for name in FIELDS], slots=True, eq=False)  # see `from_values`
NAMES = tuple(name for name in FIELDS if name != "version")
LISTS = ("tags", "contexts", "anti_contexts", "entities")
DEFAULTS: dict[str, object] = {
    **{each.name: each.default for each in fields(Memory) if each.default is not MISSING and each.name in NAMES},
    "metadata": {},
}
COMPOSED = frozenset((*LISTS, "links", "metadata"))
values_of = attrgetter(*NAMES)  # in their order
DEFAULT_VALUES = tuple(DEFAULTS.get(name, MISSING) for name in NAMES)
REQUIRED = tuple(each.name for each in fields(Memory) if each.default is MISSING is each.default_factory)
OPTIONAL = FIELDS[len(REQUIRED) :]
OPTIONAL_DEFAULTS = tuple(each.default for each in fields(Memory)[len(REQUIRED) :])
METADATA = FIELDS.index("metadata")


# The fields in which two versions of a memory differ, as the journal stores them, and how to take a change back

# Uses are not journaled: a recall between an operation and its undo must not block the undo.
NOT_JOURNALED = ("id", "space", "last_accessed", "access_count")
JOURNALED = tuple(name for name in NAMES if name not in NOT_JOURNALED)
POSITION = "at"  # the position in its memory's links of a link that was added or removed


def key_of(memory: Memory) -> tuple[str, str]:
    """What names a memory in the whole store."""
    return memory.space, memory.id


DOTTED_I = str.maketrans(
    "İ", "i"
)  # `casefold` makes two characters of it; ı stays, «sınır» is another word than «sinir»


def same_words(text: str) -> str:
    """The text without what does not make it another one: case, blanks, and how accents are encoded."""
    plain = text if text.isascii() else unicodedata.normalize("NFC", text).translate(DOTTED_I)
    return " ".join(plain.casefold().split())


def digest_of_texts(newer: Memory, older: Memory) -> str:
    texts = f"{same_words(newer.text)}\n{same_words(older.text)}"
    return blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


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


def journaled(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Those fields that an undo compares."""
    compared = dict(fields)
    for name in NOT_JOURNALED:
        compared.pop(name, None)
    return compared


def missing_links(one: Sequence[Link], other: Sequence[Link]) -> list[Json]:
    here, there = by_target(one), by_target(other)
    common = [key for key, link in here.items() if there.get(key) == link]
    if common != [key for key, link in there.items() if here.get(key) == link]:
        common = []  # their order changed: all of them are recorded
    unchanged = set(common)
    return [{**link.to_dict(), POSITION: at} for at, (key, link) in enumerate(here.items()) if key not in unchanged]


def by_target(links: Iterable[Link]) -> dict[tuple[str, str], Link]:
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


def reverted(memory: Memory, before: Mapping[str, Json], after: Mapping[str, Json]) -> Memory:
    """The memory as it was before a change from `before` to `after`."""
    fields = {name: typed(name, value) for name, value in before.items() if name in JOURNALED and name != "links"}
    if "links" in before or "links" in after:
        fields["links"] = links_before(memory.links, json_list(before.get("links")), json_list(after.get("links")))
    return replace(memory, **fields)  # type: ignore[arg-type]


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


def clamp(value: float) -> float:
    """The nearest number that an importance or a confidence may be, from 0 to 1."""
    return min(1.0, max(0.0, value))


def without_none(**fields: Any) -> dict[str, Any]:
    """Those that a caller gave: None means that a field was left out."""
    return {name: value for name, value in fields.items() if value is not None}


def without_link_data(fields: Mapping[str, Json], targets: Container[str]) -> dict[str, Json]:
    """The fields of a memory, or an image of them, without the data of the links to these memories, except what is true
    or false: that tells nothing, and a succession needs it to be taken back."""
    links: list[Json] = [
        with_bare_data(link) if isinstance(link, dict) and link.get("to") in targets else link
        for link in json_list(fields.get("links"))
    ]
    return {**fields, "links": links} if links else dict(fields)


def with_bare_data(link: Mapping[str, Json]) -> dict[str, Json]:
    bare, data = {name: value for name, value in link.items() if name != "data"}, link.get("data")
    kept = boolean_values(data) if isinstance(data, dict) else {}
    return {**bare, "data": kept} if kept else bare


def boolean_values(data: Mapping[str, Json]) -> dict[str, Json]:
    """What is true or false."""
    return {name: value for name, value in data.items() if isinstance(value, bool)}


def json_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
