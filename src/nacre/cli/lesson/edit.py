"""nacre lesson edit"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.columns import named, own_tags
from nacre.cli.lesson.opening import lesson_named, opened
from nacre.cli.lesson.options import describing, words_option
from nacre.cli.options import form_option, global_options, without_none
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import text_argument
from nacre.lessons import Lesson

if TYPE_CHECKING:
    from nacre.lessons import LessonBook
    from nacre.lessons.book import LessonChanges


@click.command("edit")
@click.argument("id")
@click.option("--title", metavar="TEXT", help="Its new title.")
@click.option("--content", metavar="TEXT|-", help="Its new content; - reads it from stdin.")
@describing
@words_option("--add-tag", "add_tag", help="Add these tags to those that stand.")
@words_option("--remove-tag", "remove_tag", help="Take these tags away.")
@form_option("text", "json")
@global_options
@click.pass_obj
def edit_command(
    cli: CliContext,
    /,
    id: str,
    add_tag: tuple[str, ...] | None,
    remove_tag: tuple[str, ...] | None,
    form: str | None,
    **described: object,
) -> None:
    """Change what you name of a lesson; the rest stays as it is.

    Tags and contexts that are given replace those that stood; an empty value clears them.
    """
    changes = without_none(described)
    if changes.get("content") is not None:
        changes["content"] = text_argument([str(changes["content"])], stdin=False)
    if not (changes or add_tag or remove_tag):
        raise click.UsageError("Name what to change: --title, --content, --add-tag, --confidence, …")
    if "tags" in changes and (add_tag or remove_tag):
        raise click.UsageError("--tags says them all; --add-tag and --remove-tag change those that stand.")
    retold = "title" in changes or "content" in changes
    with opened(cli, model=retold) as book:
        before = Lesson.of(lesson_named(book, id))
        if add_tag or remove_tag:
            changes["tags"] = retagged(book, before, add_tag or (), remove_tag or ())
        after = book.update(before.id, **cast("LessonChanges", changes))
    give_one(after, form, lambda lesson: tell(before, lesson))


def retagged(book: LessonBook, lesson: Lesson, add: tuple[str, ...], remove: tuple[str, ...]) -> list[str]:
    from nacre.lessons.vocabulary import TAG, Vocabulary

    going = Vocabulary(book.store, TAG).resolve_all(remove)
    for tag in going:
        if tag not in lesson.tags:
            say(f"It has no tag {tag!r}.")
    return [tag for tag in (*own_tags(lesson), *add) if tag not in going]


def tell(before: Lesson, after: Lesson) -> None:
    if before.updated_at == after.updated_at:
        say(f"Nothing changed in {named(after)}.")
    else:
        say(f"Changed {named(after)}; `nacre undo` takes it back.")
