"""Transcripts of Claude Code: one line of JSON for each thing that was said or done in a session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nacre.model.memory import Json
from nacre.transfer.ingest.items import Broken, Item, Line, Piece, Skipped, legible, lines, member, moment, words

NAME = "claude-code"
ROLES = ("user", "assistant")
HEAD_LINES = 50  # where the folder of a session is told, if anywhere
# What the client itself puts into a person's turn, and what we gave to it: neither was said by anyone.
INSERTED = re.compile(r"<(system-reminder|memories|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL | re.IGNORECASE)
COMMAND = re.compile(r"\s*(<(command-|local-command-|bash-(input|stdout|stderr))|\[Request interrupted by user)")
TOOL_TEXT = 4_000  # characters of what a tool was asked or answered


def read(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    for line in lines(path):
        yield from pieces(line, path.stem, tools=tools)


def pieces(line: Line, session: str, *, tools: bool = False) -> Iterator[Piece]:
    """What one line tells; `session` is what it is called where the line does not say."""
    if line.fault:
        yield Broken(f"line {line.number}", line.fault, line.end)
        return
    entry = line.entry
    if not isinstance(entry, dict):
        yield Broken(f"line {line.number}", "no JSON object", line.end)
        return
    reason = left_out(entry)
    if reason:
        yield Skipped(reason, line.end)
        return
    yield from (replace(piece, at=line.end) for piece in turn(entry, session, tools=tools))


def left_out(entry: Mapping[str, Json]) -> str:
    if entry.get("type") not in ROLES:
        return f"{words(entry, 'type') or 'unknown'} line"
    if entry.get("isSidechain"):
        return "conversation with a subagent"
    if entry.get("isMeta"):
        return "written by the client"
    if entry.get("isCompactSummary"):
        return "summary of what was said before"
    if entry.get("isApiErrorMessage"):
        return "error of the service"
    return ""


def turn(entry: Mapping[str, Json], session: str, *, tools: bool) -> Iterator[Item | Skipped]:
    message = member(dict(entry), "message")
    said, done = parted(message.get("content"))
    text = legible(INSERTED.sub("", said))
    role = words(message, "role") or words(entry, "type")
    key = words(entry, "uuid") or str(words(message, "id") + words(entry, "timestamp"))
    about = Item("", words(entry, "sessionId") or session, key, role, "", moment(entry.get("timestamp")))
    if text and not COMMAND.match(text):
        yield replace(about, text=text)
    elif text:
        yield Skipped("command of the client")
    elif not done:
        yield Skipped("empty")
    if done and tools:
        yield replace(about, text="\n".join(done), key=f"{key}/tools", role="tool")
    elif done:
        yield Skipped("tools and thinking")


def parted(content: Json) -> tuple[str, list[str]]:
    """What was said, and what tools and thoughts came with it."""
    if isinstance(content, str):
        return content, []
    said: list[str] = []
    done: list[str] = []
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            said.append(words(block, "text"))
        else:
            done += filter(None, [told(block)])
    return "\n\n".join(filter(None, said)), done


def told(block: Mapping[str, Json]) -> str:
    kind = words(block, "type")
    if kind == "thinking":
        return f"(thinking) {words(block, 'thinking')}"
    if kind == "tool_use":
        asked = json.dumps(block.get("input"), ensure_ascii=False)
        return legible(f"({words(block, 'name') or 'tool'}) {asked[:TOOL_TEXT]}")
    if kind == "tool_result":
        return f"(result) {parted(block.get('content'))[0][:TOOL_TEXT]}".strip()
    return ""


def folder_of(path: Path) -> Path | None:
    """Where the session began: the first folder that the transcript tells."""
    try:
        for line in lines(path, whole=True):
            if isinstance(line.entry, dict) and (found := words(line.entry, "cwd")):
                return Path(found)
            if line.number >= HEAD_LINES:
                return None
    except OSError:
        return None
    return None


def suits(head: Mapping[str, Json]) -> bool:
    return "sessionId" in head or (head.get("type") == "summary" and "leafUuid" in head)
