"""nacre ingest tells of files that it does not read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_out_of_the_folder_is_named_and_not_followed(nacre: CommandLine, tmp_path: Path) -> None:
    notes, outside = tmp_path / "notes", tmp_path / "private.md"
    notes.mkdir()
    outside.write_text("- The vault opens at nine.\n", "utf-8")
    (notes / "own.md").write_text("- The well is deep.\n", "utf-8")
    (notes / "out.md").symlink_to(outside)
    result = nacre("ingest", str(notes))
    assert result.exit_code == 0
    assert "out.md left out: it is a symlink that leads out of the folder." in result.stderr
    assert [each["text"] for each in nacre.json("list")] == ["The well is deep."]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_a_name_that_is_no_text_is_told_with_what_to_do(nacre: CommandLine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "own.md").write_text("- The well is deep.\n", "utf-8")
    bad = notes / os.fsdecode(b"na\xefve.md")
    bad.write_text("- The well is dry.\n", "utf-8")
    for named in (notes, bad):
        assert "left out: its name is not UTF-8; rename it." in nacre("ingest", str(named)).stderr
    assert [each["text"] for each in nacre.json("list")] == ["The well is deep."]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
def test_a_folder_whose_name_is_no_text_is_told_also_from_inside(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"na\xefve")
    folder.mkdir()
    (folder / "own.md").write_text("- The well is deep.\n", "utf-8")
    monkeypatch.chdir(folder)
    for named in (".", "own.md", str(folder)):
        result = nacre("ingest", named)
        assert "own.md left out: the name of its folder is not UTF-8; rename it." in result.stderr
