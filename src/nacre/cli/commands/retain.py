"""nacre retain"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.fading import known_types, protect_option, protected_types
from nacre.cli.options import Number, PlanOptions, confirm_plan, days_option, plan_options, show_plan
from nacre.cli.ui.columns import ROOMY, headline, short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.retention import Bounds, Leaving, Retention
    from nacre.memory_store import MemoryStore
    from nacre.settings import Settings


@click.command("retain")
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
@click.pass_obj
def command(
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
    """List what is beyond bounds or has expired, and with --apply put it away: into the archive, or into the trash.

    A bound of 0 is none. Of what is too many or too much the least used goes first; what has expired goes to the trash.
    Pinned memories and protected types count, and stay.
    """
    from nacre.lifecycle.retention import Retention, RetentionPolicy

    settings, now = cli.settings(), cli.now()
    with cli.open() as store:
        shielded = protected_types(store, settings, protected)
        refuse_protected(known_types(store, types), shielded)
        bounds = bounds_of(settings, max_days, max_count, max_mb, outcome)
        each_type = dict.fromkeys(types, bounds)
        policy = RetentionPolicy(types=each_type, protect_types=shielded)
        retention = Retention(store, policy if types else RetentionPolicy(bounds, protect_types=shielded))
        plan = retention.plan(now)
        show_plan(plan, columns(now), record, asked["limit"], asked["form"])
        carry_out(retention, plan, bounds, asked)
        if compress_older_than is not None:
            compress(store, compress_older_than, now, applied=asked["applied"])


def refuse_protected(types: tuple[str, ...], protected: tuple[str, ...]) -> None:
    for name in types:
        if name in protected:
            raise UsageProblem(f"{name!r} is protected and never put away; --protect-type '' protects none.")


def bounds_of(
    settings: Settings, max_days: float | None, max_count: int | None, max_mb: float | None, outcome: str | None
) -> Bounds:
    from nacre.lifecycle.retention import Bounds

    age_days = settings.retain_max_days if max_days is None else max_days
    count = int(settings.retain_max_count if max_count is None else max_count)
    megabytes = settings.retain_max_mb if max_mb is None else max_mb
    return Bounds(age_days or None, count or None, megabytes or None, outcome or settings.retain_outcome)


def carry_out(retention: Retention, plan: tuple[Leaving, ...], bounds: Bounds, asked: PlanOptions) -> None:
    if not plan:
        unbound = bounds.max_age_days is bounds.max_count is bounds.max_megabytes is None
        say("Nothing has expired, and no bound is set." if unbound else "Everything is within bounds.")
        return
    places = " and ".join(f"{count_of(number)} to the {place}" for place, number in Counter(map(outcome, plan)).items())
    question = f"Move {places}? `nacre undo` can bring all of it back."
    if confirm_plan(asked, f"{places} would go", question):
        done = retention.apply(plan, why=asked["why"])
        say(f"Moved {count_of(len(done))}; `nacre undo` takes it back.")
        if len(done) < len(plan):
            say(f"{count_of(len(plan) - len(done))} changed meanwhile, and stayed.")


def outcome(each: Leaving) -> str:
    return each.outcome


def compress(store: MemoryStore, unused: float, now: float, *, applied: bool) -> None:
    from nacre.lifecycle.retention import compress_old

    if applied:
        packed = compress_old(store, unused, now)
        say(f"Compressed {count_of(packed, 'long text', 'long texts')}; not a word of them changed.")
    else:
        say(f"Long texts unused for {unused:g} days would be compressed, not changed.")


def columns(now: float) -> list[Column[Leaving]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column("to", outcome, outcome),
        Column("why", lambda each: each.why, lambda each: each.why),
        Column(
            "type", lambda each: each.memory.type, lambda each: each.memory.type, style="magenta", least_width=ROOMY
        ),
        Column("created", lambda each: iso(each.memory.created_at), lambda each: age(each.memory.created_at, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]


def record(each: Leaving) -> dict[str, object]:
    return {**memory_record(each.memory), "outcome": each.outcome, "why": each.why}
