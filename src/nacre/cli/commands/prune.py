"""nacre prune"""

from __future__ import annotations

from typing import Unpack

import click

from nacre.cli.asking import counted
from nacre.cli.door import Door
from nacre.cli.fading import engine_of, min_score_option, model_options, protect_option, score_columns, score_record
from nacre.cli.output import say
from nacre.cli.planning import Planning, agreed, planning, show


@click.command("prune")
@model_options
@min_score_option
@protect_option
@planning
@click.pass_obj
def command(
    door: Door,
    model: str | None,
    decay_rate: float | None,
    min_score: float | None,
    protected: tuple[str, ...],
    **asked: Unpack[Planning],
) -> None:
    """List what has faded, the weakest first, and with --apply move it to the trash.

    Pinned memories, those of protected types and those that ties lead to always stay. `nacre decay plot` shows how fast
    memories fade.
    """
    now = door.now()
    with door.open() as store:
        engine = engine_of(store, door.settings(), model, decay_rate, min_score, protected)
        plan = engine.plan(now)
        scored = [(each.memory, each.score) for each in plan]
        show(scored, score_columns(now), score_record, asked["limit"], asked["form"])
        if not plan:
            say(f"Nothing scores less than {engine.min_score:g}.")
            return
        would = f"{counted(len(plan), 'memory scores', 'memories score')} less than {engine.min_score:g}"
        if not agreed(asked, would, f"Move {counted(len(plan))} to the trash? `nacre undo` can bring all of it back."):
            return
        gone = engine.apply(plan, why=asked["why"])
    say(f"Moved {counted(len(gone))} to the trash; `nacre undo` takes it back.")
    if len(gone) < len(plan):
        say(f"{counted(len(plan) - len(gone))} changed meanwhile, and stayed.")
