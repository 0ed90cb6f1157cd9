"""nacre consolidate"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import Number, PlanOptions, confirm_plan, plan_options, show_plan
from nacre.cli.ui.columns import group_text, short
from nacre.cli.ui.output import DATA, Column, print_data, say
from nacre.cli.ui.prompts import count_of

if TYPE_CHECKING:
    from nacre.lifecycle.consolidation import ConsolidationConfig, ConsolidationReport, Consolidator, MemoryCluster

BESIDE = 23  # characters that the other columns take


@click.command("consolidate")
@click.option("--threshold", type=Number(0, 1), metavar="0-1", help="The worth that a group needs; 0.6, unless given.")
@click.option("--similarity", type=Number(0, 1), metavar="0-1", help="How alike a group is; 0.85, unless given.")
@click.option("--hard", is_flag=True, help="Remove the others of a group; else the one promoted supersedes them.")
@plan_options
@click.pass_obj
def command(
    cli: CliContext, threshold: float | None, similarity: float | None, hard: bool, **asked: Unpack[PlanOptions]
) -> None:
    """List what has earned it in the short term, and with --apply promote it to the long term.

    Memories that say nearly the same form a group. What was felt, is new or is used counts; of each group the worthiest
    is promoted and stands for the others.
    """
    from nacre.lifecycle.consolidation import ConsolidationConfig, Consolidator, report_of

    config = ConsolidationConfig()
    config = replace(
        config,
        importance_threshold=config.importance_threshold if threshold is None else threshold,
        similarity_threshold=config.similarity_threshold if similarity is None else similarity,
    )
    with cli.open() as store:
        engine = Consolidator(store, config, hard)
        found = engine.clusters(engine.candidates(cli.now()))
        plan = [each for each in found if engine.earned(each)]
        due, reason = engine.should_consolidate()
        say(f"{reason}.")
        if asked["form"] in DATA:
            print_data({"due": due, "reason": reason, **asdict(report_of(plan, found))}, asked["form"])
        else:
            show_plan(plan, columns(), asdict, asked["limit"], asked["form"])
        carry_out(engine, plan, found, asked)


def carry_out(engine: Consolidator, plan: list[MemoryCluster], found: list[MemoryCluster], asked: PlanOptions) -> None:
    from nacre.lifecycle.consolidation import report_of

    would = report_of(plan, found)
    if not plan:
        say(nothing(would, engine.config))
        return
    ends = "removed" if engine.hard else "superseded"
    question = (
        f"Promote {count_of(len(plan))} and remove {would.memories_archived:,}? `nacre undo` can bring them back."
    )
    asks = engine.hard and would.memories_archived > 0
    if confirm_plan(asked, told(would, "would be promoted", ends), question if asks else ""):
        done = report_of(engine.apply(plan, why=asked["why"]), found)
        say(f"{told(done, 'promoted', ends)}; `nacre undo` takes it back.")


def nothing(report: ConsolidationReport, config: ConsolidationConfig) -> str:
    if report.total_processed:
        return f"Of {count_of(report.total_processed)} none is worth {config.importance_threshold:g}."
    return f"Nothing in the short term is older than {config.min_age_hours:g} h."


def told(report: ConsolidationReport, promoted: str, ends: str) -> str:
    others = f", {report.memories_archived:,} {ends}" if report.memories_archived else ""
    return f"Of {count_of(report.total_processed)} {report.memories_promoted:,} {promoted}{others}"


def columns() -> list[Column[MemoryCluster]]:
    return [
        Column("promoted", lambda each: each.memories[0].id, lambda each: short(each.memories[0].id), style="cyan"),
        Column("of", lambda each: str(len(each.memories)), lambda each: str(len(each.memories)), right=True),
        Column(
            "worth", lambda each: f"{each.avg_importance:.4f}", lambda each: f"{each.avg_importance:.2f}", right=True
        ),
        Column("others", lambda each: ",".join(memory.id for memory in each.memories[1:])),
        Column("text", lambda each: each.memories[0].text, described, wide=True, wraps=True),
    ]


def described(each: MemoryCluster) -> str:
    return group_text(each.memories[0], each.memories[1:], BESIDE)
