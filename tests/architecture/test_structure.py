"""The shape of the code: no import circles, a test file for every module, no words of the old private vocabulary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"

# Names that say nothing to a newcomer, and the words of the vocabulary that replace them (docs/concepts.md).
OLD_NAMES = frozenset(
    "told found given shown whole certain parted surrounded telling asking keeping carrying standing desk door shelf"
    " kinship heir heirs tie ties spoken act acts".split()
)
OLD_PHRASES = (
    "the first that speaks wins",
    "which is no setting",
    "dear to import",
    "tie and trace",
    "let it live",
    "whole of",
    "heir",
    "an act",
    "this act",
    "one act",
)
# Arguments that clients already send.
PUBLISHED = frozenset({("nacre.mcp.profiles.full", "act")})
# Modules whose behaviour is shown by tests of another name, with the folder or file that shows it.
EXERCISED_ELSEWHERE = {
    "nacre.cli.catalogue": "cli/test_main.py",
    "nacre.cli.commands.show": "cli/test_show_stats.py",
    "nacre.cli.errors": "cli/test_bad_stores.py",
    "nacre.cli.lesson.edit": "cli/lesson/test_search.py",
    "nacre.cli.lesson.catalogue": "cli/lesson/test_search.py",
    "nacre.cli.lesson.common": "cli/lesson/test_search.py",
    "nacre.cli.lesson.show": "cli/lesson/test_search.py",
    "nacre.cli.lookup": "cli/test_recall.py",
    "nacre.cli.ui.charts": "cli/test_show_stats.py",
    "nacre.cli.ui.prompts": "cli/test_review.py",
    "nacre.clients.profiles": "mcp/test_server.py",
    "nacre.conflicts.candidates": "engine/test_comparing_bounds.py",
    "nacre.engine.write_request": "engine/test_engine.py",
    "nacre.engine.removal": "engine/test_redact_and_compact.py",
    "nacre.engine.space_names": "engine/test_spaces.py",
    "nacre.hooks.request": "hooks/test_client.py",
    "nacre.lifecycle.doctor": "cli/test_doctor.py",
    "nacre.mcp.profiles.maintenance": "mcp/profiles/test_full.py",
    "nacre.mcp.store_provider": "mcp/test_server.py",
    "nacre.mcp.tool": "mcp/test_server.py",
    "nacre.minds.mind": "minds/test_cognitive.py",
    "nacre.model.graph": "engine/test_links.py",
    "nacre.model.journal": "engine/test_undo.py",
    "nacre.model.levels": "lessons/test_lesson.py",
    "nacre.model.recollection": "recall/test_recall.py",
    "nacre.protocols": "contract",
    "nacre.recall_options": "recall/test_recall_options.py",
    "nacre.server.api": "server/test_roles.py",
    "nacre.server.authentication": "server/test_app.py",
    "nacre.server.call": "server/test_app.py",
    "nacre.server.changes": "server/test_app.py",
    "nacre.server.metrics": "server/test_app.py",
    "nacre.server.provider": "server/test_roles.py",
    "nacre.server.refusals": "server/test_app.py",
    "nacre.storage.buffered_transaction": "contract/store/test_transactions.py",
    "nacre.storage.candidates": "contract/store/test_candidates.py",
    "nacre.storage.commit": "contract/store/test_commit.py",
    "nacre.storage.in_memory": "contract",
    "nacre.storage.pages": "contract/store/test_pages.py",
    "nacre.storage.postgres.health": "contract",
    "nacre.storage.postgres.rows": "contract",
    "nacre.storage.postgres.store": "contract",
    "nacre.storage.postgres.transaction": "contract/store/test_transactions.py",
    "nacre.storage.sqlite.rows": "contract",
    "nacre.storage.sqlite.schema": "storage/sqlite/test_connection.py",
    "nacre.storage.sqlite.signs": "storage/sqlite/test_search.py",
    "nacre.text.date_readings": "text/test_dates.py",
    "nacre.transfer.archive": "transfer/test_read_archive.py",
    "nacre.transfer.import_plan": "transfer/test_import_archive.py",
    "nacre.transfer.ingest.formats": "transfer/ingest/test_conversations.py",
    "nacre.transfer.ingest.items": "transfer/ingest/test_conversations.py",
    "nacre.transfer.names": "transfer/test_sources.py",
}


def modules() -> dict[str, Path]:
    files = {}
    for file in sorted((SOURCE / "nacre").rglob("*.py")):
        name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        files[name] = file
    return files


MODULES = modules()


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module, read with the first test that asks."""
    return {name: ast.parse(file.read_text("utf-8")) for name, file in MODULES.items()}


def imports_at_start(name: str) -> set[str]:
    """The modules of the package that importing this one imports: not those inside functions or for type checkers."""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    imported = set()
    for node in trees()[name].body:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                imported.add(inner if inner in MODULES else origin)
    return {module for module in imported if module in MODULES and module != name}


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: imports_at_start(name) for name in MODULES}
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        assert name not in path, "import circle: " + " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        for other in sorted(graph[name]):
            visit(other, [*path, name])
        done.add(name)

    for name in graph:
        visit(name, [])


def defined_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def test_no_name_of_the_old_vocabulary_is_left() -> None:
    left = [
        f"{MODULES[module].relative_to(ROOT)}:{line} {name}"
        for module, tree in trees().items()
        for line, name in defined_names(tree)
        if name.strip("_").lower() in OLD_NAMES and (module, name) not in PUBLISHED
    ]
    left += [str(file.relative_to(ROOT)) for file in MODULES.values() if file.stem in OLD_NAMES]
    assert left == []


def test_no_phrase_of_the_old_vocabulary_is_left() -> None:
    patterns = {phrase.lower(): re.compile(rf"\b{re.escape(phrase)}\b", re.IGNORECASE) for phrase in OLD_PHRASES}
    texts = [*MODULES.values(), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    left = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in texts
        if file.name != "CHANGELOG.md"
        for text in [file.read_text("utf-8").lower()]
        for phrase, pattern in patterns.items()
        if phrase in text  # which is quicker to say than where
        for match in pattern.finditer(text)
    ]
    assert left == []


def mirrored(name: str) -> Path:
    """`nacre.engine.undo` -> tests/engine/test_undo.py; commands drop their folder: tests/cli/test_edit.py."""
    *folders, module = name.split(".")[1:]
    folders = [folder for folder in folders if folder != "commands"]
    return TESTS.joinpath(*folders, f"test_{module.strip('_')}.py")


def test_every_module_has_a_test_file_where_one_would_look() -> None:
    missing = []
    for name, file in MODULES.items():
        if file.name in ("__init__.py", "__main__.py") or name.startswith("nacre.compat."):
            continue  # compat follows the older systems' own module trees and is tested by their lists
        if mirrored(name).is_file() or name in EXERCISED_ELSEWHERE:
            continue
        missing.append(f"{name} (expected {mirrored(name).relative_to(ROOT)})")
    assert missing == []


def test_what_is_exercised_elsewhere_names_tests_that_exist() -> None:
    for name, place in EXERCISED_ELSEWHERE.items():
        assert name in MODULES, f"{name} no longer exists"
        assert (TESTS / place).exists(), f"tests/{place} does not exist"
        assert not mirrored(name).is_file(), f"{name} has a test file of its own"
