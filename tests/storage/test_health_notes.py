"""The sentences by which a doctor names memories: their commands can be copied into a shell."""

from __future__ import annotations

from nacre.model.validate import RANGES
from nacre.storage.health_notes import MOST_NAMED, altered_notes, range_notes

RIGHT: dict[str, float | None] = dict.fromkeys(RANGES)


def test_an_advised_command_quotes_the_space_and_the_id() -> None:
    wrong = [("my team", "it's 1", *{**RIGHT, "importance": 7.0}.values())]
    (numbers,), (text,) = range_notes(wrong), altered_notes([("my team", "it's 1")])
    for note in (numbers, text):
        assert """nacre --space 'my team' edit 'it'"'"'s 1'""" in note
    assert "the importance 7, which must be from 0 to 1" in numbers and "--importance NUMBER" in numbers


def test_what_the_command_cannot_set_is_corrected_in_python() -> None:
    (trust,) = range_notes([("harbour", "x1", *{**RIGHT, "trust": -2.0}.values())])
    (weight,) = range_notes([("harbour", "x1", *RIGHT.values())])
    assert "in Python, `edit('x1', trust=…)`" in trust
    assert "a link with a weight" in weight and "links=…" in weight


def test_only_some_are_named_and_the_others_counted() -> None:
    names = [("harbour", f"x{number}") for number in range(MOST_NAMED + 2)]
    *named, last = altered_notes(names)
    assert len(named) == MOST_NAMED and last.startswith("2 more texts")
    *named, last = range_notes([(*name, *RIGHT.values()) for name in names])
    assert len(named) == MOST_NAMED and last.startswith("2 more memories")
