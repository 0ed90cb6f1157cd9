"""Lessons are exported, and imported into another book."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from nacre import MemoryStore
from nacre.errors import InvalidInput, StorageError, UnknownName
from nacre.lessons import LessonBook
from nacre.lessons.import_plan import parse_document, plan_import
from tests.lessons.factories import TickingClock, add_terms, file_of, new_book, titles


def exported(book: LessonBook, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    count = book.export(out, **options).data
    document: dict[str, Any] = json.loads(out.getvalue())
    assert count == len(document["lessons"]) == document["counts"]["lessons"]
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {each["title"] for each in document["lessons"]}


def full_book() -> LessonBook:
    book = new_book("claude")
    first = book.learn("One", "first text", tags=["api.jira"], source="podcast", confidence=0.61).data.id
    second = book.learn("Two", "second text", tags=["db"], metadata={"priority": "high"}).data.id
    third = book.learn("Three", "third text", tags=["db.sql"]).data.id
    book.store.link(first, second, "causes", weight=0.25, data={"since": "spring"})
    book.link(third, second, "supersedes")
    book.store.edit(first, status="archived")
    return book


def test_a_file_says_what_it_is_and_how_much_it_holds() -> None:
    document = exported(full_book())
    assert (document["format"], document["version"]) == ("nacre-lessons", 1)
    assert document["counts"] == {"lessons": 3, "links": 2, "words": 1}


def test_a_lesson_is_exported_with_all_its_fields() -> None:
    book = full_book()
    first, second, third = sorted(exported(book)["lessons"], key=lambda each: each["created_at"])
    assert (first["confidence"], first["certainty"], first["archived"]) == ("high", 0.61, True)
    assert first["links"] == [{"to": second["id"], "relation": "causes", "weight": 0.25, "data": {"since": "spring"}}]
    assert (second["superseded_by"], second["metadata"]) == (third["id"], {"priority": "high"})
    assert re.fullmatch(r"2027-01-15T08:00:\d\dZ", first["created_at"])
    assert first["record"]["created_at"] == book.store.get(first["id"]).created_at  # type: ignore[union-attr]
    assert first["agent"] == "claude"


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml"])
def test_the_name_of_a_file_says_how_it_is_written_and_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"lessons.{suffix}"
    assert full_book().export(file).data == 3
    text = file.read_text(encoding="utf-8")
    document = json.loads(text) if suffix == "json" else yaml.safe_load(text)
    assert len(document["lessons"]) == 3
    assert new_book().import_(str(file)).data.new == 3


def test_a_stream_is_recognised_by_its_first_sign() -> None:
    for format in ("json", "yaml"):
        out = io.StringIO()
        full_book().export(out, format=format)
        assert new_book().import_(io.StringIO(out.getvalue())).data.new == 3
        assert new_book().import_(io.BytesIO(b"\xef\xbb\xbf" + out.getvalue().encode())).data.new == 3


def test_an_export_replaces_an_older_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "lessons.json"
    full_book().export(file)
    full_book().export(file)
    assert json.loads(file.read_text(encoding="utf-8"))["counts"]["lessons"] == 3
    assert list(tmp_path.iterdir()) == [file]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="choose another place"):
        full_book().export(tmp_path / "nowhere" / "lessons.json")


def test_an_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="yaml"):
        full_book().export(io.StringIO(), format="xml")
    with pytest.raises(UnknownName, match="yaml"):
        new_book().import_(io.StringIO("{}"), format="xml")


def test_what_is_in_the_trash_does_not_leave() -> None:
    book = full_book()
    book.delete(next(lesson.id for lesson in book.list().data if lesson.title == "Three"))
    assert names(exported(book)) == {"One", "Two"}


def test_tags_narrow_with_all_that_is_under_them_and_links_to_the_rest_are_reported() -> None:
    book = full_book()
    out = io.StringIO()
    answer = book.export(out, tags="db")
    assert names(json.loads(out.getvalue())) == {"Two", "Three"}
    assert answer.warnings == ()
    answer = book.export(out, tags=["api"])
    assert answer.data == 1
    assert answer.warnings == ("Links left out, because their targets are not exported: 1.",)


def test_what_is_archived_may_be_left_out() -> None:
    assert names(exported(full_book(), include_archived=False)) == {"Two", "Three"}


@pytest.mark.accepts("L8.20")
@pytest.mark.parametrize("excluded", ["sensitive,pii", "sensitive, PII", ["sensitive", "pii"], ["sensitive,pii"]])
def test_excluded_tags_keep_back_their_children_aliases_and_synonyms(excluded: object) -> None:
    book = new_book()
    add_terms(book, "tag", private={"alias_of": "pii"}, pii={"synonyms": ["gdpr"]}, salary={"parents": ["pii"]})
    for name in ("sensitive", "sensitive.legal", "pii", "gdpr", "salary", "open", "piinata"):
        book.learn(name, f"about {name}", tags=[name, "all"])
    book.store.remember("about private things", type="lesson", title="private", tags=["private"])  # before the alias
    document = exported(book, exclude_tags=excluded)
    assert names(document) == {"Open", "Piinata"}
    assert "gdpr" not in json.dumps(document)
    assert "salary" not in json.dumps(document)


def test_a_typing_error_in_an_excluded_tag_is_reported() -> None:
    book = new_book()
    book.learn("One", "text", tags=["sensitive"])
    answer = book.export(io.StringIO(), exclude_tags="sensitve")
    assert answer.suggestions["sensitve"] == ("sensitive",)


@pytest.mark.accepts("L8.20")
def test_secrets_and_personal_data_do_not_leave_and_are_counted() -> None:
    address = "@".join(("bob", "example.com"))
    book = new_book()
    lesson = book.learn(f"Ask {address}", f"mail {address} first", source_notes=address, metadata={"by": address}).data
    other = book.learn("Two", "text").data
    book.store.link(lesson.id, other.id, data={"said": address})
    out = io.StringIO()
    answer = book.export(out)
    assert address not in out.getvalue()
    assert json.loads(out.getvalue())["redacted"] == {"email": 5}
    assert "5 email" in answer.warnings[0]
    assert address in json.dumps(exported(book, redact=False))
    assert book.get(lesson.id).data.content == lesson.content  # type: ignore[union-attr]


def test_only_the_words_that_the_exported_lessons_use_go_with_them() -> None:
    book = new_book()
    add_terms(
        book, "tag", js={"alias_of": "javascript"}, javascript={"synonyms": ["ecmascript"], "parents": ["web"]},
        web={"description": "what browsers show"}, secretive={"parents": ["javascript"]}, sql={"synonyms": ["db"]},
    )  # fmt: skip
    add_terms(book, "context", office={"parents": ["indoors"]}, indoors={"description": "under a roof"}, pier={})
    book.learn("One", "text", tags=["javascript"], contexts=["office"], source="podcast")
    book.learn("Two", "text", tags=["sql"], source="radio")
    words = exported(book, tags="javascript")["vocabulary"]
    assert set(words["tag"]) == {"js", "javascript", "web"}
    assert set(words["context"]) == {"office", "indoors"}
    assert set(words["source"]) == {"podcast"}
    assert set(exported(book)["vocabulary"]["tag"]) == {"js", "javascript", "web", "secretive", "sql"}


def test_aliases_sources_and_tables_of_values_arrive() -> None:
    book = new_book()
    add_terms(book, "tag", js={"alias_of": "javascript"})
    book.add_source("podcast", "heard on the way", "low")
    book.add_reference("priority", "urgent", 1, "at once")
    book.learn("One", "text", tags=["js"], source="podcast", metadata={"priority": "urgent"})
    other = new_book()
    other.import_(io.StringIO(json.dumps(exported(book, tags="javascript"))))
    assert other.learn("Two", "text", tags=["js"]).data.tags == ("javascript",)
    assert other.learn("Three", "text", source="podcast").data.confidence == "low"
    assert other.references("priority").data == book.references("priority").data


def test_an_import_is_one_operation_that_can_be_undone() -> None:
    book = new_book()
    report = book.import_(io.StringIO(json.dumps(exported(full_book())))).data
    assert report.new == 3
    assert book.store.vocabulary("source")
    book.store.undo()
    assert book.list(include_archived=True, include_superseded=True).data == ()
    assert book.store.vocabulary("source") == {}


def test_a_dry_run_reports_the_same_and_changes_nothing() -> None:
    book, document = new_book(), json.dumps(exported(full_book()))
    rendered = book.import_(io.StringIO(document), dry_run=True).data
    assert book.store.journal() == []
    assert book.store.count() == 0
    assert book.import_(io.StringIO(document)).data == rendered


def test_what_was_imported_can_be_recalled_and_followed() -> None:
    book = new_book()
    book.import_(io.StringIO(json.dumps(exported(full_book()))))
    assert titles(book.recall("third text", limit=1)) == {"Three"}
    (successor,) = book.list().data
    (former,) = [each for each in book.list(include_superseded=True).data if each.title == "Two"]
    assert former.superseded_by == successor.id
    assert book.unlink(successor.id, former.id, "supersedes").data == 1


def changed_copy(book: LessonBook, id: str, **changes: Any) -> io.StringIO:
    document = exported(book)
    for each in document["lessons"]:
        if each["id"] == id:
            each.update(changes)
    return io.StringIO(json.dumps(document))


def test_a_lesson_that_is_here_is_skipped_overwritten_or_a_fault_as_the_policy_says() -> None:
    book = new_book()
    id = book.learn("One", "text", id="1").data.id
    copy = changed_copy(book, id, content="other text").getvalue()
    report = book.import_(io.StringIO(copy)).data
    assert (report.new, report.changed, report.skipped) == (0, 0, 1)
    with pytest.raises(InvalidInput, match="'1' exists already"):
        book.import_(io.StringIO(copy), on_existing="error")
    assert book.get(id).data.content == "text"  # type: ignore[union-attr]
    report = book.import_(io.StringIO(copy), on_existing="overwrite").data
    assert (report.new, report.changed, report.skipped) == (0, 1, 0)
    assert book.get(id).data.content == "other text"  # type: ignore[union-attr]
    assert titles(book.recall("other", strategy="keyword")) == {"One"}
    with pytest.raises(UnknownName, match="newer"):
        book.import_(io.StringIO(copy), on_existing="replace")


def test_the_newer_one_stays() -> None:
    clock = TickingClock()
    book = new_book(clock=clock)
    id = book.learn("One", "text").data.id
    older = changed_copy(book, id, content="from before", updated_at="2020-01-01T00:00:00Z")
    later = changed_copy(book, id, content="from later", updated_at="2040-01-01T00:00:00Z")
    assert book.import_(older, on_existing="newer").data.skipped == 1
    assert book.import_(later, on_existing="newer").data.changed == 1
    assert book.get(id).data.content == "from later"  # type: ignore[union-attr]


def test_overwriting_with_the_same_lesson_is_no_operation() -> None:
    book = full_book()
    operations = len(book.store.journal())
    book.recall("text", include_archived=True)
    report = book.import_(io.StringIO(json.dumps(exported(book))), on_existing="overwrite").data
    assert (report.changed, report.skipped) == (0, 3)
    assert len(book.store.journal()) == operations


def test_overwriting_keeps_the_links_and_the_successor_that_the_file_cannot_know_of() -> None:
    book = new_book()
    old = book.learn("One", "text").data.id
    copy = changed_copy(book, old, content="other text")
    successor, kin = (book.learn(name, "text").data.id for name in ("Heir", "Kin"))
    book.link(old, kin)
    book.link(successor, old, "supersedes")
    assert book.import_(copy, on_existing="overwrite").data.changed == 1
    stands = book.get(old).data
    assert stands is not None
    assert (stands.content, stands.superseded_by) == ("other text", successor)
    assert [each.lesson.id for each in book.related(kin, direction="in").data] in ([], [old])
    assert book.unlink(old, kin).data == 1


def test_a_lesson_that_stays_as_it_is_is_not_replaced_by_a_link_from_the_file() -> None:
    source = new_book()
    old = source.learn("Old", "text", id="old").data.id
    before = json.dumps(exported(source))
    source.link(source.learn("New", "text", id="new").data.id, old, "supersedes")
    book = new_book()
    book.import_(io.StringIO(before))
    report = book.import_(io.StringIO(json.dumps(exported(source)))).data
    assert (report.new, report.skipped) == (1, 1)
    assert report.notes[0].startswith("Links left out")
    assert book.get(old).data.superseded_by == ""  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", ["skip", "newer"])
def test_a_lesson_that_was_deleted_stays_in_the_trash(policy: str) -> None:
    book = full_book()
    document = json.dumps(exported(book))
    id = next(lesson.id for lesson in book.list().data)
    book.delete(id)
    report = book.import_(io.StringIO(document), on_existing=policy).data
    assert (report.new, report.changed, report.skipped) == (0, 0, 3)
    assert report.notes[-1].startswith("Lessons left in the trash") and report.notes[-1].endswith(": 1.")
    assert book.get(id).data is None
    only = {**json.loads(document), "lessons": [each for each in json.loads(document)["lessons"] if each["id"] == id]}
    with pytest.raises(InvalidInput, match="exists already, in the trash"):
        book.import_(io.StringIO(json.dumps({**only, "counts": {}})), on_existing="error")


@pytest.mark.parametrize("options", [{"on_existing": "overwrite"}, {"restore_deleted": True}])
def test_a_lesson_from_the_trash_comes_back_where_that_is_asked_for(options: dict[str, Any]) -> None:
    book = full_book()
    document = json.dumps(exported(book))
    id = next(lesson.id for lesson in book.list().data)
    book.delete(id)
    report = book.import_(io.StringIO(document), **options).data
    assert "Lessons restored from the trash: 1." in report.notes
    assert book.get(id).data is not None


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("policy", ["skip", "newer", "overwrite"])
def test_a_redacted_lesson_stays_redacted(policy: str, deleted: bool) -> None:
    book = new_book()
    id = book.learn("Vault", "The door opens to the left.").data.id
    values = {**exported(book)["lessons"][0], "updated_at": "2999-01-01"}
    document = {**exported(book), "lessons": [values]}
    book.store.redact(id)
    report = book.import_(io.StringIO(json.dumps(document)), on_existing=policy, restore_deleted=deleted).data
    assert (report.new, report.changed, report.skipped) == (0, 0, 1)
    assert "Lessons that were redacted and stay so: 1." in report.notes
    memory = book.store.get(id)
    assert memory is not None and (memory.text, memory.title, memory.status) == ("[redacted]", "", "trashed")


def test_a_lesson_that_is_redacted_while_it_is_imported_stays_so() -> None:
    book = new_book()
    id = book.learn("Vault", "The door opens to the left.").data.id
    document = parse_document(book.store, exported(book))
    plan = plan_import(book.store, document, "overwrite")
    book.store.redact(id)
    book.store.write("import", edits=plan.edits())
    assert book.store.get_many([id])[0].text == "[redacted]"


def test_a_redacted_file_that_overwrites_is_reported() -> None:
    book = new_book()
    book.learn("One", "mail " + "@".join(("bob", "example.com")))
    report = book.import_(io.StringIO(json.dumps(exported(book))), on_existing="overwrite").data
    assert report.changed == 1
    assert "without secrets and personal data" in report.notes[-1]


def test_a_file_may_be_written_by_hand() -> None:
    text = """
format: nacre-lessons
version: 1
lessons:
- title: close the file.
  content: |
    It stays open otherwise.
  tags: [Python Files]
  source: tested
- id: mine
  title: Two
  content: text
  confidence: very-low
  created_at: 2026-03-31
  superseded_by: ""
  links: [{to: mine-too, relation: related_to}]
- {id: mine-too, title: Three, content: text, archived: true, source: radio}
"""
    book = new_book()
    report = book.import_(io.StringIO(text)).data
    assert report.new == 3
    results = {lesson.title: lesson for lesson in book.list(include_archived=True).data}
    assert (results["Close the file"].tags, results["Close the file"].confidence) == (("python-files",), "high")
    assert (results["Two"].confidence, results["Two"].created_at) == ("very-low", 1774915200.0)
    assert results["Three"].archived
    assert book.store.vocabulary("source") == {"radio": {"review": True}}
    assert book.unlink("mine", "mine-too", "related").data == 1


def test_what_a_person_writes_over_wins_over_the_exact_values() -> None:
    book = new_book()
    id = book.learn("One", "text", confidence=0.61).data.id
    copy = changed_copy(book, id, confidence="low", created_at="2021-01-01T00:00:00Z", archived=True)
    other = new_book()
    other.import_(copy)
    lesson = other.get(id).data
    assert lesson is not None
    assert (lesson.confidence, lesson.created_at, lesson.archived) == ("low", 1609459200.0, True)


def test_a_link_that_supersedes_by_hand_takes_the_others_place() -> None:
    book = new_book()
    new = {"id": "new", "title": "New", "content": "text", "links": [{"to": "old", "relation": "supersedes"}]}
    book.import_(file_of(new, {"id": "old", "title": "Old", "content": "text"}))
    assert book.get("old").data.superseded_by == "new"  # type: ignore[union-attr]
    assert titles(book.list()) == {"New"}


def test_the_aliases_of_this_book_are_resolved_in_what_comes() -> None:
    book = new_book()
    add_terms(book, "tag", js={"alias_of": "javascript"})
    book.import_(file_of({"id": "1", "title": "One", "content": "text", "tags": ["js"]}))
    assert book.get("1").data.tags == ("javascript",)  # type: ignore[union-attr]


def test_words_that_stand_here_stay_and_an_alias_never_becomes_a_ring() -> None:
    book = new_book()
    add_terms(book, "tag", a={"alias_of": "b"}, c={"description": "ours"})
    lesson = {"id": "1", "title": "One", "content": "text"}
    words = {"tag": {"b": {"alias_of": "a"}, "c": {"description": "theirs"}}}
    report = book.import_(file_of(lesson, vocabulary=words)).data
    assert "'b' was left out" in report.notes[0]
    assert book.store.vocabulary("tag") == {"a": {"alias_of": "b"}, "c": {"description": "ours"}}
    book.import_(file_of(lesson, vocabulary=words), on_existing="overwrite")
    assert book.store.vocabulary("tag")["c"] == {"description": "theirs"}


@pytest.mark.slow
def test_hundreds_of_lessons_go_and_come() -> None:
    book = new_book()
    book.import_(file_of(*({"id": f"{at}", "title": f"T{at}", "content": f"text {at}"} for at in range(300))))
    out = io.StringIO()
    assert book.export(out, format="yaml").data == 300
    assert new_book().import_(io.StringIO(out.getvalue())).data.new == 300


def test_an_export_of_lessons_does_not_take_the_place_of_anything_else(book: LessonBook, tmp_path: Path) -> None:
    book.learn("Deploys", "They run at noon")
    other = tmp_path / "other.db"
    MemoryStore(other, embedder="hashing").close()
    before = other.read_bytes()
    with pytest.raises(InvalidInput, match="not a file of lessons"):
        book.export(other, format="json")
    assert other.read_bytes() == before
    for _ in range(2):
        assert book.export(tmp_path / "lessons.json").data == 1
