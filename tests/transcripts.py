"""Conversations and notes as other programs write them, made up for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SESSION = "3f0c7a52-session"


def turn(number: int, text: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    """A line of Claude Code."""
    return {
        "type": role,
        "sessionId": SESSION,
        "cwd": more.pop("cwd", "/nowhere/orchard"),
        "uuid": f"uuid-{number}",
        "timestamp": f"2026-02-03T04:05:{number % 60:02d}.000Z",
        "message": {"role": role, "content": text},
        **more,
    }


def blocks(*texts: str, **others: Any) -> list[dict[str, Any]]:
    return [*({"type": "text", "text": text} for text in texts), *others.values()]


def write_lines(path: Path, entries: Iterable[Mapping[str, Any] | str]) -> Path:
    told = (each if isinstance(each, str) else json.dumps(each) for each in entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in told), "utf-8")
    return path


def add_lines(path: Path, *entries: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


def chatgpt(*turns: tuple[str, str], id: str = "talk-1", title: str = "Pruning") -> dict[str, Any]:
    """A conversation whose second-last message was asked anew: the first answer hangs beside the branch."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["n0"]}}
    for number, (role, text) in enumerate(turns):
        mapping[f"n{number}"] = {
            "id": f"n{number}",
            "message": {
                "id": f"m{number}",
                "author": {"role": role},
                "create_time": 1_700_000_000.5 + number,
                "content": {"content_type": "text", "parts": [text]},
            },
            "parent": f"n{number - 1}" if number else "root",
            "children": [f"n{number + 1}"] if number + 1 < len(turns) else [],
        }
    mapping["beside"] = {**mapping["n0"], "id": "beside", "parent": "n0", "children": []}
    return {"id": id, "title": title, "mapping": mapping, "current_node": f"n{len(turns) - 1}"}


def claude(*turns: tuple[str, str], uuid: str = "chat-1", name: str = "Grafting") -> dict[str, Any]:
    messages = [
        {
            "uuid": f"{uuid}-{number}",
            "sender": sender,
            "text": text,
            "content": blocks(text) if text else [],
            "created_at": f"2026-01-02T03:04:{number:02d}.5Z",
        }
        for number, (sender, text) in enumerate(turns)
    ]
    return {"uuid": uuid, "name": name, "chat_messages": messages}


def secret() -> str:
    """Built here, so that no scanner takes this file for a leak."""
    return "ghp_" + "".join(f"{chr(97 + number * 7 % 26)}{chr(90 - number)}{number % 10}" for number in range(12))
