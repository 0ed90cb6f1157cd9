"""H1 to H4, line by line: the package, its values, opening a store, and keeping memories in it."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
import tomllib
from dataclasses import FrozenInstanceError, asdict, fields
from pathlib import Path
from typing import get_args
from uuid import UUID

import pytest

from nacre.compat.ai_houkai.memory_system import (
    Conflict,
    ConflictError,
    DecayEngine,
    ExpandSpec,
    Graph,
    HybridWeights,
    Link,
    Memory,
    MemoryStore,
    MemoryType,
    PackedMemory,
    PackResult,
    ReflectionEngine,
    RememberResult,
)
from nacre.remember.suggest import appraise
from tests.compat.ai_houkai.conftest import Opened

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
DAY = 86_400.0
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
ALONE = """
import sys
called = []
sys.addaudithook(lambda event, of: called.append(event) if event in {"socket.connect", "socket.getaddrinfo"} else None)
from nacre.compat.ai_houkai import MemoryStore
store = MemoryStore(sys.argv[1])
store.remember("the spare key hangs behind the clock")
store.remember("rain is expected on the coast")
print(store.recall("where did I put the key", k=1)[0][0].text, len(store.native.embedder.embed(["x"])[0]))
store.client.close()
print(called)
"""


def defaults(function: object) -> dict[str, object]:
    """The names that a caller may give, each with what it is when it is not given."""
    assert callable(function)
    values = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in values if each.default is not inspect.Parameter.empty}


def child(*words: str, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in KEYS}
    done = subprocess.run(
        [sys.executable, *words], env={**clean, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.accepts("H1.1", "H1.3")
def test_the_name_of_the_package_gives_all_its_parts() -> None:
    result = child(
        "-c",
        "import nacre.compat; nacre.compat.install('ai-houkai')\n"
        "from ai_houkai import DecayEngine, Memory, MemoryStore, MemoryType, ReflectionEngine\n"
        "import ai_houkai.memory_system as system, ai_houkai.maintenance, ai_houkai.mcp_server, ai_houkai.cli\n"
        "import ai_houkai.installers\n"
        "print(MemoryStore is system.MemoryStore, DecayEngine is system.DecayEngine)",
    )
    assert result.split() == ["True", "True"]


@pytest.mark.accepts("H1.5", "H1.6", "H1.7")
def test_each_command_begins_where_it_was_published() -> None:
    wanted = {
        "ai-houkai-mcp": "mcp_scripts:ai_houkai",  # names the missing extra where there is no `mcp`
        "ai-houkai-install-claude-code": "ai_houkai.installers.claude_code:_main",
        "houkai": "ai_houkai.cli.main:_main",
    }
    assert {name: PROJECT["scripts"][name].removeprefix("nacre.compat.") for name in wanted} == wanted


@pytest.mark.slow
@pytest.mark.accepts("H1.7")
def test_the_command_line_runs_as_a_module_under_its_older_name(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import nacre.compat; nacre.compat.install()\n")
    assert "recall" in child("-m", "ai_houkai.cli", "--help", PYTHONPATH=str(tmp_path))


@pytest.mark.accepts("H1.8")
def test_the_extra_brings_the_command_lines_own_parts() -> None:
    brought = {*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["compat"]}
    assert {"typer>=0.12", "rich>=13.7"} <= brought
    assert not any(each.startswith("typer") for each in PROJECT["dependencies"])


@pytest.mark.slow
@pytest.mark.accepts("H1.10", "H3.5", "H3.6")
def test_a_store_uses_no_network_and_is_one_file(tmp_path: Path) -> None:
    result, called = child("-c", ALONE, str(tmp_path / "chroma")).splitlines()
    assert (result, called) == ("the spare key hangs behind the clock 384", "[]")
    assert len([each for each in (tmp_path / "chroma").rglob("*") if each.is_file()]) == 1


@pytest.mark.accepts("H1.11", "H2.7")
def test_a_record_without_metadata_is_recalled_beside_newer_ones(store: MemoryStore) -> None:
    store.collection.add(ids=["old"], documents=["the gate opens at seven"], metadatas=[{}])
    [(memory, _)] = store.recall("when does the gate open", mode="hybrid")
    assert (memory.id, memory.tags, memory.links, memory.superseded_by) == ("old", [], [], "")


@pytest.mark.accepts("H1.12", "H3.3")
def test_nothing_is_on_by_itself(store: MemoryStore) -> None:
    opening = defaults(MemoryStore.__init__)
    assert (opening["conflict_policy"], opening["hybrid_weights"], opening["contradiction_fn"]) == (
        "ignore",
        None,
        None,
    )
    asked = defaults(MemoryStore.recall)
    assert (asked["mode"], asked["expand"], asked["include_superseded"]) == ("semantic", None, False)
    assert defaults(ReflectionEngine.reflect) == {"dry_run": False, "consolidate": False}
    store.remember("the door sticks", importance=1.0)
    store.remember("the door sticks", importance=0.0)
    plain = [score for _, score in store.recall("the door sticks")]
    assert plain == pytest.approx([1.0, 1.0], abs=0.001), "neither weighed nor compared with each other"
    with pytest.raises(ConflictError):
        store.remember("the door sticks", on_conflict="raise")


@pytest.mark.accepts("H1.4", "H4.4")
def test_the_memory_is_given_alone_or_with_what_it_conflicts_with(store: MemoryStore) -> None:
    kept = store.remember("bread is baked on Fridays")
    assert isinstance(kept, Memory)
    assert RememberResult(kept) == RememberResult(kept, [], "stored")
    result = store.remember_result("bread is baked on Fridays", on_conflict="supersede")
    assert isinstance(result, RememberResult) and isinstance(result.memory, Memory)
    assert ([each.b.id for each in result.conflicts], result.action) == ([kept.id], "superseded")


@pytest.mark.accepts("H2.1", "H2.2")
def test_a_new_memory_has_every_field_with_its_published_kind(store: MemoryStore) -> None:
    before = time.time()
    memory = store.remember("the well is deep")
    names = "id text type tags importance created_at last_accessed access_count source links superseded_by"
    assert [each.name for each in fields(Memory)] == [*names.split(), "superseded_at", "polarity"]
    assert (UUID(memory.id).version, len(memory.id)) == (4, 36)
    assert all(type(each) is float and each >= before for each in (memory.created_at, memory.last_accessed))
    assert (memory.source, memory.superseded_by, memory.superseded_at, memory.polarity) == (None, "", 0.0, 0)
    kept = [store.remember("the well is deep", polarity=each, source="a map") for each in (-1, 1)]
    assert [(each.polarity, each.source) for each in kept] == [(-1, "a map"), (1, "a map")]


@pytest.mark.accepts("H2.3")
def test_a_link_is_a_plain_value_of_two_parts() -> None:
    link = Link("x", "refines")
    link.rel = "related"
    assert (link, asdict(link)) == (Link("x", "related"), {"to": "x", "rel": "related"})


@pytest.mark.accepts("H2.4")
@pytest.mark.parametrize("rel", "supersedes refines derived_from example_of contradicts related grows_beside".split())
def test_links_may_have_every_usual_relation_and_custom_ones(store: MemoryStore, rel: str) -> None:
    a, b = store.remember("a hedge"), store.remember("a wall")
    store.link(a.id, b.id, rel)
    assert [(memory.id, by) for memory, by in store.neighbors(a.id, rel=rel, direction="out")] == [(b.id, rel)]


@pytest.mark.accepts("H2.5")
def test_a_type_narrows_recall_and_procedures_are_never_pruned(store: MemoryStore) -> None:
    types = get_args(MemoryType)
    assert types == ("episodic", "semantic", "procedural", "feedback")
    ids = {each: store.remember("water the ferns", type=each, importance=0.1).id for each in types}
    for each in types:
        assert [memory.id for memory, _ in store.recall("ferns", type=each)] == [ids[each]]
    pruned = DecayEngine(store).prune(now=time.time() + 400 * DAY)
    assert {memory.type for memory in pruned} == set(types) - {"procedural"}
    assert [memory.id for memory in store.list_recent()] == [ids["procedural"]]


@pytest.mark.accepts("H2.9", "H2.10", "H2.11", "H2.12")
def test_what_a_store_answers_with_is_made_of_the_published_parts() -> None:
    a, b = Memory("a", "tea"), Memory("b", "no tea")
    graph = Graph({"a": a}, [("a", "b", "refines")])
    assert (graph.nodes["a"], graph.edges[0]) == (a, ("a", "b", "refines"))
    assert [each.name for each in fields(Conflict)] == ["a", "b", "similarity", "kind", "reason"]
    conflict = Conflict(a, b, 0.9, "contradiction", "negation_diff")
    assert ConflictError([conflict]).conflicts == [conflict]
    item = PackedMemory(memory=a, score=0.5, tokens=3)
    pack = PackResult(items=[item], text="- (semantic) tea", used_tokens=3, budget=9, truncated=False)
    assert (len(pack), pack.ids(), pack.items[0].tokens) == (1, ["a"], 3)


@pytest.mark.accepts("H2.10")
def test_a_conflict_says_of_which_kind_it_is_and_why(store: MemoryStore) -> None:
    def output(text: str, **more: object) -> list[tuple[str, str]]:
        result = store.remember_result(text, on_conflict="supersede", **more).conflicts  # type: ignore[arg-type]
        return [(each.kind, each.reason) for each in result]

    text = "salt the roads in winter and clear every path by noon"
    store.remember(text, polarity=1)
    assert output(text, polarity=-1) == [("contradiction", "polarity")]
    assert output(text) == [("duplicate", "similarity")]
    assert output(text + " never") == [("contradiction", "negation_diff")]
    assert output(text + " never", contradiction_fn=lambda a, b: a.id != b.id) == [("contradiction", "custom_fn")]


@pytest.mark.accepts("H2.13", "H2.14")
@pytest.mark.parametrize("value", [HybridWeights(), ExpandSpec()])
def test_weights_and_walks_do_not_change_once_made(value: HybridWeights | ExpandSpec) -> None:
    name = fields(value)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)


@pytest.mark.accepts("H3.1", "H3.2")
def test_a_store_opens_with_the_published_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = defaults(MemoryStore.__init__)
    assert (opening["conflict_threshold"], opening["embedding_model"]) == (0.80, "all-MiniLM-L6-v2")
    monkeypatch.chdir(tmp_path)
    store = MemoryStore(embedding_model="hashing")
    store.remember("kept where it was opened")
    store.client.close()
    assert ((tmp_path / ".chroma").is_dir(), store.collection.name) == (True, "ai_houkai")


@pytest.mark.accepts("H3.2")
def test_a_call_outranks_what_the_store_was_opened_with(opened: Opened) -> None:
    store = opened(conflict_policy="raise", contradiction_fn=lambda a, b: a.id != b.id)
    text = "the bell rings twice"
    store.remember(text)
    with pytest.raises(ConflictError) as caught:
        store.remember(text)
    assert caught.value.conflicts[0].reason == "custom_fn"
    result = store.remember_result(text, on_conflict="supersede", contradiction_fn=lambda a, b: a.id == b.id)
    assert [each.reason for each in result.conflicts] == ["similarity"]
    tolerant = opened("tolerant", conflict_policy="raise", conflict_threshold=1.1)
    assert tolerant.remember(text).id != tolerant.remember(text).id, "nothing is as alike as that"
    assert len(tolerant.find_conflicts(threshold=0.9)) == 1


@pytest.mark.accepts("H3.4")
def test_similarity_is_1_less_the_distance(opened: Opened) -> None:
    rows = {"east": [1.0, 0.0], "north": [0.0, 1.0], "west": [-1.0, 0.0]}
    store = opened(embedding_fn=lambda texts: [rows.get(text, [0.6, 0.8]) for text in texts])
    for text in rows:
        store.remember(text)
    near = store.collection.query(query_texts=["east"], n_results=3)
    distances = dict(zip(near["documents"][0], near["distances"][0], strict=True))
    assert distances == pytest.approx({"east": 0.0, "north": 1.0, "west": 2.0}, abs=0.001)
    scores = {memory.text: score for memory, score in store.recall("east", k=3)}
    assert scores == pytest.approx({text: 1.0 - distance for text, distance in distances.items()}, abs=0.001)


@pytest.mark.accepts("H3.9")
def test_the_journal_has_its_published_settings_and_an_actor_for_a_while(opened: Opened, tmp_path: Path) -> None:
    opening = defaults(MemoryStore.__init__)
    wanted = {"actor": "lib", "journal_enabled": True, "journal_path": None, "journal_rotate_mb": 64}
    assert {**opening, **wanted, "journal_keep_days": 90} == opening
    store = opened(actor="gardener")
    with store.as_actor("guest"):
        store.remember("by a guest")
    store.remember("by the gardener")
    lines = (tmp_path / "journal.log").read_text("utf-8").splitlines()
    assert [json.loads(line)["actor"] for line in lines] == ["guest", "gardener"]


@pytest.mark.accepts("H4.1")
def test_remembering_takes_the_published_arguments(store: MemoryStore) -> None:
    wanted: dict[str, object] = {"type": "semantic", "tags": (), "importance": 0.5, "source": None}
    assert defaults(MemoryStore.remember) == {**wanted, "on_conflict": None, "contradiction_fn": None, "polarity": 0}
    kept = store.remember("oil the hinge", "procedural", ["door"], 0.8, "a note", polarity=1)
    result = (kept.type, kept.tags, kept.importance, kept.source, kept.polarity)
    assert result == ("procedural", ["door"], 0.8, "a note", 1)


@pytest.mark.accepts("H4.2")
def test_a_memory_is_on_disk_with_its_vector_and_metadata(opened: Opened) -> None:
    first = opened()
    kept = first.remember("the ladder is in the shed", type="episodic", tags=["tools"], importance=0.7)
    first.client.close()
    rows = opened().collection.get(ids=[kept.id], include=["documents", "metadatas", "embeddings"])
    assert (rows["documents"], rows["metadatas"]) == ([kept.text], [kept.to_metadata()])
    assert sum(float(each) ** 2 for each in rows["embeddings"][0]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.accepts("H4.8")
def test_importance_is_suggested_in_the_published_bands() -> None:
    texts = {
        (0.9, 1.0): ("Always label the jars.", "No, actually it is the blue one.", "I prefer glass to plastic."),
        (0.6, 0.8): ("We decided to move the stove.", "We finished the migration of the archive."),
        (0.2, 0.4): ("Thanks!", "Perhaps it rains."),
    }
    astray = {
        text: values
        for (least, most), each in texts.items()
        for text in each
        if not least <= (values := appraise(text).importance) <= most
    }
    assert astray == {}
