"""The settings for conflicts, ties and the journal: where they are read from and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import ConfigError, MemoryNotFound, UnknownName
from nacre.factory import make_conflict_model, make_journal_mirror, make_second_judge
from nacre.settings import Settings, settings
from nacre.storage.journal_mirror import JournalMirror
from tests.embedders import WordBag
from tests.trusting import trusted

WRITTEN = """
on_conflict = "warn"
strict_links = true
conflict_judge = "language-model"
journal_days = 30
journal_mirror = "logs/acts.jsonl"
"""


def from_file(folder: Path, written: str, **environment: str) -> Settings:
    trusted(folder / ".nacre.toml", written)
    return settings(environment=environment, folder=folder, user_file=folder / "none.toml")


def test_they_are_read_from_a_file_and_a_path_is_meant_from_where_it_lies(tmp_path: Path) -> None:
    found = from_file(tmp_path, WRITTEN)
    assert (found.on_conflict, found.strict_links, found.conflict_judge) == ("warn", True, "language-model")
    assert found.journal_days == 30.0
    assert found.journal_mirror == str(tmp_path / "logs" / "acts.jsonl")


def test_the_environment_overrules_the_file(tmp_path: Path) -> None:
    found = from_file(
        tmp_path, WRITTEN, NACRE_ON_CONFLICT="raise", NACRE_STRICT_LINKS="no", NACRE_JOURNAL_DAYS="7.5",
        NACRE_JOURNAL_MIRROR="/var/log/acts.jsonl", NACRE_CONFLICT_JUDGE=" ",
    )  # fmt: skip
    assert (found.on_conflict, found.strict_links, found.journal_days) == ("raise", False, 7.5)
    assert (found.journal_mirror, found.conflict_judge) == ("/var/log/acts.jsonl", "language-model")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("true", True), ("YES", True), ("on", True), ("1", True), (" off ", False), ("No", False), ("0", False)],
)
def test_yes_and_no_can_be_said_in_many_ways(tmp_path: Path, said: str, meant: bool) -> None:
    assert from_file(tmp_path, "", NACRE_STRICT_LINKS=said).strict_links is meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("strict_links = 'perhaps'", "strict_links to 'perhaps'; write true or false"),
        ("strict_links = 2", "write true or false"),
        ("strict_links = []", "write true or false"),
        ("journal_days = 'always'", "journal_days to something that is not a number"),
        ("on_conflict = true", "in quotes"),
        ("journal_mirror = 3", "in quotes"),
        ("on_conflcit = 'note'", "did you mean 'on_conflict'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_file(tmp_path: Path, written: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        from_file(tmp_path, written)
    assert ".nacre.toml" in str(caught.value)


def test_an_unknown_truth_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="NACRE_STRICT_LINKS sets strict_links to 'maybe'"):
        from_file(tmp_path, "", NACRE_STRICT_LINKS="maybe")


def test_an_unknown_policy_is_refused_with_those_there_are() -> None:
    known = Settings(store=":memory:", on_conflict="suprsede")
    with pytest.raises(UnknownName, match="did you mean 'supersede'"):
        MemoryStore(embedder=WordBag(), settings=known)


def test_an_unknown_judge_is_refused_and_one_without_its_model_too() -> None:
    with pytest.raises(UnknownName, match="Unknown conflict judge 'oracle'"):
        make_conflict_model(Settings(conflict_judge="oracle"))
    with pytest.raises(ConfigError, match="language_model"):
        make_second_judge(Settings(conflict_judge="language-model"))
    with pytest.raises(UnknownName, match="conflict judge"):
        MemoryStore(":memory:", embedder=WordBag(), settings=Settings(conflict_judge="oracle"))
    assert make_second_judge(Settings()) is None


def test_the_shipped_model_judges_conflicts_unless_rules_are_to_do_it_alone() -> None:
    assert make_conflict_model(Settings()) is not None
    assert make_conflict_model(Settings(conflict_judge="language-model")) is not None
    assert make_conflict_model(Settings(conflict_judge="rules")) is None


def test_a_store_does_as_its_settings_say(tmp_path: Path) -> None:
    known = from_file(tmp_path, "strict_links = true\njournal_mirror = 'logs/acts.jsonl'\nstore = ':memory:'")
    with MemoryStore(embedder=WordBag(), settings=known) as store:
        store.remember("a text", id="a")
        with pytest.raises(MemoryNotFound):
            store.link("a", "nobody")
    mirror = make_journal_mirror(known)
    assert isinstance(mirror, JournalMirror)
    assert mirror.path == tmp_path / "logs" / "acts.jsonl"
    assert [json.loads(line)["memory_id"] for line in mirror.path.read_text("utf-8").splitlines()] == ["a"]
    assert make_journal_mirror(Settings()) is None
