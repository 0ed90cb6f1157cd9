"""Tools that work longer and say how far they are: conflicts of a whole space, reflection, maintenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from nacre.errors import InvalidInput
from nacre.mcp.profiles.core import bounded
from nacre.mcp.records import brief, conflict, line
from nacre.mcp.schema import RECORDS, TEXT, TRUTH, WHOLE, record
from nacre.mcp.tool import Told, Tool
from nacre.mcp.visit import Visit
from nacre.model.fence import fenced
from nacre.model.memory import Json

if TYPE_CHECKING:
    from nacre.lifecycle.jobs import JobResult
    from nacre.lifecycle.scheduler import TickResult
    from nacre.model import Memory
    from nacre.ports import LanguageModel
    from nacre.remember.compare import ConflictFn

MODEL = "lets your own model judge too, through sampling"
SAMPLED = Annotated[bool, Field(description=MODEL)]


def conflicts(
    visit: Visit,
    id: str | None = None,
    threshold: Annotated[float | None, Field(description="similarity, 0-1")] = None,
    note: Annotated[bool, Field(description="puts them into the review queue")] = False,
    ask_model: SAMPLED = False,
    limit: int = 20,
) -> Told:
    found = visit.store.find_conflicts(
        id and visit.id(id),
        threshold=threshold,
        contradiction_fn=judging(model_of(visit)) if ask_model else None,
        progress=visit.progress,
    )
    shown = [visit.clean(each) for each in found[: bounded("limit", limit)]]
    noted = visit.store.note_conflicts(found) if note else 0
    told: list[Json] = [conflict(each) for each in shown]
    lines = [one for each in shown for one in (line(each.a, f"{each.kind} of the next"), line(each.b))]
    text = fenced(lines) if lines else "No memories conflict."
    return Told({"conflicts": told, "found": len(found), "noted": noted}, text)


def reflect(
    visit: Visit,
    apply: Annotated[bool, Field(description="keeps the summaries; else they are only shown")] = False,
    consolidate: Annotated[bool, Field(description="lets each take the place of its episodes")] = True,
    min_cluster: int = 3,
    ask_model: SAMPLED = False,
) -> Told:
    from nacre.lifecycle.reflection import ReflectionEngine
    from nacre.lifecycle.summaries import asking, configured

    writer = asking(model_of(visit)) if ask_model else configured(visit.store.settings)
    engine = ReflectionEngine(visit.store, min_cluster_size=min_cluster, summarizer=writer)
    plan = engine.plan(progress=visit.progress)
    kept = engine.apply(plan, consolidate) if apply else [each.summary for each in plan]
    told: list[Json] = [brief(visit.store.shown(each)) for each in kept]
    text = fenced([line(visit.store.shown(each)) for each in kept]) if kept else "No episodes speak of the same."
    return Told({"summaries": told, "applied": apply}, text)


def maintenance_tick(
    visit: Visit, dry_run: bool = False, reflect_apply: bool = False
) -> dict[str, Json]:  # fmt: skip
    result = tick(visit, dry_run=dry_run, reflect_apply=reflect_apply)
    jobs: list[Json] = [{"job": each.job, "done": each.done, "said": str(each)} for each in result.results]
    return {"summary": result.summary(), "jobs": jobs}


def tick(visit: Visit, *, dry_run: bool = False, reflect_apply: bool = False) -> TickResult:
    """Job by job, so that the client sees how far it is."""
    from dataclasses import replace

    from nacre.lifecycle.scheduler import MaintenanceScheduler, TickResult

    known = visit.store.settings
    settings = replace(known, reflect_apply=True) if reflect_apply else known
    scheduler = MaintenanceScheduler.from_settings(visit.store, settings)
    due = dict(scheduler.every)
    results: list[JobResult] = []
    for number, (job, every) in enumerate(due.items()):
        visit.progress(number, len(due), job)
        scheduler.every = {job: every}
        done = scheduler.tick(dry_run=dry_run)
        if done.held_by:
            return done
        results += done.results
    visit.progress(len(due), len(due), "maintenance")
    return TickResult.of(results)


def model_of(visit: Visit) -> LanguageModel:
    if visit.model is None:
        raise InvalidInput("This client lends no model for sampling; call again without ask_model.")
    return visit.model


def judging(model: LanguageModel) -> ConflictFn:
    from nacre.remember.asked_model import AskedModel

    asked = AskedModel(model)

    def contradicts(a: Memory, b: Memory) -> bool:
        verdict = asked(a, b, 0.0)
        return verdict is not None and verdict.kind == "contradiction"

    return contradicts


UPKEEP = (
    Tool("conflicts", conflicts, "Find memories that contradict, update or repeat each other: of one, or of all.",
         record(conflicts=RECORDS, found=WHOLE, noted=WHOLE)),
    Tool("reflect", reflect, "Condense episodes that speak of the same into what is known.",
         record(summaries=RECORDS, applied=TRUTH), "writes"),
    Tool("maintenance_tick", maintenance_tick, "Let the store look after itself: what is due of fading, condensing, "
         "tidying.", record(summary=TEXT, jobs=RECORDS), "writes"),
)  # fmt: skip
