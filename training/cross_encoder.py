"""Trains the cross-encoder, one trunk with three heads: how a newer memory relates to an older one (*relation*),
whether a memory answers a question (*answers*), and whether a text gives orders to a model (*orders*).

python training/cross_encoder.py PACKED OUT --weights gte.npz [--student FILE] [--orders FILE ...] [--hold-out NAME]

Without `--student` (which finds passages that look like answers) and `--orders`, only the relation is learned.

A trained one can learn more: `--begin FILE` takes its weights and leaves the general pairs out. `--teach HEAD=FILE`
adds what another one says to what the labels of that head say; a head keeps its skill when it teaches itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import heads_data
import measure
import numpy as np
import torch
import weights
from data import lines
from embedder import DEVICE, SEED, Texts, bert, embed_all, learn, schedule
from heads_data import Labelled
from relation_data import LABELS, Pair, with_variants
from tokenizers import Tokenizer
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax

TOKENS = 256
CONFLICTS = (LABELS.index("contradiction"), LABELS.index("update"))


HEADS = {"relation": len(LABELS), "answers": 1, "orders": 1}
HARMLESS = 2_000
KEPT = 0.998  # of the mean of the weights over the last steps, which judges better than the last weights, at each step
TAUGHT = 0.6  # of what is learned where there is a teacher; the rest is the label
BEST = 8  # of the vectors, that the head answers reads
Batch = tuple[str, list[tuple[str, str]], list[int]]  # head, texts, labels


class CrossEncoder(nn.Module):
    """A trunk that reads both texts with their segments, and heads on its first state beside the mean of all."""

    def __init__(self, weights: Path, layers: int) -> None:
        super().__init__()
        self.trunk = bert(weights, layers)
        self.heads = nn.ModuleDict({name: nn.Linear(2 * 384, size) for name, size in HEADS.items()}).to(DEVICE)
        self.dropout = nn.Dropout(0.1)

    def forward(self, head: str, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            states = self.trunk(input_ids=ids, token_type_ids=segments, attention_mask=mask).last_hidden_state
        states = states.float()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.heads[head](self.dropout(torch.cat([states[:, 0], mean], -1)))


class Pairs:
    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.no_padding()

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rows = self.tokenizer.encode_batch([(one, other) if other else one for one, other in pairs])
        made = np.zeros((3, len(rows), max(len(row.ids) for row in rows)), np.int64)
        for place, row in enumerate(rows):
            made[:, place, : len(row.ids)] = row.ids, row.type_ids, row.attention_mask
        ids, segments, mask = torch.from_numpy(made).to(DEVICE)
        return ids, segments, mask


def batches(head: str, rows: Sequence[Pair] | Sequence[Labelled], size: int, seed: int) -> list[Batch]:
    """Of similar length together, so that little is padded."""
    texts = [((r.old, r.new) if isinstance(r, Pair) else (r.first, r.second), r.label) for r in rows]
    chance = random.Random(SEED + seed)
    texts.sort(key=lambda each: sum(map(len, each[0])) * chance.uniform(0.7, 1.4))
    groups = [texts[start : start + size] for start in range(0, len(texts) - size + 1, size)]
    return [(head, [pair for pair, _ in group], [label for _, label in group]) for group in groups]


def mixed(epochs: Sequence[Sequence[Batch]]) -> Iterator[Batch]:
    """The batches of all heads in any order, an epoch after the other."""
    for number, epoch in enumerate(epochs):
        order = list(epoch)
        random.Random(SEED + number).shuffle(order)
        yield from order


def loss_of(head: str, scores: torch.Tensor, labels: Sequence[int], taught: torch.Tensor | None) -> torch.Tensor:
    wanted = torch.tensor(labels, device=DEVICE)
    if head == "relation":
        loss = cross_entropy(scores, wanted, label_smoothing=0.05)
    else:
        loss = binary_cross_entropy_with_logits(scores[:, 0], wanted.float())
    if taught is None:
        return loss
    if head == "relation":
        apart = kl_div(log_softmax(scores, -1), taught.softmax(-1), reduction="batchmean")
    else:
        apart = binary_cross_entropy_with_logits(scores, taught.sigmoid())
    return (1 - TAUGHT) * loss + TAUGHT * apart


def train(
    model: CrossEncoder,
    texts: Pairs,
    epochs: Sequence[Sequence[Batch]],
    teachers: Mapping[str, CrossEncoder],
    *,
    rate: float,
    name: str,
) -> None:
    model.train()
    steps = sum(map(len, epochs))
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01, fused=DEVICE == "cuda")
    slower = schedule(optimizer, steps)
    values = [*model.parameters()]
    average = [each.detach().clone() for each in values]
    began = time.time()
    for step, (head, pairs, labels) in enumerate(mixed(epochs), 1):
        given, taught = texts.batch(pairs), None
        if head in teachers:
            with torch.no_grad():
                taught = teachers[head](head, *given)
        loss = loss_of(head, model(head, *given), labels, taught)
        learn(model, loss, optimizer, slower)
        torch._foreach_lerp_(average, [each.detach() for each in values], max(1 - KEPT, 1 / step))
        if step % 300 == 0:
            print(f"{name} {step}/{steps} {head} loss {loss.item():.3f} {time.time() - began:.0f} s", flush=True)
    for each, mean in zip(values, average, strict=True):
        each.data.copy_(mean)


@torch.no_grad()
def logits(model: CrossEncoder, texts: Pairs, head: str, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
    model.eval()
    portions = [pairs[start : start + 128] for start in range(0, len(pairs), 128)]
    return torch.cat([model(head, *texts.batch(portion)).cpu() for portion in portions])


def chances(model: CrossEncoder, texts: Pairs, head: str, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    return logits(model, texts, head, pairs)[:, 0].sigmoid().numpy()


def figures(model: CrossEncoder, texts: Pairs, pairs: Sequence[Pair]) -> dict[str, float]:
    """Precision and recall of "these two conflict"; how often the kind is right; recall where precision is 0.97."""
    found = logits(model, texts, "relation", [(each.old, each.new) for each in pairs]).softmax(-1).numpy()
    labels = np.array([each.label for each in pairs])
    conflict, truth = found[:, CONFLICTS].sum(1), np.isin(labels, CONFLICTS)
    judged = np.isin(found.argmax(1), CONFLICTS)
    order = np.argsort(-conflict)
    seen = np.cumsum(truth[order])
    precision = seen / np.arange(1, len(order) + 1)
    sure = np.flatnonzero(precision >= 0.97)
    return {
        "precision": round(float(truth[judged].mean()), 3),
        "recall": round(float(judged[truth].mean()), 3),
        "kind right": round(float((found.argmax(1) == labels).mean()), 3),
        "precision at recall 0.6": round(float(precision[seen.searchsorted(0.6 * seen[-1])]), 3),
        "recall at 0.97": round(float(seen[sure[-1]] / seen[-1]) if len(sure) else 0.0, 3),
    }


def reranked(model: CrossEncoder, texts: Pairs, student: measure.Embed, folder: Path) -> dict[str, float]:
    """How often the answer is first, before and after the best of the vectors are read together with the question; and
    how well its probability tells answers from the rest."""
    memories, questions = measure.read_notes(folder)
    before, after, right, wrong = [], [], [], []
    for project in sorted({each["project"] for each in memories}):
        own = [each for each in memories if each["project"] == project]
        asked = [each for each in questions if each["project"] == project and each["answers"]]
        scores = student([each["q"] for each in asked]) @ student([each["text"] for each in own]).T
        top = np.argsort(-scores, axis=1)[:, :BEST]
        pairs = [(each["q"], own[place]["text"]) for each, row in zip(asked, top, strict=True) for place in row]
        read = chances(model, texts, "answers", pairs).reshape(len(asked), BEST)
        for each, row, chance in zip(asked, top, read, strict=True):
            is_answer = np.array([own[place]["id"] in each["answers"] for place in row])
            before.append(is_answer[0])
            after.append(is_answer[int(chance.argmax())])
            right += list(chance[is_answer])
            wrong += list(chance[~is_answer])
    area = float((np.array(right)[:, None] > np.array(wrong)[None]).mean())
    return {"first before": float(np.mean(before)), "first after": float(np.mean(after)), "area under curve": area}


def noticed(model: CrossEncoder, texts: Pairs, rows: Sequence[Labelled]) -> dict[str, float]:
    """The share of orders that is noticed where one harmless text in a hundred is taken for one."""
    found = chances(model, texts, "orders", [(each.first, "") for each in rows])
    labels = np.array([each.label for each in rows])
    limit = float(np.quantile(found[labels == 0], 0.99))
    return {"noticed": float((found[labels == 1] > limit).mean()), "limit": limit}


def load(model: CrossEncoder, path: Path) -> None:
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.unpack(path).items()})


def read(path: Path) -> list[Pair]:
    with gzip.open(path, "rt") as file:
        return [Pair(*json.loads(line)) for line in file]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--general", type=int, default=2, help="epochs of general pairs")
    parser.add_argument("--hold-out", nargs="*", default=())
    parser.add_argument("--student", type=Path)
    parser.add_argument("--notes", type=Path, nargs="*", default=[], help="that measure the head answers")
    parser.add_argument("--orders", type=Path, nargs="*", default=[])
    parser.add_argument("--harmless", type=Path, nargs="*", default=[], help="notes, which give no orders")
    parser.add_argument("--held-orders", type=Path, nargs="*", default=[])
    parser.add_argument("--begin", type=Path, help="a trained one, which learns more")
    parser.add_argument("--teach", nargs="*", default=[], metavar="HEAD=FILE")
    parser.add_argument("--own", type=int, default=6, help="epochs of the project's pairs")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(SEED + given.seed)
    texts = Pairs(given.packed / "tokenizer.json")
    general, own = read(given.packed / "pairs_general.jsonl.gz"), read(given.packed / "pairs_own.jsonl.gz")
    checks = read(given.packed / "pairs_checks.jsonl.gz")
    held = {name: [each for each in own if each.source == name] for name in given.hold_out}
    held |= {name: [each for each in checks if each.source == name] for name in sorted({e.source for e in checks})}
    own = [each for each in own if each.source not in given.hold_out]
    first: list[Labelled] = []  # answers, most of them from the encyclopedia
    last: list[Labelled] = []  # answers in notes and conversations
    ordering: list[Labelled] = []
    if given.student:
        model = bert(given.student, 6)
        student = lambda them: embed_all(model, Texts(given.packed / "tokenizer.json"), them)  # noqa: E731
        with gzip.open(given.packed / "examples.jsonl.gz", "rt") as file:
            examples = [json.loads(line) for line in file]
        first = heads_data.answers(examples, student)
        last = heads_data.answers(examples, student, hotpot=1_000)
    if given.orders:
        plain = [text for each in (*own, *general[: 10 * HARMLESS]) for text in (each.old, each.new)]
        plain = random.Random(SEED).sample(sorted(set(plain)), HARMLESS)
        plain += [each["text"] for path in given.harmless for each in lines(path)]
        ordering = [*heads_data.orders(given.orders), *heads_data.harmless(plain)]
    print(len(general), len(own), len(first), len(last), len(ordering), flush=True)
    judge = CrossEncoder(given.weights, given.layers)
    teachers = {}
    for head, _, path in (each.partition("=") for each in given.teach):
        teachers[head] = CrossEncoder(given.weights, given.layers)
        load(teachers[head], Path(path))
        teachers[head].eval()

    def report(name: str) -> None:
        for source, pairs in held.items():
            print(name, source, len(pairs), figures(judge, texts, pairs), flush=True)
        for folder in given.notes if given.student else ():
            print(name, folder.name, reranked(judge, texts, student, folder), flush=True)
        for path in given.held_orders:
            print(name, path.name, noticed(judge, texts, heads_data.orders([path])), flush=True)

    if given.begin:
        load(judge, given.begin)
        report("at first:")
    else:
        stage = [
            [
                *batches("relation", general, 128, epoch),
                *batches("answers", first[epoch :: given.general], 128, epoch),
                *batches("orders", ordering, 64, epoch),
            ]
            for epoch in range(given.general)
        ]
        train(judge, texts, stage, {}, rate=6e-5, name="general")
        report("after general pairs:")
    stage = [
        [
            *batches("relation", with_variants(own, epoch), 32, epoch),
            *batches("answers", last[epoch::6], 64, epoch),
            *batches("orders", ordering, 64, epoch),
        ]
        for epoch in range(given.seed, given.seed + given.own)
    ]
    train(judge, texts, stage, teachers, rate=2e-5 if given.begin else 4e-5, name="own")
    report("after own pairs:")
    weights.pack({name: each.cpu().numpy() for name, each in judge.state_dict().items()}, given.out / "judge.npz")


if __name__ == "__main__":
    main()
