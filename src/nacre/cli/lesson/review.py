"""nacre lesson audit, review, validate, archive and unarchive"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice, stale_option
from nacre.cli.lesson.common import (
    UNDO,
    Step,
    confidence_option,
    find_lesson,
    is_interactive,
    lesson_columns,
    name_lesson,
    open_book,
    print_answer,
    print_list,
    review_steps,
    summarize,
)
from nacre.cli.options import command, form_option, option, why_option
from nacre.cli.ui.output import Column, Form, say
from nacre.cli.ui.records import short
from nacre.lessons import LessonBook
from nacre.lessons.lesson import ReviewDue
from nacre.model.levels import LEVELS, NAMES

HOLDS = Choice("v", "it holds", "validate", "Validated.")
LESS = Choice("l", "less surely", "less", "It holds, with one level less confidence.")
ARCHIVE = Choice("a", "archive", "archive", "Archived.")
TRASH = Choice("t", "trash", "trash", "Moved to the trash.")


@command("audit", form_option())
@option("--confidence RANGE", "high, high- (and more), -low (and less), or 0.2-0.6.")
@option("-s --source NAME", "From this source, or one under it: inferred, hearsay, …")
@option("--unvalidated", "Lessons that nobody ever confirmed.")
def audit_command(cli: CliContext, confidence: str | None, source: str | None, unvalidated: bool, form: Form) -> None:
    """List lessons by confidence and source, surest first.

    \b
      nacre lesson audit --confidence high --source inferred
    """
    with open_book(cli) as book:
        lessons = book.audit(confidence, source, False if unvalidated else None)
    print_list(lessons, lesson_columns(lambda lesson: lesson, cli.now()), form, "No lesson matches.")


@command("review", form_option())
@stale_option
@option("--list", "List them, and ask nothing.", to="list_only")
def review_command(cli: CliContext, stale_days: float, list_only: bool, form: Form) -> None:
    """List the lessons that a person should check: contradicted ones first, then stale ones.

    On a terminal it asks for a decision on each, with one key; in a pipe, with --list or with -f it lists them.
    """
    with open_book(cli) as book:
        due = book.review(stale_days)
        if due.data and not list_only and is_interactive(form):
            review_steps([review_step(book, each) for each in due.data])
            return
    columns: list[Column[ReviewDue]] = lesson_columns(
        lambda due: due.lesson, cli.now(), lambda due: f"{summarize(due.lesson)}\n({due.why})"
    )
    print_list(due, [*columns, Column("why", lambda due: due.why, only="tsv")], form)
    say("`nacre lesson validate ID` confirms that one still holds." if due.data else "No lesson waits for review.")


@command("validate", click.argument("id"), confidence_option, why_option, form_option("text", "json"))
def validate_command(cli: CliContext, id: str, confidence: str | float | None, why: str, form: Form) -> None:
    """Confirm that a lesson still holds, and how sure that is."""
    with open_book(cli) as book:
        after = book.validate(find_lesson(book, id).id, confidence, why=why)
    print_answer(
        after, form, lambda lesson: say(f"{name_lesson(lesson)} holds, with {lesson.confidence} confidence; {UNDO}")
    )


def review_step(book: LessonBook, due: ReviewDue) -> Step:
    id = due.lesson.id

    def apply(choice: Choice) -> str:
        if choice is TRASH:
            book.delete(id)
            return f"Moved to the trash; `nacre restore {short(id)}` brings it back."
        if choice is ARCHIVE:
            book.archive(id)
            return f"Archived; `nacre unarchive {short(id)}` brings it back."
        # The next level below; the lowest stays.
        level = NAMES[max(0, LEVELS[due.lesson.confidence].ordinal - 2)] if choice is LESS else None
        return f"It holds, with {book.validate(id, level).data.confidence} confidence."

    return Step(due.why, (HOLDS, LESS, ARCHIVE, TRASH), apply, f"{short(id)}  {summarize(due.lesson)}")
