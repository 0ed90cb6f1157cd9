"""Runs decay and reflection when they are due; a failure of one does not stop the other."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.compat.ai_houkai.memory_system.store import Memory, MemoryStore

from ..memory_system.decay import DecayEngine
from ..memory_system.reflection import ReflectionEngine
from .state import MaintenanceState

if TYPE_CHECKING:
    from ..cli.config import MaintenanceConfig

log = logging.getLogger("nacre")

STATE = "~/.ai_houkai/maintenance.state.json"


@dataclass
class TickResult:
    ran_decay: bool = False
    ran_reflect: bool = False
    decayed: int = 0
    reflected: int = 0
    decay_error: str | None = None
    reflect_error: str | None = None

    def summary(self) -> str:
        jobs = (("decay", self.ran_decay, self.decay_error, f"{self.decayed} pruned"),
                ("reflect", self.ran_reflect, self.reflect_error, f"{self.reflected} summaries"))  # fmt: skip
        entries = [f"{job}: {f'FAILED ({error})' if error else done}" for job, ran, error, done in jobs if ran]
        return ", ".join(entries) or "nothing to do"


@dataclass
class MaintenanceScheduler:
    """Intervals are in seconds; None switches a job off. Reflections are only counted unless `reflect_apply`."""

    store: MemoryStore
    decay_every: float | None = 86_400
    reflect_every: float | None = 604_800
    tick_interval: float = 300
    state_path: str | Path = STATE
    decay_rate: float = 0.1
    min_score: float = 0.05
    protect_types: tuple[str, ...] = ("procedural",)
    min_cluster_size: int = 3
    reflect_apply: bool = False

    def tick(self, now: float | None = None) -> TickResult:
        at = time.time() if now is None else now
        state = MaintenanceState.load(self.state_path)
        result = TickResult()
        if self.decay_every is not None and state.next_run_at(state.last_decay_at, self.decay_every, at) <= at:
            result.ran_decay = True
            decay = DecayEngine(self.store, self.decay_rate, self.min_score, self.protect_types)
            result.decayed, result.decay_error = run_job(lambda: decay.prune(now=at))
            if result.decay_error is None:
                state.last_decay_at, state.total_decayed = at, state.total_decayed + result.decayed
        if self.reflect_every is not None and state.next_run_at(state.last_reflect_at, self.reflect_every, at) <= at:
            result.ran_reflect = True
            reflection = ReflectionEngine(self.store, min_cluster_size=self.min_cluster_size)
            result.reflected, result.reflect_error = run_job(
                lambda: reflection.reflect(dry_run=not self.reflect_apply, consolidate=self.reflect_apply)
            )
            if result.reflect_error is None and self.reflect_apply:
                state.last_reflect_at, state.total_reflected = at, state.total_reflected + result.reflected
        state.save(self.state_path)
        return result

    def run_forever(self, stop_event: threading.Event | None = None) -> None:
        stop = stop_event or threading.Event()
        while not stop.is_set():
            log.info("maintenance: %s", self.tick().summary())
            stop.wait(self.tick_interval)


def make_scheduler(store: MemoryStore, known: MaintenanceConfig) -> MaintenanceScheduler:
    data: dict[str, Any] = {each.name: getattr(known, each.name) for each in fields(MaintenanceScheduler)[1:]}
    return MaintenanceScheduler(store, **data)


def run_job(job: Callable[[], Sequence[Memory]]) -> tuple[int, str | None]:
    """How many memories the job returned, or why it failed."""
    try:
        return len(job()), None
    except Exception as error:  # any error: the other job must run all the same
        log.exception("A job of the maintenance failed.")
        return 0, str(error) or type(error).__name__
