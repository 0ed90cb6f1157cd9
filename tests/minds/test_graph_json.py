"""The graph out as JSON and back: exactly, all or nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidInput
from nacre.minds.knowledge import HierarchicalMemory
from tests.minds.knowledge_factory import fleet, mind, opened, token

__all__ = ["mind"]


def filled(mind: HierarchicalMemory) -> dict[str, str]:
    episode = mind.store_episode("The log of May\nin full", "log of May")
    crane = mind.store_knowledge("The crane lifts 40 tons", "crane", source_id=episode, tags=["quay"])
    loose = mind.store_knowledge("Tar smells", source_id="a leaflet", category="working")
    return {"episode": episode, "crane": crane, "loose": loose, "old": fleet(mind, 7, 1, "2024-01-01"),
            "new": fleet(mind, 9, 2, "2024-02-01")}  # fmt: skip


def essence(mind: HierarchicalMemory) -> Any:
    full = json.loads(json.dumps(mind.export_graph()).replace(mind.agent_name, "AGENT"))
    del full["exported_at"]
    return full


def foreign(*superseded: tuple[str, str]) -> dict[str, Any]:
    """As another program writes it: no records, no times of succession."""
    nodes = [{"memory_id": id, "content": f"{id} has {n} boats", "metadata": {"temporal_index": n}}
             for n, id in enumerate("abc", start=1)]  # fmt: skip
    return {"semantic_nodes": nodes, "supersedes_edges": [{"source_id": n, "target_id": o} for n, o in superseded]}


def test_a_round_trip_to_another_agent_loses_nothing(mind: HierarchicalMemory, tmp_path: Path) -> None:
    names = filled(mind)
    mind.store.link(names["crane"], names["loose"], "causes", data={"by": "wind"})
    mind.store.link(names["crane"], "nowhere", "mentions")
    mind.store.pin(names["crane"])
    mind.store.archive(names["episode"])
    other = opened(tmp_path / "other.db", "other-agent")
    counts = other.import_graph(json.loads(json.dumps(mind.export_graph())))
    assert counts == {"semantic_nodes_imported": 4, "episodic_nodes_imported": 1, "edges_imported": 5,
                      "skipped": 0, "errors": 0}  # fmt: skip
    assert essence(other) == essence(mind)
    assert [n.category for n in other.get_all_knowledge()] == [n.category for n in mind.get_all_knowledge()]
    assert other.store.recall("crane")[0].memory.pinned
    other.store.close()


def test_the_export_has_the_four_kinds_of_edges_and_counts(mind: HierarchicalMemory) -> None:
    names = filled(mind)
    full: Any = mind.export_to_json()
    assert full["agent_name"] == mind.agent_name and full["format_version"]
    assert full["statistics"]["semantic_node_count"] == 4 and full["statistics"]["episodic_node_count"] == 1
    (passed,) = full["transitioned_to_edges"]
    assert (passed["source_id"], passed["target_id"]) == (names["new"], names["old"])
    assert (passed["from_value"], passed["to_value"], passed["turn"]) == ("9", "7", 2)
    for kind in ("similar_to", "derives_from", "supersedes"):
        assert full[f"{kind}_edges"], kind
    (episode,) = full["episodic_nodes"]
    assert episode["source_label"] == "log of May"


def test_both_names_do_the_same(mind: HierarchicalMemory) -> None:
    filled(mind)
    assert {**mind.export_graph(), "exported_at": ""} == {**mind.export_to_json(), "exported_at": ""}
    assert mind.import_graph(mind.export_graph()) == mind.import_from_json(mind.export_graph())


def test_an_import_replaces_the_graph_in_one_operation_that_can_be_undone(
    mind: HierarchicalMemory, tmp_path: Path
) -> None:
    names = filled(mind)
    working = mind.store.remember("busy with the mooring", type="working")
    before = essence(mind)
    other = opened(tmp_path / "other.db", "other-agent")
    other.store_knowledge("Bread needs salt", "kitchen")
    mind.import_from_json(other.export_to_json())
    assert [node.content for node in mind.get_all_knowledge()] == ["Bread needs salt"]
    gone = mind.store.get(names["crane"])
    assert gone is not None and gone.status == "trashed"
    assert mind.store.get(working.id) == working
    mind.store.undo()
    after = essence(mind)
    for kind in ("semantic_nodes", "episodic_nodes"):
        assert {n["memory_id"]: n["content"] for n in after[kind]} == {
            n["memory_id"]: n["content"] for n in before[kind]
        }
    assert after["statistics"] == before["statistics"]
    other.store.close()


def test_importing_its_own_export_changes_nothing_and_brings_back_what_was_forgotten(mind: HierarchicalMemory) -> None:
    names = filled(mind)
    saved, before = mind.export_graph(), essence(mind)
    mind.import_graph(saved)
    assert essence(mind) == before
    mind.store.forget(names["crane"])
    mind.import_graph(saved)
    assert {n["memory_id"] for n in essence(mind)["semantic_nodes"]} == {
        n["memory_id"] for n in before["semantic_nodes"]
    }


def test_a_merge_keeps_what_is_there_and_adds_the_rest(mind: HierarchicalMemory) -> None:
    names = filled(mind)
    saved = mind.export_graph()
    mind.store.edit(names["crane"], text="The crane lifts 45 tons")
    mind.store.purge(names["loose"])
    mine = mind.store_knowledge("Gulls nest on roofs", "gulls")
    counts = mind.import_graph(saved, merge=True)
    assert (counts["skipped"], counts["semantic_nodes_imported"]) == (4, 1)
    result = {node.node_id: node.content for node in mind.get_all_knowledge()}
    assert result[names["crane"]] == "The crane lifts 45 tons"
    assert names["loose"] in result and mine in result


def test_a_merge_links_stored_facts_to_new_ones(mind: HierarchicalMemory, tmp_path: Path) -> None:
    names = filled(mind)
    copy_of = opened(tmp_path / "copy.db")
    copy_of.import_graph(mind.export_graph())
    newest = fleet(copy_of, 12, 3)
    copy_of.store.link(names["crane"], newest, "mentions")
    mind.import_graph(copy_of.export_graph(), merge=True)
    stood = mind.store.get(names["new"])
    assert stood is not None and stood.superseded_by == newest
    assert [edge.rel for edge in mind.store.edges(out_of=[names["crane"]], into=[newest])] == ["mentions"]
    assert mind.retrieve_subgraph("ships").nodes[0].node_id == newest
    copy_of.store.close()


def test_files_of_other_programs_are_read_and_each_fact_gets_one_successor(mind: HierarchicalMemory) -> None:
    mind.import_graph(foreign(("c", "a"), ("b", "a"), ("c", "b")))
    successors = {memory.id: memory.superseded_by for memory in mind.store.iterate(include_superseded=True)}
    assert successors == {"a": "b", "b": "c", "c": ""}
    former = mind.store.get("a")
    assert former is not None and former.valid_until is not None
    assert ("c", "a", "transitioned_to") in {edge[:3] for edge in mind.store.edges()}


def test_a_source_of_another_program_that_is_no_node_stays_as_a_name(mind: HierarchicalMemory) -> None:
    data = foreign()
    data["semantic_nodes"][0]["source_id"] = "page 7"
    mind.import_graph(data)
    assert {node.source_id for node in mind.get_all_knowledge()} == {"page 7", ""}


Spoiling = Callable[[dict[str, Any]], object]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda d: d["semantic_nodes"][0].pop("memory_id"), "memory_id"),
        (lambda d: d["semantic_nodes"][0].pop("content"), "content"),
        (lambda d: d["semantic_nodes"][0].update(content=7), "content"),
        (lambda d: d["semantic_nodes"][0].update(confidence="much"), "confidence"),
        (lambda d: d["semantic_nodes"][0].update(tags="quay"), "must be a list"),
        (lambda d: d["semantic_nodes"][0].update(metadata=[1]), "metadata"),
        (lambda d: d["semantic_nodes"][0]["record"].update(created_at="soon"), "not a time"),
        (lambda d: d["semantic_nodes"][0]["record"].update(status="trashed"), "trash"),
        (lambda d: d["semantic_nodes"][0]["record"].update(links=[5]), "links"),
        (lambda d: d["semantic_nodes"].append(d["semantic_nodes"][0]), "twice"),
        (lambda d: d["semantic_nodes"].append("fact"), "not a JSON object"),
        (lambda d: d["similar_to_edges"].append({"source_id": "ghost", "target_id": "ghost"}), "ghost"),
        (lambda d: d["similar_to_edges"].append({"target_id": "x"}), "source_id"),
        (lambda d: d["similar_to_edges"][0].update(weight="heavy"), "weight"),
        (lambda d: d["similar_to_edges"][0].update(metadata="x"), "metadata"),
        (lambda d: d["other_edges"].append({"source_id": "a", "target_id": "b"}), "relationship"),
        (lambda d: d.update(semantic_nodes={}), "not a list"),
        (lambda d: [d.pop(name) for name in ("semantic_nodes", "episodic_nodes")], "neither"),
    ],
)
@pytest.mark.parametrize("merge", [False, True])
def test_data_that_is_not_whole_is_refused_and_nothing_is_imported(
    mind: HierarchicalMemory, spoil: Spoiling, said: str, merge: bool, tmp_path: Path
) -> None:
    other = opened(tmp_path / "other.db", "other-agent")
    filled(other)
    data = copy.deepcopy(other.export_graph())
    other.store.close()
    spoil(data)
    mind.store_knowledge("Bread needs salt", "kitchen")
    before = essence(mind)
    with pytest.raises(InvalidInput, match=said) as caught:
        mind.import_graph(data, merge=merge)
    assert str(caught.value).startswith("The graph cannot be imported: ") and "\n" not in str(caught.value)
    assert essence(mind) == before


@pytest.mark.parametrize("wrong", [None, [], "graph", 5])
def test_what_is_no_object_is_refused(mind: HierarchicalMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="data must be a mapping"):
        mind.import_graph(wrong)


def test_a_ring_of_successions_is_refused(mind: HierarchicalMemory) -> None:
    with pytest.raises(InvalidInput, match="ring"):
        mind.import_graph(foreign(("b", "a"), ("c", "b"), ("a", "c")))
    assert mind.store.count() == 0


def test_a_ring_that_a_merge_would_close_is_refused(mind: HierarchicalMemory) -> None:
    mind.import_graph(foreign(("b", "a")))
    with pytest.raises(InvalidInput, match="ring"):
        mind.import_graph(foreign(("c", "b"), ("a", "c")), merge=True)
    assert {m.id: m.superseded_by for m in mind.store.iterate(include_superseded=True)} == {"a": "b", "b": "", "c": ""}


def test_an_id_of_another_type_of_memory_is_not_overwritten(mind: HierarchicalMemory) -> None:
    busy = mind.store.remember("busy", id="a", type="working")
    with pytest.raises(InvalidInput, match="type 'working'"):
        mind.import_graph(foreign())
    assert mind.store.get("a") == busy


def test_secrets_in_imported_data_are_taken_out(mind: HierarchicalMemory) -> None:
    secret = token()
    data = foreign(("b", "a"))
    data["semantic_nodes"][0]["content"] = f"token {secret}"
    data["similar_to_edges"] = [{"source_id": "a", "target_id": "b", "metadata": {"note": secret}}]
    mind.import_graph(data)
    assert secret not in json.dumps(mind.export_graph())
