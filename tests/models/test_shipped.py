from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.errors import ModelUnavailable
from nacre.models.shipped import DIGESTS, MODELS, WEIGHTS, faults, shipped
from nacre.models.shipped_embedder import ENGLISH, ShippedEmbedder

LARGEST = 75_000_000  # bytes that all weights may have in the wheel, where they are compressed


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files of the English embedder, beside which one may be spoilt."""
    for name in (*MODELS[0].files, DIGESTS):
        (tmp_path / name).symlink_to(WEIGHTS / name)
    return tmp_path


def spoilt(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink()
    file.write_bytes(content)


@pytest.mark.slow
def test_every_shipped_file_is_as_it_was_made() -> None:
    assert [fault for model in MODELS for fault in faults(model)] == []


def test_every_file_of_the_folder_has_its_digest_and_belongs_to_a_model() -> None:
    known = set(json.loads((WEIGHTS / DIGESTS).read_text("utf-8")))
    assert known == {path.name for path in WEIGHTS.iterdir()} - {DIGESTS}
    assert {file for model in MODELS for file in model.files} <= known


def test_one_changed_bit_is_noticed_and_the_remedy_named(copied: Path) -> None:
    spoilt(copied / "english.bin")
    with pytest.raises(ModelUnavailable, match=r"english\.bin is damaged.*Install Nacre again"):
        ShippedEmbedder(ENGLISH, copied).embed(["x"])


def test_a_missing_file_is_named(copied: Path) -> None:
    (copied / "wordpiece.txt").unlink()
    with pytest.raises(ValueError, match=r"wordpiece\.txt cannot be read"):
        shipped("wordpiece.txt", copied)


def test_a_model_that_cannot_be_read_counts_tokens_by_an_estimate(copied: Path) -> None:
    (copied / "english.onnx").unlink()
    assert ShippedEmbedder(ENGLISH, copied).count_tokens(["four words are here"]) == [6]
