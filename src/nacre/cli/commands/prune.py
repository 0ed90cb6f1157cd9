"""nacre prune"""

from __future__ import annotations

from typing import Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.fading import engine_of, min_score_option, model_options, protect_option, score_columns, score_record
from nacre.cli.options import PlanOptions, confirm_plan, plan_options, show_plan
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import count_of


@click.command("prune")
@model_options
@min_score_option
@protect_option
@plan_options
@click.pass_obj
def command(
    cli: CliContext,
    model: str | None,
    decay_rate: float | None,
    min_score: float | None,
    protected: tuple[str, ...],
    **asked: Unpack[PlanOptions],
) -> None:
    """List what has faded, the weakest first, and with --apply move it to the trash.

    Pinned memories, those of protected types and those that ties lead to always stay. `nacre decay plot` shows how fast
    memories fade.
    """
    now = cli.now()
    with cli.open() as store:
        engine = engine_of(store, cli.settings(), model, decay_rate, min_score, protected)
        plan = engine.plan(now)
        scored = [(each.memory, each.score) for each in plan]
        show_plan(scored, score_columns(now), score_record, asked["limit"], asked["form"])
        if not plan:
            say(f"Nothing scores less than {engine.min_score:g}.")
            return
        would = f"{count_of(len(plan), 'memory scores', 'memories score')} less than {engine.min_score:g}"
        if not confirm_plan(
            asked, would, f"Move {count_of(len(plan))} to the trash? `nacre undo` can bring all of it back."
        ):
            return
        gone = engine.apply(plan, why=asked["why"])
    say(f"Moved {count_of(len(gone))} to the trash; `nacre undo` takes it back.")
    if len(gone) < len(plan):
        say(f"{count_of(len(plan) - len(gone))} changed meanwhile, and stayed.")
