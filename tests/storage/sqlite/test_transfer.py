"""The rows of a file: damaged ones are refused, and an index of many vectors is made again."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from random import Random

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import StoreDamaged
from nacre.factory import open_backend
from nacre.model.journal import MEMORY
from nacre.model.memory import Json
from nacre.protocols import ALL
from nacre.settings import Settings
from nacre.storage.sqlite.transfer import with_space, without_space
from nacre.storage.tables import image_text
from nacre.transfer.migrate import migrate_store
from tests.samples import derived, memory, put, unit


@pytest.fixture
def source(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path / "source.db", embedder="hashing") as store:
        store.remember("The first line")
        store.remember("The second line")
    return tmp_path / "source.db"


def damage(file: Path, sql: str) -> None:
    connection = apsw.Connection(str(file))
    connection.execute(sql)
    connection.close()


def test_a_damaged_memory_is_refused_and_not_left_out(source: Path, tmp_path: Path) -> None:
    damage(source, "UPDATE version SET lists = '{broken' WHERE row = 1")
    with pytest.raises(StoreDamaged, match="doctor --fix"):
        migrate_store(source, tmp_path / "target.db", Settings())


def test_a_damaged_entry_of_the_journal_is_refused_too(source: Path, tmp_path: Path) -> None:
    damage(source, "UPDATE journal SET key = NULL, after = '{broken' WHERE seq = 2")
    with pytest.raises(StoreDamaged, match="entry 2 of its journal"):
        migrate_store(source, tmp_path / "target.db", Settings())


def test_a_damaged_term_is_refused_too(source: Path, tmp_path: Path) -> None:
    damage(source, "INSERT INTO vocabulary VALUES ('tag', 'x', '{broken')")
    with pytest.raises(StoreDamaged, match="vocabulary"):
        migrate_store(source, tmp_path / "target.db", Settings())


@pytest.mark.slow
def test_many_vectors_are_searched_by_their_signs_afterwards(tmp_path: Path) -> None:
    random = Random(5)
    rows = [
        (memory(f"m{number}"), derived(f"word{number % 40}", unit(*(random.gauss(0, 1) for _ in range(8)))))
        for number in range(5_000)
    ]
    with closing(open_backend(tmp_path / "source.db")) as store:
        put(store, *rows)
    migrate_store(tmp_path / "source.db", tmp_path / "target.db", Settings())
    with closing(open_backend(tmp_path / "source.db")) as one, closing(open_backend(tmp_path / "target.db")) as other:
        health = other.health(thorough=True)
        assert (health.vectors, health.problems) == (5_000, ())
        asked = unit(1, 0.5, 0.2)
        assert other.by_vector("here", asked, ALL, 20) == one.by_vector("here", asked, ALL, 20)


def test_the_name_of_a_space_goes_into_an_image_and_out_of_it_again() -> None:
    random, parts = Random(17), ['"space":null', '"', "\\", "{", "a", "ü", '"space":"a"', ","]

    def text() -> str:
        return "".join(random.choices(parts, k=random.randrange(6)))

    for _ in range(300):
        space, image = f"{text()}.", dict[str, Json](id=text(), text=text(), space=text(), metadata={"space": None})
        chosen = {name: value for name, value in image.items() if random.random() < 0.8}
        if random.random() < 0.5:
            chosen = {**chosen, "space": space}
        without = image_text(chosen, MEMORY, space)
        stored = with_space(without, MEMORY, space)
        assert json.loads(str(stored)) == chosen
        assert without_space(stored, MEMORY, space) == without
