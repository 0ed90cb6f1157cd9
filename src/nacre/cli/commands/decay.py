"""nacre decay, audit, fade, prune and retain: how memories lose strength, and what becomes of weak ones."""

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
from nacre.cli.errors import UsageProblem
from nacre.cli.lookup import find_memories
from nacre.cli.options import (
    F,
    Number,
    PlanOptions,
    combine,
    command,
    confidence_range,
    confirm_plan,
    days_option,
    form_option,
    limit_option,
    plan_options,
    positive_days_option,
    shares_option,
    show_plan,
)
from nacre.cli.ui.output import DATA, Column, Form, print_data, print_items, put, say, writes_unicode
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import ROOMY, excerpt, headline, memory_record, short
from nacre.cli.ui.times import age
from nacre.errors import UnknownName
from nacre.lifecycle.decay import MODELS
from nacre.lifecycle.jobs import listed
from nacre.model import Memory
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.decay import DecayEngine, FadedConfidence
    from nacre.lifecycle.decay_curves import Curve
    from nacre.lifecycle.retention import Bounds, Leaving, Retention
    from nacre.memory_store import MemoryStore
    from nacre.settings import Settings

Scored = tuple[Memory, float]


def model_options(command: F) -> F:
    return combine(
        click.option(
            "--model",
            type=click.Choice(list(MODELS)),
            help="simple: importance and time; strength: also uses, validation and links. The setting decay_model.",
        ),
        click.option(
            "--decay-rate",
            type=Number(min=0),
            metavar="RATE",
            help="How fast; in the simple model 0.1 halves in 7 days. The setting decay_rate.",
        ),
    )(command)


min_score_option = click.option(
    "--min-score", type=Number(0, 1), metavar="0-1", help="What scores less is pruned. The setting decay_min_score."
)
protect_option = click.option(
    "--protect-type", "protected", metavar="TYPE", multiple=True,
    help="Never of this type; repeat for others, '' for none. The setting decay_protect.",
)  # fmt: skip


def engine_of(
    store: MemoryStore,
    settings: Settings,
    model: str | None,
    decay_rate: float | None,
    min_score: float | None = None,
    protected: tuple[str, ...] = (),
) -> DecayEngine:
    """What is not given, the settings say."""
    from nacre.lifecycle.decay import DecayEngine

    return DecayEngine(
        store,
        settings.decay_rate if decay_rate is None else decay_rate,
        settings.decay_min_score if min_score is None else min_score,
        protected_types(store, settings, protected),
        model or settings.decay_model,
    )


def protected_types(store: MemoryStore, settings: Settings, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return listed(settings.decay_protect)
    return known_types(store, tuple(name for name in names if name))


def known_types(store: MemoryStore, names: tuple[str, ...]) -> tuple[str, ...]:
    known = store.types()
    for name in names:
        if name not in known:
            raise UnknownName("memory type", name, known)
    return names


def score_columns(now: float) -> list[Column[Scored]]:
    return [
        Column("id", lambda each: each[0].id, lambda each: short(each[0].id), style="cyan"),
        Column("score", lambda each: f"{each[1]:.4f}", lambda each: f"{each[1]:.3f}", right=True),
        Column("type", lambda each: each[0].type, style="magenta", least_width=ROOMY),
        Column("imp", lambda each: f"{each[0].importance:g}", lambda each: f"{each[0].importance:.2f}", right=True),
        Column("last used", lambda each: iso(each[0].last_accessed), lambda each: age(each[0].last_accessed, now)),
        Column("uses", lambda each: str(each[0].access_count), right=True, least_width=ROOMY),
        Column("text", lambda each: each[0].text, lambda each: headline(each[0]), wide=True),
    ]


def score_record(each: Scored) -> dict[str, object]:
    memory, score = each
    return {**memory_record(memory), "score": round(score, 6)}


@command("prune")
@model_options
@min_score_option
@protect_option
@plan_options
def prune_command(
    cli: CliContext,
    model: str | None,
    decay_rate: float | None,
    min_score: float | None,
    protected: tuple[str, ...],
    **asked: Unpack[PlanOptions],
) -> None:
    """List what has decayed, the weakest first, and with --apply move it to the trash.

    Pinned memories, those of protected types and those that links lead to always stay. `nacre decay plot` shows how
    fast memories decay.
    """
    now = cli.now()
    with cli.open() as store:
        engine = engine_of(store, store.settings, model, decay_rate, min_score, protected)
        plan = engine.plan(now)
        scores = {each.memory.id: each.score for each in plan}
        scored = [(memory, scores[memory.id]) for memory in store.get_many(list(scores))]
        show_plan(scored, score_columns(now), score_record, asked, f"Nothing scores less than {engine.min_score:g}.")
        would = f"{count_of(len(plan), 'memory scores', 'memories score')} less than {engine.min_score:g}"
        question = f"Move {count_of(len(plan))} to the trash? `nacre undo` can bring all of it back."
        if plan and confirm_plan(asked, would, question):
            report_moved(len(engine.apply(plan, why=asked["why"])), len(plan), " to the trash")


def report_moved(moved: int, planned: int, where: str = "") -> None:
    say(f"Moved {count_of(moved)}{where}; `nacre undo` takes it back.")
    if moved < planned:
        say(f"{count_of(planned - moved)} changed meanwhile, and stayed.")


@command("retain")
@click.option(
    "--max-days", type=Number(min=0), metavar="N", help="Keep none that is older. The setting retain_max_days."
)
@click.option(
    "--max-count", type=click.IntRange(min=0), metavar="N", help="Keep so many. The setting retain_max_count."
)
@click.option("--max-mb", type=Number(min=0), metavar="N", help="Keep so much text. The setting retain_max_mb.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Bounds for this type alone; repeat for others.")
@protect_option
@click.option(
    "--outcome", type=click.Choice(["archive", "trash"]), help="Where the rest goes. The setting retain_outcome."
)
@click.option(
    "--compress-older-than",
    callback=days_option,
    metavar="LENGTH",
    help="Also compress long texts unused so long: 90d.",
)
@plan_options
def retain_command(
    cli: CliContext,
    max_days: float | None,
    max_count: int | None,
    max_mb: float | None,
    types: tuple[str, ...],
    protected: tuple[str, ...],
    outcome: str | None,
    compress_older_than: float | None,
    **asked: Unpack[PlanOptions],
) -> None:
    """List what exceeds the limits or has expired, and with --apply move it to the archive or the trash.

    A bound of 0 is none. Of what is too many or too much the least used goes first; what has expired goes to the trash.
    Pinned memories and protected types count, and stay.
    """
    from nacre.lifecycle.retention import Retention, RetentionPolicy

    settings, now = cli.space_settings(), cli.now()
    with cli.open() as store:
        shielded = protected_types(store, settings, protected)
        for name in known_types(store, types):
            if name in shielded:
                raise UsageProblem(f"{name!r} is protected and never put away; --protect-type '' protects none.")
        bounds = bounds_of(settings, max_days, max_count, max_mb, outcome)
        each_type = dict.fromkeys(types, bounds)
        policy = RetentionPolicy(types=each_type, protect_types=shielded)
        retention = Retention(store, policy if types else RetentionPolicy(bounds, protect_types=shielded))
        plan = retention.plan(now)
        columns: list[Column[Leaving]] = [
            Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
            Column("to", lambda each: each.outcome),
            Column("why", lambda each: each.why),
            Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
            Column("created", lambda each: iso(each.memory.created_at), lambda each: age(each.memory.created_at, now)),
            Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
        ]

        def record(each: Leaving) -> dict[str, object]:
            return {**memory_record(each.memory), "outcome": each.outcome, "why": each.why}

        show_plan(plan, columns, record, asked)
        apply_retention(retention, plan, bounds, asked)
        if compress_older_than is not None:
            compress(store, compress_older_than, now, applied=asked["applied"])


def bounds_of(
    settings: Settings, max_days: float | None, max_count: int | None, max_mb: float | None, outcome: str | None
) -> Bounds:
    from nacre.lifecycle.retention import Bounds

    age_days = settings.retain_max_days if max_days is None else max_days
    count = int(settings.retain_max_count if max_count is None else max_count)
    megabytes = settings.retain_max_mb if max_mb is None else max_mb
    return Bounds(age_days or None, count or None, megabytes or None, outcome or settings.retain_outcome)


def apply_retention(retention: Retention, plan: tuple[Leaving, ...], bounds: Bounds, asked: PlanOptions) -> None:
    if not plan:
        unbound = bounds.max_age_days is bounds.max_count is bounds.max_megabytes is None
        say("Nothing has expired, and no bound is set." if unbound else "Everything is within bounds.")
        return
    counts = Counter(each.outcome for each in plan)
    places = " and ".join(f"{count_of(number)} to the {place}" for place, number in counts.items())
    question = f"Move {places}? `nacre undo` can bring all of it back."
    if confirm_plan(asked, f"{places} would go", question):
        report_moved(len(retention.apply(plan, why=asked["why"])), len(plan))


def compress(store: MemoryStore, unused: float, now: float, *, applied: bool) -> None:
    from nacre.lifecycle.retention import compress_old

    if applied:
        packed = compress_old(store, unused, now)
        say(f"Compressed {count_of(packed, 'long text', 'long texts')}; not a word of them changed.")
    else:
        say(f"Long texts unused for {unused:g} days would be compressed, not changed.")


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
def scores(cli: CliContext, limit: int, weakest: bool, model: str | None, decay_rate: float | None, form: Form) -> None:
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
    form: Form,
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
    form: Form,
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

    def record(row: AuditRow) -> dict[str, object]:
        return {**memory_record(row.memory), "faded_to": row.worth}

    print_items(rows, audit_columns(cli.now()), record, form, "No memory matches.")
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
            say(f"Lowered the confidence of {count_of(done)}; `nacre undo` takes it back.")


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
