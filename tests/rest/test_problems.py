"""Every error of the tree has a status, a remedy, and becomes the same error on the other side."""

from __future__ import annotations

import json

import pytest

from nacre import errors
from nacre.errors import (
    ArchiveRefused,
    ConflictError,
    InvalidInput,
    MemoryNotFound,
    NacreError,
    UndoBlocked,
    VersionMismatch,
)
from nacre.model import Conflict, Memory, Operation
from nacre.rest.problems import error_of, problem, problem_of, split_remedy

KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, NacreError)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_the_same_class_with_the_same_sentence_on_the_other_side(kind: type[NacreError]) -> None:
    error = errors.rebuild_error(kind, ("It cannot be done; do something else.",))
    about = json.loads(json.dumps(problem(error)))
    assert 400 <= about["status"] < 600 and about["title"]
    assert (about["detail"], about["remedy"]) == ("It cannot be done.", "Do something else.")
    back = error_of(about)
    assert type(back) is kind and str(back) == str(error)


def test_the_facts_of_an_error_come_with_it() -> None:
    later = Operation("pin", "ada", 1.0, "b" * 32)
    blocked = error_of(json.loads(json.dumps(problem(UndoBlocked("m1", [later])))))
    assert isinstance(blocked, UndoBlocked) and blocked.later == (later,)
    conflict = Conflict(Memory("a", "x"), Memory("b", "y"), 0.9, "update", "r")
    raised = error_of(json.loads(json.dumps(problem(ConflictError([conflict])))))
    assert isinstance(raised, ConflictError) and raised.conflicts == (conflict,)
    version = error_of(json.loads(json.dumps(problem(VersionMismatch("m", 1, 2)))))
    assert isinstance(version, VersionMismatch) and (version.expected, version.actual) == (1, 2)
    assert problem(MemoryNotFound("m", "s"))["status"] == 404


def test_an_error_of_a_newer_server_is_still_an_error() -> None:
    error = error_of(problem_of("NotKnownYet", 418, "t", "Something new; read about it."))
    assert type(error) is NacreError and str(error) == "Something new; read about it."
    assert type(error_of({"type": "urn:nacre:error:Path", "message": "x"})) is NacreError


def test_a_remedy_is_the_last_part_of_a_sentence() -> None:
    assert split_remedy(str(InvalidInput("One thing. Then another. And so on."))) == (
        "One thing.",
        "Then another. And so on.",
    )
    assert split_remedy("No remedy") == ("No remedy", "")


def test_a_file_that_cannot_be_taken_is_no_fault_of_the_store() -> None:
    about = problem(ArchiveRefused("notes.jsonl", "it is empty", "Name the file that holds the memories."))
    assert (about["status"], about["title"]) == (400, "The file cannot be taken")
