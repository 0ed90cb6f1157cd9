"""nacre import with the name of another program's memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.transfer.chroma_folders import fingerprint, folder, houkai

FERRY = "The ferry to the island leaves at nine"


@pytest.fixture
def chroma(tmp_path: Path) -> Path:
    return folder(
        tmp_path / "chroma", ai_houkai=[houkai("a", FERRY), houkai("b", "The bus is late"), houkai("c", None)]
    )


def test_a_folder_of_chroma_is_looked_at_brought_and_taken_back(nacre: CommandLine, chroma: Path) -> None:
    before = fingerprint(chroma)
    would = nacre("import", "chroma", str(chroma), "--dry-run")
    assert would.exit_code == 0 and "Would import 2 memories; 2 to be embedded, 1 row passed over." in would.stderr
    assert "row 3: c: " in would.stderr
    assert nacre.ok("list") == ""
    done = nacre("import", "chroma", str(chroma), "--yes")
    assert "Imported 2 memories" in done.stderr
    assert nacre.json("recall", "ferry island")[0]["id"] == "a"
    assert "2 known already" in nacre("import", "chroma", str(chroma), "--yes").stderr
    nacre.ok("undo")
    assert nacre.ok("list") == ""
    assert fingerprint(chroma) == before


def test_it_asks_and_does_nothing_without_a_yes(nacre: CommandLine, chroma: Path) -> None:
    refused = nacre("import", "chroma", str(chroma), input="n\n")
    assert refused.exit_code != 0 and "Will import 2 memories" in refused.stderr
    assert nacre.ok("list") == ""


def test_json_has_the_same_content(nacre: CommandLine, chroma: Path) -> None:
    result = nacre.json("import", "chroma", str(chroma), "--yes")
    assert (result["imported"], result["errors"], result["vectors_regenerated"]) == (2, 1, 2)
    assert result["batch"]


def test_one_of_several_collections_is_named(nacre: CommandLine, tmp_path: Path) -> None:
    path = folder(tmp_path / "two", alice=[houkai("a", FERRY)], bob=[houkai("b", "The bus is late")])
    refused = nacre("import", "chroma", str(path), "--yes")
    assert refused.exit_code == 2 and "--collection" in refused.stderr
    assert "Imported 1 memory" in nacre("import", "chroma", str(path), "--collection", "bob", "--yes").stderr


def test_the_memory_servers_file_is_brought_from_stdin_too(nacre: CommandLine) -> None:
    row = {"type": "entity", "name": "Marta", "entityType": "person", "observations": ["Drinks tea", 7]}
    done = nacre("import", "server-memory", "-", "--yes", input=json.dumps(row) + "\n")
    assert "Imported 1 memory" in done.stderr and "line 1: Marta: " in done.stderr


def test_a_source_without_a_path_and_a_word_that_is_none_are_explained(nacre: CommandLine, chroma: Path) -> None:
    for words, output in (
        (["chroma"], "nacre import chroma PATH"),
        (["diary", str(chroma)], "'diary' is none of archive"),
        (["chroma", str(chroma), "more"], "nacre import chroma PATH"),
        (["letta", "x.af", "--collection", "x"], "Only chroma has collections"),
    ):
        result = nacre("import", *words)
        assert result.exit_code == 2 and output in " ".join(result.stderr.split())


def test_what_is_not_there_is_one_clear_sentence(nacre: CommandLine, tmp_path: Path) -> None:
    for source in ("chroma", "ai-lessons", "amplihack", "server-memory"):
        result = nacre("import", source, str(tmp_path / "nowhere"), "--yes")
        assert result.exit_code == 4 and result.stderr.startswith("nacre: ") and result.stderr.count("\n") == 1
