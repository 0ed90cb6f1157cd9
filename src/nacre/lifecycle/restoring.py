"""Copies of a store: which there are, whether one is whole, and putting one back in the store's place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.lifecycle.backups import NAME, made_at
from nacre.lifecycle.jobs import backups_of
from nacre.store.keeping import stamp
from nacre.wiring import make_access, restore_store, store_file, verify_copy

if TYPE_CHECKING:
    from nacre.config import Settings
    from nacre.storage.sqlite.restoring import Copy

REPLACED = "replaced"  # in the name of a file whose place a copy took


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that can be put back; `replaced` when it was the store until another copy took its place."""

    file: Path
    made_at: float
    bytes_on_disk: int
    replaced: bool = False


def copies(settings: Settings) -> list[Kept]:
    """Newest first: those that the maintenance and `nacre backup create` made, and what restores left behind."""
    demand(settings, "list the copies of the store")
    present = store_file(settings.store).absolute()
    made = [Kept(file, made_at(file), file.stat().st_size) for file in backups_of(settings).files()]
    beside = (file for file in present.parent.glob(f"*-{REPLACED}-*.db") if file.name.startswith(stem(present) + "-"))
    left = [Kept(file, made_at(file), file.stat().st_size, True) for file in beside if NAME.search(file.name)]
    return sorted((*made, *left), key=lambda each: -each.made_at)


def verify(settings: Settings, file: Path | str, *, key: str | None = None) -> Copy:
    """What the copy holds, once all of it could be read. `key` names its key where it is not that of the settings."""
    demand(settings, "read a copy of the store")
    return verify_copy(file, settings.key if key is None else key)


def restore(settings: Settings, file: Path | str, now: float, *, key: str | None = None) -> Path | None:
    """Puts the copy in the place of the store, whose own key it gets; returns where the present file is kept, None when
    there was none. Raises `StoreBusy` when somebody has the store open; nothing is changed then."""
    demand(settings, "restore the store")
    present = store_file(settings.store).absolute()
    at = now
    while (kept := present.with_name(f"{stem(present)}-{REPLACED}-{stamp(at)}.db")).exists():
        at += 1
    return restore_store(settings.store, file, kept, settings.key, settings.key if key is None else key)


def stem(file: Path) -> str:
    return file.stem if file.suffix == ".db" else file.name


def demand(settings: Settings, what: str) -> None:
    access = make_access(settings, settings.space, settings.agent, settings.session, None)
    if access is not None:
        access.demand(what)
