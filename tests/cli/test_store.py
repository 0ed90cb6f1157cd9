"""nacre store: the group of what is done to the whole store."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.cli.catalogue import MEMBERS
from nacre.settings import parsed
from tests.command_line import CommandLine


@pytest.mark.parametrize("name", [entry.name for entry in MEMBERS["store"]])
def test_every_command_of_the_group_has_help(nacre: CommandLine, name: str) -> None:
    assert nacre.ok("store", name, "--help").startswith(f"Usage: nacre store {name}")


def test_the_group_lists_its_commands(nacre: CommandLine) -> None:
    listed = nacre.ok("store", "--help")
    assert all(f"  {entry.name} " in listed and entry.help[:30] in listed for entry in MEMBERS["store"])


def test_a_store_is_copied_and_indexed_through_the_group(nacre: CommandLine) -> None:
    nacre.ok("remember", "The kettle is on.")
    copy = nacre.ok("store", "backup", "create")
    assert copy.endswith(".db") and nacre("store", "backup", "verify", copy).exit_code == 0
    assert "Reindexed 1 memory" in nacre("store", "reindex").stderr


def test_a_server_without_its_scheme_is_answered_with_how_to_write_it(nacre: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "named.toml"
    config.write_text('store = "localhost:18790"\n')
    for words in (["list"], ["remember", "x"], ["stats"], ["doctor"]):
        refused = nacre("--store", "localhost:18790", *words)
        assert refused.exit_code == 2, refused.output
        assert "write http://localhost:18790 for a server" in " ".join(refused.stderr.split())
    assert parsed(config.read_bytes(), config)["store"] == "localhost:18790"
