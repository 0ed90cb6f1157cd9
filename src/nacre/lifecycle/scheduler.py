"""Runs the maintenance jobs when they are due, in one process at a time (a lease in the store decides which)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from nacre.engine import Engine
from nacre.errors import InvalidInput, NacreError, StorageError, UnknownName
from nacre.lifecycle.daemon import Process, this_process
from nacre.lifecycle.jobs import ACTOR, JOBS, Job, JobResult, has_copies, interval
from nacre.model.instants import DAY, iso
from nacre.model.memory import Json
from nacre.protocols import Clock, Progress, Reader, TermSet
from nacre.settings import Settings

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

log = logging.getLogger("nacre")

LEASE_KIND = "lease"
LEASE_SECONDS = 120.0  # how long another machine waits after a crash
RENEWALS = 4  # within that time: three may fail before the lease is lost
FARTHEST = 3_600.0  # a lease further ahead was written by a clock that was set back since


@dataclass(frozen=True, slots=True)
class Holder:
    owner: str
    process: Process
    until: float

    def holds(self, now: float) -> bool:
        return now < self.until < now + FARTHEST and not self.process.gone

    def __str__(self) -> str:
        name = self.process.host.partition(" ")[0]
        return f"process {self.process.pid} on {name}, until {iso(self.until)}"


@dataclass(slots=True)
class Lease:
    """A right that one process has at a time, stored in the store; it ends with its time or its process. `owner` is new
    for every instance."""

    store: MemoryStore
    name: str = "maintenance"
    seconds: float = LEASE_SECONDS
    clock: Clock = time.time
    owner: str = field(default_factory=lambda: uuid4().hex)
    lost: threading.Event = field(default_factory=threading.Event)

    def holder(self) -> Holder | None:
        """Who holds it now; None when it has expired or the process is gone."""
        return self._holding(self.store.backend.terms(LEASE_KIND).get(self.name))

    def acquire(self) -> bool:
        """Takes or renews the lease; False when another process holds it."""
        me, taken = this_process(), False

        def plan(reader: Reader) -> list[TermSet]:
            nonlocal taken
            other = self._holding(reader.term(LEASE_KIND, self.name))
            taken = other is None or other.owner == self.owner
            until = self.clock() + self.seconds
            mine: dict[str, Json] = {"owner": self.owner, **asdict(me), "until": until}
            return [TermSet(LEASE_KIND, self.name, mine)] if taken else []

        self._engine().write(None, plan)
        return taken

    def release(self) -> None:
        def plan(reader: Reader) -> list[TermSet]:
            stored = holder_of(reader.term(LEASE_KIND, self.name))
            return [TermSet(LEASE_KIND, self.name, None)] if stored is not None and stored.owner == self.owner else []

        self._engine().write(None, plan)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """False when another process holds it; else it is renewed until the end, and `lost` is set if that fails."""
        if not self.acquire():
            yield False
            return
        self.lost.clear()
        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(ended,), name=f"lease {self.name}", daemon=True)
        renewing.start()
        try:
            yield True
        finally:
            ended.set()
            renewing.join()
            with suppress(StorageError):  # it expires soon by itself
                self.release()

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(self.seconds / RENEWALS):
            try:
                if self.acquire():
                    continue
            except StorageError as error:
                log.warning("The lease %r could not be renewed: %s", self.name, error)
                continue
            self.lost.set()
            log.warning("The lease %r was taken by another process.", self.name)
            return

    def _holding(self, stored: Mapping[str, Json] | None) -> Holder | None:
        holder = holder_of(stored)
        return holder if holder is not None and holder.holds(self.clock()) else None

    def _engine(self) -> Engine:
        return self.store.acting_as(ACTOR)


def holder_of(stored: Mapping[str, Json] | None) -> Holder | None:
    """None also for a lease that cannot be read."""
    if stored is None:
        return None
    owner, pid, host, born, until = (stored.get(key) for key in ("owner", "pid", "host", "born", "until"))
    if not isinstance(owner, str) or not isinstance(pid, int) or not isinstance(until, int | float):
        return None
    return Holder(owner, Process(pid, str(host), str(born or "")), float(until))


HISTORY_KIND = "maintenance"
SET_BACK = 3_600.0  # a last run so far ahead was recorded by a clock that was set back since
LONGEST_ERROR = 500  # characters; the log has all of it


@dataclass(frozen=True, slots=True)
class JobHistory:
    """`last_at` is the last success; `error` is what went wrong since, and empty after a success."""

    last_at: float | None = None
    runs: int = 0
    done: int = 0
    error: str = ""
    failed_at: float | None = None

    def due(self, every: float, now: float) -> bool:
        """A job that never ran is due."""
        return self.last_at is None or not -SET_BACK < now - self.last_at < every

    def ran(self, done: int, now: float) -> JobHistory:
        return JobHistory(now, self.runs + 1, self.done + done)

    def failed(self, error: str, now: float) -> JobHistory:
        return replace(self, error=error[:LONGEST_ERROR], failed_at=now)


@dataclass(frozen=True, slots=True)
class StoredHistories:
    """One vocabulary term for each job; `key` names a job, with the space where it runs in each. Only the holder of the
    lease writes them."""

    store: MemoryStore

    def history(self, key: str) -> JobHistory:
        stored = self.store.backend.terms(HISTORY_KIND).get(key) or {}
        try:
            return JobHistory(**stored)  # type: ignore[arg-type]
        except TypeError:
            return JobHistory()  # written by another version

    def note(self, key: str, history: JobHistory) -> None:
        self.store.backend.commit([TermSet(HISTORY_KIND, key, asdict(history))])


TICK_SECONDS = 300.0  # how often a running one looks for what is due; the shortest usual interval is an hour
SCHEDULER_LEASE_SECONDS = 600.0  # long, because each renewal writes to the disk
LOOK_AGAIN = DAY  # a dry run costs as much as a real one
WORK = "tick"  # held during one tick; "maintenance" is held by the long-running scheduler


@dataclass(frozen=True, slots=True)
class TickResult:
    """`held_by` names another process that was working; then nothing was done."""

    results: tuple[JobResult, ...] = ()
    held_by: str = ""

    def outcome(self, job: str) -> tuple[bool, int, str | None]:
        """Whether the job ran, how much it did in all spaces, and what went wrong."""
        results = [each for each in self.results if each.job == job]
        ran = any(not each.error for each in results)
        return ran, sum(each.done for each in results), next((each.error for each in results if each.error), None)

    def summary(self) -> str:
        if self.held_by:
            return f"Another process is running the maintenance: {self.held_by}."
        return "\n".join(map(str, self.results)) or "Nothing was due."


class JobState(NamedTuple):
    """`space` is empty for a job of the complete store, and `every` None where the job is off. It is due from `next_at`
    on: 0.0 where it never ran, None where it is off or has nothing to do."""

    job: Job
    space: str
    every: float | None
    history: JobHistory
    next_at: float | None


def no_progress(done: int, total: int, what: str) -> None:
    """The progress of a caller who does not ask for it."""


class MaintenanceScheduler:
    """Runs the jobs as the settings say: those given, or the store's own. The history is in the store.

    With `all_spaces` the jobs run in every space, each with its settings, else in the store's own. Raises
    `InvalidInput` for an invalid interval in the settings.
    """

    def __init__(self, store: MemoryStore, settings: Settings | None = None, *, all_spaces: bool = False) -> None:
        self.store = store
        self.settings = settings or store.settings
        self.every = intervals(self.settings)  # in seconds; None means that a job is off
        self.tick_interval = TICK_SECONDS
        self.all_spaces = all_spaces
        self.lease = Lease(store, seconds=SCHEDULER_LEASE_SECONDS)
        self._histories = StoredHistories(store)
        self._looked: dict[str, float] = {}

    def tick(
        self,
        now: float | None = None,
        *,
        jobs: Sequence[str] = (),
        dry_run: bool = False,
        stop: threading.Event | None = None,
        progress: Progress = no_progress,
    ) -> TickResult:
        """Runs the jobs that are due, or the named `jobs` whether due or not. A dry run changes nothing, not even the
        schedule. When `stop` is set, the running job is the last one."""
        at = self.store.now() if now is None else now
        wanted = [UnknownName.get("job", name, JOBS) for name in jobs]
        if dry_run:
            return TickResult(tuple(self._tried(job, store, at) for job, store in self._places(wanted, at, progress)))
        if next(self._places(wanted, at), None) is None:
            return TickResult()
        work = Lease(self.store, WORK)
        with work.held() as free:
            if not free:
                return TickResult(held_by=str(work.holder() or "it has just ended"))
            results = []
            for job, store in self._places(wanted, at, progress):
                if work.lost.is_set() or (stop is not None and stop.is_set()):
                    break
                results.append(self._done(job, store, at))
            return TickResult(tuple(results))

    def run_forever(self, stop: threading.Event | None = None) -> None:
        """Runs until `stop` is set; waits while another process does the same for this store."""
        ended = threading.Event() if stop is None else stop
        while not ended.is_set():
            try:
                self._run_while_held(ended)
            except StorageError as error:
                log.warning("The maintenance waits for the store: %s", error)
            ended.wait(self.tick_interval)

    def states(self) -> Iterator[JobState]:
        """Of every job, in each space where it runs."""
        now = self.store.now()
        for job in JOBS.values():
            for store in self._stores(job):
                every, history = self._every(job, store), self._histories.history(job.key(store.space))
                next_at = None if every is None else self._due_at(job, every, now)
                if next_at is not None and every is not None and history.last_at is not None:
                    waits = not history.due(every, now) or history.last_at <= now  # else the clock was set back
                    next_at = max(next_at, history.last_at + every) if waits else next_at
                yield JobState(job, "" if job.per_store else store.space, every, history, next_at)

    def _run_while_held(self, stop: threading.Event) -> None:
        with self.lease.held() as mine:
            while mine and not stop.is_set() and not self.lease.lost.is_set():
                result = self.tick(stop=stop)
                if result.held_by:
                    log.info("%s", result.summary())
                for each in result.results:
                    log.log(logging.INFO if each.done else logging.DEBUG, "%s", each)
                stop.wait(self.tick_interval)

    def _places(
        self, wanted: Sequence[Job], now: float, progress: Progress = no_progress
    ) -> Iterator[tuple[Job, MemoryStore]]:
        jobs = wanted or list(JOBS.values())
        for number, job in enumerate(jobs):
            progress(number, len(jobs), job.name)
            for store in self._stores(job):
                if wanted or self._due(job, store, now):
                    yield job, store
        progress(len(jobs), len(jobs), "maintenance")

    def _stores(self, job: Job) -> list[MemoryStore]:
        if job.per_store or not self.all_spaces:
            return [self.store]
        return [self.store.in_space(space) for space in sorted({self.store.space, *self.store.spaces()})]

    def _settings_for(self, store: MemoryStore) -> Settings:
        return self.settings if store.space == self.store.space else store.settings

    def _due(self, job: Job, store: MemoryStore, now: float) -> bool:
        every, key = self._every(job, store), job.key(store.space)
        if every is None:
            return False
        if key in self._looked and -SET_BACK < now - self._looked[key] < LOOK_AGAIN:
            return False
        if not self._histories.history(key).due(every, now):
            return False
        at = self._due_at(job, every, now)
        return at is not None and at <= now

    def _every(self, job: Job, store: MemoryStore) -> float | None:
        """In seconds; None where the job is off in the store's space."""
        settings = self._settings_for(store)
        return (self.every if settings is self.settings else intervals(settings)).get(job.name)

    def _due_at(self, job: Job, every: float, now: float) -> float | None:
        """As the job says from its own results; 0.0 where only its history counts."""
        try:
            return 0.0 if job.due_at is None else job.due_at(self.store, self.settings, every, now)
        except NacreError:
            return 0.0  # the job itself reports the error

    def _done(self, job: Job, store: MemoryStore, now: float) -> JobResult:
        result, key = self._tried(job, store, now, dry_run=False), job.key(store.space)
        if result.dry:
            self._looked[key] = now
            return result
        try:
            history = self._histories.history(key)
            noted = history.failed(result.error, now) if result.error else history.ran(result.done, now)
            self._histories.note(key, noted)
        except StorageError as error:
            # It will run again and find nothing to do.
            log.warning("The run of the job %s could not be recorded: %s", job.name, error)
        return result

    def _tried(self, job: Job, store: MemoryStore, now: float, *, dry_run: bool = True) -> JobResult:
        space = "" if job.per_store else store.space
        try:
            return replace(job.run(store, self._settings_for(store), now, dry_run=dry_run), space=space)
        except Exception as error:  # one failing job must not stop the others
            log.exception("The job %s failed.", job.name)
            return JobResult(job.name, space=space, error=str(error) or type(error).__name__)


def intervals(settings: Settings) -> dict[str, float | None]:
    """The interval of every job, in seconds; None when it is off."""
    every = {name: job.usual for name, job in JOBS.items()} | {"backup": settings.backup_every}
    for part in filter(str.strip, settings.maintenance_every.split(",")):
        name, sign, value = (each.strip() for each in part.partition("="))
        if name == "backup":
            raise InvalidInput("The setting maintenance_every names backup; set backup_every instead.")
        UnknownName.check("job", name, JOBS)
        if not sign:
            raise InvalidInput(f"The setting maintenance_every says {part.strip()!r}; write {name}=24h or {name}=off.")
        every[name] = value
    seconds = {name: interval(value) for name, value in every.items()}
    return seconds if has_copies(settings) else seconds | {"backup": None}
