"""Trains the head *answers* of the shipped graph further, or a smaller reader for it that is taught by the shipped one.

python training/student.py OUT --graph cross_encoder.onnx --lists LISTS.jsonl.gz… --measure LISTS.jsonl.gz
    --tokenizer FILE [--examples examples.jsonl.gz] [--xquad FILE] --layers 0 1 2 4 7 10 [--shared 0] [--first-only]
    --shared 6 --soften --labels 1 --states 0 --taught-on-notes 0    # instead: all layers, from what is shipped

The teacher is read back from the int8 graph, with the embeddings, which stay as they are. `--layers` names the layers
of the teacher that the student begins with; the first `--shared` of them stay as they are too. With `--first-only` the
last layer computes the first state alone, and the mean is that of the layer before.

Each question is read with what its recall showed (`answer_lists.py`). The student learns the teacher's distribution
over the texts and *nothing* (a place of score 0), its scores, its states layer by layer (less and less), and a little
from the labels, as `answers.py` does. `export_student.py` puts it into the graph.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import weights
from answers import List, Pieces, drawn, list_loss, measured, noisy, of_examples, of_xquad, read_lists, softened
from embedder import DEVICE, SEED
from torch import nn
from torch.nn.functional import gelu, kl_div, layer_norm, scaled_dot_product_attention, smooth_l1_loss

WIDTH, WIDE, HEADS = 384, 1536, 12
PARTS = 3  # in which the pairs of a step are read, by length, so that little is padded
QUEUED = 20  # steps that are prepared
EPSILON = 1e-12

# CROSS_ENCODER.md compares layers, labels and steps; of the numbers below it has no comparison.
EACH = {"hotpot": 700, "qmsum": 300, "longmemeval": 237, "xquad": 1000}  # questions of an epoch, besides all notes
DROPOUT = 0.05
KEPT = 0.998  # the student is the mean of its weights over about the last 1 / (1 - KEPT) = 500 steps
WARM = 0.04  # share of the time in which the rate rises
KEYWORDS = 0.1  # of the questions lose their small words, as people type them into a search box
SHORT = 3  # letters of a small word
OF_LIST, OF_SCORE, OF_POOLED = 2.0, 0.5, 1.0  # weights of what the teacher says; `--states` is that of its states

Tensors = Mapping[str, np.ndarray]


def layers_of_head(tensors: Tensors, head: str) -> list[str]:
    """The names of the layers that a head reads with, in the graph."""
    names = [name for name in tensors if name.startswith("qkv_") and name.endswith("_weight")]
    own = sorted(int(name.split("_")[1]) for name in names if f"_{head}_" in name)
    shared = range(own[0]) if own else range(sum("answers" not in name for name in names))
    return [*map(str, shared), *(f"{layer}_{head}" for layer in own)]


class Layer(nn.Module):
    """From states of mean 0 and variance 1 to such states: the gain and the shift of a norm belong to what reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.middle_gain, self.middle_shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.up, self.down = nn.Linear(WIDTH, WIDE), nn.Linear(WIDE, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, states: torch.Tensor, mask: torch.Tensor, first_only: bool = False) -> torch.Tensor:
        texts, length, _ = states.shape
        value = states * self.gain + self.shift
        asked, keys, values = self.qkv(value).view(texts, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if first_only:
            asked, value = asked[:, :, :1], value[:, :1]
        mixed = scaled_dot_product_attention(asked, keys, values, attn_mask=mask[:, None, None].bool())
        mixed = mixed.transpose(1, 2).reshape(value.shape)
        middle = normal(value + self.dropout(self.out(mixed))) * self.middle_gain + self.middle_shift
        return normal(middle + self.dropout(self.down(gelu(self.up(middle)))))

    def begin(self, tensors: Tensors, name: str) -> None:
        """With the values of a layer of the graph, in which the shifts have moved into the biases."""
        gain, middle = tensors[f"middle_{name}_gain"], tensors[f"hidden_{name}_gain"]
        set_to(self.gain, gain)
        set_to(self.middle_gain, middle)
        for part, before in (("qkv", gain), ("out", None), ("up", middle), ("down", None)):
            weight = tensors[f"{part}_{name}_weight"].astype(np.float32) * tensors[f"{part}_{name}_scale"]
            if (shrink := tensors.get(f"{part}_{name}_shrink")) is not None:
                weight = weight * shrink[:, None]
            if before is not None:
                weight = weight / before[:, None]
            set_to(getattr(self, part).weight, weight.T)
            set_to(getattr(self, part).bias, tensors[f"up_bias_{name}" if part == "up" else f"{part}_{name}_bias"])


def normal(states: torch.Tensor) -> torch.Tensor:
    return layer_norm(states.float(), (WIDTH,), eps=EPSILON)


def set_to(parameter: torch.Tensor, values: np.ndarray) -> None:
    parameter.data.copy_(torch.from_numpy(np.array(values, np.float32).reshape(parameter.shape)))


class Reader(nn.Module):
    """The embeddings and some layers of the shipped reader, and its head on the first state beside the mean of all."""

    def __init__(
        self, tensors: Tensors, layers: Sequence[int] | None = None, first_only: bool = False, head: str = "answers"
    ) -> None:
        """All layers of the head, unless some are named."""
        super().__init__()
        names = layers_of_head(tensors, head)
        layers = range(len(names)) if layers is None else layers
        table = tensors["words"].astype(np.float32) * tensors["words_scale"]
        for name, array in (("words", table), ("places", tensors["positions"][0]), ("kinds", tensors["kinds"])):
            self.register_buffer(name, torch.from_numpy(np.array(array)))
        self.layers, self.first_only = nn.ModuleList(Layer() for _ in layers), first_only
        for layer, at in zip(self.layers, layers, strict=True):
            layer.begin(tensors, names[at])
        self.gain, self.shift = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        last = f"last_{head}" if f"gain_last_{head}" in tensors else "last"
        set_to(self.gain, tensors[f"gain_{last}"])
        set_to(self.shift, tensors[f"shift_{last}"])
        self.name, self.head = head, nn.Linear(*tensors[f"{head}_head"].shape)
        set_to(self.head.weight, tensors[f"{head}_head"].T)
        set_to(self.head.bias, tensors[f"{head}_head_bias"])
        self.to(DEVICE)

    def read(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> tuple[list, torch.Tensor]:
        """The states of each layer, and what the head reads."""
        states = normal(self.words[ids] + self.places[: ids.shape[1]] + self.kinds[segments])
        every = []
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            for number, layer in enumerate(self.layers, 1):
                last = self.first_only and number == len(self.layers)
                every.append(layer(every[-1] if every else states, mask, last))
        averaged = every[-2] if self.first_only else every[-1]
        mean = (averaged * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return every, torch.cat([each * self.gain + self.shift for each in (every[-1][:, 0], mean)], -1)

    def forward(self, head: str, *batch: torch.Tensor) -> torch.Tensor:
        assert head == self.name
        return self.head(self.read(*batch)[1])


@dataclass(frozen=True, slots=True)
class Step:
    """Questions, each with its texts and labels; those about notes and the others are not mixed."""

    groups: list[tuple[str, list[str], list[float]]]
    of_notes: bool

    def pairs(self) -> list[tuple[str, str]]:
        return [(asked, text) for asked, texts, _ in self.groups for text in texts]


def varied_question(question: str, chance: random.Random) -> str:
    """One in ten without its small words, the others with the noise of `answers.py`."""
    if chance.random() >= KEYWORDS:
        return noisy(question, chance)
    kept = [word for word in question.rstrip("?").split() if len(word) > SHORT]
    return " ".join(kept) if len(kept) > 1 else question


def epoch_of(notes: Sequence[List], others: Sequence[List], pieces: Pieces, size: int, seed: int) -> list[Step]:
    """As that of `answers.py`, with other changes of the questions."""
    chance = random.Random(SEED + seed)
    taken = []
    for source, count in EACH.items():
        own = [each for each in others if each.source == source]
        taken += chance.sample(own, min(count, len(own)))
    made = [*steps_of(notes, True, pieces, size, chance), *steps_of(taken, False, pieces, size, chance)]
    chance.shuffle(made)
    return made


def steps_of(lists: Sequence[List], of_notes: bool, pieces: Pieces, size: int, chance: random.Random) -> list[Step]:
    """Texts of similar length together, so that little is padded."""
    rows = [drawn(each, chance) for each in lists]
    rows = [(varied_question(asked, chance), texts, [*map(float, labels)]) for asked, texts, labels in rows]
    pieces.learn([asked for asked, _, _ in rows])
    rows.sort(key=lambda row: np.mean([pieces.length(row[0], text) for text in row[1]]) * chance.uniform(0.8, 1.25))
    return [Step(rows[start : start + size], of_notes) for start in range(0, len(rows) - size + 1, size)]


def with_nothing(scores: torch.Tensor, step: Step) -> torch.Tensor:
    """A row for each question: the place of *nothing*, and its texts."""
    width = 1 + max(len(texts) for _, texts, _ in step.groups)
    place = torch.tensor(
        [at * width + 1 + number for at, (_, texts, _) in enumerate(step.groups) for number in range(len(texts))],
        device=scores.device,
    )
    table = torch.full((len(step.groups) * width,), -1e4, device=scores.device).scatter(0, place, scores)
    table = table.view(-1, width)
    return torch.cat([torch.zeros_like(table[:, :1]), table[:, 1:]], 1)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step with its pairs in parts of similar length, so that little is padded: their places, and their ids."""

    step: Step
    parts: list[tuple[list[int], np.ndarray]]


def prepared(step: Step, pieces: Pieces) -> Prepared:
    pairs = step.pairs()
    lengths = [pieces.length(*pair) for pair in pairs]
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    size = -(-len(order) // PARTS)
    places = [order[start : start + size] for start in range(0, len(order), size)]
    return Prepared(step, [(each, pieces.arrays([pairs[place] for place in each])) for each in places])


def prepare(given: argparse.Namespace, pieces: Pieces, notes: Sequence[List], others: Sequence[List],
            queue: multiprocessing.Queue) -> None:  # fmt: skip
    """Runs in a process of its own: to put batches together takes as long as to learn from them."""
    for epoch in range(given.epochs):
        for step in epoch_of(notes, others, pieces, given.size, given.seed + epoch):
            queue.put(prepared(step, pieces))
    queue.put(None)


def taught_loss(
    student: Reader, teacher: Reader, batch: Prepared, given: argparse.Namespace, passed: float
) -> torch.Tensor:
    """`passed` is the share of the time that is over: the teacher's states count less and less."""
    step, loss, order = batch.step, torch.zeros((), device=DEVICE), list[int]()
    taught = given.taught_on_notes if step.of_notes else given.taught
    all_said, all_own, count = [], [], sum(len(places) for places, _ in batch.parts)
    for places, arrays in batch.parts:
        read = torch.from_numpy(arrays).to(DEVICE).long().unbind()
        own_states, own_pooled = student.read(*read)
        all_own.append(student.head(own_pooled)[:, 0])
        order += places
        if not taught:
            continue
        with torch.no_grad():
            states, pooled = teacher.read(*read)
            all_said.append(teacher.head(pooled)[:, 0])
        share = len(places) / count
        loss = loss + share * OF_POOLED * smooth_l1_loss(own_pooled, pooled)
        mask, deeper = read[2][..., None], len(states) / len(own_states)
        for number, each in enumerate(own_states, 1):
            if each.shape == states[0].shape and student.layers[number - 1].gain.requires_grad:
                apart = (each - states[round(number * deeper) - 1]).square() * mask
                weight = share * given.states * (1 - passed) / len(own_states)
                loss = loss + weight * apart.sum() / mask.sum() / WIDTH
    back = torch.tensor(np.argsort(order), device=DEVICE)
    own = torch.cat(all_own)[back]
    if taught:
        said = torch.cat(all_said)[back]
        table, own_table = (with_nothing(each, step).log_softmax(-1) for each in (said, own))
        loss = loss + OF_LIST * kl_div(own_table, table, reduction="batchmean", log_target=True)
        loss = taught * (loss + OF_SCORE * smooth_l1_loss(own, said))
    return loss + given.labels * list_loss(own, step.groups, 1.0) if given.labels else loss


class Descent:
    """Steps down the slope of a loss. The rate rises at first and then falls to nothing; what is kept at the end is the
    mean of the values over the last steps."""

    def __init__(self, model: nn.Module, rate: float) -> None:
        self.values = [each for each in model.parameters() if each.requires_grad]
        self.rate, self.steps = rate, 0
        self.optimizer = torch.optim.AdamW(self.values, rate, weight_decay=0.01, fused=DEVICE == "cuda")
        self.average = [each.detach().clone() for each in self.values]

    def step(self, loss: torch.Tensor, passed: float) -> None:
        """`passed` is the share of all steps that are done with this one."""
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(passed / WARM, (1 - passed) / (1 - WARM))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.values, 1.0)
        self.optimizer.step()
        now = [each.detach() for each in self.values]
        torch._foreach_lerp_(self.average, now, max(1 - KEPT, 1 / self.steps))

    def keep_mean(self) -> None:
        for each, mean in zip(self.values, self.average, strict=True):
            each.data.copy_(mean)


def train(
    student: Reader, teacher: Reader, given: argparse.Namespace, queue: multiprocessing.Queue, count: int
) -> None:
    """The rate falls to nothing with the last epoch, or when the time is over."""
    for layer in student.layers[: given.shared]:
        layer.requires_grad_(False)
    descent, began, seen = Descent(student, given.rate), time.time(), 0.0
    teacher.eval().requires_grad_(False)
    student.train()
    for number, step in enumerate(iter(queue.get, None), 1):
        passed = max(number / count, (time.time() - began) / given.seconds)
        if passed >= 1:
            break
        loss = taught_loss(student, teacher, step, given, passed)
        descent.step(loss, passed)
        if number % 20 == 0:
            seen = 0.8 * (seen or loss.item()) + 0.2 * loss.item()
        if number % 400 == 0:
            print(f"{number}/{count} loss {seen:.3f} {time.time() - began:.0f} s", flush=True)
    print("steps", number, f"loss {seen:.3f}", flush=True)
    descent.keep_mean()


def named_values(student: Reader, shared: int) -> Iterator[tuple[str, torch.Tensor]]:
    """The own layers and the head in the names of `transformers.BertModel`, in the student's memory; what the first of
    them reads is normed by `answers.embeddings`."""

    def both(name: str, weight: torch.Tensor, bias: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
        yield f"{name}.weight", weight.data
        yield f"{name}.bias", bias.data

    yield from both("heads.answers", student.head.weight, student.head.bias)
    before = "answers.embeddings"
    for number, layer in enumerate(student.layers[shared:], shared):
        yield from both(f"{before}.LayerNorm", layer.gain, layer.shift)
        name = f"answers.encoder.layer.{number}"
        chunks = layer.qkv.weight.chunk(3), layer.qkv.bias.chunk(3)
        for part, weight, bias in zip(("query", "key", "value"), *chunks, strict=True):
            yield from both(f"{name}.attention.self.{part}", weight, bias)
        yield from both(f"{name}.attention.output.LayerNorm", layer.middle_gain, layer.middle_shift)
        parts = {"attention.output.dense": layer.out, "intermediate.dense": layer.up, "output.dense": layer.down}
        for part, dense in parts.items():
            yield from both(f"{name}.{part}", dense.weight, dense.bias)
        before = f"{name}.output"
    yield from both(f"{before}.LayerNorm", student.gain, student.shift)


def state_of(student: Reader, shared: int) -> dict[str, np.ndarray]:
    state = {name: value.float().cpu().numpy() for name, value in named_values(student, shared)}
    return {**state, "answers.first_only": np.array([student.first_only], np.float32)}


def resume(student: Reader, state: Tensors, shared: int) -> None:
    """With what `state_of` has written."""
    for name, value in named_values(student, shared):
        set_to(value, state[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--lists", type=Path, nargs="+", required=True)
    parser.add_argument("--measure", type=Path, nargs="*", default=[])
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--xquad", type=Path)
    parser.add_argument("--layers", type=int, nargs="+", help="all of the teacher's, unless some are named")
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--first-only", action="store_true")
    parser.add_argument("--begin", type=Path, help="a student to go on with")
    parser.add_argument("--taught", type=float, default=1.0, help="weight of all that the teacher says")
    parser.add_argument("--taught-on-notes", type=float, help="the same for questions about notes")
    parser.add_argument("--soften", action="store_true", help="leave out what repeats an answer")
    parser.add_argument("--states", type=float, default=1.0, help="weight of the teacher's states at first")
    parser.add_argument("--labels", type=float, default=0.2, help="weight of the labels")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--size", type=int, default=32, help="questions of a step")
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.taught_on_notes = given.taught if given.taught_on_notes is None else given.taught_on_notes
    torch.manual_seed(SEED + given.seed)
    torch.set_float32_matmul_precision("high")
    pieces, tensors, began = Pieces(given.tokenizer), weights.from_graph(given.graph), time.time()
    notes = [each for path in given.lists for each in read_lists(path)]
    others = [*(of_examples(given.examples) if given.examples else ()), *(of_xquad(given.xquad) if given.xquad else ())]
    checks = [each for path in given.measure for each in read_lists(path)]
    pieces.learn([text for each in (*notes, *others, *checks) for text in (each.question, *each.texts)])
    print(len(notes), len(others), len(checks), f"{time.time() - began:.0f} s", flush=True)
    if given.soften:
        notes = softened(Reader(tensors, head="relation"), pieces, notes)
    count = given.epochs * len(epoch_of(notes, others, pieces, given.size, given.seed))
    processes = multiprocessing.get_context("spawn")  # a forked process could not use the GPU that is in use already
    queue = processes.Queue(QUEUED)
    worker = processes.Process(target=prepare, args=(given, pieces, notes, others, queue), daemon=True)
    worker.start()
    teacher, student = Reader(tensors), Reader(tensors, given.layers, given.first_only)
    if given.begin:
        resume(student, weights.unpack(given.begin), given.shared)

    def report(name: str, model: Reader) -> None:
        for source, figures in measured(model, pieces, checks).items():
            print(name, source, json.dumps(figures), flush=True)

    report("teacher", teacher)
    train(student, teacher, given, queue, count)
    worker.kill()
    report("student", student)
    given.out.mkdir(parents=True, exist_ok=True)
    weights.pack(state_of(student, given.shared), given.out / "answers.npz")
    print(f"done after {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
