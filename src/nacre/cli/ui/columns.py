"""The columns that lists of memories and hits have."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from nacre.cli.ui.output import Column, shortened
from nacre.cli.ui.times import age
from nacre.model import Hit, Memory
from nacre.model.instants import iso

T = TypeVar("T")

SHORT = 8  # characters of an id that a person reads and types
LONGEST_SHOWN = 400  # of a text, in a table; `nacre show` has all of it
INDENT = 2 + SHORT + 2  # before the text of one of them
MOST_OTHERS = 5  # that a row names beside its memory
ROOMY = 100  # columns of a terminal that has place for the tags too


def short(id: str) -> str:
    return id[:SHORT]


def headline(memory: Memory) -> str:
    return shortened(f"{memory.title}: {memory.text}" if memory.title else memory.text, LONGEST_SHOWN)


def excerpt(memory: Memory) -> str:
    return shortened(headline(memory))


def group_text(first: Memory, others: Sequence[Memory], beside: int) -> str:
    """One memory, and below it those that it stands for, each on a line where `beside` characters are taken."""
    room = max(SHORT, shutil.get_terminal_size().columns - beside - INDENT)
    lines = [f"  {short(memory.id)}  {shortened(headline(memory), room)}" for memory in others[:MOST_OTHERS]]
    more = [f"  and {len(others) - MOST_OTHERS:,} more"] if len(others) > MOST_OTHERS else []
    return "\n".join([headline(first), *lines, *more])


def count_column(name: str, count: Callable[[T], int]) -> Column[T]:
    return Column(name, lambda each: str(count(each)), lambda each: f"{count(each):,}", right=True)


def memory_columns(of: Callable[[T], Memory], now: float, *, wraps: bool = False) -> list[Column[T]]:
    return [
        Column("id", lambda item: of(item).id, lambda item: short(of(item).id), style="cyan"),
        Column("type", lambda item: of(item).type, style="magenta"),
        Column("imp", lambda item: f"{of(item).importance:g}", lambda item: f"{of(item).importance:.2f}", right=True),
        Column("created", lambda item: iso(of(item).created_at), lambda item: age(of(item).created_at, now)),
        Column("tags", lambda item: ",".join(of(item).tags), lambda item: " ".join(of(item).tags), least_width=ROOMY),
        Column("text", lambda item: of(item).text, lambda item: headline(of(item)), wide=True, wraps=wraps),
    ]


def hit_columns(now: float, *, explain: bool) -> list[Column[Hit]]:
    columns: list[Column[Hit]] = memory_columns(lambda hit: hit.memory, now, wraps=True)
    id, *others, text = columns
    score: Column[Hit] = Column("score", lambda hit: f"{hit.score:.4f}", lambda hit: f"{hit.score:.2f}", right=True)
    why: Column[Hit] = Column("why", lambda hit: "; ".join(map(str, hit.why)), only="tsv")
    if not explain:
        return [id, score, *others, text]

    def with_reasons(hit: Hit) -> str:
        return "\n".join([headline(hit.memory), *(f"  {reason}" for reason in hit.why)])

    return [id, score, *others, replace(text, brief=with_reasons), why]
