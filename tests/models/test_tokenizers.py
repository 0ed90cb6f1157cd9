from __future__ import annotations

from nacre.models.tokenizers import CACHED_WORDS, WordPiece, words


def test_words_are_lowercase_without_accents_and_apart_from_punctuation() -> None:
    assert words("Crème brûlée, s'il-vous!") == ["creme", "brulee", ",", "s", "'", "il", "-", "vous", "!"]


def test_ideographs_stand_alone() -> None:
    assert words("在北京ok") == ["在", "北", "京", "ok"]


def test_control_characters_vanish_and_odd_spaces_part_words() -> None:
    assert words("a\x00b\u200dc\u00a0d\te") == ["abc", "d", "e"]


def test_ids_are_cut_between_the_markers(tokenizer: WordPiece) -> None:
    ids = tokenizer.encode("one two three four five", 4)
    assert len(ids) == 4 and ids[0] == tokenizer.start and ids[-1] == tokenizer.end


def test_counting_reads_the_whole_text(tokenizer: WordPiece) -> None:
    assert tokenizer.count("word " * 1000) == 1000
    assert tokenizer.count("") == 0


def test_the_cache_of_words_stays_bounded(tokenizer: WordPiece) -> None:
    tokenizer.count(" ".join(f"w{number}" for number in range(CACHED_WORDS + 10)))
    assert len(tokenizer._known) <= CACHED_WORDS
