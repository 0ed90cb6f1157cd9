"""What a book answers, at the cli: its matter in every form, and beside it on stderr what to mind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from nacre.cli.ui.output import DATA, Column, print_data, print_items, say
from nacre.lessons import Answer
from nacre.lessons.lesson import to_json

T = TypeVar("T")

ENVELOPES = ("json", "yaml")  # the whole answer; JSONL has one record a line, and no place for it


def give(answer: Answer[tuple[T, ...]], columns: Sequence[Column[T]], form: str | None) -> None:
    give_one(answer, form, lambda items: print_items(items, columns, repr, form))


def give_one(answer: Answer[T], form: str | None, show: Callable[[T], None]) -> None:
    """`show` is for people and pipes; where no envelope holds the warnings they go to stderr."""
    if form in ENVELOPES:
        print_data(answer.to_dict(), form)
        return
    warn(answer)
    if form in DATA:
        print_data(to_json(answer.data), form)
    else:
        show(answer.data)


def warn(answer: Answer[T]) -> None:
    for warning in answer.warnings:
        say(warning)
