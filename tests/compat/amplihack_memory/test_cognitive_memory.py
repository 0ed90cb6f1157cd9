"""CognitiveMemory: six kinds of memory under their own names."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nacre.compat.amplihack_memory import CognitiveMemory, EpisodicMemory, SemanticFact, SensoryItem, WorkingMemorySlot
from nacre.compat.amplihack_memory import cognitive_memory as module


@pytest.mark.parametrize("name", ["", "   "])
def test_a_name_must_be_given(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="agent_name"):
        CognitiveMemory(name, db_path=tmp_path / "mind")


def test_the_database_is_made_where_it_was_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "new" / "mind"
    CognitiveMemory("gardener", place, buffer_pool_size=2**20, max_db_size=2**30, embedder="hashing").close()
    assert place.exists()


def test_without_a_path_it_lies_with_the_agents_memory() -> None:
    with CognitiveMemory("gardener", embedder="hashing") as mind:
        assert mind.db_path.parent == Path.home() / ".amplihack" / "memory" / "gardener"


def test_the_users_own_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_SPACE", "elsewhere")
    monkeypatch.setenv("NACRE_STORE", str(tmp_path / "elsewhere.db"))
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    with CognitiveMemory("gardener", db_path=tmp_path / "mind") as mind:
        assert (mind.store.space, mind.store.settings.embedder) == ("gardener", "english")
    assert not (tmp_path / "elsewhere.db").exists()


@pytest.mark.accepts("A4.12")
def test_every_record_is_open_and_its_time_local_without_a_zone(cognitive: CognitiveMemory) -> None:
    before = datetime.now().replace(microsecond=0)
    cognitive.record_sensory("sound", "a blackbird")
    cognitive.push_working("goal", "weed the path", "spring")
    cognitive.store_episode("Hail fell", "diary")
    cognitive.store_fact("hail", "Hail breaks glass")
    cognitive.store_procedure("weeding", ["kneel", "pull"])
    cognitive.store_prospective("cover the beds", "frost", "lay fleece")
    records: list[Any] = [
        *cognitive.get_recent_sensory(),
        *cognitive.get_working("spring"),
        *cognitive.get_episodes(),
        *cognitive.get_all_facts(),
        *cognitive.recall_procedure("weeding"),
        *cognitive.check_triggers("frost tonight"),
    ]
    assert len(records) == 6
    for record in records:
        assert record.created_at.tzinfo is None
        assert before <= record.created_at <= datetime.now()
        record.node_id = "changed"


@pytest.mark.accepts("A4.12")
def test_records_made_by_hand_have_a_local_time_too() -> None:
    before = datetime.now()
    slot = WorkingMemorySlot("wrk_1", "goal", "weed", 1.0, "spring")
    item = SensoryItem("sen_1", "sound", "a bird", 1, 0.0)
    assert before <= slot.created_at <= item.created_at <= datetime.now()


@pytest.mark.accepts("A4.1", "A4.2")
def test_what_is_sensed_expires_unless_it_is_attended_to(cognitive: CognitiveMemory) -> None:
    gone = cognitive.record_sensory("sound", "a gate", ttl_seconds=0)
    heard = cognitive.record_sensory("sound", "a cracking branch")
    assert heard.startswith("sen_")
    assert [item.node_id for item in cognitive.get_recent_sensory()] == [heard]
    assert cognitive.attend_to_sensory(gone, "too late") is None
    episode = cognitive.attend_to_sensory(heard, "danger")
    [kept] = cognitive.get_episodes()
    assert (kept.node_id, kept.source_label) == (episode, "sensory-attention")
    assert kept.content == "[sound] a cracking branch -- attended: danger"
    assert cognitive.prune_expired_sensory() == 1


@pytest.mark.slow
@pytest.mark.accepts("A4.3")
def test_a_full_task_gives_up_its_least_relevant_slot(cognitive: CognitiveMemory) -> None:
    pushed = [
        cognitive.push_working("item", f"slot {relevance}", "spring", float(relevance))
        for relevance in range(CognitiveMemory.WORKING_MEMORY_CAPACITY + 1)
    ]
    assert all(id.startswith("wrk_") for id in pushed)
    slots = cognitive.get_working("spring")
    assert len(slots) == module.WORKING_MEMORY_CAPACITY == 20
    assert (slots[0].content, slots[-1].content) == ("slot 20", "slot 1")
    assert cognitive.clear_working("spring") == 20
    assert cognitive.get_working("spring") == []
    assert cognitive.store.get_many(pushed) == []


@pytest.mark.accepts("A4.4", "A4.5")
def test_episodes_come_last_first_and_are_consolidated_oldest_first(cognitive: CognitiveMemory) -> None:
    for day in ("Monday", "Tuesday", "Wednesday"):
        cognitive.store_episode(f"It rained on {day}", "diary", metadata={"day": day})
    assert [each.metadata["day"] for each in cognitive.get_episodes()] == ["Wednesday", "Tuesday", "Monday"]
    assert cognitive.consolidate_episodes(batch_size=4) is None
    summary = cognitive.consolidate_episodes(batch_size=2, summarizer=lambda texts: f"{len(texts)} wet days")
    assert summary is not None and summary.startswith("con_")
    assert [each.metadata["day"] for each in cognitive.get_episodes()] == ["Wednesday"]
    assert [each.compressed for each in cognitive.get_episodes(include_compressed=True)] == [False, True, True]
    [result] = cognitive.get_consolidated()
    assert (result.summary, result.original_count) == ("2 wet days", 2)
    assert all(isinstance(each, EpisodicMemory) for each in cognitive.lineage(summary))


@pytest.mark.accepts("A4.6")
def test_facts_come_surest_first(cognitive: CognitiveMemory) -> None:
    cognitive.store_fact("slugs", "Slugs shun copper", 0.4, tags=["pests"], temporal_metadata={"year": 2026})
    sure = cognitive.store_fact("hostas", "Slugs love hostas", 0.9)
    assert sure.startswith("sem_")
    assert [fact.concept for fact in cognitive.get_all_facts()] == ["hostas", "slugs"]
    assert [fact.concept for fact in cognitive.search_facts("slugs")] == ["hostas", "slugs"]
    assert [fact.concept for fact in cognitive.search_facts("slugs", min_confidence=0.5)] == ["hostas"]
    unsure = cognitive.search_facts("copper")[0]
    assert isinstance(unsure, SemanticFact)
    assert (unsure.tags, unsure.metadata) == (["pests"], {"year": 2026})


@pytest.mark.accepts("A4.7")
def test_a_fact_is_linked_to_its_episode_and_to_similar_facts(cognitive: CognitiveMemory) -> None:
    episode = cognitive.store_episode("A talk about slugs", "radio")
    first = cognitive.store_fact("slugs", "Slugs eat hostas at night", source_episode_id=episode)
    second = cognitive.store_fact("slugs", "Slugs eat hostas at night and lettuce", source_id="no such episode")
    links = {(edge.source, edge.rel, edge.target) for edge in cognitive.store.edges()}
    assert links == {(first, "derived_from", episode), (second, "similar_to", first)}


@pytest.mark.accepts("A4.8")
def test_procedures_count_their_uses(cognitive: CognitiveMemory) -> None:
    assert cognitive.store_procedure("pruning roses", ["cut", "seal"], ["sharp shears"]).startswith("pro")
    cognitive.store_procedure("pruning figs", ["wait"])
    assert cognitive.recall_procedure("roses")[0].usage_count == 0
    first = cognitive.recall_procedure("")[0]
    assert (first.name, first.usage_count, first.prerequisites) == ("pruning roses", 1, ["sharp shears"])


@pytest.mark.accepts("A4.9")
def test_a_procedure_is_linked_to_the_episode_that_taught_it(cognitive: CognitiveMemory) -> None:
    episode = cognitive.store_episode("A neighbour showed how to layer clematis", "visit")
    learned = cognitive.store_procedure("layering", ["bend", "pin"], source_id=episode)
    [edge] = cognitive.store.edges()
    assert (edge.source, edge.rel, edge.target) == (learned, "procedure_derives_from", episode)


@pytest.mark.accepts("A4.2", "A4.5")
def test_attention_and_consolidation_create_links(cognitive: CognitiveMemory) -> None:
    heard = cognitive.record_sensory("sound", "hail on glass")
    episode = cognitive.attend_to_sensory(heard, "the seedlings")
    cognitive.store_episode("The panes held", "diary")
    summary = cognitive.consolidate_episodes(batch_size=2)
    links = {(edge.source, edge.rel, edge.target) for edge in cognitive.store.edges()}
    assert (heard, "attended_to", episode) in links and (summary, "consolidates", episode) in links
    [result] = cognitive.get_consolidated()
    assert result.summary == "[sound] hail on glass -- attended: the seedlings | The panes held"


@pytest.mark.accepts("A4.10")
def test_an_intention_waits_is_triggered_and_is_resolved(cognitive: CognitiveMemory) -> None:
    low = cognitive.store_prospective("cover the beds", "frost warning", "lay fleece")
    cognitive.store_prospective("drain the hose", "frost", "open the tap", priority=5)
    assert cognitive.check_triggers("A mild night") == []
    assert [each.description for each in cognitive.check_triggers("Frost is near")] == [
        "drain the hose",
        "cover the beds",
    ]
    assert len(cognitive.get_prospective("triggered")) == 2 and cognitive.get_prospective("pending") == []
    assert cognitive.resolve_prospective(low)
    assert [each.status for each in cognitive.get_prospective("resolved")] == ["resolved"]
    assert cognitive.check_triggers("Frost again") == []


@pytest.mark.accepts("A4.11")
def test_agents_in_one_database_do_not_see_each_other_and_numbers_go_on(tmp_path: Path) -> None:
    with CognitiveMemory("ann", tmp_path / "mind", embedder="hashing") as ann:
        assert ann.store_episode("Ann sowed", "diary").startswith("epi_")
        with CognitiveMemory("ben", tmp_path / "mind", embedder="hashing") as ben:
            assert ben.get_statistics()["total"] == 0
    with CognitiveMemory("ann", tmp_path / "mind", embedder="hashing") as again:
        again.store_episode("Ann reaped", "diary")
        assert [each.temporal_index for each in again.get_episodes()] == [2, 1]
        assert again.get_statistics() == {"sensory": 0, "working": 0, "episodic": 2, "semantic": 0, "procedural": 0,
                                          "prospective": 0, "total": 2}  # fmt: skip


def test_the_inner_functions_that_people_import_are_there() -> None:
    assert vars(module)["_tokenize"]("The roses, the ROSES!") == {"roses"}
    assert module._compute_similarity({"rose", "fig"}, {"rose", "pear"}) == pytest.approx(1 / 3)
    assert module._detect_contradiction("Roses like shade", "Roses do not like shade") is True
    assert module._detect_contradiction("Roses like shade", "Figs do not bloom") is False
