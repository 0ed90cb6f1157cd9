"""nacre lesson contexts"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.answering import give
from nacre.cli.lesson.merging import confirm_merge, one_of, tell, tell_merge
from nacre.cli.lesson.opening import opened
from nacre.cli.options import form_option, global_options, why_option, yes_option
from nacre.cli.ui.output import Column, say
from nacre.lessons.vocabulary import CONTEXT

if TYPE_CHECKING:
    from nacre.lessons import LessonBook
    from nacre.lessons.lesson import ContextInfo

Pair = tuple[str, str] | None


@click.command("contexts")
@click.option("--merge", nargs=2, metavar="OLD NEW", help="Make OLD one with NEW on every lesson.")
@click.option("--child", nargs=2, metavar="A PARENT", help="Whoever is in A is in PARENT as well.")
@click.option("--synonym", nargs=2, metavar="A B", help="A and B are one situation, by two names.")
@click.option("--unrelate", nargs=2, metavar="A B", help="Take back what was said of the two.")
@yes_option
@why_option
@form_option()
@global_options
@click.pass_obj
def contexts_command(
    cli: CliContext, merge: Pair, child: Pair, synonym: Pair, unrelate: Pair, yes: bool, why: str, form: str | None
) -> None:
    """List the situations that lessons apply in, or do not, the most named first; or merge and relate them."""
    deed = one_of(merge=merge, child=child, synonym=synonym, unrelate=unrelate)
    with opened(cli, make=deed is not None) as book:
        if deed is None:
            list_contexts(book, form)
        elif merge:
            if not yes:
                confirm_merge(book, CONTEXT, *merge)
            tell_merge(CONTEXT, merge, book.merge_contexts(*merge, why=why), form)
        elif child:
            tell(book.relate_contexts(*child, "child_of"), form, f"{child[0]!r} lies in {child[1]!r} now")
        elif synonym:
            outcome = f"{synonym[0]!r} and {synonym[1]!r} are found together now"
            tell(book.relate_contexts(*synonym, "synonym"), form, outcome)
        elif unrelate:
            tell(book.unrelate_contexts(*unrelate), form, f"{unrelate[0]!r} and {unrelate[1]!r} are unrelated now")


def list_contexts(book: LessonBook, form: str | None) -> None:
    found = book.contexts()
    give(found, columns(), form)
    if not found.data:
        say("No lesson says where it applies; `nacre lesson edit ID --contexts …` says it.")


def columns() -> list[Column[ContextInfo]]:
    return [
        Column("context", lambda each: each.name, lambda each: each.name, style="cyan"),
        Column("applies", lambda each: str(each.count), lambda each: f"{each.count:,}", right=True),
        Column("not", lambda each: str(each.anti_count), lambda each: f"{each.anti_count:,}", right=True),
        Column("also", lambda each: ",".join(each.aliases), lambda each: ", ".join(each.aliases)),
        Column("in", lambda each: ",".join(each.parents), lambda each: ", ".join(each.parents), wide=True),
    ]
