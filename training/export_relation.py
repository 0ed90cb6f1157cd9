"""Puts the heads *relation* and *orders* with their last layers (`relation.py`) into the shipped int8 graph, and fits
the head *one_place* on what these layers read; the head *answers* stays as it is, to the last bit.

python training/export_relation.py WEIGHTS TOKENIZER.json OUT --trained RELATION.npz… [--share 0.6] --pairs FILE…
    --changes FILE…

WEIGHTS is the folder with the shipped graph; OUT may be the same one. Of several trainings the mean is taken, and of it
a share, the rest being what is shipped: what was learned last is kept nearly whole, and less is forgotten. The ranges
of values are those of the pairs that are given, which the heads may have learned from.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import weights
from data import lines
from drawing import Drawing, Ranges, measured_ranges
from export import WIDTH, Tensors
from export_cross_encoder import TOKENS, one_place_head, pair_inputs
from export_student import GRAPH, INPUTS, PLAIN, Shipped, first_layer, last_layers
from relation import Judge, trained_state
from tokenizers import Tokenizer

SEED = 20261118
RANGE_PAIRS = 400


def with_relation(shipped: Shipped, state: Tensors, ranges: Ranges | None) -> Drawing:
    """Which layers are run is said by `for_answers`, as before. Without ranges, the new ones alone in floats."""
    drawing = shipped.drawing(ranges)
    drawing.nodes += shipped.common
    own = {name.removeprefix("relation."): tensor for name, tensor in state.items() if name.startswith("relation.")}
    begun = f"hidden_{first_layer(own) - 1}"
    if ranges is None:
        last_layers(drawing, own, begun, "")
        return drawing

    def answers() -> str:
        drawing.nodes += shipped.answers.node
        return shipped.answers.output[0].name

    drawing.either("for_answers", (answers, lambda: last_layers(drawing, own, begun, "")), "read")
    for name in ("relation", "one_place", "orders"):
        if f"heads.{name}.weight" in state:
            drawing.floats(f"{name}_head", state[f"heads.{name}.weight"].T)
            drawing.floats(f"{name}_head_bias", state[f"heads.{name}.bias"])
    drawing.nodes += shipped.heads
    return drawing


def mixed(before: Tensors, trained: Sequence[Tensors], share: float) -> dict[str, np.ndarray]:
    return {
        name: (1 - share) * value + share * np.mean([each[name] for each in trained], axis=0)
        for name, value in before.items()
    }


def range_inputs(tokenizer: Tokenizer, pairs: Sequence[Path], changes: Sequence[Path]) -> Iterator[dict]:
    rows = [(row["old"], row["new"]) for path in pairs for row in lines(path)]
    for row in (row for path in changes for row in lines(path)):
        rows += [(row["older"], row["newer"]), (row["others"][0], row["newer"])]
    for older, newer in random.Random(SEED).sample(rows, RANGE_PAIRS):
        yield pair_inputs(tokenizer, older, newer)
        yield single_input(tokenizer, newer)


def single_input(tokenizer: Tokenizer, text: str) -> dict[str, np.ndarray]:
    ids = tokenizer.encode(text).ids
    return {"ids": np.array([ids], np.int32), "segments": np.zeros((1, len(ids)), np.int32)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("folder", "tokenizer", "out"):
        parser.add_argument(name, type=Path)
    for name in ("trained", "pairs", "changes"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    shipped = Shipped(given.folder / GRAPH)
    state = mixed(trained_state(Judge(shipped.tensors)), [weights.unpack(path) for path in given.trained], given.share)
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    inputs = range_inputs(tokenizer, given.pairs, given.changes)
    ranges = measured_ranges(with_relation(shipped, state, None), inputs, PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        trunk = Path(folder) / "trunk.onnx"
        with_relation(shipped, state, ranges).save(trunk, INPUTS, {"read": 2 * WIDTH})
        start = state["heads.relation.weight"].T, state["heads.relation.bias"]
        state |= one_place_head(trunk, tokenizer, start)
    given.out.mkdir(parents=True, exist_ok=True)
    with_relation(shipped, state, ranges).save(given.out / GRAPH, INPUTS, shipped.outputs)


if __name__ == "__main__":
    main()
