"""A folder of Markdown notes: written, kept up to date with the store, and read back with what was edited in it."""

from __future__ import annotations

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from nacre import files
from nacre.errors import HistoryLost, InvalidInput, StorageError
from nacre.memory_store import MemoryStore
from nacre.model import TYPES, Filter, Memory
from nacre.model.instants import end_of_day, seconds
from nacre.model.journal import MEMORY
from nacre.protocols import Progress
from nacre.recall_options import make_filter
from nacre.transfer import notes
from nacre.transfer.archive import ExportSummary
from nacre.transfer.export import EVERYTHING, Choice
from nacre.transfer.foreign.source import ForeignSource, header, printable
from nacre.transfer.notes import Note
from nacre.transfer.read_archive import BadRow, MemoryRow, Row, TermRow
from nacre.transfer.vocabulary import TYPE

NAME = "notes"
MARKER = ".nacre-notes.json"  # says that a folder is ours, and what it holds
FORMAT = "nacre/notes"
SUFFIX = ".md"
PER_MEMORY, PER_DAY = "memory", "day"
LAYOUTS = (PER_MEMORY, PER_DAY)
PAGE = 256  # memories read at once
LARGEST = 64_000_000  # bytes of a note: a day of long memories
ENTRIES = 500  # journal entries read at once
WAIT = 2.0  # seconds between two looks at the journal
EXPORTED = re.compile(r"---\s*\n(id: .*\nversion: \d+\ndigest: |day: .*\nmemories:)")
NAMED = 10  # edited notes that are listed by name


@dataclass(slots=True)
class Changes:
    """What one pass did. `edited` are notes that somebody edited and that were therefore left as they are."""

    written: int = 0
    removed: int = 0
    edited: list[Path] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.written or self.removed or self.edited)


class NoteFolder:
    """Writes the chosen memories of a space to a folder. Names stay once they are given, so that links stay valid."""

    def __init__(
        self, store: MemoryStore, folder: Path, choice: Choice = EVERYTHING, *, per: str = PER_MEMORY,
        force: bool = False,
    ) -> None:  # fmt: skip
        """Raises `InvalidInput` for a folder with other files, unless `force` is set, and for another layout."""
        self.store, self.folder, self.choice, self.per = store, folder, choice, per
        self.files: dict[str, Path] = {}  # of each id or day, relative to the folder
        self.days: dict[str, str] = {}  # of each id, where a note is a day
        self.redacted = self.count = self.bytes = 0
        self.seq = 0
        self._check_folder(force=force)

    def _check_folder(self, *, force: bool) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidInput(f"{self.folder} is not a folder; Markdown is written as a folder of notes.")
        if not self.folder.exists() or not any(self.folder.iterdir()):
            return
        marker = read_marker(self.folder)
        if marker is None:
            if not force:
                raise InvalidInput(
                    f"{self.folder} has other files in it; name a new folder, or add --force to write beside them."
                )
            return
        if (marker.get("per"), marker.get("space")) != (self.per, self.store.space):
            raise InvalidInput(
                f"{self.folder} holds the notes of the space {marker.get('space')!r}, one for each "
                f"{marker.get('per')}; name another folder."
            )

    def write(self, progress: Progress | None = None) -> Changes:
        """Makes the whole folder as the store is. Raises `StorageError` when it cannot be written."""
        self.store.check_records()
        newest = self.store.journal(limit=1)
        self.seq = newest[0].seq if newest else 0
        changes = Changes()
        with writing(self.folder):
            files.private_folder(self.folder)
            self._scan()
            self._give_names()
            known = set(self.files) if self.per == PER_DAY else set()
            total, self.count = len(self.days) if self.per == PER_DAY else len(self._chosen), 0
            if self.per == PER_DAY:
                for on in sorted(set(self.days.values())):
                    known.discard(on)
                    self._write_day(on, changes)
                    if progress is not None:
                        progress(min(self.count, total), total, "writing notes")
            else:
                known = set(self.files) - self._chosen
                memories = self.store.iterate(**self.choice.scope())
                while page := list(islice(memories, PAGE)):
                    for memory in page:
                        self._name(memory)  # one that was stored meanwhile has none yet
                        self._write_memory(memory, changes)
                    if progress is not None:
                        progress(min(self.count, total), max(1, total), "writing notes")
            for key in known:
                self._remove(key, changes)
            self._mark()
        return changes

    def follow(self) -> Changes:
        """Brings the folder up to date with what was journaled since the last pass."""
        changes = Changes()
        with writing(self.folder):
            while True:
                try:
                    entries = self.store.changes(self.seq, limit=ENTRIES)
                except HistoryLost:
                    return self.write()
                if not entries:
                    break
                ids = list(dict.fromkeys(entry.memory_id for entry in entries if entry.kind == MEMORY))
                self._update(ids, changes)
                self.seq = entries[-1].seq
            if changes:
                self._mark()
        return changes

    def _update(self, ids: Sequence[str], changes: Changes) -> None:
        admitted = make_filter(self.choice.scope(), now=self.store.now(), types=self.store.types()).admits
        chosen = {memory.id: memory for memory in self.store.get_many(ids) if admitted(memory)}
        if self.per == PER_DAY:
            before = {self.days.pop(id) for id in ids if id in self.days}
            self.days |= {id: notes.day_of(memory) for id, memory in chosen.items()}
            for on in sorted(before | {self.days[id] for id in chosen}):
                self.files.setdefault(on, Path(f"{on}{SUFFIX}"))
                if on in self.days.values():
                    self._write_day(on, changes)
                else:
                    self._remove(on, changes)
            return
        for id in ids:
            if id in chosen:
                self._name(chosen[id])
                self._write_memory(chosen[id], changes)
            elif id in self.files:
                self._remove(id, changes)

    def _scan(self) -> None:
        """What the folder has already."""
        self.files.clear()
        self.days.clear()
        for path in walk(self.folder, nested=False):
            try:
                parsed_notes = notes.parse(read_note(path))
            except InvalidInput:
                continue
            relative = path.relative_to(self.folder)
            if self.per == PER_DAY and len(relative.parts) == 1 and parsed_notes:
                self.files[relative.stem] = relative
                self.days |= {note.id: relative.stem for note in parsed_notes}
            elif self.per == PER_MEMORY and len(parsed_notes) == 1:
                note = parsed_notes[0]
                if note.id not in self.files or has_given_name(relative, note):  # before a copy with its id
                    self.files[note.id] = relative

    def _give_names(self) -> None:
        self.days.clear()
        self._chosen: set[str] = set()
        for memory in self.store.iterate(**self.choice.scope()):
            if self.per == PER_DAY:
                self.days[memory.id] = notes.day_of(memory)
                self.files.setdefault(notes.day_of(memory), Path(f"{notes.day_of(memory)}{SUFFIX}"))
            else:
                self._chosen.add(memory.id)
                self._name(memory)

    def _name(self, memory: Memory) -> None:
        if memory.id not in self.files:
            self.files[memory.id] = Path(notes.day_of(memory)[:7]) / f"{notes.name_of(memory)}{SUFFIX}"

    def name(self, id: str) -> str:
        """What a wiki link calls the note of a memory; empty when it has none."""
        path = self.files.get(self.days.get(id, "") if self.per == PER_DAY else id)
        return path.stem if path is not None else ""

    def _write_memory(self, memory: Memory, changes: Changes) -> None:
        cleaned, redacted = self._cleaned(memory)
        text = notes.note_text(cleaned, memory.version, self.name, redacted=redacted)
        self._put(self.folder / self.files[memory.id], text, changes)

    def _write_day(self, on: str, changes: Changes) -> None:
        scope = self.choice.scope()
        scope["where"] = Filter.where(created_at__ge=seconds(on), created_at__le=end_of_day(on))
        cleaned = self._with_versions(memory for memory in self.store.iterate(**scope) if notes.day_of(memory) == on)
        if cleaned:
            self._put(self.folder / self.files[on], notes.day_text(on, cleaned, self.name), changes)

    def _with_versions(self, memories: Iterable[Memory]) -> list[tuple[Memory, int, bool]]:
        """As `notes.day_text` takes them."""
        return [(each, memory.version, redacted) for memory in memories for each, redacted in [self._cleaned(memory)]]

    def _cleaned(self, memory: Memory) -> tuple[Memory, bool]:
        self.count += 1
        cleaned = self.store.clean(memory) if self.choice.redact else memory
        self.redacted += cleaned != memory
        return cleaned, cleaned != memory

    def _put(self, path: Path, text: str, changes: Changes) -> None:
        content = text.encode()
        self.bytes += len(content)
        try:
            existing = read_note(path)
        except FileNotFoundError:
            existing = ""
        except InvalidInput:
            changes.edited.append(path)
            return
        if existing == text or (existing and same_notes(existing, text)):
            return
        if existing and not is_unedited(existing) and not is_taken_back(existing, text):
            changes.edited.append(path)
            return
        files.private_folder(path.parent)
        files.atomic_write(path, content, durable=False)
        changes.written += 1

    def _remove(self, key: str, changes: Changes) -> None:
        path = self.folder / self.files.pop(key)
        try:
            if not is_unedited(read_note(path)):
                changes.edited.append(path)
                return
        except FileNotFoundError:
            return
        except InvalidInput:
            changes.edited.append(path)
            return
        path.unlink(missing_ok=True)
        changes.removed += 1

    def renew_edited(self) -> None:
        """Gives edited notes whose edits the store has the version that they now have there, so that they can be edited
        again."""
        with writing(self.folder):
            self._scan()
            for path in map(self.folder.joinpath, list(self.files.values())):
                with suppress(InvalidInput, FileNotFoundError):
                    parsed_notes = notes.parse(read_note(path))
                    if any(note.edited for note in parsed_notes):
                        self._renew(path, [note.id for note in parsed_notes])

    def _renew(self, path: Path, ids: Sequence[str]) -> None:
        cleaned = self._with_versions(self.store.get_many(ids))
        if self.per == PER_DAY:
            self._put(path, notes.day_text(path.stem, cleaned, self.name), Changes())
        elif cleaned:
            memory, version, redacted = cleaned[0]
            self._put(path, notes.note_text(memory, version, self.name, redacted=redacted), Changes())

    def edited(self) -> list[Path]:
        """The notes that somebody edited since they were written."""
        return [path for path in map(self.folder.joinpath, self.files.values()) if is_edited(path)]

    def _mark(self) -> None:
        facts = {"format": FORMAT, "version": 1, "space": self.store.space, "per": self.per}
        marker = self.folder / MARKER
        if read_marker(self.folder) != facts:
            files.atomic_write(marker, json.dumps(facts) + "\n")


def is_edited(path: Path) -> bool:
    try:
        return not is_unedited(read_note(path))
    except FileNotFoundError:
        return False
    except InvalidInput:
        return True


def is_unedited(content: str) -> bool:
    """Whether a note is as it was written: nobody edited it."""
    try:
        parsed_notes = notes.parse(content)
    except InvalidInput:
        return False
    return bool(parsed_notes) and not any(note.edited for note in parsed_notes)


def is_taken_back(existing: str, current: str) -> bool:
    """Whether everything that was edited in a note is in the store, whose memories `current` shows."""
    try:
        parsed_notes, stored = notes.parse(existing), {note.id: note for note in notes.parse(current)}
    except InvalidInput:
        return False
    edited = [note for note in parsed_notes if note.edited]
    return bool(edited) and all(note.id in stored and same_memory(note, stored[note.id]) for note in edited)


def same_memory(one: Note, other: Note) -> bool:
    """Whether they say the same of it, whenever that was written."""

    def said(note: Note) -> dict[str, object]:
        return {name: value for name, value in note.fields.items() if name not in ("updated_at", *notes.USES)}

    return (said(one), one.text) == (said(other), other.text)


def is_exported(content: str) -> bool:
    """Whether a note, of which the beginning is enough, was exported."""
    return bool(EXPORTED.match(content))


def same_notes(one: str, other: str) -> bool:
    """Whether they differ only in the uses of their memories, or in how they are written."""
    try:
        return [facts(note) for note in notes.parse(one)] == [facts(note) for note in notes.parse(other)]
    except InvalidInput:
        return False


def facts(note: Note) -> tuple[object, ...]:
    return note.id, note.version, note.redacted, note.edited, notes.digest_of(note.fields, note.text)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"Cannot write to {folder} ({reason}); choose another place.") from error


def walk(folder: Path, *, nested: bool = True) -> Iterator[Path]:
    """Its notes; without `nested`, not those in a folder below it that was exported by itself, from another space
    perhaps."""
    for at, folders, names in os.walk(folder):
        if not nested and MARKER in names and Path(at) != folder:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(at, name) for name in sorted(names) if name.endswith(SUFFIX) and not name.startswith("."))


def read_note(path: Path) -> str:
    """Raises `InvalidInput` and `FileNotFoundError`."""
    with files.open_regular(path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise InvalidInput(f"it is larger than {LARGEST // 1_000_000} MB.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("it is not UTF-8 text.") from None


def read_marker(folder: Path) -> Mapping[str, object] | None:
    try:
        value = json.loads((folder / MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("format") == FORMAT else None


def export_notes(
    store: MemoryStore, folder: Path | str, choice: Choice = EVERYTHING, *, per: str = PER_MEMORY, force: bool = False,
    progress: Progress | None = None,
) -> ExportSummary:  # fmt: skip
    """Writes the memories as a folder of notes. A folder that was exported before is brought up to date with `force`.

    Raises `InvalidInput` for a folder that has other files in it, and `StorageError`.
    """
    started = time.monotonic()
    folder = Path(folder).expanduser()
    if read_marker(folder) is not None and not force:
        raise InvalidInput(f"{folder} holds exported notes already; add --force to bring them up to date, or --watch.")
    written = NoteFolder(store, folder, choice, per=per, force=force)
    changes = written.write(progress)
    remarks = (*edited_note(changes.edited), *redacted_note(written.redacted))
    elapsed = time.monotonic() - started
    return ExportSummary(folder, written.count, written.bytes, elapsed, 0, written.redacted, remarks)


def edited_note(edited: Sequence[Path]) -> tuple[str, ...]:
    if not edited:
        return ()
    named = ", ".join(path.name for path in edited[:NAMED]) + (", …" if len(edited) > NAMED else "")
    were = "1 edited note was" if len(edited) == 1 else f"{len(edited):,} edited notes were"
    kept = "your text stays in the note, and the store keeps its own"
    remedy = "`nacre import` brings your edits into the store, and to have the store's version move the note away first"
    return (f"{were} not overwritten: {kept}; {remedy}: {named}.",)


def redacted_note(redacted: int) -> tuple[str, ...]:
    were = "1 memory was" if redacted == 1 else f"{redacted:,} memories were"
    return (f"{were} written without what looked like a secret.",) if redacted else ()


def watch(
    folder: NoteFolder, report: Callable[[Changes], None], wait: Callable[[float], object] = time.sleep,
    progress: Progress | None = None,
) -> None:  # fmt: skip
    """Keeps the folder up to date until it is interrupted."""
    report(folder.write(progress))
    reported: set[Path] = set()
    while True:
        wait(WAIT)
        changes = folder.follow()
        changes.edited = [path for path in changes.edited if path not in reported]
        reported.update(changes.edited)
        if changes:
            report(changes)


def renew_edited(store: MemoryStore, folder: Path) -> None:
    """After an import of exported notes. Elsewhere than in a folder of this space it does nothing."""
    marker = read_marker(folder)
    if marker is not None and marker.get("space") == store.space and marker.get("per") in LAYOUTS:
        NoteFolder(store, folder, per=str(marker["per"])).renew_edited()


@contextmanager
def opened(path: Path) -> Iterator[NoteSource]:
    yield NoteSource(path, header(NAME))


@dataclass(slots=True)
class NoteSource(ForeignSource):
    """An edited note changes the memory of its id if that is still of the note's version; an unedited one is taken
    only where the store has no such memory. Both are taken anyway where the import overwrites, except what was exported
    without its secret."""

    foreign: int = 0

    def further_notes(self) -> Iterator[str]:
        if self.foreign:
            one = self.foreign == 1
            which = "1 note that was not exported was" if one else f"{self.foreign:,} notes that were not exported were"
            yield f"{which} left out; `nacre ingest` stores such notes."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        """Of notes with one id, the one that has the name that it was exported with is the memory's, and comes before
        its copies."""
        self.foreign = number = 0
        types = set(TYPES)
        named: dict[str, str] = {}  # of each id, its note
        renamed: defaultdict[str, list[tuple[str, Note]]] = defaultdict(list)
        for path in walk(self.path) if self.path.is_dir() else [self.path]:
            name = printable(path.relative_to(self.path) if self.path.is_dir() else path.name)
            try:
                parsed_notes = notes.parse(read_note(path))
            except (InvalidInput, OSError) as error:
                number += 1
                yield BadRow(number, f"{name}: {error}")
                continue
            self.foreign += not parsed_notes
            for note in parsed_notes:
                if note.id and (note.id in named or not has_given_name(path, note)):
                    renamed[note.id].append((name, note))
                    continue
                named[note.id] = name
                number += 1
                if progress is not None and number % ENTRIES == 0:
                    progress(number, number, "checking the notes")
                yield from rows_of(number, note, name, types)
        for id, copies in renamed.items():
            taken, refused = without_copies(copies, named.get(id, ""))
            for name, note in taken:
                number += 1
                yield from rows_of(number, note, name, types)
            for fault in refused:
                number += 1
                yield BadRow(number, fault)


def has_given_name(path: Path, note: Note) -> bool:
    """Whether the file is still called as it was when it was written."""
    day = str(note.fields.get("created_at")).partition("T")[0]
    return path.stem == day or path.stem.endswith(notes.token(note.id))


def without_copies(copies: Sequence[tuple[str, Note]], original: str) -> tuple[list[tuple[str, Note]], list[str]]:
    """Of notes with one id, by their names: those that are taken, and what is wrong with the others. A copy that nobody
    edited says nothing new. Without an original, nothing says which of several edited ones is the memory's."""
    if not original and len(copies) == 1:
        return list(copies), []
    unedited = [each for each in copies if not each[1].edited]
    faults = []
    for name, note in copies:
        if note.edited:
            other = original or next((each for each, _ in copies if each != name), name)
            faults.append(
                f"{name}: it has the id of {other}, whose memory it would change; to make it a memory of its own, "
                "remove its id line and run `nacre ingest` on it."
            )
    return [] if original else unedited[:1], faults


def rows_of(number: int, note: Note, name: str, types: set[str]) -> Iterator[Row]:
    """With its type, where it is not among the `types`, which are added to."""
    type_name = note.fields.get("type")
    if isinstance(type_name, str) and type_name not in types:
        types.add(type_name)
        yield TermRow(number, TYPE, type_name, {})
    yield row(number, note, name)


def row(number: int, note: Note, name: str) -> Row:
    if note.edited and note.redacted:
        return BadRow(number, f"{name}: it was exported without a secret, so an edit of it cannot be taken back; "
                              "use `nacre edit`.")  # fmt: skip
    fields = {key: value for key, value in note.fields.items() if key != "space"}
    content = {**fields, "text": note.text}
    return MemoryRow(number, content, None, name, note.version, note.edited, note.redacted, complete=True)
