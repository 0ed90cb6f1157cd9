"""Learns what of the multilingual encoder's own numbers stands beside a text's place among English ones.

python training/projection.py PACKED WEIGHTS [--held-out NAME]    # after export_combination.py, before digests.py

The projection begins with the principal directions of `export_combination.py` and learns from the questions that the
English part was trained on, so that the two find more together. The mean over the later steps of two runs is written.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from data import Example, notes
from torch.nn.functional import cross_entropy, normalize

from nacre.models.shipped_embedder import BothParts

WEIGHT = 0.6  # of these numbers beside the place: more costs conversations, less costs notes
HOTPOT = 1_500  # questions from the encyclopedia, fewer than of notes
ASKED_TWICE = ("notes", "across", "longmemeval")  # what the package is for
NEGATIVES = 8  # of the same question, besides all other passages of the batch
NEARBY = 120  # other notes of a world, from which those are drawn
ANSWERS = 3  # of a question, which take turns
SIZE, EPOCHS, RATE, SCALE = 64, 3, 1e-3, 20.0
SEEDS = (3, 4)


def chosen(packed: Path, held_out: Sequence[str]) -> list[Example]:
    with gzip.open(packed / "examples.jsonl.gz", "rt", encoding="utf-8") as file:
        stored = [Example(*json.loads(line)) for line in file]
    encyclopedia = [each for each in stored if each.source == "hotpot"]
    return [
        *random.Random(1).sample(encyclopedia, HOTPOT),
        *(each for each in stored if each.source in ("longmemeval", "qmsum")),
        *notes(Path(__file__).parent / "notes", held_out, NEARBY),
    ]


class Texts:
    """The place and the centred row of each text."""

    def __init__(self, part: BothParts, texts: Sequence[str]) -> None:
        self.at = {text: place for place, text in enumerate(texts)}
        parts = [part.halves(texts[start : start + 512]) for start in range(0, len(texts), 512)]
        placed, centred = zip(*parts, strict=True)
        self.placed, self.centred = (torch.from_numpy(np.concatenate(rows)) for rows in (placed, centred))

    def rows(self, texts: Sequence[str], projection: torch.Tensor) -> torch.Tensor:
        at = torch.tensor([self.at[text] for text in texts])
        own = WEIGHT * normalize(self.centred[at] @ projection, dim=-1)
        return normalize(torch.cat([self.placed[at], own], -1), dim=-1)


def learned(examples: Sequence[Example], texts: Texts, start: np.ndarray, seed: int) -> np.ndarray:
    projection = torch.tensor(start.copy(), requires_grad=True)
    optimizer = torch.optim.Adam([projection], RATE)
    chance = random.Random(seed)
    total, count = torch.zeros_like(projection), 0
    for epoch in range(EPOCHS):
        rows = [each for each in examples for _ in range(2 if each.source in ASKED_TWICE else 1)]
        chance.shuffle(rows)
        for first in range(0, len(rows) - SIZE, SIZE):
            batch = rows[first : first + SIZE]
            right = [chance.choice(each.positives[:ANSWERS]) for each in batch]
            wrong = [
                text for each in batch for text in chance.sample(each.negatives, min(NEGATIVES, len(each.negatives)))
            ]
            asked = texts.rows([each.question for each in batch], projection)
            scores = SCALE * asked @ texts.rows([*right, *wrong], projection).T
            # The same question may stand twice in a batch, with another of its answers.
            same = torch.tensor([[one.question == other.question for other in batch] for one in batch])
            scores[:, :SIZE].masked_fill_(same.fill_diagonal_(False), -1e4)
            loss = cross_entropy(scores, torch.arange(SIZE))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if epoch:
                total, count = total + projection.detach(), count + 1
        print(f"seed {seed}, epoch {epoch}: loss {loss.item():.3f}", flush=True)
    return (total / count).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("packed", "weights"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--held-out", nargs="*", default=[])
    given = parser.parse_args()
    examples = chosen(given.packed, given.held_out)
    every = {text for each in examples for text in (each.question, *each.positives[:ANSWERS], *each.negatives)}
    texts = Texts(BothParts(given.weights), sorted(every, key=len))
    stored = dict(np.load(given.weights / "combination.npz"))
    made = np.mean([learned(examples, texts, stored["projection"], seed) for seed in SEEDS], axis=0)
    stored |= {"projection": made.astype(np.float32), "weight": np.float32(WEIGHT)}
    np.savez(given.weights / "combination.npz", **stored)


if __name__ == "__main__":
    main()
