"""Which store, space and embedder a command works with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.trusting import trusted


def write(file: Path, **settings: str | float) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    values = {name: value if isinstance(value, float) else f'"{value}"' for name, value in settings.items()}
    file.write_text("\n".join(f"{name} = {value}" for name, value in values.items()), "utf-8")


def space_in_use(nacre: CommandLine, *flags: str) -> object:
    return nacre.ok(*flags, "config", "get", "space")


def test_a_flag_beats_the_environment_beats_the_project_beats_the_user_beats_the_default(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_SPACE")
    assert space_in_use(nacre) == ""
    write(elsewhere / "config" / "nacre" / "config.toml", space="of-the-user")
    assert space_in_use(nacre) == "of-the-user"
    write(elsewhere / ".nacre.toml", space="of-the-project")
    trusted(elsewhere / ".nacre.toml")
    (elsewhere / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(elsewhere / "deep" / "down")
    assert space_in_use(nacre) == "of-the-project"
    monkeypatch.setenv("NACRE_SPACE", "of-the-environment")
    assert space_in_use(nacre) == "of-the-environment"
    assert space_in_use(nacre, "--space", "of-the-flag") == "of-the-flag"


@pytest.mark.parametrize("before", [True, False])
def test_the_options_of_nacre_are_taken_before_the_command_and_after_it(
    nacre: CommandLine, tmp_path: Path, before: bool
) -> None:
    flags = ["--store", str(tmp_path / "other.db"), "--space", "there", "--embedder", "hashing"]
    command = ["remember", "kept elsewhere"]
    nacre.store.unlink()
    nacre.ok(*flags, *command) if before else nacre.ok(*command, *flags)
    assert (tmp_path / "other.db").is_file()
    assert not nacre.store.exists()
    assert len(nacre.json("list", *flags)) == 1


def test_a_folder_as_store_gets_a_file_inside(nacre: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    nacre.ok("--store", str(tmp_path / "folder"), "remember", "x")
    assert (tmp_path / "folder" / "nacre.db").is_file()


def test_the_default_type_is_a_setting(nacre: CommandLine, elsewhere: Path) -> None:
    write(elsewhere / ".nacre.toml", default_type="procedural", importance="fixed")
    trusted(elsewhere / ".nacre.toml")
    nacre.ok("remember", "x")
    nacre.ok("remember", "y", "-t", "episodic", "-i", "0.1")
    assert [(each["type"], each["importance"]) for each in nacre.json("list")] == [
        ("episodic", 0.1),
        ("procedural", 0.5),
    ]


def test_a_setting_that_cannot_be_read_names_its_file(nacre: CommandLine, elsewhere: Path) -> None:
    (elsewhere / "config" / "nacre").mkdir(parents=True, exist_ok=True)
    write(elsewhere / "config" / "nacre" / "config.toml", spaec="x")
    result = nacre("list")
    assert result.exit_code == 2
    assert "config.toml" in result.stderr and "did you mean 'space'" in result.stderr


def test_an_unknown_embedder_is_misuse(nacre: CommandLine) -> None:
    result = nacre("--embedder", "hashin", "list")
    assert result.exit_code == 2 and "did you mean 'hashing'" in result.stderr


def test_spaces_do_not_see_each_other(nacre: CommandLine) -> None:
    nacre.ok("--space", "a", "remember", "in a", "--id", "same")
    nacre.ok("--space", "b", "remember", "in b", "--id", "same")
    assert nacre.json("--space", "a", "show", "same")["text"] == "in a"
    assert nacre("show", "same").exit_code == 1
