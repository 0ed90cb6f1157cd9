"""Reads folders of linked Markdown notes: an Obsidian vault, or the notes of basic-memory."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

from nacre.errors import ArchiveRefused
from nacre.files import open_regular
from nacre.protocols import Progress
from nacre.remember.guard import Guard
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.pieces import Pieces
from nacre.transfer.foreign.source import header
from nacre.transfer.ingest import markdown
from nacre.transfer.ingest.formats import FORMATS, Format, files, with_one_date_order
from nacre.transfer.ingest.items import Item
from nacre.transfer.read_archive import MemoryRow, Row

OBSIDIAN, BASIC_MEMORY = "obsidian", "basic-memory"
SETTINGS = ".obsidian"  # the folder that every vault has
PERMALINK = re.compile(rb"\A---\s*\n(?:.*\n)*?permalink:")
LOOKED_AT = 20  # notes that are enough to recognise basic-memory
HEAD = 4_000  # bytes of each
WIKI_LINK = re.compile(r"\[\[([^\[\]|#^\n]{1,200})(?:[#^|][^\[\]\n]*)?\]\]")
RELATION = re.compile(r"^(?:([\w -]{1,60}?)\s+)?\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]*)?\]\](?:\s*\(([^)\n]*)\))?$")
OBSERVATION = re.compile(r"^\[([^\[\]\n]{1,60})\]\s+(.*?)(?:\s+\(([^()\n]*)\))?$", re.DOTALL)
RELATED = "related"
SUPERSEDES, REPLACES = "supersedes", "replaces"  # "supersedes" has a special meaning here


def is_obsidian(look: Look) -> bool:
    return look.holds(SETTINGS)


def is_basic_memory(look: Look) -> bool:
    heads = [head_of(path) for path in islice(look.notes, LOOKED_AT)]
    return bool(heads) and sum(bool(PERMALINK.match(head)) for head in heads) * 2 > len(heads)


def head_of(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(HEAD).replace(b"\r\n", b"\n")
    except OSError:
        return b""


@contextmanager
def opened(path: Path, guard: Guard, name: str) -> Iterator[Vault]:
    """Raises `ArchiveRefused`."""
    notes = FORMATS[markdown.NAME]
    chosen = [(file, notes) for file, _ in files((path,)) if file.suffix.lower() in markdown.SUFFIXES]
    if not chosen:
        raise ArchiveRefused(path, "there are no notes in it", "Name the folder of the notes.")
    chosen, date_order = with_one_date_order(chosen)
    remarks = [date_order] if date_order else []
    yield Vault(path, header(name), remarks, files=chosen, guard=guard, observations=name == BASIC_MEMORY)


@dataclass(slots=True, kw_only=True)
class Vault(Pieces):
    """What `Pieces` makes of notes. Wiki links link the first memory of a note with the first one of the other."""

    relates: ClassVar[bool] = True

    observations: bool = False
    first: dict[str, str] = field(default_factory=dict)  # of a note, by name and path, the id of its first memory
    starts: dict[str, str] = field(default_factory=dict)  # the same by the note's path
    unresolved: int = 0

    def further_notes(self) -> Iterator[str]:
        yield from Pieces.further_notes(self)
        if self.unresolved:
            yield f"{self.unresolved:,} links lead to notes that do not exist or hold no text, and were left out."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        self.unresolved = 0
        if not self.starts:
            self.read_names()
        links = self.links()
        for row in Pieces.rows(self, progress):
            yield self.linked(row, links) if isinstance(row, MemoryRow) else row

    def read_names(self) -> None:
        """A note is called by its path, or the end of it, or by its title where no file is called so. Of several with
        one name, a link leads to the first."""
        inside = {markdown.home_relative(path): path.relative_to(self.path).as_posix() for path, _ in self.files}
        titles: dict[str, str] = {}
        ends: dict[str, str] = {}
        for row in Pieces.rows(self):
            if isinstance(row, MemoryRow) and str(row.fields["session"]) not in self.starts:
                path, id = str(row.fields["session"]), str(row.fields["id"])
                self.starts[path] = id
                name_in_vault = note_path(inside[path])
                self.first.setdefault(name_in_vault, id)
                for at in [at for at, sign in enumerate(name_in_vault) if sign == "/"]:
                    ends.setdefault(name_in_vault[at + 1 :], id)
                titles.setdefault(stem(str(row.fields["title"]).partition(markdown.BETWEEN)[0]), id)
        self.first = titles | ends | self.first

    def is_link(self, item: Item) -> bool:
        return self.observations and RELATION.match(item.text) is not None

    def links(self) -> dict[str, dict[tuple[str, str], None]]:
        """Of each first memory, the names that its note links to, and how."""
        links: dict[str, dict[tuple[str, str], None]] = {}
        for path, _ in self.files:
            start = self.starts.get(markdown.home_relative(path))
            if start is None:
                continue
            for rel, target in self.relations(path):
                links.setdefault(start, {})[rel, target] = None
        return links

    def relations(self, path: Path) -> Iterator[tuple[str, str]]:
        for piece in markdown.read(path):
            if not isinstance(piece, Item):
                continue
            relation = RELATION.match(piece.text) if self.observations else None
            if relation:
                rel = (relation.group(1) or RELATED).strip()
                yield REPLACES if rel == SUPERSEDES else rel, relation.group(2)
            else:
                yield from ((RELATED, target) for target in WIKI_LINK.findall(piece.text))

    def linked(self, row: MemoryRow, links: dict[str, dict[tuple[str, str], None]]) -> MemoryRow:
        id = str(row.fields["id"])
        made = []
        for rel, target in links.pop(id, {}):
            end = self.first.get(note_path(target), self.first.get(stem(target)))
            if end is None:
                self.unresolved += 1
            elif end != id:
                made.append({"to": end, "rel": rel})
        return row._replace(fields={**row.fields, "links": made}) if made else row

    def row(self, number: int, path: Path, format: Format, item: Item, position: int) -> Row:
        return Pieces.row(self, number, path, format, self.observed(item), position)

    def observed(self, item: Item) -> Item:
        """Of basic-memory: `- [category] text #tag (context)`."""
        match = OBSERVATION.match(item.text) if self.observations else None
        if match is None:
            return item
        category, text, context = match.groups()
        fields = {"source_notes": context} if context else {}
        return replace(item, text=text.strip(), tags=(category, *item.tags), fields={**item.fields, **fields})


def note_path(name: str) -> str:
    """A path without ending, in any case. Some systems write the accents of file names as signs of their own."""
    plain = unicodedata.normalize("NFC", name).replace("\\", "/").strip().strip("/").lower()
    return plain.removesuffix(".md").removesuffix(".markdown")


def stem(name: str) -> str:
    """What a wiki link calls a note: its name without folder and ending, in any case."""
    return note_path(name).rsplit("/", 1)[-1].strip()
