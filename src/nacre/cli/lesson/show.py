"""nacre lesson show"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.show import label_line
from nacre.cli.lesson.answering import give_one
from nacre.cli.lesson.opening import lesson_named, opened
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.columns import short
from nacre.cli.ui.output import printable, put, shortened
from nacre.cli.ui.times import age
from nacre.lessons import Answer, Lesson, LessonBook
from nacre.model import Edge, Memory
from nacre.model.instants import iso
from nacre.model.memory import Json

ARROWS = {"out": "→", "in": "←"}


@dataclass(frozen=True, slots=True)
class Tie:
    """To what it leads, or from what it comes; also what is hidden from a search."""

    relation: str
    direction: str
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Shown:
    lesson: Lesson
    links: tuple[Tie, ...]

    def to_dict(self) -> dict[str, Json]:
        links: list[Json] = [
            {"relation": tie.relation, "direction": tie.direction, "id": tie.id, "title": tie.title}
            for tie in self.links
        ]
        return {**self.lesson.to_dict(), "links": links}


@click.command("show")
@click.argument("id")
@form_option("text", "json")
@global_options
@click.pass_obj
def show_command(cli: CliContext, id: str, form: str | None) -> None:
    """Show one lesson in full, with its links. The first characters of its ID suffice."""
    with opened(cli) as book:
        memory = lesson_named(book, id)
        shown = Answer(Shown(Lesson.of(memory), tuple(ties(book, memory.id))))
    give_one(shown, form, lambda told: put("\n".join(lines(told, cli.now()))))


def ties(book: LessonBook, id: str) -> Iterator[Tie]:
    around = book.store.subgraph([id], depth=1)
    for edge in around.edges:
        if id in (edge.source, edge.target):
            yield tie(edge, id, around.nodes)


def tie(edge: Edge, id: str, near: Mapping[str, Memory]) -> Tie:
    direction, other = ("out", edge.target) if edge.source == id else ("in", edge.source)
    there = near.get(other)
    return Tie(edge.rel, direction, other, (there.title or shortened(there.text)) if there else "")


def lines(shown: Shown, now: float) -> Iterator[str]:
    lesson = shown.lesson
    yield click.style(printable(lesson.title), bold=True)
    yield ""
    yield printable(lesson.content)
    yield ""
    for name, value in fields(lesson, now):
        if value:
            yield label_line(name, value)
    for each in shown.links:
        yield label_line(f"{each.relation} {ARROWS[each.direction]}", f"{short(each.id)}  {each.title or '(not here)'}")


def fields(lesson: Lesson, now: float) -> Iterator[tuple[str, str]]:
    yield "id", lesson.id
    yield "confidence", f"{lesson.confidence} ({lesson.certainty:.2f})"
    yield "source", lesson.source
    yield "notes", lesson.source_notes
    yield "tags", ", ".join(lesson.tags)
    yield "applies in", ", ".join(lesson.contexts)
    yield "not in", ", ".join(lesson.anti_contexts)
    yield "agent", lesson.agent
    yield "standing", "archived" if lesson.archived else ""
    yield "superseded by", short(lesson.superseded_by)
    yield "created", moment(lesson.created_at, now)
    yield "updated", moment(lesson.updated_at, now)
    yield "validated", moment(lesson.last_validated_at, now)


def moment(at: float | None, now: float) -> str:
    return "never" if at is None else f"{iso(at)} ({age(at, now)})"
