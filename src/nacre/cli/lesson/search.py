"""nacre lesson search and list"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lesson.common import LEVELS, lesson_columns, open_book, print_list, summarize, terms_option
from nacre.cli.options import combine, command, form_option
from nacre.cli.ui.output import Column
from nacre.lessons import LessonHit
from nacre.lessons.recall import EXPANSIONS, STRATEGIES, LessonFilters

F = TypeVar("F", bound=Callable[..., Any])


def filter_options(command: F) -> F:
    """Named as `LessonFilters`: what is given goes to the book as it is."""
    return combine(
        terms_option("-g", "--tags", "tags", help="With any of these tags, or those under them: api,git."),
        click.option(
            "--all-tags", "match", flag_value="all", default="any", help="With all of the tags instead of any."
        ),
        terms_option("--context", "--contexts", "contexts", help="What applies in this situation."),
        click.option("-s", "--source", metavar="NAME", help="From this source, or one under it."),
        click.option("--confidence-min", metavar="LEVEL", help=f"At least this sure: {LEVELS}."),
        click.option("--agent", metavar="NAME", help="What this agent learned."),
        click.option("--include-archived", is_flag=True, help="Also archived lessons."),
        click.option("--include-superseded", is_flag=True, help="Also superseded lessons."),
    )(command)


def limit_option(default: int | None) -> Callable[[F], F]:
    help = "At most this many." if default is not None else "At most this many; the setting lesson_limit unless given."
    return click.option(
        "-n", "-k", "--limit", "limit", type=click.IntRange(min=1), default=default, show_default=default is not None,
        metavar="N", help=help,
    )  # fmt: skip


@command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@filter_options
@click.option("--strategy", type=click.Choice(STRATEGIES), default="hybrid", show_default=True, help="How to search.")
@limit_option(None)
@click.option("--fresh", is_flag=True, help="Rank lessons lower that were not updated for long.")
@click.option(
    "--expand", type=click.Choice(EXPANSIONS), help="Where more search terms come from; else the setting lesson_expand."
)
@click.option("--why", is_flag=True, help="Print the reasons for each result.")
@form_option()
def search_command(
    cli: CliContext,
    words: tuple[str, ...],
    strategy: str,
    limit: int | None,
    fresh: bool,
    expand: str | None,
    why: bool,
    form: str | None,
    **filters: Unpack[LessonFilters],
) -> None:
    """Find the lessons that answer a question, best first."""
    with open_book(cli, model=True) as book:
        results = book.recall(
            " ".join(words), limit=limit, strategy=strategy, freshness=fresh, expand=expand, **filters
        )
    print_list(results, result_columns(cli.now(), why=why), form)
    if not results.data:
        raise NotFound("no lesson answers that.")


@command("list")
@filter_options
@limit_option(50)
@form_option()
def list_command(cli: CliContext, limit: int, form: str | None, **filters: Unpack[LessonFilters]) -> None:
    """List the newest lessons, or those that match filters."""
    with open_book(cli) as book:
        lessons = book.list(limit, **filters)
    filtered = any(value for name, value in filters.items() if name != "match")
    empty = "No lesson matches." if filtered else "There are no lessons yet; `nacre lesson add` stores one."
    print_list(lessons, lesson_columns(lambda lesson: lesson, cli.now()), form, empty)


def result_columns(now: float, *, why: bool) -> list[Column[LessonHit]]:
    def with_reasons(result: LessonHit) -> str:
        return "\n".join([summarize(result.lesson), *(f"  {reason}" for reason in result.why)])

    id, *others = lesson_columns(lambda result: result.lesson, now, with_reasons if why else None)
    score: Column[LessonHit] = Column(
        "score", lambda each: f"{each.score:.4f}", lambda each: f"{each.score:.3f}", right=True
    )
    reasons: Column[LessonHit] = Column("why", lambda each: "; ".join(map(str, each.why)), only="tsv")
    return [id, score, *others, *([reasons] if why else [])]
