"""The commands as a whole: all are there, all are explained, and the page about them is up to date."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from nacre.cli import errors as faults
from nacre.cli.catalogue import COMMANDS, MEMBERS, OLD_NAMES, Entry, imported
from nacre.cli.lesson.catalogue import SECTIONS as LESSON_SECTIONS
from nacre.cli.main import nacre

ROOT = Path(__file__).parents[2]
ENTRIES = [
    *COMMANDS.values(),
    *(entry for members in MEMBERS.values() for entry in members),
    *(entry for section in LESSON_SECTIONS for entry in section.entries),
]
# Every command and option that a person of the older command line knows, under the name that it has here.
INVENTORY = {
    "": "--store --space --version",
    "remember": "--stdin --type -t --tag -g --importance -i --source -s --on-conflict --polarity",
    "recall": "-k --type -t --tag -g --min-importance --strategy --include-superseded --format -f",
    "pack": "--budget -b --strategy --max-items --header --format -f",
    "list": "-n --type -t --tag -g --since --sort --format -f",
    "show": "--format",
    "forget": "--yes",
    "edit": "--text --type --importance --add-tag --remove-tag",
    "tag": "--add --remove",
    "bump": "",
    "merge": "--text --dry-run",
    "link": "--relation",
    "unlink": "--relation",
    "neighbors": "--relation --direction --depth --valid-at",
    "graph draw": "--depth --format --valid-at",
    "path": "--valid-at",
    "conflicts": "--threshold --format",
    "review": "",
    "supersede": "",
    "restore": "",
    "prune": "--decay-rate --min-score --protect-type --apply --yes",
    "reflect": "--threshold --min-cluster-size --consolidate --apply --yes",
    "export": "--type --tag --superseded --vectors",
    "import": "--on-conflict --regenerate-vectors --dry-run --yes",
    "info": "--format",
    "backup create": "",
    "backup list": "--format",
    "backup verify": "--format",
    "backup restore": "--dry-run --yes",
    "stats": "--format",
    "space create": "--description",
    "space copy": "--dry-run",
    "space rename": "--dry-run",
    "space delete": "--purge --dry-run --yes",
    "spaces": "--format",
    "config list": "--format",
    "config get": "",
    "config set": "--project",
    "config unset": "--project",
    "config path": "",
    "completion": "",
    "reindex": "--embedder --restart",
    "journal tail": "-n --operation --actor --id --all --format",
    "journal list": "-n",
    "journal show": "--format",
    "journal undo": "--reason",
    "maintenance tick": "--job --dry-run",
    "maintenance run": "",
    "maintenance start": "",
    "maintenance stop": "",
    "maintenance status": "--format",
}


def walked(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None, f"{name} is listed and not there"
            yield from walked(inner, (*path, name))


@pytest.fixture(scope="module")
def commands() -> dict[str, click.Command]:
    """By their paths, the older names too."""
    listed = dict(walked(nacre))
    older = {
        old + path.removeprefix(now): command
        for old, now in OLD_NAMES.items()
        for path, command in listed.items()
        if path == now or path.startswith(f"{now} ")
    }
    return {**listed, **older}


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "scripts" / "cli_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_page_matches_the_commands(reference: ModuleType) -> None:
    written = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert written == reference.page(), "docs/reference/cli.md is out of date; `make docs` writes it anew"


def test_every_command_and_every_option_says_what_it_does(commands: dict[str, click.Command]) -> None:
    silent = [path for path, command in commands.items() if not (command.help or "").strip()]
    silent += [
        f"{path} {param.opts[-1]}"
        for path, command in commands.items()
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden and not (param.help or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry.place))
def test_the_line_of_a_command_in_a_list_begins_its_help(entry: Entry) -> None:
    command = imported(entry)
    if command.name == entry.name:  # else it is another name of it, and says so
        assert " ".join((command.help or "").split()).startswith(entry.help.removesuffix("."))
    else:
        assert entry.help == f"Another name of `nacre {command.name}`."


@pytest.mark.parametrize("path", INVENTORY)
def test_what_the_older_command_line_could_is_here(commands: dict[str, click.Command], path: str) -> None:
    assert path in commands
    known = {name for param in commands[path].params for name in (*param.opts, *param.secondary_opts)}
    assert set(INVENTORY[path].split()) <= known


def test_the_page_names_every_command_and_every_exit_code(reference: ModuleType) -> None:
    page = reference.page()
    assert [name for name in COMMANDS if f"### nacre {name}\n" not in page] == []
    codes = {0, faults.CLOSED_PIPE, *(kind.exit_code for kind in faults.CliError.__subclasses__())}
    assert all(f"| {code} |" in page for code in codes)
