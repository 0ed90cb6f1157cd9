"""nacre lesson stats and reembed"""

from __future__ import annotations

from collections.abc import Iterator

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.opening import lesson_named, opened
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.lessons.lesson import LessonStats

Line = tuple[str, str]


@click.command("stats")
@form_option()
@global_options
@click.pass_obj
def stats_command(cli: CliContext, form: str | None) -> None:
    """Count the lessons, by confidence and by source, and their words."""
    with opened(cli) as book:
        counts = book.stats()
    columns: list[Column[Line]] = [
        Column("what", lambda line: line[0], lambda line: line[0], style="cyan"),
        Column("count", lambda line: line[1], lambda line: line[1], right=True),
    ]
    give_one(counts, form, lambda told: print_items(list(lines(told)), columns, repr, form))


def lines(counts: LessonStats) -> Iterator[Line]:
    yield "lessons", str(counts.total)
    yield "archived", str(counts.archived)
    yield from ((f"confidence {name}", str(count)) for name, count in counts.by_confidence.items())
    yield from ((f"source {name}", str(count)) for name, count in counts.by_source.items())
    yield "tags", str(counts.tags)
    yield "contexts", str(counts.contexts)
    yield "links", str(counts.links)
    yield "embedder", counts.embedder


@click.command("reembed")
@click.option("--all", "everything", is_flag=True, help="Of the whole store, as `nacre reindex`; so unless you say.")
@click.option("--lesson", "id", metavar="ID", help="Of this lesson only.")
@form_option("text", "json")
@global_options
@click.pass_obj
def reembed_command(cli: CliContext, everything: bool, id: str | None, form: str | None) -> None:
    """Compute the vectors of lessons again, with the present model.

    All vectors of a store come from one model, so that another one means the whole store.
    """
    if everything and id is not None:
        raise click.UsageError("--all is every lesson, --lesson one of them; give one of the two.")
    with opened(cli, model=True) as book, progress_line() as progress:
        done = book.reembed(None if id is None else lesson_named(book, id).id, progress=progress)
    give_one(done, form, lambda count: say(f"Computed the vectors of {count_of(count)} again."))
