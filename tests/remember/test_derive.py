"""Nothing is embedded twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.model.memory import piece_digest
from nacre.protocols import EmbedderIdentity
from nacre.remember.derive import chunk, chunk_memory, derive
from nacre.storage.in_memory import InMemoryBackend
from tests.embedders import WordBag
from tests.samples import memory, writing


@pytest.fixture
def embedder() -> WordBag:
    return WordBag(token_limit=8)


@pytest.fixture
def store(tmp_path: Path, embedder: WordBag) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as opened:
        yield opened


def test_identical_text_is_embedded_once_in_a_batch_and_never_again(store: MemoryStore, embedder: WordBag) -> None:
    store.remember_many(["the same words", "the same words", "other words"])
    assert sorted(embedder.asked) == ["other words", "the same words"]
    store.remember("the same words")
    assert len(embedder.asked) == 2


def test_of_a_long_text_only_the_changed_piece_is_embedded_again(store: MemoryStore, embedder: WordBag) -> None:
    sentences = [f"Sentence number {i} stands here quite alone. " for i in range(5)]
    kept = store.remember("".join(sentences))
    assert len(embedder.asked) == 5
    sentences[2] = "Another sentence stands here now, quite alone. "
    store.edit(kept.id, text="".join(sentences))
    assert embedder.asked[5:] == [sentences[2]]


def test_the_title_stands_before_each_chunk() -> None:
    embedder = WordBag(token_limit=6)
    chunks, pieces = chunk_memory(memory(text="one two three four. five six seven eight", title="My title"), embedder)
    assert pieces == ["My title\n\none two three four. ", "My title\n\nfive six seven eight"]
    assert [(c.start, c.end) for c in chunks] == [(0, 20), (20, 40)]


def test_a_long_title_leaves_half_of_the_room_to_the_text() -> None:
    embedder = WordBag(token_limit=10)
    title = " ".join(f"t{i}" for i in range(40))
    _, pieces = chunk_memory(memory(text=" ".join(f"w{i}" for i in range(12)), title=title), embedder)
    assert max(embedder.count_tokens(pieces)) <= 10
    assert "w11" in pieces[-1]
    assert pieces[0].startswith("t0 t1 t2 t3 t4\n\nw0")


def test_vectors_of_another_model_are_not_taken_for_ours(embedder: WordBag) -> None:
    store = InMemoryBackend()
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("another", 64))
        transaction.put(memory(text="word"), derive([memory(text="word")], embedder, store)[0])
    embedder.asked.clear()
    derive([memory(text="word")], embedder, store)
    assert embedder.asked == ["word"]


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


class Letters(WordBag):
    counted = 0

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.counted += sum(map(len, texts))
        return [len(text) for text in texts]


def test_a_million_characters_without_a_space_are_counted_once() -> None:
    embedder = Letters(token_limit=256)
    text = "x," * 500_000
    spans = chunk(text, embedder)
    assert len(spans) == 3907
    assert embedder.counted == len(text)


@pytest.mark.parametrize("data", ["x" * 200_000, "QUJD+/0123-_" * 20_000 + "==", "0af9" * 50_000])
def test_of_encoded_data_the_beginning_alone_is_embedded(data: str) -> None:
    embedder = Letters(token_limit=512)
    before, after = "The logo of the office in Bergen: 图", " is used on every letter."
    chunks, pieces = chunk_memory(memory(text=before + data + after), embedder)
    assert pieces == [before + data[:200] + after]
    assert [(each.start, each.end) for each in chunks] == [(0, len(before + data + after))]
    assert chunks[0].digest == piece_digest(before + data + after)
    assert embedder.counted < 1_000


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n    "])
@pytest.mark.parametrize("width", [60, 76])
def test_of_encoded_data_in_lines_the_beginning_alone_is_embedded(line_end: str, width: int) -> None:
    embedder = Letters(token_limit=512)
    data = line_end.join([("aB3+/" * 20)[:width]] * 500)
    before, after = "The key of the server in Bergen. It is new:\n", "==\n\nIt is kept in the safe."
    chunks, pieces = chunk_memory(memory(text=before + data + after), embedder)
    assert pieces == [before + data[:200] + after.removeprefix("==")]
    assert [(each.start, each.end) for each in chunks] == [(0, len(before + data + after))]
    assert embedder.counted < 1_000


def test_lines_of_words_are_embedded_whole() -> None:
    text = "\n".join(["the-list-of-what-is-kept-in-the-store-room-of-the-house-by-the-sea and more"] * 60)
    _, pieces = chunk_memory(memory(text=text), Letters(token_limit=512))
    assert "".join(pieces) == text


def test_a_long_word_that_is_no_encoded_data_is_embedded_whole() -> None:
    text = "図" * 3_000
    _, pieces = chunk_memory(memory(text=text), Letters(token_limit=512))
    assert "".join(pieces) == text
