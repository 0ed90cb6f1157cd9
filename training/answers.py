"""Trains the head *answers* on what a recall shows (`answer_lists.py`), with layers of its own over the shared trunk or
with the whole trunk.

python training/answers.py OUT --begin JUDGE.npz --lists LISTS.jsonl.gz --measure LISTS.jsonl.gz --tokenizer FILE
    [--own-layers 3] [--examples examples.jsonl.gz] [--xquad FILE] [--pairs PACKED]

Each question is read with all that its recall showed. Two losses are added: the binary one of each pair, and one of the
whole list, in which the answer must stand above the others and above *nothing*, a place of score 0; where nothing
answers, *nothing* must stand first.

With `--own-layers` the other heads keep their weights to the last bit. Without it every layer learns, and the weights
at first teach the other heads (`--pairs` names where `pack_pairs.py` has written).
"""

from __future__ import annotations

import argparse
import copy
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import heads_data
import numpy as np
import torch
import weights
from cross_encoder import KEPT, CrossEncoder, Pairs, figures, load, noticed, read
from data import lines
from embedder import DEVICE, SEED, learn, schedule
from relation_data import with_variants
from tokenizers import Tokenizer
from torch.nn.functional import binary_cross_entropy_with_logits, kl_div, log_softmax

TOKENS = 256
READ = 8  # memories of a question that are read in use
MOST = 14  # texts of a question in one step
POSITIVES = 2
UNANSWERED = 0.15  # of the lists lose their answers, and nothing stands first
STALE = 0.15  # how much an older version of the answer is taken for one
SAME = 0.8  # probability of saying the same, from which on a text without a label is left out
VERSION = 0.5  # probability of a conflict with the answer, from which on it is another version of it
EACH = {"hotpot": 1500, "qmsum": 400, "longmemeval": 237, "xquad": 2000}  # questions of an epoch
XQUAD = ("en", "de", "es", "ro", "zh")
GENERAL = 8_000  # pairs of an epoch, by which the other heads are kept
FOREIGN = "foreign subject"  # the kind of a question about something that no note of its world is about
BINARY = 4.0  # weight of the binary loss


@dataclass(frozen=True, slots=True)
class List:
    """A question, texts, and how much each answers; scores and relevance of the recall for the first of them."""

    source: str
    kind: str
    question: str
    texts: tuple[str, ...]
    labels: tuple[float, ...]
    scores: tuple[float, ...] = ()
    relevance: tuple[float, ...] = ()

    @property
    def answered(self) -> bool:
        return max(self.labels) == 1


COLUMNS = ("texts", "labels", "scores", "relevance")


def read_lists(path: Path) -> list[List]:
    return [
        List(row["set"], row["kind"], row["question"], *(tuple(row[name]) for name in COLUMNS))
        for row in lines(path)
        if row["texts"]
    ]


def of_examples(path: Path) -> list[List]:
    kept = [row for row in lines(path) if row[3] in EACH]
    return [List(source, "", asked, (*good, *bad), (1.0,) * len(good) + (0.0,) * len(bad))
            for asked, good, bad, source in kept]  # fmt: skip


def of_xquad(path: Path) -> list[List]:
    """Which sentence of a paragraph answers; question and paragraph in two languages, or in one."""
    chance = random.Random(SEED)
    by_id: dict[str, dict[str, dict]] = {}
    for row in lines(path):
        if row["lang"] in XQUAD:
            by_id.setdefault(row["id"], {})[row["lang"]] = row
    made = []
    for versions in by_id.values():
        for lang in XQUAD:
            if lang not in versions:
                continue
            other = chance.choice(("en", *XQUAD))
            there = versions.get(other, versions[lang])
            sentences = [each.strip() for each in split(there["context"]) if len(each.strip()) > 15]
            labels = tuple(float(there["answer"] in each) for each in sentences)
            if sentences and sum(labels) == 1:
                made.append(List("xquad", "", versions[lang]["question"], tuple(sentences), labels))
    return made


def split(text: str) -> list[str]:
    for mark in (". ", "? ", "! ", "。"):
        text = text.replace(mark, mark + "\n")
    return text.split("\n")


class Pieces:
    """Ids of texts, each cut into pieces once; pairs are put together from them."""

    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.known: dict[str, list[int]] = {}
        self.start, self.end = (self.tokenizer.token_to_id(each) for each in ("[CLS]", "[SEP]"))

    def learn(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        for text, row in zip(new, self.tokenizer.encode_batch(new, add_special_tokens=False), strict=True):
            self.known[text] = row.ids[:TOKENS]

    def pair(self, first: str, second: str) -> tuple[list[int], int]:
        """The ids, and where the second text begins."""
        a, b = self.known[first], self.known[second] if second else []
        room = TOKENS - 3
        while len(a) + len(b) > room:  # the longer one is cut, as the tokenizer does
            if len(a) > len(b):
                a = a[: max(len(b), room - len(b))]
            else:
                b = b[: max(len(a), room - len(a))]
            if len(a) == len(b) and len(a) + len(b) > room:
                a, b = a[: room - room // 2], b[: room // 2]
        ids = [self.start, *a, self.end]
        return ([*ids, *b, self.end], len(ids)) if second else (ids, len(ids))

    def arrays(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Ids, segments and mask."""
        rows = [self.pair(*each) for each in pairs]
        made = np.zeros((3, len(rows), -(-max(len(ids) for ids, _ in rows) // 8) * 8), np.int64)
        for place, (ids, second) in enumerate(rows):
            made[0, place, : len(ids)] = ids
            made[1, place, second : len(ids)] = 1
            made[2, place, : len(ids)] = 1
        return made

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        ids, segments, mask = torch.from_numpy(self.arrays(pairs)).to(DEVICE, non_blocking=True)
        return ids, segments, mask

    def length(self, first: str, second: str) -> int:
        return min(TOKENS, len(self.known[first]) + len(self.known.get(second, ())) + 3)


@torch.no_grad()
def scores(model: CrossEncoder, pieces: Pieces, head: str, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    model.eval()
    order = sorted(range(len(pairs)), key=lambda place: pieces.length(*pairs[place]))
    found = None
    for start in range(0, len(order), 512):
        places = order[start : start + 512]
        rows = model(head, *pieces.batch([pairs[place] for place in places])).float().cpu().numpy()
        found = np.zeros((len(pairs), rows.shape[1]), np.float32) if found is None else found
        found[places] = rows
    return found if found is not None else np.zeros((0, 1), np.float32)


def softened(model: CrossEncoder, pieces: Pieces, lists: Sequence[List]) -> list[List]:
    """Unlabelled texts that say the same as an answer are left out; other versions of it are negatives by half."""
    pairs = [
        (answer, text)
        for each in lists
        for answer, is_answer in zip(each.texts, each.labels, strict=True)
        if is_answer == 1
        for text, other in zip(each.texts, each.labels, strict=True)
        if other == 0
    ]
    pairs = list(dict.fromkeys(pairs))
    raw = scores(model, pieces, "relation", pairs)
    chances = np.exp(raw - raw.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    by_pair = dict(zip(pairs, chances, strict=True))
    made, left_out, versions = [], 0, 0
    for each in lists:
        answers = [text for text, label in zip(each.texts, each.labels, strict=True) if label == 1]
        texts, labels = [], []
        for text, label in zip(each.texts, each.labels, strict=True):
            about = [by_pair[answer, text] for answer in answers] if label == 0 else []
            if any(row[0] > SAME for row in about):
                left_out += 1
                continue
            version = any(row[1] + row[2] > VERSION for row in about)
            versions += version
            texts.append(text)
            labels.append(STALE if version else float(label))
        made.append(List(each.source, each.kind, each.question, tuple(texts), tuple(labels)))
    print("lists", len(lists), "left out", left_out, "versions", versions, flush=True)
    return made


def drawn(given: List, chance: random.Random) -> tuple[str, list[str], list[float]]:
    """What one step reads of a list."""
    right = [place for place, label in enumerate(given.labels) if label == 1]
    wrong = [place for place, label in enumerate(given.labels) if label < 1]
    chance.shuffle(right)
    right = [] if right and wrong and chance.random() < UNANSWERED else right[:POSITIVES]
    if given.source in EACH:
        chance.shuffle(wrong)
    first = wrong[:READ]
    rest = wrong[READ:]
    chance.shuffle(rest)
    wrong = (first + rest)[: MOST - len(right)]
    places = [*right, *wrong]
    return given.question, [given.texts[place] for place in places], [given.labels[place] for place in places]


def noisy(question: str, chance: random.Random) -> str:
    """Two letters changed round, or the last word gone, now and then: people type so."""
    if chance.random() < 0.06 and len(question) > 8:
        at = chance.randrange(1, len(question) - 2)
        return question[:at] + question[at + 1] + question[at] + question[at + 2 :]
    return question


def epoch_of(notes: Sequence[List], others: Sequence[List], pieces: Pieces, size: int, seed: int) -> list[list[tuple]]:
    chance = random.Random(SEED + seed)
    taken = list(notes)
    for source, count in EACH.items():
        own = [each for each in others if each.source == source]
        taken += chance.sample(own, min(count, len(own)))
    rows = [drawn(each, chance) for each in taken]
    rows = [(noisy(asked, chance), texts, labels) for asked, texts, labels in rows]
    pieces.learn([asked for asked, _, _ in rows])
    rows.sort(key=lambda row: np.mean([pieces.length(row[0], text) for text in row[1]]) * chance.uniform(0.7, 1.4))
    made = [rows[start : start + size] for start in range(0, len(rows) - size + 1, size)]
    chance.shuffle(made)
    return made


def list_loss(found: torch.Tensor, groups: Sequence[tuple[str, list[str], list[float]]], whole: float) -> torch.Tensor:
    labels = torch.tensor([label for _, _, row in groups for label in row], device=DEVICE)
    loss = BINARY * binary_cross_entropy_with_logits(found, labels)
    if not whole:
        return loss
    width = 1 + max(len(row) for _, _, row in groups)
    place = torch.tensor([at * width + 1 + i for at, (_, _, row) in enumerate(groups) for i in range(len(row))],
                         device=DEVICE)  # fmt: skip
    table = torch.full((len(groups) * width,), -1e4, device=DEVICE).scatter(0, place, found).view(-1, width)
    right = torch.zeros(len(groups) * width, device=DEVICE).scatter(0, place, (labels == 1).float()).view(-1, width)
    nothing = torch.zeros(len(groups), 1, device=DEVICE)
    with_nothing = torch.cat([nothing, table[:, 1:]], 1)
    silent = right.sum(1) == 0
    right[:, 0] = silent.float()
    above = torch.where(right > 0, with_nothing, -1e4).logsumexp(1)
    loss_nothing = with_nothing.logsumexp(1) - above
    order = torch.where(silent, 0.0, table[:, 1:].logsumexp(1) - torch.where(silent, 0.0, above))
    return loss + whole * (0.5 * loss_nothing.mean() + order.mean())


def keeping(given: argparse.Namespace, notes: Sequence[List], epoch: int) -> list[tuple[str, list[tuple[str, str]]]]:
    """Pairs and texts by which the other heads are kept as they are."""
    chance = random.Random(SEED + 7 + epoch)
    own = [each for each in read(given.pairs / "pairs_own.jsonl.gz") if each.source not in given.hold_out]
    general = read(given.pairs / "pairs_general.jsonl.gz")
    general = chance.sample(general, min(GENERAL, len(general)))
    pairs = [(each.old, each.new) for each in (*with_variants(own, epoch), *general)]
    for each in notes:
        if len(each.texts) > 3:
            one, *others = chance.sample(each.texts[:10], 3 if len(each.texts) > 2 else 2)
            pairs += [(one, other) for other in others]
    single = [(each.first, "") for each in heads_data.orders(given.orders)]
    single += [(each.texts[0], "") for each in chance.sample(list(notes), min(1500, len(notes)))]
    single += [(text, "") for pair in chance.sample(pairs, min(750, len(pairs))) for text in pair]
    made = []
    for head, rows, size in (("relation", pairs, 96), ("orders", single, 96)):
        rows = sorted(rows, key=lambda row: sum(map(len, row)) * chance.uniform(0.7, 1.4))
        made += [(head, rows[start : start + size]) for start in range(0, len(rows) - size + 1, size)]
    chance.shuffle(made)
    return made


def kept_loss(head: str, found: torch.Tensor, taught: torch.Tensor) -> torch.Tensor:
    if head == "relation":
        apart = kl_div(log_softmax(found, -1), taught.softmax(-1), reduction="batchmean")
        found, taught = found - found.mean(1, keepdim=True), taught - taught.mean(1, keepdim=True)
    else:
        apart = binary_cross_entropy_with_logits(found, taught.sigmoid())
    return 2 * apart + 0.2 * (found - taught).square().mean()


def planned(
    given: argparse.Namespace, pieces: Pieces, notes: Sequence[List], others: Sequence[List]
) -> list[tuple[str, list]]:
    """The steps of all epochs: a head, and what it reads."""
    plan: list[tuple[str, list]] = []
    for epoch in range(given.seed, given.seed + given.epochs):
        steps: list[tuple[str, list]] = [
            ("answers", each) for each in epoch_of(notes, others, pieces, given.size, epoch)
        ]
        steps += [] if given.own_layers else keeping(given, notes, epoch)
        random.Random(SEED + epoch).shuffle(steps)
        plan += steps
    pieces.learn([text for head, rows in plan if head != "answers" for row in rows for text in row if text])
    return plan


def train(model: CrossEncoder, pieces: Pieces, plan: Sequence[tuple[str, list]], given: argparse.Namespace) -> None:
    teacher = copy.deepcopy(model).eval().requires_grad_(False)
    layers = model.trunk.encoder.layer
    if given.own_layers:
        for part in (model.trunk.embeddings, *layers[: len(layers) - given.own_layers]):
            part.requires_grad_(False)
    values = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(values, given.rate, weight_decay=0.01, fused=DEVICE == "cuda")
    slower = schedule(optimizer, len(plan))
    average = [each.detach().clone() for each in values]
    began, seen = time.time(), dict[str, float]()
    model.train()
    for step, (head, rows) in enumerate(plan, 1):
        if head == "answers":
            found = model(head, *pieces.batch([(asked, text) for asked, texts, _ in rows for text in texts]))[:, 0]
            loss = list_loss(found, rows, given.whole)
        else:
            batch = pieces.batch(rows)
            with torch.no_grad():
                taught = teacher(head, *batch)
            loss = kept_loss(head, model(head, *batch), taught)
        learn(model, loss, optimizer, slower)
        torch._foreach_lerp_(average, [each.detach() for each in values], max(1 - KEPT, 1 / step))
        if step % 20 == 0:
            seen[head] = 0.8 * seen.get(head, loss.item()) + 0.2 * loss.item()
        if step % 400 == 0:
            shown = {name: round(value, 3) for name, value in seen.items()}
            print(f"{step}/{len(plan)} {shown} {time.time() - began:.0f} s", flush=True)
        if time.time() - began > given.seconds:
            print("stopped at", step, flush=True)
            break
    for each, mean in zip(values, average, strict=True):
        each.data.copy_(mean)


def area(right: Sequence[float], wrong: Sequence[float]) -> float:
    a, b = np.array(right)[:, None], np.array(wrong)[None]
    return float((a > b).mean() + 0.5 * (a == b).mean()) if len(right) and len(wrong) else 0.0


def log_odds(chance: np.ndarray) -> np.ndarray:
    bounded = np.clip(chance, 1e-6, 1 - 1e-6)
    return np.log(bounded / (1 - bounded))


WEIGHTS = (0.5, 0.8, 1.2, 2.0, 3.0)
Read = tuple[List, np.ndarray]


def measured(model: CrossEncoder, pieces: Pieces, lists: Sequence[List]) -> dict[str, dict[str, float]]:
    """For each set: how often an answer is first by reading alone, and with the recall's score; the area of the best
    score, and of the best relevance, for questions with an answer against those without."""
    pairs = [(each.question, text) for each in lists for text in each.texts[:READ]]
    flat = iter(scores(model, pieces, "answers", pairs)[:, 0])
    rows = [(each, np.array([next(flat) for _ in each.texts[:READ]])) for each in lists]
    return {
        source: {name: round(value, 3) for name, value in (first_shares(own) | areas(own)).items()}
        for source in sorted({each.source for each in lists})
        for own in [[row for row in rows if row[0].source == source]]
    }


def first_shares(rows: Sequence[Read]) -> dict[str, float]:
    first: dict[str, list[bool]] = {}
    for each, found in rows:
        if not each.answered:
            continue
        base = np.array(each.scores[:READ])
        moved = {weight: base + weight * base.max() / (1 + np.exp(-found)) for weight in WEIGHTS}
        first.setdefault("before", []).append(each.labels[0] == 1)
        first.setdefault("read", []).append(each.labels[int(found.argmax())] == 1)
        for weight, by_both in moved.items():
            order = [*np.argsort(-by_both), *range(len(found), len(each.texts))]
            right = [each.labels[place] == 1 for place in order]
            first.setdefault(f"weight {weight}", []).append(right[0])
            first.setdefault(f"weight {weight}, among five", []).append(any(right[:5]))
    return {name: 100 * float(np.mean(values)) for name, values in first.items()}


def areas(rows: Sequence[Read]) -> dict[str, float]:
    asked = [(each, found) for each, found in rows if each.answered]
    none = [(each, found) for each, found in rows if not each.answered]
    pairs = [(score, label == 1) for each, found in asked for score, label in zip(found, each.labels, strict=False)]
    best = [found.max() for _, found in asked]
    figures = {
        "pairs": area([score for score, right in pairs if right], [score for score, right in pairs if not right]),
        "silence": area(best, [found.max() for _, found in none]),
        "silence, foreign subjects": area(best, [found.max() for each, found in none if each.kind == FOREIGN]),
        "silence, near misses": area(best, [found.max() for each, found in none if each.kind != FOREIGN]),
    }
    for share in (0.5, 1.0):
        with_recall = [[(share * log_odds(np.array(each.relevance[:READ])) + found).max() for each, found in part]
                       for part in (asked, none)]  # fmt: skip
        figures[f"silence, with {share} of the recall's relevance"] = area(*with_recall)
    return figures


def save(model: CrossEncoder, path: Path, own_layers: int) -> None:
    """With layers of its own, they stand beside the trunk of the beginning."""
    state = {name: each.cpu().numpy() for name, each in model.state_dict().items()}
    if own_layers:
        first = len(model.trunk.encoder.layer) - own_layers
        own = {
            name.replace("trunk.", "answers."): array
            for name, array in state.items()
            if name.startswith("trunk.encoder.layer.") and int(name.split(".")[3]) >= first
        }
        state = own | {name: array for name, array in state.items() if name.startswith("heads.answers.")}
    weights.pack(state, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    for name in ("begin", "lists", "tokenizer"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--measure", type=Path, nargs="*", default=[])
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--xquad", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--orders", type=Path, nargs="*", default=[])
    parser.add_argument("--held-orders", type=Path)
    parser.add_argument("--hold-out", nargs="*", default=["author2", "author6"])
    parser.add_argument("--own-layers", type=int, default=0)
    parser.add_argument("--whole", type=float, default=0.5, help="weight of the loss of a whole list")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--size", type=int, default=24, help="questions of a step")
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    torch.manual_seed(SEED + given.seed)
    began = time.time()
    pieces = Pieces(given.tokenizer)
    notes = read_lists(given.lists)
    others = [*(of_examples(given.examples) if given.examples else ()), *(of_xquad(given.xquad) if given.xquad else ())]
    checks = [each for path in given.measure for each in read_lists(path)]
    pieces.learn([text for each in (*notes, *others, *checks) for text in (each.question, *each.texts)])
    print(len(notes), len(others), len(checks), f"{time.time() - began:.0f} s", flush=True)
    model = CrossEncoder(given.begin, 12)
    load(model, given.begin)

    def report(name: str) -> None:
        for source, found in measured(model, pieces, checks).items():
            print(name, source, found, flush=True)
        if given.pairs and not given.own_layers:
            texts = Pairs(given.tokenizer)
            rows = [*read(given.pairs / "pairs_own.jsonl.gz"), *read(given.pairs / "pairs_checks.jsonl.gz")]
            for source in (*given.hold_out, "held_out", "notes_pairs"):
                own = [each for each in rows if each.source == source]
                if own:
                    print(name, source, figures(model, texts, own), flush=True)
            if given.held_orders:
                print(name, "orders", noticed(model, texts, heads_data.orders([given.held_orders])), flush=True)

    report("at first:")
    notes = softened(model, pieces, notes)
    print(f"ready after {time.time() - began:.0f} s", flush=True)
    train(model, pieces, planned(given, pieces, notes, others), given)
    report("after:")
    given.out.mkdir(parents=True, exist_ok=True)
    save(model, given.out / "answers.npz", given.own_layers)
    print(f"done after {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
