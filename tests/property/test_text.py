"""Any text that a person can type is cut, stemmed and chunked without harm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.remember.derive import chunk
from nacre.text.tokens import LONGEST, content_stems, sentence_spans, stems, word_spans, words
from tests.embedders import WordBag
from tests.growth import grows_in_proportion
from tests.property.strategies import texts

prose = st.lists(
    st.sampled_from(["One two. ", "Three! ", "four\n", "five ", "猫が好き。", "x" * 90, "… ", "a:b ", " "])
).map("".join)


def covers(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    return spans[0][0] == start and spans[-1][1] == end and all(a[1] == b[0] for a, b in pairwise(spans))


@settings(max_examples=settings().max_examples * 2)
@given(text=texts | prose)
def test_words_have_no_spaces_and_content_stems_are_some_of_the_stems(text: str) -> None:
    found = words(text)
    assert all(word and not any(sign.isspace() for sign in word) for word in found)
    assert set(content_stems(text)) <= set(stems(text))
    assert bool(content_stems(text)) == bool(found)


@given(text=texts | prose)
def test_case_and_composition_do_not_matter_to_words(text: str) -> None:
    import unicodedata

    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign", [":", "-", "->", ".", "_", "'", "’", "::", "a:", "a->", "'s", "\u0301", "क", "。", "@", "\\", ". ", "\n"]
)
def test_no_run_of_any_sign_takes_long_to_cut(sign: str) -> None:
    assert grows_in_proportion(lambda text: (words(f"x{text}"), sentence_spans(f"x{text}")), sign, " ")


@given(text=(texts | prose).filter(bool))
def test_sentence_and_word_spans_cover_the_text_without_a_gap(text: str) -> None:
    assert covers(sentence_spans(text), 0, len(text))
    assert covers(word_spans(text, len(text) // 3, len(text)), len(text) // 3, len(text))


@given(text=(texts | prose).filter(str.strip), limit=st.integers(1, 40), reserved=st.integers(0, 60))
@example(text="x" * 5000, limit=7, reserved=0)
def test_chunks_cover_the_text_and_none_exceeds_what_the_embedder_reads(text: str, limit: int, reserved: int) -> None:
    embedder = CharacterCount(token_limit=limit)
    spans = chunk(text, embedder, reserved=reserved)
    room = max(limit - reserved, limit // 2, 1)
    assert covers(spans, 0, len(text))
    assert all(start < end for start, end in spans)
    assert max(embedder.count_tokens([text[start:end] for start, end in spans])) <= room


class CharacterCount(WordBag):
    """Its tokens are characters other than spaces, two for a long one: more than one a word, unlike the plain bag."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len("".join(text.split())) for text in texts]


def test_a_cut_word_is_cut_alike_in_text_and_question() -> None:
    long = "z" * (3 * LONGEST)
    assert words(long) == words(long + " ") == ["z" * LONGEST]
