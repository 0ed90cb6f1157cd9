"""Which kind a path is."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.remember.guard import Guard
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_path
from nacre.transfer.sources import KINDS, Reading, kind_of, open_source, recognise
from tests.transfer.archives import opened
from tests.transfer.foreign.fixture_files import FIXTURES, taken, unpacked

CODEX = {"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}
GEMINI = {"sessionId": "s", "projectHash": "h", "startTime": "t", "messages": []}
CONTENTS = {
    "chatgpt": ("c.json", json.dumps([{"title": "t", "mapping": {}}])),
    "claude": ("c.json", json.dumps([{"uuid": "u", "chat_messages": []}])),
    "claude-code": ("c.jsonl", json.dumps({"type": "user", "sessionId": "s", "message": {"content": "x"}})),
    "codex": ("rollout.jsonl", json.dumps(CODEX)),
    "gemini-cli": ("session.json", json.dumps(GEMINI, indent=2)),
    "jsonl": ("x.jsonl", json.dumps({"text": "x"})),
    "csv": ("x.csv", "text\nx\n"),
    "markdown": ("x.md", "- x"),
    "server-memory": ("memory.json", json.dumps({"type": "entity", "name": "a", "observations": []})),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_are_recognised_by_what_is_in_them(tmp_path: Path, name: str) -> None:
    file, content = CONTENTS[name]
    (tmp_path / file).write_text(content)
    assert recognise(tmp_path / file).name == name


def test_archives_are_recognised_whatever_their_name(tmp_path: Path) -> None:
    with opened() as store:
        store.remember("x")
        export_archive(store, tmp_path / "x.csv")
    assert recognise(tmp_path / "x.csv").name == "archive"


def test_a_palace_is_a_chroma_store_with_wings_and_rooms(tmp_path: Path) -> None:
    unpacked("mempalace-chroma.sqlite3", tmp_path / "chroma.sqlite3")
    assert recognise(tmp_path).name == "chroma"
    memories, done = taken(tmp_path)
    rest = next(memory for memory in memories if "overnight" in memory.text)
    assert (rest.contexts, rest.tags, rest.source) == (("bakery",), ("recipes",), "mempalace")
    assert (rest.session, rest.position, rest.agent) == ("notes/rye.md", 0, "fixture")
    assert len(memories) == 3 and done.errors == 0 and rest.created_at > 1_700_000_000


def test_the_file_of_the_reference_server_is_read() -> None:
    path = FIXTURES / "server-memory.jsonl"
    assert recognise(path).name == "server-memory"
    memories, _ = taken(path)
    texts = {memory.text for memory in memories}
    assert texts == {
        "Oda: Repairs clocks", "Oda: Moved to Lund in 2019", "Oda: Plays the cello", "Clock shop: Opens at ten",
        "Lund (town)",
    }  # fmt: skip
    assert {link.rel for memory in memories for link in memory.links} == {"works_in", "lies_in"}


def test_what_is_not_known_is_refused_with_the_names(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    for path in (tmp_path / "x.bin", tmp_path / "none"):
        with pytest.raises(ArchiveRefused):
            recognise(path)
    with pytest.raises(UnknownName):
        kind_of(tmp_path / "x.bin", "diary")
    assert kind_of(tmp_path / "x.bin", "csv").name == "csv"


def test_a_table_in_utf_16_is_refused_with_the_way_to_save_it(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("text\nThe pier closes at dusk\n", "utf-16")
    with pytest.raises(ArchiveRefused, match=r"written in UTF-16\. Save it as UTF-8"):
        recognise(path)


def test_options_of_another_kind_are_refused(tmp_path: Path) -> None:
    for how in (Reading(Guard(), collections=("x",)), Reading(Guard(), columns={"a": "text"})):
        with pytest.raises(InvalidInput):
            open_source(tmp_path, KINDS["letta"], how)


@pytest.mark.parametrize("content", ["[]", " [ ] ", "{}", '{"results": []}', '{"memories": [], "total": 0}', "[{}]"])
def test_json_without_memories_is_called_that(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ArchiveRefused, match=r"it holds no memories\. Name the file"):
        recognise(tmp_path / "x.json")


def test_an_array_of_texts_comes_with_the_way_to_write_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(["one", "two"]))
    with pytest.raises(ArchiveRefused, match=r'an array of plain texts. Write each as {"text": "…"}'):
        recognise(path)
    path.write_text(json.dumps(["one", {"foo": 1}]))
    with pytest.raises(ArchiveRefused, match="no form that is known"):
        recognise(path)
    path.write_text("[")
    with pytest.raises(ArchiveRefused, match="no form that is known"):
        recognise(path)


def test_a_wrong_source_is_refused_with_the_one_that_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m0.json"
    path.write_text(json.dumps({"results": [{"id": "a", "memory": "Ada likes tea"}]}))
    with opened() as store:
        with pytest.raises(
            ArchiveRefused,
            match=r"not a SQLite database\. It is an export of mem0; import it with `--from mem0-export`",
        ) as renamed:
            import_path(store, path, source="mem0")
        assert isinstance(renamed.value.__cause__, ArchiveRefused)
        path.write_text("{" * 1_000)
        with pytest.raises(ArchiveRefused, match=r"not a SQLite database\. Name the right file"):
            import_path(store, path, source="mem0")


def test_the_cause_of_a_refusal_is_kept(tmp_path: Path) -> None:
    path = unpacked("langgraph.db", tmp_path / "langgraph.db")
    path.write_bytes(path.read_bytes()[:1024] + b"x" * 40_000)
    with opened() as store, pytest.raises(ArchiveRefused) as refused:
        import_path(store, path, source="langgraph")
    assert isinstance(refused.value.__cause__, sqlite3.DatabaseError)


def test_an_array_is_one_however_much_is_before_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(" " * 5_000 + json.dumps([{"text": "one"}, {"text": "two"}]))
    with opened() as store:
        assert import_path(store, path).imported == 2
