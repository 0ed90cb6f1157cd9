"""`nacre compat`: what a program needs that cannot be changed, and the older commands themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from nacre.cli.commands.compat import PROGRAMS
from nacre.cli.main import nacre
from tests import forked


def ran(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(nacre, ["compat", *words])
    assert done.exit_code == code, done.output
    return done.stdout


def child(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env={**os.environ, **more}, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_lines_for_a_program_let_it_import_the_older_package() -> None:
    result = ran("alias", "ai-lessons")
    done = child("-c", result + "\nimport ai_lessons; print(ai_lessons.__name__)")
    assert done.stdout.strip() == "nacre.compat.ai_lessons", done.stderr


def test_the_line_for_a_pth_file_does_so_for_every_program(tmp_path: Path) -> None:
    (line,) = ran("alias", "--site").splitlines()
    (tmp_path / "nacre-compat.pth").write_text(line + "\n")
    read = f"import site; site.addsitedir({str(tmp_path)!r}); import ai_lessons; print(ai_lessons.__name__)"
    assert child("-c", read).stdout.strip() == "nacre.compat.ai_lessons"


def test_force_and_names_stand_in_the_call() -> None:
    assert ran("alias", "mnemosyne", "--force").endswith("nacre.compat.install('mnemosyne', force=True)\n")
    assert "force" not in ran("alias")


def test_an_unknown_system_is_refused() -> None:
    assert CliRunner().invoke(nacre, ["compat", "alias", "telepathy"]).exit_code == 2


@pytest.mark.accepts("L7")
@pytest.mark.slow
def test_an_older_command_runs_with_its_own_words_and_options(elsewhere: Path) -> None:
    done = child("-m", "nacre", "compat", "run", "ai-lessons", "--help")
    assert done.returncode == 0 and "ai-lessons [OPTIONS] COMMAND" in done.stdout
    done = forked.run(["compat", "run", "ai-lessons", "confidence"])
    assert "5. very-high" in done.stdout, done.stderr
    assert (elsewhere / ".ai" / "lessons" / "knowledge.db").exists()


def test_its_exit_code_is_the_exit_code() -> None:
    assert forked.run(["compat", "run", "ai-lessons", "divine"]).returncode == 2
    assert forked.run(["compat", "run", "telepathy"]).returncode == 2


@pytest.mark.accepts("H1.5", "H1.6", "H1.7", "M10")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_older_command_begins_somewhere(program: str) -> None:
    place, _, function = PROGRAMS[program].partition(":")
    assert callable(getattr(import_module(f"nacre.compat.{place}"), function))
