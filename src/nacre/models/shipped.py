"""The models that come with the package: which there are, and whether their files are as they were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nacre.files import data_sections

WEIGHTS = Path(__file__).with_name("weights")
DIGESTS = "digests.json"  # written by the programs in training/ that write the files
REMEDY = "Install Nacre again: its model files are part of the package."


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A model that gives no vectors has no dimensions."""

    name: str
    about: str
    licence: str
    dimensions: int
    files: tuple[str, ...]


def read_models() -> Iterator[ShippedModel]:
    for name, lines in data_sections("models/shipped.txt"):
        fields = dict(line.split(": ", 1) for line in lines)
        files = tuple(fields["files"].split())
        yield ShippedModel(name, fields["about"], fields["licence"], int(fields["dimensions"]), files)


MODELS = tuple(read_models())


@cache
def shipped(name: str, folder: Path = WEIGHTS) -> Path:
    """The file of this name, if it is as it was made. Raises `ValueError` that says what is wrong with it.

    A process reads each file once for this, which takes a few hundredths of a second in all.
    """
    path = folder / name
    try:
        expected = json.loads((folder / DIGESTS).read_text(encoding="utf-8"))[name]
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from error
    if digest != expected:
        raise ValueError(f"{name} is damaged: its digest is not the one that it was made with")
    return path


def faults(model: ShippedModel) -> list[str]:
    """What is wrong with the model's files, a sentence for each that is not as it was made."""
    sentences = []
    for name in model.files:
        try:
            shipped(name)
        except ValueError as error:
            sentences.append(f"{error}. {REMEDY}")
    return sentences
