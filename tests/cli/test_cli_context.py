"""A store or a space that is not there: commands that read make none, commands that write say that they made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, SpaceNotFound, StoreNotFound
from tests.command_line import CommandLine

READING = [
    ["recall", "anything"], ["list"], ["show", "x"], ["stats"], ["pack", "anything"], ["export", "-"], ["spaces"],
    ["journal"], ["history", "x"], ["entities"], ["relations"], ["conflicts"], ["review"], ["audit"],
    ["trash", "list"], ["graph"], ["lesson", "list"], ["lesson", "tags"], ["maintenance", "status"],
    ["decay", "scores"],
    ["undo"], ["prune"], ["reindex"], ["maintenance", "tick"], ["forget", "x", "--yes"],
]  # fmt: skip


@pytest.fixture
def bare(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Nothing was remembered on this machine, and no store is named."""
    nacre.store.unlink()
    monkeypatch.delenv("NACRE_STORE")
    return nacre


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_store_that_is_named_and_not_there_is_one_error_and_is_not_made(
    bare: CommandLine, tmp_path: Path, words: list[str]
) -> None:
    before = files(tmp_path)
    named = tmp_path / "sotre.db"
    result = bare("--store", str(named), *words)
    assert result.exit_code == 4
    assert result.stderr == (
        f"nacre: there is no store at {named}; `nacre --store {named} remember` makes a new one.\n"
    )
    assert files(tmp_path) == before


def test_the_name_that_may_have_been_meant_is_suggested(
    bare: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.db").touch()
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "sotre.db"))
    assert f"did you mean {str(tmp_path / 'store.db')!r}?" in bare("list").stderr
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "no-such-folder" / "store.db"))
    result = bare("list")
    assert result.exit_code == 4 and "no-such-folder" in result.stderr and "did you mean" not in result.stderr


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_the_default_store_reads_as_empty_and_is_not_made(bare: CommandLine, elsewhere: Path, words: list[str]) -> None:
    result = bare(*words)
    assert result.stderr.startswith("Nothing is remembered yet; `nacre remember TEXT` makes the store ")
    assert result.exit_code in (0, 1, 3), result.stderr
    assert not (elsewhere / "data").exists()


def test_the_first_memory_makes_the_default_store_and_says_so_once(bare: CommandLine, elsewhere: Path) -> None:
    file = elsewhere / "data" / "nacre" / "nacre.db"
    assert f"Created the store {file}.\n" in bare("remember", "a").stderr
    assert file.is_file()
    assert "Created" not in bare("remember", "b").stderr


@pytest.mark.parametrize(
    "words",
    [
        ["remember", "x"],
        ["space", "create", "default"],
        ["relations", "--add", "feeds"],
        ["lesson", "add", "--title", "t", "--content", "c"],
        ["lesson", "sources", "--add", "measured"],
        ["lesson", "tags", "--alias", "js", "javascript"],
        ["entities", "merge", "Robert", "Bob"],
    ],
    ids=" ".join,
)
def test_what_is_written_to_a_new_store_is_stored(bare: CommandLine, tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "new.db"
    result = bare("--store", str(file), *words)
    assert result.exit_code == 0, result.stderr
    assert f"Created the store {file}." in result.stderr
    assert bare.json("--store", str(file), "journal")


@pytest.mark.parametrize(
    "words", [["recall", "x"], ["list"], ["stats"], ["pack", "x"], ["lesson", "list"]], ids=" ".join
)
def test_a_space_that_is_named_and_not_there_is_an_error_with_the_nearest_one(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    nacre.ok("remember", "x", "--space", "webshop")
    result = nacre("--space", "wepshop", *words)
    assert result.exit_code == 1
    assert "there is no space 'wepshop' in this store; did you mean 'webshop'?" in result.stderr
    monkeypatch.setenv("NACRE_SPACE", "wepshop")
    assert nacre(*words).exit_code == 1
    assert nacre("--space", "webshop", *words).exit_code == 0
    for always_there in ("default", "personal"):
        assert "there is no space" not in nacre("--space", always_there, *words).stderr


def test_a_space_that_was_created_or_emptied_is_there(nacre: CommandLine) -> None:
    nacre.ok("space", "create", "noted")
    assert nacre("--space", "noted", "list").exit_code == 0
    assert "Created the space 'fresh'." in nacre("--space", "fresh", "remember", "x").stderr
    assert "Created" not in nacre("--space", "fresh", "remember", "y").stderr
    nacre.ok("--space", "fresh", "undo")
    nacre.ok("--space", "fresh", "undo")
    assert nacre("--space", "fresh", "journal").exit_code == 0


def test_a_space_that_a_settings_file_names_may_be_new(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NACRE_SPACE")
    nacre.ok("config", "set", "space", "planned")
    assert nacre("list").exit_code == 0
    assert "Created the space 'planned'." in nacre("remember", "x").stderr


@pytest.mark.parametrize("address", ["mysql://user:word@host/db", "ftp://example.org/x", "sqlite:///x.db"])
def test_the_address_of_a_service_is_refused_and_no_folder_of_that_name_is_made(
    bare: CommandLine, elsewhere: Path, address: str
) -> None:
    scheme = address.partition(":")[0]
    for words in (["remember", "x"], ["list"], ["doctor"]):
        result = bare("--store", address, *words)
        assert result.exit_code == 2 and f"begins with {scheme}: is not supported" in result.stderr
        assert "word" not in result.stderr
    for path in (address, Path(address)):
        with pytest.raises(InvalidInput, match="name a file or a folder"):
            MemoryStore(path, embedder="hashing")
    bare.ok("config", "set", "store", address)
    assert bare("list").exit_code == 2
    assert {each.name for each in elsewhere.iterdir()} == {"config"}


def test_the_library_still_makes_a_store(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "new" / "store.db", space="any", embedder="hashing") as store:
        store.remember("x")
    assert issubclass(StoreNotFound, FileNotFoundError) and issubclass(SpaceNotFound, KeyError)
