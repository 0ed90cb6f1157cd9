"""Notes in Markdown: how they are parted, and what becomes of their memories when they are edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Memory, MemoryStore
from nacre.model.validate import LONGEST_TEXT
from nacre.settings import Settings
from nacre.transfer.import_archive import import_path
from nacre.transfer.ingest import markdown
from nacre.transfer.ingest.formats import FORMATS
from nacre.transfer.ingest.ingest import Ingest, Tally
from nacre.transfer.ingest.items import Broken, Item, Remark, parse_time
from nacre.transfer.ingest.markdown import home_relative
from tests.transcripts import secret

LONG = "x" * (LONGEST_TEXT + 1)
NOTE = """---
title: Orchard
date: 2026-03-04
tags: [trees, garden]
---
What to know of the orchard.

# Rules
- Prune in winter,
  never in spring.
- Water on Sundays
    - the pear twice

Afterwards rest.

## 2026-05-06
1. Grafted the quince.

```
# no heading
- no item
```
<!-- a remark -->
"""


def read(path: Path, text: str) -> list[Item]:
    path.write_text(text, "utf-8")
    return [piece for piece in FORMATS["markdown"].read(path) if isinstance(piece, Item)]


def ingest(store: MemoryStore, path: Path, text: str, *, dry_run: bool = False) -> Tally:
    path.write_text(text, "utf-8")
    return Ingest(store, FORMATS["markdown"], path, dry_run).run()


def counts(tally: Tally) -> tuple[int, int, int, int]:
    return tally.new, tally.unchanged, tally.changed, tally.gone


def texts(store: MemoryStore) -> list[str]:
    return sorted(memory.text for memory in store.list_recent(100))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing")


def test_a_note_is_parted_at_headings_and_items(tmp_path: Path) -> None:
    result = read(tmp_path / "MEMORY.md", NOTE)
    assert [(item.title, item.text) for item in result] == [
        ("Orchard", "What to know of the orchard."),
        ("Orchard › Rules", "Prune in winter,\n  never in spring."),
        ("Orchard › Rules", "Water on Sundays\n    - the pear twice"),
        ("Orchard › Rules", "Afterwards rest."),
        ("Orchard › Rules › 2026-05-06", "Grafted the quince."),
        ("Orchard › Rules › 2026-05-06", "```\n# no heading\n- no item\n```"),
    ]
    assert {item.tags for item in result} == {("trees", "garden")}
    assert result[0].occurred_at == parse_time("2026-03-04") and result[-1].occurred_at == parse_time("2026-05-06")


def test_the_name_of_a_file_may_tell_its_day_and_its_title(tmp_path: Path) -> None:
    (item,) = read(tmp_path / "20260708-fence.md", "The fence fell.")
    assert (item.title, item.occurred_at) == ("20260708-fence", parse_time("2026-07-08"))
    assert read(tmp_path / "99999999.md", "x")[0].occurred_at is None


def test_each_paragraph_is_a_memory_and_what_belongs_to_it_stays_with_it(tmp_path: Path) -> None:
    text = "First.\n\nSecond,\nover two lines.\n\nRun this:\n\n```\nmake\n\nmake test\n```\n\n> quoted\n\nLast."
    assert [item.text for item in read(tmp_path / "n.md", text)] == [
        "First.", "Second,\nover two lines.", "Run this:\n\n```\nmake\n\nmake test\n```\n\n> quoted", "Last."
    ]  # fmt: skip
    long = "\n\n".join(f"{letter * 1_500}:" for letter in "abc")
    assert [len(item.text) for item in read(tmp_path / "n.md", long)] == [1_501] * 3


def test_tasks_say_whether_they_are_done(tmp_path: Path) -> None:
    result = read(tmp_path / "n.md", "- [ ] water the roses\n- [x] buy soil\n* [X] sow\n- [y] plain\n- rest")
    assert [(item.text, item.tags) for item in result] == [
        ("water the roses", ("todo",)), ("buy soil", ("done",)), ("sow", ("done",)), ("[y] plain", ()), ("rest", ())
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("about #bees and #Honey/dark, (#wax)", ["bees", "Honey/dark", "wax"]),
        ("#first word, and #first again", ["first"]),
        ("see #12, C# and a#b, or &#38;", []),
        ("at https://example.org/page#part and <mailto:x#y> and [there](./n.md#part)", []),
        ("in `#code` and ``a ` #b`` but #not-here-", ["not-here"]),
        ("before\n```sh\n#comment\n```\nafter #fence", ["fence"]),
        ("straße #straße #日本", ["straße", "日本"]),
    ],
)
def test_a_tag_in_the_text_is_a_tag_but_not_in_code_or_an_address(text: str, tags: list[str]) -> None:
    assert markdown.tags_in(text) == tags


def test_a_heading_is_no_tag_and_tags_join_those_of_the_front_matter(tmp_path: Path) -> None:
    (item,) = read(tmp_path / "n.md", "---\ntags: [garden]\n---\n# Plants #herbs\n\nSage and #thyme.")
    assert item.tags == ("garden", "thyme")


@pytest.mark.parametrize("front", ["---\n[: broken\n---\nbody", "---\n- a list\n---\nbody", "---\nbody"])
def test_what_is_no_front_matter_does_no_harm(tmp_path: Path, front: str) -> None:
    assert read(tmp_path / "n.md", front)[-1].text.endswith("body")


def test_a_note_that_is_no_text_is_named_and_takes_nothing_away(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "- one")
    path.write_bytes(b"\xff\xff")
    assert [type(piece) for piece in FORMATS["markdown"].read(path)] == [Broken]
    tally = Ingest(store, FORMATS["markdown"], path).run()
    assert (counts(tally), tally.broken, texts(store)) == ((0, 0, 0, 0), 1, ["one"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_a_note_in_another_encoding_is_named_with_what_to_do(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "note.md"
    path.write_bytes("The well in the Höfe is deep.".encode(encoding))
    (piece,) = FORMATS["markdown"].read(path)
    assert isinstance(piece, Broken) and piece.reason == "not UTF-8 text; save it as UTF-8"


@pytest.mark.parametrize(
    "content", ["The well is deep.".encode("utf-16-le"), "- The well in Höfen\0 is deep.".encode()]
)
def test_of_a_note_that_is_utf_8_the_nul_characters_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(content)
    (piece,) = FORMATS["markdown"].read(path)
    assert isinstance(piece, Broken) and piece.reason.startswith("it has NUL characters")


def test_a_note_read_twice_changes_nothing(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    assert counts(ingest(store, path, NOTE)) == (6, 0, 0, 0)
    before = store.journal(limit=None)
    assert counts(ingest(store, path, NOTE)) == (0, 6, 0, 0)
    assert store.journal(limit=None) == before


def test_an_edited_item_keeps_its_memory(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "# Day\n- rise at seven\n- bed at ten\n")
    old = {memory.text: memory.id for memory in store.list_recent()}
    assert counts(ingest(store, path, "# Day\n- sing\n- rise at six\n- bed at ten\n")) == (1, 1, 1, 0)
    new = {memory.text: memory.id for memory in store.list_recent()}
    assert new["bed at ten"] == old["bed at ten"]
    assert old["rise at seven"] == new["rise at six"]
    store.undo()
    assert texts(store) == ["bed at ten", "rise at seven"]


def test_an_item_is_not_written_over_the_memory_of_another(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(
        store,
        path,
        "- the boiler is serviced each October\n- Ines is allergic to nuts\n- the gate code is on the board\n",
    )
    old = {memory.text: memory.id for memory in store.list_recent()}
    assert counts(ingest(store, path, "- the gate code is on the blue board\n- Tom sings in a choir\n")) == (1, 0, 1, 2)
    new = {memory.text: memory.id for memory in store.list_recent()}
    assert new["the gate code is on the blue board"] == old["the gate code is on the board"]
    assert new["Tom sings in a choir"] not in old.values()


def test_what_was_changed_in_the_store_stays_until_the_note_changes(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "- the ferry leaves at nine #ferry #winter\n")
    [memory] = store.list_recent()
    store.edit(
        memory.id,
        text="the ferry leaves at half past nine",
        tags=["ferry", "checked"],
        metadata={**memory.metadata, "x": 1},
    )
    assert counts(ingest(store, path, "- the ferry leaves at nine #ferry #winter\n")) == (0, 1, 0, 0)
    assert texts(store) == ["the ferry leaves at half past nine"]
    assert counts(ingest(store, path, "- the ferry leaves at ten #ferry #tide\n")) == (0, 0, 1, 0)
    [after] = store.list_recent()
    assert (after.id, after.text) == (memory.id, "the ferry leaves at ten #ferry #tide")
    assert after.tags == ("ferry", "checked", "tide") and after.metadata["x"] == 1


def test_what_was_changed_after_an_import_stays(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    path.write_text("- the ferry leaves at nine\n- bed at ten\n")
    import_path(store, path)
    [memory] = [memory for memory in store.list_recent() if "ferry" in memory.text]
    store.edit(memory.id, text="no ferry", tags=["checked"])
    before = store.journal(limit=None)
    assert counts(ingest(store, path, "- the ferry leaves at nine\n- bed at ten\n")) == (0, 2, 0, 0)
    assert store.journal(limit=None) == before


def test_a_task_that_was_done_and_tags_and_dates_of_a_note_are_followed(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "---\ntags: [home, spring]\n---\n- [ ] paint the gate\n")
    [memory] = store.list_recent()
    store.edit(memory.id, tags=[*memory.tags, "mine"])
    changed = "---\ntags: [home]\ndate: 2026-03-04\n---\n- [x] paint the gate\n"
    assert counts(ingest(store, path, changed)) == (0, 0, 1, 0)
    [after] = store.list_recent()
    assert (after.id, after.tags) == (memory.id, ("home", "mine", "done"))
    assert after.occurred_at == parse_time("2026-03-04")
    assert counts(ingest(store, path, changed)) == (0, 1, 0, 0)


def test_what_leaves_a_note_goes_to_the_trash_and_may_come_back(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "- one\n- two\n")
    assert counts(ingest(store, path, "- one\n")) == (0, 1, 0, 1)
    assert texts(store) == ["one"]
    assert counts(ingest(store, path, "- one\n- two\n")) == (0, 1, 1, 0)
    assert texts(store) == ["one", "two"]
    assert counts(ingest(store, path, "- one\n- two\n")) == (0, 2, 0, 0)


def test_what_somebody_forgot_does_not_come_back_from_its_note(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "- one\n- two\n")
    store.forget(*(memory.id for memory in store.list_recent() if memory.text == "two"))
    assert counts(ingest(store, path, "- one\n- two\n")) == (0, 2, 0, 0)
    assert texts(store) == ["one"]


def test_what_somebody_forgot_or_edited_stays_so_when_its_note_is_renamed(store: MemoryStore, tmp_path: Path) -> None:
    former, path = tmp_path / "n.md", tmp_path / "m.md"
    ingest(store, former, "- one\n- two\n- three\n")
    by_text = {memory.text: memory.id for memory in store.list_recent()}
    store.forget(by_text["two"])
    store.edit(by_text["three"], text="III")
    former.rename(path)
    for name in (home_relative(former), ""):  # and what is read again is as it was
        renamed = Ingest(store, FORMATS["markdown"], path, former=name)
        assert (renamed.run().new, texts(store)) == (0, ["III", "one"])
    assert {memory.session for memory in store.list_recent(include_trashed=True)} == {home_relative(path)}


def test_a_new_note_with_the_name_and_text_of_a_renamed_one_is_stored(store: MemoryStore, tmp_path: Path) -> None:
    daily, said = tmp_path / "daily.md", "- one\n- two\n"
    ingest(store, daily, said)
    for day in ("monday", "tuesday", "wednesday"):
        renamed = daily.rename(tmp_path / f"{day}.md")
        Ingest(store, FORMATS["markdown"], renamed, former=home_relative(daily)).run()
        assert counts(ingest(store, daily, said)) == (2, 0, 0, 0)
        ingest(store, renamed, f"- one\n- {day}\n")  # the new note still says «two»
        assert counts(ingest(store, daily, said)) == (0, 2, 0, 0)
    assert texts(store) == sorted(["monday", "tuesday", "wednesday", "two", *["one"] * 4])


def test_what_was_redacted_does_not_come_back_from_its_note(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "- one\n- two\n")
    store.redact(*(memory.id for memory in store.list_recent() if memory.text == "two"))
    assert counts(ingest(store, path, "- one\n- two\n- three\n")) == (1, 2, 0, 0)
    assert "two" not in texts(store)


def test_what_others_learnt_from_a_note_is_not_the_notes(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "# Day\n- rise at one\n")
    mine = store.remember("the day has an order", title="Day", source=home_relative(path))
    assert counts(ingest(store, path, "# Day\n- rise at two\n")) == (0, 0, 1, 0)
    assert counts(ingest(store, path, "")) == (0, 0, 0, 1)
    assert texts(store) == [mine.text]


def test_what_is_refused_in_an_edited_note_leaves_its_memory_as_it_was(tmp_path: Path) -> None:
    store = MemoryStore(":memory:", embedder="hashing", settings=Settings(secrets="refuse"))
    path = tmp_path / "n.md"
    ingest(store, path, "# Day\n- token to come\n- rise at seven\n- sing\n")
    old = {memory.text: memory.id for memory in store.list_recent()}
    tally = ingest(store, path, f"# Day\n- token {secret()}\n- rise at six\n")
    assert (counts(tally), tally.skipped["refused for a secret"]) == ((0, 0, 1, 1), 1)
    new = {memory.text: memory.id for memory in store.list_recent()}
    assert new == {"token to come": old["token to come"], "rise at six": old["rise at seven"]}
    assert counts(ingest(store, path, f"# Day\n- token {secret()}\n- {LONG}\n")) == (0, 0, 0, 0)
    assert texts(store) == ["rise at six", "token to come"]


def test_words_that_a_memory_once_had_can_be_kept_again(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    for text, expected in (("- a\n", ["a"]), ("- b\n", ["b"]), ("- b\n- a\n", ["a", "b"]), ("- a\n- b\n", ["a", "b"])):
        ingest(store, path, text)
        assert texts(store) == expected


def test_a_note_is_the_same_by_whichever_path_it_is_named(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ingest(store, tmp_path / "n.md", "- one\n")
    assert counts(ingest(store, tmp_path / "sub" / ".." / "n.md", "- one\n")) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("Write `<!-- more -->` there.<!-- no -->", "Write `<!-- more -->` there."),
        ("See:\n\n```html\n<!-- nav -->\n```\n<!-- no -->", "See:\n\n```html\n<!-- nav -->\n```"),
        ("See:\n\n~~~\n``` <!-- nav -->\n~~~\n<!-- ~~~ -->", "See:\n\n~~~\n``` <!-- nav -->\n~~~"),
        ("A lone ` and <!-- no -->more", "A lone ` and more"),
        ("What begins <!-- and does not end", "What begins <!-- and does not end"),
    ],
)
def test_a_comment_is_left_out_but_not_in_code(tmp_path: Path, note: str, kept: str) -> None:
    assert [item.text for item in read(tmp_path / "n.md", note)] == [kept]


def test_another_file_with_the_same_words_is_another_note(store: MemoryStore, tmp_path: Path) -> None:
    ingest(store, tmp_path / "a.md", "# T\n- same\n")
    ingest(store, tmp_path / "b.md", "# T\n- same\n")
    assert texts(store) == ["same", "same"]
    ingest(store, tmp_path / "a.md", "# T\n")
    assert texts(store) == ["same"]


def test_a_dry_run_counts_and_keeps_nothing(store: MemoryStore, tmp_path: Path) -> None:
    assert counts(ingest(store, tmp_path / "n.md", NOTE, dry_run=True)) == (6, 0, 0, 0)
    assert texts(store) == []


def test_a_secret_in_a_note_is_not_kept_and_makes_no_second_memory(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, f"- token {secret()}\n")
    (memory,) = store.list_recent()
    assert secret() not in memory.text
    assert counts(ingest(store, path, f"- token {secret()}\n")) == (0, 1, 0, 0)


def test_a_memory_of_a_note_tells_where_it_came_from(store: MemoryStore, elsewhere: Path) -> None:
    ingest(store, elsewhere / "n.md", NOTE)
    result: Memory = next(memory for memory in store.list_recent() if memory.text == "Afterwards rest.")
    assert (result.source, result.session, result.title, result.type) == (
        "~/n.md",
        "~/n.md",
        "Orchard › Rules",
        "semantic",
    )
    assert result.position == 3


@pytest.mark.parametrize("indent", ["  ", " ", "    ", "\t", "   "])
def test_nested_bullets_belong_to_the_item_above_at_any_indent(tmp_path: Path, indent: str) -> None:
    note = tmp_path / "n.md"
    note.write_text(f"# Boats\n- Kestrel\n{indent}- new mast\n{indent * 2}- of oak\n- Heron\n\nProse\n")
    texts = [piece.text for piece in markdown.read(note) if isinstance(piece, Item)]
    assert texts == [f"Kestrel\n{indent}- new mast\n{indent * 2}- of oak", "Heron", "Prose"]


def test_a_title_has_the_note_and_all_headings_and_says_none_twice(tmp_path: Path) -> None:
    text = "# Baratza Grinder\n- a\n## Observations\n- b\n# Kettle\n## Observations\n- c\n"
    assert [item.title for item in read(tmp_path / "baratza-grinder.md", text)] == [
        "Baratza Grinder",
        "Baratza Grinder › Observations",
        "baratza-grinder › Kettle › Observations",
    ]
    [deep] = read(tmp_path / "n.md", f"# {'long ' * 30}\n## {'longer ' * 20}\n### Last\n- a\n")
    assert deep.title == "n › Last"


def test_memories_that_were_titled_by_their_heading_alone_get_the_name_of_their_note(
    store: MemoryStore, elsewhere: Path
) -> None:
    path = elsewhere / "grinder.md"
    ingest(store, path, "## Observations\n- It is loud\n- It is black\n")
    for memory in store.list_recent():
        record = {**memory.metadata["read_from_note"]}  # type: ignore[dict-item]
        del record["title"]
        title = "Mine" if "black" in memory.text else "Observations"
        store.edit(memory.id, title=title, metadata={**memory.metadata, "read_from_note": record})
    tally = ingest(store, path, "## Observations\n- It is loud\n- It is black\n")
    assert (tally.new, tally.gone) == (0, 0)
    assert {memory.text: memory.title for memory in store.list_recent()} == {
        "It is loud": "grinder › Observations",
        "It is black": "Mine",
    }


def test_a_tag_of_the_front_matter_has_no_hash(tmp_path: Path) -> None:
    [item] = read(tmp_path / "n.md", '---\ntags: ["#boat", red]\n---\n- It floats\n')
    assert item.tags == ("boat", "red")


@pytest.mark.parametrize(
    ("front", "title", "tags", "unread"),
    [
        ("title: Meeting: Q3 plan\ntags: [a, b]", "Meeting: Q3 plan", ("a", "b"), ""),
        ("title: Plan\ndate: 2021-02-30\ntags:\n  - a", "Plan", ("a",), "date (2021-02-30)"),
        ("title: Plan\ntags:\n\t- a", "Plan", ("a",), ""),
        ("title: Plan\ntags: {{tags}}", "Plan", (), "tags ("),
        ("title: Plan: two\ntags: {{tags}}", "Plan: two", (), "tags ("),
    ],
)
def test_front_matter_that_is_not_quite_yaml_is_read_by_its_lines(
    tmp_path: Path, front: str, title: str, tags: tuple[str, ...], unread: str
) -> None:
    path = tmp_path / "n.md"
    path.write_text(f"---\n{front}\n---\n- It floats\n")
    *faults, item = markdown.read(path)
    assert isinstance(item, Item) and (item.title, item.tags) == (title, tags)
    assert [unread in fault.reason for fault in faults if isinstance(fault, Remark)] == ([True] if unread else [])


def test_a_note_emptied_below_odd_front_matter_is_empty(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "n.md"
    ingest(store, path, "---\ndate: someday\n---\n- It floats\n")
    tally = ingest(store, path, "---\ndate: someday\n---\n")
    assert (tally.gone, tally.broken, store.count()) == (1, 0, 0)
    assert tally.remarks == ["the front matter: not understood: date (someday); the rest of the note is taken"]
