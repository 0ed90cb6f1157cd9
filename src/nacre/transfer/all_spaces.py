"""All spaces of a store in one file: a zip with an archive for each, which is read back into the space of that name."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from nacre.errors import ArchiveRefused, InvalidInput
from nacre.memory_store import MemoryStore
from nacre.protocols import Progress
from nacre.transfer.archive import AGAIN, ExportSummary, most_bytes
from nacre.transfer.export import EVERYTHING, Choice, export_archive, replacing
from nacre.transfer.read_archive import Archive

MARK = b"nacre/spaces 1"  # the comment of such a zip
SUFFIX, MEMBER = ".zip", ".nacre"
MOST_SPACES = 100_000
DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)


@dataclass(frozen=True, slots=True)
class SpaceFile:
    space: str
    file: Path


def export_all_spaces(
    store: MemoryStore, path: Path, choice: Choice = EVERYTHING, *, overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, ExportSummary]:  # fmt: skip
    """What was written, by space. Only such a file is ever replaced, and only with `overwrite`. Each archive is of one
    moment, and not all of them of the same. Raises as `export_archive` does."""

    def refuse(path: Path) -> None:
        if not path.exists() or (path.is_file() and not path.stat().st_size):
            return
        if not is_all_spaces(path):
            raise InvalidInput(f"{path} already exists and is no export of all spaces; choose another name.")
        if not overwrite:
            raise InvalidInput(f"{path} already exists; add --force to replace it, or choose another name.")

    done = {}
    with replacing(path, refuse) as out, zipfile.ZipFile(out, "w") as packed:  # each archive is compressed by itself
        packed.comment = MARK
        for space in sorted(store.spaces()):
            with packed.open(quote(space, safe="") + MEMBER, "w", force_zip64=True) as member:
                done[space] = export_archive(store.in_space(space), member, choice, progress=progress)
    return done


def is_all_spaces(path: Path) -> bool:
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as packed:
            return packed.comment == MARK
    except DAMAGE:
        return False


@contextmanager
def unpacked_spaces(path: Path) -> Iterator[list[SpaceFile]]:
    """The archives, in files that go at the end of the block, each with the space that it says. Raises
    `ArchiveRefused`."""
    with TemporaryDirectory(prefix="nacre-spaces-") as folder:
        try:
            files = list(unpack(path, Path(folder)))
        except DAMAGE as error:
            raise ArchiveRefused(path, f"it is damaged or cut short ({error})", AGAIN) from error
        headers = [(Archive(file).header, file) for file in files]
        spaces = [header.space for header, _ in headers]
        if len(set(spaces)) < len(spaces) or not all(spaces):
            raise ArchiveRefused(path, "it has two archives of one space, or one of none", AGAIN)
        yield [SpaceFile(header.space, file) for header, file in headers]


def unpack(path: Path, folder: Path) -> Iterator[Path]:
    """Names in the zip are not used, as they could lead elsewhere."""
    most = most_bytes(path.stat().st_size)
    with zipfile.ZipFile(path) as packed:
        entries = packed.infolist()
        if len(entries) > MOST_SPACES or sum(each.file_size for each in entries) > most:
            raise ArchiveRefused(path, "it unpacks to more than an export of its size does", AGAIN)
        for number, entry in enumerate(entries):
            file = folder / f"{number}{MEMBER}"
            with packed.open(entry) as member, file.open("xb") as out:  # reads no more than the size that it says
                shutil.copyfileobj(member, out)
            yield file
