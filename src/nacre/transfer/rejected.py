"""The lines that an import did not take, as they were: to be mended and imported again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nacre.remember.guard import Guard
from nacre.transfer.archive import ARCHIVE, Fault, Lines
from nacre.transfer.foreign import mem0, server_memory
from nacre.transfer.foreign.look import Look
from nacre.transfer.foreign.source import header
from nacre.transfer.ingest.items import elements
from nacre.transfer.read_archive import parse_line
from nacre.transfer.tables import CSV, JSONL, Table

LINE, ITEM, ERROR, RAW = "line", "item", "error", "raw"  # what is added to a line; an import leaves them out


def rejected(path: Path, source: str, faults: Sequence[Fault]) -> Iterator[dict[str, object]]:
    """Each fault with the fields of its line or item, or with its raw text where it has none. Of a database, the number
    of the row and the reason are all that is known."""
    where = ITEM if is_listed(path, source) else LINE
    reasons: dict[int, str] = {}
    for fault in faults:
        reasons[fault.line] = f"{reasons[fault.line]} {fault.why}" if fault.line in reasons else fault.why
    for number, record in records(path, source) if reasons else ():
        if number in reasons:
            own = {where: number, ERROR: reasons.pop(number)}
            yield {**record, **own} if isinstance(record, Mapping) else {**own, RAW: record}
    for number, why in reasons.items():
        yield {where: number, ERROR: why}


def is_listed(path: Path, source: str) -> bool:
    """Whether what it holds are the items of a JSON array, and not lines or rows."""
    return source == mem0.EXPORT or (source == JSONL and Look(path).is_array)


def records(path: Path, source: str) -> Iterator[tuple[int, Mapping[str, object] | str]]:
    if source == CSV:
        table = Table(path, header(CSV), form=CSV, guard=Guard(), columns={})
        for number, _, record in table.csv_records(keep=True):
            yield number, record
    elif is_listed(path, source):
        values = mem0.entries(path) if source == mem0.EXPORT else (each for each, _ in elements(path))
        with suppress(ValueError):  # the rest cannot be read, as its fault says
            for number, entry in enumerate(values, 1):
                yield number, entry if isinstance(entry, dict) else json.dumps(entry, ensure_ascii=False)
    elif source in (JSONL, server_memory.NAME, ARCHIVE):
        for number, line in Lines(path):
            value = parse_line(line)
            yield number, value if isinstance(value, dict) else line.decode("utf-8", "replace").rstrip("\r\n")
