"""nacre reflect"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Unpack, cast

import click

from nacre.cli.cli_context import ACTOR, CliContext
from nacre.cli.options import Number, PlanOptions, confirm_plan, plan_options, show_plan
from nacre.cli.ui.columns import group_text
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import since as moment
from nacre.errors import ConfigError, LanguageModelError, UnknownName

if TYPE_CHECKING:
    from nacre.lifecycle.reflection import Reflection, ReflectionEngine, Summarizer
    from nacre.protocols import LanguageModel
    from nacre.settings import Settings

BESIDE = 12  # characters that the other columns take
ASKED = "language-model"
WAYS = {"none": False, "soft": "soft", "hard": "hard"}


@dataclass(slots=True)
class Watched:
    """A model that has failed is not asked again, and says why it was not."""

    model: LanguageModel
    fault: LanguageModelError | None = None

    @property
    def identity(self) -> str:
        return self.model.identity

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        if self.fault is None:
            try:
                return self.model.complete(prompt, system=system, max_tokens=max_tokens)
            except LanguageModelError as error:
                self.fault = error
        raise self.fault


@click.command("reflect")
@click.option(
    "--threshold", type=Number(0, 1), default=0.75, show_default=True, metavar="0-1", help="How alike a group is."
)
@click.option(
    "--min-cluster-size",
    type=click.IntRange(min=2),
    metavar="N",
    help="Fewer are no group. The setting reflect_min_cluster.",
)
@click.option(
    "--summarizer",
    type=click.Choice(["central", "extractive", ASKED]),
    help="Who writes: central sentences, all cut short, or the configured model. The setting summarizer.",
)
@click.option(
    "--consolidate",
    type=click.Choice(list(WAYS)),
    help="Episodes stay, are superseded by the summary, or are removed. The setting reflect_consolidate (soft).",
)
@click.option("--since", metavar="WHEN", help="Only groups with an episode created since: 7d, or a date.")
@plan_options
@click.pass_obj
def command(
    cli: CliContext,
    threshold: float,
    min_cluster_size: int | None,
    summarizer: str | None,
    consolidate: str | None,
    since: str | None,
    **asked: Unpack[PlanOptions],
) -> None:
    """List what episodes that speak of the same come to, and with --apply keep each summary as a semantic memory.

    Episodes that were condensed before are left out.
    """
    from nacre.lifecycle.reflection import ReflectionEngine

    settings, now = cli.settings(), cli.now()
    summarizer = summarizer or settings.summarizer
    watched = model_of(settings) if summarizer == ASKED else None
    after = moment(since, now) if since else None
    with cli.open_with_model() as store:
        if asked["applied"]:
            store.acting_as(ACTOR).check_embedder()  # before anybody is asked
        size = min_cluster_size or int(settings.reflect_min_cluster)
        engine = ReflectionEngine(store, threshold, size, writer(summarizer, watched))
        with progress_line() as progress:
            plan = engine.plan(now, after, progress)
        applied = asked["applied"]
        show_plan(
            plan, columns(applied=applied), lambda each: record(each, applied=applied), asked["limit"], asked["form"]
        )
        if watched is not None and watched.fault is not None:
            say(f"Condensed without the language model. {watched.fault}")
        waiting = store.stats().waiting_for_model
        if waiting:
            say(f"{count_of(waiting)} without a vector left out; `nacre model install` gets the model.")
        if not plan:
            say(f"No {size} episodes are so much alike.")
        else:
            carry_out(engine, plan, consolidate or settings.reflect_consolidate, asked)


def model_of(settings: Settings) -> Watched:
    from nacre.factory import make_language_model

    model = make_language_model(settings)
    if model is None:
        raise ConfigError("The summarizer 'language-model' needs one; set language_model to openai:MODEL, say.")
    return Watched(model)


def writer(name: str, model: LanguageModel | None) -> Summarizer | str:
    from nacre.lifecycle.reflection import with_language_model

    return name if model is None else with_language_model(model)


def carry_out(engine: ReflectionEngine, plan: tuple[Reflection, ...], consolidate: str, asked: PlanOptions) -> None:
    sources = count_of(sum(len(each.sources) for each in plan), "episode", "episodes")
    would = f"{sources} would be condensed into {count_of(len(plan))}"
    question = f"Condense {sources} into {count_of(len(plan))} and remove them? `nacre undo` can bring them back."
    if not confirm_plan(asked, would, question if consolidate == "hard" else ""):
        return
    if consolidate not in WAYS:
        raise UnknownName("way to consolidate", consolidate, WAYS)
    way = cast("Literal[False, 'soft', 'hard']", WAYS[consolidate])
    kept = engine.apply(plan, way, why=asked["why"])
    say(f"Kept {count_of(len(kept), 'summary', 'summaries')}; `nacre undo` takes it back.")
    if len(kept) < len(plan):
        say(f"{count_of(len(plan) - len(kept), 'group', 'groups')} changed meanwhile, and waits for the next time.")


def columns(*, applied: bool) -> list[Column[Reflection]]:
    return [
        Column("id", lambda each: each.summary.id if applied else ""),
        Column("of", lambda each: str(len(each.sources)), lambda each: str(len(each.sources)), right=True),
        Column("imp", lambda each: f"{each.summary.importance:g}", lambda each: f"{each.summary.importance:.2f}"),
        Column("episodes", lambda each: ",".join(source.id for source in each.sources)),
        Column("summary", lambda each: each.summary.text, told, wide=True, wraps=True),
    ]


def told(each: Reflection) -> str:
    return group_text(each.summary, each.sources, BESIDE)


def record(each: Reflection, *, applied: bool) -> dict[str, object]:
    summary = each.summary if applied else replace(each.summary, source="reflection/dry-run")
    return {"summary": memory_record(summary), "sources": [memory_record(source) for source in each.sources]}
