"""How `houkai` shows memories: a table for people, TSV for a pipe, JSON on request."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nacre.compat.ai_houkai.memory_system.store import Memory, MemoryStore
from nacre.errors import MemoryNotFound

SHORT, COLUMN_WIDTH = 8, 65  # characters of an id, and of a text, in a table
STEPS = 5
AGES = ((2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"))


def resolve_id_prefix(store: MemoryStore, prefix: str) -> str:
    """The one id that begins so. Raises `ValueError` when none does, or several do."""
    try:
        return store.native.resolve_id(prefix)
    except MemoryNotFound as error:
        raise ValueError(f"No memory has an id that begins with {prefix!r}; `houkai list` shows them.") from error


def fmt_age(ts: float) -> str:
    ago = time.time() - ts
    return next((f"{int(ago / length)}{unit} ago" for length, unit in AGES if ago >= length), "just now")


def fmt_importance(value: float) -> str:
    filled = round(value * STEPS)
    return "█" * filled + "░" * (STEPS - filled)


def chosen(fmt: str) -> str:
    """Decided at each call, since a program may redirect its output."""
    if fmt != "auto":
        return fmt
    return "rich" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else "tsv"


def show_memories(matches: Sequence[Memory], fmt: str = "auto", scores: Sequence[float] | None = None) -> None:
    extra = [{} if scores is None else {"score": round(score, 4)} for score in scores or [0.0] * len(matches)]
    rows = [{**memory.to_dict(), **more} for memory, more in zip(matches, extra, strict=True)]
    if chosen(fmt) == "json":
        show_json(rows)
    elif not rows:
        print("No memories found.")
    else:
        names = ["id", "type", "importance", "tags", "created_at", *(["score"] if scores is not None else []), "text"]
        show_rows(names, [[cell(name, row[name], chosen(fmt)) for name in names] for row in rows], fmt)


READABLE: dict[str, Callable[[Any], str]] = {
    "id": lambda id: id[:SHORT],
    "importance": fmt_importance,
    "created_at": fmt_age,
    "text": lambda text: text if len(text) <= COLUMN_WIDTH else text[: COLUMN_WIDTH - 1] + "…",
}


def cell(name: str, value: Any, fmt: str) -> str:
    if fmt == "rich" and name in READABLE:
        return READABLE[name](value)
    return ",".join(value) if isinstance(value, list) else " ".join(str(value).split())


def show_rows(names: Sequence[str], rows: Iterable[Sequence[str]], fmt: str = "auto") -> None:
    if chosen(fmt) != "rich":
        print("\n".join("\t".join(row) for row in (names, *rows)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*(name.upper() for name in names))
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def show_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
