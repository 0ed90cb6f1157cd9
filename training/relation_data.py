"""Pairs of texts with the relation of the newer to the older one, from public data and from our own authors."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from data import SEED, lines

LABELS = ("duplicate", "contradiction", "update", "unrelated")
SAME, OTHER = 4.4, 1.5  # of 5: STS-B scores from which two sentences say the same, or different things


@dataclass(frozen=True, slots=True)
class Pair:
    old: str
    new: str
    label: int
    source: str

    def to_json(self) -> str:
        return json.dumps([self.old, self.new, self.label, self.source], ensure_ascii=False)


def pair(old: str, new: str, label: str, source: str) -> Pair:
    return Pair(old, new, LABELS.index("duplicate" if label == "paraphrase" else label), source)


def snli(path: Path) -> Iterator[Pair]:
    labels = {"entailment": "duplicate", "contradiction": "contradiction", "neutral": "unrelated"}
    for record in lines(path):
        if record["gold_label"] in labels:
            yield pair(record["sentence1"], record["sentence2"], labels[record["gold_label"]], "snli")


def semanticmemo(path: Path) -> Iterator[Pair]:
    for record in lines(path):
        label = "duplicate" if record["label"] else "contradiction" if "opposite" in record["source"] else "unrelated"
        yield pair(record["prompt_a"], record["prompt_b"], label, "semanticmemo")


def stsb(path: Path) -> Iterator[Pair]:
    for record in lines(path):
        if record["split"] == "train" and (record["score"] >= SAME or record["score"] <= OTHER):
            label = "duplicate" if record["score"] >= SAME else "unrelated"
            yield pair(record["a"], record["b"], label, "stsb")


def patha(folder: Path) -> Iterator[Pair]:
    for name in ("v05_combined_300", "v03_scenarios"):
        for record in lines(folder / f"{name}.jsonl"):
            if "supersession" in record["family"]:
                for older, newer in pairwise(record["propositions"]):
                    yield pair(older["text"], newer["text"], "update", "patha")
    for name in ("supersession_negatives_expanded", "false_contradiction_pairs"):
        for record in lines(folder / f"{name}.jsonl"):
            yield pair(record["p1"], record["p2"], "unrelated", "patha")
    for record in lines(folder / "supersession_positives_expanded.jsonl"):
        yield pair(record["p1"], record["p2"], "update", "patha")


def written(path: Path) -> Iterator[Pair]:
    """Our own files: old, new, label."""
    for record in lines(path):
        yield pair(record["old"], record["new"], record["label"], path.stem)


def with_variants(pairs: list[Pair], seed: int) -> list[Pair]:
    """Each pair; turned round, except updates; and as many crosses of two pairs, which are unrelated."""
    chance = random.Random(SEED + seed)
    update = LABELS.index("update")
    turned = [Pair(each.new, each.old, each.label, each.source) for each in pairs if each.label != update]
    others = chance.sample(pairs, len(pairs))
    crossed = [
        Pair(one.old, other.new, LABELS.index("unrelated"), "crossed")
        for one, other in zip(pairs, others, strict=True)
        if one.old != other.old
    ]
    mixed = [*pairs, *turned, *crossed[: len(crossed) // 2]]
    chance.shuffle(mixed)
    return mixed
