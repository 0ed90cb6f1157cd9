"""Trains the cross-encoder, one trunk with three heads: how a newer memory relates to an older one (*relation*),
whether a memory answers a question (*answers*), and whether a text gives orders to a model (*orders*).

python training/cross_encoder.py PACKED OUT --weights gte.npz [--student FILE] [--orders FILE ...] [--hold-out NAME]

Without `--student` (which finds passages that look like answers) and `--orders`, only the relation is learned.
Several runs with another `--seed` each judge better together than one. `--teachers` takes their results: training
begins with the mean of their weights, and learns what they say together, also of `--unlabelled` notes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import heads_data
import measure
import numpy as np
import torch
import weights
from embedder import DEVICE, SEED, Texts, bert, embed_all, learn, schedule
from heads_data import GROUP, Labelled
from relation_data import LABELS, Pair, with_variants
from tokenizers import Tokenizer
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax

TOKENS = 256
CONFLICTS = (LABELS.index("contradiction"), LABELS.index("update"))


HEADS = {"relation": len(LABELS), "answers": 1, "orders": 1}
HARMLESS = 2_000
AMONG = 0.5  # how much an answer's place in its group counts beside its own probability
KEPT = 0.998  # of the mean of the weights over the last steps, which judges better than the last weights, at each step
TAUGHT = 0.7  # of what is learned with teachers is what they say; the rest is the label
NEAR = 3  # unlabelled pairs of a note with those that are nearest to it
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
    return grouped_batches(head, [[row] for row in rows], size, seed)


def grouped_batches(head: str, groups: Sequence[Sequence[Pair | Labelled]], size: int, seed: int) -> list[Batch]:
    """The same for texts that belong together, `size` groups in a batch."""
    texts = [
        [((r.old, r.new) if isinstance(r, Pair) else (r.first, r.second), r.label) for r in group] for group in groups
    ]
    chance = random.Random(SEED + seed)
    texts.sort(key=lambda group: sum(len(text) for pair, _ in group for text in pair) * chance.uniform(0.7, 1.4))
    rows = [
        [row for group in texts[start : start + size] for row in group]
        for start in range(0, len(texts) - size + 1, size)
    ]
    return [(head, [pair for pair, _ in each], [label for _, label in each]) for each in rows]


def loss_of(head: str, scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """An answer must stand above the others of its group, and its probability must mean something by itself."""
    if head == "relation":
        return cross_entropy(scores, wanted, label_smoothing=0.05)
    alone = binary_cross_entropy_with_logits(scores[:, 0], wanted.float())
    if head == "orders":
        return alone
    groups = scores.view(-1, GROUP)
    return alone + AMONG * cross_entropy(groups, torch.zeros(len(groups), dtype=torch.long, device=scores.device))


def mixed(epochs: Sequence[Sequence[Batch]]) -> Iterator[Batch]:
    """The batches of all heads in any order, an epoch after the other."""
    for number, epoch in enumerate(epochs):
        order = list(epoch)
        random.Random(SEED + number).shuffle(order)
        yield from order


def loss_beside(head: str, scores: torch.Tensor, theirs: list[torch.Tensor]) -> torch.Tensor:
    """How far the scores are from the mean of what the teachers say."""
    if head == "relation":
        said = torch.stack([each.softmax(-1) for each in theirs]).mean(0)
        return kl_div(log_softmax(scores, -1), said, reduction="batchmean")
    return binary_cross_entropy_with_logits(scores, torch.stack([each.sigmoid() for each in theirs]).mean(0))


def train(
    model: CrossEncoder,
    texts: Pairs,
    epochs: Sequence[Sequence[Batch]],
    *,
    rate: float,
    name: str,
    teachers: Sequence[CrossEncoder] = (),
) -> None:
    """A label of -1 is known to the teachers only."""
    model.train()
    steps = sum(map(len, epochs))
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01, fused=DEVICE == "cuda")
    slower = schedule(optimizer, steps)
    values = [*model.parameters()]
    average = [each.detach().clone() for each in values]
    began = time.time()
    for step, (head, pairs, labels) in enumerate(mixed(epochs), 1):
        given = texts.batch(pairs)
        scores = model(head, *given)
        known = labels[0] >= 0
        loss = loss_of(head, scores, torch.tensor(labels, device=DEVICE)) if known else torch.zeros((), device=DEVICE)
        if teachers:
            with torch.no_grad():
                theirs = [each(head, *given) for each in teachers]
            loss = (1 - TAUGHT) * loss + TAUGHT * loss_beside(head, scores, theirs)
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


def figures(models: Sequence[CrossEncoder], texts: Pairs, pairs: Sequence[Pair]) -> dict[str, float]:
    """Precision and recall of "these two conflict"; how often the kind is right; recall where precision is 0.97."""
    read = [(each.old, each.new) for each in pairs]
    found = np.mean([logits(model, texts, "relation", read).softmax(-1).numpy() for model in models], axis=0)
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
        "precision at recall 0.6": round(
            float(precision[np.searchsorted(np.cumsum(truth[order]), 0.6 * truth.sum())]), 3
        ),
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


def mean_of(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    every = [weights.unpack(path) for path in paths]
    return {name: torch.from_numpy(np.mean([each[name] for each in every], axis=0)) for name in every[0]}


def near_pairs(paths: Sequence[Path], student: measure.Embed) -> list[Pair]:
    """Of each author's notes, those that a store would compare; what they are to each other is not known."""
    made = []
    for path in paths:
        notes = heads_data.plain_texts(path)
        rows = student(notes)
        alike = rows @ rows.T - 2 * np.tri(len(notes)).T  # a note is newer than those above it
        for newer in range(NEAR, len(notes)):
            made += [Pair(notes[older], notes[newer], -1, "near") for older in np.argsort(-alike[newer])[:NEAR]]
    return made


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
    parser.add_argument("--own", type=int, default=6, help="epochs of the project's pairs")
    parser.add_argument("--hold-out", nargs="*", default=())
    parser.add_argument("--student", type=Path)
    parser.add_argument("--notes", type=Path, nargs="*", default=[], help="that measure the head answers")
    parser.add_argument("--orders", type=Path, nargs="*", default=[])
    parser.add_argument("--harmless", type=Path, nargs="*", default=[], help="notes or lines that give no orders")
    parser.add_argument("--held-orders", type=Path, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--unlabelled", type=Path, nargs="*", default=[], help="files of notes")
    given = parser.parse_args()
    torch.manual_seed(SEED + given.seed)
    rounds = range(100 * given.seed, 100 * given.seed + 6)
    texts = Pairs(given.packed / "tokenizer.json")
    general, own = read(given.packed / "pairs_general.jsonl.gz"), read(given.packed / "pairs_own.jsonl.gz")
    checks = read(given.packed / "pairs_checks.jsonl.gz")
    held = {name: [each for each in own if each.source == name] for name in given.hold_out}
    held |= {name: [each for each in checks if each.source == name] for name in sorted({e.source for e in checks})}
    own = [each for each in own if each.source not in given.hold_out]
    first: list[list[Labelled]] = []  # answers, most of them from the encyclopedia
    last: list[list[Labelled]] = []  # answers in notes and conversations
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
        everyday = [text for path in given.harmless for text in heads_data.plain_texts(path)]
        ordering = [
            *heads_data.orders(given.orders),
            *heads_data.harmless(plain, HARMLESS),
            *heads_data.harmless(everyday, len(everyday)),
        ]
    print(len(general), len(own), len(first), len(last), len(ordering), flush=True)
    judge = CrossEncoder(given.weights, given.layers)
    teachers = [CrossEncoder(given.weights, given.layers) for _ in given.teachers]
    for teacher, path in zip(teachers, given.teachers, strict=True):
        teacher.load_state_dict(mean_of([path]))
        teacher.eval()

    def report(name: str) -> None:
        for source, pairs in held.items():
            print(name, source, len(pairs), figures([judge], texts, pairs), flush=True)
        for folder in given.notes if given.student else ():
            print(name, folder.name, reranked(judge, texts, student, folder), flush=True)
        for path in given.held_orders:
            print(name, path.name, noticed(judge, texts, heads_data.orders([path])), flush=True)

    if teachers:
        judge.load_state_dict(mean_of(given.teachers))
        report("mean of the weights:")
        for source, pairs in held.items():
            print("all teachers:", source, len(pairs), figures(teachers, texts, pairs), flush=True)
        near = near_pairs(given.unlabelled, student)
    else:
        near = []
        stage = [
            [
                *batches("relation", general, 128, epoch),
                *grouped_batches("answers", first[place :: given.general], 24, epoch),
                *batches("orders", ordering, 64, epoch),
            ]
            for place, epoch in enumerate(rounds[: given.general])
        ]
        train(judge, texts, stage, rate=6e-5, name="general")
    stage = [
        [
            *batches("relation", with_variants(own, epoch), 32, epoch),
            *batches("relation", near[place % 2 :: 2], 32, epoch),
            *grouped_batches("answers", last[place::6] if given.student else [], 12, epoch),
            *batches("orders", ordering, 64, epoch),
        ]
        for place, epoch in enumerate(rounds[: given.own])
    ]
    train(judge, texts, stage, rate=2e-5 if teachers else 4e-5, name="own", teachers=teachers)
    report("after own pairs:")
    weights.pack({name: each.cpu().numpy() for name, each in judge.state_dict().items()}, given.out / "judge.npz")


if __name__ == "__main__":
    main()
