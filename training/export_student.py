"""Puts a smaller reader for the head *answers* (`student.py`) into the shipped int8 graph; the other heads stay as they
are, to the last bit.

python training/export_student.py WEIGHTS ANSWERS.npz OUT --lists LISTS.jsonl.gz… [--share 0.85]

WEIGHTS is the folder with the shipped graph and its vocabulary; OUT may be the same one. The ranges of values are those
of questions with the texts that a recall showed (`answer_lists.py`); the student may have learned from them. `--share`
is that of the student's weights, where it has the layers of the shipped reader; the rest are the shipped ones.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import weights
from data import lines
from drawing import Drawing, Ranges, measured_ranges
from export import Tensors, bert_layer, layers_of
from student import Reader, state_of

from nacre.models.tokenizers import WordPiece, WordPiecePairs

SEED = 20261117
TOKENS = 256  # of a pair, as in training
PLAIN = {"ids": 0, "segments": 0}
INPUTS = {**PLAIN, "for_answers": None}
RANGE_QUESTIONS, RANGE_TEXTS = 150, 2
GRAPH, VOCABULARY = "cross_encoder.onnx", "wordpiece.txt"
SUFFIX = "_answers"  # of what belongs to the head's own layers, in the graph


class Shipped:
    """The shipped graph in its parts: what all heads share, the last layers of *answers* and those of the others, and
    the heads."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(str(path), load_external_data=False).graph
        self.tensors = weights.from_graph(path)
        self.constants = [each for each in graph.initializer if each.data_location != onnx.TensorProto.EXTERNAL]
        place = [node.op_type for node in graph.node].index("If")
        self.common, self.heads = [*graph.node[:place]], [*graph.node[place + 1 :]]
        branches = {each.name: each.g for each in graph.node[place].attribute}
        self.answers, self.others = branches["then_branch"], branches["else_branch"]
        self.outputs = {each.name: each.type.tensor_type.shape.dim[1].dim_value for each in graph.output}

    def drawing(self, ranges: Ranges | None) -> Drawing:
        drawing = Drawing(ranges)
        drawing.constants = {each.name: each for each in self.constants}
        drawing.weights = dict(self.tensors)
        return drawing

    def split(self, value: str) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
        """The nodes up to the one that gives this value, and the others of the trunk."""
        trunk = [*self.common, *self.others.node]
        end = 1 + next(at for at, node in enumerate(trunk) if value in node.output)
        return trunk[:end], trunk[end:]


def with_student(shipped: Shipped, state: Tensors, ranges: Ranges | None) -> Drawing:
    """Which layers are run is said by `for_answers`, as before. Without ranges, the student alone in floats."""
    drawing = shipped.drawing(ranges)
    for name in [each for each in drawing.weights if SUFFIX in each or each.startswith("answers_head")]:
        del drawing.weights[name]  # the student may have fewer layers
    own = layers_of_student(state)
    shared = first_layer(own)
    begun = f"hidden_{shared - 1}" if shared else "embedded"
    common, rest = shipped.split(begun)
    drawing.nodes += common

    def trunk() -> str:
        drawing.nodes += rest
        return shipped.others.output[0].name

    if ranges is None:
        last_layers(drawing, own, begun, SUFFIX)
        return drawing
    drawing.either("for_answers", (lambda: last_layers(drawing, own, begun, SUFFIX), trunk), "read")
    weight, bias = state["heads.answers.weight"].T, state["heads.answers.bias"]
    head = [drawing.floats("answers_head", weight), drawing.floats("answers_head_bias", bias)]
    drawing.nodes += [node for node in shipped.heads if node.output[0] != "answers"]
    drawing.node("Gemm", ["read", *head], "answers")
    return drawing


def layers_of_student(state: Tensors) -> dict[str, np.ndarray]:
    return {name.removeprefix("answers."): tensor for name, tensor in state.items() if name.startswith("answers.")}


def mixed(before: Tensors, trained: Sequence[Tensors], share: float) -> dict[str, np.ndarray]:
    return {
        name: (1 - share) * value + share * np.mean([each[name] for each in trained], axis=0)
        for name, value in before.items()
    }


def first_layer(own: Tensors) -> int:
    return min(int(name.split(".")[2]) for name in own if name.startswith("encoder."))


def last_layers(drawing: Drawing, own: Tensors, begun: str, suffix: str) -> str:
    """The layers that a head has for itself, and the first state beside the mean of all; `suffix` ends their names."""
    first_only, first, count = bool(own["first_only"][0]), first_layer(own), layers_of(own)
    state = begun, own["embeddings.LayerNorm.weight"], own["embeddings.LayerNorm.bias"]
    before = state
    for layer in range(first, count):
        before = state
        alone = first_only and layer == count - 1
        state = bert_layer(drawing, own, layer, f"{layer}{suffix}", state, first_only=alone)
    states, gain, shift = state
    gains, shifts = drawing.floats(f"gain_last{suffix}", gain), drawing.floats(f"shift_last{suffix}", shift)
    drawing.node("Gather", [states, "first"], f"first_row{suffix}", axis=1)
    drawing.node("Squeeze", [f"first_row{suffix}", "second_axis"], f"first_state{suffix}")
    drawing.node("ReduceMean", [before[0] if first_only else states], f"mean_state{suffix}", axes=[1], keepdims=0)
    for each in ("first", "mean"):
        drawing.node("Mul", [f"{each}_state{suffix}", gains], f"{each}_gained{suffix}")
        drawing.node("Add", [f"{each}_gained{suffix}", shifts], f"{each}_final{suffix}")
    parts = [f"first_final{suffix}", f"mean_final{suffix}"]
    return drawing.node("Concat", parts, f"pooled{suffix}", axis=1)


def range_inputs(lists: Sequence[Path], vocabulary: Path) -> Iterator[dict[str, np.ndarray]]:
    chance, pairs = random.Random(SEED), WordPiecePairs(WordPiece.from_vocabulary(vocabulary), TOKENS)
    rows = [row for path in lists for row in lines(path) if row["texts"]]
    for row in chance.sample(rows, RANGE_QUESTIONS):
        for text in chance.sample(row["texts"], min(RANGE_TEXTS, len(row["texts"]))):
            pair = pairs.encode(row["question"], text)
            yield {"ids": np.array([pair.ids], np.int32), "segments": np.array([pair.segments], np.int32)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("folder", "answers", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--lists", type=Path, nargs="+", required=True)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    shipped, state = Shipped(given.folder / GRAPH), weights.unpack(given.answers)
    if given.share < 1:
        state = mixed(state_of(Reader(shipped.tensors), first_layer(layers_of_student(state))), [state], given.share)
    inputs = range_inputs(given.lists, given.folder / VOCABULARY)
    ranges = measured_ranges(with_student(shipped, state, None), inputs, PLAIN)
    given.out.mkdir(parents=True, exist_ok=True)
    with_student(shipped, state, ranges).save(given.out / GRAPH, INPUTS, shipped.outputs)


if __name__ == "__main__":
    main()
