"""Files that a person brings to the server or takes away: what is dropped on the page, and what it downloads."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count as counted
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from nacre.errors import ArchiveRefused, InvalidInput, NacreError, UnknownName
from nacre.lifecycle.daemon import is_alive, this_host
from nacre.model.instants import DAY, stamp
from nacre.transfer.archive import ImportSummary
from nacre.transfer.export_files import MARKDOWN, export_file
from nacre.transfer.foreign.chroma import SeveralCollections
from nacre.transfer.import_archive import ImportOptions, check_allowed, import_path
from nacre.transfer.ingest.conversations import JSONL
from nacre.transfer.ingest.formats import FORMATS, LEFT_OUT
from nacre.transfer.ingest.ingest import Ingest
from nacre.transfer.sources import KINDS, UnknownForm, kind_of
from nacre.transfer.tables import NoTextColumn

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.protocols import Progress

log = logging.getLogger("nacre")

FOLDER, CONVERSATIONS = "folder", "conversations"
NO_FORMAT = "in no known format"
UNSAFE = re.compile(r"[^\w. @+,()-]+")
LONGEST_NAME = 200  # bytes, which every file system takes
MOST_FILES = 20_000  # of a zip
DEEPEST = 60  # folders in folders of a zip: paths on disk end at 4,096 characters
MOST_BYTES = 1_000_000_000  # that a zip unpacks to
MOST_FAULTS = 50  # that are named
COPIED_AT_ONCE = 1_000_000  # bytes
Purpose: TypeAlias = Literal["upload", "export"]  # of a temporary file or folder
TEMPORARY = re.compile(rf"nacre-(?:{'|'.join(get_args(Purpose))})-(?P<host>[0-9a-f]{{8}})-(?P<pid>\d{{1,9}})-")


@dataclass(slots=True)
class Imported:
    """What an import did, or would do: `kind` says what the file was taken for, `faults` name what could not be read,
    and `left_out` counts by reason. `operations` are what it wrote, oldest first."""

    kind: str
    dry_run: bool
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    broken: int = 0
    files: int = 1
    left_out: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)

    def add(self, other: Imported, name: str) -> None:
        """What came of one file of several."""
        self.files += 1
        for each in ("new", "changed", "unchanged", "removed", "broken"):
            setattr(self, each, getattr(self, each) + getattr(other, each))
        for reason, count in other.left_out.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count
        named = (fault if name in fault else f"{name}: {fault}" for fault in other.faults)
        self.faults = [*self.faults, *named][:MOST_FAULTS]
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent, with the name that its sender gave it. `folder` is where it is, and is removed with it."""

    folder: Path
    file: Path

    @classmethod
    def named(cls, sent: Path, name: str) -> Upload:
        """Moves the file under its own name: some formats are recognised by it, and notes are known by it later."""
        folder = sent.with_name(f"{sent.name}-files")
        folder.mkdir(mode=0o700)
        file = folder / safe_name(name)
        sent.rename(file)
        return cls(folder, file)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def safe_name(name: str) -> str:
    plain = UNSAFE.sub("-", name.replace("\\", "/").rpartition("/")[2]).strip(". -")
    return shortened(plain) or "upload"


def shortened(name: str) -> str:
    """Its end, which says what it is."""
    return name.encode()[-LONGEST_NAME:].decode("utf-8", "ignore")


# What the page offers instead of the options of the command line.
REMEDIES: Mapping[type[NacreError], str] = {
    NoTextColumn: "Name the column that has the text `text` in the first line of the file, and import it again.",
    SeveralCollections: (
        "Import them one by one in a terminal: nacre import FOLDER --collection NAME --space SPACE; or name one of "
        "them in `collections` of the API."
    ),
    UnknownForm: f"Choose a file in one of these formats: {', '.join(KINDS)}; or a zip of such files.",
}


@contextmanager
def page_remedies(name: str) -> Iterator[None]:
    """An error says what a person can do in the page, and names the file as its sender did."""
    try:
        yield
    except UnknownForm as error:
        raise InvalidInput(f"{name} is in no format that is known. {REMEDIES[UnknownForm]}") from error
    except SeveralCollections as error:
        raise InvalidInput(f"{name} {error.fact}. {REMEDIES[SeveralCollections]}") from error
    except ArchiveRefused as error:
        raise ArchiveRefused(name, error.reason, REMEDIES.get(type(error), error.remedy)) from error


def import_upload(
    store: MemoryStore, file: Path, *, format: str = "", on_conflict: str = "skip", dry_run: bool = False,
    why: str = "", collections: Sequence[str] = (), progress: Progress | None = None,
) -> Imported:  # fmt: skip
    """Imports an archive, a table, a conversation, a note, the memory of another program, or a zip of these.
    `collections` are those of a Chroma store. Raises `InvalidInput` and `ArchiveRefused`."""
    check_allowed(store, {"on_conflict": on_conflict})
    options: ImportOptions = {"on_conflict": on_conflict, "dry_run": dry_run, "why": why, "progress": progress}
    with page_remedies(file.name):
        if not format and zipfile.is_zipfile(file):
            return import_zip(store, file, options, collections)
        return import_any(store, file, options, kind_of(file, format or None).name, file.name, collections)


def import_any(
    store: MemoryStore, path: Path, options: ImportOptions, kind: str, name: str, collections: Sequence[str] = ()
) -> Imported:
    """Of notes and conversations, those that were edited are known again by `name`. Raises `ArchiveRefused`."""
    if kind not in FORMATS or kind == JSONL:
        done = import_path(store, path, source=kind, collections=collections, **options)
        return summed(kind, done, options)
    result = Imported(kind, options.get("dry_run", False))
    add_file(result, store, path, kind, name, options.get("progress"))
    return result


def summed(kind: str, done: ImportSummary, options: ImportOptions) -> Imported:
    return Imported(
        kind, options.get("dry_run", False), new=done.imported + done.renamed, changed=done.overwritten,
        unchanged=done.skipped - done.different, broken=done.errors, notes=list(done.notes),
        faults=[f"line {fault.line}: {fault.why}" for fault in done.faults][:MOST_FAULTS],
    )  # fmt: skip


def import_zip(store: MemoryStore, file: Path, options: ImportOptions, collections: Sequence[str] = ()) -> Imported:
    """A folder as a program wrote it, else file by file: what cannot be read is named, and the others are imported."""
    folder, result = file.with_name(f"{file.name}.unpacked"), Imported(FOLDER, options.get("dry_run", False), files=0)
    unpack(file, folder)
    for root in (folder, *(each for each in sorted(folder.iterdir()) if each.is_dir())):
        kind = kind_or_none(root)
        if kind is not None and kind not in (*FORMATS, CONVERSATIONS):
            return import_any(store, root, options, kind, file.stem, collections)
    progress, quiet = options.get("progress"), ImportOptions(**{**options, "progress": None})
    inside = [path for path in sorted(folder.rglob("*")) if path.is_file() and is_shown(path.relative_to(folder))]
    for number, path in enumerate(inside):
        name, kind = path.relative_to(folder).as_posix(), kind_or_none(path)
        if kind is None:
            result.left_out[NO_FORMAT] = result.left_out.get(NO_FORMAT, 0) + 1
            continue
        try:
            with page_remedies(name):
                result.add(import_any(store, path, quiet, kind, f"{file.stem}/{name}"), name)
        except ArchiveRefused as error:
            result.broken += 1
            result.faults = [*result.faults, str(error)][:MOST_FAULTS]
        if progress is not None:
            progress(number + 1, len(inside), "files")
    if not result.files:
        reasons = f" ({result.faults[0]})" if result.faults else ""
        known = ", ".join(KINDS)
        raise InvalidInput(f"{file.name} has no file in a known format{reasons}; choose another one, of {known}.")
    return result


def kind_or_none(path: Path) -> str | None:
    try:
        return kind_of(path).name
    except ArchiveRefused:
        return None


def is_shown(path: Path) -> bool:
    """Not what a program or a system put there for itself."""
    return not any(part.startswith(".") or part in LEFT_OUT for part in path.parts)


def add_file(
    result: Imported, store: MemoryStore, path: Path, format: str, name: str, progress: Progress | None
) -> None:
    """`name` is how the memories of a note are known when it is imported again."""
    tally = Ingest(store, FORMATS[format], path, result.dry_run, source=name).run(progress=progress)
    result.new += tally.new
    result.changed += tally.changed
    result.unchanged += tally.unchanged
    result.removed += tally.gone
    result.broken += tally.broken
    for reason, count in tally.skipped.items():
        result.left_out[reason] = result.left_out.get(reason, 0) + count
    result.faults += [f"{name}: {fault}" for fault in (*tally.faults, *tally.remarks)][
        : MOST_FAULTS - len(result.faults)
    ]
    if tally.redacted:
        kinds = ", ".join(sorted(tally.redacted))
        result.notes = sorted({*result.notes, f"Some texts are kept without what looked like a secret ({kinds})."})


def unpack(file: Path, folder: Path) -> None:
    """Into a new folder, and nowhere else. Raises `InvalidInput` for one that is damaged or too large."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = [each for each in archive.infolist() if is_file(each)]
            if len(entries) > MOST_FILES or sum(each.file_size for each in entries) > MOST_BYTES:
                most = f"{MOST_FILES:,} files or {MOST_BYTES // 1_000_000:,} MB"
                raise InvalidInput(f"{file.name} has more than {most}; import it in parts.")
            left = MOST_BYTES
            for entry in entries:
                left -= unpack_one(archive, entry, folder, left)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise InvalidInput(
            f"{file.name} cannot be unpacked ({error}); make the zip again, without a password."
        ) from error


def is_file(entry: zipfile.ZipInfo) -> bool:
    return not entry.is_dir() and not stat.S_ISLNK(entry.external_attr >> 16)


def unpack_one(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, left: int) -> int:
    """Returns how many bytes it has; what it announces may be wrong."""
    named = [part for part in entry.filename.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if len(named) > DEEPEST:
        raise InvalidInput(f"{Path(str(archive.filename)).name} has folders in folders, more than {DEEPEST} deep.")
    parts = [shortened(UNSAFE.sub("-", part)) for part in named]  # a name may begin with a dot, as that of a marker
    target, size = unused(folder.joinpath(*parts or ["file"])), 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as packed, target.open("wb") as out:
        while part := packed.read(COPIED_AT_ONCE):
            size += len(part)
            if size > left:
                raise InvalidInput(
                    f"{Path(str(archive.filename)).name} unpacks to more than {MOST_BYTES // 1_000_000:,} MB; import "
                    "it in parts."
                )
            out.write(part)
    return size


def unused(path: Path) -> Path:
    """Names that differ only in what no file system takes must not replace each other."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in counted(2))
    return path if not path.exists() else next(name for name in names if not name.exists())


# What a server that was killed leaves behind


def temporary_prefix(purpose: Purpose) -> str:
    """For a file or a folder with memories in the folder for temporary files; it says which process has it."""
    return f"nacre-{purpose}-{host_digest()}-{os.getpid()}-"


def host_digest() -> str:
    return hashlib.sha256(this_host().encode()).hexdigest()[:8]


def remove_leftovers(now: float) -> None:
    """Removes files with memories whose server has ended. Those of another machine or container, which may use the
    same folder, must be a day old."""
    for path in Path(tempfile.gettempdir()).glob("nacre-*"):
        named = TEMPORARY.match(path.name)
        try:
            about = path.lstat() if named else None
            if named is None or about is None or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
                continue
            here = named["host"] == host_digest()
            if is_alive(int(named["pid"])) if here else now - about.st_mtime < DAY:
                continue
            if stat.S_ISDIR(about.st_mode):
                shutil.rmtree(path)
            else:
                path.unlink()
        except OSError as error:  # the server can work all the same
            log.warning("%s, which a server left behind, cannot be removed: %s", path, error)


# Downloads


@dataclass(frozen=True, slots=True)
class Download:
    """A file to be sent under this name, and removed when it was sent."""

    file: Path
    name: str


def write_notes(store: MemoryStore, file: Path) -> None:
    folder = file.with_suffix("")
    export_file(store, folder, format=MARKDOWN)
    shutil.make_archive(str(folder), "zip", folder.parent, folder.name)


# The ending of the file, and what writes it.
EXPORTS: Mapping[str, tuple[str, Callable[[MemoryStore, Path], object]]] = {
    "nacre": (".nacre", export_file),
    "jsonl": (".jsonl", export_file),
    "csv": (".csv", export_file),
    "markdown": (".zip", write_notes),
    "ahkai": (".ahkai", export_file),
}


def export_download(store: MemoryStore, format: str, folder: Path, now: float) -> Download:
    """Raises `UnknownName`."""
    ending, write = UnknownName.get("format", format, EXPORTS)
    name = f"{safe_name(store.space)}-{stamp(now)}{ending}"
    write(store, folder / name)
    return Download(folder / name, name)
