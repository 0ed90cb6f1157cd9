"""Which memories a list, a recall and a forget are about: by entity, source and the other filters, in either order."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from tests.command_line import CommandLine
from tests.projects import make_project


@pytest.fixture
def office(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, embedder="hashing", on_conflict="ignore") as store:
        store.remember("Ana Ruiz leads the Lisbon office", id="lead", entities=["Ana Ruiz"], source="mail")
        store.remember("A. Ruiz paints the Lisbon office", id="paint", entities=["A. Ruiz"], session="s1")
        store.remember("Boris waters the Lisbon office", id="water", entities=["Boris"], source="mail", session="s1")
    return nacre


def ids(nacre: CommandLine, *words: str) -> list[str]:
    return [each["id"] for each in nacre.json(*words)]


def test_a_list_and_a_recall_can_be_narrowed_to_an_entity_in_any_spelling(office: CommandLine) -> None:
    assert ids(office, "list", "--entity", "ana ruiz") == ["lead"]
    assert ids(office, "recall", "Lisbon office", "--all", "--entity", "Ana Ruiz") == ["lead"]
    office.ok("graph", "entities", "merge", "Ana Ruiz", "A. Ruiz")
    assert ids(office, "list", "--entity", "A. Ruiz") == ["paint", "lead"]
    assert sorted(ids(office, "recall", "Lisbon office", "--all", "--entity", "ana ruiz")) == ["lead", "paint"]
    nobody = office("list", "--entity", "Clara")
    assert (nobody.exit_code, nobody.stderr) == (0, "Nothing matches --entity Clara.\n")


def test_a_list_and_a_recall_can_be_narrowed_to_a_source(office: CommandLine) -> None:
    assert ids(office, "list", "--source", "mail") == ["water", "lead"]
    assert ids(office, "list", "--source", "mail", "--entity", "Boris") == ["water"]
    assert sorted(ids(office, "recall", "Lisbon office", "--all", "--source", "mail")) == ["lead", "water"]


def test_a_list_can_begin_with_the_oldest_and_goes_on_by_its_cursor(office: CommandLine) -> None:
    assert ids(office, "list", "--sort", "oldest") == ["lead", "paint", "water"]
    first = office("list", "--sort", "oldest", "-n", "2", "--cursor", "", "-f", "jsonl")
    cursor = first.stderr.partition("--cursor ")[2].split()[0]
    assert ids(office, "list", "--sort", "oldest", "--cursor", cursor) == ["water"]
    assert "Write `--sort oldest`." in office("list", "--oldest").stderr


def test_a_list_can_begin_with_what_is_surest(office: CommandLine) -> None:
    for id, confidence in (("water", "0.2"), ("lead", "0.4")):
        office.ok("memory", "validate", id, "--confidence", confidence)
    assert ids(office, "list", "--sort", "confidence") == ["paint", "lead", "water"]


def test_forgetting_by_filters_asks_is_one_operation_and_one_undo_takes_it_back(office: CommandLine) -> None:
    refused = office("forget", "--session", "s1", input="n\n")
    assert refused.exit_code == 2 and "nothing was done" in refused.stderr
    assert "paint  A. Ruiz paints" in refused.stderr and "Forget 2 memories?" in refused.stderr
    assert len(ids(office, "list")) == 3
    assert "Forgot 2 memories; `nacre undo` takes it back" in office("forget", "--session", "s1", input="y\n").stderr
    assert ids(office, "list") == ["lead"]
    entries = office.json("journal", "--operation", "forget")
    assert len(entries) == 2 and len({each["batch"] for each in entries}) == 1
    office.ok("undo")
    assert len(ids(office, "list")) == 3


def test_forgetting_by_filters_means_what_a_list_with_them_has(office: CommandLine) -> None:
    listed = ids(office, "list", "--source", "mail", "--entity", "Ana Ruiz")
    would = office("forget", "--source", "mail", "--entity", "Ana Ruiz", "--dry-run")
    assert "lead  Ana Ruiz" in would.stderr and "1 memory would move to the trash; nothing was changed" in would.stderr
    assert ids(office, "list", "--source", "mail", "--entity", "Ana Ruiz") == listed == ["lead"]
    office.ok("forget", "--source", "mail", "--entity", "Ana Ruiz", "--yes")
    assert ids(office, "list") == ["water", "paint"]
    nothing = office("forget", "--session", "s9", "--yes")
    assert (nothing.exit_code, nothing.stderr) == (0, "Nothing matches, and nothing was forgotten.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name IDs, or filters"),
        (["--yes"], "name IDs, or filters"),
        (["--include-archived", "--yes"], "name IDs, or filters"),
        (["lead", "--session", "s1", "--yes"], "not both"),
    ],
)
def test_forgetting_takes_ids_or_filters_and_never_everything(office: CommandLine, words: list[str], said: str) -> None:
    result = office("forget", *words)
    assert result.exit_code == 2 and said in result.stderr
    assert len(ids(office, "list")) == 3


def test_nobody_at_a_terminal_must_answer_ahead(office: CommandLine) -> None:
    result = office("forget", "--session", "s1", input="")
    assert result.exit_code == 2 and "--yes answers ahead" in result.stderr
    assert len(ids(office, "list")) == 3


def test_forgetting_by_filters_leaves_the_space_beside_alone_and_says_so(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NACRE_SPACE")
    monkeypatch.chdir(make_project(tmp_path / "shop"))
    nacre.ok("remember", "The build takes a minute", "--session", "s1")
    nacre.ok("remember", "--personal", "I like short builds", "--session", "s1")
    result = nacre("forget", "--session", "s1", "--yes")
    assert (
        "1 more that matches is in the space 'personal'" in result.stderr
        and "`nacre --space personal forget`" in result.stderr
    )
    assert [each["space"] for each in nacre.json("list")] == ["personal"]
    nacre.ok("undo")
    assert len(nacre.json("list")) == 2


@pytest.mark.parametrize("option", ["--session", "--source", "--entity", "--tag", "--type"])
@pytest.mark.parametrize("value", ["", " "])
def test_a_filter_without_a_value_forgets_nothing(office: CommandLine, option: str, value: str) -> None:
    """As of a variable that is not set, beside one that is."""
    for words in ((option, value), (option, value, "--since", "2020-01-01")):
        result = office("forget", *words, "--yes")
        assert result.exit_code == 2 and f"{option} has no value" in result.stderr, result.stderr
    assert len(ids(office, "list")) == 3
