"""What became of a memory's fields, in words for one line."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nacre.cli.columns import short
from nacre.cli.printable import shortened
from nacre.cli.records import TIMES, told
from nacre.model import Act, JournalEntry
from nacre.model.journal import MEMORY
from nacre.model.memory import Json

NOTHING = "(nothing)"


def subject(entry: JournalEntry) -> str:
    """Of a word of the vocabulary its kind and name, of a memory its short id."""
    return short(entry.memory_id) if entry.kind == MEMORY else f"{entry.kind} {entry.memory_id}".strip()


def what(entry: JournalEntry) -> str:
    """The text of a memory that came or went; of anything else that changed, what became of it."""
    if entry.damaged:
        return "(cannot be read)"
    why = f"({reason(entry.act)}) " if entry.act.why else ""
    whole = entry.after if entry.before is None else entry.before if entry.after is None else None
    if whole is not None and entry.kind == MEMORY:
        return why + str(whole.get("text", ""))
    if entry.kind != MEMORY and entry.after is None:
        return f"{why}gone"
    return why + "; ".join(f"{name}: {became}" for name, (_, became) in changes(entry).items())


def reason(act: Act) -> str:
    """An undo names the acts that it took back before the reason."""
    if act.name != "undo":
        return act.why
    batches, _, why = act.why.partition(":")
    return "takes back " + ", ".join(map(short, batches.split(","))) + (f":{why}" if why else "")


def changes(entry: JournalEntry) -> dict[str, tuple[str, str]]:
    """Every field that the entry tells of, as it was and as it became; times, which follow from the rest, last."""
    before, after = entry.before or {}, entry.after or {}
    names = sorted(dict.fromkeys((*before, *after)), key=lambda name: name in TIMES)
    return {name: pair(name, before, after) for name in names if name != "updated_at"}


def pair(name: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[str, str]:
    return value_of(name, before.get(name)), value_of(name, after.get(name))


def value_of(name: str, value: Json) -> str:
    """As `what`, `changes` and a difference write it: short enough to stand beside another."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if name in TIMES:
        return str(told(value))
    if name == "links" and isinstance(value, list):
        return ", ".join(tie(each) for each in value if isinstance(each, dict))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def tie(link: Mapping[str, Json]) -> str:
    weight = link.get("weight", 1.0)
    return f"{link.get('rel')} → {short(str(link.get('to')))}" + (f" ({weight:g})" if weight != 1.0 else "")


def taken_back(entry: JournalEntry) -> str:
    """What an undo left behind."""
    if entry.kind != MEMORY:
        return "is gone again" if entry.after is None else "is as it was before"
    if entry.after is None:
        return f"is no longer there: {shortened(str((entry.before or {}).get('text', '')))}"
    if entry.before is None:
        return f"is back: {shortened(str(entry.after.get('text', '')))}"
    changed = [name.replace("_", " ") for name in changes(entry)]
    return f"is as it was before: {', '.join(changed) or 'nothing had changed'}"
