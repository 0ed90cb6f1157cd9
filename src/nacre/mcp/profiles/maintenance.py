"""Tools of several profiles: archives, conflicts, reflection and maintenance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nacre.errors import InvalidInput
from nacre.mcp.profiles.core import bounded
from nacre.mcp.records import conflict_record, line, listing, references
from nacre.mcp.tool import Answer, ToolSession, read_profile
from nacre.model import Memory
from nacre.model.fence import escaped, fenced
from nacre.model.memory import Json

if TYPE_CHECKING:
    from nacre.conflicts.judge import ConflictFn
    from nacre.lifecycle.scheduler import TickResult
    from nacre.protocols import LanguageModel

SUFFIXES = (".nacre", ".ahkai")


IMPORT_COUNTS = ("imported", "skipped", "overwritten", "renamed", "errors", "vectors_regenerated")


def export(
    session: ToolSession, path: str, include_vectors: bool = True, include_superseded: bool = False,
    type: str | None = None, tag: str | None = None, since: float | None = None
) -> dict[str, Json]:  # fmt: skip
    from nacre.transfer.export import Choice, export_archive

    choice = Choice(
        types=(type,) if type else (),
        tags=(tag,) if tag else (),
        since=since,
        include_superseded=include_superseded,
        vectors=include_vectors,
    )
    report = export_archive(session.own, new_archive_path(path), choice, progress=session.progress)
    return {"path": str(report.path), "count": report.count, "bytes": report.bytes, "elapsed": report.elapsed}


def new_archive_path(path: str) -> Path:
    """Refuses existing files: an agent may be tricked into overwriting one."""
    place = Path(path).expanduser()
    if place.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"{path} is not the name of an archive; use one that ends in .nacre or .ahkai.")
    if place.exists():
        raise InvalidInput(f"{path} exists already; choose another name.")
    return place


def import_(
    session: ToolSession,
    path: str,
    on_conflict: Literal["skip", "overwrite", "rename", "error"] = "skip",
    regenerate_vectors: bool = False,
    dry_run: bool = False,
) -> dict[str, Json]:
    from nacre.transfer.import_archive import import_archive

    report = import_archive(
        session.own, path, on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run,
        progress=session.progress,
    )  # fmt: skip
    return {"ok": True, **{name: getattr(report, name) for name in IMPORT_COUNTS}}


def conflicts(
    session: ToolSession,
    id: str | None = None,
    threshold: float | None = None,
    note: bool = False,
    ask_model: bool = False,
    limit: int = 20,
) -> Answer:
    judge = contradiction_judge(model_of(session)) if ask_model else None
    matches = session.store.find_conflicts(
        id and session.id(id), threshold=threshold, contradiction_fn=judge, progress=session.progress
    )
    listed = [session.clean(each) for each in matches[: bounded("limit", limit)]]
    noted = session.store.note_conflicts(matches) if note else 0
    data: dict[str, Json] = {
        "conflicts": [conflict_record(each) for each in listed],
        "found": len(matches),
        "noted": noted,
    }
    lines = [one for each in listed for one in (line(each.a, f"{each.kind} of the next"), line(each.b))]
    text = fenced(lines) if lines else "No memories conflict."
    return Answer(data, f"{text}\n{noted} of {len(matches)} were put into the review queue." if note else text)


def reflect(
    session: ToolSession, apply: bool = False, consolidate: bool = True, min_cluster: int = 3, ask_model: bool = False
) -> Answer:
    from nacre.lifecycle.reflection import ReflectionEngine, summarizer_from, with_language_model

    writer = with_language_model(model_of(session)) if ask_model else summarizer_from(session.store.settings)
    engine = ReflectionEngine(session.own, min_cluster_size=min_cluster, summarizer=writer)
    plan = engine.plan(progress=session.progress)
    stored = engine.apply(plan, consolidate) if apply else [each.summary for each in plan]
    summaries = session.clean_all(stored)
    data: dict[str, Json] = {"summaries": references(summaries), "applied": apply}
    return Answer(data, listing(summaries, "No episodes speak of the same."))


def maintenance_tick(session: ToolSession, dry_run: bool = False, reflect_apply: bool = False) -> Answer:
    result = tick(session, dry_run=dry_run, reflect_apply=reflect_apply)
    jobs: list[Json] = [{"job": each.job, "done": each.done} for each in result.results]
    return Answer({"jobs": jobs}, escaped(result.summary(), keep_lines=True))


def tick(session: ToolSession, *, dry_run: bool = False, reflect_apply: bool = False) -> TickResult:
    from nacre.lifecycle.scheduler import MaintenanceScheduler

    known = session.store.settings
    scheduler = MaintenanceScheduler(session.own, replace(known, reflect_apply=reflect_apply or known.reflect_apply))
    return scheduler.tick(dry_run=dry_run, progress=session.progress)


def model_of(session: ToolSession) -> LanguageModel:
    if session.model is None:
        raise InvalidInput("This client offers no model for sampling; call again without ask_model.")
    return session.model


def contradiction_judge(model: LanguageModel) -> ConflictFn:
    from nacre.conflicts.language_model import LanguageModelJudge

    asked = LanguageModelJudge(model)

    def contradicts(a: Memory, b: Memory) -> bool:
        verdict = asked(a, b, 0.0)
        return verdict is not None and verdict.kind == "contradiction"

    return contradicts


ARCHIVES = read_profile("archives", export, import_).tools
MAINTENANCE = read_profile("maintenance", conflicts, reflect, maintenance_tick).tools
