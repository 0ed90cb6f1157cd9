"""How the maintenance is shown: what each job did, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.cli.ui.output import Column
from nacre.cli.ui.times import age
from nacre.lifecycle.jobs import JobResult
from nacre.lifecycle.scheduler import MaintenanceScheduler
from nacre.lifecycle.state import JobHistory
from nacre.model.instants import format_duration, iso


@dataclass(frozen=True, slots=True)
class Line:
    """A job as it stands; `next_at` is None where it is off, and now or earlier where it is due."""

    job: str
    space: str
    every: float | None
    history: JobHistory
    next_at: float | None


def lines(scheduler: MaintenanceScheduler) -> list[Line]:
    found = []
    for job, space, history in scheduler.histories():
        every = scheduler.every.get(job.name)
        next_at = None if every is None else 0.0 if history.last_at is None else history.last_at + every
        found.append(Line(job.name, space, every, history, next_at))
    return found


def line_columns(now: float) -> list[Column[Line]]:
    return [
        Column("job", lambda line: line.job, lambda line: line.job, style="cyan"),
        Column("space", lambda line: line.space, lambda line: line.space or "(all)"),
        Column("every", every, every),
        Column("last run", lambda line: moment(line.history.last_at), lambda line: last_run(line, now)),
        Column("next", lambda line: moment(line.next_at) if line.next_at else "", lambda line: next_run(line, now)),
        Column("runs", lambda line: str(line.history.runs)),
        Column("done", lambda line: str(line.history.done), lambda line: f"{line.history.done:,}", right=True),
        Column("error", lambda line: line.history.error, lambda line: line.history.error, wide=True, wraps=True),
    ]


def every(line: Line) -> str:
    return "off" if line.every is None else format_duration(line.every)


def moment(at: float | None) -> str:
    return "" if at is None else iso(at)


def last_run(line: Line, now: float) -> str:
    return "never" if line.history.last_at is None else age(line.history.last_at, now)


def next_run(line: Line, now: float) -> str:
    if line.next_at is None:
        return ""
    return "due" if line.next_at <= now else age(line.next_at, now)


def line_record(line: Line, now: float) -> dict[str, object]:
    return {
        "job": line.job,
        "space": line.space,
        "every_seconds": line.every,
        "last_run": moment(line.history.last_at) or None,
        "next_run": moment(line.next_at) if line.next_at else None,
        "due": line.next_at is not None and line.next_at <= now,
        "runs": line.history.runs,
        "done": line.history.done,
        "error": line.history.error,
        "failed_at": moment(line.history.failed_at) or None,
    }


def result_columns() -> list[Column[JobResult]]:
    return [
        Column("job", lambda each: each.job, lambda each: each.job, style="cyan"),
        Column("space", lambda each: each.space, lambda each: each.space or "(all)"),
        Column("done", lambda each: str(each.done), lambda each: f"{each.done:,}", right=True),
        Column("what", outcome, outcome, wide=True, wraps=True),
    ]


def outcome(result: JobResult) -> str:
    return result.error or result.note


def result_record(each: JobResult) -> dict[str, object]:
    return {
        "job": each.job, "space": each.space, "done": each.done, "note": each.note, "error": each.error,
        "dry_run": each.dry,
    }  # fmt: skip
