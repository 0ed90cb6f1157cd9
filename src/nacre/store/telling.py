"""Telling and taking back: history, differences, the journal and undo."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from nacre import files
from nacre.engine import undoing
from nacre.engine.change import SPACE_NAME
from nacre.engine.history import history
from nacre.engine.past import difference_between
from nacre.errors import InvalidInput, MemoryNotFound, StorageError, UndoRefused
from nacre.model import Difference, History, JournalEntry, JournalExport, Told
from nacre.model.instants import DAY, Instant, seconds
from nacre.model.journal import to_line
from nacre.store.scope import held_at, instant
from nacre.store.space import Space

LOOKED_BACK = (32, 1024, None)  # entries read to find the last act; hardly ever more than the first few
WHOLE_BATCH = 32  # characters
PAGE = 1_000  # entries that an export reads at once


class Telling(Space):
    def history(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> History:
        """Every version of the truth that this memory is one of, oldest first, and each change of value.

        With `as_of` as it was known then; with `valid_at` only the versions that held then. Raises `MemoryNotFound`.
        """
        upto = None if as_of is None else self._store.written_by(self.space, seconds(as_of))
        told = history(self._known(as_of), self.space, id, upto=upto)
        if valid_at is None:
            return told
        held = held_at(seconds(valid_at))
        versions = tuple(each for each in told.versions if held.admits(each))
        if not versions:
            raise MemoryNotFound(id, self.space)
        kept = {each.id for each in versions}
        return History(versions, tuple(each for each in told.transitions if {each.old, each.new} & kept))

    def diff(self, earlier: Instant, later: Instant | None = None) -> Difference:
        """What the store knew at the later time, by default now, and not at the earlier one, and what changed."""
        end = self._clock() if later is None else seconds(later)
        return difference_between(self._store, self.space, seconds(earlier), end)

    def journal(
        self,
        id: str | None = None,
        *,
        act: str | None = None,
        actor: str | None = None,
        batch: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int | None = 20,
        newest_first: bool = True,
    ) -> list[JournalEntry]:
        """What was done; `batch` may be the first characters of one. A row that cannot be read is marked `damaged`."""
        told = Told(id, batch, act, actor, instant(since), instant(until))
        found = self._store.journal(self.space, told, newest_first=newest_first, limit=limit)
        return list(map(self._numbered, found))

    def iterate_journal(
        self,
        id: str | None = None,
        *,
        act: str | None = None,
        actor: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> Iterator[JournalEntry]:
        """Oldest first, however many there are, in bounded memory; what is written meanwhile is left out."""
        return map(self._numbered, self._entries(Told(id, None, act, actor, instant(since), instant(until))))

    def export_journal(
        self,
        out: TextIO | Path | str,
        *,
        act: str | None = None,
        actor: str | None = None,
        id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> JournalExport:
        """Writes what was done until now as lines of JSON, oldest first; to a path whole or not at all, and packed
        where its name ends in `.gz`. Raises `StorageError` when the path cannot be written."""
        told = Told(id, None, act, actor, instant(since), instant(until))
        if isinstance(out, str | Path):
            with replacing(Path(out).expanduser()) as file:
                return self._write_journal(file, told)
        return self._write_journal(out, told)

    def _write_journal(self, out: TextIO, told: Told) -> JournalExport:
        count = damaged = 0
        for entry in self._entries(told):
            out.write(json.dumps(to_line(entry), ensure_ascii=False) + "\n")
            count, damaged = count + 1, damaged + entry.damaged
        return JournalExport(count, damaged)

    def _entries(self, told: Told) -> Iterator[JournalEntry]:
        """A page at a time; what is written meanwhile is left out, or a busy store would never come to an end."""
        last = self._store.journal(self.space, limit=1)
        told = replace(told, upto=last[0].seq if last else 0)
        while page := self._store.journal(self.space, told, newest_first=False, limit=PAGE):
            yield from page
            told = replace(told, after=page[-1].seq)

    def undo(
        self, batch: str | JournalEntry | None = None, *, last: int | None = None, why: str = ""
    ) -> list[JournalEntry]:
        """Takes back an act, whole: the one named, or the `last` ones, by default one. An undo can be undone.

        Raises `UndoRefused` when there is no such act or no way back, and `UndoBlocked`, which names them, when later
        acts stand on it. Either way nothing was changed.
        """
        if batch is not None and last is not None:
            raise InvalidInput("Name an act, or say how many to take back; not both.")
        if batch is not None:
            meant = [batch.act.batch if isinstance(batch, JournalEntry) else self.resolve_act(batch)]
        else:
            meant = self._last_acts(1 if last is None else last)
        done = self._engine.undo(self.space, meant, why=why)
        # Where the name of the space is taken back, this store goes with it.
        self.space = next((entry.space for entry in done if entry.kind == SPACE_NAME), self.space)
        return list(map(self._numbered, done))

    def resolve_act(self, prefix: str) -> str:
        """The one act whose batch begins so. Raises `UndoRefused` or `InvalidInput`."""
        if len(prefix) >= WHOLE_BATCH:
            return prefix
        entries = self._store.journal(self.space, Told(batch=prefix)) if prefix else []
        acts = dict.fromkeys(entry.act.batch for entry in entries)
        if not acts:
            raise UndoRefused(f"There is no such act in the journal as {prefix!r}; `nacre journal` lists them.")
        if len(acts) > 1:
            raise InvalidInput(f"{len(acts)} acts begin with {prefix!r}; give more characters.")
        return next(iter(acts))

    def compact(self, *, older_than_days: float | None = None, why: str = "") -> int:
        """Drops what the journal tells of acts older than this, by default than the setting `journal_days`; returns how
        many entries. They can no longer be undone, nor the times before them be asked about."""
        days = self._settings.journal_days if older_than_days is None else older_than_days
        if days <= 0 and older_than_days is None:
            return 0
        if days < 0:
            raise InvalidInput(f"A journal cannot be compacted to {days:g} days; give 0 or more.")
        return self._engine.compact(self.space, self._clock() - days * DAY, why=why)

    def _numbered(self, entry: JournalEntry) -> JournalEntry:
        """Gaps between the numbers would tell a narrowed agent how much others have written."""
        return entry if self._access is None else replace(entry, seq=0)

    def _last_acts(self, wanted: int) -> list[str]:
        if wanted < 1:
            raise InvalidInput(f"{wanted} acts cannot be taken back; give 1 or more.")
        mine = Told() if self._access is None else Told(actor=self.agent)
        for limit in LOOKED_BACK:
            entries = self._store.journal(self.space, mine, limit=limit)
            found = undoing.last_standing(entries, wanted)
            if len(found) == wanted or limit is None or len(entries) < limit:
                break
        if not found:
            raise UndoRefused("There is no such act in the journal; `nacre journal` shows what can be undone.")
        if len(found) < wanted:
            raise UndoRefused(f"Only {len(found)} acts can be taken back; `nacre journal` lists them.")
        return found


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A file under another name, which takes the place of `path` when all went well."""
    try:
        with files.replacing(path) as raw, ExitStack() as held:
            out = held.enter_context(gzip.GzipFile("", "wb", fileobj=raw)) if path.suffix == ".gz" else raw
            lines = io.TextIOWrapper(cast(BinaryIO, out), encoding="utf-8", newline="\n")
            yield lines
            lines.flush()
            lines.detach()
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"The journal cannot be written to {path} ({reason}); choose another place.") from error
