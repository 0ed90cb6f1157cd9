"""What the SQL backends keep in their tables: columns, packed lists and stems, names, links and counters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

from nacre.model import Condition, JournalFilter, Link, Memory
from nacre.model.filter import SCALAR_FIELDS, Scalar, Value, scalar
from nacre.model.journal import MEMORY
from nacre.model.memory import FIELDS, LISTS, Json, size, week_of, without_link_data
from nacre.protocols import Words

SQLValue: TypeAlias = str | bytes | int | float | None
Stems: TypeAlias = tuple[str, ...]  # a line of stems for each field
IDENTITY = ("id", "last_accessed", "access_count")  # columns of `memory`
CONTENT = ("text", "title", "role")
SCALARS = tuple(name for name in SCALAR_FIELDS if name not in (*IDENTITY, *CONTENT, "space"))  # columns of `version`
scalars_of, PINNED = attrgetter(*SCALARS), SCALARS.index("pinned")
contents_of = attrgetter(*CONTENT)
QUESTION_MARKS = ("?", "？")
RECORD = (*IDENTITY, *CONTENT, *SCALARS, "version", "lists")  # the columns of a memory, of all tables together
WHOLE_NUMBERS = ("access_count", "polarity", "position", "version")
# Where its fields are among the values of a record with its lists after them.
PLACES = {name: place for place, name in enumerate((*RECORD, *LISTS, "metadata", "links", "space"))}
by_field = itemgetter(*(PLACES[name] for name in FIELDS))


def table_of(field: str) -> str:
    """The table that has this column of a memory."""
    return "memory" if field in IDENTITY else "content" if field in CONTENT else "version"


NO_LISTS = "{}"  # most memories have none
ONLY_TEXT = frozenset((str,))


class DamagedRecord(ValueError):
    """A row that no program of ours wrote so."""


def pack_lists(memory: Memory) -> str:
    lists: dict[str, object] = {name: value for name in LISTS if (value := getattr(memory, name))}
    if memory.metadata:
        lists["metadata"] = memory.metadata
    if memory.links:
        lists["links"] = [link.to_dict() for link in memory.links]
    return as_json(lists) if lists else NO_LISTS


as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
decode_json = json.JSONDecoder().raw_decode


def from_json(text: str) -> Any:
    """As `json.loads`, in half the time for the short texts that `as_json` writes: no blanks are around them."""
    try:
        value, end = decode_json(text)
    except ValueError:
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


def put_lists(packed: str, values: list[object], places: Mapping[str, int]) -> None:
    """Puts them among the other values of a record, where they have no value yet. Raises `DamagedRecord`."""
    for name, value in lists_of(packed).items():
        values[places[name]] = value


def unpack_lists(packed: str, fields: dict[str, object]) -> None:
    try:
        lists = from_json(packed)
        for name, value in lists.items():
            if name == "links":
                fields[name] = tuple(Link.from_dict(link) for link in value)
            elif name in LISTS and ONLY_TEXT.issuperset(map(type, value)):
                fields[name] = tuple(value)
            elif name == "metadata" and isinstance(value, dict):
                fields[name] = value
            else:
                raise DamagedRecord(f"its field {name} has a value that no memory can have")
    except DamagedRecord:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedRecord("its lists cannot be read") from error


def memory_of(record: Sequence[Any], space: str) -> Memory:
    """Of the columns `RECORD`."""
    values: list[object] = [*record, (), (), (), (), {}, (), space]
    put_lists(str(record[-1]), values, PLACES)
    return Memory.from_values(by_field(values))


def record_of(memory: Memory) -> tuple[Any, ...]:
    """The columns `RECORD`, with the kinds of numbers that a typed column has."""
    values = (memory.id, memory.last_accessed, memory.access_count, memory.text, memory.title, memory.role,
              *scalars_of(memory), memory.version, pack_lists(memory))  # fmt: skip
    return tuple(
        float(value) if type(value) is int and name not in WHOLE_NUMBERS else value
        for name, value in zip(RECORD, values, strict=True)
    )


def lists_of(packed: str) -> dict[str, object]:
    """The lists of a record, by field. Raises `DamagedRecord`."""
    fields: dict[str, object] = {}
    if packed != NO_LISTS:
        unpack_lists(packed, fields)
    return fields


def packed_without_link_data(packed: str | None, target: str) -> str | None:
    """Lists, or an image, in JSON, without the data of the links to a memory. What cannot be read stays as it is."""
    try:
        fields = None if packed is None else from_json(packed)
    except (ValueError, TypeError, RecursionError):
        return packed
    return as_json(without_link_data(fields, (target,))) if isinstance(fields, dict) else packed


def image_text(image: Mapping[str, Json] | None, kind: str, space: str) -> str | None:
    """An image of an entry in JSON. The name of its space is left out, and filled in when it is read: the space may be
    renamed."""
    if image is None:
        return None
    if kind == MEMORY and image.get("space") == space:
        image = {**image, "space": None}
    return as_json(dict(image))


def image_of(text: str | None, kind: str, space: str) -> dict[str, Json] | None:
    """With the name that its space has by now: see `image_text`."""
    if text is None:
        return None
    image: dict[str, Json] = from_json(text)
    if kind == MEMORY and "space" in image and image["space"] is None:
        return {**image, "space": space}
    return image


EMBEDDER_KEYS = ("embedder", "dimensions", "probe", "measured")  # of the table `meta`


def sql_values(value: Value) -> list[SQLValue]:
    return [plain(item) for item in value] if isinstance(value, tuple) else [plain(value)]


def plain(value: Value | Scalar) -> SQLValue:
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]


TERM = "term"  # the field of `counter` under which stems are counted


def packed_stems(lines: Iterable[str]) -> str:
    return joined_lines(clean_lines(*lines))


def joined_lines(lines: Stems) -> str:
    """As `packed_stems`, of lines that are clean already, as those of `Indexed` are: they are many in an import."""
    return "\n".join(lines)


def clean_lines(*lines: str) -> Stems:
    """As they are stored, with single blanks."""
    return tuple(" ".join(line.split()) for line in lines)


class Indexed(NamedTuple):
    """What is stored of a memory's words: `content` has the lines of its text, `names` those of tags and entities."""

    content: Stems
    names: Stems
    distinct: frozenset[str]
    length: int


def indexed(words: Words) -> Indexed:
    """Each line is taken apart once: this is done for every memory of an import."""
    split = [line.split() for line in (words.title, words.text, words.role, words.tags, words.entities)]
    title, text, role, tags, entities = map(" ".join, split)
    return Indexed((title, text, role), (tags, entities), frozenset(chain.from_iterable(split)), sum(map(len, split)))


def unpacked_stems(stored: object, fields: int) -> Stems:
    lines = str(stored).split("\n") if stored else []
    return (*lines, *("" for _ in range(fields - len(lines))))


def distinct_stems(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


Target = tuple[str, str]  # of a link: the id that it leads to and its relation
Kept = tuple[float, str]  # of a link: its weight and its kind
Names = dict[tuple[str, str], int]
Counts = Counter[tuple[SQLValue, ...]]
TOTAL = ""  # the field under which memories themselves are counted
EXPERIENCE_TYPE = "metadata.experience_type"
COUNTED_METADATA = (EXPERIENCE_TYPE, "metadata.compressed")  # keys under which experiences are counted
SIZE = "size"  # the field under which the bytes of experiences are summed, by their type
SUPERSEDED = "*"  # after the status of a superseded memory
STEM_FIELDS = ("tag_stems", "entity_stems")


def same_content(one: Memory, other: Memory) -> bool:
    return bool(contents_of(one) == contents_of(other))


def content_lines(stems: Words) -> Stems:
    return clean_lines(stems.title, stems.text, stems.role)


def names_of(memory: Memory, stems: Stems) -> Names:
    """The rows of `label` that a memory has, with how often each name is in its list."""
    return listed_names({field: getattr(memory, field) for field in LISTS}, stems)


def listed_names(lists: Mapping[str, Sequence[str]], stems: Stems) -> Names:
    times: Names = {}
    for field in LISTS:
        for name in lists.get(field, ()):
            times[field, name] = times.get((field, name), 0) + 1
    for field, line in zip(STEM_FIELDS, stems, strict=True):
        for name in line.split():
            times[field, name] = times.get((field, name), 0) + 1
    return times


def links_of(memory: Memory) -> dict[Target, Kept]:
    return {(link.to, link.rel): (link.weight, link.kind) for link in memory.links}


def counts_of(space: int, memory: Memory) -> Counts:
    """What the memory adds to the rows of `counter`; one that expires counts in none."""
    counts: Counts = Counter()
    add_counts(counts, space, memory)
    return counts


def add_counts(counts: Counts, space: int, memory: Memory, times: int = 1) -> None:
    """Adds what `counts_of` says, so many times."""
    if memory.expires_at is not None:
        return
    add_field_counts(counts, space, counted_of(memory), {field: getattr(memory, field) for field in LISTS}, times)
    for field in COUNTED_METADATA if memory.metadata else ():
        status, value = counted_status(memory.status, memory.superseded_by), plain(scalar(memory, field))
        if countable(value):
            counts[space, field, status, value] += times
            if field == EXPERIENCE_TYPE:
                counts[space, SIZE, status, value] += times * size(memory)


COUNTED = ("status", "superseded_by", "type", "source", "created_at")
counted_of, counted_in_record = attrgetter(*COUNTED), itemgetter(*(PLACES[name] for name in COUNTED))


def add_field_counts(
    counts: Counts, space: int, values: tuple[Any, ...], lists: Mapping[str, Sequence[str]], times: int
) -> None:
    """What a memory with these values of `COUNTED` adds, without what its metadata add."""
    status, superseded_by, type, source, created_at = values
    status = counted_status(status, superseded_by)
    keys: list[tuple[SQLValue, ...]] = [
        (space, TOTAL, status, ""),
        (space, "type", status, type),
        (space, "source", status, source),
        (space, "week", status, week_of(created_at)),
    ]
    for field in LISTS:
        if names := lists.get(field):
            keys += [(space, field, status, name) for name in (names if len(names) == 1 else dict.fromkeys(names))]
    known = counts.get
    for key in keys:
        counts[key] = known(key, 0) + times


def counted_status(status: str, superseded_by: str) -> str:
    return status + SUPERSEDED if superseded_by else status


EXPIRES_AT = PLACES["expires_at"]


def add_record_counts(
    counts: Counts, space: int, record: tuple[Any, ...], lists: Mapping[str, Any], times: int = 1
) -> None:
    """As `add_counts`, of the columns `RECORD` and the lists in them."""
    if "metadata" in lists:
        add_counts(counts, space, memory_of(record, ""), times)
    elif record[EXPIRES_AT] is None:
        add_field_counts(counts, space, counted_in_record(record), lists, times)


def countable(value: SQLValue) -> bool:
    """A name or true, and no number: it may be too large for a column."""
    return isinstance(value, str) or value == 1


def answered_by_counters(condition: Condition) -> bool:
    """Whether the counters of its names can be summed: no memory is counted under two of these names."""
    names = sql_values(condition.value)
    if condition.field in COUNTED_METADATA:
        return condition.op in ("eq", "in") and all(map(countable, names))
    return condition.field in LISTS and condition.op in ("any", "all") and len(names) == 1


def ids_asked_for(where: JournalFilter) -> tuple[str, ...] | None:
    """The memories that both conditions on them admit; None where there is no condition."""
    if where.memory_id is None:
        return where.memory_ids
    return (where.memory_id,) if where.memory_ids is None or where.memory_id in where.memory_ids else ()


def answered_by_status(condition: Condition) -> bool:
    """Whether the counted status says if a memory meets it."""
    if condition.field == "superseded_by":
        return (condition.op in ("eq", "ne") and condition.value == "") or condition.op == "unset"
    if condition.field == "expires_at":
        return condition.op == "gt_or_unset"
    return condition.field == "status"


def has_status(counted_as: str, conditions: Sequence[Condition]) -> bool:
    superseded = "x" if counted_as.endswith(SUPERSEDED) else ""
    example = Memory(id="", text="", status=counted_as.removesuffix(SUPERSEDED), superseded_by=superseded)
    return all(condition.admits(example) for condition in conditions)
