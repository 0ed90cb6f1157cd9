"""Where the model lives: the folder in the user's cache, its files, and what is noted about them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from nacre.embedding.minilm.layout import WEIGHTS, Variant

MODEL = "all-MiniLM-L6-v2"
FORMAT = 1  # raise it when the graphs or the weights' layout change: old folders are then left alone, not misread
DIRECTORY_VARIABLE = "NACRE_MODEL_DIR"

GRAPH = "graph.onnx"
TOKENIZER = "tokenizer.json"
ABOUT = "about.json"


@dataclass(frozen=True, slots=True)
class About:
    variant: Variant
    worst_cosine: float  # of the converted graph to the original, over the fixed check sentences
    source: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def models_directory(given: Path | None = None) -> Path:
    """`given`, else NACRE_MODEL_DIR, else the user's cache."""
    if given is not None:
        return given
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("nacre")) / "models"


def model_folder(directory: Path) -> Path:
    return directory / f"{MODEL}-{FORMAT}"


def read_about(folder: Path) -> About | None:
    """What is noted in the folder; None when there is no complete model in it."""
    if not all((folder / name).is_file() for name in (GRAPH, WEIGHTS, TOKENIZER, ABOUT)):
        return None
    try:
        return About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None
