"""nacre lesson audit, review, validate, archive and unarchive"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice
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
from nacre.cli.options import command, form_option, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import Column, say
from nacre.cli.ui.prompts import count_of
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.lessons.lesson import ReviewDue
from nacre.lessons.staleness import STALE_DAYS
from nacre.model.levels import LEVELS, NAMES

HOLDS = Choice("v", "it holds", "validate", "Validated.")
LESS = Choice("l", "less surely", "less", "It holds, with one level less confidence.")
ARCHIVE = Choice("a", "archive", "archive", "Archived.")
TRASH = Choice("t", "trash", "trash", "Moved to the trash.")


@command("audit")
@click.option("--confidence", metavar="RANGE", help="high, high- (and more), -low (and less), or 0.2-0.6.")
@click.option("-s", "--source", metavar="NAME", help="From this source, or one under it: inferred, hearsay, …")
@click.option("--unvalidated", is_flag=True, help="Lessons that nobody ever confirmed.")
@form_option()
def audit_command(
    cli: CliContext, confidence: str | None, source: str | None, unvalidated: bool, form: str | None
) -> None:
    """List lessons by confidence and source, surest first.

    \b
      nacre lesson audit --confidence high --source inferred
    """
    with open_book(cli) as book:
        lessons = book.audit(confidence, source, False if unvalidated else None)
    print_list(lessons, lesson_columns(lambda lesson: lesson, cli.now()), form)
    if not lessons.data:
        say("No lesson matches.")


@command("review")
@click.option(
    "--stale-days", type=click.FloatRange(min=0), default=STALE_DAYS, show_default=True, metavar="N",
    help="A lesson is stale when nobody wrote or validated it for so long.",
)  # fmt: skip
@click.option("--list", "list_only", is_flag=True, help="List them, and ask nothing.")
@form_option()
def review_command(cli: CliContext, stale_days: float, list_only: bool, form: str | None) -> None:
    """List the lessons that a person should check: contradicted ones first, then stale ones.

    On a terminal it asks for a decision on each, with one key; in a pipe, with --list or with -f it lists them.
    """
    with open_book(cli) as book:
        due = book.review(stale_days)
        if due.data and not list_only and is_interactive(form):
            review_steps([review_step(book, each) for each in due.data])
            return
    print_list(due, due_columns(cli.now()), form)
    say("`nacre lesson validate ID` confirms that one still holds." if due.data else "No lesson waits for review.")


@command("validate")
@click.argument("id")
@confidence_option
@why_option
@form_option("text", "json")
def validate_command(cli: CliContext, id: str, confidence: str | float | None, why: str, form: str | None) -> None:
    """Confirm that a lesson still holds, and how sure that is."""
    with open_book(cli) as book:
        after = book.validate(find_lesson(book, id).id, confidence, why=why)
    print_answer(
        after, form, lambda lesson: say(f"{name_lesson(lesson)} holds, with {lesson.confidence} confidence; {UNDO}")
    )


@command("archive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@form_option("text", "json")
def archive_command(cli: CliContext, ids: tuple[str, ...], why: str, form: str | None) -> None:
    """Hide lessons from searches without losing them; `search --include-archived` finds them."""
    with open_book(cli) as book:
        print_changed(book.archive(*full_ids(book, ids), why=why), form, "Archived")


@command("unarchive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@why_option
@form_option("text", "json")
def unarchive_command(cli: CliContext, ids: tuple[str, ...], why: str, form: str | None) -> None:
    """Take lessons out of the archive."""
    with open_book(cli) as book:
        print_changed(book.unarchive(*full_ids(book, ids), why=why), form, "Took out of the archive")


def full_ids(book: LessonBook, prefixes: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(find_lesson(book, prefix).id for prefix in prefixes))


def print_changed(answer: Answer[int], form: str | None, verb: str) -> None:
    outcome = f"{verb} {count_of(answer.data, 'lesson', 'lessons')}; {UNDO}"
    print_answer(answer, form, lambda changed: say(outcome if changed else "Nothing to do: that is so already."))


def review_step(book: LessonBook, due: ReviewDue) -> Step:
    id = due.lesson.id

    def apply(choice: Choice) -> str:
        if choice is TRASH:
            book.delete(id)
            return f"Moved to the trash; `nacre lesson restore {short(id)}` brings it back."
        if choice is ARCHIVE:
            book.archive(id)
            return f"Archived; `nacre lesson unarchive {short(id)}` brings it back."
        level = lower_level(due.lesson) if choice is LESS else None
        return f"It holds, with {book.validate(id, level).data.confidence} confidence."

    return Step(due.why, (HOLDS, LESS, ARCHIVE, TRASH), apply, f"{short(id)}  {summarize(due.lesson)}")


def lower_level(lesson: Lesson) -> str:
    """The next level below; the lowest stays."""
    return NAMES[max(0, LEVELS[lesson.confidence].ordinal - 2)]


def due_columns(now: float) -> list[Column[ReviewDue]]:
    columns: list[Column[ReviewDue]] = lesson_columns(
        lambda due: due.lesson, now, lambda due: f"{summarize(due.lesson)}\n({due.why})"
    )
    return [*columns, Column("why", lambda due: due.why, only="tsv")]
