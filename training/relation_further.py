"""Trains the heads *relation* and *orders* of the shipped graph further on a processor, in less than an hour.

python training/relation_further.py OUT --graph cross_encoder.onnx --tokenizer FILE --near FILE… --before FILE…
    --pairs FILE… --changes FILE… --orders FILE… [--seconds 2400]

It learns from the versions of facts in `--near` (`note_neighbours.py`), from those of their neighbours that the
shipped graph takes for a change, or nearly, and from every third of the others; beside them from as many pairs of
what it has learned from before (`--before` are neighbours too), on which it is taught to say what it said. What
`relation.py` learns from in all its breadth, for which a GPU is needed, is drawn here by how much there is to learn
from it. `export_relation.py` puts the result into the graph.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import heads_data
import numpy as np
import torch
import weights
from answers import Pieces
from cross_encoder import CONFLICTS
from data import lines
from embedder import SEED
from relation import RAREST, SMOOTHING, UNRELATED, UPDATE, Judge, changes_of, trained_state
from relation_data import LABELS, written
from student import Descent
from torch.nn.functional import cross_entropy, kl_div, log_softmax, logsigmoid

from nacre.models.cross_encoder import CrossEncoderGraph, Head

SIZE = 48  # pairs of a step
NEAREST, ALIKE = 3, 0.25  # of a note, the older ones that are looked at, and the least cosine
NOTICED = 0.1  # the probability of a conflict from which on there is something to learn from an unrelated pair
OTHERS = 0.3  # of the unrelated pairs below it, the share that is drawn
REPLAYED = 2_600  # pairs of each former source that are drawn for an epoch; of texts that give orders half as many
HARMLESS = 500  # texts that give no orders
TAUGHT = 0.6  # the weight of what was said before, on pairs of former sources that were judged rightly


class Lesson(NamedTuple):
    """`said` is what the shipped graph says, before any scaling."""

    pair: tuple[str, str]
    label: int
    source: str
    said: np.ndarray | None = None


def neighbours(paths: Sequence[Path], source: str) -> Iterator[Lesson]:
    for row in (row for path in paths for row in lines(path)):
        near = zip(row["older"], row["versions"], row["cosines"], strict=True)
        for place, (older, version, cosine) in enumerate(near):
            if version:
                yield Lesson((older, row["newer"]), UPDATE, source)
            elif place < NEAREST and cosine >= ALIKE:
                yield Lesson((older, row["newer"]), UNRELATED, source)


def judged(lessons: Sequence[Lesson], head: Head) -> list[Lesson]:
    """With what the shipped graph says."""
    graph = CrossEncoderGraph()
    encoded = [graph.pair(*each.pair) if each.pair[1] else graph.single(each.pair[0]) for each in lessons]
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
    said = dict(zip(order, graph.scores([encoded[at] for at in order], head), strict=True))
    return [each._replace(said=np.asarray(said[at][0])) for at, each in enumerate(lessons)]


def conflict(said: np.ndarray) -> float:
    chances = np.exp(said - said.max())
    return float(chances[CONFLICTS].sum() / chances.sum())


class Lessons:
    """What is learned from, an epoch at a time."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.fresh = judged([*neighbours(given.near, "near")], "relation")
        former = [*neighbours(given.before, "before")]
        unrelated = [each for each in former if each.label != UPDATE]
        former = [each for each in former if each.label == UPDATE]
        former += random.Random(SEED).sample(unrelated, min(REPLAYED, len(unrelated)))
        former += [Lesson((each.old, each.new), each.label, "pairs") for path in given.pairs for each in written(path)]
        former += [Lesson(pair, label, "changes") for path in given.changes for pair, label in changes_of(path)]
        self.former = judged(former, "relation")
        orders = [Lesson((each.first, ""), each.label, "orders") for each in heads_data.orders(given.orders)]
        texts = sorted({each.pair[1] for each in self.fresh})
        orders += [Lesson((text, ""), 0, "orders") for text in random.Random(SEED).sample(texts, HARMLESS)]
        self.orders = judged(orders, "orders")
        versions = [each for each in self.fresh if each.label == UPDATE]
        hard = [each for each in self.fresh if each.label == UNRELATED and conflict(each.said) >= NOTICED]
        print(len(self.fresh), "of which versions", len(versions), "hard", len(hard), "former", len(self.former))
        print("versions that are seen", np.mean([conflict(each.said) >= 0.5 for each in versions]).round(3), flush=True)

    def epoch(self, number: int, pieces: Pieces) -> list[list[Lesson]]:
        chance = random.Random(SEED + number)
        drawn = [
            each
            for each in self.fresh
            if each.label == UPDATE or conflict(each.said) >= NOTICED or chance.random() < OTHERS
        ]
        groups = [drawn, chance.sample(self.orders, min(REPLAYED // 2, len(self.orders)))]
        for source in ("before", "pairs", "changes"):
            own = [each for each in self.former if each.source == source]
            groups.append(chance.sample(own, min(REPLAYED, len(own))))
        steps = []
        for group in groups:
            pieces.learn([text for each in group for text in each.pair])
            group.sort(key=lambda each: pieces.length(*each.pair) * chance.uniform(0.8, 1.25))
            steps += [group[start : start + SIZE] for start in range(0, len(group), SIZE)]
        chance.shuffle(steps)
        print("epoch", number, [len(each) for each in groups], len(steps), "steps", flush=True)
        return steps


def loss_of(step: Sequence[Lesson], found: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    said = torch.from_numpy(np.stack([each.said for each in step]))
    labels = torch.tensor([each.label for each in step])
    if step[0].source == "orders":
        wanted = 0.8 * said[:, 0].sigmoid() + 0.2 * labels
        loss: torch.Tensor = -(wanted * logsigmoid(found[:, 0]) + (1 - wanted) * logsigmoid(-found[:, 0])).mean()
        return loss + 0.2 * (found - said).square().mean()
    by_label = cross_entropy(found + shares, labels, label_smoothing=SMOOTHING, reduction="none")
    if step[0].source == "near":
        return by_label.mean()
    apart = kl_div(log_softmax(found, -1), said.softmax(-1), reduction="none").sum(-1)
    taught = TAUGHT * (said.argmax(-1) == labels)
    return ((1 - taught) * by_label + taught * apart).mean()


def shares_of(lessons: Sequence[Lesson]) -> torch.Tensor:
    """The logarithms of how often each label occurs in a source, as in `relation.py`."""
    counts = np.bincount([each.label for each in lessons], minlength=len(LABELS)) / len(lessons)
    return torch.from_numpy(np.log(np.maximum(counts, RAREST)).astype(np.float32))


def train(judge: Judge, lessons: Lessons, pieces: Pieces, given: argparse.Namespace) -> None:
    plan = [step for epoch in range(given.epochs) for step in lessons.epoch(given.seed + epoch, pieces)]
    every = [each for step in plan for each in step]
    shares = {
        source: shares_of([each for each in every if each.source == source])
        for source in dict.fromkeys(each.source for each in every)
        if source != "orders"
    }
    descent, began, seen = Descent(judge, given.rate), time.time(), 0.0
    judge.train()
    for number, step in enumerate(plan, 1):
        passed = max(number / len(plan), (time.time() - began) / given.seconds)
        if passed >= 1:
            break
        head, source = "orders" if step[0].source == "orders" else "relation", step[0].source
        found = judge(head, *pieces.batch([each.pair for each in step])).float()
        loss = loss_of(step, found, shares.get(source, torch.zeros(len(LABELS))))
        descent.step(loss, passed)
        seen = 0.95 * (seen or loss.item()) + 0.05 * loss.item()
        if number % 50 == 0:
            print(f"{number}/{len(plan)} loss {seen:.3f} {time.time() - began:.0f} s", flush=True)
    print("steps", number, f"loss {seen:.3f} {time.time() - began:.0f} s", flush=True)
    descent.keep_mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name in ("graph", "tokenizer"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("near", "before", "pairs", "changes", "orders"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="the rate falls to nothing by then at the latest")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(SEED + given.seed)
    lessons, pieces = Lessons(given), Pieces(given.tokenizer)
    judge = Judge(weights.from_graph(given.graph))
    train(judge, lessons, pieces, given)
    state: dict[str, Any] = trained_state(judge)
    given.out.mkdir(parents=True, exist_ok=True)
    weights.pack(state, given.out / "relation.npz")


if __name__ == "__main__":
    main()
