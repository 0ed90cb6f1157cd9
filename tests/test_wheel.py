"""What `pip install` gives somebody who has no source tree: every data file, and a first memory that is recalled."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "nacre"


def run(*words: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("nacre-*.whl")
    return built


def test_a_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    files = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = set(zipfile.ZipFile(wheel).namelist())
    assert [path.name for path in files if path.relative_to(ROOT / "src").as_posix() not in names] == []


def test_an_installed_wheel_remembers_and_recalls_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "fresh", cwd=tmp_path)
    programs = tmp_path / "fresh" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    imported = run(programs / "python", "-c", "import nacre; print(nacre.__file__)", cwd=tmp_path)
    assert Path(imported.strip()).is_relative_to(tmp_path / "fresh")
    store = ("--store", tmp_path / "first.db")
    run(programs / "nacre", "remember", "The staging database is db-7.", *store, cwd=tmp_path)
    assert "db-7" in run(programs / "nacre", "recall", "Where is the staging data?", *store, cwd=tmp_path)
    assert run(programs / "nacre", "doctor", *store, cwd=tmp_path)
