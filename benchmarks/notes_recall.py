"""Measures how well a recall finds hand-written notes: by words and meaning, as a user asks.

python benchmarks/notes_recall.py FOLDER-OR-AUTHOR… [--embedder NAME] [--rerank-ms MILLISECONDS]

A folder holds `memories.jsonl` and `questions.jsonl`; `training/notes/author5` means the two files of that author.
Each world is a space of its own. `auc` says how often the best relevance of a question that has an answer is above
that of one that has none.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from nacre import MemoryStore
from nacre.bench.metrics import area
from nacre.settings import Settings

DEPTHS = (1, 5, 10)
FOREIGN = "crosslingual"


def read(path: Path) -> tuple[list[Any], list[Any]]:
    names = ("memories", "questions") if path.is_dir() else (f"{path.name}.notes", f"{path.name}.questions")
    folder = path if path.is_dir() else path.parent
    notes, questions = ([*map(json.loads, (folder / f"{name}.jsonl").read_text().splitlines())] for name in names)
    return notes, questions


def seconds(row: Mapping[str, Any], name: str) -> float | None:
    return datetime.fromisoformat(row[name]).timestamp() if name in row else None


def world(row: Mapping[str, Any]) -> str:
    return str(row.get("world") or row["project"])


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "text", "tags", "created_at") if name in row}


def ask(
    store: MemoryStore, notes: Sequence[Any], questions: Sequence[Any]
) -> Iterator[tuple[Any, list[str], float, float]]:
    """Each question with the ids that were found, their best relevance, and the milliseconds that it took."""
    for name in dict.fromkeys(map(world, notes)):
        space = store.in_space(name)
        space.remember_many([record(row) for row in notes if world(row) == name])
        space.recall("What is this about?")  # whatever is loaded late is loaded now
        for row in questions:
            if world(row) == name:
                began = time.perf_counter()
                hits = space.recall(row["q"], max(DEPTHS), asked_at=seconds(row, "asked_at"), touch=False)
                took = 1e3 * (time.perf_counter() - began)
                yield row, [hit.memory.id for hit in hits], max((hit.relevance for hit in hits), default=0.0), took


def figures(path: Path, settings: Settings) -> dict[str, float]:
    with_answer: list[float] = []
    without: list[float] = []
    times: list[float] = []
    found: dict[str, list[bool]] = defaultdict(list)
    with MemoryStore(":memory:", settings=settings) as store:
        for row, ids, relevance, took in ask(store, *read(path)):
            times.append(took)
            (with_answer if row["answers"] else without).append(relevance)
            if row["answers"]:
                hits = [id in row["answers"] for id in ids]
                for depth in DEPTHS:
                    found[f"any@{depth}"].append(any(hits[:depth]))
                if row["kind"] == FOREIGN:
                    found[f"{FOREIGN} any@5"].append(any(hits[:5]))
    result = {name: round(100 * fmean(hits), 1) for name, hits in found.items()}
    return result | {
        "auc": area(with_answer, without) or 0.0,
        "ms": round(fmean(times), 1),
        "p95 ms": round(quantiles(times, n=20)[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("notes", type=Path, nargs="+")
    parser.add_argument("--embedder", default="multilingual")
    parser.add_argument("--rerank-ms", type=float, default=Settings().rerank_ms)
    given = parser.parse_args()
    settings = replace(Settings(), embedder=given.embedder, rerank_ms=given.rerank_ms)
    for path in given.notes:
        print(path.name, figures(path, settings), flush=True)


if __name__ == "__main__":
    main()
