"""What was caught is in no byte of the file, its log, the journal's mirror or the program's log; by any face."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.lessons import LessonBook
from nacre.minds import CognitiveMemory, Experience, ExperienceStore, ExperienceType, HierarchicalMemory
from nacre.settings import Settings
from nacre.transfer.export import export_archive

# Put together here, so that no file holds what a scanner would take for a key.
SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
SAID = f"The deploy token is {SECRET}, ask before using it"
Way = Callable[[MemoryStore], object]


def experience() -> Experience:
    return Experience(ExperienceType.SUCCESS, SAID, SAID, 0.9, metadata={"token": SECRET}, tags=[SECRET])


WAYS: dict[str, Way] = {
    "remember": lambda s: s.remember_result(SAID),
    "replaces": lambda s: s.remember(SAID, replaces="known"),
    "write": lambda s: s.write("act", new=[s.draft(SAID)], why=SAID),
    "record": lambda s: s.write("act", new=[replace(s.draft("x"), text=SAID, tags=(SECRET,))]),
    "edits": lambda s: s.write("act", edits={"known": lambda memory: replace(memory, text=SAID, title=SAID)}),
    "relation": lambda s: s.register_relation("deploys", SAID),
    "space": lambda s: s.create_space("deploys", SAID),
    "merge": lambda s: s.merge("known", "other", text=SAID, why=SAID),
    "sensory": lambda s: CognitiveMemory(s.space, store=s).record_sensory("terminal", SAID),
    "working": lambda s: CognitiveMemory(s.space, store=s).push_working("note", SAID, "task"),
    "fact": lambda s: CognitiveMemory(s.space, store=s).store_fact("deploys", SAID, tags=[SECRET]),
    "procedure": lambda s: CognitiveMemory(s.space, store=s).store_procedure("deploy", [SAID], [SAID]),
    "prospect": lambda s: CognitiveMemory(s.space, store=s).store_prospective(SAID, SAID, SAID),
    "knowledge": lambda s: HierarchicalMemory(s.space, store=s).store_knowledge(SAID, concept=SAID, tags=[SECRET]),
    "experience": lambda s: ExperienceStore(s.space, store=s).add(experience()),
    "lesson": lambda s: LessonBook(store=s).learn("Deploy", SAID, source_notes=SAID, metadata={"token": SECRET}),
    "update": lambda s: LessonBook(store=s).update(LessonBook(store=s).learn("A", "b").data.id, content=SAID),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_byte_of_a_secret_is_left(way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    known = Settings(embedder="hashing", journal_mirror=str(tmp_path / "mirror.jsonl"))
    store = MemoryStore(tmp_path / "s.db", space="agent", settings=known)
    store.remember("plain words", id="known")
    store.remember("other words", id="other")
    WAYS[way](store)
    written = [file for file in tmp_path.iterdir() if file.is_file()]
    assert {file.name for file in written} >= {"s.db", "s.db-wal", "mirror.jsonl"}
    for file in written:
        assert SECRET.encode() not in file.read_bytes(), file.name
    assert SECRET not in caplog.text
    assert SECRET not in json.dumps([memory.to_dict() for memory in store.iterate()])
    store.close()


def test_an_export_of_what_was_kept_carelessly_holds_none(tmp_path: Path) -> None:
    careless = MemoryStore(tmp_path / "s.db", settings=Settings(embedder="hashing", secrets="allow"))
    careless.remember(SAID, metadata={"token": SECRET})
    careless.close()
    store = MemoryStore(tmp_path / "s.db", settings=Settings(embedder="hashing"))
    export_archive(store, tmp_path / "out.nacre")
    assert SECRET.encode() not in gzip.decompress((tmp_path / "out.nacre").read_bytes())
    store.close()
