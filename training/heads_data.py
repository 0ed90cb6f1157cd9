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
NEAREST = 4  # passages that look most like an answer and are none, for each question
ELSEWHERE = 1  # passage about something else: nothing there answers, and the head must say so
POSITIVES = 2
HOTPOT = 5_000  # questions; more of them crowd out the notes


@dataclass(frozen=True, slots=True)
class Labelled:
    """One text, or two that are read together; `label` is 1 for an answer, or for an order."""

    first: str
    second: str
    label: int


def answers(examples: Sequence[list], embed: Embed, *, hotpot: int = HOTPOT) -> list[Labelled]:
    """Question and passage. The negatives are those that the vectors rank highest, as a reranker meets them."""
    chance = random.Random(SEED)
    kept = [each for each in examples if each[3] in ("longmemeval", "qmsum", "notes", "across")]
    encyclopedia = [each for each in examples if each[3] == "hotpot"]
    kept += chance.sample(encyclopedia, min(hotpot, len(encyclopedia)))
    texts = sorted({text for question, good, bad, _ in kept for text in (question, *good, *bad)})
    rows, places = embed(texts), {text: place for place, text in enumerate(texts)}
    by_source: dict[str, list[str]] = {}
    for _, good, _, source in kept:
        by_source.setdefault(source, []).extend(good)
    labelled = []
    for question, good, bad, source in kept:
        asked = rows[places[question]]
        near = sorted(bad, key=lambda text: -float(rows[places[text]] @ asked))[:NEAREST]
        others = chance.sample(by_source[source], 12)
        away = [text for text in others if text not in good]
        away = sorted(away, key=lambda text: -float(rows[places[text]] @ asked))[:ELSEWHERE]
        labelled += [Labelled(question, text, 1) for text in good[:POSITIVES]]
        labelled += [Labelled(question, text, 0) for text in (*near, *away)]
    return labelled


def orders(paths: Sequence[Path]) -> list[Labelled]:
    return [Labelled(each["text"], "", int(each["orders"])) for path in paths for each in lines(path)]


def harmless(texts: Sequence[str]) -> list[Labelled]:
    """Ordinary notes and pairs' texts as further examples of what gives no orders."""
    return [Labelled(text, "", 0) for text in texts]
