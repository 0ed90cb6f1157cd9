"""nacre decay, audit and fade: how memories lose strength and confidence."""

from __future__ import annotations

import shutil
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.prune import engine_of, min_score_option, model_options, score_columns, score_record
from nacre.cli.lookup import find_memories
from nacre.cli.options import (
    Number,
    PlanOptions,
    command,
    confidence_range,
    confirm_plan,
    form_option,
    limit_option,
    plan_options,
    positive_days_option,
    shares_option,
    show_plan,
)
from nacre.cli.ui.columns import ROOMY, excerpt, headline, short
from nacre.cli.ui.output import DATA, Column, print_data, print_items, put, say, writes_unicode
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.model import Memory
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.decay import DecayEngine, FadedConfidence
    from nacre.lifecycle.decay_curves import Curve
    from nacre.memory_store import MemoryStore

EXAMPLES = (0.9, 0.5, 0.1)


@dataclass(frozen=True, slots=True)
class Plot:
    """`fates` say of each curve why it may fall as low as it likes; empty where it may not."""

    engine: DecayEngine
    curves: list[Curve]
    fates: list[str]


@click.group("decay")
def decay_command() -> None:
    """Show how memories decay. `nacre prune` moves what has decayed to the trash.

    \b
      nacre decay scores --weakest    what would go first
      nacre decay plot                how fast, by importance
      nacre decay plot 3f2a 77b0      of these two
    """


@command("scores", decay_command)
@limit_option(20)
@click.option("--weakest", is_flag=True, help="The weakest first.")
@model_options
@form_option()
def scores(
    cli: CliContext, limit: int, weakest: bool, model: str | None, decay_rate: float | None, form: str | None
) -> None:
    """List the decay scores of memories, the strongest first."""
    now = cli.now()
    with cli.open() as store:
        ranked = engine_of(store, store.settings, model, decay_rate).score_all(now)
        most = limit or None
        rows = list(reversed(deque(ranked, maxlen=most)) if weakest else islice(ranked, most))
        total = store.count()
    print_items(rows, score_columns(now), score_record, form, "No memories here; `nacre remember TEXT` stores one.")
    if 0 < len(rows) < total and sys.stdout.isatty():
        say(f"{len(rows)} of {total:,}; -n 0 lists them all.")


@command("plot", decay_command)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@model_options
@min_score_option
@click.option(
    "--days", type=Number(0, min_open=True), metavar="N", default=90.0, show_default=True, help="How far ahead."
)
@click.option(
    "--importance",
    multiple=True,
    callback=shares_option,
    metavar="0-1[,0-1]",
    help="Without an ID: examples of this importance. 0.9,0.5,0.1, unless given.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write an .svg or .png."
)
@form_option("text", "json")
def plot(
    cli: CliContext,
    ids: tuple[str, ...],
    model: str | None,
    decay_rate: float | None,
    min_score: float | None,
    days: float,
    importance: tuple[float, ...],
    output: Path | None,
    form: str | None,
) -> None:
    """Plot how memories will fade if nobody uses them: those with these IDs, or examples."""
    if ids and importance:
        raise click.UsageError("--importance is for examples, without an ID; several are written 0.9,0.5,0.1.")
    now = cli.now()
    with cli.open() as store:
        engine = engine_of(store, store.settings, model, decay_rate, min_score)
        memories = find_memories(store, ids) if ids else [
            Memory("", f"importance {share:g}", importance=share, created_at=now, last_accessed=now)
            for share in importance or EXAMPLES
        ]  # fmt: skip
        rows = make_plot(engine, memories, now, days)
    if output is not None:
        from nacre.lifecycle.decay_curves import write

        write(rows.curves, output, floor=engine.min_score)
        say(f"Drew {count_of(len(rows.curves), 'curve', 'curves')} to {output}.")
    elif form in DATA:
        print_data(plot_record(rows, days), form)
    else:
        draw_plot(rows)


def make_plot(engine: DecayEngine, memories: list[Memory], now: float, days: float) -> Plot:
    from nacre.lifecycle.decay import NO_SUPPORT
    from nacre.lifecycle.decay_curves import curve

    edges = engine.store.edges(into=[memory.id for memory in memories])
    support = Counter(edge.target for edge in edges if edge.rel not in NO_SUPPORT)
    curves = [
        curve(
            memory,
            now,
            days=days,
            model=engine.model,
            decay_rate=engine.decay_rate,
            support=support[memory.id],
            label=f"{short(memory.id)} {excerpt(memory)}".strip(),
        )
        for memory in memories
    ]
    return Plot(engine, curves, [protection(engine, memory, memory.id in support) for memory in memories])


def protection(engine: DecayEngine, memory: Memory, linked: bool) -> str:
    if memory.pinned:
        return "pinned: stays"
    if memory.type in engine.protect_types:
        return f"{memory.type}: stays"
    return "linked to: stays" if linked and engine.protect_linked else ""


def draw_plot(rows: Plot) -> None:
    from nacre.cli.ui.charts import plain_plot, plot_legend, plot_lines

    size, floor = shutil.get_terminal_size(), rows.engine.min_score
    lines = [
        *plot_lines(rows.curves, floor, columns=size.columns, rows=size.lines),
        *plot_legend(rows.curves, rows.fates, floor, columns=size.columns),
    ]
    put("\n".join(lines if writes_unicode() else map(plain_plot, lines)))


def plot_record(rows: Plot, days: float) -> dict[str, object]:
    return {
        "model": rows.engine.model,
        "decay_rate": rows.engine.decay_rate,
        "min_score": rows.engine.min_score,
        "days": days,
        "curves": [
            {
                "label": each.label,
                "stays": fate,
                "points": [[round(day, 3), round(score, 6)] for day, score in each.points],
            }
            for each, fate in zip(rows.curves, rows.fates, strict=True)
        ],
    }


@dataclass(frozen=True, slots=True)
class AuditRow:
    """`worth` is what its confidence has faded to; None where nobody asked."""

    memory: Memory
    worth: float | None


@command("audit")
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
@limit_option(20)
@form_option()
def audit_command(
    cli: CliContext,
    confidence: tuple[float, float],
    source: str | None,
    unvalidated: bool,
    fade: bool,
    limit: int,
    form: str | None,
) -> None:
    """List memories by confidence and source, the oldest first.

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
        rows = list(audit_rows(store, first[: limit or None], cli.now(), fade=fade))
    print_items(
        rows,
        audit_columns(cli.now()),
        lambda each: {**memory_record(each.memory), "faded_to": each.worth},
        form,
        "No memory matches.",
    )
    if len(rows) < len(first):
        say("There are more; -n 0 lists them all.")


def audit_rows(store: MemoryStore, memories: list[Memory], now: float, *, fade: bool) -> Iterator[AuditRow]:
    from nacre.lifecycle.decay import BELIEF_TYPES, ConfidenceDecay

    decay = ConfidenceDecay(store)
    for memory in memories:
        lasting = memory.pinned or memory.type not in BELIEF_TYPES
        worth = memory.confidence if lasting else decay.current_confidence(memory, now)
        yield AuditRow(memory, worth if fade else None)


def audit_columns(now: float) -> list[Column[AuditRow]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
        Column("confidence", lambda each: f"{each.memory.confidence:g}", confidence_text, right=True),
        Column("faded to", lambda each: "" if each.worth is None else f"{each.worth:.4f}", only="tsv"),
        Column("source", lambda each: each.memory.source, lambda each: each.memory.source or "(none)"),
        Column("validated", lambda each: validated(each.memory), lambda each: validated(each.memory, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]


def confidence_text(each: AuditRow) -> str:
    return f"{each.memory.confidence:.2f}" + ("" if each.worth is None else f" → {each.worth:.2f}")


def validated(memory: Memory, now: float | None = None) -> str:
    """When it was last confirmed: the time, or with `now` how long ago that is."""
    at = memory.last_validated_at
    if at is None:
        return "" if now is None else "never"
    return iso(at) if now is None else age(at, now)


@command("fade")
@click.option(
    "--half-life",
    callback=positive_days_option,
    default="365d",
    show_default=True,
    metavar="LENGTH",
    help="The time in which confidence that nobody renews is halved.",
)
@plan_options
def fade_command(cli: CliContext, half_life: float, **asked: Unpack[PlanOptions]) -> None:
    """List memories that nobody confirmed for long, and with --apply lower their confidence.

    Only what is held to be true fades so: semantic, procedural and feedback memories that are not pinned. `nacre
    validate` renews one.
    """
    from nacre.lifecycle.decay import ConfidenceDecay

    now = cli.now()
    with cli.open() as store:
        decay = ConfidenceDecay(store, half_life)
        plan = sorted(decay.plan(now), key=lambda each: each.confidence)

        def record(each: FadedConfidence) -> dict[str, object]:
            return {**memory_record(each.memory), "faded_to": round(each.confidence, 4)}

        show_plan(plan, fade_columns(now), record, asked, "Nothing is noticeably less certain.")
        if plan and confirm_plan(asked, f"{count_of(len(plan), 'memory is', 'memories are')} less certain now"):
            done = decay.apply(plan, now, why=asked["why"])
            say(f"Lowered the confidence of {count_of(done)}; `nacre undo --any` takes it back.")


def fade_columns(now: float) -> list[Column[FadedConfidence]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
        Column("confidence", lambda each: f"{each.memory.confidence:g}", only="tsv"),
        Column("faded to", lambda each: f"{each.confidence:.4f}", only="tsv"),
        Column(
            "confidence", lambda each: f"{each.memory.confidence:.2f} → {each.confidence:.2f}", right=True, only="table"
        ),
        Column("confirmed", lambda each: validated(each.memory), lambda each: validated(each.memory, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]
