"""Searching: by words, meaning or both, narrowed before anything is compared."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.compat.ai_lessons import core, search
from nacre.compat.ai_lessons.config import Config
from nacre.compat.ai_lessons.search import keyword_search

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)  # those are refused


@pytest.fixture
def lessons(config: Config) -> dict[str, str]:
    def add(title: str, content: str, **more: object) -> str:
        return core.add_lesson(title, content, config=config, **more)  # type: ignore[arg-type]

    return {
        "cool": add("Cool the kiln slowly", "A cold draught cracks the glaze.", tags=["kiln"], contexts=["workshop"],
                    anti_contexts=["raku"], confidence="high", source="tested", source_notes="twice"),
        "load": add("Load the kiln loosely", "Pots that touch stick together.", tags=["kiln", "ware"],
                    confidence="low", source="hearsay"),
        "mix": add("Mix glaze by weight", "Volumes lie when the powder is damp.", tags=["glaze"], contexts=["raku"]),
    }  # fmt: skip


@pytest.mark.accepts("L3.3", "L5.4")
def test_a_result_carries_all_that_is_known_of_its_lesson(config: Config, lessons: dict[str, str]) -> None:
    first = core.recall("why does glaze crack in a cold draught", config=config)[0]
    assert isinstance(first, search.SearchResult) and first.id == lessons["cool"] and first.score > 0
    assert (first.confidence, first.source, first.source_notes) == ("high", "tested", "twice")
    assert (first.tags, first.contexts, first.anti_contexts) == (["kiln"], ["workshop"], ["raku"])


@pytest.mark.accepts("L3.4", "L3.5")
@pytest.mark.parametrize("strategy", ["hybrid", "semantic", "keyword", "graph"])
def test_every_strategy_finds_by_its_own_function_too(config: Config, lessons: dict[str, str], strategy: str) -> None:
    results = core.recall("load the kiln loosely", strategy=strategy, config=config)
    named = {"hybrid": search.hybrid_search, "semantic": search.vector_search,
             "keyword": search.keyword_search, "graph": search.graph_walk}[strategy]  # fmt: skip
    assert results[0].id == lessons["load"]
    assert [each.id for each in named("load the kiln loosely", config=config)] == [each.id for each in results]


@pytest.mark.accepts("L3.4")
def test_an_unknown_strategy_is_a_value_error(config: Config) -> None:
    with pytest.raises(ValueError, match="telepathy"):
        core.recall("kiln", strategy="telepathy", config=config)


@pytest.mark.accepts("L3.3", "L5.2", "L8.5")
@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"tags": ["glaze", "ware"]}, {"load", "mix"}),
        ({"contexts": ["workshop"]}, {"cool"}),
        ({"contexts": ["raku"]}, {"mix"}),
        ({"confidence_min": "medium"}, {"cool", "mix"}),
        ({"source": "hearsay"}, {"load"}),
        ({"tags": ["kiln"], "confidence_min": "very-high"}, set()),
    ],
)
def test_filters_narrow(
    config: Config, lessons: dict[str, str], narrowed: dict[str, object], expected: set[str]
) -> None:  # fmt: skip
    results = core.recall("kiln and glaze", config=config, **narrowed)  # type: ignore[arg-type]
    assert {each.id for each in results} == {lessons[name] for name in expected}


@pytest.mark.accepts("L3.5")
def test_filters_go_by_place_and_by_either_name(config: Config, lessons: dict[str, str]) -> None:
    by_place = search.keyword_search("kiln", 5, ["ware"], None, None, "hearsay", config)
    by_name = search.keyword_search("kiln", tags=["ware"], source="hearsay", config=config)
    assert [each.id for each in by_place] == [each.id for each in by_name] == [lessons["load"]]


@pytest.mark.slow
@pytest.mark.accepts("L5.5")
def test_no_match_is_lost_behind_nearer_lessons_of_other_tags(config: Config) -> None:
    for number in range(40):
        core.add_lesson(f"Kiln shelf {number}", "Brush the kiln shelf with wash.", tags=["shelf"], config=config)
    wanted = core.add_lesson("Peephole", "Look in once.", tags=["watching"], config=config)
    results = core.vector_search("brush the kiln shelf", 1, ["watching"], config=config)
    assert [each.id for each in results] == [wanted]


@pytest.mark.accepts("L2.2", "L3.3", "L5.4")
def test_the_limit_is_the_configured_one_unless_given(config: Config, lessons: dict[str, str]) -> None:
    config.search.default_limit = 2
    assert len(core.recall("kiln glaze", config=config)) == 2
    assert len(core.recall("kiln glaze", limit=1, config=config)) == 1
    assert core.recall("kiln glaze", limit=0, config=config) == []
    assert len(lessons) == 3


@pytest.mark.accepts("L2.2", "L8.7")
def test_the_weights_are_those_of_reciprocal_ranks(config: Config, lessons: dict[str, str]) -> None:
    config.search.hybrid_weight_semantic, config.search.hybrid_weight_keyword = 0.0, 1.0
    by_words = core.recall("powder damp", config=config)[0]
    assert by_words.id == lessons["mix"] and by_words.score == pytest.approx(1 / 61)


@pytest.mark.accepts("L5.3", "L8.7")
def test_hybrid_is_seven_tenths_rank_by_meaning_and_three_by_words(config: Config, lessons: dict[str, str]) -> None:
    asked = "cold draught loosely"
    meant, worded = ([each.id for each in by(asked, 100, config=config)] for by in (core.vector_search, keyword_search))
    fused = dict.fromkeys(lessons.values(), 0.0)
    for weight, ids in ((0.7, meant), (0.3, worded)):
        for rank, id in enumerate(ids, 1):
            fused[id] += weight / (60 + rank)
    assert 0 < len(worded) < len(meant), "one of them must be found by its meaning alone"
    assert {each.id: each.score for each in core.hybrid_search(asked, config=config)} == pytest.approx(fused)


@pytest.mark.accepts("L5.3")
def test_keyword_search_weighs_rare_words_and_finds_whole_ones(config: Config) -> None:
    for number in range(8):
        core.add_lesson(f"Kiln {number}", "kiln kiln kiln kiln", config=config)
    rare = core.add_lesson("Blue", "Add a spoon of cobalt.", config=config)
    core.add_lesson("Maps", "Cartography.", config=config)
    assert core.keyword_search("kiln cobalt", 1, config=config)[0].id == rare
    assert core.keyword_search("art", config=config) == []


@pytest.mark.accepts("L3.10", "L5.1", "L8.3")
def test_an_alias_is_asked_for_as_what_it_resolves_to(config: Config) -> None:
    config.tag_aliases = {"ovens": "kiln"}
    id = core.add_lesson("Cool it", "Slowly.", tags=["OVENS"], config=config)
    assert core._resolve_tag_aliases(["Ovens", "kiln", "new"], config) == ["kiln", "new"]
    assert [each.id for each in core.recall("cool", tags=["ovens"], config=config)] == [id]
    assert core.list_tags(config=config) == [core.Tag("kiln")]


@pytest.mark.slow
@pytest.mark.accepts("L9.3")
@given(query=WORDS, tags=st.lists(WORDS, max_size=3))
def test_no_query_and_no_tag_is_too_strange(config: Config, query: str, tags: list[str]) -> None:
    known = {tag.name for tag in core.list_tags(config=config)}
    id = core.add_lesson(f"About {query}", "Something.", tags=tags, config=config)
    assert {tag.name for tag in core.list_tags(config=config)} - known <= {*core._resolve_tag_aliases(tags, config)}
    found = core.recall(f"something {query}", tags=tags, config=config)
    assert id in {each.id for each in found} and all(each.score > 0 for each in found)
    assert core.delete_lesson(id, config)


@pytest.mark.slow
@pytest.mark.accepts("L3.6", "L9.3")
@given(depth=st.integers(1, 8))
def test_a_walk_goes_as_far_as_the_depth(config: Config, depth: int) -> None:
    ids = [core.add_lesson(f"Step {number}", "Then the next.", config=config) for number in range(6)]
    for one, next_one in pairwise(ids):
        core.link_lessons(one, next_one, "leads_to", config)
    assert [each.id for each in core.get_related(ids[0], depth, config=config)] == ids[1 : depth + 1]
