"""nacre maintenance: run the jobs, once or in the background, and show their state."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli import remote
from nacre.cli.catalogue import GroupWithMembers
from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, Refused, StoreProblem
from nacre.cli.options import command, form_option, option
from nacre.cli.ui.output import DATA, Column, Form, print_items, print_table, put, say
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.records import count_column
from nacre.cli.ui.times import age
from nacre.errors import InvalidInput
from nacre.factory import is_database, is_typed, store_file, store_name
from nacre.lifecycle import daemon
from nacre.lifecycle.daemon import DaemonFiles
from nacre.lifecycle.jobs import JOBS, JobResult
from nacre.lifecycle.scheduler import JobHistory, MaintenanceScheduler
from nacre.model.instants import format_duration, iso
from nacre.settings import ENVIRONMENT, IN_MEMORY, default_store

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.server.upkeep import UpkeepJob

ACTOR = "maintenance"
STARTING_SECONDS = 30.0
PAUSE_SECONDS = 0.05
NOBODY_THERE = "Nobody looks after the server's store in the background; `nacre maintenance start` there does."
LAST_WORDS = 2_000  # characters of the log of a process that ended at once


@click.group("maintenance", cls=GroupWithMembers)
def maintenance_command() -> None:
    """Run the maintenance jobs: decay, reflect, clean up, back up. Each job is one operation that `nacre undo --any`
    takes back, except for what is deleted for good.

    \b
      nacre maintenance tick --dry-run    what would be done now
      nacre maintenance tick              do what is due, once; for cron
      nacre maintenance start             from now on, in the background
      nacre maintenance status            what was done when, and what comes next

    The setting maintenance_every says how often; "off" switches a job off.
    """


@command("tick", form_option(), group=maintenance_command)
@option("--job", "Only this, due or not; repeatable.", to="jobs", choices=JOBS, multiple=True)
@option("--dry-run", "Say what would be done, and do nothing.")
@option("-v --verbose", "Also list the jobs that found nothing to do.")
def tick(cli: CliContext, jobs: tuple[str, ...], dry_run: bool, verbose: bool, form: Form) -> None:
    """Do what is due, once, and list the jobs that did something; with --job, or as JSON or YAML, all of them. Looks
    after every space of the store, unless --space names one."""
    everything = verbose or bool(jobs) or form in DATA
    if remote.is_remote(cli):
        print_results(remote.maintain(cli, jobs, cli.now(), dry_run=dry_run), form, everything=everything)
        return
    with cli.open() as store:
        result = scheduler_of(cli, store).tick(jobs=jobs, dry_run=dry_run)
    if result.held_by:
        raise Refused(f"another maintenance is at work ({result.held_by}); repeat when it has ended.")
    print_results(result.results, form, everything=everything)


def print_results(results: Sequence[JobResult], form: Form, *, everything: bool) -> None:
    listed = [each for each in results if everything or each.done or each.error]
    columns: list[Column[JobResult]] = [
        Column("job", lambda each: each.job, style="cyan"),
        Column("space", lambda each: each.space, lambda each: each.space or "(all)"),
        count_column("done", lambda each: each.done),
        Column("what", lambda each: each.error or each.note, wide=True, wraps=True),
    ]
    looked = f"Nothing to do: {count_of(len(results), 'job', 'jobs')} found nothing; --verbose lists them."
    print_items(listed, columns, result_record, form, looked if results else "Nothing was due.")
    failed = [each for each in results if each.error]
    if failed:
        raise StoreProblem("; ".join(map(str, failed)))


@command("run", group=maintenance_command)
@option("--log FILE", "Write the log to FILE, not to stderr.")
def run(cli: CliContext, log: Path | None) -> None:
    """Do what is due from now on, in the foreground, until SIGTERM or Ctrl-C; the job under way is finished."""
    places = places_of(cli)
    with cli.open_or_make() as store:
        scheduler = scheduler_of(cli, store)
        if not scheduler.lease.acquire():
            raise Refused(f"this store is looked after already, by {scheduler.lease.holder() or 'another process'}.")
        with log_output(log), daemon.stopping_on_signals() as stop, daemon.pid_file(places.pid):
            logging.getLogger("nacre").info("The maintenance of %s begins.", store_name(cli.settings().store))
            scheduler.run_forever(stop)
            logging.getLogger("nacre").info("The maintenance ends.")


@command("start", group=maintenance_command)
def start(cli: CliContext) -> None:
    """Do what is due from now on, in the background."""
    places = places_of(cli)
    with cli.open_or_make() as store:
        holder = scheduler_of(cli, store).lease.holder()  # also: a store or setting that cannot be read says so here
    other = daemon.running(places.pid)
    at_work = holder or (f"process {other.pid}" if other else None)
    if at_work:
        raise Refused(f"this store is looked after already, by {at_work}.")
    if is_typed(cli.settings().key):
        raise Refused(
            "the maintenance in the background cannot ask for the passphrase; put it into a file or the keyring, and "
            "name that with `nacre config set key file:PATH` or `keyring:NAME`."
        )
    begun = places.log.stat().st_size if places.log.exists() else 0
    pid = daemon.spawn_detached([*command_line(cli), "run", "--log", str(places.log)], places.log)
    if not wait_until_started(pid, places.pid):
        raise StoreProblem(f"the maintenance ended at once: {last_log_line(places.log, begun)}")
    say(f"The maintenance runs as process {pid}; its log is {places.log}.")
    put(str(pid))


@command("stop", group=maintenance_command)
@option("--timeout SECONDS", "How long to wait for the job that it is at.", default=daemon.STOPPING_SECONDS)
def stop(cli: CliContext, timeout: float) -> None:
    """End the maintenance in the background; the job under way is finished."""
    places = places_of(cli)
    process = daemon.running(places.pid)
    if process is None:
        daemon.remove_stale_pid(places.pid)
        raise NotFound("no maintenance runs for this store.")
    if not process.here:
        raise Refused(f"the maintenance runs on another machine ({process.host}); stop it there.")
    if not daemon.stop_daemon(places.pid, timeout):
        raise Refused(f"process {process.pid} was asked to end and still finishes its job; it ends by itself.")
    say(f"The maintenance, process {process.pid}, has ended.")


@command("status", form_option(), group=maintenance_command)
def status(cli: CliContext, form: Form) -> None:
    """Show for each job when it ran, when it is due, what it did and what went wrong, and who does it."""
    now = cli.now()
    if remote.is_remote(cli):
        space, state = remote.upkeep(cli)
        print_lines([remote_line(space, each) for each in state.jobs], {"pid": None, "lease": None}, now, form)
        if form not in DATA:
            say(f"The server's store is looked after by {state.holder}." if state.holder else NOBODY_THERE)
        return
    process = daemon.running(places_of(cli).pid)
    with cli.open() as store:
        scheduler = scheduler_of(cli, store)
        holder = scheduler.lease.holder()
        lines = [
            JobLine(each.job.name, each.space, each.every, each.history, each.next_at) for each in scheduler.states()
        ]
    lease = holder and {"pid": holder.process.pid, "host": holder.process.host, "until": iso(holder.until)}
    print_lines(lines, {"pid": process and process.pid, "lease": lease}, now, form)
    if form in DATA:
        return
    say(f"It runs as process {process.pid}." if process else "No maintenance runs in the background.")
    if holder is not None and (process is None or holder.process != process):
        say(f"The store is looked after by {holder}.")


def remote_line(space: str, job: UpkeepJob) -> JobLine:
    history = JobHistory(last_at=job.last_at, done=job.done, error=job.error)
    return JobLine(job.job, space, job.every, history, job.next_at)


def print_lines(lines: Sequence[JobLine], about: dict[str, object], now: float, form: Form) -> None:
    record = {**about, "jobs": [job_record(line, now) for line in lines]}
    columns: list[Column[JobLine]] = [
        Column("job", lambda line: line.job, style="cyan"),
        Column("space", lambda line: line.space, lambda line: line.space or "(all)"),
        Column("every", lambda line: "off" if line.every is None else format_duration(line.every)),
        Column("last run", lambda line: iso_or_empty(line.history.last_at), lambda line: last_run(line, now)),
        Column("next", lambda line: iso_or_empty(line.next_at), lambda line: next_run(line, now)),
        Column("runs", lambda line: str(line.history.runs), only="tsv"),
        count_column("done", lambda line: line.history.done),
        Column("error", lambda line: line.history.error, wide=True, wraps=True),
    ]
    print_table(lines, columns, record, form)


def scheduler_of(cli: CliContext, store: MemoryStore) -> MaintenanceScheduler:
    return MaintenanceScheduler(store.as_actor(ACTOR), store.settings, all_spaces="space" not in cli.flags)


def places_of(cli: CliContext) -> DaemonFiles:
    store = cli.settings().store
    if store == IN_MEMORY:
        raise InvalidInput("A store that is kept nowhere needs no maintenance; name a file with --store.")
    if is_database(store):  # it has no folder here
        digest = blake2b(store.encode(), digest_size=4).hexdigest()
        return DaemonFiles.beside(default_store().with_name(f"database-{digest}"))
    return DaemonFiles.beside(store_file(store).absolute())


def command_line(cli: CliContext) -> list[str]:
    """This program for this store, however it was named; -P: a folder called nacre is not taken for it."""
    store, flags = cli.settings().store, dict(cli.flags)
    if is_database(store):  # by the environment: others may see the command line, and the address may hold a password
        flags.pop("store", None)
        os.environ[f"{ENVIRONMENT}STORE"] = store
    else:
        flags["store"] = str(store_file(store).absolute())
    words = [word for name, value in sorted(flags.items()) for word in (f"--{name}", value)]
    return [sys.executable, "-P", "-m", "nacre", *words, "maintenance"]


def log_output(log: Path | None) -> AbstractContextManager[None]:
    if log is not None:
        return daemon.logging_to(log)
    logging.basicConfig(level=logging.INFO, format=daemon.LOG_FORM)
    return nullcontext()


def wait_until_started(pid: int, file: Path) -> bool:
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline and daemon.is_alive(pid):
        if daemon.get_pid(file) == pid:
            return True
        time.sleep(PAUSE_SECONDS)
    return False


def last_log_line(log: Path, since: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - LAST_WORDS))
            text = file.read().decode("utf-8", "replace").strip()
    except OSError as error:
        text = str(error)
    return text.splitlines()[-1].removeprefix("nacre: ") if text else f"see {log}"


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job of one space; `every` is in seconds. It and `next_at` are None where the job is off; a job is due from
    `next_at` on."""

    job: str
    space: str
    every: float | None
    history: JobHistory
    next_at: float | None


def iso_or_empty(at: float | None) -> str:
    """Empty also for 0, the time of what is due and never ran."""
    return iso(at) if at else ""


def last_run(line: JobLine, now: float) -> str:
    return "never" if line.history.last_at is None else age(line.history.last_at, now)


def next_run(line: JobLine, now: float) -> str:
    if line.next_at is None:
        return ""
    return "due" if line.next_at <= now else age(line.next_at, now)


def job_record(line: JobLine, now: float) -> dict[str, object]:
    return {
        "job": line.job,
        "space": line.space,
        "every_seconds": line.every,
        "last_run": iso_or_empty(line.history.last_at) or None,
        "next_run": iso_or_empty(line.next_at) or None,
        "due": line.next_at is not None and line.next_at <= now,
        "runs": line.history.runs,
        "done": line.history.done,
        "error": line.history.error,
        "failed_at": iso_or_empty(line.history.failed_at) or None,
    }


def result_record(each: JobResult) -> dict[str, object]:
    return {
        "job": each.job, "space": each.space, "done": each.done, "note": each.note, "error": each.error,
        "dry_run": each.dry,
    }  # fmt: skip
