"""Any text that a person can type is kept, given back and found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.text.tokens import stems
from tests import postgres_server
from tests.embedders import WordBag
from tests.property.strategies import characters, texts

# SQLite's tables call the Canadian syllabics' chi sign punctuation, Python's a picture.
DISPUTED = "\u166d"
awkward = st.sampled_from(
    ['"', "'; DROP TABLE memory; --", "AND OR NOT", "NEAR(a b)", "a* ^b", "{x}", "col: y", "\u202eabc\u202c",
     "مرحبا بالعالم", "שלום עולם", "👩‍👩‍👧‍👦 family", "🇩🇪", "e\u0301\u0301\u0301", "\ue000\uf8ff", "\x01\x1f\x7f",
     "a\u200bb", "\ufeffbom", "𝒳𝒴", "ﷺ", "ͺ", "½ ⑴", "ไทยแลนด์", "नमस्ते दुनिया", "中文字符", "x" * 5000,
     "a" + ":" * 300, "\r\n\t tab", "C:\\dir\\file", "%s %d {}"]
)  # fmt: skip
typed = (texts | awkward | st.tuples(awkward, texts).map(" ".join)).filter(str.strip)


@pytest.fixture(scope="module", params=["sqlite", "in_memory", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    place: Path | str = tmp_path_factory.mktemp("texts") / "store.db" if request.param == "sqlite" else ":memory:"
    if request.param == "postgres":
        place = postgres_server.empty_database()
    with MemoryStore(place, embedder=WordBag()) as opened:
        yield opened


@pytest.mark.slow
@given(text=typed)
@example(text="ͺ")
@example(text="🤖 🫠")
def test_a_text_is_kept_unchanged_and_found_by_its_own_words(store: MemoryStore, text: str) -> None:
    kept = store.remember(text)
    try:
        found = store.get(kept.id)
        assert found is not None
        assert found.text == text.strip()
        if stems(text.replace(DISPUTED, " ")):
            assert kept.id in [hit.memory.id for hit in store.recall(text, k=3, strategy="keyword")]
        if stems(text) or re.search(r"\w", text):  # a quotation mark alone asks for nothing
            assert kept.id in [hit.memory.id for hit in store.recall(text, k=3)]
    finally:
        store.purge(kept.id)


@given(query=st.text(max_size=60) | awkward, strategy=st.sampled_from(["auto", "semantic", "keyword"]))
def test_no_question_is_an_error(store: MemoryStore, query: str, strategy: str) -> None:
    if store.count() == 0:
        store.remember("something to be found")
    try:
        assert len(store.recall(query, strategy=strategy, touch=False)) >= 0
    except InvalidInput as error:
        assert "empty" in str(error) and not re.search(r"\w", query)


@given(title=st.text(characters, max_size=40), tags=st.lists(st.text(characters, max_size=20), max_size=3))
def test_titles_and_tags_of_any_characters_are_kept_and_searched(
    store: MemoryStore, title: str, tags: list[str]
) -> None:
    kept = store.remember("a text", title=title, tags=tags)
    try:
        assert (kept.title, set(kept.tags)) == (title.strip(), {tag.strip() for tag in tags} - {""})
        assert store.get(kept.id) == kept
        for tag in kept.tags:
            assert kept.id in [found.id for found in store.list_recent(tag=tag)]
    finally:
        store.purge(kept.id)
