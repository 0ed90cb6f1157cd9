"""The formats that can be ingested, detection by content, and the files of a folder to read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from nacre.errors import InvalidInput
from nacre.files import NOT_A_FILE, open_regular
from nacre.transfer.ingest import conversations, markdown
from nacre.transfer.ingest.items import Piece, lines
from nacre.transfer.names import INGEST_FORMATS

HEAD = 256_000  # bytes, or
HEAD_LINES = 50  # lines that are enough to detect a format
EXPORTED_KEYS = ("mapping", "chat_messages")  # of a conversation that a service exported
CONVERSATION = re.compile(rf'"({"|".join(EXPORTED_KEYS)})"\s*:')
GEMINI_SESSION = re.compile(r'"sessionId"\s*:.*"(projectHash|messageId)"\s*:|"projectHash"\s*:', re.DOTALL)
GEMINI_CHAT = re.compile(r'\[\s*\{\s*"(role"\s*:\s*"(user|model)"\s*,\s*"parts|parts)"\s*:')
LOOKED_AT = (".jsonl", ".json", ".ndjson", *markdown.SUFFIXES)
LEFT_OUT = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))


class Reader(Protocol):
    def __call__(self, path: Path, *, tools: bool = False) -> Iterator[Piece]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """`edited`: files are edited by hand, so a changed part changes its memory. `folder_of` finds the folder,
    and so the project, of a conversation."""

    name: str
    read: Reader
    edited: bool = False
    folder_of: Callable[[Path], Path | None] | None = None


BY_NAME = {
    each.name: each
    for each in (
        Format(conversations.CLAUDE_CODE, conversations.read_claude_code, folder_of=conversations.folder_of),
        Format(conversations.CHATGPT, conversations.read_chatgpt),
        Format(conversations.CLAUDE, conversations.read_claude),
        Format(conversations.CODEX, conversations.read_codex, folder_of=conversations.codex_folder),
        Format(conversations.GEMINI, conversations.read_gemini),
        Format(conversations.JSONL, conversations.read_jsonl),
        Format(markdown.NAME, markdown.read, edited=True),
    )
}
FORMATS: Mapping[str, Format] = {name: BY_NAME[name] for name in INGEST_FORMATS}


def detect(path: Path) -> Format | None:
    """By content; only Markdown notes, which may hold anything, are recognised by name."""
    with open_regular(path) as file:
        head = file.read(HEAD).decode("utf-8-sig", "replace").lstrip()
    if path.suffix.lower() in markdown.SUFFIXES:
        return FORMATS[markdown.NAME]
    of_lines = lines_format(path) if head.startswith("{") else None
    if of_lines is not None:
        return of_lines
    match = CONVERSATION.search(head) if head[:1] in ("[", "{") else None
    if match is None:
        return FORMATS[conversations.GEMINI] if GEMINI_SESSION.search(head) or GEMINI_CHAT.match(head) else None
    return FORMATS[conversations.CHATGPT if match.group(1) == "mapping" else conversations.CLAUDE]


def lines_format(path: Path) -> Format | None:
    """The first recognised line decides; broken or unknown lines may come before it."""
    plain = None
    for line in islice(lines(path), HEAD_LINES):
        entry = line.entry if isinstance(line.entry, dict) else {}
        if "projectHash" in entry:
            return FORMATS[conversations.GEMINI]
        if conversations.is_codex(line) and "type" in entry:
            return FORMATS[conversations.CODEX]
        if "sessionId" in entry or (entry.get("type") == "summary" and "leafUuid" in entry):
            return FORMATS[conversations.CLAUDE_CODE]
        if not entry.keys().isdisjoint(conversations.TEXT_KEYS) and entry.keys().isdisjoint(EXPORTED_KEYS):
            plain = FORMATS[conversations.JSONL]
    return plain


def with_one_date_order(chosen: Sequence[tuple[Path, Format]]) -> tuple[list[tuple[Path, Format]], str]:
    """The files, all with dates such as 04/05/2020 in the front matter of notes read in one way: with the day first,
    where one of them cannot be read otherwise. Also a sentence about that; empty where no date may be two."""
    notes = [path for path, format in chosen if format.name == markdown.NAME]
    dates = [date for date in map(markdown.slashed_date, notes) if date is not None]
    days_first = any(first > markdown.MONTHS for first, _ in dates)
    months_first = any(second > markdown.MONTHS for _, second in dates)
    either = any(max(date) <= markdown.MONTHS and date[0] != date[1] for date in dates)
    such = "Dates such as 03/04/2024 in front matter were read with the"
    if not days_first:
        said = f"{such} month first; write 2024-04-03 for April." if either and not months_first else ""
        return list(chosen), said
    day_first = partial(markdown.read, day_first=True)
    ordered = [(path, replace(each, read=day_first) if each.name == markdown.NAME else each) for path, each in chosen]
    return ordered, f"{such} day first, as other notes have them; write 2024-03-04 for March." if either else ""


def files(paths: tuple[Path, ...], left_out: Callable[[Path, str], None] | None = None) -> Iterator[tuple[Path, bool]]:
    """Each file once, and whether it was named itself; folders are walked in order. Raises `InvalidInput`.

    `left_out` gets each file that is not read, and the reason: a pipe, which may never end, a symlink that leads out
    of the folder, or a name that is not UTF-8.
    """
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise InvalidInput(f"{path} does not exist; name a file or a folder to ingest.")
        if not path.is_file() and not path.is_dir():
            raise InvalidInput(f"{path} is {NOT_A_FILE}; name a file or a folder to ingest.")
        for file, named in [(path, True)] if path.is_file() else [(each, False) for each in walked(path)]:
            reason = why_unnameable(file) or ("" if named else unfit(file, path))
            if reason:
                if left_out is not None:
                    left_out(file, reason)
            elif file.resolve() not in seen:
                seen.add(file.resolve())
                yield file, named


def why_unnameable(file: Path) -> str:
    """Why no memory can name the file; empty when it can. The bytes of a name need not be text."""
    for name, what in ((file.name, "its name"), (str(file.absolute()), "the name of its folder")):
        try:
            name.encode()
        except UnicodeEncodeError:
            return f"{what} is not UTF-8; rename it"
    return ""


def unfit(file: Path, folder: Path) -> str:
    """Why a file found in a folder is not read; empty when it may be."""
    try:
        if file.is_symlink() and not file.resolve().is_relative_to(folder.resolve()):
            return "it is a symlink that leads out of the folder"
        if not file.exists():
            return "it is a broken symlink"
    except (OSError, RuntimeError) as error:
        return f"it cannot be examined ({getattr(error, 'strerror', None) or error})"
    return "" if file.is_file() else f"it is {NOT_A_FILE}"


def walked(folder: Path, endings: tuple[str, ...] = LOOKED_AT) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            if name.lower().endswith(endings) and not name.startswith("."):
                yield Path(at, name)
