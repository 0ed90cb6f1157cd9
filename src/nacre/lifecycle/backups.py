"""Makes, lists, verifies and restores copies of a store; the oldest is removed only after a newer one is verified."""

from __future__ import annotations

import logging
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import escape
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import AccessDenied, InvalidInput
from nacre.factory import is_server, make_access, restore_store, store_file, verify_copy
from nacre.lifecycle.automatic_backup import automatic_backups
from nacre.lifecycle.jobs import backups_of, has_copies
from nacre.memory_store import MemoryStore
from nacre.model.instants import STAMP, stamp

if TYPE_CHECKING:
    from nacre.settings import Settings
    from nacre.storage.sqlite.backup import Copy

log = logging.getLogger("nacre")

KEEP = 7
NAME = re.compile(r"-(\d{8}T\d{6}Z)\.db\Z", re.ASCII)
ABANDONED_SECONDS = 3_600.0  # a copy in progress is written all the time; one so old was interrupted


@dataclass(frozen=True, slots=True)
class Backups:
    """`name` distinguishes the copies of several stores in one folder."""

    folder: Path
    keep: int = KEEP
    name: str = "nacre"

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise InvalidInput(f"{self.keep} backups cannot be kept; keep 1 or more.")

    def files(self) -> list[Path]:
        """The existing copies, oldest first."""
        files = self.folder.glob(f"{escape(self.name)}-*.db") if self.folder.is_dir() else ()
        stamps = ((file, NAME.search(file.name)) for file in files)
        return sorted(file for file, match in stamps if match and file.name[: match.start()] == self.name)

    def newest_at(self, before: float = inf) -> float | None:
        """When the newest one was started; those of the time `before` or later do not count."""
        return next((at for at in map(made_at, reversed(self.files())) if at < before), None)

    def make(self, store: MemoryStore, now: float) -> Path:
        """The new copy is verified before an older one is removed."""
        made = store.backup(free_name(self.folder, self.name, now))
        self._tidy(made)
        return made

    def _tidy(self, made: Path) -> None:
        # A copy whose name has a later time was made before the clock was set back: it is older than all others.
        files = sorted(self.files(), key=lambda file: made_at(file) <= made_at(made))
        older = [file for file in files if file != made]
        surplus = older[: max(0, len(older) - (self.keep - 1))]
        abandoned = [file for file in self.folder.glob(f".{escape(self.name)}-*.part*") if untouched(file)]
        for file in (*surplus, *abandoned):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                log.warning("The old backup %s cannot be removed: %s", file, error)


def free_name(folder: Path, name: str, at: float) -> Path:
    """After the time, or the next second at which there is no such file."""
    while (file := folder / f"{name}-{stamp(at)}.db").exists():
        at += 1
    return file


def made_at(file: Path) -> float:
    match = NAME.search(file.name)
    if match is None:
        raise InvalidInput(
            f"{file} does not have the name of a backup, which ends with the time it was made; "
            "`nacre store backup list` names those that do."
        )
    return datetime.strptime(match[1], STAMP).replace(tzinfo=UTC).timestamp()


def untouched(file: Path) -> bool:
    with suppress(OSError):
        return time.time() - file.stat().st_mtime > ABANDONED_SECONDS
    return False


REPLACED = "replaced"  # part of the name of a file that a restore replaced


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """A file that can be restored; `replaced` when it was the store until a copy was restored over it, `automatic` when
    nobody asked for it."""

    file: Path
    made_at: float
    bytes_on_disk: int
    replaced: bool = False
    automatic: bool = False


def copies(settings: Settings) -> list[StoredCopy]:
    """Newest first: automatic copies, those of `nacre store backup create`, and files that a restore replaced."""
    require_access(settings, "list the copies of the store")
    present = store_file(settings.store).absolute()
    made = [
        StoredCopy(file, made_at(file), file.stat().st_size, automatic=automatic)
        for automatic, backups in ((False, backups_of(settings)), (True, automatic_backups(settings)))
        for file in backups.files()
    ]
    beside = (file for file in present.parent.glob(f"*-{REPLACED}-*.db") if file.name.startswith(stem(present) + "-"))
    left = [StoredCopy(file, made_at(file), file.stat().st_size, True) for file in beside if NAME.search(file.name)]
    return sorted((*made, *left), key=lambda each: -each.made_at)


def copies_in(settings: Settings, folder: Path) -> list[StoredCopy]:
    """The copies in a folder that you chose, newest first: files whose names end in .db, but not the store itself."""
    require_access(settings, "list the copies of the store")
    present = store_file(settings.store).absolute()
    files = [file for file in folder.absolute().glob("*.db") if file.is_file() and file != present]
    made = [StoredCopy(file, made_at(file) if NAME.search(file.name) else file.stat().st_mtime, file.stat().st_size)
            for file in files]  # fmt: skip
    return sorted(made, key=lambda each: -each.made_at)


def copies_that_stay(settings: Settings) -> str:
    """A sentence about copies that still have what was just deleted; empty where there are none."""
    if not has_copies(settings) or is_server(settings.store):
        return ""
    try:
        there = copies(settings)
    except AccessDenied:
        return ""
    if not there:
        return ""
    many = "1 copy" if len(there) == 1 else f"{len(there)} copies"
    goes = " An automatic one goes when seven newer ones are made." if any(each.automatic for each in there) else ""
    return f"{many} of the store, made before, may still have it; `nacre store backup list` says where.{goes}"


def verify(settings: Settings, file: Path | str, *, key: str | None = None) -> Copy:
    """Reads the complete copy and returns what it holds. `key` names its key if it differs from the settings."""
    require_access(settings, "read a copy of the store")
    return verify_copy(file, settings.key if key is None else key)


def restore(settings: Settings, file: Path | str, now: float, *, key: str | None = None) -> Path | None:
    """Replaces the store by the copy, encrypted with the store's own key; returns where the old file was moved, None
    when there was none. Raises `StoreBusy`, and changes nothing, while the store is open elsewhere."""
    require_access(settings, "restore the store")
    present = store_file(settings.store).absolute()
    replaced = free_name(present.parent, f"{stem(present)}-{REPLACED}", now)
    return restore_store(settings.store, file, replaced, settings.key, settings.key if key is None else key)


def stem(file: Path) -> str:
    return file.stem if file.suffix == ".db" else file.name


def require_access(settings: Settings, what: str) -> None:
    access = make_access(settings, settings.space, settings.agent, settings.session, None)
    access.demand(what)
