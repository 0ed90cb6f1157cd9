"""nacre completion: scripts that shells accept, and what they offer."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import forked
from tests.command_line import CommandLine


def offered(*words: str) -> list[str]:
    """What bash would offer for the last word."""
    line = " ".join(("nacre", *words))
    asked = {**os.environ, "_NACRE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    done = forked.run([], env=asked)
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.splitlines() if each]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_and_how_to_install_it(nacre: CommandLine, shell: str) -> None:
    output = nacre("completion", shell)
    assert f"_NACRE_COMPLETE={shell}_complete" in output.stdout
    assert f"nacre completion {shell} >" in output.stderr


@pytest.mark.parametrize(("shell", "checks"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_the_shell_accepts_the_script(nacre: CommandLine, shell: str, checks: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    script = nacre.ok("completion", shell)
    done = subprocess.run([shell, checks], input=script, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_no_choice(nacre: CommandLine) -> None:
    assert nacre("completion", "tcsh").exit_code == 2


def test_commands_subcommands_and_options_are_offered() -> None:
    assert offered("rec") == ["recall"]
    assert {"token", "trash"} <= set(offered("t")) and offered("supers") == []
    assert offered("store", "backup", "ver") == offered("backup", "ver") == ["verify"]
    assert offered("store", "en") == ["encrypt"] and offered("maintenance", "ref") == ["reflect"]
    assert offered("memory", "tag", "--rem") == ["--remove"]
    assert offered("list", "--sor") == ["--sort"]
    assert offered("list", "--sort", "imp") == ["importance"]


def test_a_group_that_runs_its_first_command_offers_all_of_them_and_what_that_one_takes(nacre: CommandLine) -> None:
    nacre.ok("remember", "one", "--id", "rope")
    assert offered("space", "ren") == ["rename"]
    assert offered("trash", "res") == ["restore"]
    assert offered("journal", "co") == ["compact"]
    assert offered("maintenance", "decay", "pl") == ["plot"]
    assert {"link", "path", "rope"} <= set(offered("graph", ""))
    assert offered("journal", "ro") == offered("graph", "ro") == ["rope"]
    assert offered("journal", "--act") == ["--actor"] and offered("journal", "-n", "5", "ro") == ["rope"]
    assert offered("journal", "--he") == ["--help"]


def test_spaces_types_tags_and_ids_are_offered(nacre: CommandLine) -> None:
    nacre.ok("remember", "one", "--id", "abc1", "-g", "harbour")
    nacre.ok("remember", "two", "--id", "abd2")
    nacre.ok("space", "create", "work")
    assert offered("show", "ab") == ["abd2", "abc1"]
    assert offered("merge", "abc1", "abd") == ["abd2"]
    assert offered("list", "--type", "pro") == ["procedural", "prospective"]
    assert offered("list", "--tag", "h") == ["harbour"]
    assert offered("--space", "w") == ["work"]
    assert offered("list", "--space", "w") == offered("memory", "move", "abc1", "--to", "w") == ["work"]
    assert offered("--space", "work", "show", "ab") == []


def test_commands_on_spaces_and_names_offer_spaces_but_no_ids(nacre: CommandLine) -> None:
    nacre.ok("remember", "one", "--id", "work-id")
    nacre.ok("space", "create", "work")
    for words in (["copy", "w"], ["copy", "default", "w"], ["rename", "w"], ["delete", "w"]):
        assert offered("space", *words) == ["work"]
    assert offered("space", "rename", "default", "w") == []
    assert offered("entities", "merge", "Ada", "w") == []


def test_a_key_pressed_makes_no_store_and_no_complaint(nacre: CommandLine) -> None:
    nacre.store.unlink()
    assert offered("show", "ab") == []
    assert not nacre.store.exists()
    nacre.store.write_bytes(b"rubbish" * 100)
    assert offered("show", "ab") == []


def test_bash_quotes_a_name_with_a_blank(nacre: CommandLine, tmp_path: Path) -> None:
    stub = tmp_path / "nacre"
    stub.write_text("#!/bin/sh\necho plain,my space\necho plain,work\n")
    stub.chmod(0o700)
    asked = f"""{nacre.ok("completion", "bash")}
COMP_WORDS=(nacre --space m) COMP_CWORD=2
_nacre_completion {stub}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash"], input=asked, text=True, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == ("my\\ space\nwork\n", "")


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_what_is_said_about_installing_works_in_a_fresh_home(
    nacre: CommandLine, elsewhere: Path, tmp_path: Path, shell: str
) -> None:
    (tmp_path / "nacre").write_text("#!/bin/sh\necho $2\n")
    (tmp_path / "nacre").chmod(0o700)
    line = nacre("completion", shell).stderr.partition(":")[2]
    environment = {"HOME": str(elsewhere), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert [each.read_text() for each in elsewhere.rglob("completions/nacre*")] == [f"{shell}\n"]
