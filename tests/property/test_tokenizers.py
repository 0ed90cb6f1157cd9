"""Our WordPiece against the `tokenizers` library, over many scripts."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from nacre.models.shipped import WEIGHTS
from nacre.models.tokenizers import WordPiece, WordPiecePairs, shared_room

LIMIT = 256
PAIR_LIMIT = 17  # leaves an even room: of an odd one, two texts that both overfill it may share the last id otherwise
FRAGMENTS = (
    "The quick brown fox", "naïve café", "Ελληνικός ΟΔΟΣ", "Привет, мир", "北京大学", "こんにちは世界",
    "안녕하세요", "שלום", "مرحبا", "नमस्ते", "สวัสดี", "İstanbul ﬁn ß", "don't stop!", "[SEP]", "[MASK]x", "[cls]",
    "x" * 101, "🙂👩‍👩‍👧", "C:\\Temp\\a_b.txt", "3.14e-10",
)  # fmt: skip
UNUSED = ("Cn", "Co", "Cs")  # unassigned, private, halves of a pair
LETTERS_SKIPPED = 16  # ideographs and syllables by the ten thousand, all treated alike


def settled(character: str) -> bool:
    """Of the same kind since Unicode 3.2: for younger characters the library's tables are older than Python's."""
    kind = unicodedata.category(character)
    return kind not in UNUSED and kind == unicodedata.ucd_3_2_0.category(character)


@cache
def settled_characters() -> list[str]:
    """Made when the first test asks: it takes a second or two."""
    assigned = [character for character in map(chr, range(sys.maxunicode + 1)) if settled(character)]
    letters = [character for character in assigned if unicodedata.category(character) == "Lo"]
    return sorted({*assigned} - {*letters}) + letters[::LETTERS_SKIPPED]


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(FRAGMENTS),
        st.text(st.deferred(lambda: st.sampled_from(settled_characters())), max_size=20),
        st.text(st.characters(codec="ascii"), max_size=30),
    ),
    max_size=8,
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda joint: joint.join(parts)))


@pytest.fixture(scope="module")
def file() -> Path:
    return WEIGHTS / "wordpiece.txt"


@pytest.fixture(scope="module")
def ours(file: Path) -> WordPiece:
    return WordPiece.from_vocabulary(file)


@pytest.fixture(scope="module")
def theirs(file: Path) -> BertWordPieceTokenizer:
    library = BertWordPieceTokenizer(str(file))
    library.enable_truncation(LIMIT)
    return library


@pytest.mark.slow
@given(text=TEXTS)
def test_our_ids_are_the_librarys_ids(text: str, ours: WordPiece, theirs: BertWordPieceTokenizer) -> None:
    assert ours.encode(text, LIMIT) == theirs.encode(text).ids


@pytest.mark.slow
def test_every_settled_character_is_read_as_the_library_reads_it(
    ours: WordPiece, theirs: BertWordPieceTokenizer
) -> None:
    texts = [f"ab{character}Cd {character}" for character in settled_characters()]
    differing = [
        text
        for text, encoded in zip(texts, theirs.encode_batch(texts), strict=True)
        if ours.encode(text, LIMIT) != encoded.ids
    ]
    assert differing == []


@pytest.fixture(scope="module")
def their_pairs(file: Path) -> BertWordPieceTokenizer:
    library = BertWordPieceTokenizer(str(file))
    library.enable_truncation(PAIR_LIMIT, strategy="longest_first")
    return library


@given(first=TEXTS, second=TEXTS)
def test_our_pairs_are_the_librarys_pairs(
    first: str, second: str, ours: WordPiece, their_pairs: BertWordPieceTokenizer
) -> None:
    pair, encoded = WordPiecePairs(ours, PAIR_LIMIT).encode(first, second), their_pairs.encode(first, second)
    assert (pair.ids, pair.segments) == (encoded.ids, encoded.type_ids)


@given(first=st.integers(0, 60), second=st.integers(0, 60), room=st.integers(1, 40))
def test_the_longer_text_is_cut_first(first: int, second: int, room: int) -> None:
    of_first, of_second = shared_room(first, second, room)
    assert of_first + of_second == min(first + second, room)
    assert of_first <= first and of_second <= second
    assert of_first == first or of_first >= of_second - 1
    assert of_second == second or of_second >= of_first - 1
