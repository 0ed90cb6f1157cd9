"""nacre lesson search, list, show, related, link and unlink"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.show import label_line
from nacre.cli.errors import NotFound
from nacre.cli.lesson.common import (
    LEVELS,
    UNDO,
    advice,
    find_lesson,
    lesson_columns,
    name_lesson,
    open_book,
    print_answer,
    print_list,
    summarize,
    terms_option,
)
from nacre.cli.options import Decorator, combine, command, form_option, option, why_option
from nacre.cli.ui.output import Column, Form, printable, put, say, shortened
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.times import age
from nacre.lessons import Answer, Lesson, LessonBook, LessonHit, Related
from nacre.lessons.recall import DEFAULT_EXPANSION, EXPANSIONS, STRATEGIES, LessonFilters
from nacre.model.instants import iso
from nacre.model.memory import ARCHIVED, short_id

# Named as `LessonFilters`: what is given goes to the book as it is.
filter_options = combine(
    terms_option("-g --tag", "With this tag, or one under it; repeat for any of several.", to="tags", old="--tags"),
    option("--all-tags", "With all of the tags instead of any.", to="match", default="any", flag_value="all"),
    terms_option("--context", "What applies in this situation.", to="contexts", old="--contexts"),
    option("-s --source NAME", "From this source, or one under it."),
    option("--confidence-min LEVEL", f"At least this sure: {LEVELS}."),
    option("--agent NAME", "What this agent learned."),
    option("--include-archived", "Also archived lessons."),
    option("--include-superseded", "Also superseded lessons."),
)


def limit_option(default: int | None) -> Decorator:
    help = "At most this many." if default is not None else "At most this many; 10 unless given."
    return option("-n -k --limit N", help, least=1, default=default)


@command("search", form_option())
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@filter_options
@option("--strategy", "How to search.", choices=STRATEGIES, default="hybrid")
@limit_option(None)
@option("--fresh", "Rank lessons lower that were not updated for long.")
@option("--expand", "Where more search terms come from.", choices=EXPANSIONS, default=DEFAULT_EXPANSION)
@option("--explain", "Print the reasons for each result.", to="why", old="--why")
def search_command(
    cli: CliContext, words: tuple[str, ...], strategy: str, limit: int | None, fresh: bool, expand: str,
    why: bool, form: Form, **filters: Unpack[LessonFilters],
) -> None:  # fmt: skip
    """Find the lessons that answer a question, best first."""
    with open_book(cli) as book:
        results = book.recall(
            " ".join(words), limit=limit, strategy=strategy, freshness=fresh, expand=expand, **filters
        )
    print_list(results, result_columns(cli.now(), why=why), form)
    if not results.data:
        raise NotFound("no lesson answers that.")


@command("list", filter_options, limit_option(50), form_option())
def list_command(cli: CliContext, limit: int, form: Form, **filters: Unpack[LessonFilters]) -> None:
    """List the newest lessons, or those that match filters."""
    with open_book(cli) as book:
        lessons = book.list(limit, **filters)
        empty = advice(book, "There are no lessons yet; `nacre lesson add` stores one")
    if any(value for name, value in filters.items() if name != "match"):
        empty = "No lesson matches."
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


ARROWS = {"out": "→", "in": "←"}


class LessonLink(NamedTuple):
    """A link to or from a lesson; hidden targets are included."""

    relation: str
    direction: str
    id: str
    title: str


@command("show ID", form_option("text", "json"))
def show_command(cli: CliContext, id: str, form: Form) -> None:
    """Show one lesson in full, with its links. The first characters of its ID suffice."""
    with open_book(cli) as book:
        lesson = Lesson.of(find_lesson(book, id))
        links = list(links_of(book, lesson.id))
    linked = Answer({**lesson.to_dict(), "links": [link._asdict() for link in links]})
    print_answer(linked, form, lambda _: put("\n".join(lesson_lines(lesson, links, cli.now()))))


def links_of(book: LessonBook, id: str) -> Iterator[LessonLink]:
    graph = book.store.subgraph([id], depth=1)
    for edge in graph.edges:
        if id in (edge.source, edge.target):
            direction, other = ("out", edge.target) if edge.source == id else ("in", edge.source)
            memory = graph.nodes.get(other)
            yield LessonLink(edge.rel, direction, other, (memory.title or shortened(memory.text)) if memory else "")


def lesson_lines(lesson: Lesson, links: Sequence[LessonLink], now: float) -> Iterator[str]:
    yield from (click.style(printable(lesson.title), bold=True), "", printable(lesson.content), "")
    fields = {
        "id": lesson.id,
        "confidence": f"{lesson.confidence} ({lesson.certainty:.2f})",
        "source": lesson.source,
        "notes": lesson.source_notes,
        "tags": ", ".join(lesson.tags),
        "applies in": ", ".join(lesson.contexts),
        "not in": ", ".join(lesson.anti_contexts),
        "agent": lesson.agent,
        "status": ARCHIVED if lesson.archived else "",
        "superseded by": short_id(lesson.superseded_by),
        "created": time_text(lesson.created_at, now),
        "updated": time_text(lesson.updated_at, now),
        "validated": time_text(lesson.last_validated_at, now),
    }
    yield from (label_line(name, value) for name, value in fields.items() if value)
    for link in links:
        title = link.title or "(not here)"
        yield label_line(f"{link.relation} {ARROWS[link.direction]}", f"{short_id(link.id)}  {title}")


def time_text(at: float | None, now: float) -> str:
    return "never" if at is None else f"{iso(at)} ({age(at, now)})"


@command("related ID", form_option())
@option("--depth N", "At most this many links away.", least=1, default=1)
@terms_option("-r --relation", "Along links of these relations only.", to="relations")
def related_command(cli: CliContext, id: str, depth: int, relations: tuple[str, ...] | None, form: Form) -> None:
    """List linked lessons, in both directions, nearest first."""
    with open_book(cli) as book:
        lesson = Lesson.of(find_lesson(book, id))
        related = book.related(lesson.id, depth=depth, relations=relations)
    columns: list[Column[Related]] = lesson_columns(lambda each: each.lesson, cli.now())
    columns[1:1] = [
        Column(
            "relation",
            lambda each: each.relation,
            lambda each: f"{each.relation} {ARROWS[each.direction]}",
            style="magenta",
        ),
        Column("direction", lambda each: each.direction, only="tsv"),
        Column("depth", lambda each: str(each.depth), right=True),
    ]
    print_list(related, columns, form, f"No link leads from {name_lesson(lesson)} to another lesson.")


@command("link A B", why_option, form_option("text", "json"))
@option("-r --relation NAME", "How A relates to B.", default="related_to")
def link_command(cli: CliContext, a: str, b: str, relation: str, why: str, form: Form) -> None:
    """Link one lesson to another: related_to, example_of, contradicts, supersedes, or a relation of your own.

    If A contradicts B, the confidence of B goes down by a level; if A supersedes B, A takes its place.
    """
    with open_book(cli) as book:
        source, target = (Lesson.of(find_lesson(book, id)) for id in (a, b))
        linked = book.link(source.id, target.id, relation, why=why)
    outcome = f"{name_lesson(source)} {relation} → {name_lesson(target)}; {UNDO}"
    print_answer(linked, form, lambda new: say(outcome if new else "This link exists already."))


@command("unlink A B", why_option, form_option("text", "json"))
@option("-r --relation NAME", "Only the link of this relation; all of them unless given.")
def unlink_command(cli: CliContext, a: str, b: str, relation: str | None, why: str, form: Form) -> None:
    """Remove the links between two lessons that lead from A to B."""
    with open_book(cli) as book:
        source, target = (Lesson.of(find_lesson(book, id)) for id in (a, b))
        removed = book.unlink(source.id, target.id, relation, why=why)
    if not removed.data:
        kind = f" of the relation {relation!r}" if relation else ""
        raise NotFound(f"no link{kind} leads from {short_id(source.id)} to {short_id(target.id)}.")
    print_answer(removed, form, lambda count: say(f"Removed {count_of(count, 'link', 'links')}; {UNDO}"))
