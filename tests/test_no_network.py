"""A recall with the real model opens no connection, looks up no name, and writes nothing outside Nacre's folders."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.models.onnx_session import TELEMETRY_SWITCH
from nacre.settings import STORE_FILE

STRACE = shutil.which("strace")
WORK = """
from nacre import MemoryStore
with MemoryStore() as store:
    assert store.embedder.identity == "nacre-multilingual-3"
    store.remember("The staging database listens on port 5433.")
    found = store.recall("Where does the test server for data answer?")
    assert [hit.memory.text for hit in found] == ["The staging database listens on port 5433."]
    assert not found.notes and store.embedder.ready, found.notes
"""
# Python's own calls only; what a native library does is seen by strace and in the folders.
GUARD = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        print("network:", event, args, file=sys.stderr, flush=True)
sys.addaudithook(refuse)
"""
TRACED = (
    "trace=?connect,?sendto,?sendmsg,?sendmmsg,?bind,?open,?openat,?creat,?mkdir,?mkdirat,?rename,?renameat,?renameat2"
)
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|\b(?:creat|mkdir|mkdirat|rename\w*)\(")
NETWORK = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg|bind)\(")
PATHS = re.compile(r'"((?:[^"\\]|\\.)*)"')
HARMLESS = ("/dev/", "/proc/")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A new user's home, with nothing in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def run(home: Path, *before: str, **settings: str) -> str:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    env = {**kept, "HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1", **settings}
    done = subprocess.run(
        [*before, sys.executable, "-P", "-c", GUARD + WORK], env=env, cwd=home, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def foreign(home: Path) -> list[str]:
    """What lies in the home and is not Nacre's."""
    found = (path.relative_to(home) for path in home.rglob("*") if path.is_file() or path.is_symlink())
    return sorted(str(path) for path in found if "nacre" not in path.parts)


@pytest.mark.skipif(os.name != "posix", reason="a home as POSIX has it")
@pytest.mark.slow
def test_a_recall_leaves_only_nacres_own_files_and_asks_no_host(home: Path) -> None:
    assert "network:" not in run(home)
    assert foreign(home) == []


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_no_system_call_of_a_recall_reaches_the_network_or_a_foreign_folder(home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    run(home, str(STRACE), "-f", "-q", "-s", "400", "-o", str(trace), "-e", TRACED)
    calls = trace.read_text("utf-8", "replace").splitlines()
    assert any(STORE_FILE in call for call in calls), "strace saw nothing"
    assert [call for call in calls if NETWORK.search(call)] == []
    written = [path for call in calls if WRITES.search(call) for path in PATHS.findall(call)]
    own = (home / ".local" / "share" / "nacre", home / ".cache" / "nacre", home / "tmp")
    above = {str(parent) for folder in own for parent in folder.parents}
    assert [path for path in written if not path.startswith((*map(str, own), *HARMLESS)) and path not in above] == []


def test_a_value_that_the_user_has_set_is_left_alone() -> None:
    code = (
        "import os\nfrom pathlib import Path\nfrom nacre.models.onnx_session import open_session\n"
        "try:\n    open_session(Path('none.onnx'))\nexcept Exception:\n    pass\n"
        f"print(os.environ[{TELEMETRY_SWITCH!r}])"
    )
    for given, kept in ((None, "1"), ("true", "true")):
        env = {name: value for name, value in os.environ.items() if name != TELEMETRY_SWITCH}
        env |= {} if given is None else {TELEMETRY_SWITCH: given}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == kept
