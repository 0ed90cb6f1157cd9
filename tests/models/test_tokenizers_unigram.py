from __future__ import annotations

import pytest

from nacre.models import tokenizers
from nacre.models.pieces import StoredPieces, sorted_checksums
from nacre.models.tokenizers import CACHED_LENGTH, CACHED_WORDS, END_ID, START_ID, UNKNOWN_ID, Unigram

PIECES = ["<unk>", "<s>", "</s>", "▁", "▁new", "▁news", "paper", "s", "p", "a", "per", "▁a"]
SCORES = [0.0, 0.0, 0.0, -4.0, -3.0, -6.0, -3.0, -2.0, -5.0, -5.0, -4.0, -2.0]


def unigram() -> Unigram:
    lines = "".join(f"{piece}\n" for piece in PIECES).encode()
    return Unigram(StoredPieces(lines, sorted_checksums(PIECES)), SCORES, min(SCORES))


def pieces(text: str, limit: int = 100) -> list[str]:
    return [PIECES[id] for id in unigram().encode(text, limit)]


def test_a_word_is_split_into_the_likeliest_pieces() -> None:
    assert pieces("newspaper") == ["<s>", "▁new", "s", "paper", "</s>"]


def test_every_word_begins_with_a_mark_of_its_own() -> None:
    assert pieces("  a   news ") == ["<s>", "▁a", "▁new", "s", "</s>"]


def test_a_character_that_no_piece_has_is_unknown_and_the_rest_is_read() -> None:
    assert pieces("newß") == ["<s>", "▁new", "<unk>", "</s>"]


def test_an_empty_text_is_one_unknown_piece() -> None:
    assert unigram().encode(" \n", 8) == [START_ID, UNKNOWN_ID, END_ID]


def test_ids_are_cut_between_the_markers_and_counted_without_them() -> None:
    assert pieces("newspaper newspaper", 5) == ["<s>", "▁new", "s", "paper", "</s>"]
    assert unigram().count("newspaper newspaper") == 6


def test_compatible_characters_are_one() -> None:
    assert pieces("ｎｅｗｓ\u3000ａ") == pieces("news a")


@pytest.mark.slow
def test_the_cache_holds_short_words_only_and_stays_bounded() -> None:
    tokenizer = unigram()
    tokenizer.encode("x" * (CACHED_LENGTH + 1), 8)
    assert not tokenizer._known
    tokenizer.count(" ".join(f"w{number}" for number in range(CACHED_WORDS + 10)))
    assert 0 < len(tokenizer._known) <= CACHED_WORDS


def test_pieces_with_the_same_checksum_are_told_apart() -> None:
    same = ["plumless", "buckeroo"]  # of one CRC-32
    order = sorted_checksums(same)
    assert order[0][0] == order[0][1]
    stored = StoredPieces(b"plumless\nbuckeroo\n", order)
    assert [stored.get(piece) for piece in (*same, "plum", "\ud800")] == [0, 1, None, None]


@pytest.mark.parametrize("text", ["newspaper" * 20, "per" * 40 + "ß" * 9 + "newsp", "ßa" * 50, "s"])
def test_knowing_how_long_pieces_are_changes_no_split(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "MANY_LETTERS", 0)
    stored = StoredPieces("".join(f"{piece}\n" for piece in PIECES).encode(), sorted_checksums(PIECES))
    knowing = Unigram(stored, SCORES, min(SCORES), stored.lengths)
    assert knowing.split(text) == unigram().split(text)


def test_of_a_script_without_blanks_hardly_more_than_its_pieces_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "MANY_LETTERS", 500)
    stored = Counted("".join(f"{piece}\n" for piece in PIECES).encode(), sorted_checksums(PIECES))
    knowing = Unigram(stored, SCORES, min(SCORES), stored.lengths)
    for _ in range(6):
        stored.asked = 0
        knowing.split("部署" * 50)
    assert stored.asked <= 102


class Counted(StoredPieces):
    asked = 0

    def get(self, piece: str, /) -> int | None:
        self.asked += 1
        return super().get(piece)
