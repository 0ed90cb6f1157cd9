"""nacre lesson tags"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.review import Choice
from nacre.cli.lesson.answering import give, give_one, warn
from nacre.cli.lesson.merging import confirm_merge, one_of, tell, tell_merge
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import words_option
from nacre.cli.lesson.walking import Step, asks, walk
from nacre.cli.options import form_option, global_options, why_option, yes_option
from nacre.cli.ui.output import DATA, Column, say
from nacre.lessons.vocabulary import TAG

if TYPE_CHECKING:
    from nacre.lessons import LessonBook
    from nacre.lessons.lesson import TagInfo
    from nacre.lessons.tag_review import MergeProposal

Pair = tuple[str, str] | None
MERGE = Choice("m", "merge", "merge", "The second becomes the first, on every lesson.")
TURNED = Choice("o", "the other way", "turned", "The first becomes the second.")
APART = Choice("k", "keep apart", "apart", "They are two, and nobody is asked again.")


@click.command("tags")
@click.option("--counts", is_flag=True, help="With how many lessons have each, the most used first.")
@click.option("--review", is_flag=True, help="Tags that seem to be one; on a terminal, decide each.")
@click.option("--merge", nargs=2, metavar="OLD NEW", help="Make OLD one with NEW on every lesson.")
@click.option("--alias", nargs=2, metavar="A B", help="Write B wherever A is said from now on.")
@click.option("--synonym", nargs=2, metavar="A B", help="Find A where B is asked for, and the other way round.")
@click.option("--child", nargs=2, metavar="A PARENT", help="Find A where PARENT is asked for.")
@click.option("--unrelate", nargs=2, metavar="A B", help="Take back what was said of the two.")
@click.option("--apart", nargs=2, metavar="A B", help="Never propose to make one of the two.")
@words_option("--know", "know", help="Tags that nobody is warned of.")
@yes_option
@why_option
@form_option()
@global_options
@click.pass_obj
def tags_command(
    cli: CliContext,
    /,
    counts: bool,
    review: bool,
    know: tuple[str, ...] | None,
    yes: bool,
    why: str,
    form: str | None,
    **pairs: Pair,
) -> None:
    """List the tags with what each stands for; or merge, relate and review them.

    \b
      nacre lesson tags --merge javscript javascript
      nacre lesson tags --child jira api
    """
    deed = one_of(review=review, know=know, **pairs)
    pair = pairs.get(deed or "")
    with opened(cli, model=review, make=deed not in (None, "review")) as book:
        if deed is None:
            list_tags(book, form, counts=counts)
        elif know:
            give_one(book.know_tags(*know), form, tell_known)
        elif pair is None:
            propose(book, form)
        elif deed == "merge":
            if not yes:
                confirm_merge(book, TAG, *pair)
            tell_merge(TAG, pair, book.merge_tags(*pair, why=why), form)
        else:
            relate(book, deed, pair, form)


def tell_known(new: tuple[str, ...]) -> None:
    say(f"Known from now on: {', '.join(new)}." if new else "They are known already.")


def relate(book: LessonBook, deed: str, pair: tuple[str, str], form: str | None) -> None:
    a, b = pair
    if deed == "alias":
        tell(book.alias_tag(a, b), form, f"{a!r} is written as {b!r} from now on")
    elif deed == "synonym":
        tell(book.relate_tags(a, b, "synonym"), form, f"{a!r} and {b!r} are found together now")
    elif deed == "child":
        tell(book.relate_tags(a, b, "child_of"), form, f"{a!r} is found under {b!r} now")
    elif deed == "apart":
        tell(book.keep_apart(TAG, a, b), form, f"{a!r} and {b!r} are two, and nobody is asked again")
    else:
        tell(book.unrelate_tags(a, b), form, f"{a!r} and {b!r} are unrelated now")


def list_tags(book: LessonBook, form: str | None, *, counts: bool) -> None:
    told = counts or form in DATA  # there a count stands in any case, and must be true
    found = book.tags(counts=told)
    give(found, [*columns(counts=counts)], form)
    if not found.data:
        say("No lesson has a tag yet.")


def propose(book: LessonBook, form: str | None) -> None:
    found = book.review_tags()
    if found.data and asks(form):
        warn(found)
        walk([step(book, each) for each in found.data])
        return
    give(found, proposal_columns(), form)
    if found.data:
        say("`nacre lesson tags --merge OLD NEW` makes one of two, --apart A B says that they are two.")
    else:
        say("No two tags seem to be one.")


def step(book: LessonBook, each: MergeProposal) -> Step:
    def carry_out(choice: Choice) -> str:
        if choice is APART:
            book.keep_apart(TAG, each.keep, each.merge)
            return APART.outcome
        old, new = (each.merge, each.keep) if choice is MERGE else (each.keep, each.merge)
        changed = book.merge_tags(old, new).data
        return f"{old!r} is {new!r} now, on {changed:,}."

    return Step(f"{counted(each, each.keep)} and {counted(each, each.merge)}", (MERGE, TURNED, APART), carry_out,
                f"  {each.reason}")  # fmt: skip


def counted(each: MergeProposal, name: str) -> str:
    return f"{name} ({each.counts.get(name, 0):,})"


def columns(*, counts: bool) -> list[Column[TagInfo]]:
    number: Column[TagInfo] = Column(
        "lessons", lambda each: str(each.count), lambda each: f"{each.count:,}", right=True
    )
    return [
        Column("tag", lambda each: each.name, lambda each: each.name, style="cyan"),
        *([number] if counts else []),
        Column("also", lambda each: ",".join(each.aliases), lambda each: ", ".join(each.aliases)),
        Column("synonyms", lambda each: ",".join(each.synonyms), lambda each: ", ".join(each.synonyms)),
        Column("under", lambda each: ",".join(each.parents), lambda each: ", ".join(each.parents), wide=True),
    ]


def proposal_columns() -> list[Column[MergeProposal]]:
    return [
        Column("old", lambda each: each.merge, lambda each: counted(each, each.merge), style="cyan"),
        Column("new", lambda each: each.keep, lambda each: counted(each, each.keep), style="cyan"),
        Column("why", lambda each: each.reason, lambda each: each.reason, wide=True, wraps=True),
    ]
