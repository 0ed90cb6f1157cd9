"""nacre lesson sources"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice, ask_text
from nacre.cli.lesson.answering import give, give_one
from nacre.cli.lesson.merging import UNDO, confirm_merge, one_of, tell_merge
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import LEVELS
from nacre.cli.lesson.walking import Step, asks, walk
from nacre.cli.options import form_option, global_options, why_option, yes_option
from nacre.cli.ui.output import Column, say
from nacre.errors import InvalidInput
from nacre.lessons.lesson import SourceInfo
from nacre.lessons.vocabulary import DEFAULT_LEVEL, SOURCE, normalize

if TYPE_CHECKING:
    from nacre.lessons import Answer, LessonBook

Pair = tuple[str, str] | None
KEEP = Choice("k", "keep", "keep", "It stays, and no longer waits.")
MERGE = Choice("m", "merge", "merge", "Another name is meant; its lessons get that.")


@click.command("sources")
@click.option("--review", is_flag=True, help="Those that came up by themselves; on a terminal, decide each.")
@click.option("--add", metavar="NAME", help="Describe a source, new or not, with the two options below.")
@click.option("--description", metavar="TEXT", help="What it means to know a lesson from it.")
@click.option("--typical", metavar="LEVEL", help=f"How sure its lessons usually are: {LEVELS}.")
@click.option("--confirm", metavar="NAME", help="Let one stay that came up by itself.")
@click.option("--merge", nargs=2, metavar="OLD NEW", help="Make OLD one with NEW on every lesson.")
@click.option("--deprecate", metavar="NAME", help="Warn whoever names it from now on.")
@click.option("--undeprecate", metavar="NAME", help="No longer warn.")
@yes_option
@why_option
@form_option()
@global_options
@click.pass_obj
def sources_command(
    cli: CliContext,
    review: bool,
    add: str | None,
    description: str | None,
    typical: str | None,
    confirm: str | None,
    merge: Pair,
    deprecate: str | None,
    undeprecate: str | None,
    yes: bool,
    why: str,
    form: str | None,
) -> None:
    """List how lessons are known, the most named first; or describe, merge and review the sources.

    \b
      nacre lesson sources --add benchmarked --description "measured, with figures" --typical very-high
      nacre lesson sources --merge test tested
    """
    deed = one_of(review=review, add=add, confirm=confirm, merge=merge, deprecate=deprecate, undeprecate=undeprecate)
    if deed != "add" and (description or typical) is not None:
        raise click.UsageError("--description and --typical belong to a source that is added: --add NAME.")
    with opened(cli, make=deed not in (None, "review")) as book:
        if add:
            tell(described(book, add, description, typical), form, "is described")
        elif confirm:
            tell(book.confirm_source(confirm), form, "stays")
        elif deprecate:
            tell(book.deprecate_source(deprecate), form, "is deprecated")
        elif undeprecate:
            tell(book.deprecate_source(undeprecate, deprecated=False), form, "is no longer deprecated")
        elif merge:
            if not yes:
                confirm_merge(book, SOURCE, *merge)
            tell_merge(SOURCE, merge, book.merge_sources(*merge, why=why), form)
        else:
            list_sources(book, form, review=review)


def described(book: LessonBook, name: str, description: str | None, typical: str | None) -> Answer[SourceInfo]:
    """What is not said anew stays as it was."""
    stood = next((each for each in book.sources().data if each.name == normalize(name)), None)
    before = (stood.description, stood.typical_confidence) if stood is not None else ("", DEFAULT_LEVEL)
    return book.add_source(name, before[0] if description is None else description, typical or before[1])


def tell(done: Answer[SourceInfo], form: str | None, outcome: str) -> None:
    told = f"The source {done.data.name!r} {outcome}; its lessons are usually {done.data.typical_confidence}. {UNDO}"
    give_one(done, form, lambda _: say(told))


def list_sources(book: LessonBook, form: str | None, *, review: bool) -> None:
    found = book.sources(review=review)
    if review and found.data and asks(form):
        walk([step(book, each) for each in found.data])
        return
    give(found, columns(), form)
    if review:
        say(
            "`nacre lesson sources --confirm NAME` lets one stay, --merge OLD NEW says which was meant."
            if found.data
            else "No source waits for review."
        )


def step(book: LessonBook, each: SourceInfo) -> Step:
    def carry_out(choice: Choice) -> str:
        if choice is KEEP:
            book.confirm_source(each.name)
            return KEEP.outcome
        into = ask_text("Which source is meant? ")
        if not into:
            raise InvalidInput("no source was named; it still waits.")
        if into not in known(book):
            raise InvalidInput(f"there is no source {into!r}; `nacre lesson sources` lists them.")
        book.merge_sources(each.name, into)
        return f"Its lessons have {into!r} now."

    return Step(f"source {each.name!r} came up by itself, on {each.count:,}", (KEEP, MERGE), carry_out)


def known(book: LessonBook) -> set[str]:
    return {each.name for each in book.sources().data}


def columns() -> list[Column[SourceInfo]]:
    return [
        Column("source", lambda each: each.name, lambda each: each.name, style="cyan"),
        Column("lessons", lambda each: str(each.count), lambda each: f"{each.count:,}", right=True),
        Column("typical", lambda each: each.typical_confidence, lambda each: each.typical_confidence, style="magenta"),
        Column("standing", standing, standing),
        Column("description", lambda each: each.description, lambda each: each.description, wide=True, wraps=True),
    ]


def standing(each: SourceInfo) -> str:
    return "deprecated" if each.deprecated else "waits for review" if each.review else ""
