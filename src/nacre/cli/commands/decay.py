"""nacre decay"""

from __future__ import annotations

import shutil
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.fading import Scored, engine_of, min_score_option, model_options, score_columns, score_record
from nacre.cli.lookup import find_memories
from nacre.cli.options import Number, form_option, global_options, shares_option
from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import DATA, print_data, print_items, put, say
from nacre.cli.ui.prompts import count_of
from nacre.model import Memory

if TYPE_CHECKING:
    from nacre.lifecycle.decay import DecayEngine
    from nacre.lifecycle.decay_curves import Curve

EXAMPLES = (0.9, 0.5, 0.1)


@dataclass(frozen=True, slots=True)
class Plot:
    """`fates` say of each curve why it may fall as low as it likes; empty where it may not."""

    engine: DecayEngine
    curves: list[Curve]
    fates: list[str]


@click.group("decay")
def command() -> None:
    """See how memories fade. `nacre prune` lets go of what has faded.

    \b
      nacre decay scores --weakest    what would go first
      nacre decay plot                how fast, by importance
      nacre decay plot 3f2a 77b0      of these two
    """


@command.command("scores")
@click.option(
    "-n", "limit", type=click.IntRange(min=0), metavar="N", default=20, show_default=True, help="At most; 0 for all."
)
@click.option("--weakest", is_flag=True, help="The weakest first.")
@model_options
@form_option()
@global_options
@click.pass_obj
def scores(
    cli: CliContext, limit: int, weakest: bool, model: str | None, decay_rate: float | None, form: str | None
) -> None:
    """List how strongly memories still stand, the strongest first."""
    now = cli.now()
    with cli.open() as store:
        ranked = engine_of(store, cli.settings(), model, decay_rate).score_all(now)
        found = last(ranked, limit or None) if weakest else list(islice(ranked, limit or None))
        total = store.count()
    print_items(found, score_columns(now), score_record, form)
    if not found:
        say("No memories here; `nacre remember TEXT` keeps one.")
    elif len(found) < total and sys.stdout.isatty():
        say(f"{len(found)} of {total:,}; -n 0 lists them all.")


def last(ranked: Iterator[Scored], limit: int | None) -> list[Scored]:
    return list(reversed(deque(ranked, maxlen=limit)))


@command.command("plot")
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
@global_options
@click.pass_obj
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
        engine = engine_of(store, cli.settings(), model, decay_rate, min_score)
        memories = find_memories(store, ids) if ids else [example(share, now) for share in importance or EXAMPLES]
        found = plotted(engine, memories, now, days)
    if output is not None:
        from nacre.lifecycle.decay_curves import write

        write(found.curves, output, floor=engine.min_score)
        say(f"Drew {count_of(len(found.curves), 'curve', 'curves')} to {output}.")
    elif form in DATA:
        print_data(record(found, days), form)
    else:
        draw(found)


def example(importance: float, now: float) -> Memory:
    return Memory("", f"importance {importance:g}", importance=importance, created_at=now, last_accessed=now)


def plotted(engine: DecayEngine, memories: list[Memory], now: float, days: float) -> Plot:
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
    return Plot(engine, curves, [fate(engine, memory, memory.id in support) for memory in memories])


def fate(engine: DecayEngine, memory: Memory, tied: bool) -> str:
    if memory.pinned:
        return "pinned: stays"
    if memory.type in engine.protect_types:
        return f"{memory.type}: stays"
    return "tied to: stays" if tied and engine.protect_linked else ""


def draw(found: Plot) -> None:
    from nacre.cli.ui.charts import plain_plot, plot_legend, plot_lines

    size, floor = shutil.get_terminal_size(), found.engine.min_score
    lines = [
        *plot_lines(found.curves, floor, columns=size.columns, rows=size.lines),
        *plot_legend(found.curves, found.fates, floor, columns=size.columns),
    ]
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    put("\n".join(map(plain_plot, lines) if plain else lines))


def record(found: Plot, days: float) -> dict[str, object]:
    return {
        "model": found.engine.model,
        "decay_rate": found.engine.decay_rate,
        "min_score": found.engine.min_score,
        "days": days,
        "curves": [
            {
                "label": each.label,
                "stays": fate,
                "points": [[round(day, 3), round(score, 6)] for day, score in each.points],
            }
            for each, fate in zip(found.curves, found.fates, strict=True)
        ],
    }
