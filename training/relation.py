"""Trains the heads *relation* and *orders* of the shipped graph further, with the last layers that they share; the
first layers, and the head *answers* with layers of its own, stay as they are.

python training/relation.py OUT --graph cross_encoder.onnx --tokenizer FILE --pairs FILE… --changes FILE… --near FILE…
    --orders FILE… [--measure FILE… --measure-near FILE… --measure-orders FILE…]

*Relation* learns from labelled pairs (`pairs/`), from notes about one fact with others that resemble them (`changes/`),
from notes beside their nearest older ones (`note_neighbours.py`), most of which are unrelated, and from
`minimal_pairs.py`. *Orders*, which has nothing new to learn, is taught by what it was, and so is in part *relation* on
the labelled pairs (`--taught`), so that little is forgotten. `export_relation.py` puts the result into the graph, and
fits the head *one_place* anew.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import heads_data
import minimal_pairs
import numpy as np
import torch
import weights
from answers import Pieces, scores
from cross_encoder import CONFLICTS
from data import lines
from embedder import DEVICE, SEED
from relation_data import LABELS, Pair, with_variants, written
from student import Descent, Reader, Tensors, set_to, state_of
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax

UNRELATED, UPDATE = LABELS.index("unrelated"), LABELS.index("update")
SHARED = 6  # layers, which the head *answers* reads with, too
SIZE = 96  # pairs of a step
BESIDE = 4  # of a change, the pairs with others that are drawn for an epoch
NEAREST, DRAWN = 6, 3  # of a note, the older ones that are unrelated, and how many of them are drawn for an epoch
SMOOTHING = 0.05
RAREST = 0.02  # a label's share is never taken as less
HARMLESS = 1_500  # texts of an epoch that give no orders
PRECISIONS = (0.82, 0.9, 0.95)
ALIKE = 0.3  # the cosine from which on an older note can be taken for another version

Row = tuple[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Step:
    """`shares` are the logarithms of how often each label occurs in the source of these pairs. They are added to the
    scores of *relation* while it learns: otherwise a source of mostly unrelated pairs would teach it to call most pairs
    unrelated."""

    head: str
    pairs: list[tuple[str, str]]
    labels: list[int]
    taught: float  # the weight of what the teacher says; the labels have the rest
    shares: list[float]


class Judge(Reader):
    """The layers of the relation with the two heads that are trained."""

    def __init__(self, tensors: Tensors) -> None:
        super().__init__(tensors, head="relation")
        self.orders = nn.Linear(*tensors["orders_head"].shape)
        set_to(self.orders.weight, tensors["orders_head"].T)
        set_to(self.orders.bias, tensors["orders_head_bias"])
        for layer in self.layers[:SHARED]:
            layer.requires_grad_(False)
        self.to(DEVICE)

    def forward(self, head: str, *batch: torch.Tensor) -> torch.Tensor:
        pooled = self.read(*batch)[1]
        return self.head(pooled) if head == "relation" else self.orders(pooled)


def of_changes(rows: Sequence[dict[str, Any]], chance: random.Random) -> Iterator[Row]:
    """The fact itself, and some of the pairs with what only resembles it, in either order."""
    for row in rows:
        label = LABELS.index(row["label"])
        both = row["older"], row["newer"]
        yield both, label
        if label != UPDATE and chance.random() < 0.5:
            yield both[::-1], label
        mixed = [(other, text) for other in row["others"] for text in both]
        mixed += [tuple(chance.sample(row["others"], 2)) for _ in both]
        for one, other in chance.sample(mixed, min(BESIDE, len(mixed))):
            yield ((one, other) if chance.random() < 0.5 else (other, one)), UNRELATED


def of_near(rows: Sequence[dict[str, Any]], chance: random.Random) -> Iterator[Row]:
    for row in rows:
        near = [*zip(row["older"], row["versions"], strict=True)]
        yield from (((text, row["newer"]), UPDATE) for text, version in near if version)
        others = [text for text, version in near if not version][:NEAREST]
        for text in chance.sample(others, min(DRAWN, len(others))):
            yield (text, row["newer"]), UNRELATED


class Lessons:
    """What is learned from, an epoch at a time."""

    def __init__(self, given: argparse.Namespace, pieces: Pieces) -> None:
        self.taught, self.pieces = given.taught, pieces
        self.pairs = [each for path in given.pairs for each in written(path)]
        self.changes = [row for path in given.changes for row in lines(path)]
        self.near = [row for path in given.near for row in lines(path)]
        self.alike = [((row["old"], row["new"]), LABELS.index(row["label"])) for row in minimal_pairs.made()]
        self.orders = heads_data.orders(given.orders)
        self.plain = [row["newer"] for row in self.near]
        self.plain += [text for each in self.pairs for text in (each.old, each.new)]
        texts = [text for row in self.changes for text in (row["older"], row["newer"], *row["others"])]
        texts += [text for row in self.near for text in row["older"]]
        texts += [text for pair, _ in self.alike for text in pair] + [each.first for each in self.orders]
        pieces.learn([*self.plain, *texts])
        print(len(self.pairs), len(self.changes), len(self.near), len(self.alike), len(self.orders), flush=True)

    def epoch(self, number: int) -> list[Step]:
        chance = random.Random(SEED + number)
        old: list[Pair] = with_variants(self.pairs, number)
        steps = [
            *self.steps("relation", [((each.old, each.new), each.label) for each in old], self.taught, chance),
            *self.steps("relation", [*of_changes(self.changes, chance)], 0.0, chance),
            *self.steps("relation", [*of_near(self.near, chance)], 0.0, chance),
            *self.steps("relation", self.alike[number % 2 :: 2], 0.0, chance),
            *self.steps("orders", self.ordering(chance), 0.8, chance),
        ]
        chance.shuffle(steps)
        return steps

    def ordering(self, chance: random.Random) -> list[Row]:
        harmless = chance.sample(self.plain, min(HARMLESS, len(self.plain)))
        return [((each.first, ""), each.label) for each in self.orders] + [((text, ""), 0) for text in harmless]

    def steps(self, head: str, rows: Sequence[Row], taught: float, chance: random.Random) -> Iterator[Step]:
        """Texts of similar length together, so that little is padded."""
        ordered = sorted(rows, key=lambda row: self.pieces.length(*row[0]) * chance.uniform(0.8, 1.25))
        counts = np.bincount([label for _, label in rows], minlength=len(LABELS)) / len(rows)
        shares = [*map(float, np.log(np.maximum(counts, RAREST)))]
        for start in range(0, len(ordered) - SIZE // 2, SIZE):
            part = ordered[start : start + SIZE]
            yield Step(head, [pair for pair, _ in part], [label for _, label in part], taught, shares)


def loss_of(step: Step, found: torch.Tensor, said: torch.Tensor | None, strength: float) -> torch.Tensor:
    wanted = torch.tensor(step.labels, device=DEVICE)
    if step.head == "orders":
        loss = binary_cross_entropy_with_logits(found[:, 0], wanted.float())
    else:
        common = strength * torch.tensor(step.shares, device=DEVICE)
        loss = cross_entropy(found + common, wanted, label_smoothing=SMOOTHING)
    if said is None:
        return loss
    if step.head == "orders":
        apart = binary_cross_entropy_with_logits(found, said.sigmoid()) + 0.2 * (found - said).square().mean()
    else:
        apart = kl_div(log_softmax(found, -1), said.softmax(-1), reduction="batchmean")
    return (1 - step.taught) * loss + step.taught * apart


def train(judge: Judge, teacher: Judge, lessons: Lessons, given: argparse.Namespace) -> None:
    plan = [step for epoch in range(given.epochs) for step in lessons.epoch(given.seed + epoch)]
    descent, began, seen = Descent(judge, given.rate), time.time(), 0.0
    judge.train()
    for number, step in enumerate(plan, 1):
        batch, said = lessons.pieces.batch(step.pairs), None
        if step.taught:
            with torch.no_grad():
                said = teacher(step.head, *batch)
        loss = loss_of(step, judge(step.head, *batch), said, given.shares)
        descent.step(loss, number / len(plan))
        if number % 20 == 0:
            seen = 0.9 * (seen or loss.item()) + 0.1 * loss.item()
        if number % 500 == 0:
            print(f"{number}/{len(plan)} loss {seen:.3f} {time.time() - began:.0f} s", flush=True)
    descent.keep_mean()


def probabilities(judge: Judge, pieces: Pieces, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    pieces.learn([text for pair in pairs for text in pair])
    return torch.from_numpy(scores(judge, pieces, "relation", pairs)).softmax(-1).numpy()


def judged(judge: Judge, pieces: Pieces, rows: Sequence[Row]) -> dict[str, Any]:
    """Precision and recall of "these two conflict" by the likeliest label, and the recall at some precisions."""
    found, labels = probabilities(judge, pieces, [pair for pair, _ in rows]), np.array([label for _, label in rows])
    truth, conflict = np.isin(labels, CONFLICTS), found[:, CONFLICTS].sum(1)
    likeliest = np.isin(found.argmax(1), CONFLICTS)
    seen = np.cumsum(truth[np.argsort(-conflict)])
    precision = seen / np.arange(1, len(seen) + 1)
    figures = {"precision": truth[likeliest].mean(), "recall": likeliest[truth].mean()}
    figures |= {"label right": (found.argmax(1) == labels).mean()}
    for wanted in PRECISIONS:
        enough = np.flatnonzero(precision >= wanted)
        figures[f"recall at {wanted}"] = seen[enough[-1]] / seen[-1] if len(enough) else 0.0
    return {name: round(float(value), 3) for name, value in figures.items()}


def versions_found(judge: Judge, pieces: Pieces, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How well the probability of a conflict ranks versions of one fact above other pairs that resemble each other, of
    the nearest older notes and of the five nearest; and how many pairs are taken for a conflict or a repetition."""
    pairs = [
        (text, row["newer"], version, place)
        for row in rows
        for place, (text, version, cosine) in enumerate(zip(row["older"], row["versions"], row["cosines"], strict=True))
        if cosine >= ALIKE and place < 5
    ]
    found = probabilities(judge, pieces, [(older, newer) for older, newer, _, _ in pairs])
    versions, places = np.array([each[2] for each in pairs]), np.array([each[3] for each in pairs])
    conflict = found[:, CONFLICTS].sum(1)
    figures: dict[str, Any] = {"pairs": len(pairs), "versions": int(versions.sum())}
    for name, kept in (("nearest", places == 0), ("five", places >= 0)):
        if versions[kept].any():
            ranked = versions[kept][np.argsort(-conflict[kept])]
            precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
            figures[f"average precision, {name}"] = round(float(precision[ranked > 0].mean()), 3)
            figures[f"first 20, 40, {name}"] = [int(ranked[:20].sum()), int(ranked[:40].sum())]
    for point in (0.5, 0.9):
        said = conflict >= point
        figures[f"conflicts from {point}"] = [int(said.sum()), int(versions[said].sum())]
    same = found[:, LABELS.index("duplicate")] >= 0.9
    return {**figures, "repetitions": [int(same.sum()), int(versions[same].sum())]}


def orders_noticed(judge: Judge, pieces: Pieces, path: Path) -> dict[str, float]:
    rows = heads_data.orders([path])
    pieces.learn([each.first for each in rows])
    found = scores(judge, pieces, "orders", [(each.first, "") for each in rows])[:, 0]
    labels = np.array([each.label for each in rows])
    return {"noticed at 1 %": round(float((found[labels == 1] > np.quantile(found[labels == 0], 0.99)).mean()), 3)}


def changes_of(path: Path) -> list[Row]:
    """Every pair of a file of `changes/`, each once."""
    made: list[Row] = []
    for row in lines(path):
        made.append(((row["older"], row["newer"]), LABELS.index(row["label"])))
        made += [((other, row["newer"]), UNRELATED) for other in row["others"][:2]]
    return made


def report(name: str, judge: Judge, pieces: Pieces, given: argparse.Namespace) -> None:
    for path in given.measure:
        changed = path.parent.name == "changes"
        rows = changes_of(path) if changed else [((each.old, each.new), each.label) for each in written(path)]
        print(name, f"{path.parent.name}/{path.stem}", json.dumps(judged(judge, pieces, rows)), flush=True)
    near = [row for path in given.measure_near for row in lines(path)]
    for source in dict.fromkeys(row["set"] for row in near):
        own = [row for row in near if row["set"] == source]
        print(name, source, json.dumps(versions_found(judge, pieces, own)), flush=True)
    for path in given.measure_orders:
        print(name, path.stem, json.dumps(orders_noticed(judge, pieces, path)), flush=True)


def trained_state(judge: Judge) -> dict[str, np.ndarray]:
    """The layers and heads that are trained, by the names of `transformers.BertModel`."""
    state = {name.replace("answers", "relation"): value for name, value in state_of(judge, SHARED).items()}
    return state | {
        f"heads.orders.{part}": value.detach().cpu().numpy() for part, value in judge.orders.named_parameters()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name in ("graph", "tokenizer"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("pairs", "changes", "near", "orders", "measure", "measure-near", "measure-orders"):
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[])
    parser.add_argument("--taught", type=float, default=0.3, help="weight of the teacher on the labelled pairs")
    parser.add_argument("--shares", type=float, default=1.0, help="how much the shares of the labels are added")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(SEED + given.seed)
    torch.set_float32_matmul_precision("high")
    pieces = Pieces(given.tokenizer)
    judge, lessons = Judge(weights.from_graph(given.graph)), Lessons(given, pieces)
    teacher = copy.deepcopy(judge).eval().requires_grad_(False)
    report("before", judge, pieces, given)
    train(judge, teacher, lessons, given)
    report("after", judge, pieces, given)
    given.out.mkdir(parents=True, exist_ok=True)
    weights.pack(trained_state(judge), given.out / "relation.npz")


if __name__ == "__main__":
    main()
