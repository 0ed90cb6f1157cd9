"""Takes pictures of real commands on a real terminal, on a small invented store: docs/captures/*.svg."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from rich.console import Console
from rich.text import Text

from nacre import MemoryStore

FOLDER = Path(__file__).parents[1] / "docs" / "captures"
COLUMNS, ROWS = 100, 40
FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)  # a picture asks nobody for a font: the reader's own will do
PATIENCE = 30.0  # seconds
DAY = 86_400.0
NOW = time.time()
NOTES: tuple[tuple[str, str, tuple[str, ...], float, float], ...] = (
    ("The bakery's oven needs forty minutes to reach 240 degrees.", "semantic", ("oven",), 0.7, 61),
    ("Rye loaves bake for fifty minutes, wheat loaves for thirty-five.", "procedural", ("bread", "oven"), 0.8, 58),
    ("Mira ordered twelve rye loaves for the school on Friday.", "episodic", ("orders",), 0.5, 40),
    ("The flour mill delivers on Tuesdays before six.", "semantic", ("flour", "suppliers"), 0.6, 33),
    ("Customers asked for smaller loaves on weekdays.", "feedback", ("customers", "bread"), 0.6, 20),
    ("The second oven trips its fuse when the mixer runs too.", "semantic", ("oven", "repairs"), 0.9, 12),
    ("Jonas replaced the door seal of the small oven.", "episodic", ("repairs", "oven"), 0.4, 9),
    ("Feed the sourdough at five in the morning and at five in the evening.", "procedural", ("bread",), 0.8, 6),
    ("The flour mill moved its delivery to Wednesdays before six.", "semantic", ("flour", "suppliers"), 0.6, 2),
    ("Ask the electrician about a separate line for the second oven.", "prospective", ("repairs",), 0.7, 1),
)
SCENES: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    # the command; what to wait for, and what to type then
    "recall": (("recall", "how long does rye bread bake?", "-k", "3", "--explain"), "", ""),
    "list": (("list", "-n", "8"), "", ""),
    "stats": (("stats",), "", ""),
    "review": (("review",), "quit", "q"),
}


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    embedder = "multilingual"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bakery.db"
        with MemoryStore(path, embedder=embedder) as store:
            for text, kind, tags, importance, days in NOTES:
                id, then = str(uuid5(NAMESPACE_OID, text)), NOW - days * DAY
                store.remember(text, id=id, type=kind, tags=tags, importance=importance, created_at=then)
        environment = {
            "NACRE_STORE": str(path), "NACRE_SPACE": "default", "NACRE_EMBEDDER": embedder, "HOME": folder,
            "XDG_CONFIG_HOME": folder,
        }  # fmt: skip
        for name, (words, question, answer) in SCENES.items():
            seen = on_a_terminal(words, question, answer, environment)
            target = FOLDER / f"{name}.svg"
            target.write_text(picture(f"nacre {' '.join(quoted(word) for word in words)}", seen), "utf-8")
            print(target)
    return 0


def quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def on_a_terminal(words: tuple[str, ...], question: str, answer: str, given: Mapping[str, str]) -> str:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NACRE_", "NO_COLOR"))}
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    environment = {**kept, **given, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "XDG_CACHE_HOME": cache}
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", *words], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    seen = bytearray()
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                block = os.read(master, 65_536)
            except OSError:  # Linux tells the end of a terminal so
                break
            if not block:
                break
            seen += block
            if answer and question.encode() in seen:
                os.write(master, answer.encode())
                answer = ""
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return seen.decode("utf-8", "replace").replace("\r\n", "\n")


def picture(command: str, seen: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(seen.rstrip()), soft_wrap=True)
    drawn = console.export_svg(title="nacre", unique_id=f"nacre-{len(command)}")
    return FONT.sub("", drawn)


if __name__ == "__main__":
    sys.exit(main())
