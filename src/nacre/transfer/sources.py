"""Everything that can be imported: which kind a path is, and how each kind is opened."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.remember.guard import Guard
from nacre.transfer import note_folder, tables
from nacre.transfer.archive import ARCHIVE, MAGIC, VERSIONS
from nacre.transfer.foreign import (
    ai_lessons,
    amplihack,
    chroma,
    claude_mem,
    engram,
    langgraph,
    letta,
    mcp_memory_service,
    mem0,
    pieces,
    server_memory,
    vault,
)
from nacre.transfer.foreign.look import HEAD, HEAD_LINES, Look
from nacre.transfer.foreign.source import no_memories
from nacre.transfer.ingest import conversations, markdown
from nacre.transfer.ingest.formats import detect
from nacre.transfer.ingest.items import elements
from nacre.transfer.names import SOURCES
from nacre.transfer.read_archive import Archive, Source
from nacre.transfer.tables import CSV, JSONL

CHATS = (
    conversations.CLAUDE_CODE, conversations.CODEX, conversations.GEMINI, conversations.CHATGPT, conversations.CLAUDE,
)  # fmt: skip
Opened: TypeAlias = AbstractContextManager[Source]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read: `collections` are those of Chroma, `columns` the fields for columns of a table, and `tools` takes
    what tools were asked and answered from a conversation."""

    guard: Guard
    collections: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    tools: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """`what` describes it in a sentence that begins with "It is"."""

    name: str
    what: str
    open: Callable[[Path, Reading], Opened]
    matches: Callable[[Look], bool]


def plain(opened: Callable[[Path], Opened]) -> Callable[[Path, Reading], Opened]:
    """Of a source that is read in one way only."""
    return lambda path, _: opened(path)


def open_chroma(path: Path, how: Reading) -> Opened:
    return chroma.opened(path, how.collections)


def open_table(form: str, path: Path, how: Reading) -> Opened:
    return tables.opened(path, form, how.guard, how.columns)


def open_pieces(name: str, path: Path, how: Reading) -> Opened:
    return pieces.opened(path, how.guard, name, tools=how.tools)


def open_vault(name: str, path: Path, how: Reading) -> Opened:
    return vault.opened(path, how.guard, name)


def is_archive(look: Look) -> bool:
    header = any(form in look.text[:400] for form in VERSIONS)
    return look.head.startswith(MAGIC) or (look.text.startswith("{") and '"format"' in look.text[:400] and header)


def is_notes(look: Look) -> bool:
    if look.is_folder:
        return note_folder.read_marker(look.path) is not None
    return look.path.suffix.lower() in markdown.SUFFIXES and note_folder.is_exported(look.text)


def is_format(name: str, look: Look) -> bool:
    if look.is_folder or not look.head:
        return False
    format = detect(look.path)
    return format is not None and format.name == name


def is_json_rows(look: Look) -> bool:
    names = ("text", *tables.OTHER_NAMES["text"])
    if look.is_array:
        return any(not each.keys().isdisjoint(names) for each in look.first_elements)
    return any(not each.keys().isdisjoint(names) for each in look.first_lines)


def is_csv(look: Look) -> bool:
    return look.path.suffix.lower() in (".csv", ".tsv") and b"\0" not in look.head


def is_markdown(look: Look) -> bool:
    return bool(look.notes) if look.is_folder else look.path.suffix.lower() in markdown.SUFFIXES


def is_chat_folder(look: Look) -> bool:
    endings = ("*.jsonl", "*.json")
    return look.is_folder and any(True for ending in endings for _ in look.path.rglob(ending))


BY_NAME = {
    kind.name: kind
    for kind in (
        Kind(ARCHIVE, "an archive", lambda path, _: nullcontext(Archive(path)), is_archive),
        Kind(note_folder.NAME, "exported notes", plain(note_folder.opened), is_notes),
        Kind(chroma.NAME, "a Chroma store", open_chroma, chroma.matches),
        Kind(ai_lessons.NAME, "ai-lessons", plain(ai_lessons.opened), ai_lessons.matches),
        Kind(amplihack.NAME, "amplihack-memory", plain(amplihack.opened), amplihack.matches),
        Kind(mem0.NAME, "the history of mem0", plain(mem0.opened_history), mem0.is_history),
        Kind(mem0.QDRANT, "a local Qdrant store of mem0", plain(mem0.opened_qdrant), mem0.is_qdrant),
        Kind(claude_mem.NAME, "claude-mem", plain(claude_mem.opened), claude_mem.matches),
        Kind(engram.NAME, "engram", plain(engram.opened), engram.matches),
        Kind(langgraph.NAME, "a store of LangGraph", plain(langgraph.opened), langgraph.matches),
        Kind(mcp_memory_service.NAME, "mcp-memory-service", plain(mcp_memory_service.opened),
             mcp_memory_service.matches),
        Kind(server_memory.NAME, "the MCP reference memory server", plain(server_memory.opened), server_memory.matches),
        Kind(letta.NAME, "an agent file of Letta", plain(letta.opened), letta.matches),
        Kind(vault.OBSIDIAN, "an Obsidian vault", partial(open_vault, vault.OBSIDIAN), vault.is_obsidian),
        Kind(vault.BASIC_MEMORY, "notes of basic-memory", partial(open_vault, vault.BASIC_MEMORY),
             vault.is_basic_memory),
        *(
            Kind(name, f"a conversation of {name}", partial(open_pieces, name), partial(is_format, name))
            for name in CHATS
        ),
        Kind(mem0.EXPORT, "an export of mem0", lambda path, how: mem0.opened_export(path, how.guard), mem0.is_export),
        Kind(JSONL, "JSON lines or an array of objects", partial(open_table, JSONL), is_json_rows),
        Kind(CSV, "CSV", partial(open_table, CSV), is_csv),
        Kind(markdown.NAME, "Markdown", partial(open_pieces, markdown.NAME), is_markdown),
        Kind("conversations", "a folder of conversations", partial(open_pieces, ""), is_chat_folder),
    )
}  # fmt: skip
KINDS: Mapping[str, Kind] = {name: BY_NAME[name] for name in SOURCES}


UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # how such a file begins; spreadsheets write them


class UnknownForm(ArchiveRefused):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "it is in no form that is known", f"Say which with --from: {', '.join(KINDS)}.")


def recognise(path: Path) -> Kind:
    """Raises `ArchiveRefused` for what is not there or in no known form."""
    if not path.exists():
        raise ArchiveRefused(path, "there is no such file", "Check the path.")
    if path.is_dir() and next(path.iterdir(), None) is None:
        raise ArchiveRefused(path, "the folder is empty", "Name the folder or file that holds the memories.")
    look = Look(path)
    try:
        empty = not look.is_folder and not look.text
        for kind in () if empty else KINDS.values():
            if kind.matches(look):
                return kind
    except OSError as error:
        at_fault = Path(str(error.filename)) if error.filename is not None else path
        what = "it" if at_fault == path else f"{at_fault} in it"
        reason = f"{what} cannot be read ({error.strerror or error})"
        raise ArchiveRefused(path, reason, "Check the path and its permissions.") from error
    if empty:
        raise ArchiveRefused(path, "it is empty", "Name the file that holds the memories.")
    if look.head.startswith(UTF16):
        raise ArchiveRefused(path, "it is written in UTF-16", "Save it as UTF-8, and import that.")
    raise refused_json(look) or UnknownForm(path)


def refused_json(look: Look) -> ArchiveRefused | None:
    """What is wrong with JSON that is in no known form, where that can be said."""
    if not look.is_array and (not look.text.startswith("{") or len(look.head) == HEAD):
        return None
    try:
        first = [each for each, _ in islice(elements(look.path), HEAD_LINES)]
    except ValueError:
        return None
    if all(isinstance(each, dict) and not any(each.values()) for each in first):
        return no_memories(look.path)
    if all(isinstance(each, str) for each in first):
        remedy = 'Write each as {"text": "…"}, or one a line for `nacre remember --lines`.'
        return ArchiveRefused(look.path, "it is an array of plain texts", remedy)
    return None


@contextmanager
def naming_the_kind(path: Path, kind: Kind) -> Iterator[None]:
    """Says what a refused path is, where it is of another kind than the one that was named."""
    try:
        yield
    except ArchiveRefused as refused:
        other = kind
        with suppress(ArchiveRefused):
            other = recognise(path)
        if other is kind:
            raise
        remedy = f"It is {other.what}; import it with `--from {other.name}`."
        raise ArchiveRefused(path, refused.reason, remedy) from refused


def kind_of(path: Path, name: str | None = None) -> Kind:
    """The named kind, or the one that the path has. Raises `ArchiveRefused` and `UnknownName`."""
    return recognise(path) if name is None else UnknownName.get("source of memories", name, KINDS)


def open_source(path: Path, kind: Kind, how: Reading) -> Opened:
    """Raises `ArchiveRefused`, and `InvalidInput` for an option of another kind."""
    if how.collections and kind.name != chroma.NAME:
        raise InvalidInput(f"Only {chroma.NAME} has collections; leave them out.")
    if how.columns and kind.name not in (JSONL, CSV):
        raise InvalidInput("Only JSON lines and CSV have columns; leave the mapping out.")
    return kind.open(path, how)
