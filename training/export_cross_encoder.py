"""Exports a trained cross-encoder as the int8 graph that the package ships; each head is an output of its own name.

python training/export_cross_encoder.py JUDGE.npz ANSWERS.npz TOKENIZER.json OUT

ANSWERS.npz holds the head *answers* with its own last layers, as `answers.py` writes it.

One more head is fitted here, on what the int8 trunk reads: `one_place`, the relation of texts that differ in one place
only. Its figures on forms of sentences that this head has not seen are printed; the layers may have read them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import minimal_pairs
import numpy as np
import onnxruntime
import torch
import weights
from drawing import Drawing, Ranges, measured_ranges
from export import WIDTH, State, Tensors, bert, bert_layer, layers_of
from relation_data import LABELS
from tokenizers import Tokenizer

SEED = 20261115
TOKENS = 256  # of a pair, as in training
INPUTS = {"ids": 0, "segments": 0, "for_answers": None}
RANGE_PAIRS = 300
HERE = Path(__file__).parent
HELD_OUT = ("author2", "author6", "held_out")
# Author 5 measures, the others came after the graph whose ranges were fitted here.
HELD_OUT_NOTES = ("author5", *(f"author{number}" for number in range(10, 34)))
HEAD = re.compile(r"heads?\.(?:(?P<name>[a-z_]+)\.)?(?:\d+\.)?weight")


def heads(state: Tensors) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The weight and the bias of each head by its name; the only one has none, and is the relation."""
    return {
        match["name"] or "relation": (tensor.T, state[name.removesuffix("weight") + "bias"])
        for name, tensor in state.items()
        if (match := HEAD.fullmatch(name))
    }


def cross_encoder(state: Tensors, ranges: Ranges | None) -> Drawing:
    """`ids` and `segments` to the scores of each head, which reads the first state beside the mean of all.

    The last layers are there twice over the same first ones: for the head *answers*, and for the others. Which of them
    are run is said by `for_answers`; the scores of the heads that go with the others then mean nothing.
    """
    drawing = Drawing(ranges)
    trunk, own = part(state, "trunk."), part(state, "answers.")
    first = min(int(name.split(".")[2]) for name in own)
    begun = bert(drawing, trunk, TOKENS, first, segments=True)
    ways = (
        lambda: last_layers(drawing, own, first, "_answers", begun),
        lambda: last_layers(drawing, trunk, first, "", begun),
    )
    if ranges is None:  # to see the ranges, both are run
        for draw in ways:
            draw()
        return drawing
    drawing.either("for_answers", ways, "read")
    for name, (weight, bias) in heads(state).items():
        given = [drawing.floats(f"{name}_head", weight), drawing.floats(f"{name}_head_bias", bias)]
        drawing.node("Gemm", ["read", *given], name)
    return drawing


def last_layers(drawing: Drawing, tensors: Tensors, first: int, suffix: str, state: State) -> str:
    for layer in range(first, layers_of(tensors)):
        state = bert_layer(drawing, tensors, layer, f"{layer}{suffix}", state)
    return pooled(drawing, state, suffix)


def part(state: Tensors, prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def pooled(drawing: Drawing, state: State, suffix: str) -> str:
    states, gain, shift = state
    gains, shifts = drawing.floats(f"gain_last{suffix}", gain), drawing.floats(f"shift_last{suffix}", shift)
    drawing.node("Gather", [states, "first"], f"first_row{suffix}", axis=1)
    drawing.node("Squeeze", [f"first_row{suffix}", "second_axis"], f"first_state{suffix}")
    drawing.node("ReduceMean", [states], f"mean_state{suffix}", axes=[1], keepdims=0)
    for each in ("first", "mean"):
        drawing.node("Mul", [f"{each}_state{suffix}", gains], f"{each}_gained{suffix}")
        drawing.node("Add", [f"{each}_gained{suffix}", shifts], f"{each}_final{suffix}")
    return drawing.node("Concat", [f"first_final{suffix}", f"mean_final{suffix}"], f"pooled{suffix}", axis=1)


def range_pairs(tokenizer: Tokenizer) -> Iterator[dict[str, np.ndarray]]:
    """Pairs of memories, without those that measure."""
    files = [*sorted((HERE / "pairs").glob("*.jsonl")), *sorted((HERE.parent / "benchmarks/conflict_pairs").glob("*"))]
    lines = [line for file in files if file.stem not in HELD_OUT for line in file.read_text("utf-8").splitlines()]
    for row in map(json.loads, random.Random(SEED).sample(lines, RANGE_PAIRS)):
        yield pair_inputs(tokenizer, row["old"], row["new"])


def pair_inputs(tokenizer: Tokenizer, old: str, new: str) -> dict[str, np.ndarray]:
    pair = tokenizer.encode(old, new)
    return {"ids": np.array([pair.ids], np.int32), "segments": np.array([pair.type_ids], np.int32)}


def question_inputs(tokenizer: Tokenizer) -> Iterator[dict[str, np.ndarray]]:
    """Questions beside notes of their world, without the author that measures."""
    rows = []
    for file in sorted((HERE / "notes").glob("*.notes.jsonl")):
        author = file.name.split(".")[0]
        if author not in HELD_OUT_NOTES:
            notes = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            asked = file.with_name(f"{author}.questions.jsonl").read_text("utf-8").splitlines()
            worlds = {world: [n["text"] for n in notes if n["world"] == world] for world in {n["world"] for n in notes}}
            rows += [(each["q"], worlds[each["world"]]) for each in map(json.loads, asked)]
    chance = random.Random(SEED)
    for question, texts in chance.sample(rows, RANGE_PAIRS):
        yield pair_inputs(tokenizer, question, chance.choice(texts))


STEPS, RATE, KEPT = 400, 1e-2, 1e-3  # of fitting; how much the head is held to where the relation's stands
FOLDS = 5
SHARPER = 1.5  # its scores are multiplied by this, so that the relation's points for noted and sure fit it too


def one_place_head(graph: Path, tokenizer: Tokenizer, start: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    rows = list(minimal_pairs.made())
    session = onnxruntime.InferenceSession(graph)
    others = {"for_answers": np.array(False)}
    inputs = [pair_inputs(tokenizer, row["old"], row["new"]) | others for row in rows]
    read = np.concatenate([session.run(["read"], each)[0] for each in inputs])
    features, labels = torch.from_numpy(read), torch.tensor([LABELS.index(row["label"]) for row in rows])
    form = torch.arange(len(rows)) // minimal_pairs.EACH
    conflict, seen = torch.isin(labels, torch.tensor([1, 2])), torch.zeros(len(rows))
    for fold in range(FOLDS):
        out = form % FOLDS == fold
        scores = fitted(features[~out], labels[~out], start)(features[out]).softmax(-1)
        seen[out] = scores[:, 1:3].sum(-1).detach()
    for point in (0.5, 0.8, 0.89, 0.95, 0.977):
        said = seen >= point
        precision, recall = conflict[said].float().mean(), said[conflict].float().mean()
        print(f"one_place, unseen forms, from {point}: precision {precision:.3f}, recall {recall:.3f}")
    head = fitted(features, labels, start)
    return {"heads.one_place.weight": head.weight.detach().numpy(), "heads.one_place.bias": head.bias.detach().numpy()}


def fitted(features: torch.Tensor, labels: torch.Tensor, start: tuple[np.ndarray, np.ndarray]) -> torch.nn.Linear:
    head = torch.nn.Linear(features.shape[1], len(LABELS))
    head.weight.data = torch.from_numpy(np.ascontiguousarray(start[0].T)).clone()
    head.bias.data = torch.from_numpy(start[1].copy())
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
    fit_further(head, features, labels, loss, steps=STEPS, rate=RATE, held=KEPT)
    head.weight.data *= SHARPER
    head.bias.data *= SHARPER
    return head


def fit_further(
    head: torch.nn.Linear, features: torch.Tensor, labels: torch.Tensor, loss: torch.nn.Module, *,
    steps: int, rate: float, held: float,
) -> None:  # fmt: skip
    """`held` is how much the weights are held to what they are at first."""
    begun, optimizer = head.weight.detach().clone(), torch.optim.Adam(head.parameters(), rate)
    for _ in range(steps):
        total = loss(head(features).squeeze(-1), labels) + held * (head.weight - begun).square().sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("checkpoint", "answers", "tokenizer", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--ranges", type=Path, help="where the ranges of values are kept between runs")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    state = weights.unpack(given.checkpoint) | weights.unpack(given.answers)
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    if given.ranges and given.ranges.exists():
        ranges = dict(np.load(given.ranges))
    else:
        plain = {name: width for name, width in INPUTS.items() if width is not None}
        ranges = dict(measured_ranges(cross_encoder(state, None), range_pairs(tokenizer), plain))
        asked = measured_ranges(cross_encoder(state, None), question_inputs(tokenizer), plain)
        ranges |= {name: values for name, values in asked.items() if name.endswith("_answers")}
        if given.ranges:
            np.savez(given.ranges, **ranges)
    with tempfile.TemporaryDirectory() as folder:
        trunk = Path(folder) / "trunk.onnx"
        cross_encoder(state, ranges).save(trunk, INPUTS, {"read": 2 * WIDTH})
        state |= one_place_head(trunk, tokenizer, heads(state)["relation"])
    given.out.mkdir(parents=True, exist_ok=True)
    sizes = {name: len(bias) for name, (_, bias) in heads(state).items()}
    cross_encoder(state, ranges).save(given.out / "cross_encoder.onnx", INPUTS, sizes)


if __name__ == "__main__":
    main()
