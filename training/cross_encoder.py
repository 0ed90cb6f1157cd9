"""Trains the cross-encoder: reads two texts together and says how the newer memory relates to the older one.

python training/cross_encoder.py PACKED OUT --gte gte.npz --layers 12
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from embedder import DEVICE, SEED, bert, schedule
from relation_data import LABELS, Pair, with_variants
from tokenizers import Tokenizer
from torch import nn
from torch.nn.functional import cross_entropy

TOKENS = 256
CONFLICTS = (LABELS.index("contradiction"), LABELS.index("update"))


class CrossEncoder(nn.Module):
    """A trunk that reads both texts with their segments, and a head on its first state beside the mean of all."""

    def __init__(self, weights: Path, layers: int, classes: int) -> None:
        super().__init__()
        self.trunk = bert(weights, layers)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * 384, classes)).to(DEVICE)

    def forward(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            states = self.trunk(input_ids=ids, token_type_ids=segments, attention_mask=mask).last_hidden_state
        states = states.float()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(torch.cat([states[:, 0], mean], -1))


class Pairs:
    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.no_padding()

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.tokenizer.encode_batch([(one, other) for one, other in pairs])
        width = max(len(row.ids) for row in rows)
        ids, segments, mask = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
        for place, row in enumerate(rows):
            ids[place, : len(row.ids)] = torch.tensor(row.ids)
            segments[place, : len(row.ids)] = torch.tensor(row.type_ids)
            mask[place, : len(row.ids)] = 1
        return ids.to(DEVICE), segments.to(DEVICE), mask.to(DEVICE)


def train(
    model: CrossEncoder, texts: Pairs, epochs: Sequence[Sequence[Pair]], *, rate: float, size: int, name: str
) -> None:
    model.train()
    steps = sum(len(rows) // size for rows in epochs)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    slower = schedule(optimizer, steps)
    began, step = time.time(), 0
    for number, rows in enumerate(epochs):
        chance = random.Random(SEED + number)
        order = sorted(rows, key=lambda each: (len(each.old) + len(each.new)) * chance.uniform(0.7, 1.4))
        groups = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
        chance.shuffle(groups)
        for group in groups:
            scores = model(*texts.batch([(each.old, each.new) for each in group]))
            wanted = torch.tensor([each.label for each in group], device=DEVICE)
            loss = cross_entropy(scores, wanted, label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            slower.step()
            step += 1
            if step % 300 == 0:
                print(f"{name} {step}/{steps} loss {loss.item():.3f} {time.time() - began:.0f} s", flush=True)


@torch.no_grad()
def probabilities(model: CrossEncoder, texts: Pairs, pairs: Sequence[Pair]) -> np.ndarray:
    model.eval()
    rows = []
    for start in range(0, len(pairs), 128):
        group = pairs[start : start + 128]
        rows.append(model(*texts.batch([(each.old, each.new) for each in group])).softmax(-1).cpu().numpy())
    return np.concatenate(rows)


def figures(model: CrossEncoder, texts: Pairs, pairs: Sequence[Pair]) -> dict[str, float]:
    """Precision and recall of "these two conflict"; how often the kind is right; recall where precision is 0.97."""
    found = probabilities(model, texts, pairs)
    labels = np.array([each.label for each in pairs])
    conflict, truth = found[:, CONFLICTS].sum(1), np.isin(labels, CONFLICTS)
    judged = np.isin(found.argmax(1), CONFLICTS)
    order = np.argsort(-conflict)
    precision = np.cumsum(truth[order]) / np.arange(1, len(order) + 1)
    sure = np.flatnonzero(precision >= 0.97)
    return {
        "precision": round(float(truth[judged].mean()), 3),
        "recall": round(float(judged[truth].mean()), 3),
        "kind right": round(float((found.argmax(1) == labels).mean()), 3),
        "recall at 0.97": round(float(truth[order][: sure[-1] + 1].sum() / truth.sum()) if len(sure) else 0.0, 3),
    }


def read(path: Path) -> list[Pair]:
    with gzip.open(path, "rt") as file:
        return [Pair(*json.loads(line)) for line in file]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hold-out", nargs="*", default=())
    given = parser.parse_args()
    torch.manual_seed(SEED)
    texts = Pairs(given.packed / "tokenizer.json")
    general, own = read(given.packed / "pairs_general.jsonl.gz"), read(given.packed / "pairs_own.jsonl.gz")
    checks = read(given.packed / "pairs_checks.jsonl.gz")
    held = {name: [each for each in own if each.source == name] for name in given.hold_out}
    held |= {name: [each for each in checks if each.source == name] for name in sorted({e.source for e in checks})}
    own = [each for each in own if each.source not in given.hold_out]
    model = CrossEncoder(given.weights, given.layers, len(LABELS))

    def report(name: str) -> None:
        for source, pairs in held.items():
            print(name, source, len(pairs), figures(model, texts, pairs), flush=True)

    train(model, texts, [general] * 2, rate=6e-5, size=128, name="general")
    report("after general pairs:")
    train(model, texts, [with_variants(own, epoch) for epoch in range(6)], rate=4e-5, size=32, name="own")
    report("after own pairs:")
    torch.save({name: tensor.half().cpu() for name, tensor in model.state_dict().items()}, given.out / "relation.pt")


if __name__ == "__main__":
    main()
