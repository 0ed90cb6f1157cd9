"""Exports in every format: an archive, JSON lines, CSV, or a folder of Markdown notes."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import IO

from nacre.errors import InvalidInput, UnknownName
from nacre.files import open_regular
from nacre.memory_store import MemoryStore
from nacre.model.memory import NAMES
from nacre.protocols import Progress
from nacre.transfer import cells
from nacre.transfer.archive import ARCHIVE, MAGIC, ExportSummary
from nacre.transfer.export import EVERYTHING, PAGE, Choice, export_archive, replacing
from nacre.transfer.note_folder import PER_MEMORY, export_notes, redacted_note
from nacre.transfer.tables import CSV, JSONL

MARKDOWN = "markdown"
FORMATS = (ARCHIVE, JSONL, CSV, MARKDOWN)
ENDINGS = {
    ".nacre": ARCHIVE, ".ahkai": ARCHIVE, ".gz": ARCHIVE, ".jsonl": JSONL, ".ndjson": JSONL, ".csv": CSV,
    ".md": MARKDOWN, ".markdown": MARKDOWN,
}  # fmt: skip
HEAD = 4_096  # bytes that are enough to see that a file is text


def format_of(path: Path, name: str | None = None) -> str:
    """The format that is given, or that the ending of the path means. Raises `InvalidInput` where they contradict."""
    if name is not None:
        UnknownName.check("format", name, FORMATS)
    ending = path.suffix.lower()
    meant = ENDINGS.get(ending)
    if meant == MARKDOWN and not path.is_dir():
        raise InvalidInput(f"Markdown is written as a folder of notes; name a folder and not {path.name}.")
    if path.is_dir():
        meant = MARKDOWN
    if name is not None and meant is not None and meant != name:
        kind = "a folder" if path.is_dir() else f"a file that ends in {ending}"
        raise InvalidInput(f"{path} is {kind}, and the format is {name}; change the name or leave out --to.")
    if name is None and meant is None:
        known = ", ".join(each for each in ENDINGS if ENDINGS[each] != MARKDOWN)
        what = ending or f"The name {path.name!r}"
        raise InvalidInput(
            f"{what} says no format; add --to, or end the name in one of {known}, or in / for a folder of notes."
        )
    return name or meant or ARCHIVE


def export_file(
    store: MemoryStore, out: Path | str | IO[bytes], choice: Choice = EVERYTHING, *, format: str | None = None,
    per: str = PER_MEMORY, overwrite: bool = False, progress: Progress | None = None,
) -> ExportSummary:  # fmt: skip
    """Writes the memories in a format, by default that of the path's ending. A file is written completely or not at
    all, and an existing one is replaced only with `overwrite`, and only by one of its own format.

    `per` is for Markdown: one note for each memory, or for each day. Raises `InvalidInput` and `StorageError`.
    """
    if not isinstance(out, str | Path):
        if format == MARKDOWN:
            raise InvalidInput("Markdown is written as a folder of notes; name a folder.")
        if format in (JSONL, CSV):
            return export_table(store, out, choice, format, progress)
        return export_archive(store, out, choice, progress=progress)
    path = Path(out).expanduser()
    chosen = format_of(path, format)
    if chosen == MARKDOWN:
        return export_notes(store, path, choice, per=per, force=overwrite, progress=progress)
    if chosen == ARCHIVE:
        return export_archive(store, path, choice, progress=progress, overwrite=overwrite)

    def refuse(path: Path) -> None:
        if not path.exists():
            return
        if not path.is_file() or not is_text(path):
            raise InvalidInput(f"{path} already exists and is not a text file; choose another name.")
        if path.stat().st_size and not overwrite:
            raise InvalidInput(f"{path} already exists; add --force to replace it, or choose another name.")

    with replacing(path, refuse) as file:
        return export_table(store, file, choice, chosen, progress, path)


def is_text(path: Path) -> bool:
    """A store or an archive is not: a typing mistake must not destroy it."""
    with open_regular(path) as file:
        head = file.read(HEAD)
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # else a character is cut in two
            return False
    return b"\0" not in head and not head.startswith(MAGIC)


def export_table(
    store: MemoryStore, out: IO[bytes], choice: Choice, format: str, progress: Progress | None = None,
    path: Path | None = None,
) -> ExportSummary:  # fmt: skip
    """Oldest first, in bounded memory."""
    started = time.monotonic()
    store.check_records()
    scope = choice.scope()
    total = store.count(**scope)
    count = redacted = size = 0
    if format == CSV:
        size += out.write(cells.csv_line(NAMES).encode())
    memories = store.iterate(**scope)
    while page := list(islice(memories, PAGE)):
        for memory in page:
            cleaned = store.clean(memory) if choice.redact else memory
            redacted += cleaned != memory
            line = cells.json_line(cleaned) if format == JSONL else cells.table_line(cleaned)
            size += out.write(line.encode())
            count += 1
        if progress is not None:
            progress(min(count, total), max(total, count), "exporting memories")
    elapsed = time.monotonic() - started
    return ExportSummary(path, count, size, elapsed, 0, redacted, redacted_note(redacted))
