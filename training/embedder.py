"""Trains the embedder: gte-small fine-tuned on questions and passages, then a student of MiniLM's shape learns from it.

python training/embedder.py PACKED OUT [--locomo FILE] [--notes FOLDER ...] [--sts FILE] [--beside multilingual.npz]
python training/embedder.py PACKED OUT1 --seed 1 --only-teacher …       # beside each other, and then
python training/embedder.py PACKED OUT --teachers OUT1/teacher.npz OUT2/teacher.npz …

With `--beside`, the vectors that `multilingual.py` made, the student at last learns what the two find together. With
`--teachers` its teacher is the mean of the weights of several, which differ by their seeds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import measure
import numpy as np
import torch
import weights
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy, mse_loss, normalize
from transformers import BertConfig, BertModel

SEED = 20261115
TOKENS = 192
SCALE = 20.0
SHARES = (0.5, 0.75, 1.0)  # measured; the best, or the one that --share names, becomes the teacher
PARTS = 4  # in which the texts of a step are read, by length, so that little is padded
HARD = 4  # negatives of the same question, besides all other passages of the batch
# An epoch sees conversations more often than encyclopedia.
REPEATS = {
    "hotpot": 1,
    "longmemeval": 4,
    "qmsum": 2,
    "snli": 0,  # for the student alone: as examples they cost 2 points on conversations and 1.6 on notes
    "semanticmemo": 0,
    "notes": 3,
    "talks": 4,
    "across": 0,
}
TOGETHER = REPEATS | {"across": 4}  # for the student beside the multilingual part
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def bert(path: Path, layers: int) -> BertModel:
    config = BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )
    model = BertModel(config, add_pooling_layer=False)
    known = weights.unpack(path)  # of a cross-encoder, its trunk
    stored = {name.removeprefix("trunk."): torch.from_numpy(array.copy()) for name, array in known.items()}
    missing, _ = model.load_state_dict(stored, strict=False)
    assert not [name for name in missing if "position_ids" not in name], missing
    return model.to(DEVICE)


class Texts:
    """Token ids of texts, padded to the longest of a batch."""

    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.no_padding()
        self.known: dict[str, list[int]] = {}  # most texts are read many times

    def batch(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known.update(zip(new, (each.ids for each in self.tokenizer.encode_batch(new)), strict=True))
        rows = [self.known[text] for text in texts]
        width = max(map(len, rows))
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for row, known in enumerate(rows):
            ids[row, : len(known)] = torch.tensor(known)
            mask[row, : len(known)] = 1
        return ids.to(DEVICE, non_blocking=True), mask.to(DEVICE, non_blocking=True)


def embed(model: BertModel, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    hidden = hidden.float() * mask[..., None]
    return normalize(hidden.sum(1) / mask.sum(1, keepdim=True), dim=-1)


def embed_sorted(model: BertModel, texts: Texts, given: Sequence[str]) -> torch.Tensor:
    order = sorted(range(len(given)), key=lambda place: len(given[place]))
    size = -(-len(order) // PARTS)
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    rows = torch.cat([embed(model, *texts.batch([given[place] for place in part])) for part in parts])
    return rows[torch.tensor(np.argsort(order), device=rows.device)]


@torch.no_grad()
def embed_all(model: BertModel, texts: Texts, given: Sequence[str], size: int = 512) -> np.ndarray:
    model.eval()
    order = sorted(range(len(given)), key=lambda place: len(given[place]))
    rows = np.zeros((len(given), 384), np.float32)
    for start in range(0, len(order), size):
        places = order[start : start + size]
        rows[places] = embed(model, *texts.batch([given[place] for place in places])).cpu().numpy()
    return rows


def schedule(optimizer: torch.optim.Optimizer, steps: int, warm: float = 0.06) -> torch.optim.lr_scheduler.LambdaLR:
    first = max(1, int(steps * warm))
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / first, max(0.0, (steps - step) / max(1, steps - first)))
    )


def learn(
    model: torch.nn.Module,
    loss: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    slower: torch.optim.lr_scheduler.LambdaLR,
) -> None:
    """One step down the slope of the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    slower.step()


class Beside:
    """Vectors of the multilingual part for the texts of the examples: they join the student's, centred and weighted."""

    def __init__(self, path: Path, mean: np.ndarray, weight: float) -> None:
        stored = np.load(path)
        rows, texts = stored["rows"], json.loads(stored["texts"].tobytes())
        self.rows = torch.from_numpy(rows.astype(np.float32)).to(DEVICE)
        self.places = {text: place for place, text in enumerate(texts)}
        self.mean, self.weight = torch.from_numpy(mean).to(DEVICE), weight

    def join(self, own: torch.Tensor, texts: Sequence[str]) -> torch.Tensor:
        theirs = self.rows[torch.tensor([self.places[text] for text in texts], device=DEVICE)]
        return normalize(torch.cat([normalize(own - self.mean, dim=-1), self.weight * theirs], -1), dim=-1)


def epoch_of(examples: Sequence[list], seed: int, repeats: dict[str, int]) -> list[tuple[str, str, list[str]]]:
    """(question, one of its passages, hard negatives), shuffled; several passages of a question take turns."""
    chance = random.Random(seed)
    rows = []
    for question, positives, negatives, source in examples:
        for _ in range(repeats[source]):
            rows += [
                (question, positive, chance.sample(negatives, min(HARD, len(negatives))))
                for positive in chance.sample(positives, min(2, len(positives)))
            ]
    chance.shuffle(rows)
    return rows


def contrast(
    model: BertModel,
    texts: Texts,
    examples: Sequence[list],
    *,
    epochs: int,
    rate: float,
    size: int,
    seed: int = SEED,
    beside: Beside | None = None,
) -> None:
    model.train()
    plan = [epoch_of(examples, seed + epoch, TOGETHER if beside else REPEATS) for epoch in range(epochs)]
    steps = sum(len(rows) // size for rows in plan)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    slower = schedule(optimizer, steps)
    began, done = time.time(), 0
    for rows in plan:
        for start in range(0, len(rows) - size + 1, size):
            batch = rows[start : start + size]
            passages = [positive for _, positive, _ in batch] + [text for *_, hard in batch for text in hard]
            asked = [question for question, *_ in batch]
            questions, found = embed(model, *texts.batch(asked)), embed_sorted(model, texts, passages)
            if beside:
                questions, found = beside.join(questions, asked), beside.join(found, passages)
            scores = SCALE * questions @ found.T
            # The same question may stand twice in a batch, with another of its passages: not a mistake to find it.
            same = torch.tensor([[a[0] == b[0] for b in batch] for a in batch], device=DEVICE)
            same.fill_diagonal_(False)
            scores[:, : len(batch)].masked_fill_(same, -1e4)
            loss = cross_entropy(scores, torch.arange(len(batch), device=DEVICE))
            learn(model, loss, optimizer, slower)
            done += 1
            if done % 100 == 0:
                print(f"contrast {done}/{steps} loss {loss.item():.3f} {time.time() - began:.0f} s", flush=True)


def distil(
    student: BertModel, texts: Texts, given: Sequence[str], target: np.ndarray, *, epochs: int, rate: float, size: int
) -> None:
    student.train()
    steps = epochs * (len(given) // size)
    optimizer = torch.optim.AdamW(student.parameters(), rate, weight_decay=0.01)
    slower = schedule(optimizer, steps)
    teacher = torch.from_numpy(target).to(DEVICE)
    began = time.time()
    for step, places in enumerate(batches(given, size, epochs)):
        own = embed(student, *texts.batch([given[place] for place in places]))
        theirs = teacher[torch.tensor(places, device=DEVICE)]
        loss = 10 * (1 - (own * theirs).sum(-1)).mean() + 100 * mse_loss(own @ own.T, theirs @ theirs.T)
        learn(student, loss, optimizer, slower)
        if step % 200 == 0:
            print(f"distil {step}/{steps} loss {loss.item():.3f} {time.time() - began:.0f} s", flush=True)


def batches(given: Sequence[str], size: int, epochs: int) -> Iterator[list[int]]:
    """Texts of similar length together, so that little is padded; the batches come in any order."""
    for epoch in range(epochs):
        chance = random.Random(SEED + epoch)
        order = sorted(range(len(given)), key=lambda place: len(given[place]) * chance.uniform(0.8, 1.25))
        groups = [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
        chance.shuffle(groups)
        yield from groups


def between(start: dict, tuned: dict, share: float) -> dict:
    """Weights on the line between two models: part of the way keeps more of what the first could do."""
    return {
        name: torch.lerp(start[name], tuned[name], share) if start[name].is_floating_point() else start[name]
        for name in start
    }


def mean_of(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of the weights of several models that began as one."""
    models = [weights.unpack(path) for path in paths]
    return {name: torch.from_numpy(np.mean([each[name] for each in models], axis=0)) for name in models[0]}


def save(model: BertModel, path: Path) -> None:
    weights.pack(
        {
            name: tensor.detach().cpu().numpy()
            for name, tensor in model.state_dict().items()
            if "position_ids" not in name
        },
        path,
    )


def fine_tune(
    teacher: BertModel,
    texts: Texts,
    examples: Sequence[list],
    report: Callable[[str, BertModel], dict[str, float]],
    *,
    share: float | None,
    seed: int,
) -> None:
    """Ends at `share` of the way from the starting weights, or at the share that finds most."""
    report("gte-small", teacher)
    start = {name: tensor.clone() for name, tensor in teacher.state_dict().items()}
    contrast(teacher, texts, examples, epochs=3, rate=3e-5, size=64, seed=seed)
    tuned = {name: tensor.clone() for name, tensor in teacher.state_dict().items()}
    worth = {}
    for each in (share,) if share else SHARES:
        teacher.load_state_dict(between(start, tuned, each))
        figures = report(f"gte-small, {each} of the way to fine-tuned", teacher)
        worth[each] = sum(figures[name] for name in figures if name.endswith("any@5") and "crosslingual" not in name)
    best = max(worth, key=lambda each: worth[each])
    print("teacher:", best, "of the way")
    teacher.load_state_dict(between(start, tuned, best))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gte", type=Path)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--notes", type=Path, nargs="*", default=[])
    parser.add_argument("--sts", type=Path)
    parser.add_argument("--share", type=float)
    parser.add_argument("--epochs", type=int, default=6, help="of distilling")
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--last", type=int, default=1, help="epochs of examples for the student")
    parser.add_argument("--weight", type=float, default=1.0, help="of the multilingual part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only-teacher", action="store_true")
    parser.add_argument("--teachers", type=Path, nargs="*", default=[], help="trained already; their mean teaches")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED + given.seed)
    texts = Texts(given.packed / "tokenizer.json")
    with gzip.open(given.packed / "examples.jsonl.gz", "rt") as file:
        examples = [json.loads(line) for line in file]
    sentences = json.loads(gzip.decompress((given.packed / "sentences.json.gz").read_bytes()))

    def report(name: str, model: BertModel) -> dict[str, float]:
        figures = measure.everything(lambda them: embed_all(model, texts, them), given.locomo, given.notes, given.sts)
        print(name, figures, flush=True)
        return figures

    teacher = bert(given.gte or given.packed / "gte.npz", 12)
    if given.teachers:
        teacher.load_state_dict(mean_of(given.teachers), strict=False)
        report("mean of the teachers", teacher)
    else:
        fine_tune(teacher, texts, examples, report, share=given.share, seed=SEED + 100 * given.seed)
    save(teacher, given.out / "teacher.npz")
    if given.only_teacher:
        return
    student = bert(given.packed / "minilm.npz", 6)
    report("MiniLM", student)
    passages = sorted({text for each in examples for text in (each[0], *each[1], *each[2])} | set(sentences))
    target = embed_all(teacher, texts, passages)
    distil(student, texts, passages, target, epochs=given.epochs, rate=2e-4, size=256)
    report("student, distilled", student)
    save(student, given.out / "distilled.npz")
    mean = embed_all(student, texts, passages).mean(0)
    beside = Beside(given.beside, mean, given.weight) if given.beside else None
    contrast(student, texts, examples, epochs=given.last, rate=1e-5, size=64, beside=beside)
    report("student", student)
    save(student, given.out / "student.npz")
    np.savez(given.out / "student_mean.npz", mean=embed_all(student, texts, passages).mean(0))


if __name__ == "__main__":
    main()
