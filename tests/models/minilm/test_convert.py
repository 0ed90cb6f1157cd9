from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from nacre.models.minilm import convert as converting
from nacre.models.minilm.convert import CHECK_SENTENCES, LEAST_COSINE, convert, read_float_tensors
from nacre.models.minilm.embedder import POSITIONS, Session, read_about, slots
from nacre.models.minilm.provision import Published
from nacre.models.wordpiece import WordPiece
from tests.models.minilm import reference

FLOAT_NOISE = 1e-5


def silently(done: int, total: int, what: str) -> None:
    assert 0 <= done <= total and what


def converted(published: Published, target: Path) -> Session:
    target.mkdir()
    convert(published.safetensors, published.tokenizer, target, source="a test", progress=silently)
    return Session.open(target)


def as_ids(tokenizer: WordPiece, text: str) -> list[int]:
    return tokenizer.encode(text, POSITIONS)


@pytest.mark.slow
def test_the_int8_graph_points_where_the_authors_model_points(
    published: Published, tokenizer: WordPiece, tmp_path: Path
) -> None:
    session = converted(published, tmp_path / "int8")
    about = read_about(tmp_path / "int8")
    assert about is not None and about.variant == "int8" and about.worst_cosine >= LEAST_COSINE
    tensors = read_float_tensors(published.safetensors)
    cosines = []
    for sentence in CHECK_SENTENCES:
        ids = as_ids(tokenizer, sentence)
        cosines.append(float(session.run(np.array([ids], np.int32))[0] @ reference.embed(tensors, ids)))
    assert min(cosines) >= LEAST_COSINE
    assert sum(cosines) / len(cosines) >= 0.99


@pytest.mark.slow
def test_the_float32_graph_is_kept_where_int8_falls_short_and_is_the_authors_model(
    published: Published, tokenizer: WordPiece, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(converting, "LEAST_COSINE", 1.1)
    session = converted(published, tmp_path / "float32")
    about = read_about(tmp_path / "float32")
    assert about is not None and about.variant == "float32"
    tensors = read_float_tensors(published.safetensors)
    for sentence in CHECK_SENTENCES:
        ids = as_ids(tokenizer, sentence)
        assert np.abs(session.run(np.array([ids], np.int32))[0] - reference.embed(tensors, ids)).max() < FLOAT_NOISE


def test_tensors_lie_one_after_the_other_in_the_weights_file() -> None:
    for variant in ("int8", "float32"):
        placed = slots(variant)
        for before, after in pairwise(placed):
            assert before.offset + before.size <= after.offset


def test_a_tensor_of_another_shape_is_refused(tmp_path: Path) -> None:
    tensors = {slot.name: np.zeros(1, slot.dtype) for slot in slots("int8")}
    with pytest.raises(ValueError, match="another model"):
        converting.write_weights(tmp_path / "weights", "int8", tensors)
