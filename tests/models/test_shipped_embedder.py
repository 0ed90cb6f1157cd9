from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from weakref import WeakValueDictionary

import numpy as np
import pytest

from nacre.errors import ModelUnavailable
from nacre.factory import make_embedder
from nacre.models import shipped_embedder
from nacre.models.onnx_session import runs
from nacre.models.shipped_embedder import MULTILINGUAL, TOKENS_A_RUN, ShippedEmbedder
from nacre.protocols import Embedder, Vectors
from nacre.settings import Settings

TEXTS = [
    "The deployment failed because the database migration timed out.",
    "A schema change took too long, so the release did not go out.",
    "Anna bakes bread on Sundays.",
    "yes",
    "",
    "naïve café 北京 🙂",
    "Der Zug nach München fährt um 17:42 Uhr ab.",
    "a much longer sentence, " * 12,
]
ROUNDING = 1e-5  # the same sums in another order
# The same fact three times, and another one in the same languages.
TRAINS = (
    "Der Zug nach München fährt um 17:42 Uhr von Gleis 3 ab.",
    "El tren a Múnich sale a las 17:42 del andén 3.",
    "前往慕尼黑的火车17:42从3号站台出发。",
)
BREAD = ("Anna backt sonntags Brot.", "Anna hornea pan los domingos.", "安娜星期天烤面包。")
ASKED = "When does the train to Munich leave, and from which platform?"


def test_without_onnxruntime_the_model_is_unavailable_and_the_error_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(shipped_embedder, "_opened", WeakValueDictionary())
    embedder = ShippedEmbedder()
    with pytest.raises(ModelUnavailable, match="onnxruntime cannot be loaded"):
        embedder.embed(["a text"])
    assert embedder.count_tokens(["a text"])[0] > 0


def test_the_setting_chooses_all_languages_or_english_alone() -> None:
    every, english = make_embedder(Settings()), make_embedder(Settings(embedder="english"))
    assert (every.identity, every.dimensions, every.token_limit) == ("nacre-multilingual-3", 576, 254)
    assert (english.identity, english.dimensions, english.token_limit) == ("nacre-english-3", 384, 254)
    assert not every.ready and not english.ready


def test_embedders_share_what_one_has_opened_while_one_of_them_is_there(tmp_path: Path) -> None:
    opened: list[Path] = []

    class Part:
        def __init__(self, folder: Path) -> None:
            opened.append(folder)

        def count(self, text: str) -> int:
            return len(text)

        def rows(self, texts: Sequence[str]) -> Vectors:
            return np.zeros((len(texts), 4), np.float32)

    def load(embedder: ShippedEmbedder) -> None:
        together.wait()
        embedder.load()

    kind = MULTILINGUAL._replace(open=Part)
    for times in (1, 2):
        embedders = [ShippedEmbedder(kind, tmp_path) for _ in range(4)]
        together = Barrier(len(embedders))
        with ThreadPoolExecutor(len(embedders)) as pool:
            list(pool.map(load, embedders))
        assert all(each.ready for each in embedders) and opened == [tmp_path] * times
        embedders.clear()
        gc.collect()
    ShippedEmbedder(kind, tmp_path / "other").load()
    assert opened[2:] == [tmp_path / "other"]


@pytest.fixture(params=["english", "multilingual"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.getfixturevalue(request.param)
    return made


@pytest.mark.slow
def test_rows_have_unit_length_and_come_in_order(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimensions) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.abs(embedder.embed(TEXTS[::-1])[::-1] - rows).max() < ROUNDING


def test_what_means_the_same_is_nearer_than_what_does_not(embedder: Embedder) -> None:
    failed, late, bread = embedder.embed(TEXTS[:3])
    assert failed @ late > failed @ bread + 0.2


def test_a_question_in_english_finds_the_answer_in_other_languages(multilingual: ShippedEmbedder) -> None:
    asked, *rows = multilingual.embed([ASKED, *TRAINS, *BREAD])
    assert min(asked @ row for row in rows[:3]) > max(asked @ row for row in rows[3:]) + 0.1


def test_a_text_in_another_language_is_placed_where_its_english_translation_lies(
    english: ShippedEmbedder, multilingual: ShippedEmbedder
) -> None:
    translation, bread = english.embed(["The train to Munich leaves at 17:42 from platform 3.", TEXTS[2]])
    for placed in multilingual.embed(TRAINS)[:, : english.dimensions]:
        assert translation @ placed / np.linalg.norm(placed) > 0.5 > 0.3 > bread @ placed / np.linalg.norm(placed)


@pytest.mark.parametrize(
    "asked", ["Wann fährt der Zug nach München?", "¿Cuándo sale el tren a Múnich?", "去慕尼黑的火车几点开？"]
)
def test_a_question_in_another_language_finds_the_answer_in_english(asked: str, multilingual: ShippedEmbedder) -> None:
    question, train, bread = multilingual.embed(
        [asked, "The train to Munich leaves at 17:42 from platform 3.", "Anna bakes bread on Sundays."]
    )
    assert question @ train > question @ bread + 0.1


def test_a_text_gives_the_same_row_whatever_its_batch(multilingual: ShippedEmbedder) -> None:
    alone = np.concatenate([multilingual.embed([text]) for text in TEXTS])
    crowd = TEXTS + [f"neighbour number {number} says {'words ' * (number % 4)}" for number in range(20)]
    assert np.abs(multilingual.embed(crowd)[: len(TEXTS)] - alone).max() < ROUNDING


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_text_is_read_up_to_its_token_limit(embedder: Embedder) -> None:
    full = "word " * embedder.token_limit
    assert embedder.count_tokens([full]) == [embedder.token_limit]
    just, over, short = embedder.embed([full, full + "and something else entirely", full[: len(full) // 2]])
    assert np.abs(just - over).max() < ROUNDING
    assert np.abs(just - short).max() > ROUNDING


def test_a_script_that_one_tokenizer_takes_for_one_unknown_word_is_counted_by_the_other(
    english: ShippedEmbedder, multilingual: ShippedEmbedder
) -> None:
    thai = "รถไฟไปมิวนิกออกเวลาสิบเจ็ดนาฬิกา" * 10
    assert english.count_tokens([thai])[0] < 5 < 50 < multilingual.count_tokens([thai])[0]


def test_threads_that_start_together_load_one_model() -> None:
    embedder = ShippedEmbedder(MULTILINGUAL)
    assert not embedder.ready
    with ThreadPoolExecutor(8) as pool:
        models = set(pool.map(lambda _: id(embedder._part()), range(8)))
    assert len(models) == 1 and embedder.ready


def test_a_run_holds_equal_lengths_and_few_tokens_and_misses_no_text() -> None:
    lengths = [3, 256, 20, 3, 256] + [20] * 50
    batches = list(runs(lengths, TOKENS_A_RUN))
    assert sorted(position for run in batches for position in run) == list(range(len(lengths)))
    for run in batches:
        assert len({lengths[position] for position in run}) == 1
        assert len(run) == 1 or len(run) * lengths[run[0]] <= TOKENS_A_RUN


def test_importing_the_embedder_does_not_import_onnxruntime() -> None:
    code = "import sys, nacre.models.shipped_embedder; sys.exit('onnxruntime' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
