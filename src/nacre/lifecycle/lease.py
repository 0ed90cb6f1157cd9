"""A right that only one process has at a time, kept in the store itself; it ends with its time or with its holder."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from nacre.errors import StorageError
from nacre.lifecycle.processes import Process, this_process
from nacre.model.instants import iso
from nacre.model.memory import Json
from nacre.ports import Clock, Store

if TYPE_CHECKING:
    from nacre.store import MemoryStore

log = logging.getLogger("nacre")

KIND = "lease"
SECONDS = 120.0  # after a crash on another machine, so long until the next one begins
RENEWALS = 4  # within that time: three may fail before the right is lost
FARTHEST = 3_600.0  # a lease that claims more than this ahead was written by a clock that has been set back since


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
    """`owner` is new with every instance: a program that forgot to release one does not find it its own again."""

    store: MemoryStore
    name: str = "maintenance"
    seconds: float = SECONDS
    clock: Clock = time.time
    owner: str = field(default_factory=lambda: uuid4().hex)
    lost: threading.Event = field(default_factory=threading.Event)

    def holder(self) -> Holder | None:
        """Who holds it now; one whose time is over or who is gone does not."""
        return self._holding(self._backend().words(KIND).get(self.name))

    def acquire(self) -> bool:
        """Takes it, or makes it last longer; False when another one holds it."""
        me = this_process()
        with self._backend().transaction() as transaction:
            other = self._holding(transaction.word(KIND, self.name))
            if other is not None and other.owner != self.owner:
                return False
            transaction.put_word(KIND, self.name, {
                "owner": self.owner, "pid": me.pid, "host": me.host, "born": me.born,
                "until": self.clock() + self.seconds,
            })  # fmt: skip
        return True

    def release(self) -> None:
        with self._backend().transaction() as transaction:
            stored = holder_of(transaction.word(KIND, self.name))
            if stored is not None and stored.owner == self.owner:
                transaction.put_word(KIND, self.name, None)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """False when another one holds it; else it is renewed until the end, and `lost` is set should that fail."""
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
            with suppress(StorageError):  # it ends by itself soon; what was done counts
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
        found = holder_of(stored)
        return found if found is not None and found.holds(self.clock()) else None

    def _backend(self) -> Store:
        return self.store.acting_as(KIND).store


def holder_of(stored: Mapping[str, Json] | None) -> Holder | None:
    """None also for what cannot be read: a right that nobody can check is nobody's."""
    if stored is None:
        return None
    owner, pid, host, born, until = (stored.get(key) for key in ("owner", "pid", "host", "born", "until"))
    if not isinstance(owner, str) or not isinstance(pid, int) or not isinstance(until, int | float):
        return None
    return Holder(owner, Process(pid, str(host), str(born or "")), float(until))
