"""From settings to parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import ConfigError, EmbeddingMismatch, InvalidInput, UnknownName
from nacre.factory import embedder_from, make_embedder, open_backend, store_file
from nacre.models.background import BackgroundEmbedder
from nacre.settings import Settings
from nacre.storage.in_memory import InMemoryBackend
from nacre.storage.sqlite import SQLiteBackend
from tests.embedders import WordBag


def test_a_path_opens_a_file_and_the_name_of_memory_opens_none(tmp_path: Path) -> None:
    opened = open_backend(tmp_path / "s.db")
    assert isinstance(opened, SQLiteBackend)
    opened.close()
    assert isinstance(open_backend(":memory:"), InMemoryBackend)


def test_a_folder_gets_a_file_of_its_own_and_the_home_is_understood(tmp_path: Path, elsewhere: Path) -> None:
    assert store_file(tmp_path) == tmp_path / "nacre.db"
    assert store_file("~/x.db") == elsewhere / "x.db"


@pytest.mark.parametrize(
    "wrong",
    [{"on_conflict": "bogus"}, {"embedder": "nope"}, {"reranker": object()}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_refused_makes_no_store(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        MemoryStore(tmp_path / "s.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_used_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[SQLiteBackend] = []
    close = SQLiteBackend.close

    def noting(backend: SQLiteBackend) -> None:
        closed.append(backend)
        close(backend)

    monkeypatch.setattr(SQLiteBackend, "close", noting)
    with pytest.raises(InvalidInput):
        MemoryStore(tmp_path / "s.db", space="..", embedder="hashing")
    assert len(closed) == 1


@pytest.mark.parametrize("path", ["a\0.db", Path("a\0.db")])
def test_a_path_with_a_null_character_is_refused_with_the_remedy(path: Path | str) -> None:
    with pytest.raises(InvalidInput, match="null character; remove it"):
        MemoryStore(path, embedder="hashing")


@pytest.mark.parametrize("address", ["localhost:18790", "memory.example.org:443", "[::1]:8790", "127.0.0.1:8790/"])
def test_a_server_without_its_scheme_is_not_taken_for_a_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        MemoryStore(address, embedder="hashing")
    assert f"write http://{address} for" in str(refused.value) and list(tmp_path.iterdir()) == []


def test_a_file_may_be_named_like_a_host_with_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_file("./notes:2024") == Path("notes:2024")
    Path("notes:2024").touch()
    assert store_file("notes:2024") == Path("notes:2024")
    assert store_file("notes:2024.db") == Path("notes:2024.db")


@pytest.mark.parametrize("name", ["minilm2", "openai", "openai:", "sentence-transformers", ""])
def test_an_unknown_embedder_is_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="embedder"):
        make_embedder(Settings(embedder=name))


@pytest.mark.parametrize("restriction", [{"scope_types": "lesson"}, {"scope_spaces": "work"}, {"scope_quota_mb": 1.0}])
def test_a_restriction_that_would_restrict_nothing_is_refused(restriction: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="restricts nothing without scope"):
        MemoryStore(":memory:", settings=Settings(**restriction))


def test_an_embedder_is_taken_as_it_is_and_a_name_is_made() -> None:
    bag = WordBag()
    assert embedder_from(bag, Settings()) is bag
    assert embedder_from("hashing", Settings()).identity == "hashing-384"
    assert embedder_from(None, Settings(embedder="hashing")).identity == "hashing-384"


@pytest.mark.slow
def test_a_store_that_was_filled_with_the_other_shipped_embedder_opens_with_that_one(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", settings=replace(Settings(), embedder="english")) as store:
        store.remember("The kettle is in the cupboard")
    with MemoryStore(tmp_path / "m.db", settings=Settings()) as store:
        assert store.embedder.identity == "nacre-english-3"
        assert store.recall("Where is the kettle?")[0].memory.text == "The kettle is in the cupboard"
    background = BackgroundEmbedder(make_embedder(Settings()))
    with (
        MemoryStore(tmp_path / "m.db", settings=Settings(), embedder=background) as store,
        MemoryStore(tmp_path / "m.db", settings=Settings(), embedder=background) as again,
        MemoryStore(tmp_path / "new.db", settings=Settings(), embedder=background) as new,
    ):
        assert store.embedder.identity == "nacre-english-3" and store.embedder is again.embedder
        assert new.embedder is background and new.embedder.identity == "nacre-multilingual-3"


def test_an_embedder_that_the_user_names_is_not_replaced_by_that_of_the_store(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", settings=replace(Settings(), embedder="english")) as store:
        store.remember("The kettle is in the cupboard")
    with (
        MemoryStore(tmp_path / "m.db", settings=replace(Settings(), embedder="multilingual")) as store,
        pytest.raises(EmbeddingMismatch, match="nacre store reindex"),
    ):
        store.recall("Where is the kettle?")
