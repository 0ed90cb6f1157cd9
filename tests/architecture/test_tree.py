"""The tree in ARCHITECTURE.md names every module and data file of the package, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nacre"
PACKAGE = re.compile(r"(\w+/|\.) +")
# Of these folders only the name and the data files are in the tree; of the weights, which training/ writes, the name.
NAMED_AS_FOLDERS = ("cli/commands", "cli/lesson", "compat/ai_houkai", "compat/ai_lessons", "compat/amplihack_memory",
                    "compat/mnemosyne", "models/weights", "web/static")  # fmt: skip
UNNAMED = ("__init__.py", "py.typed")


def named_files(text: str) -> set[str]:
    """The paths in the tree, each below its package. A name without an ending is a module."""
    tree = text.partition("## The tree")[2].split("```")[1]
    named, package = set(), ""
    for line in tree.strip("\n").splitlines():
        if match := PACKAGE.match(line):
            package, line = match[1].removeprefix("."), line[match.end() :]
        for name in filter(None, (each.strip() for each in re.sub(r"\([^)]*\)?|^[^(]*\)", "", line).split(","))):
            named.add(package + (name if name.endswith("/") or "." in name else f"{name}.py"))
    return named


def existing_files() -> set[str]:
    files = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    paths = {path.relative_to(SOURCE).as_posix() for path in files if path.name not in UNNAMED}
    folders = {f"{folder}/" for folder in NAMED_AS_FOLDERS}
    modules = {path for path in paths if path.startswith(tuple(folders)) and path.endswith(".py")}
    made = {path for path in paths if path.startswith(("models/weights/", "web/static/"))}
    return paths - modules - made | folders


def test_the_tree_names_every_file_and_no_other() -> None:
    named, existing = named_files((ROOT / "ARCHITECTURE.md").read_text("utf-8")), existing_files()
    assert sorted(named - existing) == [], "named, but not there"
    assert sorted(existing - named) == [], "there, but not named"


def test_files_that_are_named_but_absent_and_files_without_a_name_are_noticed() -> None:
    text = "## The tree\n```\nbench/      absent (a remark),\n            run, data.txt\n.           files\n```\n"
    named = named_files(text)
    assert named == {"bench/absent.py", "bench/run.py", "bench/data.txt", "files.py"}
    assert named - existing_files() == {"bench/absent.py", "bench/data.txt"}
    assert "bench/metrics.py" in existing_files() - named
