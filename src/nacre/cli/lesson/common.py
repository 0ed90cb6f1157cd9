"""Shared parts of the lesson commands: opening the book, options, columns and output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_by_id
from nacre.cli.options import Decorator, combine, option
from nacre.cli.ui.output import DATA, Column, Form, print_data, print_items, say, shortened
from nacre.cli.ui.records import ROOMY
from nacre.cli.ui.times import age
from nacre.factory import is_server
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.lessons.lesson import to_json
from nacre.model import Memory
from nacre.model.instants import iso
from nacre.model.levels import NAMES
from nacre.model.memory import LESSON, TRASHED, short_id

T = TypeVar("T")

LEVELS = ", ".join(NAMES[:-1]) + f" or {NAMES[-1]}"
ENVELOPES = ("json", "yaml")  # these print the whole answer; JSONL has one record a line, and no place for warnings
CONTENT_LENGTH = 200  # characters of a content in a table; `nacre lesson show` prints all of it
UNDO = "`nacre undo` takes it back."


# The book and its lessons


@contextmanager
def open_book(cli: CliContext, *, make: bool = False, dry_run: bool = False) -> Iterator[LessonBook]:
    """`make` for commands that may create the store, `dry_run` for a trial of them."""
    if dry_run:
        opened = cli.open_if_it_exists()
    elif make:
        opened = cli.open_or_make()  # type: ignore[assignment]
    else:
        opened = cli.open()
    with opened as store, LessonBook(store=store) as book:
        yield book


def is_remote(book: LessonBook) -> bool:
    """Whether it is behind a server, through which lessons are neither added nor edited, nor their terms."""
    return is_server(book.store.settings.store)


def advice(book: LessonBook, sentence: str) -> str:
    """The sentence with its end; over a server, where the command works."""
    return f"{sentence}, on the machine of the server." if is_remote(book) else f"{sentence}."


def find_lesson(book: LessonBook, prefix: str) -> Memory:
    """The lesson whose id begins with the prefix, and that is not in the trash."""
    memory = find_by_id(book.store, book.store.resolve_id(prefix))
    id = short_id(memory.id)
    if memory.type != LESSON:
        raise NotFound(f"{id} is a memory of type {memory.type}, not a lesson; `nacre show {id}` shows it.")
    if memory.status == TRASHED:
        raise NotFound(f"{id} is in the trash; `nacre trash restore {id}` brings it back.")
    return memory


def name_lesson(lesson: Lesson) -> str:
    """The short id and title, for a sentence."""
    return f"{short_id(lesson.id)} ({shortened(lesson.title)})"


# Options


def terms_option(names: str, help: str, *, to: str = "", old: str = "") -> Decorator:
    """Terms separated by commas, or the option repeated; None when it is not given."""
    return option(f"{names} WORD,…", help, to=to, old=old, multiple=True, callback=parse_terms)


def parse_terms(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Empty for a blank value, which clears the field."""
    return split_terms(*values) if values else None


def split_terms(*values: str) -> tuple[str, ...]:
    return tuple(term.strip() for value in values for term in value.split(",") if term.strip())


def parse_level(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | float | None:
    """A number, or the name of a level for the book to check."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return value


confidence_option = option("-c --confidence LEVEL", f"How sure it is: {LEVELS}.", callback=parse_level)
# Options with the names of a lesson's fields.
lesson_options = combine(
    terms_option("-g --tag", "What it is about; repeat for several, or git,ci.", to="tags", old="--tags"),
    terms_option(
        "--context",
        "A situation that it applies in, team.shared-branch; repeat.",
        to="contexts",
        old="--contexts",
    ),
    terms_option(
        "--anti-context", "A situation that it does not apply in; repeat.", to="anti_contexts", old="--anti-contexts"
    ),
    confidence_option,
    option("-s --source NAME", "How it is known: tested, documented, observed, inferred, hearsay."),
    option("--notes TEXT", "What its source said, and where.", to="source_notes"),
)


# Output


def print_answer(answer: Answer[T], form: Form, show: Callable[[T], None]) -> None:
    """`show` prints for people and pipes; warnings go to stderr where the format has no place for them."""
    if form in ENVELOPES:
        print_data(answer.to_dict(), form)
        return
    say(*answer.warnings)
    if form in DATA:
        print_data(to_json(answer.data), form)
    else:
        show(answer.data)


def print_list(answer: Answer[tuple[T, ...]], columns: Sequence[Column[T]], form: Form, empty: str = "") -> None:
    """`empty` is said when there are no items."""
    print_answer(answer, form, lambda items: print_items(items, columns, repr, form))
    if empty and not answer.data:
        say(empty)


def terms_column(name: str, terms: Callable[[T], Sequence[str]], **options: Any) -> Column[T]:
    return Column(name, lambda each: ",".join(terms(each)), lambda each: ", ".join(terms(each)), **options)


def lesson_columns(
    lesson_of: Callable[[T], Lesson], now: float, summary: Callable[[T], str] | None = None
) -> list[Column[T]]:
    """`summary` replaces the text under a title on a terminal."""
    summary = summary or (lambda item: summarize(lesson_of(item)))
    return [
        Column("id", lambda item: lesson_of(item).id, lambda item: short_id(lesson_of(item).id), style="cyan"),
        Column("confidence", lambda item: lesson_of(item).confidence, style="magenta"),
        Column("source", lambda item: lesson_of(item).source, least_width=ROOMY),
        Column(
            "updated", lambda item: iso(lesson_of(item).updated_at), lambda item: age(lesson_of(item).updated_at, now)
        ),
        Column(
            "tags",
            lambda item: ",".join(lesson_of(item).tags),
            lambda item: " ".join(lesson_of(item).tags),
            least_width=ROOMY,
        ),
        Column("title", lambda item: lesson_of(item).title, summary, wide=True, wraps=True),
        Column("content", lambda item: lesson_of(item).content, only="tsv"),
    ]


def summarize(lesson: Lesson) -> str:
    mark = " (archived)" if lesson.archived else " (superseded)" if lesson.superseded_by else ""
    return f"{lesson.title}{mark}\n{shortened(lesson.content, CONTENT_LENGTH)}"
