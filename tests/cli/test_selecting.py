"""Which memories a list, a recall and a forget are about: by entity, source and the other filters, in either order."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from tests.command_line import CommandLine


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
