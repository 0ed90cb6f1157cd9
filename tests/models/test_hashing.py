from __future__ import annotations

import subprocess
import sys

import numpy as np

from nacre.models.hashing import Hashing
from nacre.protocols import Embedder

PRINT_ROW = "from nacre.models.hashing import Hashing; print(Hashing().embed(['deploy on Friday']).tobytes().hex())"


def test_hashing_is_an_embedder() -> None:
    embedder: Embedder = Hashing()
    assert (embedder.identity, embedder.dimensions, embedder.ready) == ("hashing-384", 384, True)
    assert embedder.count_tokens(["four words of text"]) == [6]


def test_another_process_gives_the_same_bytes() -> None:
    ended = subprocess.run([sys.executable, "-c", PRINT_ROW], capture_output=True, text=True, check=True)
    assert bytes.fromhex(ended.stdout) == Hashing().embed(["deploy on Friday"]).tobytes()


def test_shared_words_and_typos_are_near_and_strangers_are_not() -> None:
    query, word, typo, stranger = Hashing().embed(["postgres timeout", "Postgres!", "postgers timout", "bread oven"])
    assert query @ word > 0.4
    assert query @ typo > 0.2
    assert abs(query @ stranger) < 0.2


def test_rows_are_dense_so_that_their_signs_tell_texts_apart() -> None:
    rows = Hashing().embed(["alpha", "alpha beta", "a sentence of several words"])
    assert (rows != 0).mean() > 0.8
    assert 0.3 < (rows > 0).mean() < 0.7


def test_every_text_gives_a_unit_row_even_an_empty_one() -> None:
    rows = Hashing().embed(["", "...", "one", "北京", "\ud800"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert (rows[0] == rows[1]).all()
    assert Hashing().embed([]).shape == (0, 384)
