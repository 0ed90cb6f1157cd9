"""H11 to H19, what the other files leave open: defaults, limits, every word of a list, real processes."""

from __future__ import annotations

import gzip
import inspect
import json
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from mcp.client.stdio import stdio_client

from mcp import StdioServerParameters
from nacre.compat.ai_houkai import DecayEngine, MemoryStore, ReflectionEngine
from nacre.compat.ai_houkai.installers.claude_code import ClaudeCodeInstaller
from nacre.compat.ai_houkai.maintenance.scheduler import MaintenanceScheduler
from nacre.compat.ai_houkai.mcp_server import server
from nacre.compat.ai_houkai.memory_system import ExportSummary, ImportSummary, Journal, JournalEntry
from nacre.compat.ai_houkai.memory_system.store import _negation_diff
from tests import forked
from tests.compat.ai_houkai.conftest import Opened
from tests.mcp.agents import environment, talking
from tests.waiting import wait_for

DAY = 86_400.0
NOW = 1_000_000_000.0
EXAMPLES = Path(__file__).parents[3] / "examples"
NEGATIONS = (
    "not never no don't doesn't won't shouldn't can't without avoid neither nor nothing nobody nowhere none"
    " dont doesnt wont shouldnt cant"
).split()


def script(name: str) -> tuple[str, ...]:
    """What an installed command runs, whether or not this environment was installed again since it got the command."""
    values = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    module, _, function = values[name].partition(":")
    return sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())"


def names_of(kind: type) -> list[str]:
    return [each.name for each in fields(kind)]


@pytest.mark.accepts("H11.3")
@pytest.mark.parametrize("word", NEGATIONS)
def test_each_of_these_words_denies(word: str) -> None:
    assert _negation_diff("tabs in python", f"{word} tabs in python")


@pytest.mark.accepts("H11.1")
def test_a_memory_is_compared_with_the_twelve_nearest(store: MemoryStore) -> None:
    kept = [store.remember("use ruff for linting") for _ in range(15)]
    assert len(store.find_conflicts(kept[0].id)) == 12
    with pytest.warns(UserWarning, match="12 conflict"):
        store.remember("use ruff for linting", on_conflict="warn")


@pytest.mark.accepts("H11.1", "H11.6")
def test_below_the_threshold_not_even_opposite_polarity_is_a_conflict(store: MemoryStore) -> None:
    assert store.conflict_threshold == 0.80
    liked = store.remember("tea in the morning", polarity=1)
    store.remember("the harbour closes at nine", polarity=-1)
    assert store.find_conflicts(liked.id) == store.find_conflicts() == []
    store.remember("tea in the morning", polarity=-1)
    (matches,) = store.find_conflicts(liked.id)
    assert (matches.kind, matches.reason) == ("contradiction", "polarity") and matches.similarity >= 0.80


@pytest.mark.accepts("H11.7")
def test_not_even_opposite_polarity_makes_a_summary_contradict_its_source(store: MemoryStore) -> None:
    source, summary = store.remember("use ruff", polarity=1), store.remember("use ruff", polarity=-1)
    store.link(summary.id, source.id, "derived_from")
    assert [each.kind for each in store.find_conflicts()] == ["duplicate"]


@pytest.mark.accepts("H12.1", "H13.1")
def test_the_engines_have_the_published_defaults(store: MemoryStore) -> None:
    decay, reflection = DecayEngine(store), ReflectionEngine(store)
    assert (decay.decay_rate, decay.min_score, decay.protect_types) == (0.1, 0.05, ("procedural",))
    assert (reflection.similarity_threshold, reflection.min_cluster_size, reflection.summarizer) == (0.75, 2, None)
    assert names_of(DecayEngine) == ["store", "decay_rate", "min_score", "protect_types"]
    assert names_of(ReflectionEngine) == ["store", "similarity_threshold", "min_cluster_size", "summarizer"]


@pytest.mark.accepts("H12.3")
def test_of_the_published_table_two_are_pruned(store: MemoryStore) -> None:
    table = {(0.9, 1): False, (0.9, 7): False, (0.9, 30): True, (0.5, 1): False, (0.1, 7): True}
    for importance, days in table:
        memory = store.remember(f"{importance} for {days} days", importance=importance)
        memory.last_accessed = NOW - days * DAY
        store.collection.update(ids=[memory.id], metadatas=[memory.to_metadata()])
    gone = {memory.text for memory in DecayEngine(store).prune(now=NOW)}
    assert gone == {f"{importance} for {days} days" for (importance, days), pruned in table.items() if pruned}


@pytest.mark.accepts("H13.8", "H13.9")
def test_a_consolidated_source_is_found_through_its_summary(store: MemoryStore) -> None:
    sources = [store.remember("deployed the api", type="episodic", importance=worth) for worth in (0.4, 0.8)]
    (made,) = ReflectionEngine(store).reflect(consolidate=True)
    result = store.neighbors(made.id, rel="derived_from", direction="out")
    assert {memory.id for memory, _ in result} == {memory.id for memory in sources}
    assert {memory.superseded_by for memory, _ in result} == {made.id}


@pytest.mark.accepts("H14.2")
def test_an_entry_has_seven_fields_a_line_and_a_summary() -> None:
    entry = JournalEntry(1.5, "remember", "lib", "0123456789", None, {"text": "a blue door"}, {"by": "hand"})
    assert names_of(JournalEntry) == ["ts", "op", "actor", "id", "before", "after", "meta"]
    assert JournalEntry.from_dict(json.loads(entry.to_line())) == entry and entry.to_line().count("\n") == 1
    assert entry.summary() == "remember 01234567 a blue door"


@pytest.mark.accepts("H14.1", "H14.3", "H14.4")
def test_all_operations_are_journaled_with_their_actor(store: MemoryStore, opened: Opened, tmp_path: Path) -> None:
    a, b = (store.remember("deployed the api", type="episodic", importance=0.4) for _ in range(2))
    store.link(a.id, b.id)
    store.unlink(a.id, b.id)
    store.supersede(a.id, b.id)
    store.restore(a.id)
    ReflectionEngine(store).reflect()
    store.export(tmp_path / "all.ahkai")
    assert store.undo(next(store.journal.read(op="link"))) is False
    store.undo(next(store.journal.read(op="remember")))
    store.import_(tmp_path / "all.ahkai")
    store.forget(a.id)
    DecayEngine(store).prune(now=time.time() + 365 * DAY)
    opened("other", actor="cli", journal_path=store.journal.path).remember("typed by hand")
    result = {(each.op, each.actor) for each in store.journal.read()}
    by_hand = "remember forget supersede restore link unlink export undo".split()
    others = {("reflect", "reflection"), ("import", "import"), ("decay", "decay"), ("remember", "cli")}
    assert result == {(op, "lib") for op in by_hand} | others


@pytest.mark.accepts("H14.4", "H17.14")
def test_the_journal_lists_operations_of_mcp_clients_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_HOUKAI_PATH", str(tmp_path / "chroma"))
    monkeypatch.setenv("AI_HOUKAI_EMBEDDER", "hashing")
    monkeypatch.setattr(server, "_store", None)
    kept = [server.remember(text)["id"] for text in ("first", "second")]
    result = server.journal_tail(op="remember")
    server._get_store().client.close()
    assert [(each["id"], each["actor"]) for each in result] == [(id, "mcp") for id in reversed(kept)]


@pytest.mark.accepts("H14.5")
def test_a_journal_is_weighed_at_every_256th_line(tmp_path: Path) -> None:
    usual = Journal(tmp_path / "usual.log")
    assert (usual.rotate_mb, usual.keep_days) == (64, 90)
    journal = Journal(tmp_path / "own.log", rotate_mb=0)
    for number in range(256):
        assert not list(tmp_path.glob("own-*.log.gz")), number
        journal.append(JournalEntry(float(number), "remember", "lib"))
    assert len(list(tmp_path.glob("own-*.log.gz"))) == 1
    assert len(list(journal.read(include_archives=True))) == 256


@pytest.mark.accepts("H15.2")
def test_summaries_have_the_published_fields() -> None:
    assert names_of(ExportSummary)[:4] == ["path", "count", "bytes", "elapsed"]
    counted = ["imported", "skipped", "overwritten", "renamed", "errors", "vectors_regenerated"]
    assert names_of(ImportSummary) == counted


@pytest.mark.accepts("H15.3")
def test_rows_stand_in_the_order_of_their_making_and_vectors_can_stay_behind(
    store: MemoryStore, tmp_path: Path
) -> None:
    kept = [store.remember(text) for text in ("third", "first", "second")]
    for memory, made in zip(kept, (NOW + 3, NOW + 1, NOW + 2), strict=True):
        memory.created_at = made
        store.collection.update(ids=[memory.id], metadatas=[memory.to_metadata()])
    store.export(tmp_path / "rows.ahkai", include_vectors=False)
    with gzip.open(tmp_path / "rows.ahkai", "rt") as file:
        header, *rows = map(json.loads, file)
    assert {"format", "version", "exported_at", "source", "options"} <= set(header)
    assert header["options"]["include_vectors"] is False
    assert [row["text"] for row in rows] == ["first", "second", "third"]
    assert all(set(row) == {"id", "text", "meta"} for row in rows)
    asked = inspect.signature(MemoryStore.export).parameters
    assert list(asked)[2:] == ["include_vectors", "include_superseded", "types", "tags", "since"]


@pytest.mark.accepts("H16.3")
def test_the_clock_has_the_published_defaults(store: MemoryStore) -> None:
    usual = MaintenanceScheduler(store)
    assert (usual.decay_every, usual.reflect_every, usual.tick_interval) == (86_400, 604_800, 300)
    assert (usual.decay_rate, usual.min_score, usual.protect_types) == (0.1, 0.05, ("procedural",))
    assert (usual.min_cluster_size, usual.reflect_apply) == (3, False)


def houkai(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = environment(place, AI_HOUKAI_EMBEDDER="hashing")
    command = ["--store", str(place / "chroma"), *words]
    return forked.run(command, module="nacre.compat.ai_houkai.cli", env=env, cwd=place)


@pytest.mark.accepts("H16.5", "H16.6")
@pytest.mark.slow
def test_maintenance_goes_on_in_the_background_until_it_is_stopped(tmp_path: Path) -> None:
    started = houkai(tmp_path, "maintenance", "start")
    assert started.returncode == 0, started.stderr
    try:
        assert houkai(tmp_path, "maintenance", "status").stdout.startswith("running")
        again = houkai(tmp_path, "maintenance", "start")
        assert again.returncode == 1 and "running already" in again.stderr
        state = tmp_path / ".ai_houkai" / "maintenance.state.json"
        wait_for(state.exists, "the first round")
        assert json.loads(state.read_text())["last_decay_at"] > 0
    finally:
        assert houkai(tmp_path, "maintenance", "stop").stdout.strip() == "Stopped"
    assert houkai(tmp_path, "maintenance", "status").stdout.startswith("not running")


@pytest.mark.accepts("H16.7")
def test_a_thread_may_prune_and_reflect_beside_the_program(store: MemoryStore) -> None:
    for _ in range(2):
        store.remember("deployed the api", type="episodic", importance=0.9)
    faded = store.remember("worth nothing", importance=0.01)
    stop, rounds = threading.Event(), 0

    def maintain() -> None:
        nonlocal rounds
        while not stop.is_set():
            DecayEngine(store).prune()
            ReflectionEngine(store).reflect(consolidate=True)
            rounds += 1
            stop.wait(0.01)

    thread = threading.Thread(target=maintain)
    thread.start()
    later = [store.remember(f"said meanwhile {number}") for number in range(5)]
    wait_for(lambda: rounds >= 3 or not thread.is_alive(), "the third round")
    stop.set()
    thread.join(60)
    assert rounds >= 3 and store._get_by_id(faded.id) is None
    texts = [memory.text for memory in store.list_recent()]
    assert sorted(texts) == sorted(
        [*(memory.text for memory in later), "[Reflection ×2] " + " | ".join(2 * ["deployed the api"])]
    )


@pytest.mark.slow
@pytest.mark.accepts("H17.1", "H18.1")
def test_the_command_serves_the_store_that_its_environment_names(tmp_path: Path) -> None:
    command, *words = script("ai-houkai-mcp")
    values = {"AI_HOUKAI_PATH": str(tmp_path / "mem"), "AI_HOUKAI_COLLECTION": "mine", "AI_HOUKAI_EMBEDDER": "hashing"}
    started = StdioServerParameters(command=command, args=words, env=environment(tmp_path, **values), cwd=str(tmp_path))
    with talking(stdio_client(started)) as agent:
        agent.ok("remember", text="over real pipes")
        assert agent.ok("stats") == {"count": 1, "path": str(tmp_path / "mem"), "collection": "mine"}
    del values["AI_HOUKAI_PATH"], values["AI_HOUKAI_COLLECTION"]
    usual = StdioServerParameters(command=command, args=words, env=environment(tmp_path, **values), cwd=str(tmp_path))
    with talking(stdio_client(usual)) as agent:
        result = agent.ok("stats")
    assert (result["collection"], (tmp_path / ".chroma").is_dir()) == ("ai_houkai", True)


@pytest.mark.accepts("H17.11")
def test_conflicts_are_reported_with_their_kind_and_reason(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_store", store)
    a, b = store.remember("use ruff for linting"), store.remember("use ruff for linting")
    (matches,) = server.find_conflicts(a.id, threshold=0.9)
    assert (set(matches), matches["kind"]) == ({"kind", "reason", "similarity", "a", "b"}, "duplicate")
    assert {matches["a"]["id"], matches["b"]["id"]} == {a.id, b.id}


@pytest.mark.accepts("H18.3", "H18.6")
def test_a_project_has_an_entry_of_its_own(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    installer = ClaudeCodeInstaller(settings_path=".claude/settings.json")
    installer.print_config()
    block = json.loads(capsys.readouterr().out)
    assert block == installer.build_settings_block() and not (elsewhere / ".claude").exists()
    installer.install()
    assert json.loads((elsewhere / ".claude" / "settings.json").read_text()) == block
    assert installer.verify() is True


def ran(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.slow
@pytest.mark.accepts("H18.7")
def test_three_ways_lead_to_the_same_installation(elsewhere: Path) -> None:
    module = (sys.executable, "-m", "nacre.compat.ai_houkai.installers.claude_code")
    for number, way in enumerate((module, script("ai-houkai-install-claude-code"))):
        file = elsewhere / f"{number}.json"
        ran(*way, "--install", "--settings", str(file), "--collection", "c", "--memory-path", "m")
        (entry,) = json.loads(file.read_text())["mcpServers"].values()
        assert entry["env"] == {"AI_HOUKAI_PATH": str(elsewhere / "m"), "AI_HOUKAI_COLLECTION": "c"}
    example = (sys.executable, str(EXAMPLES / "claude_code.py"))
    assert "`recall`" in ran(*example, "--claudemd") and "make check" in ran(*example, "--demo")
    assert not (elsewhere / ".claude.json").exists()
    ran(*example, "--install")
    assert set(json.loads((elsewhere / ".claude.json").read_text())["mcpServers"]) == {"nacre"}


@pytest.mark.slow
@pytest.mark.accepts("H18.9")
def test_an_example_sets_claude_desktop_up(elsewhere: Path) -> None:
    ran(sys.executable, str(EXAMPLES / "claude_desktop.py"), "--install")
    (file,) = elsewhere.rglob("claude_desktop_config.json")
    assert set(json.loads(file.read_text())["mcpServers"]) == {"nacre"}
