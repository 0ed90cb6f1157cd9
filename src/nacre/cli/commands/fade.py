"""nacre fade"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import PlanOptions, confirm_plan, plan_options, positive_days_option, show_plan
from nacre.cli.ui.columns import ROOMY, headline, short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.decay import FadedConfidence


@click.command("fade")
@click.option(
    "--half-life",
    callback=positive_days_option,
    default="365d",
    show_default=True,
    metavar="LENGTH",
    help="The time in which confidence that nobody renews is halved.",
)
@plan_options
@click.pass_obj
def command(cli: CliContext, half_life: float, **asked: Unpack[PlanOptions]) -> None:
    """List what nobody confirmed for so long that it is less certain now, and with --apply lower its confidence.

    Only what is held to be true fades so: semantic, procedural and feedback memories that are not pinned. `nacre
    validate` renews one.
    """
    from nacre.lifecycle.decay import ConfidenceDecay

    now = cli.now()
    with cli.open() as store:
        decay = ConfidenceDecay(store, half_life)
        plan = sorted(decay.plan(now), key=lambda each: each.confidence)
        show_plan(plan, columns(now), record, asked["limit"], asked["form"])
        if not plan:
            say("Nothing is noticeably less certain.")
        elif confirm_plan(asked, f"{count_of(len(plan), 'memory is', 'memories are')} less certain now"):
            done = decay.apply(plan, now, why=asked["why"])
            say(f"Lowered the confidence of {count_of(done)}; `nacre undo` takes it back.")


def columns(now: float) -> list[Column[FadedConfidence]]:
    return [
        Column("id", lambda each: each.memory.id, lambda each: short(each.memory.id), style="cyan"),
        Column(
            "type", lambda each: each.memory.type, lambda each: each.memory.type, style="magenta", least_width=ROOMY
        ),
        Column("confidence", lambda each: f"{each.memory.confidence:g}"),
        Column("faded to", lambda each: f"{each.confidence:.4f}"),
        Column("confidence", None, lambda each: f"{each.memory.confidence:.2f} → {each.confidence:.2f}", right=True),
        Column("confirmed", lambda each: confirmed(each, None), lambda each: confirmed(each, now)),
        Column("text", lambda each: each.memory.text, lambda each: headline(each.memory), wide=True),
    ]


def confirmed(each: FadedConfidence, now: float | None) -> str:
    at = each.memory.last_validated_at
    if at is None:
        return "" if now is None else "never"
    return iso(at) if now is None else age(at, now)


def record(each: FadedConfidence) -> dict[str, object]:
    return {**memory_record(each.memory), "faded_to": round(each.confidence, 4)}
