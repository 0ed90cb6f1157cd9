"""Long work that a request starts and another one asks about. How far it has come is a term of the store, so that every
instance over it can answer."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from nacre.access.view import JOB_KIND
from nacre.errors import InvalidInput, NacreError, NameNotFound
from nacre.files import ThreadLock
from nacre.model.memory import Json
from nacre.protocols import Backend, Clock, Progress, TermSet
from nacre.rest.problems import problem
from nacre.server.users import Identity

log = logging.getLogger("nacre")

AT_ONCE = 2  # jobs of one instance: they compete with requests for the processor
REPORT_SECONDS = 1.0  # between two writes of how far a job has come
LOST_SECONDS = 60.0  # without a report: its instance has ended
KEPT_SECONDS = 7 * 86_400.0
RUNNING, DONE, FAILED, LOST = "running", "done", "failed", "lost"
Work = Callable[[Progress], Json]


@dataclass(frozen=True, slots=True)
class Job:
    """`state` is running, done, failed or lost (the server that ran it has ended); `error` is a problem."""

    id: str
    kind: str
    space: str
    user: str
    state: str
    started_at: float
    reported_at: float
    done: int = 0
    total: int = 0
    what: str = ""
    result: Json = None
    error: Json = None


class Jobs:
    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._threads = ThreadPoolExecutor(AT_ONCE, "nacre-job")
        self._running: dict[str, str] = {}
        self._ending = ThreadLock()  # whoever reads that a job has ended finds it gone from `_running`, too

    def use(self, backend: Backend) -> None:
        """Another file is in the store's place."""
        self._backend = backend

    def start(self, kind: str, space: str, user: str, work: Work) -> Job:
        self._sweep()
        now = self._clock()
        job = Job(secrets.token_hex(8), kind, space, user, RUNNING, now, now)
        self._write(job)
        self._running[job.id] = job.kind
        try:
            self._threads.submit(self._run, job, work)
        except BaseException:  # the server is stopping
            self._running.pop(job.id)
            raise
        return job

    def _run(self, job: Job, work: Work) -> None:
        ended = self._outcome(job, work)
        with self._ending:
            try:
                self._write(ended)
            except Exception:  # the store says "running" until the job counts as lost
                log.exception("How the job %s ended could not be written.", job.kind)
            finally:
                self._running.pop(job.id)

    def _outcome(self, job: Job, work: Work) -> Job:
        last = time.monotonic()
        current = job

        def report(done: int, total: int, what: str) -> None:
            nonlocal last, current
            current = replace(current, done=done, total=total, what=what, reported_at=self._clock())
            if time.monotonic() - last >= REPORT_SECONDS:
                last = time.monotonic()
                self._write(current)

        try:
            result = work(report)
            return replace(current, state=DONE, result=result, reported_at=self._clock())
        except NacreError as error:
            return replace(current, state=FAILED, error=problem(error), reported_at=self._clock())
        except Exception:  # a thread must report its error
            log.exception("The job %s failed.", job.kind)
            return replace(current, state=FAILED, error={"title": "It failed unexpectedly; see the server's log."})

    def get(self, id: str, asker: Identity) -> Job:
        """Raises `NameNotFound` for one that is not there, or not to be seen."""
        data = self._backend.term(JOB_KIND, id)
        job = None if data is None else self._seen(id, data)
        if job is None or not visible(job, asker):
            raise NameNotFound("job", id, [], "/v1/jobs")
        return job

    def list(self, asker: Identity) -> list[Job]:
        jobs = (self._seen(id, data) for id, data in self._backend.terms(JOB_KIND).items())
        return sorted((job for job in jobs if visible(job, asker)), key=lambda job: -job.started_at)

    def demand_none(self, what: str) -> None:
        """Raises `InvalidInput` while this instance runs a job. What the store says of jobs may be older: a copy of it
        was made by one."""
        with self._ending:
            kinds = ", ".join(sorted(set(self._running.values())))
        if kinds:
            raise InvalidInput(f"To {what}, no job may run, and there is {kinds}; wait until it has ended.")

    def close(self) -> None:
        """Waits for no job: one that is cut off can be started again."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _seen(self, id: str, data: Any) -> Job:
        job = Job(id, **data)
        silent = self._clock() - job.reported_at > LOST_SECONDS and id not in self._running  # which may wait its turn
        lost = job.state == RUNNING and silent
        return replace(job, state=LOST) if lost else job

    def _write(self, job: Job) -> None:
        data = asdict(job)
        del data["id"]
        self._backend.commit([TermSet(JOB_KIND, job.id, data)])

    def _sweep(self) -> None:
        for id, data in self._backend.terms(JOB_KIND).items():
            if self._clock() - float(str(data["reported_at"])) > KEPT_SECONDS:
                self._backend.commit([TermSet(JOB_KIND, id, None)])


def visible(job: Job, asker: Identity) -> bool:
    """To whoever started it, with a token that reaches its space, and to admins of that space."""
    own = job.user == asker.user and (asker.reaches(job.space) if job.space else not asker.spaces)
    return own or asker.manages([job.space] if job.space else [])
