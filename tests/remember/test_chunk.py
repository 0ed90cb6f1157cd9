"""Cutting at sentences, else at words, else anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.remember.derive import chunk
from tests.embedders import WordBag


def cut(text: str, limit: int, reserved: int = 0) -> list[str]:
    return [text[start:end] for start, end in chunk(text, WordBag(token_limit=limit), reserved=reserved)]


def test_a_text_that_fits_is_one_chunk() -> None:
    assert cut("One two. Three four.", 4) == ["One two. Three four."]


def test_a_longer_one_is_cut_between_sentences_as_few_times_as_possible() -> None:
    assert cut("One two. Three four. Five six. Seven.", 4) == ["One two. Three four. ", "Five six. Seven."]


def test_a_sentence_too_long_is_cut_between_words() -> None:
    assert cut("one two three four five six seven", 3) == ["one two three ", "four five six ", "seven"]


def test_what_stands_before_each_chunk_takes_its_room() -> None:
    assert cut("one two three four five six", 4, reserved=2) == ["one two ", "three four ", "five six"]


def test_a_million_characters_without_a_space_are_cut_in_reasonable_time() -> None:
    class Letters(WordBag):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    spans = chunk("x" * 1_000_000, Letters(token_limit=256))
    assert len(spans) == 3907
