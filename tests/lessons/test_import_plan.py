"""Invalid import files are refused in one sentence, and change nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidInput
from nacre.lessons import document as documents
from tests.lessons.factories import HEAD, file_of, new_book

LESSON = {"id": "1", "title": "One", "content": "text"}


def deep() -> str:
    return '{"format": "nacre-lessons", "version": 1, "lessons": ' + "[" * 100_000 + "]" * 100_000 + "}"


def laughs() -> str:
    lines = ["format: nacre-lessons", "version: 1", "a0: &a0 {k0: v, k1: v}"]
    lines += [f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 10)}]}}" for at in range(1, 12)]
    return "\n".join([*lines, "lessons: []"])


BROKEN: dict[str, str] = {
    "no JSON": '{"format": "nacre-lessons", "version": 1, "lessons": [',
    "no YAML": "format: [nacre-lessons",
    "a date that is none": "format: nacre-lessons\nversion: 1\nlessons: [{created_at: 2026-13-45}]",
    "nothing": "",
    "a list": "[1, 2]",
    "another format": json.dumps({"format": "other", "version": 1, "lessons": []}),
    "a newer version": json.dumps({**HEAD, "version": 2, "lessons": []}),
    "no version": json.dumps({"format": "nacre-lessons", "lessons": []}),
    "true for a version": json.dumps({**HEAD, "version": True, "lessons": []}),
    "no lessons": json.dumps(HEAD),
    "lessons that are no list": json.dumps({**HEAD, "lessons": {"a": 1}}),
    "a lesson that is none": json.dumps({**HEAD, "lessons": [3]}),
    "a count that does not hold": json.dumps({**HEAD, "counts": {"lessons": 2}, "lessons": [LESSON]}),
    "an alias": "format: nacre-lessons\nversion: 1\nlessons: &a []\nmore: *a",
    "a ring of aliases": "format: nacre-lessons\nversion: 1\nlessons: &a [*a]",
    "a billion laughs": laughs(),
    "two documents": "format: nacre-lessons\nversion: 1\n---\nlessons: []",
    "an object of Python": "format: nacre-lessons\nversion: 1\nlessons: !!python/object/apply:os.getcwd []",
    "depth in JSON": deep(),
    "depth in YAML": "- " + deep(),
    "not a number": '{"format": "nacre-lessons", "version": 1, "lessons": [{"certainty": NaN}]}',
    "words that are none": json.dumps({**HEAD, "lessons": [], "vocabulary": {"tag": [1]}}),
    "an unknown kind of words": json.dumps({**HEAD, "lessons": [], "vocabulary": {"type": {"x": {}}}}),
    "a word without data": json.dumps({**HEAD, "lessons": [], "vocabulary": {"tag": {"x": 1}}}),
    "a word of wrong data": json.dumps({**HEAD, "lessons": [], "vocabulary": {"tag": {"x": {"synonyms": "y"}}}}),
    "a word with NUL": json.dumps({**HEAD, "lessons": [], "vocabulary": {"tag": {"x\0": {}}}}),
    "a source of unknown trust": json.dumps(
        {**HEAD, "lessons": [], "vocabulary": {"source": {"x": {"typical_confidence": "sure"}}}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_file_of_lessons_is_one_clear_sentence_and_nothing_is_taken(what: str) -> None:
    book = new_book()
    with pytest.raises(InvalidInput) as caught:
        book.import_(io.StringIO(BROKEN[what]))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert book.store.journal() == []


WRONG: dict[str, dict[str, Any]] = {
    "no title": {"title": None}, "a title that is a number": {"title": 404}, "no content": {"content": " "},
    "a content that is a list": {"content": ["text"]}, "NUL": {"content": "a\0b"}, "half a pair": {"title": "a\ud800"},
    "tags that are no list": {"tags": "db"}, "a tag that is a number": {"tags": [3]},
    "a tag with NUL": {"tags": ["a\0"]}, "a context that is none": {"contexts": [5]},
    "an unknown level": {"confidence": "sure"},
    "too sure": {"certainty": 1.5}, "sure in words": {"certainty": "high"}, "a bad time": {"created_at": "yesterday"},
    "a time of no year": {"updated_at": 1e20}, "a number for an id": {"id": 7}, "an unknown field": {"colour": "red"},
    "archived in words": {"archived": "yes"}, "metadata that are none": {"metadata": [1]},
    "itself": {"superseded_by": "1"},
    "links that are none": {"links": [3]}, "a link to itself": {"links": [{"to": "1"}]},
    "a link to nobody": {"links": [{"relation": "related"}]}, "a heavy link": {"links": [{"to": "2", "weight": -1}]},
    "an odd link": {"links": [{"to": "2", "rel": "x"}]}, "a record that is none": {"record": [1]},
    "in the trash": {"record": {"status": "trashed"}}, "an unknown status": {"record": {"status": "gone"}},
    "a wrong record": {"record": {"importance": 7}}, "a number for a source": {"source": 7}, "an agent": {"agent": 7},
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_lesson_that_is_not_valid_is_named_and_nothing_is_taken(what: str) -> None:
    book = new_book()
    with pytest.raises(InvalidInput, match=r"lesson 2 .* is invalid"):
        book.import_(file_of({"id": "0", "title": "Zero", "content": "text"}, {**LESSON, **WRONG[what]}))
    assert book.store.journal() == []


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"lesson 2 \('1'\) has the same id as another one"):
        new_book().import_(file_of(LESSON, LESSON))


def test_an_id_of_a_memory_that_is_not_a_lesson_is_refused() -> None:
    book = new_book()
    book.store.remember("a memory", id="1")
    with pytest.raises(InvalidInput, match="not a lesson"):
        book.import_(file_of(LESSON), on_existing="overwrite")


@pytest.mark.parametrize("by_links", [True, False])
def test_a_cycle_of_successions_is_refused(by_links: bool) -> None:
    def after(id: str, other: str) -> dict[str, Any]:
        rendered = {"links": [{"to": other, "relation": "supersedes"}]} if by_links else {"superseded_by": other}
        return {**LESSON, "id": id, **rendered}

    book = new_book()
    with pytest.raises(InvalidInput, match="in a cycle"):
        book.import_(file_of(after("1", "2"), after("2", "3"), after("3", "1")))
    assert book.store.journal() == []


def test_a_link_to_nowhere_is_left_out_and_reported() -> None:
    book = new_book()
    report = book.import_(file_of({**LESSON, "links": [{"to": "nowhere"}]})).data
    assert report.new == 1
    assert report.notes == ("Links left out, because their target is missing or stays as it is: 1.",)
    assert book.related("1").data == ()


def test_a_secret_in_a_file_is_not_taken_and_reported() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    book = new_book()
    report = book.import_(file_of({**LESSON, "content": f"the deploy token is {key[:40]}"})).data
    assert report.notes == ("Lessons imported without what looked like a secret: 1.",)
    assert key[:40] not in book.get("1").data.content  # type: ignore[union-attr]


@pytest.mark.parametrize("make", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_a_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch, make: Callable[[str], Any]) -> None:
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 1000)
    assert new_book().import_(make(file_of(LESSON).getvalue())).data.new == 1
    with pytest.raises(InvalidInput, match="split it"):
        new_book().import_(make(file_of({**LESSON, "content": "x" * 1000}).getvalue()))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "lessons.json"
    file.write_bytes(b'{"format": "\xff"}')
    with pytest.raises(InvalidInput, match="UTF-8"):
        new_book().import_(file)
    with pytest.raises(InvalidInput, match="check its name"):
        new_book().import_(tmp_path / "nowhere.json")
