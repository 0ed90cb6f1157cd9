"""One memory, or one day, as a Markdown note."""

from __future__ import annotations

import pytest

from nacre.errors import InvalidInput
from nacre.model import Link, Memory
from nacre.transfer import notes

FERRY = Memory(
    id="5d3f", text="The ferry leaves at nine", title="Ferry: times [new]", tags=("sea",), created_at=1_750_000_000.0,
    links=(Link("a", "part_of"), Link("gone")),
)  # fmt: skip


def named(id: str) -> str:
    return {"a": "harbour-1"}.get(id, "")


def test_a_note_is_readable_and_links_as_wiki_links() -> None:
    text = notes.note_text(FERRY, 3, named)
    front, body = text.split("---\n", 2)[1:]
    assert "tags:\n- sea\n" in front and "created_at: '2025-06-15T15:06:40Z'" in front and "version: 3" in front
    assert body.startswith("\nThe ferry leaves at nine\n")
    assert "- part_of: [[harbour-1]]\n- related: gone\n" in body


def test_a_name_is_made_of_words_and_safe_as_a_link() -> None:
    name = notes.name_of(FERRY)
    assert name.startswith("ferry-times-new-") and not set(name) & set("[]#^|:/\\ ")
    assert len(notes.name_of(Memory(id="x", text="…")).encode()) == 2 * notes.TOKEN_BYTES
    assert len(notes.name_of(Memory(id="x", text="語" * 400)).encode()) < 250


def test_an_unedited_note_is_known_as_such_and_any_edit_shows() -> None:
    text = notes.note_text(FERRY, 3, named)
    [note] = notes.parse(text)
    assert (note.id, note.text, note.version, note.edited) == ("5d3f", FERRY.text, 3, False)
    assert note.fields["links"] == [{"to": "a", "rel": "part_of"}, {"to": "gone", "rel": "related"}]
    for old, new in (("nine", "ten"), ("- sea", "- sky"), ("importance: 0.5", "importance: 0.7"), ("short_", "long_")):
        [edited] = notes.parse(text.replace(old, new))
        assert edited.edited, old


def test_how_an_editor_writes_it_is_not_an_edit() -> None:
    text = notes.note_text(FERRY, 3, named)
    for other in (
        text.replace("\n", "\r\n"),
        text.replace("'2025-06-15T15:06:40Z'", "2025-06-15T15:06:40Z"),
        text.replace("tags:\n- sea", "tags: [sea]"),
        text + "\n\n",
        "\ufeff" + text,
    ):
        [note] = notes.parse(other)
        assert not note.edited and note.text == FERRY.text


@pytest.mark.parametrize(
    "text",
    [f"before\n{notes.LINKS}\nafter", "<!-- nacre:memory 00 -->\n## x\ny", "\\<!-- nacre:", "---\nid: x\n---\nz"],
)
def test_a_text_that_looks_like_the_note_itself_comes_back(text: str) -> None:
    memory = Memory(id="m", text=text, created_at=1.0)
    [note] = notes.parse(notes.note_text(memory, 1, named))
    assert note.text == text and not note.edited
    [first, second] = notes.parse(notes.day_text("1970-01-01", [(memory, 1, False), (FERRY, 2, True)], named))
    assert (first.text, first.edited, second.text, second.redacted) == (text, False, FERRY.text, True)


def test_a_section_that_was_deleted_from_a_day_is_not_a_memory_any_more() -> None:
    text = notes.day_text("2025-06-15", [(FERRY, 1, False), (Memory(id="b", text="Second"), 2, False)], named)
    start = text.index(f"{notes.MARK}memory {notes.token('5d3f')}")
    end = text.index(f"{notes.MARK}memory {notes.token('b')}")
    [note] = notes.parse(text[:start] + text[end:])
    assert note.id == "b" and not note.edited


@pytest.mark.parametrize(
    "text", ["", "# Just a note", "---\ntitle: x\n---\nbody", "---\n- a\n---\n", "---\nid: x\n---\n"]
)
def test_what_was_not_exported_is_no_memory(text: str) -> None:
    assert notes.parse(text) == []


@pytest.mark.parametrize("front", ["a: [", "a: &x [1]\nb: *x", "a: " + "[" * 200])
def test_front_matter_that_cannot_be_read_is_an_error(front: str) -> None:
    with pytest.raises(InvalidInput, match="front matter"):
        notes.parse(f"---\n{front}\n---\n")
