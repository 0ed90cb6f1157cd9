"""nacre lesson show, related, link and unlink"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.show import label_line
from nacre.cli.errors import NotFound
from nacre.cli.lesson.common import (
    UNDO,
    find_lesson,
    lesson_columns,
    name_lesson,
    open_book,
    print_answer,
    print_list,
    terms_option,
)
from nacre.cli.options import command, form_option, why_option
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import Column, printable, put, say, shortened
from nacre.cli.ui.prompts import count_of
from nacre.cli.ui.times import age
from nacre.lessons import Answer, Lesson, LessonBook, Related
from nacre.model.instants import iso
from nacre.model.memory import Json

ARROWS = {"out": "→", "in": "←"}


@dataclass(frozen=True, slots=True)
class LessonLink:
    """A link to or from a lesson; hidden targets are included."""

    relation: str
    direction: str
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class LinkedLesson:
    lesson: Lesson
    links: tuple[LessonLink, ...]

    def to_dict(self) -> dict[str, Json]:
        return {**self.lesson.to_dict(), "links": [asdict(link) for link in self.links]}


@command("show")
@click.argument("id")
@form_option("text", "json")
def show_command(cli: CliContext, id: str, form: str | None) -> None:
    """Show one lesson in full, with its links. The first characters of its ID suffice."""
    with open_book(cli) as book:
        memory = find_lesson(book, id)
        linked = Answer(LinkedLesson(Lesson.of(memory), tuple(links_of(book, memory.id))))
    print_answer(linked, form, lambda each: put("\n".join(lesson_lines(each, cli.now()))))


def links_of(book: LessonBook, id: str) -> Iterator[LessonLink]:
    graph = book.store.subgraph([id], depth=1)
    for edge in graph.edges:
        if id in (edge.source, edge.target):
            direction, other = ("out", edge.target) if edge.source == id else ("in", edge.source)
            memory = graph.nodes.get(other)
            yield LessonLink(edge.rel, direction, other, (memory.title or shortened(memory.text)) if memory else "")


def lesson_lines(linked: LinkedLesson, now: float) -> Iterator[str]:
    lesson = linked.lesson
    yield click.style(printable(lesson.title), bold=True)
    yield ""
    yield printable(lesson.content)
    yield ""
    for name, value in lesson_fields(lesson, now):
        if value:
            yield label_line(name, value)
    for link in linked.links:
        title = link.title or "(not here)"
        yield label_line(f"{link.relation} {ARROWS[link.direction]}", f"{short(link.id)}  {title}")


def lesson_fields(lesson: Lesson, now: float) -> Iterator[tuple[str, str]]:
    yield "id", lesson.id
    yield "confidence", f"{lesson.confidence} ({lesson.certainty:.2f})"
    yield "source", lesson.source
    yield "notes", lesson.source_notes
    yield "tags", ", ".join(lesson.tags)
    yield "applies in", ", ".join(lesson.contexts)
    yield "not in", ", ".join(lesson.anti_contexts)
    yield "agent", lesson.agent
    yield "status", "archived" if lesson.archived else ""
    yield "superseded by", short(lesson.superseded_by)
    yield "created", time_text(lesson.created_at, now)
    yield "updated", time_text(lesson.updated_at, now)
    yield "validated", time_text(lesson.last_validated_at, now)


def time_text(at: float | None, now: float) -> str:
    return "never" if at is None else f"{iso(at)} ({age(at, now)})"


@command("related")
@click.argument("id")
@click.option("--depth", type=click.IntRange(min=1), default=1, show_default=True, help="At most this many links away.")
@terms_option("-r", "--relation", "relations", help="Along links of these relations only.")
@form_option()
def related_command(cli: CliContext, id: str, depth: int, relations: tuple[str, ...] | None, form: str | None) -> None:
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


@command("link")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("-r", "--relation", default="related_to", show_default=True, metavar="NAME", help="How A relates to B.")
@why_option
@form_option("text", "json")
def link_command(cli: CliContext, source: str, target: str, relation: str, why: str, form: str | None) -> None:
    """Link one lesson to another: related_to, example_of, contradicts, supersedes, or a relation of your own.

    If A contradicts B, the confidence of B goes down by a level; if A supersedes B, A takes its place.
    """
    with open_book(cli) as book:
        a, b = (Lesson.of(find_lesson(book, id)) for id in (source, target))
        linked = book.link(a.id, b.id, relation, why=why)
    outcome = f"{name_lesson(a)} {relation} → {name_lesson(b)}; {UNDO}"
    print_answer(linked, form, lambda new: say(outcome if new else "This link exists already."))


@command("unlink")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("-r", "--relation", metavar="NAME", help="Only the link of this relation; all of them unless given.")
@why_option
@form_option("text", "json")
def unlink_command(cli: CliContext, source: str, target: str, relation: str | None, why: str, form: str | None) -> None:
    """Remove the links between two lessons that lead from A to B."""
    with open_book(cli) as book:
        a, b = (Lesson.of(find_lesson(book, id)) for id in (source, target))
        removed = book.unlink(a.id, b.id, relation, why=why)
    if not removed.data:
        kind = f" of the relation {relation!r}" if relation else ""
        raise NotFound(f"no link{kind} leads from {short(a.id)} to {short(b.id)}.")
    print_answer(removed, form, lambda count: say(f"Removed {count_of(count, 'link', 'links')}; {UNDO}"))
