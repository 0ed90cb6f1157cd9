"""Whatever a book holds: no filter loses a lesson, and nothing is lost on the way to another book and back."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.lessons import Lesson, LessonBook
from nacre.model import Link
from nacre.model.levels import LEVELS, NAMES
from tests.lessons.factories import new_book
from tests.property.strategies import characters, json_values

tags = st.sampled_from(["api", "api.jira", "api.jira.cloud", "apis", "db", "db.sql", "ui"])
contexts = st.sampled_from(["team", "team.shared", "team.shared.branch", "solo", "solo.night"])
sources = st.sampled_from(["", "tested", "tested.unit", "inferred", "podcast"])
levels = st.sampled_from(NAMES)


@dataclass(frozen=True)
class JournalFilter:
    tags: tuple[str, ...]
    contexts: tuple[str, ...]
    anti_contexts: tuple[str, ...]
    source: str
    confidence: str


several = st.lists(contexts, max_size=2, unique=True).map(tuple)
told = st.builds(JournalFilter, st.lists(tags, max_size=3, unique=True).map(tuple), several, several, sources, levels)
asked = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(tags, min_size=1, max_size=2, unique=True), "match": st.sampled_from(["any", "all"]),
        "contexts": st.lists(contexts, min_size=1, max_size=2, unique=True), "confidence_min": levels,
        "source": st.sampled_from(["tested", "tested.unit", "podcast"]),
    },
)  # fmt: skip


def under(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def admits(lesson: JournalFilter, wanted: dict[str, Any]) -> bool:
    """What the filters mean, said once more in other words."""
    chosen = all if wanted.get("match") == "all" else any
    here = wanted.get("contexts", [])
    return (
        ("tags" not in wanted or chosen(any(under(tag, name) for tag in lesson.tags) for name in wanted["tags"]))
        and (not here or any(under(a, b) or under(b, a) for a in lesson.contexts for b in here))
        and not any(under(name, ruled_out) for ruled_out in lesson.anti_contexts for name in here)
        and ("source" not in wanted or under(lesson.source, wanted["source"]))
        and LEVELS[lesson.confidence].ordinal >= LEVELS[wanted.get("confidence_min", "very-low")].ordinal
    )


@pytest.mark.slow
@given(st.lists(told, min_size=1, max_size=12), asked, st.sampled_from(["semantic", "hybrid"]))
def test_a_recall_finds_exactly_the_lessons_that_its_filters_admit(
    lessons: list[JournalFilter], wanted: dict[str, Any], strategy: str
) -> None:
    book = new_book()
    for number, each in enumerate(lessons):
        book.learn(
            f"Lesson {number}", "retry the failing request", tags=each.tags, contexts=each.contexts,
            anti_contexts=each.anti_contexts, source=each.source, confidence=each.confidence,
        )  # fmt: skip
    expected = {f"Lesson {number}" for number, each in enumerate(lessons) if admits(each, wanted)}
    found = book.recall("retry the failing request", limit=100, strategy=strategy, **wanted).data
    assert {each.lesson.title for each in found} == expected
    assert {each.title for each in book.list(100, **wanted).data} == expected


@pytest.mark.slow
@pytest.mark.accepts("L9.3")
@given(st.text(characters, max_size=60), st.lists(st.text(characters, max_size=12), max_size=3))
def test_no_question_and_no_tag_breaks_a_recall(query: str, names: list[str]) -> None:
    book = new_book()
    book.learn("One", "retry the failing request", tags=["db"])
    for strategy in ("hybrid", "keyword"):
        found = book.recall(query, tags=names, strategy=strategy).data
        assert all(isinstance(each.lesson, Lesson) for each in found)
    try:
        found = book.recall(query, tags=names, strategy="graph").data
        assert all(isinstance(each.lesson, Lesson) for each in found)
    except InvalidInput as error:  # our own strategies say so, where the published ones give nothing
        assert "empty" in str(error)
        assert not any(letter.isalnum() for letter in query)


texts = st.text(characters, min_size=1, max_size=60).filter(lambda text: text.strip())
words = st.text(characters, min_size=1, max_size=8).filter(lambda text: text.strip().strip("-").strip())
exact = st.floats(0, 4e9, allow_nan=False)


@st.composite
def books(draw: st.DrawFn) -> LessonBook:
    """A book with lessons of every standing, ties, successions and words."""
    book = new_book(draw(st.sampled_from(["", "claude"])))
    ids = [learned(draw, book) for _ in range(draw(st.integers(0, 4)))]
    for _ in range(draw(st.integers(0, 3)) if len(ids) > 1 else 0):
        source, target = draw(st.permutations(ids))[:2]
        tie = Link(target, draw(st.sampled_from(["related", "causes", "conflicts"])), draw(st.floats(0, 5)),
                   draw(st.dictionaries(words, json_values, max_size=2)))  # fmt: skip
        book.store.link(source, target, tie.rel, weight=tie.weight, data=tie.data)
    for older, newer in pairwise(ids):
        if draw(st.booleans()):
            with suppress(InvalidInput):  # what is archived or has expired replaces nothing
                book.link(newer, older, "supersedes")
    spoken = draw(st.lists(st.tuples(st.sampled_from(["tag", "context", "source"]), tags, tags), max_size=3))
    for kind, name, other in spoken:
        if name != other:
            data = {"synonyms": [other], "description": draw(st.text(characters, max_size=9))}
            book.store.write("teach", terms={(kind, name): lambda _, data=data: data})  # type: ignore[misc]
    return book


def learned(draw: st.DrawFn, book: LessonBook) -> str:
    lesson = book.learn(
        f"T {draw(texts)}", draw(texts), tags=draw(st.lists(tags | words, max_size=3)),
        contexts=draw(st.lists(contexts | words, max_size=2)), anti_contexts=draw(st.lists(contexts, max_size=2)),
        source=draw(sources), source_notes=draw(st.just("") | texts), confidence=draw(st.floats(0, 1)),
        metadata=draw(st.dictionaries(words, json_values, max_size=2)),
    ).data  # fmt: skip
    standing = draw(st.sampled_from(["short_term", "long_term", "archived"]))
    book.store.edit(
        lesson.id, status=standing, created_at=draw(exact), last_validated_at=draw(st.none() | exact),
        importance=draw(st.floats(0, 1)), pinned=draw(st.booleans()), valence=draw(st.none() | st.floats(-1, 1)),
    )  # fmt: skip
    return lesson.id


def parsed(book: LessonBook, format: str) -> Any:
    out = io.StringIO()
    book.export(out, format=format, redact=False)
    whole = json.loads(out.getvalue()) if format == "json" else yaml.safe_load(out.getvalue())
    return {name: each for name, each in whole.items() if name != "exported_at"}


def by_id(lessons: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in lessons}


@pytest.mark.slow
@given(books(), st.sampled_from(["json", "yaml"]), st.booleans())
def test_nothing_is_lost_on_the_way_to_a_new_book(book: LessonBook, format: str, in_a_file: bool) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"lessons.{format}"
        count = book.export(file, redact=False).data
        place = Path(folder) / "other.db" if in_a_file else ":memory:"
        with MemoryStore(place, embedder="hashing") as store:
            other = LessonBook(store=store)
            report = other.import_(file).data
            assert (report.new, report.changed, report.skipped) == (count, 0, 0)
            before, after = parsed(book, format), parsed(other, format)
            assert by_id(after.pop("lessons")) == by_id(before.pop("lessons"))
            assert after == before
            assert other.import_(file, on_existing="overwrite").data.changed == 0


@pytest.mark.slow
@given(books())
def test_both_formats_tell_the_same_and_a_redacted_file_can_be_read(book: LessonBook) -> None:
    assert parsed(book, "json") == parsed(book, "yaml")
    out = io.StringIO()
    count = book.export(out).data
    assert new_book().import_(io.StringIO(out.getvalue())).data.new == count
