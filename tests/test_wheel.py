"""What a release gives somebody without the source tree: the same files each time, all data files, a first memory."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from nacre import __version__
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "nacre"
PATIENCE = 120  # seconds for what takes two on an idle machine
VERSIONS = [f"3.{minor}" for minor in range(11, 16)]
USERS_HOME = Path.home()  # the tests have homes of their own
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def run(*words: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_of(version: str) -> str:
    """The program of that Python; the test is skipped where there is none that can make environments."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    installed = Path(os.environ.get("PYENV_ROOT", USERS_HOME / ".pyenv")) / "versions"
    others = [str(path) for path in sorted(installed.glob(f"{version}.*/bin/python"))]
    for program in (shutil.which(f"python{version}"), *others):
        if program and subprocess.run([program, "-c", "import venv, ensurepip"], check=False).returncode == 0:
            return program
    pytest.skip(f"no Python {version} here")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the source distribution, as `python -m build` does it, with both files."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


def wheel_in(folder: Path) -> Path:
    (wheel,) = folder.glob(f"nacre-{__version__}-*.whl")
    return wheel


def test_a_wheel_has_every_file_of_the_package(built: Path) -> None:
    files = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = set(zipfile.ZipFile(wheel_in(built)).namelist())
    assert [path.name for path in files if path.relative_to(ROOT / "src").as_posix() not in names] == []


def test_the_index_would_take_both_files(built: Path) -> None:
    files = sorted(built.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"] or [file.suffix for file in files] == [".gz", ".whl"]
    said = run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=built)
    assert said.count("PASSED") == 2


def test_the_same_source_gives_the_same_files(built: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT, cwd=tmp_path)
    first, second = (
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
        for folder in (built, tmp_path)
    )
    assert first == second


@pytest.mark.parametrize("version", VERSIONS)
def test_an_installed_wheel_remembers_and_recalls_without_the_source_tree(
    version: str, built: Path, tmp_path: Path
) -> None:
    run(python_of(version), "-m", "venv", tmp_path / "fresh", cwd=tmp_path)
    programs = tmp_path / "fresh" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel_in(built), cwd=tmp_path)
    imported = run(programs / "python", "-c", "import nacre; print(nacre.__file__)", cwd=tmp_path)
    assert Path(imported.strip()).is_relative_to(tmp_path / "fresh")
    assert run(programs / "nacre", "--version", cwd=tmp_path).strip() == f"nacre {__version__}"
    store = ("--store", tmp_path / "first.db")
    run(programs / "nacre", "remember", "The staging database is db-7.", *store, cwd=tmp_path)
    assert "db-7" in run(programs / "nacre", "recall", "Where is the staging data?", *store, cwd=tmp_path)
    assert run(programs / "nacre", "doctor", *store, cwd=tmp_path)


def test_with_the_extra_server_alone_both_servers_start_and_answer(built: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "fresh", cwd=tmp_path)
    programs = tmp_path / "fresh" / ("Scripts" if sys.platform == "win32" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", f"{wheel_in(built)}[server]", cwd=tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NACRE_"))}
    environment |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "NACRE_EMBEDDER": "hashing"}
    for words in (("serve", "--http", "127.0.0.1:0"), ("web", "--no-open", "--port", "0")):
        log = tmp_path / f"{words[0]}.log"
        with log.open("w") as out:
            command = [programs / "nacre", "--store", tmp_path / "s.db", *words]
            server = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=tmp_path)
        try:
            address = address_in(log, server)
            for path, said in (("/health", __version__), ("/", "<html")):
                with urllib.request.urlopen(f"{address}{path}", timeout=PATIENCE) as answer:
                    assert said in answer.read().decode()
        finally:
            server.terminate()
            server.wait(PATIENCE)


def address_in(log: Path, server: subprocess.Popen[bytes]) -> str:
    """Where the server answers, as soon as its log says it."""

    def look() -> str:
        assert server.poll() is None, log.read_text()
        address = ADDRESS.search(log.read_text())
        return address[0] if address else ""

    return wait_for(look, "the server's start", seconds=PATIENCE)
