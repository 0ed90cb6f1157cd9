"""The functions of core: lessons come in, change, are tied, are counted and go."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nacre.compat.ai_lessons import core
from nacre.compat.ai_lessons.config import Config
from nacre.compat.ai_lessons.db import book_of, ulid
from nacre.engine.checked_embedder import PROBE
from nacre.protocols import Embedder, Vectors
from tests.waiting import wait_for

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def stored(
    config: Config, title: str = "Sieve the glaze", content: str = "Lumps spit in the kiln.", **more: object
) -> str:
    return core.add_lesson(title, content, config=config, **more)  # type: ignore[arg-type]


@pytest.mark.accepts("L1.5", "L3.1", "L8.1")
def test_a_lesson_is_read_as_it_was_written(config: Config) -> None:
    before = datetime.now(UTC)
    id = stored(
        config, "never open a hot kiln.", "It cracks the ware.", tags=["Kiln ", "safety"], contexts=["workshop"],
        anti_contexts=["raku"], confidence="very-high", source="tested", source_notes="lost six bowls",
    )  # fmt: skip
    results = core.get_lesson(id, config)
    assert results is not None and results.created_at is not None and results.updated_at is not None
    assert (results.id, results.title, results.content) == (id, "never open a hot kiln.", "It cracks the ware.")
    assert (results.confidence, results.source, results.source_notes) == ("very-high", "tested", "lost six bowls")
    assert (results.tags, results.contexts, results.anti_contexts) == (["kiln", "safety"], ["workshop"], ["raku"])
    assert before <= results.created_at <= results.updated_at <= datetime.now(UTC)


@pytest.mark.accepts("L1.5", "L3.1")
def test_an_id_is_a_ulid_and_later_ones_sort_later(config: Config) -> None:
    first = stored(config)
    wait_for(lambda: ulid(time.time())[:10] > first[:10], "another millisecond")  # of which these characters are
    assert ULID.fullmatch(first) and first < stored(config, "Fire slowly", "Steam must leave the clay.")


@pytest.mark.accepts("L3.2", "L3.7", "L3.8")
def test_what_is_not_there_is_none_or_false_or_nothing(config: Config) -> None:
    assert core.get_lesson("nobody", config) is None
    assert core.update_lesson("nobody", title="x", config=config) is False
    assert core.delete_lesson("nobody", config) is False
    assert core.get_related("nobody", config=config) == []
    assert core.unlink_lessons("nobody", "nowhere", config=config) == 0
    assert core.link_lessons(stored(config), "nowhere", "related_to", config) is False
    assert core.merge_tags("never-used", "other", config) == 0


@pytest.mark.accepts("L3.2", "L8.1")
def test_an_update_replaces_what_is_given_and_leaves_the_rest(config: Config) -> None:
    id = stored(config, tags=["glaze"], contexts=["workshop"], anti_contexts=["raku"], source="observed")
    assert core.update_lesson(id, title="Sieve it thrice", tags=["sieve"], confidence="low", config=config) is True
    assert core.update_lesson(id, anti_contexts=["school"], config=config) is True
    results = core.get_lesson(id, config)
    assert results is not None
    assert (results.title, results.tags, results.contexts) == ("Sieve it thrice", ["sieve"], ["workshop"])
    assert results.anti_contexts == ["school"]
    assert (results.confidence, results.source, results.content) == ("low", "observed", "Lumps spit in the kiln.")


@pytest.mark.accepts("L3.2")
def test_a_changed_content_is_found_by_its_new_words_only(config: Config) -> None:
    id = stored(config)
    core.update_lesson(id, title="Wedge it", content="Air pockets burst.", config=config)
    assert [each.id for each in core.keyword_search("air pockets", config=config)] == [id]
    assert core.keyword_search("lumps", config=config) == []


@pytest.mark.accepts("L3.2")
def test_a_deleted_lesson_is_gone_for_every_function(config: Config) -> None:
    id = stored(config, tags=["glaze"])
    assert core.delete_lesson(id, config) is True
    assert core.get_lesson(id, config) is None
    assert core.recall("sieve the glaze", config=config) == []
    assert core.list_tags(config=config) == []


@pytest.mark.accepts("L3.7", "L8.17", "L9.2")
def test_links_have_any_relation_and_are_made_once(config: Config) -> None:
    one, two = stored(config), stored(config, "Fire slowly", "Steam must leave.")
    assert core.link_lessons(one, two, "contradicts", config) is True
    assert core.link_lessons(one, two, "contradicts", config) is False
    assert core.link_lessons(one, two, "related_to", config) is True
    assert core.link_lessons(one, two, "grew_out_of", config) is True
    assert core.unlink_lessons(one, two, "grew_out_of", config) == 1
    assert core.unlink_lessons(one, two, config=config) == 2


@pytest.mark.accepts("L3.6", "L8.17", "L9.2")
def test_relatives_are_found_along_and_against_the_links(config: Config) -> None:
    one, two, three = (stored(config, f"Step {n}", f"Do the {n} thing.") for n in ("first", "second", "third"))
    core.link_lessons(one, two, "derived_from", config)
    core.link_lessons(two, three, "example_of", config)
    assert [each.id for each in core.get_related(one, config=config)] == [two]
    assert {each.id for each in core.get_related(two, config=config)} == {one, three}
    assert {each.id for each in core.get_related(three, depth=2, config=config)} == {one, two}
    assert [each.id for each in core.get_related(two, relations=["example_of"], config=config)] == [three]


@pytest.mark.accepts("L9.2")
def test_a_contradiction_changes_nobodys_confidence(config: Config) -> None:
    one, two = stored(config, confidence="high"), stored(config, "Fire slowly", "Steam.", confidence="high")
    core.link_lessons(one, two, "contradicts", config)
    assert [each.confidence for each in core.get_related(one, config=config)] == ["high"]


@pytest.mark.accepts("L8.15", "L8.16", "L9.2")
def test_a_superseded_lesson_ranks_lower_and_is_still_found(config: Config) -> None:
    old = stored(config, "Glaze sieve", "Sieve the glaze once.")
    new = stored(config, "Glaze sieve", "Sieve the glaze twice.")
    assert core.link_lessons(new, old, "supersedes", config) is True
    assert [each.id for each in core.recall("glaze sieve", config=config)] == [new, old]
    assert core.link_lessons(old, new, "supersedes", config) is False


@pytest.mark.accepts("L3.8", "L3.11")
def test_there_are_five_levels_and_five_sources_from_the_first(config: Config) -> None:
    levels = core.list_confidence_levels(config)
    assert [(each.name, each.ordinal) for each in levels] == [
        ("very-low", 1), ("low", 2), ("medium", 3), ("high", 4), ("very-high", 5),
    ]  # fmt: skip
    assert {each.name: each.typical_confidence for each in core.list_sources(config)} == {
        "inferred": "low-medium", "tested": "high", "documented": "medium-high", "observed": "medium", "hearsay": "low",
    }  # fmt: skip


@pytest.mark.accepts("L3.8", "L8.9")
def test_a_source_is_added_once_with_a_confidence_between_two_levels(config: Config) -> None:
    assert core.add_source("glaze-chart", "read off the chart", "medium-high", config) is True
    assert core.add_source("glaze-chart", config=config) is False
    assert core.add_source("tested", config=config) is False
    (added,) = (each for each in core.list_sources(config) if each.name == "glaze-chart")
    assert (added.description, added.typical_confidence) == ("read off the chart", "high")


@pytest.mark.accepts("L4.2", "L8.9")
def test_an_unknown_source_is_created_and_waits_for_review(config: Config) -> None:
    stored(config, source="dream")
    assert [each.name for each in book_of(config).sources(review=True).data] == ["dream"]
    assert "dream" in [each.name for each in core.list_sources(config)]


@pytest.mark.accepts("L4.1", "L4.4")
def test_a_lesson_that_cannot_be_stored_leaves_nothing(config: Config) -> None:
    with pytest.raises(ValueError, match="sometimes"):
        stored(config, confidence="sometimes", source="brand-new", tags=["glaze"])
    assert core.list_tags(config=config) == []
    assert len(core.list_sources(config)) == 5


@pytest.mark.accepts("L3.8")
def test_tags_are_reported_by_name_or_with_how_often_they_are_used(config: Config) -> None:
    stored(config, tags=["zinc", "kiln"])
    stored(config, "Fire slowly", "Steam.", tags=["kiln"])
    assert [(tag.name, tag.count) for tag in core.list_tags(config=config)] == [("kiln", 0), ("zinc", 0)]
    assert [(tag.name, tag.count) for tag in core.list_tags(True, config)] == [("kiln", 2), ("zinc", 1)]


@pytest.mark.accepts("L3.8", "L8.4")
def test_merged_tags_are_one_on_every_lesson(config: Config) -> None:
    both, one = stored(config, tags=["ovens", "kiln"]), stored(config, "Fire slowly", "Steam.", tags=["ovens"])
    assert core.merge_tags("ovens", "kiln", config) == 2
    assert [core.get_lesson(id, config).tags for id in (both, one)] == [["kiln"], ["kiln"]]  # type: ignore[union-attr]


@pytest.mark.accepts("L3.10", "L4.1", "L9.1")
def test_references_are_checked_and_what_was_meant_is_suggested(config: Config) -> None:
    stored(config, tags=["ceramics"], contexts=["workshop"])
    core.add_reference("priority_levels", "urgent", 1, "today", config)
    for table, value, wrong in (
        ("confidence_levels", "high", "hihg"), ("source_types", "tested", "testd"), ("tags", "ceramics", "ceramcs"),
        ("contexts", "workshop", "workshp"), ("priority_levels", "urgent", "urgnt"),
    ):  # fmt: skip
        assert core._validate_reference(table, value, config) and not core._validate_reference(table, wrong, config)
        assert core._suggest_similar(table, wrong, config) == [value]


@pytest.mark.accepts("L3.9")
def test_a_text_is_embedded_as_plain_numbers_and_lessons_again(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    id = stored(config)
    row = core.embed_text("glaze", config)
    assert all(type(number) is float for number in row) and len(row) == book_of(config).store.embedder.dimensions
    stored(config, "Wedge it", "Air pockets burst.")
    asked: list[str] = []
    kind = type(book_of(config).store.embedder)
    really = kind.embed

    def embed(own: Embedder, texts: Sequence[str]) -> Vectors:
        # The embedder is tried without a text, and compared by a fixed one.
        asked.extend(text for text in texts if text not in ("", PROBE))
        return really(own, texts)

    monkeypatch.setattr(kind, "embed", embed)
    core.reembed_lesson(id, config)
    assert asked == ["Sieve the glaze\n\nLumps spit in the kiln."]
    core.reembed_all(config)
    assert sorted(asked[1:]) == ["Sieve the glaze\n\nLumps spit in the kiln.", "Wedge it\n\nAir pockets burst."]
    assert [each.id for each in core.vector_search("sieve the glaze", 1, config=config)] == [id]
    with pytest.raises(KeyError):
        core.reembed_lesson("nobody", config)


@pytest.mark.accepts("L9.3")
def test_add_search_update_delete_in_the_configured_database(configured: Config) -> None:
    id = core.add_lesson("Warm the plaster", "Cold moulds release badly.")
    assert [each.id for each in core.recall("plaster moulds")] == [id]
    core.update_lesson(id, content="Cold moulds hold the clay.")
    assert core.recall("plaster moulds")[0].content == "Cold moulds hold the clay."
    assert core.delete_lesson(id) and core.recall("plaster moulds") == []
    assert configured.db_path.exists()
