"""The examination of a file: a sound one is called sound, also when others have written to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.lifecycle.doctor import examine
from nacre.models.embedders import Hashing
from nacre.settings import Settings

WRITE_AND_PURGE = """
import sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing", on_conflict="ignore") as store:
    for number in range(20):
        made = store.remember_many(f"alpha beta gamma {number} {place} delta" for place in range(40))
        store.purge(*(memory.id for memory in made))
"""


@pytest.mark.slow
def test_a_sound_file_is_called_sound_after_another_process_has_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with MemoryStore(path, embedder="hashing", on_conflict="ignore") as store:
        store.remember("The lamp is green")
        assert store.health(thorough=True).problems == ()
        subprocess.run([sys.executable, "-c", WRITE_AND_PURGE, str(path)], check=True)
        assert store.health(thorough=True).problems == ()


@pytest.mark.parametrize("fields", [{}, {"title": "Of lamps"}, {"title": "of lamps and " * 75, "role": "Ann"}])
def test_a_text_of_which_a_byte_has_changed_is_named(tmp_path: Path, fields: dict[str, str]) -> None:
    path, in_pieces = tmp_path / "store.db", Hashing().embed  # as a function, which reads long texts in pieces
    with MemoryStore(path, embedder=in_pieces, on_conflict="ignore", space="hall") as store:
        store.remember("The lamp is green", id="lamp", **fields)  # type: ignore[arg-type]
        store.remember("The door is painted blue. " * 400, id="door", **fields)  # type: ignore[arg-type]
        store.remember("The floor is grey", id="floor", title="Below", on_conflict="ignore")
        store.edit("floor", title="Above", text="The floor is white")
        assert store.health(thorough=True).notes == ()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE content SET text = replace(text, 'green', 'greeo') WHERE text LIKE '%green'")
    connection.close()
    with MemoryStore(path, embedder=in_pieces, space="hall") as store:
        (note,) = store.health(thorough=True).notes
        assert note.startswith("The text of lamp (space hall) and its digest disagree")
        store.edit("lamp", text="The lamp is green")
        assert store.health(thorough=True).notes == ()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE counter SET n = n + 1 WHERE field = 'term' AND name = 'lamp'",
        "DELETE FROM counter WHERE field = 'term' AND name = 'green'",
        "INSERT INTO counter SELECT space, field, status, 'no stem', 1 FROM counter WHERE name = 'lamp'",
        "UPDATE counter SET name = CAST(x'ff' AS TEXT) WHERE field = 'term' AND name = 'lamp'",
        "UPDATE counter SET n = n + 1 WHERE field = 'tags' AND name = 'light'",
        "UPDATE journal SET stems = stems + 1",
    ],
)
def test_counters_that_do_not_fit_the_memories_are_found_and_computed_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "store.db"
    with MemoryStore(path, embedder="hashing", on_conflict="ignore", space="hall") as store:
        store.remember_many([{"text": "The lamp is green", "tags": ["light"]}, "The door is painted green"])
        assert store.health(thorough=True).problems == ()
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    assert connection.changes() > 0
    connection.close()
    with MemoryStore(path, embedder="hashing", space="hall") as store:
        assert store.health().problems == ()
        (problem,) = store.health(thorough=True).problems
        assert problem.startswith("The counters of words and names ") and "nacre store reindex" in problem
        store.reindex()
        assert store.health(thorough=True).problems == ()


def test_many_altered_texts_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with MemoryStore(path, embedder="hashing", on_conflict="ignore") as store:
        store.remember_many(f"lamp number {number} is green" for number in range(9))
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE content SET text = replace(text, 'green', 'grey')")
    connection.close()
    with MemoryStore(path, embedder="hashing") as store:
        notes = store.health(thorough=True).notes
    assert len(notes) == 6 and notes[-1].startswith("4 more texts")
    findings = examine(Settings(store=str(path), embedder="hashing"))
    integrity = [each for each in findings if each.check == "integrity"]
    assert {each.level for each in integrity} == {"warning"} and not any("undamaged" in e.message for e in findings)
