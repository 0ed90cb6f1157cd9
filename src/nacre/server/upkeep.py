"""What a person sees of the store's upkeep: its settings, what maintenance does next, and its backups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.errors import UnknownName
from nacre.lifecycle.backups import copies
from nacre.lifecycle.decay import curve
from nacre.lifecycle.jobs import DECAY_FLOOR, DECAY_MODEL
from nacre.lifecycle.scheduler import MaintenanceScheduler
from nacre.model import Memory
from nacre.model.memory import Json
from nacre.settings import DEFAULT, KEYS, TABLES, Settings, descriptions, public_value, settings_with_sources

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.lifecycle.backups import StoredCopy
    from nacre.memory_store import MemoryStore

FADING_DAYS = 365.0
STARTED = "how the server was started"  # the source of a value that no file and no variable has


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting: `value` and `source` are shown to admins of all spaces alone, and a `secret` value or the password in
    an address to nobody."""

    key: str
    group: str
    about: str
    type: str
    values: tuple[str, ...]
    example: str
    default: Json
    value: Json
    source: str
    secret: bool


def setting_lines(settings: Settings, *, visible: bool) -> list[SettingLine]:
    """In the order of the table of settings. `settings` are those in use, which may differ from what files say now."""
    known = {each.key: each for each in settings_with_sources() if not each.ignored} if visible else {}
    lines, usual = [], Settings()
    for key, about in descriptions().items():
        if key in TABLES:
            continue
        value, default = getattr(settings, key), getattr(usual, key)
        present = known.get(key)
        source = STARTED if present is None or present.value != value else present.source
        if value == default:
            source = DEFAULT
        secret = key in KEYS and bool(value)
        seen = public_value(key, value) if visible and not secret else None
        lines.append(
            SettingLine(
                key,
                about.group,
                about.about,
                about.type,
                about.values,
                about.example,
                default,
                seen,
                source if visible else "",
                secret,
            )
        )
    return lines


@dataclass(frozen=True, slots=True)
class UpkeepJob:
    """A job of maintenance: `every` is in seconds, None where it is off; `next_at` is 0 where it is due. `would` says
    what it would do now, or why it would fail, and `would_do` to how many memories, where that was asked for."""

    job: str
    every: float | None
    last_at: float | None
    next_at: float | None
    done: int
    error: str
    would: str = ""
    would_do: int = 0
    would_fail: bool = False


@dataclass(frozen=True, slots=True)
class Upkeep:
    """`holder` is who does it in the background; empty where nobody does. `fading` is the score of an average memory
    that nobody uses, by days; below `floor` the decay moves it to the trash."""

    holder: str
    jobs: list[UpkeepJob]
    fading: list[tuple[float, float]]
    floor: float


def upkeep_of(store: MemoryStore, *, preview: bool) -> Upkeep:
    """Of one space, and of the store as a whole. A preview plans every job that is on, and changes nothing."""
    scheduler, jobs = MaintenanceScheduler(store, store.settings), []
    wanted = [name for name, every in scheduler.every.items() if every is not None] if preview else []
    results = scheduler.tick(jobs=wanted, dry_run=True).results if wanted else ()
    planned = {each.job: each for each in results}
    for job, _, every, history, next_at in scheduler.states():
        last = UpkeepJob(job.name, every, history.last_at, next_at, history.done, history.error)
        if plan := planned.get(job.name):
            last = replace(last, would=plan.error or plan.note, would_do=plan.done, would_fail=bool(plan.error))
        jobs.append(last)
    return Upkeep(str(scheduler.lease.holder() or ""), jobs, fading(store), DECAY_FLOOR)


def fading(store: MemoryStore) -> list[tuple[float, float]]:
    now, settings = store.now(), store.settings
    average = Memory(
        id="", text="", importance=settings.default_importance, created_at=now, updated_at=now, last_accessed=now
    )
    rate = settings.decay_rate
    return list(curve(average, now, days=FADING_DAYS, model=DECAY_MODEL, decay_rate=rate).points)


@dataclass(frozen=True, slots=True)
class BackupNote:
    """A copy of the store, by the name of its file; `replaced` when it was the store until a copy was restored."""

    name: str
    made_at: float
    bytes_on_disk: int
    replaced: bool


def backup_notes(settings: Settings) -> list[BackupNote]:
    """The newest first. Raises `InvalidInput` for a store that is not a file."""
    return [BackupNote(each.file.name, each.made_at, each.bytes_on_disk, each.replaced) for each in copies(settings)]


def backup_file(settings: Settings, name: str) -> Path:
    """Only one of the store's own copies. Raises `UnknownName`."""
    known: dict[str, StoredCopy] = {each.file.name: each for each in copies(settings)}
    return UnknownName.get("backup", name, known).file
