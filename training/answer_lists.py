"""Writes down what a recall shows for each question, for `answers.py` to learn from and to be measured on.

python training/answer_lists.py OUT.jsonl.gz NOTES… [--locomo FILE]

NOTES are as for `nacre bench recall --suite notes`. A line is a question with the texts that the shipped recall finds
for it, without reading, best first, then the answers that it did not find and the notes that look like one; `labels`
says how much each of them answers: what an answer has replaced, by the chains of its author, a little.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nacre import MemoryStore
from nacre.bench.datasets import load_locomo
from nacre.bench.notes import FOREIGN, earlier_versions, load_notes
from nacre.settings import Settings

SHOWN = 16
STALE = 0.15  # as in `answers.py`
LOCOMO_EVERY = 3  # questions


def line(store: MemoryStore, name: str, row: Any, texts: dict[str, str]) -> dict[str, Any]:
    hits = store.recall(row["q"], SHOWN, asked_at=row["at"], touch=False, rerank=False, min_relevance=0)
    ids = [hit.memory.id for hit in hits]
    ids += [id for id in dict.fromkeys((*row["answers"], *row.get("near", ()))) if id not in ids and id in texts]
    return {
        "set": name,
        "kind": row["kind"],
        "question": row["q"],
        "texts": [texts[id] for id in ids],
        "labels": [1 if id in row["answers"] else STALE if id in row.get("stale", ()) else 0 for id in ids],
        "scores": [round(hit.score, 5) for hit in hits],
        "relevance": [round(hit.relevance, 5) for hit in hits],
    }


def of_notes(path: Path, settings: Settings) -> Iterator[dict[str, Any]]:
    notes = load_notes(path)
    with MemoryStore(":memory:", settings=settings) as store:
        for name in dict.fromkeys(note.project for note in notes.memories):
            space = store.in_space(name)
            own = [note for note in notes.memories if note.project == name]
            space.remember_many([{"id": note.id, "text": note.text, "created_at": note.created_at} for note in own])
            texts = {note.id: note.text for note in own}
            for asked in notes.questions:
                if asked.project == name:
                    kind = FOREIGN if asked.note == FOREIGN else asked.kind
                    row = {"q": asked.text, "kind": kind, "answers": asked.answers, "near": asked.near}
                    row["stale"] = earlier_versions(asked, notes.chains)
                    yield line(space, path.name, row | {"at": asked.asked_at or notes.last()}, texts)


def of_locomo(path: Path, settings: Settings) -> Iterator[dict[str, Any]]:
    for corpus in load_locomo(path).corpora:
        with MemoryStore(":memory:", settings=replace(settings, on_conflict="ignore")) as store:
            turns: list[dict[str, Any]] = [
                {"id": turn.key, "text": turn.text, "role": turn.role, "session": turn.session,
                 "position": turn.position, "occurred_at": turn.at}
                for turn in corpus.turns
            ]  # fmt: skip
            store.remember_many([{name: value for name, value in turn.items() if value is not None} for turn in turns])
            texts = {turn.key: turn.text for turn in corpus.turns}
            for asked in corpus.questions[::LOCOMO_EVERY]:
                row = {"q": asked.text, "kind": "chat", "answers": [*asked.gold], "at": asked.asked_at}
                yield line(store, "locomo", row, texts)


def written(rows: Iterator[dict[str, Any]]) -> Sequence[str]:
    return [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("notes", type=Path, nargs="*")
    parser.add_argument("--locomo", type=Path)
    given = parser.parse_args()
    settings = replace(Settings(), embedder="multilingual", on_conflict="ignore")
    began = time.time()
    with gzip.open(given.out, "wt") as file:
        for path in given.notes:
            lines = written(of_notes(path, settings))
            file.writelines(lines)
            print(path.name, len(lines), f"{time.time() - began:.0f} s", flush=True)
        if given.locomo:
            lines = written(of_locomo(given.locomo, settings))
            file.writelines(lines)
            print("locomo", len(lines), f"{time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
