"""Strict links and an archive that brings its own vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.factory import make_guard
from nacre.model import Link
from nacre.model.journal import UNDO_UNDER_WAY
from nacre.settings import Settings
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import TermRow
from nacre.transfer.vocabulary import checked_term


@pytest.fixture
def strict() -> MemoryStore:
    return MemoryStore(":memory:", settings=Settings(embedder="hashing", strict_links=True))


def archive(path: Path) -> Path:
    with MemoryStore(":memory:", embedder="hashing") as source:
        source.register_relation("feeds", "gives it to eat")
        source.remember("The barn stores hay", id="barn")
        source.remember("The farmer owns the barn", id="farmer", links=[Link("barn", "feeds")], on_conflict="ignore")
        export_archive(source, path)
    return path


def test_strict_links_accept_a_relation_that_the_archive_brings(strict: MemoryStore, tmp_path: Path) -> None:
    done = import_archive(strict, archive(tmp_path / "farm.nacre"))
    assert (done.imported, done.errors) == (2, 0)
    assert strict.get("farmer").links == (Link("barn", "feeds"),)  # type: ignore[union-attr]
    assert strict.relations()["feeds"] == "gives it to eat"


def test_strict_links_accept_a_relation_that_every_store_knows_and_the_archive_does_not_bring(
    strict: MemoryStore, tmp_path: Path
) -> None:
    with MemoryStore(":memory:", embedder="hashing") as source:
        source.remember("The barn stores hay", id="barn")
        source.remember("The barn is red", id="red", links=[Link("barn", "refines")], on_conflict="ignore")
        export_archive(source, tmp_path / "a.nacre")
    foreseen = import_archive(strict, tmp_path / "a.nacre", dry_run=True)
    done = import_archive(strict, tmp_path / "a.nacre")
    assert (foreseen.imported, done.imported, done.errors) == (2, 2, 0)


def test_an_archive_cannot_bring_an_undo_that_the_next_one_would_finish() -> None:
    with pytest.raises(InvalidInput, match="kind is not allowed"):
        checked_term(TermRow(1, UNDO_UNDER_WAY, "a" * 32, {"why": "b" * 32}), "default", make_guard(Settings()))


def test_an_archive_of_an_earlier_version_brings_the_type_of_lessons_as_a_term() -> None:
    guard = make_guard(Settings())
    assert checked_term(TermRow(1, "type", "lesson", {}), "default", guard).name == "lesson"
    with pytest.raises(InvalidInput, match="must not be a built-in one"):
        checked_term(TermRow(1, "type", "semantic", {}), "default", guard)
