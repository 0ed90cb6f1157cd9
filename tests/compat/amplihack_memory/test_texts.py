"""Similarity, entity names and contradictions of texts."""

from __future__ import annotations

import pytest

from nacre.compat.amplihack_memory import (
    compute_similarity,
    compute_tag_similarity,
    compute_word_similarity,
    detect_contradiction,
    extract_entity_name,
    rerank_facts_by_query,
)
from nacre.compat.amplihack_memory.similarity import _tokenize


@pytest.mark.accepts("A7.1")
def test_words_are_compared_without_common_and_short_ones() -> None:
    assert _tokenize("The ox, is on: MARSHLAND!") == {"marshland"}
    assert compute_word_similarity("the marsh floods", "A marsh, it floods!") == 1.0
    assert compute_word_similarity("marsh floods", "marsh dries") == pytest.approx(1 / 3)
    assert compute_word_similarity("", "marsh") == 0.0


@pytest.mark.accepts("A7.2")
def test_tags_are_compared_whatever_their_case() -> None:
    assert compute_tag_similarity(["Soil"], ["soil", "water"]) == 0.5
    assert compute_tag_similarity([], ["soil"]) == 0.0


@pytest.mark.accepts("A7.3")
def test_a_fact_is_half_words_a_fifth_tags_and_three_tenths_concept() -> None:
    one = {"content": "marsh", "tags": ["soil"], "concept": "wetland"}
    assert compute_similarity(one, one) == 1.0
    assert compute_similarity(one, {**one, "content": "desert"}) == pytest.approx(0.5)
    assert compute_similarity(one, {**one, "tags": []}) == pytest.approx(0.8)
    assert compute_similarity(one, {**one, "concept": ""}) == pytest.approx(0.7)


@pytest.mark.accepts("A7.4")
def test_facts_are_ranked_by_the_question_and_none_is_lost() -> None:
    facts = [{"context": "roses", "outcome": "red"}, {"context": "figs", "outcome": "sweet"}, {"outcome": "roses"}]
    assert rerank_facts_by_query(facts, "sweet figs") == [facts[1], facts[0], facts[2]]
    assert rerank_facts_by_query(facts, "sweet figs", top_k=1) == [facts[1]]
    assert rerank_facts_by_query(facts, "") == facts


@pytest.mark.accepts("A7.4")
def test_a_question_about_time_prefers_what_is_dated() -> None:
    plain = {"context": "harvest", "outcome": "small", "metadata": {}}
    dated = {"context": "harvest", "outcome": "small", "metadata": {"temporal_index": 2}}
    assert rerank_facts_by_query([plain, dated], "how did the harvest change over time")[0] is dated
    assert rerank_facts_by_query([plain, dated], "the harvest")[0] is plain


def fact(outcome: str, context: str = "", metadata: object = None) -> dict[str, object]:
    return {"context": context, "outcome": outcome, "metadata": metadata}


def outcomes(facts: list[dict[str, object]]) -> list[object]:
    return [each["outcome"] for each in facts]


def test_the_facts_that_have_most_of_the_question_come_first_and_none_is_lost() -> None:
    facts = [fact("nothing"), fact("herring"), fact("barrel", "herring"), fact("salt herring")]
    ranked = rerank_facts_by_query(facts, "herring barrel")
    assert outcomes(ranked) == ["barrel", "herring", "salt herring", "nothing"]
    assert outcomes(rerank_facts_by_query(facts, "herring barrel", top_k=2)) == ["barrel", "herring"]
    assert len(facts) == 4 and facts[0]["outcome"] == "nothing"


def test_without_a_question_the_order_stays() -> None:
    facts = [fact("b"), fact("a")]
    assert rerank_facts_by_query(facts, "") == rerank_facts_by_query(facts, "of the") == facts
    assert rerank_facts_by_query([], "herring") == []


def test_content_and_concept_are_read_as_outcome_and_context_are() -> None:
    facts: list[dict[str, object]] = [{"content": "cod"}, {"content": "fish", "concept": "herring"}]
    assert rerank_facts_by_query(facts, "herring")[0] == facts[1]


@pytest.mark.parametrize("dated", [{"temporal_index": 2}, {"source_date": "2024-05-01"}, {"temporal_order": "later"}])
def test_a_question_about_time_prefers_facts_with_a_date(dated: dict[str, object]) -> None:
    facts = [fact("herring"), fact("herring", metadata=dated)]
    for asked in ("how did the herring change", "herring over time", "when was herring caught", "originally herring"):
        assert rerank_facts_by_query(facts, asked)[0] == facts[1], asked
    for asked in ("where is the herring", "herring in the afternoon", "herring whenever"):
        assert rerank_facts_by_query(facts, asked)[0] == facts[0], asked


def test_a_useless_date_and_odd_metadata_earn_no_bonus() -> None:
    facts = [fact("herring"), fact("herring", metadata={"temporal_index": 0}), fact("herring", metadata="2024")]
    assert rerank_facts_by_query(facts, "herring history") == facts


def test_a_date_outweighs_no_better_match() -> None:
    facts = [fact("herring", metadata={"temporal_index": 1}), fact("salt herring barrel")]
    assert rerank_facts_by_query(facts, "first salt herring barrel")[0] == facts[1]


@pytest.mark.accepts("A8.1")
@pytest.mark.parametrize(
    ("content", "concept", "name"),
    [
        ("Sarah Chen prunes", "", "sarah chen"),
        ("O'Brien waters the bed", "", "o'brien"),
        ("Al-Hassan digs", "", "al-hassan"),
        ("She digs with Tove Lind", "Ida Holm habits", "ida holm"),
        ("Ida Holm met Anna Maria Berg", "", "anna maria berg"),
        ("The gardens of Lund are wide", "", "lund"),
        ("Gardens are wide", "", ""),
        ("", "  ", ""),
    ],
)
def test_a_fact_names_whom_it_is_about(content: str, concept: str, name: str) -> None:
    assert extract_entity_name(content, concept) == name


@pytest.mark.accepts("A9.1")
def test_other_numbers_of_one_concept_contradict() -> None:
    result = detect_contradiction("He grew 9 melons", "He grew 10 melons", "melon harvest", "melon count")
    assert result == {"contradiction": True, "conflicting_values": "9 vs 10"}
    assert detect_contradiction("3.5 tons", "4.25 tons", "the crop", "crop")["conflicting_values"] == "3.5 vs 4.25"


@pytest.mark.accepts("A9.1")
@pytest.mark.parametrize(
    "values",
    [
        ("He grew 9 melons", "He grew 9 large melons", "melons", "melons"),
        ("He grew 9 melons", "It weighs 10 pounds", "melons", "weight"),
        ("He grew many melons", "He grew 10 melons", "melons", "melons"),
        ("Bed A has 9", "Bed A has 10", "at A", "at A"),
        ("fact 1", "fact 2", "", ""),
        ("fact 1", "fact 2", "melons", ""),
    ],
)
def test_without_a_shared_concept_or_numbers_on_both_sides_nothing_contradicts(
    values: tuple[str, str, str, str],
) -> None:
    assert detect_contradiction(*values) == {}


@pytest.mark.accepts("A7.4")
@pytest.mark.parametrize("dating", [{"temporal_index": 1}, {"source_date": "2026-03-01"}, {"temporal_order": "Day 2"}])
@pytest.mark.parametrize(
    "cue",
    ["change", "changed", "original", "before", "after", "previous", "current", "first", "initially", "updated",
     "revised", "intermediate", "over time", "history", "evolution", "timeline", "when"],
)  # fmt: skip
def test_every_cue_of_time_lifts_every_kind_of_date(cue: str, dating: dict[str, object]) -> None:
    plain: dict[str, object] = {"context": "harvest", "outcome": "small"}
    assert rerank_facts_by_query([plain, {**plain, "metadata": dating}], f"harvest {cue}")[-1] is plain
