"""Reads conversations: transcripts of Claude Code, Codex and Gemini CLI, exports of Claude and ChatGPT, JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nacre.errors import InvalidInput
from nacre.model.memory import Json
from nacre.transfer.cells import convert
from nacre.transfer.ingest.items import (
    Broken,
    Item,
    Line,
    Piece,
    Skipped,
    clean_text,
    elements,
    lines,
    object_in,
    parse_time,
    text_of,
)

CLAUDE_CODE = "claude-code"
CLAUDE_CODE_ROLES = ("user", "assistant")
CWD_LINES = 50  # the folder of the session is within these, if anywhere
# Text that the client or our own hooks put into a person's turn.
INSERTED = re.compile(r"<(system-reminder|memories|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL | re.IGNORECASE)
COMMAND = re.compile(r"\s*(<(command-|local-command-|bash-(input|stdout|stderr))|\[Request interrupted by user)")
TOOL_TEXT = 4_000  # characters of a tool's input or result


def read_claude_code(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    for line in lines(path):
        yield from claude_code_pieces(line, path.stem, tools=tools)


def claude_code_pieces(line: Line, session: str, *, tools: bool = False) -> Iterator[Piece]:
    """The pieces of one line; `session` is used when the line names none."""
    if not isinstance(line.entry, dict):
        yield unreadable(line)
    elif reason := skip_reason(line.entry):
        yield Skipped(reason, line.end)
    else:
        yield from (replace(piece, at=line.end) for piece in claude_code_turn(line.entry, session, tools=tools))


def unreadable(line: Line) -> Broken:
    return Broken(f"line {line.number}", line.fault or "not a JSON object", line.end)


def skip_reason(entry: Mapping[str, Json]) -> str:
    if entry.get("type") not in CLAUDE_CODE_ROLES:
        return f"{text_of(entry, 'type') or 'unknown'} line"
    if entry.get("isSidechain"):
        return "conversation with a subagent"
    if entry.get("isMeta"):
        return "written by the client"
    if entry.get("isCompactSummary"):
        return "summary of earlier turns"
    if entry.get("isApiErrorMessage"):
        return "error of the service"
    return ""


def claude_code_turn(entry: Mapping[str, Json], session: str, *, tools: bool) -> Iterator[Item | Skipped]:
    message = object_in(dict(entry), "message")
    said, done = text_and_tools(message.get("content"))
    text = clean_text(INSERTED.sub("", said))
    role = text_of(message, "role") or text_of(entry, "type")
    own = text_of(entry, "uuid")
    key = own or str(text_of(message, "id") + text_of(entry, "timestamp"))
    when = parse_time(entry.get("timestamp"))
    about = Item("", text_of(entry, "sessionId") or session, key, role, "", when, unique=bool(own))
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


def text_and_tools(content: Json) -> tuple[str, list[str]]:
    """The text of the turn, and the tool calls and thoughts that came with it."""
    if isinstance(content, str):
        return content, []
    said: list[str] = []
    done: list[str] = []
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            said.append(text_of(block, "text"))
        else:
            done += filter(None, [tool_text(block)])
    return "\n\n".join(filter(None, said)), done


def tool_text(block: Mapping[str, Json]) -> str:
    kind = text_of(block, "type")
    if kind == "thinking":
        return f"(thinking) {text_of(block, 'thinking')}"
    if kind == "tool_use":
        asked = json.dumps(block.get("input"), ensure_ascii=False)
        return clean_text(f"({text_of(block, 'name') or 'tool'}) {asked[:TOOL_TEXT]}")
    if kind == "tool_result":
        return f"(result) {text_and_tools(block.get('content'))[0][:TOOL_TEXT]}".strip()
    return ""


CODEX = "codex"
# Older versions write an event for each message, newer ones the completed item.
CODEX_ROLES = {
    "user_message": "user", "agent_message": "assistant", "UserMessage": "user", "AgentMessage": "assistant",
}  # fmt: skip


def codex_pieces(line: Line, session: str) -> Iterator[Piece]:
    """Of a line that Codex has written about a session: what was said, without its context, tools and thoughts."""
    entry = line.entry if isinstance(line.entry, dict) else {}
    event = object_in(entry, "payload")
    item = object_in(dict(event), "item") or event
    role = CODEX_ROLES.get(text_of(item, "type")) if entry.get("type") == "event_msg" else None
    content = item.get("content")
    blocks = [text_of(each, "text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    said = text_of(item, "message") or "\n".join(blocks)
    text = clean_text(INSERTED.sub("", said)) if role else ""
    if role and text:
        at = text_of(entry, "timestamp")
        yield Item(text, session, f"{role} {at}", role, "", parse_time(at), at=line.end)
    else:
        yield Skipped(f"{text_of(entry, 'type') or 'unknown'} line", line.end)


def is_codex(line: Line) -> bool:
    return isinstance(line.entry, dict) and isinstance(line.entry.get("payload"), dict)


def read_codex(path: Path, *, tools: bool = False) -> Iterator[Piece]:  # noqa: ARG001 (its tools are not read)
    """A rollout file: its first line names the session. Messages without an id are numbered."""
    session, seen = path.stem, dict[str, int]()
    for line in lines(path):
        if not isinstance(line.entry, dict):
            yield unreadable(line)
            continue
        about = object_in(line.entry, "payload") or line.entry
        if line.entry.get("type") == "session_meta" or (line.number == 1 and "instructions" in line.entry):
            session = text_of(about, "id") or session
            yield Skipped("session_meta line", line.end)
            continue
        for piece in codex_pieces(line, session):
            if isinstance(piece, Item):
                count = seen[piece.key] = seen.get(piece.key, 0) + 1
                piece = replace(piece, key=f"{piece.key} {count}") if count > 1 else piece
            yield piece


def codex_folder(path: Path) -> Path | None:
    """Where the session began."""
    try:
        for line in lines(path, complete_only=True):
            cwd = text_of(object_in(line.entry, "payload"), "cwd") if isinstance(line.entry, dict) else ""
            if cwd:
                return Path(cwd)
            if line.number >= CWD_LINES:
                return None
    except OSError:
        return None
    return None


GEMINI = "gemini-cli"
GEMINI_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
REWOUND = "$rewindTo"


def read_gemini(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    """A session file, one JSON object or JSON lines, or a saved chat, which is a list of turns."""
    if is_json_lines(path):
        yield from gemini_lines(path, tools=tools)
        return
    number = 0
    try:
        for number, (element, at) in enumerate(elements(path), 1):
            if not isinstance(element, dict):
                yield Broken(f"element {number}", "not a JSON object", at)
                continue
            messages = element.get("messages")
            if isinstance(messages, list):
                session = text_of(element, "sessionId") or path.stem
                for place, message in enumerate(messages):
                    yield gemini_turn(message, session, str(place), at, tools=tools)
            else:
                session = text_of(element, "sessionId") or path.stem
                yield gemini_turn(element, session, str(number), at, tools=tools)
    except ValueError as error:
        yield Broken(f"element {number + 1}", f"not JSON ({error})")


def is_json_lines(path: Path) -> bool:
    first = next(lines(path), None)
    return first is not None and isinstance(first.entry, dict) and "messages" not in first.entry


def gemini_lines(path: Path, *, tools: bool) -> Iterator[Piece]:
    """A message that is written again replaces the one before; `$rewindTo` takes back what came after a message."""
    session, turns = path.stem, dict[str, Piece]()
    for line in lines(path):
        entry = line.entry
        if not isinstance(entry, dict):
            turns[f"line {line.number}"] = unreadable(line)
        elif isinstance(entry.get(REWOUND), str):
            ids = list(turns)
            kept = ids.index(str(entry[REWOUND])) if entry[REWOUND] in turns else len(ids)
            turns = {id: turns[id] for id in ids[:kept]}
        elif "type" in entry and "content" in entry:
            id = text_of(entry, "id") or str(line.number)
            turns[id] = gemini_turn(entry, session, id, line.end, tools=tools)
        elif text_of(entry, "sessionId"):
            session = text_of(entry, "sessionId")
    yield from turns.values()


def gemini_turn(message: Json, session: str, key: str, at: int, *, tools: bool) -> Piece:
    if not isinstance(message, dict):
        return Broken(f"message {key} of {session}", "not a JSON object", at)
    role = GEMINI_ROLES.get(text_of(message, "type", "role"))
    if role is None:
        return Skipped("written by the client", at)
    content = next((message[name] for name in ("content", "message", "parts") if message.get(name) is not None), None)
    text = clean_text(INSERTED.sub("", gemini_text(content)))
    calls = message.get("toolCalls")
    if not text and tools and isinstance(calls, list):
        text, role = "\n".join(filter(None, (gemini_call(call) for call in calls))), "tool"
    if not text:
        return Skipped("tools and thinking" if calls or message.get("thoughts") else "empty", at)
    if text.startswith("/") and role == "user" and " " not in text:
        return Skipped("command of the client", at)
    id = text_of(message, "id", "messageId") or key
    return Item(text, session, id, role, "", parse_time(message.get("timestamp")), at=at)


def gemini_text(content: Json) -> str:
    """Text, a part with text, or a list of both; thoughts are not said."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return "" if content.get("thought") else text_of(content, "text")
    return "\n\n".join(filter(None, map(gemini_text, content))) if isinstance(content, list) else ""


def gemini_call(call: Json) -> str:
    if not isinstance(call, dict):
        return ""
    asked = json.dumps(call.get("args"), ensure_ascii=False)
    return clean_text(f"({text_of(call, 'name') or 'tool'}) {asked[:TOOL_TEXT]}")


def folder_of(path: Path) -> Path | None:
    """Where the session began: the first folder that the transcript names."""
    try:
        for line in lines(path, complete_only=True):
            if isinstance(line.entry, dict) and (cwd := text_of(line.entry, "cwd")):
                return Path(cwd)
            if line.number >= CWD_LINES:
                return None
    except OSError:
        return None
    return None


CLAUDE = "claude"
CLAUDE_ROLES = {"human": "user"}


def read_claude(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    return read_conversations(path, "chat_messages", list, "no list of messages", claude_turns, tools=tools)


def read_conversations(
    path: Path, key: str, kind: type, missing: str, turns: Callable[..., Iterator[Piece]], *, tools: bool
) -> Iterator[Piece]:
    """Of a file that is a JSON list of conversations, each with its messages under `key`."""
    number = 0
    try:
        for number, (conversation, at) in enumerate(elements(path), 1):
            if isinstance(conversation, dict) and isinstance(conversation.get(key), kind):
                yield from turns(conversation, at, tools=tools)
            else:
                yield Broken(f"conversation {number}", missing, at)
    except ValueError as error:
        yield Broken(f"conversation {number + 1}", f"not JSON ({error})")


def claude_turns(conversation: Mapping[str, Json], at: int, *, tools: bool) -> Iterator[Piece]:
    session = text_of(conversation, "uuid", "id") or text_of(conversation, "name")
    messages = conversation["chat_messages"]
    for place, message in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(message, dict):
            yield Broken(f"message {place + 1} of {session}", "not a JSON object", at)
            continue
        said, done = text_and_tools(message.get("content"))
        text = clean_text(said) or text_of(message, "text")
        if not text and not (tools and done):
            yield Skipped("tools and thinking" if done else "empty", at)
            continue
        role, key = text_of(message, "sender", "role"), text_of(message, "uuid", "id") or str(place)
        when, title = parse_time(message.get("created_at")), text_of(conversation, "name")
        about = (title, when, (), at)
        if text:
            yield Item(text, session, key, CLAUDE_ROLES.get(role, role), *about)
        if tools and done:
            yield Item("\n".join(done), session, f"{key}/tools", "tool", *about)


CHATGPT = "chatgpt"
SPEECH_TYPES = ("text", "multimodal_text")
TRANSCRIPT = "audio_transcription"  # of a part


def read_chatgpt(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    return read_conversations(path, "mapping", dict, "no tree of messages", chatgpt_turns, tools=tools)


def chatgpt_turns(conversation: Mapping[str, Json], at: int, *, tools: bool) -> Iterator[Piece]:
    session = text_of(conversation, "conversation_id", "id") or text_of(conversation, "title")
    title = text_of(conversation, "title")
    for node in branch(object_in(dict(conversation), "mapping"), text_of(conversation, "current_node")):
        message = object_in(dict(node), "message")
        if not message:
            continue
        role = text_of(object_in(dict(message), "author"), "role")
        text, is_speech = chatgpt_text(object_in(dict(message), "content"))
        about = object_in(dict(message), "metadata")
        if role == "system" or about.get("is_visually_hidden_from_conversation"):
            yield Skipped("written by the client", at)
        elif not tools and (role == "tool" or not is_speech):
            yield Skipped("tools and thinking", at)
        elif not text:
            yield Skipped("empty", at)
        else:
            when = parse_time(message.get("create_time"))
            yield Item(text, session, text_of(message, "id") or text_of(node, "id"), role, title, when, at=at)


def branch(mapping: Mapping[str, Json], last: str) -> list[Mapping[str, Json]]:
    """From the first message to the last one; without a last one, to the newest leaf."""
    if last not in mapping:
        leaves = {id: node for id, node in mapping.items() if isinstance(node, dict) and not node.get("children")}
        times = {id: parse_time(object_in(node, "message").get("create_time")) or 0.0 for id, node in leaves.items()}
        last = max(times, key=times.__getitem__, default="")
    nodes: dict[str, Mapping[str, Json]] = {}
    while last and last not in nodes:
        node = object_in(dict(mapping), last)
        if not node:
            break
        nodes[last] = node
        last = text_of(node, "parent")
    return list(reversed(nodes.values()))


def chatgpt_text(content: Mapping[str, Json]) -> tuple[str, bool]:
    """The text, and whether it was said rather than produced by a tool."""
    parts = content.get("parts")
    texts = [text for text in map(part_text, parts) if text is not None] if isinstance(parts, list) else []
    text = "\n\n".join(texts) or text_of(content, "text", "result")
    return clean_text(text), content.get("content_type", "text") in SPEECH_TYPES


def part_text(part: Json) -> str | None:
    """Text, or what was said in a voice conversation; sounds and pictures have none."""
    if isinstance(part, str):
        return part
    return text_of(part, "text") if isinstance(part, dict) and part.get("content_type") == TRANSCRIPT else None


JSONL = "jsonl"
TEXT_KEYS = ("content", "text")
SESSION_KEYS = ("session", "session_id", "conversation_id")
TIME_KEYS = ("timestamp", "created_at", "time")
TOOL_ROLES = ("tool", "function")
# Fields of a memory that a line may have under their own names.
FURTHER = (
    "type", "tags", "contexts", "anti_contexts", "entities", "source_notes", "metadata", "importance", "salience",
    "confidence", "polarity", "trust", "pinned", "valence", "arousal", "agent", "valid_from", "valid_until",
    "expires_at",
)  # fmt: skip


def read_jsonl(path: Path, *, tools: bool = False) -> Iterator[Piece]:
    for line in lines(path):
        if not isinstance(line.entry, dict):
            yield unreadable(line)
        else:
            yield jsonl_turn(line.entry, path.stem, line.number, line.end, tools=tools)


def jsonl_turn(entry: Mapping[str, Json], stem: str, number: int, at: int, *, tools: bool) -> Piece:
    content = next((entry[name] for name in TEXT_KEYS if name in entry), None)
    text = clean_text(text_and_tools(content)[0])
    role = text_of(entry, "role", "speaker")
    if role in TOOL_ROLES and not tools:
        return Skipped("tools and thinking", at)
    if not text:
        return Skipped("empty", at)
    when = next((at_time for name in TIME_KEYS if (at_time := parse_time(entry.get(name))) is not None), None)
    session = text_of(entry, *SESSION_KEYS) or stem
    key = text_of(entry, "id", "uuid") or str(number)
    try:
        fields = {name: convert(name, entry[name]) for name in FURTHER if entry.get(name) not in (None, "")}
    except InvalidInput as error:
        return Broken(f"line {number}", str(error), at)
    return Item(text, session, key, role, text_of(entry, "title"), when, at=at, fields=fields)
