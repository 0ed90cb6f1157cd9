"""onnxruntime is imported in one place only, because its telemetry must be off before it is loaded."""

from __future__ import annotations

import ast
from pathlib import Path

import nacre

SOURCE = Path(nacre.__file__).parent
ONLY = "models/onnx_session.py"


def imported_names(file: Path) -> set[str]:
    names: set[str] = set()
    text = file.read_text("utf-8")
    if "onnxruntime" not in text:
        return names
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Constant) and node.value == "onnxruntime":
            names.add("onnxruntime")  # as an argument of import_module
    return names


def test_onnxruntime_is_imported_in_exactly_one_file() -> None:
    importing = [file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py")
                 if "onnxruntime" in imported_names(file)]  # fmt: skip
    assert importing == [ONLY]
