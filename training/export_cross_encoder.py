"""Exports a trained cross-encoder as the int8 graph that the package ships; each head is an output of its own name.

python training/export_cross_encoder.py JUDGE.npz TOKENIZER.json OUT

One more head is fitted here, on what the int8 trunk reads: `one_place`, the relation of texts that differ in one place
only. Its figures on forms of sentences that it has not seen are printed.
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
from export import WIDTH, Tensors, bert
from relation_data import LABELS
from tokenizers import Tokenizer

SEED = 20261115
TOKENS = 256  # of a pair, as in training
INPUTS = {"ids": 0, "segments": 0}  # width 0: rows of ids
RANGE_PAIRS = 300
HERE = Path(__file__).parent
HELD_OUT = ("author2", "author6", "held_out")
HEAD = re.compile(r"heads?\.(?:(?P<name>[a-z_]+)\.)?(?:\d+\.)?weight")


def heads(state: Tensors) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The weight and the bias of each head by its name; the only one has none, and is the relation."""
    return {
        match["name"] or "relation": (tensor.T, state[name.removesuffix("weight") + "bias"])
        for name, tensor in state.items()
        if (match := HEAD.fullmatch(name))
    }


def cross_encoder(state: Tensors, ranges: Ranges | None) -> Drawing:
    """`ids` and `segments` to the scores of each head, which reads the first state beside the mean of all."""
    drawing = Drawing(ranges)
    trunk = {name.removeprefix("trunk."): tensor for name, tensor in state.items() if name.startswith("trunk.")}
    states, gain, shift = bert(drawing, trunk, TOKENS, segments=True)
    drawing.floats("gain_last", gain)
    drawing.floats("shift_last", shift)
    drawing.node("Gather", [states, "first"], "first_row", axis=1)
    drawing.node("Squeeze", ["first_row", "second_axis"], "first_state")
    drawing.node("ReduceMean", [states], "mean_state", axes=[1], keepdims=0)
    for each in ("first", "mean"):
        drawing.node("Mul", [f"{each}_state", "gain_last"], f"{each}_gained")
        drawing.node("Add", [f"{each}_gained", "shift_last"], f"{each}_final")
    drawing.node("Concat", ["first_final", "mean_final"], "read", axis=1)
    for name, (weight, bias) in heads(state).items():
        given = [drawing.floats(f"{name}_head", weight), drawing.floats(f"{name}_head_bias", bias)]
        drawing.node("Gemm", ["read", *given], name)
    return drawing


def range_pairs(tokenizer: Tokenizer) -> Iterator[dict[str, np.ndarray]]:
    """Pairs of memories, without those that measure."""
    files = [*sorted((HERE / "pairs").glob("*.jsonl")), *sorted((HERE.parent / "benchmarks/conflict_pairs").glob("*"))]
    lines = [line for file in files if file.stem not in HELD_OUT for line in file.read_text("utf-8").splitlines()]
    for row in map(json.loads, random.Random(SEED).sample(lines, RANGE_PAIRS)):
        yield pair_inputs(tokenizer, row["old"], row["new"])


def pair_inputs(tokenizer: Tokenizer, old: str, new: str) -> dict[str, np.ndarray]:
    pair = tokenizer.encode(old, new)
    return {"ids": np.array([pair.ids], np.int32), "segments": np.array([pair.type_ids], np.int32)}


STEPS, RATE, KEPT = 400, 1e-2, 1e-3  # of fitting; how much the head is held to where the relation's stands
FOLDS = 5
SHARPER = 1.5  # its scores are multiplied by this, so that the relation's points for noted and sure fit it too


def one_place_head(graph: Path, tokenizer: Tokenizer, start: tuple[np.ndarray, np.ndarray]) -> dict[str, np.ndarray]:
    rows = list(minimal_pairs.made())
    session = onnxruntime.InferenceSession(graph)
    read = np.concatenate([session.run(["read"], pair_inputs(tokenizer, row["old"], row["new"]))[0] for row in rows])
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
    begun = torch.from_numpy(np.ascontiguousarray(start[0].T))
    head.weight.data, head.bias.data = begun.clone(), torch.from_numpy(start[1].copy())
    optimizer = torch.optim.Adam(head.parameters(), RATE)
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(head(features), labels, label_smoothing=0.05)
        loss = loss + KEPT * ((head.weight - begun) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    head.weight.data *= SHARPER
    head.bias.data *= SHARPER
    return head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("checkpoint", "tokenizer", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--ranges", type=Path, help="where the ranges of values are kept between runs")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    state = weights.unpack(given.checkpoint)
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    if given.ranges and given.ranges.exists():
        ranges = dict(np.load(given.ranges))
    else:
        ranges = measured_ranges(cross_encoder(state, None), range_pairs(tokenizer), INPUTS)
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
