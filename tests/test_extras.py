"""Library and CLI work without the optional packages; whatever needs an extra says how to install it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = {"mcp", "mcp_types", "pydantic", "anyio", "httpx2", "starlette", "uvicorn", "typer", "matplotlib", "keyring",
           "sentence_transformers"}
sys.meta_path.insert(0, Blocker())
"""
LIBRARY_AND_CLI = """
from nacre import MemoryStore
with MemoryStore("notes.db", space="personal", embedder="hashing") as store:
    store.remember("The harbour office closes at noon")
    assert store.recall("When does the harbour office close?")
from nacre.cli.start import run
sys.argv = ["nacre", "--store", "notes.db", "recall", "When does the harbour office close?"]
try:
    run()
except SystemExit as ended:
    assert not ended.code, ended.code
assert not {"rapidfuzz", "prompt_toolkit"} & set(sys.modules)
"""
CLI_SERVER = """
from nacre.cli.start import run
sys.argv = ["nacre", "--store", "notes.db", "mcp"]
run()
"""
COMPAT_SERVER = "from nacre.compat import mcp_scripts; mcp_scripts.{}()"


def run_without_extras(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "NACRE_EMBEDDER": "hashing"}
    return subprocess.run(
        [sys.executable, "-c", BLOCKER + code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_library_and_cli_recall_without_any_extra(tmp_path: Path) -> None:
    ended = run_without_extras(tmp_path, LIBRARY_AND_CLI)
    assert ended.returncode == 0, ended.stderr
    assert "closes at noon" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [CLI_SERVER, COMPAT_SERVER.format("ai_houkai"), COMPAT_SERVER.format("ai_lessons")],
    ids=["nacre", "houkai", "lessons"],
)
def test_a_server_without_the_sdk_names_the_extra_in_one_sentence(tmp_path: Path, code: str) -> None:
    ended = run_without_extras(tmp_path, code)
    assert ended.returncode != 0 and ended.stdout == ""
    sentence = 'The MCP server needs an optional package; run `pip install ".[mcp]"` in the checkout of Nacre.'
    assert ended.stderr.strip().removeprefix("nacre: ") == sentence


# They need versions of other packages that exclude each other.
FRAMEWORKS = {
    file.stem.replace("_", "-")
    for file in (Path(__file__).parents[1] / "src" / "nacre" / "integrations").glob("*.py")
    if file.stem not in ("__init__", "records")
}


def test_all_holds_every_extra_but_frameworks_and_the_one_with_torch() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(everything.removeprefix("nacre[").removesuffix("]").split(","))
    assert named == set(extras) - {"all", "cli", "sentence-transformers"} - FRAMEWORKS and set(extras) >= FRAMEWORKS
    assert not any(each.startswith("mcp") for each in project["dependencies"])
