"""Measures vectors alone: LoCoMo turns, hand-written notes, and the agreement with people on STS-B (English)."""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
Embed = Callable[[Sequence[str]], np.ndarray]


def everything(embed: Embed, locomo: Path | None, notes: Sequence[Path], sts: Path | None) -> dict[str, float]:
    figures: dict[str, float] = {}
    if locomo:
        figures |= locomo_figures(embed, locomo)
    for folder in notes:
        figures |= {f"{folder.name} {name}": value for name, value in notes_figures(embed, folder).items()}
    if sts:
        figures |= sts_figures(embed, sts)
    return {name: round(100 * float(value), 1) for name, value in figures.items()}


def places_of_first(scores: np.ndarray, gold: Sequence[Sequence[int]]) -> np.ndarray:
    """For each question, the place of the best answer among all passages, from 0."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)
    return np.array([min(ranks[row, place] for place in places) for row, places in enumerate(gold)])


def locomo_figures(embed: Embed, path: Path) -> dict[str, float]:
    first: list[np.ndarray] = []
    for record in json.loads(gzip.decompress(path.read_bytes())):
        turns: dict[str, str] = {}
        for name, session in record["conversation"].items():
            if re.fullmatch(r"session_\d+", name):
                for turn in session:
                    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
                    turns[turn["dia_id"]] = f"{turn['speaker']}: {turn['text']}{caption}"
        names = {name: place for place, name in enumerate(turns)}
        asked, gold = [], []
        for each in record["qa"]:
            found = EVIDENCE.findall(" ".join(map(str, each.get("evidence") or [])))
            places = [names[f"D{s}:{t}"] for s, t in found if f"D{s}:{t}" in names]
            if each["category"] in (1, 2, 3, 4) and places:
                asked.append(each["question"])
                gold.append(places)
        first.append(places_of_first(embed(asked) @ embed(list(turns.values())).T, gold))
    ranks = np.concatenate(first)
    return {f"locomo any@{k}": (ranks < k).mean() for k in (1, 5, 10)}


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def read_notes(folder: Path) -> tuple[list[Any], list[Any]]:
    """`folder` holds memories.jsonl and questions.jsonl; or it is AUTHOR, for AUTHOR.notes.jsonl and the questions."""
    if folder.is_dir():
        return read_lines(folder / "memories.jsonl"), read_lines(folder / "questions.jsonl")
    notes, questions = (
        [each | {"project": each["world"]} for each in read_lines(folder.with_name(f"{folder.name}.{kind}.jsonl"))]
        for kind in ("notes", "questions")
    )
    return notes, questions


def notes_figures(embed: Embed, folder: Path) -> dict[str, float]:
    memories, questions = read_notes(folder)
    ranks, kinds = [], []
    for project in sorted({each["project"] for each in memories}):
        own = [each for each in memories if each["project"] == project]
        names = {each["id"]: place for place, each in enumerate(own)}
        asked = [each for each in questions if each["project"] == project and each["answers"]]
        gold = [[names[id] for id in each["answers"]] for each in asked]
        ranks.append(places_of_first(embed([e["q"] for e in asked]) @ embed([e["text"] for e in own]).T, gold))
        kinds += [each["kind"] for each in asked]
    every = np.concatenate(ranks)
    across = every[np.array(kinds) == "crosslingual"]
    return {
        "any@1": (every < 1).mean(),
        "any@5": (every < 5).mean(),
        "any@10": (every < 10).mean(),
        "crosslingual any@5": (across < 5).mean(),
    }


def ranks_of(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def sts_figures(embed: Embed, path: Path) -> dict[str, float]:
    with gzip.open(path, "rt") as file:
        rows = [row for row in map(json.loads, file) if row["lang"] == "en" and row["split"] == "test"]
    cosines = (embed([row["a"] for row in rows]) * embed([row["b"] for row in rows])).sum(1)
    gold = np.array([row["score"] for row in rows])
    return {"sts-b (en)": float(np.corrcoef(ranks_of(cosines), ranks_of(gold))[0, 1])}


def main() -> None:
    """The shipped embedder, as the package runs it."""
    from nacre.factory import make_embedder
    from nacre.settings import Settings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", default="multilingual")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--notes", type=Path, nargs="*", default=[])
    parser.add_argument("--sts", type=Path)
    given = parser.parse_args()
    embed = make_embedder(Settings(embedder=given.embedder)).embed
    print(everything(embed, given.locomo, given.notes, given.sts))


if __name__ == "__main__":
    main()
