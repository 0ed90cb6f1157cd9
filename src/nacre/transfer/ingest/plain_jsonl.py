"""Plain lines of JSON: one turn each, with who said it, what, and perhaps when and in which conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from nacre.model.memory import Json
from nacre.transfer.ingest.claude_code import parted
from nacre.transfer.ingest.items import Broken, Item, Piece, Skipped, legible, lines, moment, words

NAME = "jsonl"
TEXTS = ("content", "text")
SESSIONS = ("session", "session_id", "conversation_id")
TIMES = ("timestamp", "created_at", "time")
UNSPOKEN = ("tool", "function")


def read(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    for line in lines(path):
        if line.fault or not isinstance(line.entry, dict):
            yield Broken(f"line {line.number}", line.fault or "no JSON object", line.end)
        else:
            yield turn(line.entry, path.stem, line.number, line.end, tools=tools)


def turn(entry: Mapping[str, Json], stem: str, number: int, at: int, *, tools: bool) -> Piece:
    given = next((entry[name] for name in TEXTS if name in entry), None)
    text = legible(parted(given)[0])
    role = words(entry, "role", "speaker")
    if role in UNSPOKEN and not tools:
        return Skipped("tools and thinking", at)
    if not text:
        return Skipped("empty", at)
    when = next((found for name in TIMES if (found := moment(entry.get(name))) is not None), None)
    session = words(entry, *SESSIONS) or stem
    return Item(text, session, words(entry, "id", "uuid") or str(number), role, words(entry, "title"), when, at=at)


def suits(head: Mapping[str, Json]) -> bool:
    return any(name in head for name in TEXTS)
