"""nacre lesson search and list"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, TypeVar, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lesson.answering import give
from nacre.cli.lesson.columns import found_columns, lesson_columns
from nacre.cli.lesson.opening import opened
from nacre.cli.lesson.options import LEVELS, limit_option, words_option
from nacre.cli.options import combine, form_option, global_options
from nacre.cli.ui.output import say
from nacre.lessons.lesson import Lesson
from nacre.lessons.recall import EXPANSIONS, STRATEGIES, LessonFilters

F = TypeVar("F", bound=Callable[..., Any])


class Asked(TypedDict):
    tags: tuple[str, ...] | None
    all_tags: bool
    contexts: tuple[str, ...] | None
    source: str | None
    confidence_min: str | None
    agent: str | None
    include_archived: bool
    include_superseded: bool


def narrowing(command: F) -> F:
    return combine(
        words_option("-g", "--tags", "tags", help="With any of these tags, or what is under them: api,git."),
        click.option("--all-tags", is_flag=True, help="With all of the tags instead of any."),
        words_option("--context", "--contexts", "contexts", help="What applies in this situation."),
        click.option("-s", "--source", metavar="NAME", help="From this source, or what is under it."),
        click.option("--confidence-min", metavar="LEVEL", help=f"At least so sure: {LEVELS}."),
        click.option("--agent", metavar="NAME", help="What this agent learned."),
        click.option("--include-archived", is_flag=True, help="Also those in the archive."),
        click.option("--include-superseded", is_flag=True, help="Also those that newer ones replaced."),
    )(command)


@click.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@narrowing
@click.option("--strategy", type=click.Choice(STRATEGIES), default="hybrid", show_default=True, help="How to find.")
@limit_option(None)
@click.option("--fresh", is_flag=True, help="What was not touched for long counts less.")
@click.option(
    "--expand",
    type=click.Choice(EXPANSIONS),
    help="Where further words come from; the setting lesson_expand unless given.",
)
@click.option("--why", is_flag=True, help="Say why each one came up.")
@form_option()
@global_options
@click.pass_obj
def search_command(
    cli: CliContext,
    words: tuple[str, ...],
    strategy: str,
    limit: int | None,
    fresh: bool,
    expand: str | None,
    why: bool,
    form: str | None,
    **asked: Unpack[Asked],
) -> None:
    """Find the lessons that answer a question, best first."""
    with opened(cli, model=True) as book:
        found = book.recall(
            " ".join(words), limit=limit, strategy=strategy, freshness=fresh, expand=expand, **narrowed(asked)
        )
    give(found, found_columns(cli.now(), why=why), form)
    if not found.data:
        raise NotFound("no lesson answers that.")


@click.command("list")
@narrowing
@limit_option(50)
@form_option()
@global_options
@click.pass_obj
def list_command(cli: CliContext, limit: int, form: str | None, **asked: Unpack[Asked]) -> None:
    """List the newest lessons, or those you narrow it to."""
    with opened(cli) as book:
        found = book.list(limit, **narrowed(asked))
    give(found, lesson_columns(itself, cli.now()), form)
    if not found.data:
        say("No lesson is here yet; `nacre lesson add` keeps one." if not any(asked.values()) else "No lesson fits.")


def narrowed(asked: Asked) -> LessonFilters:
    return {
        "tags": asked["tags"] or (),
        "match": "all" if asked["all_tags"] else "any",
        "contexts": asked["contexts"] or (),
        "source": asked["source"],
        "confidence_min": asked["confidence_min"],
        "agent": asked["agent"],
        "include_archived": asked["include_archived"],
        "include_superseded": asked["include_superseded"],
    }


def itself(lesson: Lesson) -> Lesson:
    return lesson
