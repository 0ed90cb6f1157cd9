"""Sentences about stored memories that are wrong without being damaged: numbers out of range, altered texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from shlex import quote
from typing import Any

from nacre.model import Memory
from nacre.model.validate import LINK_WEIGHT, RANGES
from nacre.storage.tables import table_of

OUT_OF_RANGE = " OR ".join(
    f"NOT {table_of(name)}.{name} BETWEEN {low} AND {high}" for name, (low, high) in RANGES.items()
)
WEIGHT_OUT_OF_RANGE = f"NOT link.weight BETWEEN {LINK_WEIGHT[0]} AND {LINK_WEIGHT[1]}"
ranged_of = attrgetter(*RANGES)
MOST_NAMED = 5  # memories with such numbers, each in a sentence


def range_notes(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Sentences about memories with a number that nobody can give to one: the columns are their space, their id and
    those of `RANGES`. Where all of these are right, the weight of a link is not."""
    for space, id, *values in rows[:MOST_NAMED]:
        beyond = (each for each in zip(RANGES, values, strict=True) if not is_in_range(*each))
        name, value = next(beyond, ("links", None))
        low, high = RANGES.get(name, LINK_WEIGHT)
        has = f"a link with a weight that is not from {low} to {high:,}"
        if value is not None:
            has = f"the {name} {value:g}, which must be from {low} to {high:,}"
        edit = f"`nacre --space {quote(space)} edit {quote(id)} --{name} NUMBER`"
        if name not in ("importance", "polarity"):  # the command has no option for the others
            edit = f"in Python, `edit({id!r}, {name}=…)` of a store in that space"
        yield f"The memory {id} (space {space}) has {has}; {edit} corrects it."
    if len(rows) > MOST_NAMED:
        yield f"{len(rows) - MOST_NAMED:,} more memories have such numbers; they are named once these are corrected."


ALTERED = "and its digest disagree: bytes of the file have changed"


def altered_notes(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Sentences about memories, by space and id, whose texts are not what was cut into chunks."""
    for space, id in names[:MOST_NAMED]:
        edit = f"nacre --space {quote(space)} edit {quote(id)}"
        remedy = f"`{edit}` corrects it, and `nacre store reindex` confirms one that is right"
        yield f"The text of {id} (space {space}) {ALTERED}. Compare it with a backup; {remedy}."
    if len(names) > MOST_NAMED:
        yield f"{len(names) - MOST_NAMED:,} more texts disagree with their digests; they are named after these."


def is_in_range(name: str, value: float | None) -> bool:
    low, high = RANGES[name]
    return value is None or low <= value <= high


def has_right_numbers(memory: Memory) -> bool:
    low, high = LINK_WEIGHT
    return all(map(is_in_range, RANGES, ranged_of(memory))) and all(low <= link.weight <= high for link in memory.links)
