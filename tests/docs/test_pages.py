"""What the pages show works: Python blocks run, terminals print what is shown, and every command exists.

A block that needs what is not installed, such as a framework, is marked ```py and not run.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import click
import pytest

import nacre
from nacre.cli.main import nacre as command_line

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
NAMED = re.compile(r"(?<![\w./-])nacre((?: [a-z][a-z-]+)+)")
# Pages that a program of its own writes, and tests of its own compare.
GENERATED = (DOCS / "reference",)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["rest.md", "mcp-tools.md", "errors.md", "settings.md", "python.md"])
def test_a_page_of_the_reference_matches_the_code(page: str) -> None:
    written = (DOCS / "reference" / page).read_text("utf-8")
    assert written == script("reference").page(page), f"{page} is out of date; `make docs` writes it anew"


def test_the_reference_names_all_that_is_public() -> None:
    written = (DOCS / "reference" / "python.md").read_text("utf-8")
    missing = [
        name
        for name in nacre.__all__
        if f"::: nacre.{name}\n" not in written and name != "__version__" and not name.endswith("Error")
    ]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in (ROOT / "README.md", *PAGES) if "```python" in page.read_text("utf-8")], ids=name_of
)
@pytest.mark.usefixtures("elsewhere")
def test_the_python_blocks_of_a_page_run_in_their_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    exec("".join(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)), {})


def commands_named(page: Path) -> Iterator[str]:
    for code in CODE.findall(page.read_text("utf-8")):
        yield from (found.strip() for found in NAMED.findall(code))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=name_of)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    if page.is_relative_to(GENERATED[0]):
        return
    unknown = []
    for words in commands_named(page):
        command: click.Command | None = command_line
        context = click.Context(command_line, info_name="nacre")
        for word in words.split():
            if not isinstance(command, click.Group):
                break  # the rest are arguments
            command = command.get_command(context, word)
            if command is None:
                unknown.append(f"nacre {words}")
                break
    assert unknown == []


@pytest.mark.slow  # six processes that load the models
@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_a_terminal_prints_what_the_page_shows(page: str) -> None:
    blocks = script("console_blocks")
    written = (ROOT / page).read_text("utf-8")
    with TemporaryDirectory() as home:  # of a short name: a sentence with its path is wrapped elsewhere
        now = blocks.filled(written, Path(home), Path(sys.executable).parent)
    shown, seen = (blocks.masked("\n".join(blocks.BLOCK.findall(text))) for text in (written, now))
    assert seen == shown, f"{page} shows something else; `make docs` writes it anew"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "docs", "src"):
        source = ROOT / name
        shutil.copytree(source, tmp_path / name) if source.is_dir() else shutil.copy(source, tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "reference" / "python" / "index.html").is_file()
