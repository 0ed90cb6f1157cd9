"""The older names, in real child processes: what a program imports, and what it must never lose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.compat import install
from nacre.compat.aliases import SYSTEMS
from nacre.errors import UnknownName


def ran(program: str, *, path: Path | None = None, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else dict(os.environ)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done.stdout.strip() if code == 0 else done.stderr.strip()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A package of that name that somebody has really installed."""
    (tmp_path / "ai_lessons").mkdir()
    (tmp_path / "ai_lessons" / "__init__.py").write_text("REAL = True\n")
    (tmp_path / "ai_lessons" / "core.py").write_text("REAL = True\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.accepts("H1.1", "L1")
@pytest.mark.parametrize("system", SYSTEMS)
def test_an_older_package_is_the_one_of_compat(system: str) -> None:
    asked = f"import nacre.compat; nacre.compat.install(); import {system}, nacre.compat.{system} as own"
    assert ran(f"{asked}; print({system} is own)") == "True"


@pytest.mark.slow
def test_parts_are_the_same_modules_under_both_names_however_they_are_imported() -> None:
    result = ran(
        "from nacre.compat import install; install('ai-lessons')\n"
        "import ai_lessons.core\n"
        "from ai_lessons.config import Config\n"
        "from ai_lessons import db\n"
        "import nacre.compat.ai_lessons.core as own, nacre.compat.ai_lessons.config as config, sys\n"
        "print(ai_lessons.core is own, Config is config.Config, db is sys.modules['nacre.compat.ai_lessons.db'])\n"
        "print(own.__name__, own.__spec__.name)"
    )
    assert result.split() == ["True"] * 3 + ["nacre.compat.ai_lessons.core"] * 2


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    result = ran(
        "import sys, nacre.compat; nacre.compat.install()\n"
        "heavy = ('nacre.compat.', 'nacre.memory_store', 'numpy', 'yaml')\n"
        "print(*[name for name in sys.modules if name.startswith(heavy)])"
    )
    assert result == "nacre.compat.aliases"


def test_what_is_not_there_is_an_ordinary_import_error() -> None:
    said = ran("import nacre.compat; nacre.compat.install(); import ai_lessons.magic", code=1)
    assert "ModuleNotFoundError: No module named 'ai_lessons.magic'" in said


def test_a_package_that_is_really_installed_keeps_its_name(installed: Path) -> None:
    asked = "import nacre.compat; nacre.compat.install(); import ai_lessons.core; "
    assert ran(asked + "print(ai_lessons.REAL, ai_lessons.core.REAL)", path=installed) == "True True"


def test_a_program_is_told_that_an_installed_package_keeps_its_name(installed: Path) -> None:
    told = ran("import nacre.compat; nacre.compat.install(); import ai_lessons; exit(3)", path=installed, code=3)
    assert str(installed / "ai_lessons") in told and "force=True" in told


@pytest.mark.slow
def test_force_takes_its_place_also_when_it_was_imported_already(installed: Path) -> None:
    asked = "import ai_lessons.core; import nacre.compat; nacre.compat.install('ai_lessons', force=True); "
    again = "import ai_lessons.core as core; print(core.__name__, hasattr(core, 'REAL'))"
    assert ran(asked + again, path=installed) == "nacre.compat.ai_lessons.core False"


@pytest.mark.slow
def test_a_mere_folder_of_that_name_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "mnemosyne").mkdir()
    (tmp_path / "ai_lessons").mkdir()
    asked = "import nacre.compat; nacre.compat.install(); import ai_lessons.core; print(ai_lessons.core.__name__)"
    assert ran(asked, path=tmp_path) == "nacre.compat.ai_lessons.core"


def test_only_those_that_are_named_are_aliased() -> None:
    asked = "from nacre.compat import install; install('ai_lessons'); import ai_lessons; import mnemosyne"
    assert "No module named 'mnemosyne'" in ran(asked, code=1)


@pytest.mark.slow
def test_a_module_can_be_run_by_its_older_name(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import nacre.compat; nacre.compat.install()\n")
    done = subprocess.run(
        [sys.executable, "-m", "ai_lessons.cli", "--version"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["ai-lessons,"]), done.stderr


@pytest.mark.slow
def test_pickles_and_sources_work_under_the_older_name() -> None:
    result = ran(
        "from nacre.compat import install; install()\n"
        "import inspect, pickle; from ai_lessons.core import Tag\n"
        "print(pickle.loads(pickle.dumps(Tag('kiln', 2))) == Tag('kiln', 2), 'class Tag' in inspect.getsource(Tag))"
    )
    assert result == "True True"


def test_an_unknown_system_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="ai_houkai"):
        install("ai_hokai")
