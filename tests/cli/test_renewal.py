"""After an update of the package with another model, the commands go on as they did."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.engine.checked_embedder import MODEL_CHANGED
from nacre.lifecycle.automatic_backup import copy_store
from nacre.models.shipped_embedder import ENGLISH, Kind
from nacre.settings import Settings
from tests.command_line import CommandLine
from tests.former_model import former, is_renewed

MANY = 100  # more than a step embeds
QUESTION = "Where is the copper kettle?"


@pytest.fixture
def outdated(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with MemoryStore(nacre.store, embedder="english") as store:
        store.remember_many([f"Berth {number} is free" for number in range(MANY)])
        store.remember("The copper kettle is in the cupboard")
        former(store.unrestricted_backend, ENGLISH.replaces[0])
    monkeypatch.setenv("NACRE_EMBEDDER", "auto")
    return nacre


def renewed(nacre: CommandLine, kind: Kind = ENGLISH) -> bool:
    with MemoryStore(nacre.store, embedder="auto") as store:
        return is_renewed(store, kind.identity)


def test_commands_that_read_give_all_memories_new_vectors(outdated: CommandLine) -> None:
    first = outdated("recall", QUESTION)
    assert (first.exit_code, "cupboard" in first.stdout) == (0, True)
    assert first.stderr.replace("\n", " ").count(MODEL_CHANGED) == 1
    assert outdated.json("stats")["waiting_for_model"] == MANY + 1
    for _ in range(MANY):
        result = outdated("recall", QUESTION)
        assert (result.exit_code, "cupboard" in result.stdout) == (0, True), "a half of the vectors hides no answer"
        if "model has changed" not in result.stderr:
            break
    assert renewed(outdated)
    assert outdated.json("stats")["embedder"] == ENGLISH.identity
    with MemoryStore(outdated.store, embedder="auto") as store:
        assert store.embedder.identity == ENGLISH.identity, "English alone, as it was"


def test_a_command_that_writes_says_so_and_begins_the_work(outdated: CommandLine) -> None:
    said = outdated("remember", "The teapot is red")
    assert said.exit_code == 0 and said.stderr.replace("\n", " ").count(MODEL_CHANGED) == 1
    assert "model has changed" not in outdated("remember", "The cup is white").stderr
    assert outdated.json("stats")["embedder"] == ENGLISH.identity


@pytest.mark.slow
def test_processes_of_their_own_end_the_work_too(outdated: CommandLine) -> None:
    for number in range(MANY):
        assert outdated.process("remember", f"Note {number}").returncode == 0
        if not outdated.json("stats")["waiting_for_model"]:
            break
    assert renewed(outdated)


def test_the_doctor_warns_and_its_remedy_gives_new_vectors_at_once(outdated: CommandLine) -> None:
    (finding,) = (each for each in outdated.json("doctor") if each["check"] == "embedder")
    assert (finding["level"], "nacre store reindex" in finding["message"]) == ("warning", True)
    assert outdated("doctor").exit_code == 0
    result = outdated("doctor", "--fix")
    assert (result.exit_code, f"Indexed {MANY + 1} memories again." in result.stderr) == (0, True)
    assert {each["level"] for each in outdated.json("doctor")} == {"ok"}
    assert renewed(outdated)


def test_a_reindexing_works_as_the_note_says(outdated: CommandLine) -> None:
    assert f"Reindexed {MANY + 1} memories" in outdated("store", "reindex").stderr
    assert renewed(outdated)


@pytest.mark.parametrize("begun", [False, True])
def test_the_process_that_makes_the_daily_copy_ends_the_work(outdated: CommandLine, *, begun: bool) -> None:
    if begun:
        outdated("recall", QUESTION)
    copy_store(Settings(store=str(outdated.store)), 0.0)
    assert renewed(outdated)
