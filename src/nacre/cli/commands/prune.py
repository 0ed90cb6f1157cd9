"""nacre prune and retain: move what has decayed, or what exceeds a limit, to the trash or the archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.options import Number, PlanOptions, combine, command, confirm_plan, days_option, plan_options, show_plan
from nacre.cli.ui.columns import ROOMY, headline, short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.errors import UnknownName
from nacre.lifecycle.decay import MODELS
from nacre.lifecycle.jobs import listed
from nacre.model import Memory
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.decay import DecayEngine
    from nacre.lifecycle.retention import Bounds, Leaving, Retention
    from nacre.memory_store import MemoryStore
    from nacre.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
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
        scored = [(each.memory, each.score) for each in plan]
        show_plan(scored, score_columns(now), score_record, asked, f"Nothing scores less than {engine.min_score:g}.")
        would = f"{count_of(len(plan), 'memory scores', 'memories score')} less than {engine.min_score:g}"
        question = f"Move {count_of(len(plan))} to the trash? `nacre undo --any` can bring all of it back."
        if plan and confirm_plan(asked, would, question):
            report_moved(len(engine.apply(plan, why=asked["why"])), len(plan), " to the trash")


def report_moved(moved: int, planned: int, where: str = "") -> None:
    say(f"Moved {count_of(moved)}{where}; `nacre undo --any` takes it back.")
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
    help="Also compress long texts unused for so long: 90d.",
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
        show_plan(plan, leaving_columns(now), leaving_record, asked)
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
    question = f"Move {places}? `nacre undo --any` can bring all of it back."
    if confirm_plan(asked, f"{places} would go", question):
        report_moved(len(retention.apply(plan, why=asked["why"])), len(plan))


def compress(store: MemoryStore, unused: float, now: float, *, applied: bool) -> None:
    from nacre.lifecycle.retention import compress_old

    if applied:
        packed = compress_old(store, unused, now)
        say(f"Compressed {count_of(packed, 'long text', 'long texts')}; not a word of them changed.")
    else:
        say(f"Long texts unused for {unused:g} days would be compressed, not changed.")


def leaving_columns(now: float) -> list[Column[Leaving]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column("to", lambda each: each.outcome),
        Column("why", lambda each: each.why),
        Column("type", lambda each: each.memory.type, style="magenta", least_width=ROOMY),
        Column("created", lambda each: iso(each.memory.created_at), lambda each: age(each.memory.created_at, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]


def leaving_record(each: Leaving) -> dict[str, object]:
    return {**memory_record(each.memory), "outcome": each.outcome, "why": each.why}
