"""nacre maintenance reflect and consolidate: make lasting memories from short-term ones."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, Unpack, cast

from nacre.cli.cli_context import CliContext
from nacre.cli.options import PlanOptions, command, confirm_plan, option, plan_options, show_plan
from nacre.cli.ui.output import DATA, Column, print_data, say, shortened
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.cli.ui.records import headline, memory_record
from nacre.model import Memory
from nacre.model.journal import PERSON
from nacre.model.memory import short_id

if TYPE_CHECKING:
    from nacre.lifecycle.consolidation import ConsolidationReport, Consolidator, MemoryCluster
    from nacre.lifecycle.reflection import Reflection, ReflectionEngine

SUMMARY_INDENT = 12  # characters that the other columns take
CONSOLIDATE = {"none": False, "soft": "soft", "hard": "hard"}


@command("reflect", plan_options)
@option("--threshold 0-1", "How similar the memories of a group must be.", default=0.75)
@option("--min-cluster-size N", "How many episodes a group needs. 3 unless given.", least=2)
@option(
    "--summarizer",
    "Who writes: central sentences, all cut short, or the configured model. The setting summarizer.",
    choices=["central", "extractive", "language-model"],
)
@option("--consolidate", "Episodes stay, are superseded, or are removed.", choices=CONSOLIDATE, default="soft")
def reflect_command(
    cli: CliContext, threshold: float, min_cluster_size: int | None, summarizer: str | None, consolidate: str,
    **asked: Unpack[PlanOptions],
) -> None:  # fmt: skip
    """Summarize similar episodes as semantic memories: list the summaries, and with --apply store them.

    Episodes that were condensed before are left out.
    """
    from nacre.lifecycle.jobs import MIN_CLUSTER
    from nacre.lifecycle.reflection import ReflectionEngine, summarizer_from

    settings, applied = cli.space_settings(), asked["applied"]
    writer = summarizer_from(
        replace(settings, summarizer=summarizer or settings.summarizer),
        lambda error: say(f"Condensed without the language model. {error}"),
    )
    size = min_cluster_size or MIN_CLUSTER
    with cli.open() as store:
        if applied:
            store.acting_as(PERSON).embedder.check()  # before anybody is asked
        engine = ReflectionEngine(store, threshold, size, writer)
        with progress_line() as progress:
            plan = engine.plan(cli.now(), progress)

        def text(each: Reflection) -> str:
            return group_text(each.summary, each.sources, SUMMARY_INDENT)

        columns: list[Column[Reflection]] = [
            Column("id", lambda each: each.summary.id if applied else "", only="tsv"),
            Column("of", lambda each: str(len(each.sources)), right=True),
            Column("imp", lambda each: f"{each.summary.importance:g}", lambda each: f"{each.summary.importance:.2f}"),
            Column("episodes", lambda each: ",".join(source.id for source in each.sources), only="tsv"),
            Column("summary", lambda each: each.summary.text, text, wide=True, wraps=True),
        ]
        show_plan(plan, columns, lambda each: reflection_record(each, applied=applied), asked)
        waiting = store.stats().waiting_for_model
        if waiting:
            say(f"{count_of(waiting)} without a vector left out; `nacre doctor` says why.")
        if not plan:
            say(f"No {size} episodes are so similar; a lower --threshold may find some.")
        else:
            apply_reflections(engine, plan, consolidate, asked)


def apply_reflections(
    engine: ReflectionEngine, plan: tuple[Reflection, ...], consolidate: str, asked: PlanOptions
) -> None:
    sources = count_of(sum(len(each.sources) for each in plan), "episode", "episodes")
    would = f"{sources} would be condensed into {count_of(len(plan))}"
    question = f"Condense {sources} into {count_of(len(plan))} and remove them? `nacre undo` can bring them back."
    if not confirm_plan(asked, would, question if consolidate == "hard" else ""):
        return
    way = cast("Literal[False, 'soft', 'hard']", CONSOLIDATE[consolidate])
    saved = engine.apply(plan, way, why=asked["why"])
    say(f"Stored {count_of(len(saved), 'summary', 'summaries')}; `nacre undo` takes it back.")
    if len(saved) < len(plan):
        say(f"{count_of(len(plan) - len(saved), 'group', 'groups')} changed meanwhile, and waits for the next time.")


def reflection_record(each: Reflection, *, applied: bool) -> dict[str, object]:
    summary = each.summary if applied else replace(each.summary, source="reflection/dry-run")
    return {"summary": memory_record(summary), "sources": [memory_record(source) for source in each.sources]}


CLUSTER_INDENT = 23  # characters that the other columns take
CLUSTER_COLUMNS: list[Column[MemoryCluster]] = [
    Column("promoted", lambda each: each.memories[0].id, lambda each: short_id(each.memories[0].id), style="cyan"),
    Column("of", lambda each: str(len(each.memories)), right=True),
    Column("worth", lambda each: f"{each.avg_importance:.4f}", lambda each: f"{each.avg_importance:.2f}", right=True),
    Column("others", lambda each: ",".join(memory.id for memory in each.memories[1:]), only="tsv"),
    Column(
        "text", lambda each: each.memories[0].text,
        lambda each: group_text(each.memories[0], each.memories[1:], CLUSTER_INDENT), wide=True, wraps=True,
    ),
]  # fmt: skip


@command("consolidate", plan_options)
@option("--threshold 0-1", "The worth that a group needs; 0.6, unless given.")
@option("--similarity 0-1", "How similar the memories of a group must be; 0.85, unless given.")
@option("--hard", "Remove the others of a group; else the one promoted supersedes them.")
def consolidate_command(
    cli: CliContext, threshold: float | None, similarity: float | None, hard: bool, **asked: Unpack[PlanOptions]
) -> None:
    """Promote memories from the short term to the long term: list those worth it, and with --apply promote them.

    Memories that say nearly the same form a group. What was felt, is new or is used counts; of each group the worthiest
    is promoted and represents the others.
    """
    from nacre.lifecycle.consolidation import SHORT_TERM, ConsolidationConfig, Consolidator, report_of

    usual = ConsolidationConfig()
    config = replace(
        usual,
        importance_threshold=usual.importance_threshold if threshold is None else threshold,
        similarity_threshold=usual.similarity_threshold if similarity is None else similarity,
    )
    with cli.open() as store:
        engine = Consolidator(store, config, hard)
        clusters = engine.clusters(engine.candidates(cli.now()))
        plan = [each for each in clusters if engine.earned(each)]
        due, _ = engine.should_consolidate()
        waiting = count_of(store.count(status=SHORT_TERM))
        reason = f"{waiting} in the short term; consolidating is due from {config.buffer_threshold:,} on"
        say(f"{reason}.")
        if asked["form"] in DATA:
            print_data({"due": due, "reason": reason, **asdict(report_of(plan, clusters))}, asked["form"])
        else:
            show_plan(plan, CLUSTER_COLUMNS, asdict, asked)
        apply_consolidation(engine, plan, clusters, asked)


def apply_consolidation(
    engine: Consolidator, plan: list[MemoryCluster], clusters: list[MemoryCluster], asked: PlanOptions
) -> None:
    from nacre.lifecycle.consolidation import report_of

    would = report_of(plan, clusters)
    if not plan:
        few = f"Of {count_of(would.total_processed)} none is worth {engine.config.importance_threshold:g}."
        none = f"Nothing in the short term is older than {engine.config.min_age_hours:g} h."
        say(few if would.total_processed else none)
        return
    ends = "removed" if engine.hard else "superseded"
    question = (
        f"Promote {count_of(len(plan))} and remove {would.memories_archived:,}? `nacre undo` can bring them back."
    )
    asks = engine.hard and would.memories_archived > 0
    if confirm_plan(asked, consolidation_text(would, "would be promoted", ends), question if asks else ""):
        done = report_of(engine.apply(plan, why=asked["why"]), clusters)
        say(f"{consolidation_text(done, 'promoted', ends)}; `nacre undo` takes it back.")


def consolidation_text(report: ConsolidationReport, promoted: str, ends: str) -> str:
    others = f", {report.memories_archived:,} {ends}" if report.memories_archived else ""
    return f"Of {count_of(report.total_processed)} {report.memories_promoted:,} {promoted}{others}"


LEAST_ROOM = 8  # characters of a text
MOST_OTHERS = 5  # that a row names beside its memory


def group_text(first: Memory, others: Sequence[Memory], beside: int) -> str:
    """One memory, and below it those that it represents, each on a line where `beside` characters are taken."""
    room = shutil.get_terminal_size().columns - beside
    heads = {f"  {short_id(memory.id)}  ": memory for memory in others[:MOST_OTHERS]}
    lines = [
        f"{head}{shortened(headline(memory), max(LEAST_ROOM, room - len(head)))}" for head, memory in heads.items()
    ]
    more = [f"  and {len(others) - MOST_OTHERS:,} more"] if len(others) > MOST_OTHERS else []
    return "\n".join([headline(first), *lines, *more])
