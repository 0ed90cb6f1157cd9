"""nacre lesson add, edit, delete, audit, review and validate"""

from __future__ import annotations

import sys
from functools import partial
from typing import cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice, Step, is_interactive, review_steps
from nacre.cli.errors import UsageProblem
from nacre.cli.lesson.common import (
    UNDO,
    confidence_option,
    find_lesson,
    lesson_columns,
    lesson_options,
    name_lesson,
    open_book,
    print_answer,
    print_list,
    summarize,
    terms_option,
)
from nacre.cli.options import command, form_option, option, why_option
from nacre.cli.ui.output import DATA, Column, Form, printable, put, say
from nacre.cli.ui.prompts import text_argument
from nacre.engine.engine import retry_while_changed
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.lessons.book import LessonChanges, LessonFields
from nacre.lessons.lesson import AGENT_TAG, ReviewDue
from nacre.lessons.vocabulary import TAG, Vocabulary
from nacre.model.levels import LEVELS, NAMES
from nacre.model.memory import short_id, without_none
from nacre.model.review import STALE_DAYS


@command("add", form_option("text", "json"))
@option("--title TEXT", "What it teaches, in a few words.")
@option("--content TEXT|-", "The lesson itself; - reads it from stdin.")
@lesson_options
@option("-i --interactive", "Answer questions, with completion; options are the defaults.")
@option("--id ID", "Your own id for it.")
def add_command(
    cli: CliContext, /, title: str | None, content: str | None, interactive: bool, id: str | None, form: Form,
    **options: object,
) -> None:  # fmt: skip
    """Store a lesson, from options or by answering questions, and print its id.

    A title or a content that is missing is asked for on a terminal. Tags are written in lower case and aliases are
    resolved; an unknown tag is stored with a warning. Without --confidence the lesson gets the typical confidence of
    its source.
    """
    fields = without_none(**options)
    if interactive and content == "-":
        raise click.UsageError("--interactive reads the terminal and - reads stdin; give one of the two.")
    if interactive or (content != "-" and not (title and content is not None) and sees_questions()):
        learned = add_interactively(cli, {**fields, "title": title or "", "content": content or ""}, id)
    elif not title or content is None:
        raise click.UsageError("Give --title and --content, or --interactive to be asked for them.")
    else:
        text = text_argument([content], stdin=False)
        learned = learn(cli, {**fields, "title": title, "content": text}, id)
    print_answer(learned, form, lambda lesson: put(lesson.id))
    if form not in DATA:
        suggest_contexts(learned)


def sees_questions() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def add_interactively(cli: CliContext, defaults: dict[str, object], id: str | None) -> Answer[Lesson]:
    if not sees_questions():
        raise UsageProblem("--interactive needs a terminal; give --title and --content instead.")
    from nacre.cli.lesson.interview import interview

    with open_book(cli, make=True) as book:  # without the model, so that the first question appears at once
        return interview(book, defaults, lambda fields: learn(cli, fields, id))


def learn(cli: CliContext, fields: dict[str, object], id: str | None) -> Answer[Lesson]:
    title, content = str(fields.pop("title")), str(fields.pop("content"))
    with open_book(cli, make=True) as book:
        return book.learn(title, content, id=id, **cast("LessonFields", fields))


def suggest_contexts(learned: Answer[Lesson]) -> None:
    contexts = learned.suggestions.get("contexts")
    if contexts and not learned.data.contexts:
        command = f"nacre lesson edit {short_id(learned.data.id)} --context {','.join(contexts)}"
        say(f"Similar lessons apply in {', '.join(contexts)}; `{command}` adds this here too.")


@command("edit ID", form_option("text", "json"))
@option("--title TEXT", "Its new title.")
@option("--content TEXT|-", "Its new content; - reads it from stdin.")
@lesson_options
@terms_option("--add-tag", "Add these tags to the current ones.")
@terms_option("--remove-tag", "Remove these tags.")
def edit_command(
    cli: CliContext, /, id: str, add_tag: tuple[str, ...] | None, remove_tag: tuple[str, ...] | None, form: Form,
    **options: object,
) -> None:  # fmt: skip
    """Change the given fields of a lesson; the others stay.

    Tags and contexts replace the current ones; an empty value clears them.
    """
    changes = without_none(**options)
    if changes.get("content") is not None:
        changes["content"] = text_argument([str(changes["content"])], stdin=False)
    if not (changes or add_tag or remove_tag):
        raise click.UsageError("Name what to change: --title, --content, --add-tag, --confidence, …")
    if "tags" in changes and (add_tag or remove_tag):
        raise click.UsageError("--tag replaces all tags; give it alone, or --add-tag and --remove-tag.")
    with open_book(cli) as book:

        def edit() -> tuple[Lesson, Answer[Lesson]]:
            memory = find_lesson(book, id)
            before = Lesson.of(memory)
            if add_tag or remove_tag:
                changes["tags"] = change_tags(book, before, add_tag or (), remove_tag or ())
            as_read = LessonBook(store=book.store.expecting({memory.id: memory.version}, check=False))
            return before, as_read.update(before.id, **cast("LessonChanges", changes))

        before, after = retry_while_changed(edit)
    unchanged = before.updated_at == after.data.updated_at
    outcome = "Nothing changed in {}." if unchanged else "Changed {}; `nacre undo` takes it back."
    print_answer(after, form, lambda lesson: say(outcome.format(name_lesson(lesson))))


def change_tags(book: LessonBook, lesson: Lesson, add: tuple[str, ...], remove: tuple[str, ...]) -> list[str]:
    removed = Vocabulary(book.store, TAG).resolve_all(remove)
    for tag in removed:
        if tag not in lesson.tags:
            say(f"It has no tag {tag!r}.")
    current = (tag for tag in lesson.tags if not tag.startswith(AGENT_TAG))
    return [tag for tag in (*current, *add) if tag not in removed]


@command("delete ID", why_option, form_option("text", "json"))
def delete_command(cli: CliContext, id: str, why: str, form: Form) -> None:
    """Move a lesson to the trash; `nacre trash restore` brings it back."""
    with open_book(cli) as book:
        lesson = Lesson.of(find_lesson(book, id))
        deleted = book.delete(lesson.id, why=why)
    outcome = f"{name_lesson(lesson)} is in the trash; `nacre trash restore {short_id(lesson.id)}` brings it back."
    print_answer(deleted, form, lambda _: say(outcome))


VALIDATED = "It holds, with {confidence} confidence."
HOLDS = Choice(
    key="v",
    label="it holds",
    decision="validate",
    meaning="Confirm that it still holds.",
    outcome=VALIDATED,
)
LESS = Choice(
    key="l",
    label="less surely",
    decision="less",
    meaning="It holds, with one level less confidence.",
    outcome=VALIDATED,
)
ARCHIVE = Choice(
    key="a",
    label="archive",
    decision="archive",
    meaning="Hide it from recall.",
    outcome="Archived; `nacre memory unarchive {id}` brings it back.",
)
TRASH = Choice(
    key="t",
    label="trash",
    decision="trash",
    meaning="Move it to the trash.",
    outcome="Moved to the trash; `nacre trash restore {id}` brings it back.",
)


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
@option(
    "--stale-days DAYS", "Days without an edit or a confirmation after which a lesson is stale.", default=STALE_DAYS
)
@option("--list", "List them, and ask nothing.", to="list_only")
def review_command(cli: CliContext, stale_days: float, list_only: bool, form: Form) -> None:
    """List the lessons that a person should check: contradicted ones first, then stale ones.

    On a terminal it asks for a decision on each, with one key; in a pipe, with --list or with -f it lists them.
    """
    with open_book(cli) as book:
        due = book.review(stale_days)
        if due.data and not list_only and is_interactive(form):
            review_steps([partial(review_step, book, each) for each in due.data], book.store)
            return
    columns: list[Column[ReviewDue]] = lesson_columns(
        lambda due: due.lesson, cli.now(), lambda due: f"{summarize(due.lesson)}\n({due.why})"
    )
    print_list(due, [*columns, Column("why", lambda due: due.why, only="tsv")], form)
    say("`nacre lesson validate ID` confirms that one still holds." if due.data else "No lesson waits for review.")


@command("validate ID", confidence_option, why_option, form_option("text", "json"))
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
            return TRASH.outcome.format(id=short_id(id))
        if choice is ARCHIVE:
            book.archive(id)
            return ARCHIVE.outcome.format(id=short_id(id))
        # The next level below; the lowest stays.
        level = NAMES[max(0, LEVELS[due.lesson.confidence].ordinal - 2)] if choice is LESS else None
        return choice.outcome.format(confidence=book.validate(id, level).data.confidence)

    return Step(due.why, (HOLDS, LESS, ARCHIVE, TRASH), apply, printable(f"{short_id(id)}  {summarize(due.lesson)}"))
