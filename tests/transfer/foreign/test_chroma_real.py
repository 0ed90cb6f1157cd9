"""A folder that Chroma itself wrote, in the way in which AI-Houkai uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.models.embedders import Hashing
from nacre.transfer.import_archive import import_path
from tests.transfer.archives import opened
from tests.transfer.chroma_folders import fingerprint, houkai

chromadb = pytest.importorskip("chromadb", reason="only where Chroma is installed")
pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = [
    "The ferry to the island leaves at nine from the northern quay",
    "Bread dough rises twice before it goes into the oven",
    "The staging database is restored every Sunday night",
    "Marta prefers tea with lemon and no sugar",
    "Invoices are numbered by year and then by customer",
    "A red flag on the beach means that nobody may swim",
    "The build fails when two branches change the lock file",
    "Uncle Piet keeps bees behind the old mill",
    "Train tickets are cheaper when bought a week before",
    "The violin was repaired by a maker in Cremona",
    "Passwords are rotated after ninety days",
    "Mushrooms from the forest are dried on the attic floor",
]
QUESTIONS = [
    "when does the ferry leave for the island",
    "how often does bread dough rise before the oven",
    "restore of the staging database on Sunday",
    "tea with lemon for Marta",
    "how are invoices numbered",
    "what does a red flag on the beach mean",
    "why the build fails with the lock file",
    "who keeps bees behind the mill",
    "are train tickets cheaper a week before",
    "who repaired the violin in Cremona",
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    client = chromadb.PersistentClient(
        path=str(tmp_path / "chroma"), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )
    yield client
    client.close()


def vectors(texts: list[str]) -> list[list[float]]:
    return [[float(each) for each in row] for row in Hashing().embed(texts)]


def write(collection: Any, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        links = json.dumps([{"to": "m0", "rel": "related"}] if number else [])
        meta = houkai("", "", links=links, tags="a,b", access_count=number).meta
        collection.add(ids=[f"m{number}"], documents=[text], embeddings=vectors([text]), metadatas=[dict(meta)])


def test_it_comes_whole_and_recalls_the_same(client: Any, tmp_path: Path) -> None:
    collection = client.get_or_create_collection("ai_houkai", metadata={"hnsw:space": "cosine"})
    write(collection, TEXTS)
    collection.update(ids=["m3"], metadatas=[{"access_count": 40}])
    collection.delete(ids=["m11"])
    first = [collection.query(query_embeddings=vectors([each]), n_results=1)["ids"][0][0] for each in QUESTIONS]
    before = fingerprint(tmp_path / "chroma")
    store = opened()
    done = import_path(store, tmp_path / "chroma", source="chroma")
    assert (done.imported, done.errors, done.vectors_regenerated, done.notes) == (11, 0, 11, ())
    assert fingerprint(tmp_path / "chroma") == before
    third = store.get("m3")
    assert third is not None and (third.access_count, third.tags, third.links[0].to) == (40, ("a", "b"), "m0")
    assert [store.recall(each, strategy="semantic").hits[0].memory.id for each in QUESTIONS] == first
    assert [store.recall(each).hits[0].memory.id for each in QUESTIONS] == first
