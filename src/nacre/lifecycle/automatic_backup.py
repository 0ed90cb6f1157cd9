"""The automatic copy of a store: when one is due, why none is made, and the process of its own that makes it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import EmbeddingError, NacreError
from nacre.factory import is_database, is_server, is_typed, key_named, store_file, typed_key_setting
from nacre.files import atomic_write, file_lock, private_folder
from nacre.lifecycle.jobs import ACTOR, backups_of, interval
from nacre.model.instants import DAY, iso
from nacre.settings import IN_MEMORY, Settings

if TYPE_CHECKING:
    from nacre.lifecycle.backups import Backups
    from nacre.memory_store import MemoryStore
    from nacre.protocols import Backend

log = logging.getLogger("nacre")

FOLDER = "automatic"  # inside the folder of backups: what a person made there is never counted or removed
YOUNG_SECONDS = DAY  # a store that is tried out for an afternoon gets no copies
LARGEST = 1_000_000_000  # bytes: 300,000 memories; seven copies of more would fill a laptop's disk without being asked
ROOM = 3  # times the store's size that must be free: for the copy, for the log beside the store, and for growth
LOOK_AGAIN = 3_600.0  # seconds until a failed or refused attempt is repeated
SET_BACK = 3_600.0  # a time so far ahead was written by a clock that was set back since
MOST_SPACES = 10  # whose age is asked: those of a store mostly are of one age, and every command asks
BUSY = "Another process is making a copy."
NICER = 10  # the copy yields to whoever works


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """`why_not` is empty when a copy was made, or is being made."""

    at: float = 0.0
    why_not: str = ""

    def recent(self, now: float) -> bool:
        return -SET_BACK < now - self.at < LOOK_AGAIN


def every_seconds(settings: Settings) -> float | None:
    """Between two copies; None where they are off or the store is not a file. Raises `InvalidInput`."""
    store = settings.store
    is_file = store not in ("", IN_MEMORY) and not is_database(store) and not is_server(store)
    return interval(settings.backup_every) if is_file else None


def automatic_backups(settings: Settings) -> Backups:
    made_by_hand = backups_of(settings)
    return replace(made_by_hand, folder=made_by_hand.folder / FOLDER, name=f"{made_by_hand.name}-{FOLDER}")


def newest_copy(settings: Settings, before: float = inf) -> float | None:
    """When the newest copy was made, by a person or automatically; those of the time `before` or later do not count."""
    times = (each.newest_at(before) for each in (backups_of(settings), automatic_backups(settings)))
    return max((at for at in times if at is not None), default=None)


def began_at(backend: Backend) -> float | None:
    """The time of the first journal entry; None where there is none."""
    times = []
    for space in islice(backend.spaces(), MOST_SPACES):
        dropped, at = backend.journal_begins(space)
        first = [] if dropped else backend.journal(space, newest_first=False, limit=1)
        times += [at] if dropped else [entry.operation.at for entry in first]
    return min(times, default=None)


def is_due(settings: Settings, backend: Backend, every: float, now: float) -> bool:
    at = due_at(settings, backend, every, now)
    return at is not None and at <= now


def due_at(settings: Settings, backend: Backend, every: float, now: float) -> float | None:
    """When a copy is due; None where nothing was written since the last one, or ever."""
    newest = newest_copy(settings, now + SET_BACK)
    if newest is None:
        began = began_at(backend)
        return None if began is None else began + YOUNG_SECONDS if began < now + SET_BACK else now
    at = newest + every
    return at if at > now or written_since(backend, newest) else None


def written_since(backend: Backend, at: float) -> bool:
    """Whether there were operations. Uses and a scheduler's lease change the file as well, and are worth no copy."""
    newest = (entry for space in backend.spaces() for entry in backend.journal(space, limit=1))
    return any(entry.operation.at > at for entry in newest)


def obstacle(settings: Settings) -> str:
    """Why no copy can be made without asking a person; empty where one can."""
    file, folder = store_file(settings.store).absolute(), automatic_backups(settings).folder
    size = file.stat().st_size
    if size > LARGEST:
        return (
            f"The store has {size / 1e9:,.1f} GB, and is copied automatically only up to {LARGEST / 1e9:,.0f} GB. "
            "Run `nacre store backup create` when it suits you, or set backup_every to off."
        )
    free = shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.is_dir())).free
    if free < ROOM * size:
        return (
            f"{folder} has {free / 1e6:,.0f} MB free, and a copy is made only where {ROOM} times the store's size "
            f"({ROOM * size / 1e6:,.0f} MB) is. Free some space, or set backup_folder to another disk."
        )
    return ""


def make_copy(store: MemoryStore, settings: Settings, now: float) -> tuple[Path | None, str]:
    """The copy, or why none was made. Only one process makes one at a time."""
    backups, why_not = automatic_backups(settings), obstacle(settings)
    try:
        with file_lock(lock_file(settings), exclusive=True, patience=0.0):
            made = None if why_not else backups.make(store, now)
    except BlockingIOError:
        return None, BUSY
    note_attempt(settings, LastAttempt(now, why_not))
    return made, why_not


def lock_file(settings: Settings) -> Path:
    backups = automatic_backups(settings)
    return backups.folder / f".{backups.name}.lock"


def attempt_file(settings: Settings) -> Path:
    backups = automatic_backups(settings)
    return backups.folder / f".{backups.name}.json"


def last_attempt(settings: Settings) -> LastAttempt:
    try:
        read = json.loads(attempt_file(settings).read_text("utf-8"))
        return LastAttempt(float(read["at"]), str(read["why_not"]))
    except (OSError, ValueError, KeyError, TypeError):
        return LastAttempt()


def note_attempt(settings: Settings, attempt: LastAttempt) -> None:
    with suppress(OSError):  # a disk that is full or cannot be written: the next one looks again
        file = attempt_file(settings)
        private_folder(file.parent)
        atomic_write(file, json.dumps(asdict(attempt)), durable=False)


def start_if_due(store: MemoryStore, settings: Settings) -> int | None:
    """Starts a process that copies the store where a copy is due; returns its number. For interfaces, after a write:
    a program with a `MemoryStore` of its own starts no process. Never raises."""
    try:
        every, now = every_seconds(settings), time.time()
        if every is None or not is_due(settings, store.unrestricted_backend, every, now):
            return None
        if last_attempt(settings).recent(now):
            return None  # it is being made, or cannot be made
        note_attempt(settings, LastAttempt(now))
        return start(settings)
    except (NacreError, OSError, ValueError) as error:
        log.warning("No automatic copy was started: %s", error)
        return None


def start(settings: Settings) -> int:
    from nacre.lifecycle.daemon import spawn_detached

    request = {
        "store": str(store_file(settings.store).absolute()),
        "key": settings.key,
        "backup_folder": settings.backup_folder,
        "backup_every": settings.backup_every,
        "embedder": settings.embedder,
    }
    typed = key_named(settings.key) if is_typed(settings.key) else None
    if typed is not None:
        request["typed"] = typed.secret
    # -P: a folder named nacre in the working directory is not imported.
    command = [sys.executable, "-P", "-m", "nacre.lifecycle.automatic_backup"]
    return spawn_detached(command, os.devnull, input=json.dumps(request).encode())


def main() -> None:
    """Reads which store from stdin, so that no key is seen in a list of processes."""
    request: dict[str, str] = json.loads(sys.stdin.buffer.read())
    typed = request.pop("typed", "")
    settings, now = Settings(**request), time.time()  # type: ignore[arg-type]
    if typed:
        settings = replace(settings, key=typed_key_setting(typed))
    if hasattr(os, "nice"):
        os.nice(NICER)
    try:
        copy_store(settings, now)
    except NacreError as error:
        note_attempt(settings, LastAttempt(now, str(error)))
    except OSError as error:
        note_attempt(settings, LastAttempt(now, f"The copy failed ({error.strerror or error})."))


def copy_store(settings: Settings, now: float) -> None:
    """Unless another process has just done it. Who uses commands alone has no other process that lives long enough to
    give a large store new vectors after an update of the model: that is done here, after the copy."""
    from nacre.engine.indexing import is_to_be_renewed
    from nacre.memory_store import MemoryStore

    every = every_seconds(settings)
    with MemoryStore(settings=settings, actor=ACTOR) as store:
        if every is not None and is_due(settings, store.backend, every, now):
            make_copy(store, settings, now)
        if is_to_be_renewed(store.acting_as(ACTOR)):
            with suppress(EmbeddingError):  # the doctor says what is wrong with the model
                store.catch_up()


def state(settings: Settings) -> tuple[bool, str]:
    """For who asks about copies: whether all is well, and a sentence."""
    every, newest = every_seconds(settings), newest_copy(settings)
    last = "There is no copy of the store" if newest is None else f"The newest copy is of {iso(newest)[:16]}Z"
    if every is None:
        return True, f"{last}; automatic copies are off (backup_every)."
    attempt = last_attempt(settings)
    if attempt.why_not and (newest is None or newest < attempt.at):
        return False, f"{last}. {attempt.why_not}"
    if newest is None:
        return True, f"{last} yet; one is made after a write, once the store is a day old."
    return True, f"{last}; one is made after a write when that is older than {settings.backup_every}."


if __name__ == "__main__":
    main()
