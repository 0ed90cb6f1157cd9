"""Exports the English embedder: trained weights become an int8 graph, its weights and its vocabulary.

python training/export.py WEIGHTS.npz TOKENIZER.json SENTENCES.json.gz OUT
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import weights
from drawing import Drawing, Ranges, measured_ranges

from nacre.models.tokenizers import WordPiece

SEED = 20261116
EPSILON = 1e-12  # BERT's
WIDTH, HEADS = 384, 12
POSITIONS = 256  # of the 512 that the table has; training saw no longer texts
# Ranges come from training texts, and from random vocabulary, which reaches the other scripts and the rare words.
RANGE_TEXTS, RANDOM_TEXTS = 800, 200
Tensors = Mapping[str, np.ndarray]


def layers_of(tensors: Tensors) -> int:
    return 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))


State = tuple[str, np.ndarray, np.ndarray]  # a layer's values before their norm's gain and shift, and these two


def bert(drawing: Drawing, tensors: Tensors, positions: int, layers: int, *, segments: bool = False) -> State:
    """The first layers."""
    state = (embeddings(drawing, tensors, positions, segments), *_norm(tensors, "embeddings"))
    for layer in range(layers):
        state = bert_layer(drawing, tensors, layer, str(layer), state)
    return state


def bert_layer(
    drawing: Drawing, tensors: Tensors, layer: int, name: str, state: State, *, first_only: bool = False
) -> State:
    """`name` is that of its values in the graph. With `first_only` it gives the state of the first token alone.

    A norm gives `n * gain + shift`. The product that reads it takes `gain` into its rows and `shift @ weight` into its
    bias; the residual keeps `n * gain`, and `shift` joins the bias of the product it is added to.
    """
    value, gain, shift = state
    prefix = f"encoder.layer.{layer}"
    inputs = [_dense(tensors, f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")]
    qkv = np.concatenate([weight for weight, _ in inputs], axis=1)
    qkv_bias = np.concatenate([bias for _, bias in inputs]) + shift @ qkv
    qkv = qkv * gain[:, None]
    out, out_bias = _dense(tensors, f"{prefix}.attention.output.dense")
    # Attention only mixes rows, so its values can carry the division that its output needs.
    spread = drawing.spread(f"out_{name}", out)
    qkv[:, 2 * WIDTH :] /= spread
    qkv_bias[2 * WIDTH :] /= spread
    attended = drawing.attention(value, f"qkv_{name}", qkv, qkv_bias, HEADS)
    if first_only:
        attended, value = (
            drawing.node("Gather", [each, "first"], f"{each}_first", axis=1) for each in (attended, value)
        )
    mixed = drawing.product(attended, f"out_{name}", out, out_bias + shift, spread)
    value = _residual(drawing, value, mixed, gain, f"middle_{name}")
    gain, shift = _norm(tensors, f"{prefix}.attention.output")
    up, up_bias = _dense(tensors, f"{prefix}.intermediate.dense")
    down, down_bias = _dense(tensors, f"{prefix}.output.dense")
    wide = drawing.product(value, f"up_{name}", up * gain[:, None], None)
    bent = drawing.fused("BiasGelu", [wide, drawing.floats(f"up_bias_{name}", up_bias + shift @ up)], f"bent_{name}")
    narrow = drawing.product(bent, f"down_{name}", down, down_bias + shift)
    return _residual(drawing, value, narrow, gain, f"hidden_{name}"), *_norm(tensors, f"{prefix}.output")


def embeddings(drawing: Drawing, tensors: Tensors, positions: int, segments: bool) -> str:
    kinds = tensors["embeddings.token_type_embeddings.weight"]
    places = (tensors["embeddings.position_embeddings.weight"][:positions] + kinds[0])[None]
    value = drawing.rows("words", tensors["embeddings.word_embeddings.weight"], "ids")
    drawing.node("Shape", ["ids"], "length", start=1, end=2)
    first, axis = drawing.constant("first", [0]), drawing.constant("second_axis", [1])
    drawing.node("Slice", [drawing.floats("positions", places), first, "length", axis], "position_rows")
    value = drawing.node("Add", [value, "position_rows"], "placed")
    if segments:
        drawing.node("Gather", [drawing.floats("kinds", kinds - kinds[0]), "segments"], "kind_rows")
        value = drawing.node("Add", [value, "kind_rows"], "of_a_kind")
    return drawing.normalised(value, WIDTH, EPSILON, "embedded")


def _residual(drawing: Drawing, value: str, added: str, gain: np.ndarray, output: str) -> str:
    drawing.node("Mul", [value, drawing.floats(f"{output}_gain", gain)], f"{output}_kept")
    drawing.node("Add", [added, f"{output}_kept"], f"{output}_sum")
    return drawing.normalised(f"{output}_sum", WIDTH, EPSILON, output)


def _norm(tensors: Tensors, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    return tensors[f"{prefix}.LayerNorm.weight"], tensors[f"{prefix}.LayerNorm.bias"]


def _dense(tensors: Tensors, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    return tensors[f"{prefix}.weight"].T, tensors[f"{prefix}.bias"]


def embedder(tensors: Tensors, ranges: Ranges | None) -> Drawing:
    """`ids` to `rows` of unit length: the mean over the tokens. Nothing is padded, so nothing is masked."""
    drawing = Drawing(ranges)
    value, gain, shift = bert(drawing, tensors, POSITIONS, layers_of(tensors))
    drawing.node("ReduceMean", [value], "mean", axes=[1], keepdims=0)
    drawing.node("Mul", ["mean", drawing.floats("gain_last", gain)], "mean_gained")
    drawing.node("Add", ["mean_gained", drawing.floats("shift_last", shift)], "pooled")
    drawing.node("LpNormalization", ["pooled"], "rows", axis=1, p=2)
    return drawing


def range_texts(sentences: Path, tokenizer: WordPiece, vocabulary: int) -> Iterator[dict[str, np.ndarray]]:
    chance = random.Random(SEED)
    for text in chance.sample(read_sentences(sentences), RANGE_TEXTS):
        yield {"ids": np.array([tokenizer.encode(text, POSITIONS)], np.int32)}
    for _ in range(RANDOM_TEXTS):
        words = [chance.randrange(1000, vocabulary) for _ in range(chance.randint(3, 100))]
        yield {"ids": np.array([[tokenizer.start, *words, tokenizer.end]], np.int32)}


def read_sentences(path: Path) -> list[str]:
    return sorted(set(json.loads(gzip.decompress(path.read_bytes()))))


def write_vocabulary(tokenizer: Path, target: Path) -> None:
    """One piece a line; the number of the line is its id."""
    vocabulary: dict[str, int] = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    assert [vocabulary[piece] for piece in pieces] == list(range(len(pieces)))
    target.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("weights", "tokenizer", "sentences", "out"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    tensors = weights.unpack(given.weights)
    given.out.mkdir(parents=True, exist_ok=True)
    write_vocabulary(given.tokenizer, given.out / "wordpiece.txt")
    tokenizer = WordPiece.from_vocabulary(given.out / "wordpiece.txt")
    texts = range_texts(given.sentences, tokenizer, len(tensors["embeddings.word_embeddings.weight"]))
    ranges = measured_ranges(embedder(tensors, None), texts, {"ids": 0})
    embedder(tensors, ranges).save(given.out / "english.onnx", {"ids": 0}, {"rows": WIDTH})


if __name__ == "__main__":
    main()
