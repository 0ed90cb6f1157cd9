"""Examples for the heads *answers* (does this memory answer this question) and *orders* (does this text give orders to
a model). The relation head has `relation_data.py`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from data import SEED, lines

Embed = Callable[[Sequence[str]], np.ndarray]
NEAREST = 5  # passages that look most like an answer and are none, for each question
ELSEWHERE = 1  # passage about something else: nothing there answers, and the head must say so
GROUP = 1 + NEAREST + ELSEWHERE
POSITIVES = 2
POOL = 200  # passages of other questions, among which the nearest are looked for too
HOTPOT = 5_000  # questions; more of them crowd out the notes


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text, or two that are read together; `label` is 1 for an answer, or for an order."""

    first: str
    second: str
    label: int


def answers(examples: Sequence[list], embed: Embed, *, hotpot: int = HOTPOT) -> list[list[Labelled]]:
    """Groups of a question with one answer, which comes first, and passages that do not answer it: those that the
    vectors rank highest, as a reranker meets them."""
    chance = random.Random(SEED)
    kept = [each for each in examples if each[3] in ("longmemeval", "qmsum", "notes", "across")]
    encyclopedia = [each for each in examples if each[3] == "hotpot"]
    kept += chance.sample(encyclopedia, min(hotpot, len(encyclopedia)))
    texts = sorted({text for question, good, bad, _ in kept for text in (question, *good, *bad)})
    rows, places = embed(texts), {text: place for place, text in enumerate(texts)}
    by_source: dict[str, list[str]] = {}
    for _, good, _, source in kept:
        by_source.setdefault(source, []).extend(good)
    groups = []
    for question, good, bad, source in kept:
        asked = rows[places[question]]

        def nearest(them: Sequence[str], count: int, asked: np.ndarray = asked) -> list[str]:
            return sorted(them, key=lambda each: -float(rows[places[each]] @ asked))[:count]

        away = sorted(set(chance.sample(by_source[source], min(POOL, len(by_source[source])))) - {*good, *bad})
        far = nearest(away, NEAREST + ELSEWHERE)
        near = [*nearest(sorted(set(bad) - set(good)), NEAREST), *far][: GROUP - 1 - ELSEWHERE]
        wrong = [*near, *[text for text in far if text not in near][:ELSEWHERE]]
        if len(wrong) == GROUP - 1:
            groups += [
                [Labelled(question, text, int(place == 0)) for place, text in enumerate([right, *wrong])]
                for right in good[:POSITIVES]
            ]
    return groups


def orders(paths: Sequence[Path]) -> list[Labelled]:
    return [Labelled(each["text"], "", int(each["orders"])) for path in paths for each in lines(path)]


def harmless(texts: Sequence[str], count: int) -> list[Labelled]:
    """Ordinary notes and pairs' texts as further examples of what gives no orders."""
    known = sorted(set(texts))
    return [Labelled(text, "", 0) for text in random.Random(SEED).sample(known, min(count, len(known)))]


def plain_texts(path: Path) -> list[str]:
    """A file of notes, or one text a line."""
    if path.suffix == ".jsonl":
        return [each["text"] for each in lines(path)]
    return [line for line in path.read_text().splitlines() if line.strip()]
