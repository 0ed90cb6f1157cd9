"""Pairs of token ids, held against the `tokenizers` library."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import RerankingError
from nacre.models.cross_encoder import (
    TOKENS_A_RUN,
    CrossEncoder,
    LibraryPairs,
    PairTokenizer,
    WordPiecePairs,
    read_tokenizer,
    shared_room,
)
from nacre.models.onnx_session import runs
from nacre.models.wordpiece import WordPiece, cased_words
from nacre.protocols import Reranker
from tests.cross_encoders import (
    SPECIAL,
    THRESHOLD,
    WORDS,
    bert_tokenizer,
    shared_words,
    whole_word_tokenizer,
    write_cross_encoder,
)

LIMIT = 17  # leaves an even room: of an odd one, two texts that both overfill it may share the last id otherwise
PARTS = [*WORDS, *SPECIAL, "CATS", "É", "unheard", "北京", "\x01", "\u00a0"]
WORD_LISTS = st.lists(st.sampled_from(PARTS), max_size=30).map(" ".join)


def written(folder: Path, tokenizer: dict[str, object]) -> Path:
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(tokenizer), encoding="utf-8")
    return file


@pytest.fixture(scope="module", params=["uncased", "cased"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PairTokenizer, ...]:
    file = written(tmp_path_factory.mktemp(request.param), bert_tokenizer(cased=request.param == "cased"))
    return read_tokenizer(file, LIMIT), LibraryPairs(file, LIMIT)


@given(query=WORD_LISTS, texts=st.lists(WORD_LISTS, max_size=3))
def test_our_pairs_equal_those_of_the_library(
    both: tuple[PairTokenizer, PairTokenizer], query: str, texts: list[str]
) -> None:
    ours, theirs = both
    assert isinstance(ours, WordPiecePairs)
    assert ours.encode(query, texts) == theirs.encode(query, texts)


@given(first=st.integers(0, 60), second=st.integers(0, 60), room=st.integers(1, 40))
def test_the_longer_text_is_cut_first(first: int, second: int, room: int) -> None:
    of_first, of_second = shared_room(first, second, room)
    assert of_first + of_second == min(first + second, room)
    assert of_first <= first and of_second <= second
    assert of_first == first or of_first >= of_second - 1
    assert of_second == second or of_second >= of_first - 1


def test_case_and_accents_count_in_a_cased_vocabulary() -> None:
    assert cased_words("Café, oui\x00!") == ["Café", ",", "oui", "!"]
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "Cat": 3, "cat": 4}
    assert WordPiece(vocabulary, {"[SEP]": 2}, cased=True).encode("Cat cat", 8) == [1, 3, 4, 2]
    assert WordPiece(vocabulary, {"[SEP]": 2}).encode("Cat cat", 8) == [1, 4, 4, 2]


@pytest.mark.parametrize(
    "other",
    [
        whole_word_tokenizer(),
        bert_tokenizer() | {"normalizer": {"type": "Lowercase"}},
        bert_tokenizer() | {"normalizer": None},
        bert_tokenizer() | {"pre_tokenizer": {"type": "Whitespace"}},
        bert_tokenizer() | {"post_processor": None},
        bert_tokenizer() | {"added_tokens": []},
    ],
)
def test_a_tokenizer_other_than_berts_is_read_by_the_library(tmp_path: Path, other: dict[str, object]) -> None:
    assert isinstance(read_tokenizer(written(tmp_path, other), LIMIT), LibraryPairs)


def test_half_a_surrogate_pair_is_accepted(tmp_path: Path) -> None:
    for tokenizer in (bert_tokenizer(), whole_word_tokenizer()):
        pairs = read_tokenizer(written(tmp_path, tokenizer), LIMIT).encode("cat \ud800", ["\udfff dog"])
        assert len(pairs[0].ids) == len(pairs[0].segments)


TEXTS = ["the dog fell", "the cat sat on the mat", "stock", ""]
SHARED = [1, 5, 0, 0]  # with "the cat sat on mat"
QUERY = "the cat sat on mat"
EVERY_TOKEN_COUNTS = "g (int64[n, s] input_ids) => (float[n] out) {f = Cast <to = 1> (input_ids) out = ReduceMax <axes = [1], keepdims = 0> (f)}"  # noqa: E501


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_a_directory_with_a_graph_and_a_tokenizer_is_a_reranker(tmp_path: Path) -> None:
    reranker: Reranker = CrossEncoder(write_cross_encoder(tmp_path / "tiny"))
    assert reranker.identity == "cross-encoder:tiny"
    assert reranker.score(QUERY, TEXTS) == pytest.approx([logistic(shared - THRESHOLD) for shared in SHARED])


def test_of_two_classes_the_second_is_relevance(tmp_path: Path) -> None:
    scores = CrossEncoder(write_cross_encoder(tmp_path, shared_words(classes=2))).score(QUERY, TEXTS)
    assert scores == pytest.approx([logistic(2 * (shared - THRESHOLD)) for shared in SHARED])


def test_inputs_are_given_in_the_kind_that_the_graph_declares(tmp_path: Path) -> None:
    narrow = CrossEncoder(write_cross_encoder(tmp_path / "narrow", shared_words(kind="int32")))
    wide = CrossEncoder(write_cross_encoder(tmp_path / "wide"))
    assert narrow.score(QUERY, TEXTS) == wide.score(QUERY, TEXTS)


def test_a_graph_may_take_the_ids_alone_and_name_its_output_as_it_likes(tmp_path: Path) -> None:
    assert CrossEncoder(write_cross_encoder(tmp_path, EVERY_TOKEN_COUNTS)).score("cat", ["dog"])[0] > 0.99


@pytest.mark.parametrize("at", ["model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_int8.onnx"])
def test_the_graph_is_found_where_exporters_put_it(tmp_path: Path, at: str) -> None:
    assert CrossEncoder(write_cross_encoder(tmp_path, at=at)).score("cat", ["cat", "dog"])[0] > 0.3


def test_the_graph_named_model_is_chosen_among_several(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, EVERY_TOKEN_COUNTS, at="onnx/model_int8.onnx")
    assert CrossEncoder(write_cross_encoder(tmp_path)).score("cat", ["dog"])[0] < 0.5


def test_several_graphs_with_other_names_are_refused(tmp_path: Path) -> None:
    write_cross_encoder(tmp_path, at="a.onnx")
    with pytest.raises(RerankingError, match=r"none is model\.onnx: a\.onnx, b\.onnx"):
        CrossEncoder(write_cross_encoder(tmp_path, at="b.onnx")).load()


@pytest.mark.parametrize("made", [True, False])
def test_a_directory_without_a_model_is_reported_when_scores_are_requested(tmp_path: Path, made: bool) -> None:
    directory = tmp_path / "empty"
    if made:
        directory.mkdir()
    reranker = CrossEncoder(directory)
    assert reranker.score("cat", []) == []
    with pytest.raises(RerankingError, match=r"empty gave no scores \(there is no ONNX model in it\)\. Give a direc"):
        reranker.score("cat", ["dog"])


def test_a_missing_or_broken_tokenizer_is_reported(tmp_path: Path) -> None:
    tokenizer = write_cross_encoder(tmp_path) / "tokenizer.json"
    for broken in ("<html>", "[]", '{"model": {}}', '{"model": {"type": "None such"}}'):
        tokenizer.write_text(broken, encoding="utf-8")
        with pytest.raises(RerankingError):
            CrossEncoder(tmp_path).load()
    tokenizer.unlink()
    with pytest.raises(RerankingError, match=r"tokenizer\.json"):
        CrossEncoder(tmp_path).load()


def test_a_broken_graph_is_reported_in_one_line(tmp_path: Path) -> None:
    (write_cross_encoder(tmp_path) / "model.onnx").write_bytes(b"not a graph")
    with pytest.raises(RerankingError, match=r"model\.onnx cannot be opened") as caught:
        CrossEncoder(tmp_path).load()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("graph", "output"),
    [
        ("g (int64[n, s] input_ids, int64[n, s] position_ids) => (int64[n, s] x) {x = Add (input_ids, position_ids)}",
         "takes input_ids, position_ids"),
        ("g (float[n, s] input_ids) => (float[n, s] x) {x = Neg (input_ids)}", "not the inputs"),
        ("g (int64[n, s] input_ids) => (float[n, s] x) {x = Cast <to = 1> (input_ids)}", "gave the shape"),
        ("g (int64[1, 2] input_ids) => (int64[1, 2] x) {x = Neg (input_ids)}", "cannot be run"),
        ("g (int64[n, s] input_ids) => (float[n] x) {f = Cast <to = 1> (input_ids)\n"
         "m = ReduceMin <axes = [1], keepdims = 0> (f)\n n = Neg (m)\n x = Log (n)}", "not finite"),
    ],
)  # fmt: skip
def test_a_graph_that_is_not_a_cross_encoder_is_refused(tmp_path: Path, graph: str, output: str) -> None:
    with pytest.raises(RerankingError, match=output):
        CrossEncoder(write_cross_encoder(tmp_path, graph)).score("cat", ["dog"])


def test_a_tokenizer_of_another_kind_is_read_by_the_library(tmp_path: Path) -> None:
    scores = CrossEncoder(write_cross_encoder(tmp_path, tokenizer=whole_word_tokenizer())).score(QUERY, TEXTS)
    assert scores == pytest.approx([logistic(shared - THRESHOLD) for shared in SHARED])


def test_without_the_library_its_install_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(RerankingError, match=r"Install it with `pip install tokenizers`\.$"):
        CrossEncoder(write_cross_encoder(tmp_path, tokenizer=whole_word_tokenizer())).load()
    assert CrossEncoder(write_cross_encoder(tmp_path / "bert")).score("cat", ["cat"])


def test_the_positions_of_the_model_are_not_exceeded(tmp_path: Path) -> None:
    limit = 16
    directory = write_cross_encoder(
        tmp_path, "g (int64[n, s] input_ids) => (float[n] x) {shape = Shape (input_ids) f = Cast <to = 1> (shape)\n"
        "length = ReduceMax <keepdims = 0> (f)\n i = Cast <to = 1> (input_ids)\n"
        "most = ReduceMax <axes = [1], keepdims = 0> (i)\n none = Sub (most, most)\n x = Add (none, length)}",
    )  # fmt: skip
    (directory / "config.json").write_text(json.dumps({"max_position_embeddings": limit}), encoding="utf-8")
    score = CrossEncoder(directory).score("cat", ["dog " * 400])[0]
    assert score == pytest.approx(logistic(limit))


def test_runs_hold_pairs_of_one_length_and_are_bounded() -> None:
    lengths = [8, 512, 8, 512, 512, 512, 512, 9]
    result = list(runs(lengths, TOKENS_A_RUN))
    assert sorted(position for run in result for position in run) == list(range(len(lengths)))
    assert all(len({lengths[position] for position in run}) == 1 for run in result)
    assert all(sum(lengths[position] for position in run) <= TOKENS_A_RUN for run in result)


def test_naming_a_reranker_imports_nothing_heavy() -> None:
    asked = "import sys; from nacre.models.cross_encoder import CrossEncoder; CrossEncoder('.'); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "onnxruntime", "tokenizers"} & {*result} == set()
