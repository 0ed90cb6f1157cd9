"""nacre audit"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import confidence_range, form_option, global_options
from nacre.cli.ui.columns import ROOMY, headline, short
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.model import Memory
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


@dataclass(frozen=True, slots=True)
class Held:
    """`worth` is what its confidence has faded to; None where nobody asked."""

    memory: Memory
    worth: float | None


@click.command("audit")
@click.option(
    "--confidence",
    callback=confidence_range,
    default="0-1",
    metavar="RANGE",
    help="How firmly it is held: very-low … very-high, high- for that and more, or 0.2-0.6.",
)
@click.option("--source", metavar="NAME", help="On this evidence: inferred, hearsay, …")
@click.option("--unvalidated", is_flag=True, help="What nobody ever confirmed.")
@click.option("--fade", is_flag=True, help="Also what each confidence has faded to since anybody confirmed it.")
@click.option(
    "-n", "limit", type=click.IntRange(min=0), metavar="N", default=20, show_default=True, help="At most; 0 for all."
)
@form_option()
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    confidence: tuple[float, float],
    source: str | None,
    unvalidated: bool,
    fade: bool,
    limit: int,
    form: str | None,
) -> None:
    """List what is held how firmly, on what evidence, the oldest first.

    \b
      nacre audit --confidence high --source inferred
      nacre audit --confidence low --unvalidated
    """
    from nacre.lifecycle.decay import audit

    with cli.open() as store:
        least, most = confidence
        validated = False if unvalidated else None
        memories = audit(store, min_confidence=least, max_confidence=most, source=source, validated=validated)
        first = list(islice(memories, limit + 1 if limit else None))
        found = list(held(store, first[: limit or None], cli.now(), fade=fade))
    print_items(found, columns(cli.now()), record, form)
    if not found:
        say("Nothing is held so.")
    elif len(found) < len(first):
        say("There are more; -n 0 lists them all.")


def held(store: MemoryStore, memories: list[Memory], now: float, *, fade: bool) -> Iterator[Held]:
    from nacre.lifecycle.decay import BELIEF_TYPES, ConfidenceDecay

    decay = ConfidenceDecay(store)
    for memory in memories:
        lasting = memory.pinned or memory.type not in BELIEF_TYPES
        worth = memory.confidence if lasting else decay.now_worth(memory, now)
        yield Held(memory, worth if fade else None)


def columns(now: float) -> list[Column[Held]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column(
            "type", lambda each: each.memory.type, lambda each: each.memory.type, style="magenta", least_width=ROOMY
        ),
        Column("confidence", lambda each: f"{each.memory.confidence:g}", told, right=True),
        Column("faded to", lambda each: "" if each.worth is None else f"{each.worth:.4f}"),
        Column("source", lambda each: each.memory.source, lambda each: each.memory.source or "(none)"),
        Column("validated", lambda each: validated_at(each.memory), lambda each: validated(each.memory, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]


def told(each: Held) -> str:
    return f"{each.memory.confidence:.2f}" + ("" if each.worth is None else f" → {each.worth:.2f}")


def validated_at(memory: Memory) -> str:
    return "" if memory.last_validated_at is None else iso(memory.last_validated_at)


def validated(memory: Memory, now: float) -> str:
    return "never" if memory.last_validated_at is None else age(memory.last_validated_at, now)


def record(each: Held) -> dict[str, object]:
    return {**memory_record(each.memory), "faded_to": each.worth}
