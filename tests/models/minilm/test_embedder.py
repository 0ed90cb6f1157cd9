from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nacre.models.minilm import MiniLM
from nacre.models.minilm.embedder import TOKENS_A_RUN
from nacre.models.onnx_session import runs
from nacre.protocols import Embedder

TEXTS = [
    "The deployment failed because the database migration timed out.",
    "A schema change took too long, so the release did not go out.",
    "Anna bakes bread on Sundays.",
    "yes",
    "",
    "naïve café 北京 🙂",
    "a much longer sentence, " * 12,
]
ROUNDING = 1e-6  # the same sums in another order


def test_minilm_is_an_embedder(minilm: MiniLM) -> None:
    embedder: Embedder = minilm
    assert (embedder.identity, embedder.dimensions, embedder.token_limit) == ("all-MiniLM-L6-v2", 384, 254)


def test_rows_have_unit_length_and_come_in_order(minilm: MiniLM) -> None:
    rows = minilm.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.abs(minilm.embed(TEXTS[::-1])[::-1] - rows).max() < ROUNDING


def test_what_means_the_same_is_nearer_than_what_does_not(minilm: MiniLM) -> None:
    failed, late, bread = minilm.embed(TEXTS[:3])
    assert failed @ late > failed @ bread + 0.2


@pytest.mark.slow
def test_a_text_gives_the_same_row_whatever_its_batch(minilm: MiniLM) -> None:
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    crowd = TEXTS + [f"neighbour number {number} says {'words ' * (number % 40)}" for number in range(200)]
    assert np.abs(minilm.embed(crowd)[: len(TEXTS)] - alone).max() < ROUNDING


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_a_text_is_read_up_to_its_token_limit(minilm: MiniLM) -> None:
    full = "word " * minilm.token_limit
    assert minilm.count_tokens([full]) == [minilm.token_limit]
    just, over, short = minilm.embed([full, full + "and something else entirely", full[: len(full) // 2]])
    assert np.abs(just - over).max() < ROUNDING
    assert np.abs(just - short).max() > ROUNDING


@pytest.mark.slow
def test_many_threads_get_what_one_gets(minilm: MiniLM) -> None:
    expected = minilm.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: minilm.embed(TEXTS), range(24)))
    assert all(np.abs(answer - expected).max() < ROUNDING for answer in answers)


def test_threads_that_start_together_load_one_model() -> None:
    embedder = MiniLM()
    assert not embedder.ready
    with ThreadPoolExecutor(8) as pool:
        models = set(pool.map(lambda _: id(embedder._model()), range(8)))
    assert len(models) == 1 and embedder.ready


def test_a_run_holds_equal_lengths_and_few_tokens_and_misses_no_text() -> None:
    lengths = [3, 256, 20, 3, 256] + [20] * 50
    batches = list(runs(lengths, TOKENS_A_RUN))
    assert sorted(position for run in batches for position in run) == list(range(len(lengths)))
    for run in batches:
        assert len({lengths[position] for position in run}) == 1
        assert len(run) == 1 or len(run) * lengths[run[0]] <= TOKENS_A_RUN


def test_importing_the_embedder_does_not_import_onnxruntime() -> None:
    code = "import sys, nacre.models.minilm; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
