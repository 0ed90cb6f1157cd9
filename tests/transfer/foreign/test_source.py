"""Files that somebody else made: none can hang a reader, take its memory, or lead it elsewhere."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import ArchiveRefused, InvalidInput
from nacre.files import open_regular
from nacre.lessons import LessonBook
from nacre.transfer import archive as archive_lines
from nacre.transfer import read_archive as reading
from nacre.transfer.import_archive import import_archive, import_path
from nacre.transfer.ingest.formats import FORMATS, files
from nacre.transfer.ingest.items import Broken

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes among its files")
BOMB = "---\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_front_matter_with_aliases_is_refused_and_the_file_named_as_broken(tmp_path: Path) -> None:
    note = tmp_path / "bomb.md"
    note.write_text(f"{BOMB}tags: *i\n---\nThe well is deep.\n", "utf-8")
    (result,) = FORMATS["markdown"].read(note)
    assert isinstance(result, Broken) and "alias" in result.reason


@pytest.mark.slow
def test_front_matter_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    note = tmp_path / "deep.md"
    note.write_text(f"---\na: {'[' * 5000}\n---\nx\n", "utf-8")
    (result,) = FORMATS["markdown"].read(note)
    assert isinstance(result, Broken) and "nested" in result.reason


def test_lessons_with_yaml_aliases_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "lessons.yaml"
    file.write_text(BOMB.removeprefix("---\n"), "utf-8")
    with MemoryStore(":memory:", embedder="hashing") as store, pytest.raises(InvalidInput, match="alias"):
        LessonBook(store=store).import_(file)


@pipes
def test_a_pipe_is_left_out_of_a_folder_and_refused_by_name(tmp_path: Path) -> None:
    pipe = tmp_path / "notes" / "pipe.md"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    left_out: list[Path] = []
    assert list(files((pipe.parent,), lambda path, _why: left_out.append(path))) == []
    assert left_out == [pipe]
    with pytest.raises(InvalidInput, match="pipe"):
        list(files((pipe,)))


@pipes
def test_no_reader_waits_for_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe"):
        open_regular(pipe)
    with MemoryStore(":memory:", embedder="hashing") as store:
        with pytest.raises(ArchiveRefused):
            import_archive(store, pipe)
        with pytest.raises(ArchiveRefused):
            import_path(store, pipe, source="server-memory")
        with pytest.raises(InvalidInput):
            LessonBook(store=store).import_(pipe)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_that_lead_out_of_the_folder_are_left_out_with_a_reason(tmp_path: Path) -> None:
    notes, outside = tmp_path / "notes", tmp_path / "private.md"
    notes.mkdir()
    outside.write_text("- The vault opens at nine.\n", "utf-8")
    (notes / "own.md").write_text("- The well is deep.\n", "utf-8")
    (notes / "inside.md").symlink_to(notes / "own.md")
    (notes / "out.md").symlink_to(outside)
    (notes / "nowhere.md").symlink_to(tmp_path / "missing.md")
    left_out: list[tuple[str, str]] = []
    result = [path.name for path, _ in files((notes,), lambda path, why: left_out.append((path.name, why)))]
    assert result == ["inside.md"]  # which is own.md under another name
    assert left_out == [(name, "it is a symlink that leads out of the folder") for name in ("nowhere.md", "out.md")]


def test_an_archive_bomb_is_refused_before_its_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.nacre"
    with gzip.open(bomb, "wb") as out:
        out.write(b'{"format":"nacre/archive","version":1}\n')
        for _ in range(64):
            out.write(b"{}\n" * 20_000)
    monkeypatch.setattr(archive_lines, "HARMLESS", 1 << 20)
    monkeypatch.setattr(reading, "parse_line", lambda _line: pytest.fail("a line was read"))
    with pytest.raises(ArchiveRefused, match="unpacks to more than"):
        reading.Archive(bomb)


def test_an_archive_of_lines_that_mean_nothing_is_given_up_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "empty.nacre"
    file.write_bytes(b'{"format":"nacre/archive","version":1}\n' + b"{}\n" * 500)
    monkeypatch.setattr(reading, "MOST_BAD", 100)
    seen = 0
    with pytest.raises(ArchiveRefused, match="cannot be read"):
        for _ in reading.Archive(file).rows():
            seen += 1
    assert seen == 100
