"""What a command may import before it answers: a shell feels every tenth of a second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre import MemoryStore

# Modules, of others and of the standard library, that take tens of milliseconds to import.
HEAVY = frozenset(
    "numpy onnxruntime rich yaml rapidfuzz prompt_toolkit asyncio mcp pydantic httpx starlette matplotlib keyring"
    " tomllib xml".split()
)
ALWAYS = HEAVY - {"numpy", "onnxruntime", "tomllib"}
CHILD = """
import sys
from nacre.cli.main import nacre
try:
    for command in " ".join(sys.argv[1:]).split(" + "):
        nacre.main(command.split(), prog_name="nacre", standalone_mode=False)
finally:
    print("imported", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
    print("ours", *sorted(name for name in sys.modules if name.startswith(("nacre", "numpy.ma"))), file=sys.stderr)
"""


def imported(*words: str, **environment: str) -> tuple[set[str], set[str]]:
    """The packages that were imported, and the modules of our own and of masked arrays; `+` stands between several
    commands."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *words],
        env={**os.environ, "NACRE_SPACE": "default", **environment},  # the space of the library
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    told = {
        kind: set(names) for kind, *names in map(str.split, done.stderr.splitlines()) if kind in ("imported", "ours")
    }
    return told["imported"], told["ours"]


@pytest.fixture
def store(tmp_path: Path) -> str:
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember("the kettle is on")
    return str(tmp_path / "s.db")


def test_help_needs_click_and_no_command() -> None:
    found, ours = imported("--help", "+", "--version")
    assert found & (HEAVY | {"apsw", "platformdirs"}) == set()
    assert not any(name.startswith(("nacre.memory_store", "nacre.engine", "nacre.cli.commands")) for name in ours)


def test_names_of_sources_formats_and_profiles_are_offered_without_loading_what_they_name() -> None:
    _, ours = imported("import", "--help", "+", "ingest", "--help", "+", "mcp", "--help")
    assert {"nacre.transfer.names", "nacre.clients.profiles"} <= ours
    assert ours & {"nacre.transfer.sources", "nacre.transfer.ingest.formats", "nacre.mcp"} == set()


@pytest.mark.parametrize(
    ("commands", "allowed"),
    [("list + show NAMED + journal + spaces + stats", set[str]()), ("undo --any", {"numpy"})],
)
def test_what_only_reads_or_marks_needs_no_numbers_and_no_model(store: str, commands: str, allowed: set[str]) -> None:
    with MemoryStore(store, embedder="hashing") as opened:
        (memory,) = opened.list_recent()
    named = commands.replace("NAMED", memory.id)
    found, ours = imported(*named.split(), NACRE_STORE=store, NACRE_EMBEDDER="multilingual")
    assert "apsw" in found
    assert found & HEAVY - allowed == set()
    assert sys.platform != "linux" or "platformdirs" not in found
    assert "nacre.recall.recall" not in ours


def test_a_recall_needs_numbers_and_nothing_that_draws_or_speaks(store: str) -> None:
    found, ours = imported("recall", "kettle", NACRE_STORE=store, NACRE_EMBEDDER="hashing")
    assert "numpy" in found
    # What ordinary texts need no pattern of, and what `np.unique` imports.
    assert ours & {"nacre.safety.secrets", "numpy.ma"} == set()
    assert found & (ALWAYS | {"onnxruntime", "tomllib"}) == set()


@pytest.mark.slow
def test_a_recall_by_meaning_needs_the_runtime_of_the_model_beside(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db", embedder="multilingual") as store:
        store.remember("the kettle is on")
    found, _ = imported("recall", "kettle", NACRE_STORE=str(tmp_path / "m.db"), NACRE_EMBEDDER="multilingual")
    assert {"numpy", "onnxruntime"} <= found
    assert found & ALWAYS == set()


def test_the_child_would_notice(store: str) -> None:
    found, _ = imported("list", "-f", "yaml", "+", "list", "-f", "table", NACRE_STORE=store)
    assert {"yaml", "rich"} <= found
