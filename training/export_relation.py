"""Puts the heads *relation* and *orders* with their last layers (`relation.py`, `relation_further.py`) into the shipped
int8 graph, and fits the heads *one_place* and *version* on what these layers read; the head *answers* stays as it is,
to the last bit.

python training/export_relation.py WEIGHTS TOKENIZER.json OUT --trained RELATION.npz… [--share 0.6] --pairs FILE…
    --changes FILE… --near FILE… [--refit FILE…]

WEIGHTS is the folder with the shipped graph; OUT may be the same one. Of several trainings the mean is taken, and of it
a share, the rest being what is shipped: what was learned last is kept nearly whole, and less is forgotten. The ranges
of values are those of the pairs of `--pairs` and `--changes`, which the heads may have learned from. *Version* is
fitted on the notes and neighbours of `--near` (`note_neighbours.py`). *Relation* is fitted again on the pairs of
`--refit`: among neighbours there are no repetitions, and what learned from them takes too many for changes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import weights
from data import lines
from drawing import Drawing, Ranges, measured_ranges
from export import WIDTH, Tensors
from export_cross_encoder import TOKENS, fit_further, one_place_head, pair_inputs
from export_student import GRAPH, INPUTS, PLAIN, Shipped, first_layer, last_layers, mixed
from relation import Judge, trained_state
from relation_data import LABELS, written
from tokenizers import Tokenizer

SEED = 20261118
RANGE_PAIRS = 400
NEAREST, ALIKE, MOST_UNRELATED = (
    3,
    0.25,
    6_500,
)  # older neighbours of a note for *version*, and how many are drawn in all
# Of fitting a head: how much its weights are held to what they are at first. Those of *version* are 0 at first, and
# what it reads is brought to one scale.
STEPS, RATE, HELD, HELD_TO_ZERO = 500, 3e-3, 0.1, 0.03


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
    for name in ("relation", "one_place", "orders", "version"):
        if f"heads.{name}.weight" in state:
            drawing.floats(f"{name}_head", state[f"heads.{name}.weight"].T)
            drawing.floats(f"{name}_head_bias", state[f"heads.{name}.bias"])
    drawing.nodes += shipped.heads
    if "heads.version.weight" in state and "version" not in shipped.outputs:
        drawing.node("Gemm", ["read", "version_head", "version_head_bias"], "version")
    return drawing


def range_inputs(tokenizer: Tokenizer, pairs: Sequence[Path], changes: Sequence[Path]) -> Iterator[dict]:
    rows = [(row["old"], row["new"]) for path in pairs for row in lines(path)]
    for row in (row for path in changes for row in lines(path)):
        rows += [(row["older"], row["newer"]), (row["others"][0], row["newer"])]
    for older, newer in random.Random(SEED).sample(rows, RANGE_PAIRS):
        yield pair_inputs(tokenizer, older, newer)
        yield single_input(tokenizer, newer)


def read_by(trunk: Path, inputs: Iterator[dict[str, np.ndarray]]) -> torch.Tensor:
    session, others = onnxruntime.InferenceSession(trunk), {"for_answers": np.array(False)}
    return torch.from_numpy(np.concatenate([session.run(["read"], each | others)[0] for each in inputs]))


def relation_head(trunk: Path, tokenizer: Tokenizer, pairs: Sequence[Path], state: Tensors) -> dict[str, np.ndarray]:
    rows = [each for path in pairs for each in written(path)]
    features = read_by(trunk, (pair_inputs(tokenizer, each.old, each.new) for each in rows))
    head = torch.nn.Linear(features.shape[1], len(LABELS))
    head.weight.data = torch.from_numpy(np.array(state["heads.relation.weight"], np.float32))
    head.bias.data = torch.from_numpy(np.array(state["heads.relation.bias"], np.float32))
    labels, loss = torch.tensor([each.label for each in rows]), torch.nn.CrossEntropyLoss(label_smoothing=0.05)
    fit_further(head, features, labels, loss, steps=STEPS, rate=RATE, held=HELD)
    return named("relation", head)


def version_head(trunk: Path, tokenizer: Tokenizer, near: Sequence[Path]) -> dict[str, np.ndarray]:
    versions, others = list[tuple[str, str]](), list[tuple[str, str]]()
    for row in (row for path in near for row in lines(path)):
        neighbours = zip(row["older"], row["versions"], row["cosines"], strict=True)
        for place, (older, version, cosine) in enumerate(neighbours):
            if place < NEAREST and cosine >= ALIKE:
                (versions if version else others).append((older, row["newer"]))
    others = random.Random(SEED).sample(others, min(MOST_UNRELATED, len(others)))
    features = read_by(trunk, (pair_inputs(tokenizer, *pair) for pair in (*versions, *others)))
    labels = torch.tensor([1.0] * len(versions) + [0.0] * len(others))
    middle, spread = features.mean(0), features.std(0)
    head = torch.nn.Linear(features.shape[1], 1)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    scaled = (features - middle) / spread
    loss = torch.nn.BCEWithLogitsLoss()
    fit_further(head, scaled, labels, loss, steps=STEPS, rate=RATE, held=HELD_TO_ZERO)
    head.weight.data /= spread
    head.bias.data -= head.weight.data @ middle
    return named("version", head)


def named(name: str, head: torch.nn.Linear) -> dict[str, np.ndarray]:
    return {f"heads.{name}.{part}": value.detach().numpy() for part, value in head.named_parameters()}


def single_input(tokenizer: Tokenizer, text: str) -> dict[str, np.ndarray]:
    ids = tokenizer.encode(text).ids
    return {"ids": np.array([ids], np.int32), "segments": np.zeros((1, len(ids)), np.int32)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("folder", "tokenizer", "out"):
        parser.add_argument(name, type=Path)
    for name in ("trained", "pairs", "changes", "near"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    parser.add_argument("--refit", type=Path, nargs="*", default=[], help="pairs for the head *relation*")
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
        state |= version_head(trunk, tokenizer, given.near)
        if given.refit:
            state |= relation_head(trunk, tokenizer, given.refit, state)
    given.out.mkdir(parents=True, exist_ok=True)
    with_relation(shipped, state, ranges).save(given.out / GRAPH, INPUTS, shipped.outputs | {"version": 1})


if __name__ == "__main__":
    main()
