"""nacre maintenance decay, audit, fade, prune and retain: how memories lose strength, and what becomes of weak ones."""

from __future__ import annotations

import math
import sys
from collections import Counter, deque
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.lookup import find_memories
from nacre.cli.options import (
    FirstByDefault,
    Number,
    PlanOptions,
    combine,
    command,
    confirm_plan,
    form_option,
    limit_option,
    option,
    plan_options,
    several_option,
    show_plan,
)
from nacre.cli.ui.output import Column, Form, print_items, print_table, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import ROOMY, excerpt, headline, marked_text, memory_record
from nacre.cli.ui.times import age
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.decay import BELIEF_TYPES, MODELS, NO_SUPPORT, ConfidenceDecay, DecayEngine, FadedConfidence, audit
from nacre.lifecycle.jobs import DECAY_FLOOR, DECAY_MODEL, listed
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.instants import iso
from nacre.model.levels import confidence_range
from nacre.model.memory import short_id
from nacre.settings import Settings

if TYPE_CHECKING:
    from nacre.lifecycle.decay import Curve
    from nacre.lifecycle.retention import Bounds, Leaving, Retention

Scored = tuple[Memory, float]


model_options = combine(
    option("--model", "simple: importance and time; strength: also uses, validation and links.", choices=MODELS),
    option("--decay-rate RATE", "How fast; in the simple model 0.1 halves in 7 days. The setting decay_rate."),
)


min_score_option = option("--min-score 0-1", "What scores less is pruned; 0.05 unless given.")
protect_option = several_option(
    "--protect-type TYPE",
    "Protect this type; repeat for others, '' protects none. The setting decay_protect.",
    to="protected",
)


class DecayOptions(TypedDict, total=False):
    """What is not given, the settings say."""

    model: str | None
    decay_rate: float | None
    min_score: float | None
    protected: tuple[str, ...] | None


class PruneOptions(DecayOptions, PlanOptions): ...


def engine_of(store: MemoryStore, options: DecayOptions) -> DecayEngine:
    settings, rate, least = store.settings, options.get("decay_rate"), options.get("min_score")
    return DecayEngine(
        store,
        settings.decay_rate if rate is None else rate,
        DECAY_FLOOR if least is None else least,
        protected_types(store, options.get("protected")),
        options.get("model") or DECAY_MODEL,
    )


def protected_types(store: MemoryStore, names: tuple[str, ...] | None) -> tuple[str, ...]:
    if not names:
        return listed(store.settings.decay_protect)
    return known_types(store, tuple(name for name in names if name))


def known_types(store: MemoryStore, names: tuple[str, ...]) -> tuple[str, ...]:
    known = store.types()
    for name in names:
        UnknownName.check("memory type", name, known)
    return names


def score_columns(now: float) -> list[Column[Scored]]:
    return [
        Column("id", lambda each: each[0].id, lambda each: short_id(each[0].id), style="cyan"),
        Column("score", lambda each: f"{each[1]:.4f}", lambda each: f"{each[1]:.3f}", right=True),
        Column("type", lambda each: each[0].type, style="magenta", least_width=ROOMY),
        Column("imp", lambda each: f"{each[0].importance:g}", lambda each: f"{each[0].importance:.2f}", right=True),
        Column("last used", lambda each: iso(each[0].last_accessed), lambda each: age(each[0].last_accessed, now)),
        Column("uses", lambda each: str(each[0].access_count), right=True, least_width=ROOMY),
        Column("text", lambda each: marked_text(each[0]), lambda each: headline(each[0]), wide=True),
    ]


def score_record(each: Scored) -> dict[str, object]:
    memory, score = each
    return {**memory_record(memory), "score": round(score, 6)}


def refuse_server(cli: CliContext, job: str) -> None:
    from nacre.cli.remote import is_remote

    if is_remote(cli):
        raise InvalidInput(
            f"A server does this with its own settings: `nacre maintenance tick --job {job}`, and --dry-run only says "
            "what it would do."
        )


@command("prune", model_options, min_score_option, protect_option, plan_options)
def prune_command(cli: CliContext, **asked: Unpack[PruneOptions]) -> None:
    """Move decayed memories to the trash: list them, the weakest first, and with --apply move them.

    Pinned memories, those of protected types and those that links lead to always stay. `nacre maintenance decay plot`
    shows how fast memories decay.
    """
    refuse_server(cli, "decay")
    now = cli.now()
    with cli.open() as store:
        engine = engine_of(store, asked)
        plan = engine.plan(now)
        scores = {each.memory.id: each.score for each in plan}
        scored = [(memory, scores[memory.id]) for memory in store.get_many(list(scores))]
        none = f"Nothing has decayed: no memory has a decay score below {engine.min_score:g}."
        show_plan(scored, score_columns(now), score_record, asked, none)
        would = f"{count_of(len(plan), 'memory scores', 'memories score')} less than {engine.min_score:g}"
        question = f"Move {count_of(len(plan))} to the trash? `nacre undo` can bring all of it back."
        if plan and confirm_plan(asked, would, question):
            report_moved(len(engine.apply(plan, why=asked["why"])), len(plan), " to the trash")


def report_moved(moved: int, planned: int, where: str = "") -> None:
    say(f"Moved {count_of(moved)}{where}; `nacre undo` takes it back.")
    if moved < planned:
        say(f"{count_of(planned - moved)} changed meanwhile, and stayed.")


class RetainOptions(PlanOptions):
    max_days: float | None
    max_count: int | None
    max_mb: float | None
    outcome: str


@command("retain", plan_options)
@option("--max-days DAYS", "Keep no older memories. The setting retain_max_days.")
@option("--max-count N", "Keep at most so many memories. The setting retain_max_count.", least=0)
@option("--max-mb N", "Keep at most so many megabytes of text.", type=Number(min=0))
@option("--type TYPE", "Bounds for this type alone; repeat for others.", to="types", multiple=True)
@protect_option
@option("--outcome", "Where memories beyond the limits go.", choices=["archive", "trash"], default="archive")
@option("--compress-older-than LENGTH", "Also compress long texts unused so long: 90d.")
def retain_command(
    cli: CliContext, types: tuple[str, ...], protected: tuple[str, ...] | None, compress_older_than: float | None,
    **asked: Unpack[RetainOptions],
) -> None:  # fmt: skip
    """Limit a space by age, number and size: list what exceeds the limits or has expired, and with --apply move it to
    the archive or the trash.

    A bound of 0 is none. Of what is too many or too much the least used goes first; what has expired goes to the trash.
    Pinned memories and protected types count, and stay.
    """
    from nacre.lifecycle.retention import Retention, compress_old

    now = cli.now()
    with cli.open() as store:
        shielded = protected_types(store, protected)
        for name in known_types(store, types):
            if name in shielded:
                raise UsageProblem(f"{name!r} is protected and never put away; --protect-type '' protects none.")
        bounds = bounds_of(store.settings, asked)
        retention = Retention(store, bounds, shielded, types)
        plan = retention.plan(now)
        columns: list[Column[Leaving]] = [
            Column("id", lambda each: each.memory.id, lambda each: short_id(each.memory.id), style="cyan"),
            Column("to", lambda each: each.outcome),
            Column("why", lambda each: each.why),
            Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
            Column("created", lambda each: iso(each.memory.created_at), lambda each: age(each.memory.created_at, now)),
            Column("text", lambda each: marked_text(each.memory), lambda each: headline(each.memory), wide=True),
        ]

        def record(each: Leaving) -> dict[str, object]:
            return {**memory_record(each.memory), "outcome": each.outcome, "why": each.why}

        show_plan(plan, columns, record, asked)
        apply_retention(retention, plan, bounds, asked)
        if compress_older_than is not None and asked["applied"]:
            packed = compress_old(store, compress_older_than, now)
            say(f"Compressed {count_of(packed, 'long text', 'long texts')}; not a word of them changed.")
        elif compress_older_than is not None:
            say(f"Long texts unused for {compress_older_than:g} days would be compressed, not changed.")


def bounds_of(settings: Settings, asked: RetainOptions) -> Bounds:
    """What is not given, the settings say; 0 is no bound."""
    from nacre.lifecycle.retention import Bounds

    age_days = settings.retain_max_days if asked["max_days"] is None else asked["max_days"]
    count = int(settings.retain_max_count if asked["max_count"] is None else asked["max_count"])
    return Bounds(age_days or None, count or None, asked["max_mb"] or None, asked["outcome"])


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


EXAMPLES = "0.9,0.5,0.1"
POINTS_A_SIGN = 6  # of a curve that is drawn in a table


@click.group("decay", cls=FirstByDefault)
def decay_command() -> None:
    """Show how memories decay: their scores, or a plot. `nacre maintenance prune` moves what has decayed to the trash.

    \b
      nacre maintenance decay --weakest           what would go first
      nacre maintenance decay plot                how fast, by importance
      nacre maintenance decay plot 3f2a 77b0      of these two
    """


@command("scores", model_options, form_option(), group=decay_command)
@limit_option(20)
@option("--weakest", "The weakest first.")
def scores(cli: CliContext, limit: int, weakest: bool, form: Form, **options: Unpack[DecayOptions]) -> None:
    """List the decay scores of memories, the strongest first."""
    now = cli.now()
    with cli.open() as store:
        ranked = engine_of(store, options).score_all(now)
        most = min(limit, sys.maxsize) or None
        rows = list(reversed(deque(ranked, maxlen=most)) if weakest else islice(ranked, most))
        total = store.count()
    print_items(rows, score_columns(now), score_record, form, "No memories here; `nacre remember TEXT` stores one.")
    if 0 < len(rows) < total and sys.stdout.isatty():
        say(f"{len(rows)} of {total:,}; -n 0 lists them all.")


def as_shares(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[float]:
    return [Number(0, 1).convert(share, option, ctx) for listed in values or [EXAMPLES] for share in listed.split(",")]


@command("plot [ID]...", form_option(), group=decay_command)
@model_options
@min_score_option
@option("--days N", "How far ahead.", type=Number(0, min_open=True), default=90.0)
@option(
    "--importance 0-1[,0-1]", f"Without an ID: examples of this importance. {EXAMPLES}, unless given.", multiple=True,
    callback=as_shares,
)  # fmt: skip
@option("-o --output FILE", "Write an .svg or .png; needs nacre[plot].")
def plot(
    cli: CliContext, ids: tuple[str, ...], days: float, importance: list[float], output: Path | None, form: Form,
    **options: Unpack[DecayOptions],
) -> None:  # fmt: skip
    """Plot how memories will fade if nobody uses them: those with these IDs, or examples."""
    from nacre.lifecycle.decay import curve, with_handling, write_plot

    now = cli.now()
    with cli.open() as store:
        engine = engine_of(store, options)
        memories = [with_handling(store, memory) for memory in find_memories(store, ids)] if ids else [
            Memory("", f"importance {share:g}", importance=share, created_at=now, last_accessed=now)
            for share in importance
        ]  # fmt: skip
        supported = Counter(
            edge.target for edge in store.edges(into=[memory.id for memory in memories]) if edge.rel not in NO_SUPPORT
        )
    curves = [
        curve(
            memory, now, days=days, model=engine.model, decay_rate=engine.decay_rate, support=supported[memory.id],
            label=f"{short_id(memory.id)} {excerpt(memory)}".strip(),
        )
        for memory in memories
    ]  # fmt: skip
    if output is not None:
        write_plot(curves, output, floor=engine.min_score)
        say(f"Drew {count_of(len(curves), 'curve', 'curves')} to {output}.")
        return
    rows = [
        (each, protection(engine, memory, memory.id in supported))
        for each, memory in zip(curves, memories, strict=True)
    ]
    drawn = [
        {"label": each.label, "stays": stays, "points": [[round(day, 3), round(at, 6)] for day, at in each.points]}
        for each, stays in rows
    ]
    known = {"model": engine.model, "decay_rate": engine.decay_rate, "min_score": engine.min_score}
    print_table(rows, curve_columns(engine.min_score), {**known, "days": days, "curves": drawn}, form)


def curve_columns(floor: float) -> list[Column[tuple[Curve, str]]]:
    """Of a curve, and of why its memory stays however low it falls; empty where it may go."""
    from nacre.cli.ui.charts import sparkline

    return [
        Column("memory", lambda row: row[0].label, style="cyan", wide=True),
        Column("score", lambda row: f"{row[0].points[0][1]:.2f}", right=True),
        Column("", lambda row: sparkline([at for _, at in row[0].points[::POINTS_A_SIGN]], 1.0), only="table"),
        Column("then", lambda row: f"{row[0].points[-1][1]:.2f}", right=True),
        Column("what becomes of it", lambda row: row[1] or falls(row[0], floor)),
    ]


def falls(each: Curve, floor: float) -> str:
    """When `nacre maintenance prune` would remove it; empty where it would not."""
    if each.points[0][1] < floor:
        return "below already"
    for (before, high), (after, low) in pairwise(each.points):
        if low < floor:
            return f"below {floor:g} on day {math.ceil(before + (after - before) * (high - floor) / (high - low))}"
    return ""


def protection(engine: DecayEngine, memory: Memory, linked: bool) -> str:
    if memory.pinned:
        return "pinned: stays"
    if memory.type in engine.protect_types:
        return f"{memory.type}: stays"
    return "linked to: stays" if linked and engine.protect_linked else ""


def as_confidence_range(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[float, float]:
    try:
        return confidence_range("0-1" if value is None else value)
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from error


@command("audit", limit_option(20), form_option())
@option(
    "--confidence RANGE", "How firmly it is held: very-low … very-high, high- for that and more, or 0.2-0.6.",
    callback=as_confidence_range,
)  # fmt: skip
@option("--source NAME", "From this source: inferred, hearsay, …")
@option("--unvalidated", "What nobody ever confirmed.")
@option("--fade", "Also what each confidence has faded to since anybody confirmed it.")
def audit_command(
    cli: CliContext, confidence: tuple[float, float], source: str | None, unvalidated: bool, fade: bool, limit: int,
    form: Form,
) -> None:  # fmt: skip
    """List memories by confidence and source, the oldest first.

    \b
      nacre maintenance audit --confidence high --source inferred
      nacre maintenance audit --confidence low --unvalidated
    """
    now, (least, most) = cli.now(), confidence
    with cli.open() as store:
        validated_only = False if unvalidated else None
        memories = audit(store, min_confidence=least, max_confidence=most, source=source, validated=validated_only)
        first = list(islice(memories, limit + 1 if limit else None))
        decay = ConfidenceDecay(store)

        def faded(memory: Memory) -> float:
            lasting = memory.pinned or memory.type not in BELIEF_TYPES
            return memory.confidence if lasting else decay.current_confidence(memory, now)

        rows = [(memory, faded(memory) if fade else None) for memory in first[: limit or None]]
    columns: list[Column[tuple[Memory, float | None]]] = [
        Column("id", lambda row: row[0].id, lambda row: short_id(row[0].id), style="cyan"),
        Column("type", lambda row: row[0].type, style="magenta", least_width=ROOMY),
        Column("confidence", lambda row: f"{row[0].confidence:g}", lambda row: confidence_text(*row), right=True),
        Column("faded to", lambda row: "" if row[1] is None else f"{row[1]:.4f}", only="tsv"),
        Column("source", lambda row: row[0].source, lambda row: row[0].source or "(none)"),
        Column("validated", lambda row: validated(row[0]), lambda row: validated(row[0], now)),
        Column("text", lambda row: marked_text(row[0]), lambda row: headline(row[0]), wide=True),
    ]
    print_items(rows, columns, lambda row: {**memory_record(row[0]), "faded_to": row[1]}, form, "No memory matches.")
    if len(rows) < len(first):
        say("There are more; -n 0 lists them all.")


def confidence_text(memory: Memory, worth: float | None) -> str:
    return f"{memory.confidence:.2f}" + ("" if worth is None else f" → {worth:.2f}")


def validated(memory: Memory, now: float | None = None) -> str:
    """When it was last confirmed: the time, or with `now` how long ago that is."""
    at = memory.last_validated_at
    if at is None:
        return "" if now is None else "never"
    return iso(at) if now is None else age(at, now)


@command("fade", plan_options)
@option("--half-life LENGTH", "The time in which confidence that nobody renews is halved.", default="365d")
def fade_command(cli: CliContext, half_life: float, **asked: Unpack[PlanOptions]) -> None:
    """Lower the confidence of what nobody confirmed for long: list it, and with --apply lower it.

    Only what is held to be true fades so: semantic, procedural and feedback memories that are not pinned. `nacre
    memory validate` renews one.
    """
    if not half_life:
        raise click.BadParameter("it must be longer than zero; write 12h, 30d or 8w.", param_hint="--half-life")
    now = cli.now()
    with cli.open() as store:
        decay = ConfidenceDecay(store, half_life)
        plan = sorted(decay.plan(now), key=lambda each: each.confidence)

        columns: list[Column[FadedConfidence]] = [
            Column("id", lambda each: each.memory.id, lambda each: short_id(each.memory.id), style="cyan"),
            Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
            Column("confidence", lambda each: f"{each.memory.confidence:g}", only="tsv"),
            Column("faded to", lambda each: f"{each.confidence:.4f}", only="tsv"),
            Column("confidence", lambda each: confidence_text(each.memory, each.confidence), right=True, only="table"),
            Column("confirmed", lambda each: validated(each.memory), lambda each: validated(each.memory, now)),
            Column("text", lambda each: marked_text(each.memory), lambda each: headline(each.memory), wide=True),
        ]

        def record(each: FadedConfidence) -> dict[str, object]:
            return {**memory_record(each.memory), "faded_to": round(each.confidence, 4)}

        show_plan(plan, columns, record, asked, "Nothing is noticeably less certain.")
        if plan and confirm_plan(asked, f"{count_of(len(plan), 'memory is', 'memories are')} less certain now"):
            done = decay.apply(plan, now, why=asked["why"])
            say(f"Lowered the confidence of {count_of(done)}; `nacre undo` takes it back.")
