"""Draws the MiniLM graphs without their weights and measures the activation ranges; for maintainers.

Usage: python scripts/draw_minilm_graph.py PATH_TO_model.safetensors PATH_TO_tokenizer.json

Needs the dependency group `graph`. Writes int8.onnx, float32.onnx and calibration.npz into the package; run it only
when the graph changes, and raise FORMAT in minilm/places.py when you do.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from pydoc_data import topics

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from nacre.models.minilm import embedder as layout
from nacre.models.minilm.convert import folded, read_float_tensors, write_weights
from nacre.models.wordpiece import WordPiece

PACKAGE = Path(layout.__file__).parent
OPSET = 17
IR_VERSION = 9  # what onnxruntime 1.20 reads
EPSILON = 1e-12  # BERT's
ONNX_TYPES = {"<f4": TensorProto.FLOAT, "|i1": TensorProto.INT8, "|u1": TensorProto.UINT8}
# Ranges come from English prose of every length (the manual that ships with Python), and from random vocabulary,
# which reaches the other scripts and the rare words.
PROSE_TEXTS = 600
RANDOM_TEXTS = 200
SEED = 20_240_601


class Drawing:
    """Collects nodes; each method adds some and gives back the name of the value they end in."""

    def __init__(self, variant: layout.Variant) -> None:
        self.variant = variant
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        node = helper.make_node(operator, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def fused(self, operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        return self.node(operator, inputs, output, "com.microsoft", **attributes)

    def constant(self, name: str, values: list[float], kind: int = TensorProto.INT64) -> str:
        self.constants.append(helper.make_tensor(name, kind, [len(values)], values))
        return name

    def normalised(self, value: str, output: str) -> str:
        # One row an "instance": onnxruntime's InstanceNormalization is vectorised, its layer norms are not
        # (a quarter of the whole time).
        self.node("Reshape", [value, "a_row_each"], f"{output}_in")
        self.node("InstanceNormalization", [f"{output}_in", "one", "nothing"], f"{output}_flat", epsilon=EPSILON)
        return self.node("Reshape", [f"{output}_flat", "full_shape"], output)

    def embeddings(self) -> str:
        self.constant("a_row_each", [-1, 1, layout.WIDTH])
        self.constant("one", [1.0], TensorProto.FLOAT)
        self.constant("nothing", [0.0], TensorProto.FLOAT)
        self.constant("first", [0])
        self.constant("second_axis", [1])
        words = self.node("Gather", ["words", "ids"], "word_rows")
        if self.variant == "int8":
            self.node("Cast", [words], "word_floats", to=TensorProto.FLOAT)
            self.node("Gather", ["words_scale", "ids"], "word_scales")
            words = self.node("Mul", ["word_floats", "word_scales"], "word_values")
        self.node("Shape", ["ids"], "length", start=1, end=2)
        self.node("Shape", [words], "full_shape")
        self.node("Slice", ["positions", "first", "length", "second_axis"], "position_rows")
        self.node("Add", [words, "position_rows"], "embedded")
        return self.normalised("embedded", "hidden_0")

    def quantised(self, value: str, linear: str, layer: int) -> list[str]:
        if linear != "out":
            value = self.node("Mul", [value, f"{linear}_shrink_{layer}"], f"{linear}_even_{layer}")
        step, zero = f"{linear}_step_{layer}", f"{linear}_zero_{layer}"
        return [self.node("QuantizeLinear", [value, step, zero], f"{linear}_bytes_{layer}"), step, zero]

    def product(self, value: str, linear: str, layer: int, *, bias: bool = True) -> str:
        weight, output = f"{linear}_weight_{layer}", f"{linear}_{layer}"
        if self.variant == "int8":
            given, step, zero = self.quantised(value, linear, layer)
            inputs = [given, weight, step, f"{linear}_scale_{layer}", zero]
            return self.fused(
                "MatMulIntegerToFloat", [*inputs, "", f"{linear}_bias_{layer}"] if bias else inputs, output
            )
        if not bias:
            return self.node("MatMul", [value, weight], output)
        self.node("MatMul", [value, weight], f"{output}_product")
        return self.node("Add", [f"{output}_product", f"{linear}_bias_{layer}"], output)

    def attention(self, value: str, layer: int) -> str:
        weight, bias, output = f"qkv_weight_{layer}", f"qkv_bias_{layer}", f"attended_{layer}"
        if self.variant == "float32":
            return self.fused("Attention", [value, weight, bias], output, num_heads=layout.HEADS)
        given, step, zero = self.quantised(value, "qkv", layer)
        inputs = [given, weight, bias, step, f"qkv_scale_{layer}", "", zero]
        return self.fused("QAttention", inputs, output, num_heads=layout.HEADS)

    def residual(self, value: str, added: str, gain: str, output: str) -> str:
        kept = self.node("Mul", [value, gain], f"{output}_kept")
        self.node("Add", [added, kept], f"{output}_sum")
        return self.normalised(f"{output}_sum", output)

    def layer(self, value: str, layer: int) -> str:
        mixed = self.product(self.attention(value, layer), "out", layer)
        middle = self.residual(value, mixed, f"gain_before_{layer}", f"middle_{layer}")
        wide = self.product(middle, "up", layer, bias=False)
        bent = self.fused("BiasGelu", [wide, f"up_bias_{layer}"], f"bent_{layer}")
        narrow = self.product(bent, "down", layer)
        return self.residual(middle, narrow, f"gain_between_{layer}", f"hidden_{layer + 1}")

    def model(self) -> onnx.ModelProto:
        value = self.embeddings()
        for layer in range(layout.LAYERS):
            value = self.layer(value, layer)
        self.node("ReduceMean", [value], "mean", axes=[1], keepdims=0)
        self.node("Mul", ["mean", "gain_last"], "mean_gained")
        self.node("Add", ["mean_gained", "shift_last"], "pooled")
        self.node("LpNormalization", ["pooled"], "rows", axis=1, p=2)
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("ids", TensorProto.INT32, ["texts", "length"])],
            [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["texts", layout.WIDTH])],
            self.constants + [_external(slot) for slot in layout.slots(self.variant)],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="nacre")


def _external(slot: layout.Slot) -> onnx.TensorProto:
    tensor = TensorProto(name=slot.name, data_type=ONNX_TYPES[slot.dtype], dims=slot.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", layout.WEIGHTS), ("offset", slot.offset), ("length", slot.size)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def calibration_texts(tokenizer: WordPiece) -> Iterator[list[int]]:
    chance = random.Random(SEED)
    paragraphs = re.split(r"\n\s*\n", "\n\n".join(topics.topics.values()))
    sentences = [piece for paragraph in paragraphs for piece in re.split(r"(?<=[.:])\s+", paragraph) if piece.strip()]
    for text in chance.sample(paragraphs, PROSE_TEXTS // 2) + chance.sample(sentences, PROSE_TEXTS // 2):
        yield tokenizer.encode(text, layout.POSITIONS)
    for _ in range(RANDOM_TEXTS):
        words = [chance.randrange(1000, layout.WORDS) for _ in range(chance.randint(3, 100))]
        yield [tokenizer.start, *words, tokenizer.end]


def calibrated(graph: onnx.ModelProto, weights: Path, tokenizer: WordPiece) -> dict[str, np.ndarray]:
    """By linear and layer, the lowest and the highest value each input channel took."""
    inputs = {"qkv": "hidden", "out": "attended", "up": "middle", "down": "bent"}
    watched = {
        f"{inputs[name]}_{layer}": f"{name}_{layer}" for name in layout.LINEARS for layer in range(layout.LAYERS)
    }
    for value in watched:
        graph.graph.output.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, None))
    onnx.save(graph, weights.with_name("watched.onnx"))
    session = onnxruntime.InferenceSession(weights.with_name("watched.onnx"))
    bounds: dict[str, np.ndarray] = {}
    for ids in calibration_texts(tokenizer):
        values = session.run(list(watched), {"ids": np.array([ids], dtype=np.int32)})
        for name, value in zip(watched.values(), values, strict=True):
            here = np.stack([value[0].min(axis=0), value[0].max(axis=0)])
            before = bounds.get(name, here)
            bounds[name] = np.stack([np.minimum(before[0], here[0]), np.maximum(before[1], here[1])])
    return {name: found.astype(np.float16) for name, found in bounds.items()}


def main(safetensors: Path, tokenizer: Path) -> None:
    graphs = {variant: Drawing(variant).model() for variant in ("int8", "float32")}
    for variant, graph in graphs.items():
        (PACKAGE / f"{variant}.onnx").write_bytes(graph.SerializeToString())
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / layout.WEIGHTS
        write_weights(weights, "float32", folded(read_float_tensors(safetensors)))
        ranges = calibrated(graphs["float32"], weights, WordPiece.from_file(tokenizer))
    np.savez_compressed(PACKAGE / "calibration.npz", allow_pickle=False, **ranges)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
