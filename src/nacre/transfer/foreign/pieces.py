"""Conversations and notes as one import: the same pieces, under the same ids, as `nacre ingest` stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import ArchiveRefused, InvalidInput
from nacre.protocols import Progress
from nacre.remember.guard import Guard
from nacre.transfer.foreign.source import MOST_NAMED, ForeignSource, header, printable
from nacre.transfer.ingest import markdown
from nacre.transfer.ingest.formats import FORMATS, Format, detect, files, unfit, walked, with_one_date_order
from nacre.transfer.ingest.items import Item, Skipped, identity, session_of_file
from nacre.transfer.read_archive import BadRow, MemoryRow, Row

EVERY = ("",)  # how the name of any file ends


@contextmanager
def opened(path: Path, guard: Guard, name: str = "", *, tools: bool = False) -> Iterator[Pieces]:
    """`path` is a file, or a folder of them. Raises `ArchiveRefused`."""
    chosen = []
    for file, _ in files((path,)):
        format = detect(file)
        if format is None and name and file == path:
            format = FORMATS[name]  # who says what it is may know better
        if format is not None and (not name or format.name == name):
            chosen.append((file, format))
    if not chosen:
        raise ArchiveRefused(path, "there is no conversation or note in it", "Name an export or a folder of notes.")
    chosen, date_order = with_one_date_order(chosen)
    source = Pieces(path, header(name or "pieces"), files=chosen, guard=guard, tools=tools)
    taken = {file.resolve() for file, _ in chosen}
    if others := [file for file in walked(path, EVERY) if not unfit(file, path) and file.resolve() not in taken]:
        were = "1 file in another format was" if len(others) == 1 else f"{len(others):,} files in another format were"
        source.remarks.append(f"{were} left out: {first_names(others)}.")
    source.remarks += [date_order] if date_order else []
    yield source


@dataclass(slots=True, kw_only=True)
class Pieces(ForeignSource):
    files: Sequence[tuple[Path, Format]]
    guard: Guard
    tools: bool = False
    skipped: Counter[str] = field(default_factory=Counter)
    without_text: list[Path] = field(default_factory=list)  # files of which nothing came, not even a fault

    def is_link(self, item: Item) -> bool:  # noqa: ARG002 - for notes that write a link as an item
        return False

    def further_notes(self) -> Iterator[str]:
        if self.skipped:
            listed = ", ".join(f"{reason} ({count:,})" for reason, count in sorted(self.skipped.items()))
            yield f"Left out: {listed}."
        if self.without_text:
            hold = "1 file holds" if len(self.without_text) == 1 else f"{len(self.without_text):,} files hold"
            yield f"{hold} no text that can be taken: {first_names(self.without_text)}."

    def rows(self, progress: Progress | None = None) -> Iterator[Row]:
        self.skipped.clear()
        self.without_text.clear()
        number = 0
        seen: set[str] = set()
        for done, (path, format) in enumerate(self.files, 1):
            positions: Counter[str] = Counter()
            piece = None
            for piece in format.read(path, tools=self.tools):
                if isinstance(piece, Skipped):
                    self.skipped[piece.reason] += 1
                    continue
                if isinstance(piece, Item) and self.is_link(piece):
                    continue
                number += 1
                if not isinstance(piece, Item):
                    yield BadRow(number, f"{printable(path.name)}, {piece.where}: {piece.reason}")
                    continue
                position = positions[piece.session]
                positions[piece.session] += 1
                row = self.row(number, path, format, piece, position)
                id = str(row.fields["id"]) if isinstance(row, MemoryRow) else ""
                if id in seen:
                    self.skipped["repeated"] += 1
                    continue
                seen.add(id)
                yield row
            if piece is None:
                self.without_text.append(path)
            if progress is not None:
                progress(done, len(self.files), "checking the files")

    def row(self, number: int, path: Path, format: Format, item: Item, position: int) -> Row:
        """Of the text without secrets: a hash of a short secret would reveal it."""
        name = f"{printable(path.name)}, turn {position}" if item.role else printable(path.name)
        try:
            clean, _ = self.guard.fields({"text": item.text.strip()})
        except InvalidInput as error:
            return BadRow(number, f"{name}: {error}")
        of_file = format.edited or item.session == path.stem
        session = session_of_file(item.session, path, self.guard) if of_file else item.session
        fields: dict[str, object] = {
            "id": identity(format.name, session, item.key, str(clean["text"])), "text": item.text,
            "title": item.title, "session": session, "position": position, "role": item.role,
            "source": session if format.name == markdown.NAME else format.name, "tags": list(item.tags),
            "type": "episodic" if item.role else "semantic", **item.fields,
        }  # fmt: skip
        if item.occurred_at is not None:
            fields["occurred_at"] = item.occurred_at
        return MemoryRow(number, fields, name=name)


def first_names(files: Sequence[Path]) -> str:
    return ", ".join(printable(file.name) for file in files[:MOST_NAMED]) + (", …" if len(files) > MOST_NAMED else "")
