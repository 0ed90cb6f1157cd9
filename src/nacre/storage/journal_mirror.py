"""The journal once more, as plain lines beside the store: for whoever watches, keeps or audits what was done."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nacre.files import atomic_writer, file_lock, private_opener
from nacre.model import JournalEntry
from nacre.model.journal import MEMORY, to_line
from nacre.model.memory import without_link_data

log = logging.getLogger("nacre")

MEGABYTE = 1 << 20
DAY = timedelta(days=1)
LOOK_EVERY = 256  # writes from one look at the size to the next
LEVEL = 3  # of compression: 64 MiB take a second, and at level 6 two for a twentieth less
WRITER_WAITS = 2.0  # seconds, for whoever sets the file aside: that takes microseconds, unless a process was stopped
KEEPER_WAITS = 60.0  # for another process that packs or scrubs archives
STAMP = "%Y%m%dT%H%M%S%fZ"
EPOCH = datetime.fromtimestamp(0, UTC)
BUFFER = 1 << 17  # bytes given to the packer at once
TEMPORARY = ".tmp"
# No text within a line can look so: its quotes are escaped.
NAMED = re.compile(rb'"memory_id":"((?:[^"\\]|\\.)*)"')
LINKED = re.compile(rb'"to":"((?:[^"\\]|\\.)*)"')
BROKEN_OFF = b"the rest of a damaged archive\n"
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)
FAULTS = (OSError, ValueError, TypeError, OverflowError)


class JournalMirror:
    """Appends every act to `path`. What grows beyond `rotate_mb` is set aside and packed, and kept for `keep_days`;
    0 means never, and for ever.

    Any number of processes share the files. Writers hold one lock in common while they write; who sets the file aside
    holds it alone, so that nothing is ever written into what was set aside. That, and all work on the archives, one
    process does at a time, under a second lock for which no writer waits.
    """

    def __init__(
        self, path: Path, *, rotate_mb: float = 64, keep_days: float = 90, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path.absolute()
        self._limit = rotate_mb * MEGABYTE
        self._days = keep_days
        self._clock = clock
        self._named = re.compile(rf"{re.escape(path.stem)}-(\d{{8}}T\d{{12}}Z)\.jsonl(\.gz)?({re.escape(TEMPORARY)})?")
        self._writes = itertools.count()
        self._complaints: set[str] = set()

    def __call__(self, entries: Sequence[JournalEntry]) -> None:
        try:
            self._append(b"".join(as_bytes(to_line(entry)) for entry in entries))
        except FAULTS as error:
            self._complain("Acts are not mirrored in", error)
        else:
            if next(self._writes) % LOOK_EVERY == 0:
                self._look()

    def scrub(self, space: str, ids: Sequence[str] | None) -> None:
        gone = None if ids is None else frozenset(as_bytes(id)[1:-2] for id in ids)  # without quotes and line end
        try:
            with self._maintenance_lock(KEEPER_WAITS):
                if self.path.exists() and touched(self.path, space, gone):
                    self._set_aside(0)
                self._tidy()
                for archive in map(self._packed, self._stamps()):
                    if touched(archive, space, gone):
                        pack((scrubbed(line, space, gone) for line in lines(archive)), archive)
        except FAULTS as error:
            log.warning("%s still contains memories that were removed (%s); delete it and its archives.",
                        self.path, error)  # fmt: skip

    def _append(self, lines: bytes) -> None:
        with self._writing(alone=False):
            file = private_opener(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0))
            try:
                # What a full disk or a crash cut short must not swallow the line after it.
                written = lines if ends_a_line(file) else b"\n" + lines
                if os.write(file, written) < len(written):
                    raise OSError("the disk is full")
            finally:
                os.close(file)

    def _look(self) -> None:
        try:
            with self._maintenance_lock(0):
                if self._limit > 0:
                    self._set_aside(self._limit)
                self._tidy()
        except BlockingIOError:
            return  # another process is at this very work
        except FAULTS as error:
            self._complain("Nothing is packed or removed beside", error)

    def _set_aside(self, beyond: float) -> None:
        with self._writing(alone=True):
            if self.path.stat().st_size > beyond:
                self.path.rename(self._plain(self._next_stamp()))

    def _tidy(self) -> None:
        """Ends what a process left half done, and removes what is too old."""
        for file in self._files():
            if file.suffix == TEMPORARY:
                file.unlink()
        for stamp in self._stamps():
            plain, packed = self._plain(stamp), self._packed(stamp)
            if self._days > 0 and moment(stamp) < self._now() - self._days * DAY:
                packed.unlink(missing_ok=True)
            elif not packed.exists():
                pack(lines(plain), packed)
            plain.unlink(missing_ok=True)

    def _maintenance_lock(self, patience: float) -> AbstractContextManager[None]:
        return file_lock(self.path.with_name(f"{self.path.name}.keeping.lock"), exclusive=True, patience=patience)

    def _writing(self, *, alone: bool) -> AbstractContextManager[None]:
        return file_lock(self.path.with_name(f"{self.path.name}.lock"), exclusive=alone, patience=WRITER_WAITS)

    def _next_stamp(self) -> str:
        """Later than every other, whatever the clock says: names tell the order, and none may be given twice."""
        last = [moment(stamp) + timedelta(microseconds=1) for stamp in self._stamps()[-1:]]
        return max([self._now(), *last]).strftime(STAMP)

    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self._clock())

    def _files(self) -> list[Path]:
        return [file for file in self.path.parent.iterdir() if self._named.fullmatch(file.name)]

    def _stamps(self) -> list[str]:
        names = (self._named.fullmatch(file.name) for file in self._files())
        return sorted({match[1] for match in names if match and not match[3]})

    def _plain(self, stamp: str) -> Path:
        return self.path.with_name(f"{self.path.stem}-{stamp}.jsonl")

    def _packed(self, stamp: str) -> Path:
        return self.path.with_name(f"{self.path.stem}-{stamp}.jsonl.gz")

    def _complain(self, what: str, error: Exception) -> None:
        if what not in self._complaints:
            self._complaints.add(what)
            log.warning("%s %s (%s); this is said once.", what, self.path, error)


def as_bytes(line: object) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def ends_a_line(file: int) -> bool:
    if os.lseek(file, 0, os.SEEK_END) == 0:
        return True
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) == b"\n"


def moment(stamp: str) -> datetime:
    return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)


def lines(file: Path) -> Iterator[bytes]:
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
        try:
            yield from opened
        except DAMAGE:
            yield BROKEN_OFF


def pack(content: Iterable[bytes], archive: Path) -> None:
    """The archive is there whole or, as before, not at all."""
    with (
        atomic_writer(archive, temporary=archive.with_name(archive.name + TEMPORARY)) as raw,
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed,
        io.BufferedWriter(packed, BUFFER) as buffered,
    ):
        buffered.writelines(content)


def touched(file: Path, space: str, ids: Container[bytes] | None) -> bool:
    return any(scrubbed(line, space, ids) != line for line in lines(file))


def scrubbed(line: bytes, space: str, ids: Container[bytes] | None) -> bytes:
    """An illegible line that names one of them, or nobody, goes altogether. Without ids, all of the space goes. Of the
    links of other memories to them the data go."""
    named = NAMED.search(line)
    if ids is not None and named and named[1] not in ids:
        return line_without_link_data(line, space, [id for id in LINKED.findall(line) if id in ids])
    try:
        record = json.loads(line)
        kind, bare = record["kind"], (record["before"], record["after"], record["why"]) == (None, None, "")
        own = kind == MEMORY or (ids is None and (kind == "space" or "/" in kind))
        elsewhere = record["space"] != space
    except (ValueError, RecursionError, TypeError, KeyError):
        return b""
    if bare or elsewhere or not own:
        return line
    return as_bytes({**record, "why": "", "before": None, "after": None})


def line_without_link_data(line: bytes, space: str, ids: Sequence[bytes]) -> bytes:
    """Without the data of the links to these memories."""
    if not ids:
        return line
    targets = {json.loads(b'"%b"' % id) for id in ids}
    try:
        record = json.loads(line)
        if record["space"] != space or record["kind"] != MEMORY:
            return line
        images = {name: record[name] for name in ("before", "after") if record[name] is not None}
        emptied = {name: without_link_data(image, targets) for name, image in images.items()}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return b""
    return line if emptied == images else as_bytes({**record, **emptied})
