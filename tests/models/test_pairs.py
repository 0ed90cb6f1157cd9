"""Pairs of token ids, held against the `tokenizers` library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.models.cross_encoder import LibraryPairs, PairTokenizer, WordPiecePairs, kept, read_tokenizer
from nacre.models.wordpiece import WordPiece, cased_words
from tests.cross_encoders import SPECIAL, WORDS, bert_tokenizer, whole_word_tokenizer

LIMIT = 17  # leaves an even room: of an odd one, two texts that both overfill it may share the last id otherwise
PARTS = [*WORDS, *SPECIAL, "CATS", "É", "unheard", "北京", "\x01", "\u00a0"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=30).map(" ".join)


def written(folder: Path, tokenizer: dict[str, object]) -> Path:
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(tokenizer), encoding="utf-8")
    return file


@pytest.fixture(scope="module", params=["uncased", "cased"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PairTokenizer, ...]:
    file = written(tmp_path_factory.mktemp(request.param), bert_tokenizer(cased=request.param == "cased"))
    return read_tokenizer(file, LIMIT), LibraryPairs(file, LIMIT)


@given(query=TEXTS, texts=st.lists(TEXTS, max_size=3))
def test_our_pairs_are_the_librarys_pairs(
    both: tuple[PairTokenizer, PairTokenizer], query: str, texts: list[str]
) -> None:
    ours, theirs = both
    assert isinstance(ours, WordPiecePairs)
    assert ours.encode(query, texts) == theirs.encode(query, texts)


@given(first=st.integers(0, 60), second=st.integers(0, 60), room=st.integers(1, 40))
def test_the_longer_text_gives_way_first(first: int, second: int, room: int) -> None:
    of_first, of_second = kept(first, second, room)
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
def test_what_differs_from_bert_is_left_to_the_library(tmp_path: Path, other: dict[str, object]) -> None:
    assert isinstance(read_tokenizer(written(tmp_path, other), LIMIT), LibraryPairs)


def test_half_a_surrogate_pair_harms_neither(tmp_path: Path) -> None:
    for tokenizer in (bert_tokenizer(), whole_word_tokenizer()):
        pairs = read_tokenizer(written(tmp_path, tokenizer), LIMIT).encode("cat \ud800", ["\udfff dog"])
        assert len(pairs[0].ids) == len(pairs[0].segments)
