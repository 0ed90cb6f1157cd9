"""The maintenance jobs by name: each makes a plan and carries it out in one journaled operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nacre.errors import InvalidInput
from nacre.factory import is_database, store_file
from nacre.model import JournalFilter
from nacre.model.instants import DAY, parse_duration
from nacre.model.journal import CONSOLIDATE, DECAY, REFLECT, RETAIN, UNATTENDED
from nacre.settings import IN_MEMORY, Settings

if TYPE_CHECKING:  # listing the jobs must not import the store
    from nacre.lifecycle.backups import Backups
    from nacre.memory_store import MemoryStore

ACTOR = "maintenance"
OFF = "off"
WHY = UNATTENDED
BACKUPS = "backups"  # the folder beside the store
DECAY_MODEL = "strength"
DECAY_FLOOR = 0.05  # what has decayed to less is out of reach of every recall
MIN_CLUSTER = 3  # two alike may be a coincidence
COMPRESS_DAYS = 90.0  # long texts that nobody used for so long are compressed


@dataclass(frozen=True, slots=True)
class JobResult:
    """`done` counts what was changed or, if `dry`, what would be. A job with an `error` did nothing."""

    job: str
    done: int = 0
    note: str = ""
    space: str = ""
    error: str = ""
    dry: bool = False

    def __str__(self) -> str:
        where = f" in {self.space}" if self.space else ""
        return f"{self.job}{where}: {'failed: ' + self.error if self.error else self.note}"


class Run(Protocol):
    def __call__(self, store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A job with `per_store` runs once, the others run in each space; the setting `maintenance_every` says how often,
    else `usual`. `due_at` says from the job's own results, its interval and now when it is due, and None where nothing
    is to do: it may also have been done elsewhere."""

    name: str
    run: Run
    usual: str
    per_store: bool = False
    due_at: Callable[[MemoryStore, Settings, float, float], float | None] | None = None

    def key(self, space: str) -> str:
        return self.name if self.per_store else f"{self.name}/{space}"


def decay(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    """A memory that somebody brought back by an undo does not fade again by itself."""
    from nacre.lifecycle.decay import DecayEngine

    protected, undone = listed(settings.decay_protect), undone_memories(store, DECAY)
    engine = DecayEngine(store, settings.decay_rate, DECAY_FLOOR, protected, DECAY_MODEL, excluded=undone)
    return carry_out("decay", engine, now, "moved to the trash", dry_run)


def reflect(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    """Without `reflect_apply` it is always dry. A reflection that somebody undid is not written again by itself."""
    from nacre.lifecycle.reflection import ReflectionEngine, summarizer_from

    dry = dry_run or not settings.reflect_apply
    writer = summarizer_from(settings)
    undone = undone_memories(store, REFLECT)
    engine = ReflectionEngine(store, min_cluster_size=MIN_CLUSTER, summarizer=writer, excluded=undone)
    done = len(engine.clusters()) if dry else len(engine.apply(engine.plan(now), "soft", why=WHY))
    return result_of("reflect", done, "condensed", dry, ("group of episodes", "groups of episodes"))


def consolidate(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:  # noqa: ARG001
    from nacre.lifecycle.consolidation import Consolidator

    planner = Consolidator(store, excluded=undone_memories(store, CONSOLIDATE))
    return carry_out("consolidate", planner, now, "promoted to the long term", dry_run)


def undone_memories(store: MemoryStore, job: str) -> set[str]:
    """Those for which somebody undid the operation of a job: it must not do it again by itself."""
    from nacre.engine import history

    return history.undone_memories(store.backend, store.space, job)


def retain(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    """A memory that somebody brought back by an undo does not leave again by itself."""
    from nacre.lifecycle.retention import Bounds, Retention, compress_old

    count = int(settings.retain_max_count) or None
    bounds = Bounds(settings.retain_max_days or None, count)
    undone = undone_memories(store, RETAIN)
    retention = Retention(store, bounds, listed(settings.decay_protect), excluded=undone)
    result = carry_out("retain", retention, now, "archived or trashed", dry_run)
    if not dry_run:
        compress_old(store, COMPRESS_DAYS, now)  # not an operation: every text reads as before
    return result


def trash(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    if settings.trash_days <= 0:
        return JobResult("trash", note="The trash is kept forever; set trash_days to limit it.")
    from nacre.lifecycle.retention import Trash

    return carry_out("trash", Trash(store, settings.trash_days), now, "deleted for good", dry_run)


def reindex(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:  # noqa: ARG001
    """Runs in batches outside the journal: it only updates derived data."""
    done = store.health().pending if dry_run else store.catch_up()
    return result_of("reindex", done, "indexed", dry_run)


def backup(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    if is_database(settings.store):
        return JobResult("backup", note="A database is copied by the tools of its server, such as pg_dump.")
    from nacre.lifecycle.automatic_backup import BUSY, automatic_backups, make_copy

    backups = automatic_backups(settings)
    if dry_run:
        return JobResult("backup", 1, f"A copy would be made in {backups.folder}.", dry=True)
    made, why_not = make_copy(store, settings, now)
    if made is None:
        return JobResult("backup", note=why_not) if why_not == BUSY else JobResult("backup", error=why_not)
    return JobResult("backup", 1, f"Copied to {made}; {len(backups.files())} kept in all.")


def has_copies(settings: Settings) -> bool:
    """Whether the store is a file, of which copies can be made beside it or in `backup_folder`."""
    return not is_database(settings.store) and (settings.store not in ("", IN_MEMORY) or bool(settings.backup_folder))


def copy_due_at(store: MemoryStore, settings: Settings, every: float, now: float) -> float | None:
    """As for who makes a copy after a write; what was refused is not tried again at once."""
    from nacre.lifecycle.automatic_backup import LOOK_AGAIN, due_at, last_attempt

    at, attempt = due_at(settings, store.unrestricted_backend, every, now), last_attempt(settings)
    refused = at is not None and attempt.why_not and attempt.recent(now)
    return attempt.at + LOOK_AGAIN if refused else at


def interval(value: str) -> float | None:
    """None where a setting says that a job is off. Raises `InvalidInput`."""
    return None if value.strip().lower() in (OFF, "", "never") else parse_duration(value)


def compact(store: MemoryStore, settings: Settings, now: float, *, dry_run: bool) -> JobResult:
    if settings.journal_days <= 0:
        return JobResult("compact", note="The journal is kept forever; set journal_days to limit it.")
    from nacre.engine.removal import compact as compact_journal
    from nacre.engine.removal import last_to_drop

    engine, before = store.acting_as(ACTOR), now - settings.journal_days * DAY
    if dry_run:
        upto = last_to_drop(engine.store, store.space, engine.store.seq_at(store.space, before))
        done = len(engine.store.journal(store.space, JournalFilter(upto=upto))) if upto else 0
    else:
        done = compact_journal(engine, store.space, before, why=WHY)
    return result_of("compact", done, "dropped from the journal", dry_run, ("entry", "entries"))


JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        # First, so that it holds what the others change.
        Job("backup", backup, "24h", per_store=True, due_at=copy_due_at),
        Job("decay", decay, "24h"),
        Job("reflect", reflect, "7d"),
        Job("consolidate", consolidate, OFF),
        Job("retain", retain, "24h"),
        Job("trash", trash, "24h"),
        Job("compact", compact, OFF),
        Job("reindex", reindex, "1h", per_store=True),
    )
}


def listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def backups_of(settings: Settings) -> Backups:
    from nacre.lifecycle.backups import Backups, stem

    if settings.store in ("", IN_MEMORY) and not settings.backup_folder:
        raise InvalidInput("A store in memory has no folder for backups; set backup_folder.")
    file = store_file(settings.store or "nacre").absolute()
    if not settings.backup_folder:
        return Backups(file.parent / BACKUPS, name=stem(file))
    # Several stores may use one folder, and must not remove each other's copies.
    apart = blake2b(str(file).encode(), digest_size=4).hexdigest()
    return Backups(Path(settings.backup_folder).expanduser(), name=f"{stem(file)}-{apart}")


class Planner(Protocol):
    """Plans without a change, and then does what is planned; `apply` returns what it did, or how many."""

    def plan(self, now: float) -> Sequence[Any]: ...

    def apply(self, plan: Any, *, why: str) -> Sequence[Any] | int: ...


def carry_out(job: str, planner: Planner, now: float, what: str, dry_run: bool) -> JobResult:
    plan = planner.plan(now)
    done = plan if dry_run else planner.apply(plan, why=WHY)
    return result_of(job, done if isinstance(done, int) else len(done), what, dry_run)


def result_of(
    job: str, done: int, what: str, dry: bool, noun: tuple[str, str] = ("memory", "memories")
) -> JobResult:  # fmt: skip
    verb = "would be " if dry else "was " if done == 1 else "were "
    note = f"{done:,} {noun[0] if done == 1 else noun[1]} {verb}{what}." if done else f"Nothing to be {what}."
    return JobResult(job, done, note, dry=dry)
