"""What an archive costs: many memories exported, imported into a fresh store, and compared field by field."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice, zip_longest
from pathlib import Path
from random import Random

from nacre import Link, MemoryStore
from nacre.model import TYPES
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import info
from texts import memories
from work import peak_bytes

PLAIN = "hashing"  # what is measured here needs no meaning
START = 1_700_000_000.0
PAGE = 500
MEBIBYTE = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--task", choices=list(TASKS))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.task:
        start = time.perf_counter()
        told = TASKS[given.task](given.folder, given.memories)
        took = time.perf_counter() - start
        print(json.dumps({"told": told, "seconds": took, "peak": peak_bytes()}))
        return
    print("| what | seconds | peak RSS, MiB | told |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS:
            done = subprocess.run(
                [sys.executable, __file__, "--task", task, "--folder", folder, "--memories", str(given.memories)],
                check=True,
                capture_output=True,
                text=True,
            )
            found = json.loads(done.stdout)
            print(f"| {task} | {found['seconds']:.1f} | {found['peak'] / MEBIBYTE:.0f} | {found['told']} |", flush=True)


def fill(folder: Path, count: int) -> str:
    random = Random(7)
    ids = [f"m{number}" for number in range(count)]
    with MemoryStore(folder / "one.db", embedder=PLAIN) as store:
        texts = memories(count, seed=9)
        for first in range(0, count, PAGE):
            store.remember_many(
                draft(number, texts[number], ids, random) for number in range(first, min(first + PAGE, count))
            )
        return f"{store.count():,} memories"


def draft(number: int, text: str, ids: list[str], random: Random) -> dict[str, object]:
    return {
        "id": ids[number],
        "text": text,
        "title": f"note {number}" if number % 3 == 0 else "",
        "type": TYPES[number % len(TYPES)],
        "tags": [f"t{random.randrange(50)}", f"u{random.randrange(50)}"],
        "contexts": [f"c{random.randrange(9)}"],
        "entities": [f"E{random.randrange(500)}"],
        "metadata": {"page": number, "inner": {"a": [1, 2.5, None, True, "x"]}},
        "importance": random.random(),
        "confidence": random.random(),
        "valence": random.uniform(-1, 1),
        "session": f"s{number // 50}",
        "position": number % 50,
        "role": ("user", "assistant", "Ann")[number % 3],
        "created_at": START + number * 60,
        "occurred_at": START + number * 59.5,
        "last_accessed": START + number * 61,
        "access_count": number % 7,
        "links": [Link(other, "related", 0.5) for other in random.sample(ids, 2) if other != ids[number]],
    }


def export(folder: Path, _count: int) -> str:
    with MemoryStore(folder / "one.db", embedder=PLAIN) as store:
        done = export_archive(store, folder / "all.nacre")
    return f"{done.count:,} memories, {done.bytes / MEBIBYTE:.0f} MiB"


def look(folder: Path, _count: int) -> str:
    found = info(folder / "all.nacre")
    return f"{'whole' if found.intact else found.problem}, {found.unpacked / MEBIBYTE:.0f} MiB unpacked"


def bring(folder: Path, _count: int) -> str:
    with MemoryStore(folder / "two.db", embedder=PLAIN) as store:
        done = import_archive(store, folder / "all.nacre")
    return f"{done.imported:,} imported, {done.errors} errors, {done.vectors_regenerated} embedded again"


def compare(folder: Path, _count: int) -> str:
    """Every field of every memory, and every vector."""
    same = other = 0
    with MemoryStore(folder / "one.db", embedder=PLAIN) as one, MemoryStore(folder / "two.db", embedder=PLAIN) as two:
        pairs = zip_longest(one.iterate(include_trashed=True), two.iterate(include_trashed=True))
        while page := list(islice(pairs, PAGE)):
            ids = [memory.id for memory, _ in page if memory is not None]
            mine, theirs = one.vectors(ids), two.vectors(ids)
            for a, b in page:
                equal = a is not None and a == b and bool((mine[a.id] == theirs[a.id]).all())
                same, other = same + equal, other + (not equal)
    return f"{same:,} equal in every field and vector, {other} not"


def undo(folder: Path, _count: int) -> str:
    with MemoryStore(folder / "two.db", embedder=PLAIN) as store:
        store.undo()
        return f"{store.count(include_trashed=True)} memories left"


TASKS: dict[str, Callable[[Path, int], str]] = {
    "fill": fill,
    "export": export,
    "info": look,
    "import": bring,
    "compare": compare,
    "undo": undo,
}

if __name__ == "__main__":
    main()
