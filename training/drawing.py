"""Draws int8 ONNX graphs by hand, as onnxruntime's optimiser would leave them, with the weights in a file beside them.

A graph is drawn twice: in float32 to see which values every product's input takes, and in int8 with these ranges.
Ranges are fixed and not taken from each run, because a range of the run makes a text's row depend on its neighbours
(down to a cosine of 0.96 between batches).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

OPSET = 17
IR_VERSION = 9  # what onnxruntime 1.20 reads
PAGE = 4096  # onnxruntime maps the file into memory, and maps whole pages
# 7 bits: the int8 kernels of x86 processors without VNNI add two products in 16 bits, which 8-bit weights overflow.
SIGNED_STEPS = 63
ROW_STEPS = 127  # of an embedding's rows, which are only looked up
UNSIGNED_STEPS = 255
# A few channels are ten times wider than the rest and would waste the range; dividing a channel and multiplying its
# weights moves the width over. 1 moves all of it, 0.5 half; measured mean cosine 0.9: .998, 0.7: .997, none: .993.
SMOOTHING = 0.85
NARROWEST = 1e-3  # a channel never seen to move must not be divided by nothing
ONNX_TYPES = {"float32": TensorProto.FLOAT, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
              "int32": TensorProto.INT32}  # fmt: skip
Ranges = Mapping[str, np.ndarray]  # by product, the lowest and the highest value that each input channel took


class Drawing:
    """Collects nodes and weights; each method adds some and gives back the name of the value they end in."""

    def __init__(self, ranges: Ranges | None = None) -> None:
        self.ranges = ranges
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.watched: dict[str, str] = {}  # the value that each product reads

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        node = helper.make_node(operator, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def fused(self, operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        return self.node(operator, inputs, output, "com.microsoft", **attributes)

    def either(self, condition: str, drawn: Sequence[Callable[[], str]], output: str) -> str:
        """Only the first of the two is run where `condition` holds, and only the second where not."""
        branches = []
        for number, draw in enumerate(drawn):
            before, self.nodes = self.nodes, []
            made = helper.make_tensor_value_info(draw(), TensorProto.FLOAT, None)
            branches.append(helper.make_graph(self.nodes, f"{output}_{number}", [], [made]))
            self.nodes = before
        return self.node("If", [condition], output, then_branch=branches[0], else_branch=branches[1])

    def constant(self, name: str, values: list[float], kind: int = TensorProto.INT64) -> str:
        self.constants[name] = helper.make_tensor(name, kind, [len(values)], values)
        return name

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def floats(self, name: str, array: np.ndarray) -> str:
        return self.weight(name, np.asarray(array, np.float32))

    def normalised(self, value: str, width: int, epsilon: float, output: str) -> str:
        """To mean 0 and variance 1 along the last axis."""
        # One row an "instance": onnxruntime's InstanceNormalization is vectorised, its layer norms are not
        # (a quarter of the whole time).
        rows = self.constant(f"rows_of_{width}", [-1, 1, width])
        one, nothing = (self.constant(n, [v], TensorProto.FLOAT) for n, v in (("one", 1.0), ("nothing", 0.0)))
        self.node("Shape", [value], f"{output}_shape")
        self.node("Reshape", [value, rows], f"{output}_in")
        self.node("InstanceNormalization", [f"{output}_in", one, nothing], f"{output}_flat", epsilon=epsilon)
        return self.node("Reshape", [f"{output}_flat", f"{output}_shape"], output)

    def rows(self, name: str, table: np.ndarray, ids: str) -> str:
        """Rows of an embedding table, one byte a number and a scale a row."""
        stored, scale = to_bytes(table, axis=1, steps=ROW_STEPS)
        self.node("Gather", [self.weight(name, stored), ids], f"{name}_bytes")
        self.node("Cast", [f"{name}_bytes"], f"{name}_floats", to=TensorProto.FLOAT)
        self.node("Gather", [self.weight(f"{name}_scale", scale), ids], f"{name}_scales")
        return self.node("Mul", [f"{name}_floats", f"{name}_scales"], f"{name}_rows")

    def spread(self, name: str, weight: np.ndarray) -> np.ndarray:
        """By what each input channel of a product is divided before it is rounded."""
        if self.ranges is None:
            return np.ones(len(weight), np.float32)
        widest = np.maximum(np.abs(self.ranges[name].astype(np.float32)).max(axis=0), NARROWEST)
        heaviest = np.maximum(np.abs(weight).max(axis=1), NARROWEST)
        spread = widest**SMOOTHING / heaviest ** (1 - SMOOTHING)
        return np.asarray(spread / np.median(spread), dtype=np.float32)

    def rounded(self, value: str, name: str, weight: np.ndarray, spread: np.ndarray, *, divided: bool) -> list[str]:
        """The names of input, weight, their scales and the zero point, for one of onnxruntime's int8 products."""
        assert self.ranges is not None
        if not divided:
            value = self.node("Mul", [value, self.floats(f"{name}_shrink", 1 / spread)], f"{name}_even")
        bounds = self.ranges[name].astype(np.float32) / spread
        low, high = min(float(bounds[0].min()), 0.0), max(float(bounds[1].max()), NARROWEST)
        step = (high - low) / UNSIGNED_STEPS
        self.floats(f"{name}_step", np.array(step))
        self.weight(f"{name}_zero", np.array(round(-low / step), np.uint8))
        stored, scale = to_bytes(weight * spread[:, None], axis=0, steps=SIGNED_STEPS)
        self.weight(f"{name}_weight", stored)
        self.floats(f"{name}_scale", scale[0])
        self.node("QuantizeLinear", [value, f"{name}_step", f"{name}_zero"], f"{name}_bytes")
        return [f"{name}_bytes", f"{name}_weight", f"{name}_step", f"{name}_scale", f"{name}_zero"]

    def product(
        self, value: str, name: str, weight: np.ndarray, bias: np.ndarray | None, spread: np.ndarray | None = None
    ) -> str:
        """`spread` is given where what comes before has divided the value already."""
        added = [self.floats(f"{name}_bias", bias)] if bias is not None else []
        self.watched[name] = value
        if self.ranges is None:
            self.node("MatMul", [value, self.floats(f"{name}_weight", weight)], f"{name}_product")
            return self.node("Add", [f"{name}_product", *added], name) if added else f"{name}_product"
        divided = spread is not None
        inputs = self.rounded(value, name, weight, self.spread(name, weight) if spread is None else spread,
                              divided=divided)  # fmt: skip
        return self.fused("MatMulIntegerToFloat", [*inputs, "", *added] if added else inputs, name)

    def attention(self, value: str, name: str, weight: np.ndarray, bias: np.ndarray, heads: int) -> str:
        self.watched[name] = value
        added = self.floats(f"{name}_bias", bias)
        if self.ranges is None:
            return self.fused("Attention", [value, self.floats(f"{name}_weight", weight), added], f"{name}_attended",
                              num_heads=heads)  # fmt: skip
        given, stored, step, scale, zero = self.rounded(value, name, weight, self.spread(name, weight), divided=False)
        inputs = [given, stored, added, step, scale, "", zero]
        return self.fused("QAttention", inputs, f"{name}_attended", num_heads=heads)

    def save(self, graph: Path, inputs: Mapping[str, int | None], outputs: Mapping[str, int | None]) -> None:
        """`graph`, and its weights in a file of the same name that ends in .bin.

        An input of width 0 is rows of int32 ids; one of another width has that many floats for each token; one without
        a width is true or false.
        """
        stored = graph.with_suffix(".bin")
        offset, external = 0, []
        with stored.open("wb") as file:
            for name, array in self.weights.items():
                external.append(_external(name, array, stored.name, offset))
                file.seek(offset)
                file.write(array.tobytes())
                offset = -(-(offset + array.nbytes) // PAGE) * PAGE
        drawn = helper.make_graph(
            self.nodes,
            graph.stem,
            [
                helper.make_tensor_value_info(name, TensorProto.BOOL, [])
                if width is None
                else helper.make_tensor_value_info(name, TensorProto.FLOAT, ["texts", "length", width])
                if width
                else helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "length"])
                for name, width in inputs.items()
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, ["texts", width] if width else None)
                for name, width in outputs.items()
            ],
            [*self.constants.values(), *external],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(drawn, opset_imports=opsets, ir_version=IR_VERSION, producer_name="nacre")
        graph.write_bytes(model.SerializeToString(deterministic=True))


def _external(name: str, array: np.ndarray, location: str, offset: int) -> onnx.TensorProto:
    tensor = TensorProto(name=name, data_type=ONNX_TYPES[array.dtype.name], dims=array.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", array.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def to_bytes(weight: np.ndarray, axis: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    largest = np.abs(weight).max(axis=axis, keepdims=True)
    scale = np.where(largest > 0, largest / steps, 1).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale


def measured_ranges(drawing: Drawing, inputs: Iterable[Mapping[str, np.ndarray]], names: Mapping[str, int]) -> Ranges:
    """Runs the float32 drawing on `inputs`."""
    bounds: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "watched.onnx"
        drawing.save(file, names, dict.fromkeys(dict.fromkeys(drawing.watched.values())))
        session = onnxruntime.InferenceSession(file)
        for fed in inputs:
            values = dict(zip(dict.fromkeys(drawing.watched.values()),
                              session.run(None, dict(fed)), strict=True))  # fmt: skip
            for name, value in drawing.watched.items():
                flat = values[value].reshape(-1, values[value].shape[-1])
                here = np.stack([flat.min(axis=0), flat.max(axis=0)])
                before = bounds.get(name, here)
                bounds[name] = np.stack([np.minimum(before[0], here[0]), np.maximum(before[1], here[1])])
    return bounds
