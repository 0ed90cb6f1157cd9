"""From settings to parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import UnknownName
from nacre.factory import embedder_from, make_embedder, open_backend, store_file
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


@pytest.mark.parametrize("name", ["minilm2", "openai", "openai:", "sentence-transformers", ""])
def test_an_unknown_embedder_is_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="embedder"):
        make_embedder(Settings(embedder=name))


def test_an_embedder_is_taken_as_it_is_and_a_name_is_made() -> None:
    bag = WordBag()
    assert embedder_from(bag, Settings()) is bag
    assert embedder_from("hashing", Settings()).identity == "hashing-384"
    assert embedder_from(None, Settings(embedder="hashing")).identity == "hashing-384"
