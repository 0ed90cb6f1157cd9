"""H20: the command line `houkai`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nacre.compat.ai_houkai import MemoryStore
from nacre.compat.ai_houkai.cli import config
from nacre.compat.ai_houkai.cli.commands import app
from nacre.compat.ai_houkai.cli.output import fmt_age, fmt_importance, resolve_id_prefix
from tests.compat.ai_houkai.conftest import Opened

COMMANDS = (
    "remember recall pack list show forget edit tag bump link unlink neighbors graph conflicts supersede restore prune"
    " reflect export import info backup stats"
).split()


class Houkai:
    """Runs commands on one store."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, *words: str, values: str = "", code: int = 0) -> str:
        start = ["--store", str(self.place), "--collection", "tests"]
        result = CliRunner().invoke(app, [*start, *words], input=values)
        assert result.exit_code == code, result.output
        return result.output.strip()

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--format", "json"))


@pytest.fixture
def houkai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Houkai:
    monkeypatch.setenv("AI_HOUKAI_EMBEDDER", "hashing")
    monkeypatch.setattr(config, "_CONFIG_FILE", tmp_path / "config.toml")
    monkeypatch.setattr(config, "_HOUKAI_DIR", tmp_path / "home")
    return Houkai(tmp_path / "chroma")


@pytest.mark.slow
@pytest.mark.accepts("H20.1")
def test_all_commands_and_groups_are_there(houkai: Houkai) -> None:
    said = houkai("--help")
    assert all(name in said for name in (*COMMANDS, "maintenance", "journal"))
    assert len(COMMANDS) == 23
    assert houkai("--version")


@pytest.mark.slow
@pytest.mark.accepts("H20.9", "H20.24")
def test_a_text_is_kept_from_an_argument_or_stdin_and_its_id_printed(houkai: Houkai) -> None:
    first = houkai("remember", "the sky is blue", "-t", "episodic", "-g", "sky", "-g", "blue", "-i", "0.8", "-s", "me")
    second = houkai("remember", "-", values="from stdin\n")
    third = houkai("remember", "--stdin", values="from stdin too\n")
    rows = houkai.json("list")
    assert [row["id"] for row in rows] == [third, second, first]
    last = rows[-1]
    assert (last["type"], last["tags"], last["importance"], last["source"]) == ("episodic", ["sky", "blue"], 0.8, "me")


@pytest.mark.accepts("H20.4", "H20.10")
def test_a_pipe_gets_tsv_and_json_is_an_array(houkai: Houkai) -> None:
    houkai("remember", "roses are red", "--type", "episodic")
    head, row = houkai("recall", "roses").splitlines()
    assert head.split("\t") == ["id", "type", "importance", "tags", "created_at", "score", "text"]
    assert row.endswith("roses are red")
    (matches,) = houkai.json("recall", "roses", "-k", "3", "--mode", "hybrid")
    assert matches["score"] > 0


@pytest.mark.accepts("H20.11")
def test_a_pack_is_text_or_json(houkai: Houkai) -> None:
    houkai("remember", "roses are red")
    assert "- (semantic) roses are red" in houkai("pack", "roses", "--budget", "100")
    result = houkai.json("pack", "roses", "-b", "100")
    assert (result["budget"], result["used_tokens"]) == (100, sum(item["tokens"] for item in result["items"]))


@pytest.mark.slow
@pytest.mark.accepts("H20.12")
def test_a_list_is_narrowed_and_sorted(houkai: Houkai) -> None:
    houkai("remember", "one", "-t", "episodic", "-i", "0.9")
    houkai("remember", "two", "-g", "x", "-i", "0.2")
    assert [row["text"] for row in houkai.json("list", "--type", "episodic")] == ["one"]
    assert [row["text"] for row in houkai.json("list", "--tag", "x", "--since", "1h")] == ["two"]
    assert [row["text"] for row in houkai.json("list", "--sort", "importance", "-n", "1")] == ["one"]
    assert houkai.json("list", "--since", "2999-01-01") == []
    assert "No memories found" in houkai("list", "--tag", "none")


@pytest.mark.accepts("H20.5", "H20.13")
def test_a_memory_is_named_by_the_start_of_its_id(houkai: Houkai, opened: Opened) -> None:
    id = houkai("remember", "to be shown")
    assert "to be shown" in houkai("show", id[:8])
    assert "Error" in houkai("show", "zzzz", code=1)
    store = opened()
    store.collection.add(ids=["same-1", "same-2"], documents=["a", "b"])
    assert resolve_id_prefix(store, id) == id
    for wrong in ("same", "nothing"):
        with pytest.raises(ValueError):
            resolve_id_prefix(store, wrong)


@pytest.mark.slow
@pytest.mark.accepts("H20.7", "H20.14")
def test_what_deletes_asks_first(houkai: Houkai) -> None:
    id = houkai("remember", "to be deleted")
    houkai("forget", id[:8], values="n\n", code=1)
    assert len(houkai.json("list")) == 1
    assert "Deleted" in houkai("forget", id[:8], "--yes")
    assert houkai.json("list") == []


@pytest.mark.slow
@pytest.mark.accepts("H20.15")
def test_an_editor_changes_the_text_and_keeps_id_and_links(
    houkai: Houkai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, other = houkai("remember", "about cats"), houkai("remember", "about dogs")
    houkai("link", id[:8], other[:8])
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('about cats', '# Cats').replace('tags: ', 'tags: pets'))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    houkai("edit", id[:8])
    (row,) = [row for row in houkai.json("list") if row["id"] == id]
    assert (row["text"], row["tags"], len(row["links"])) == ("# Cats", ["pets"], 1)
    assert houkai.json("recall", "cats", "-k", "1")[0]["id"] == id


@pytest.mark.slow
@pytest.mark.accepts("H20.16")
def test_tags_and_importance_are_changed_alone(houkai: Houkai) -> None:
    id = houkai("remember", "hardware note", "--tag", "old")
    assert houkai("tag", id[:8], "--add", "new", "--remove", "old").endswith("new")
    assert "0.50 → 0.40" in houkai("bump", id[:8], "-0.1")
    assert "0.40 → 0.60" in houkai("bump", id[:8], "+0.2")
    assert "→ 0.90" in houkai("bump", id[:8], "=0.9")


@pytest.mark.slow
@pytest.mark.accepts("H20.17")
def test_links_are_created_followed_drawn_and_removed(houkai: Houkai) -> None:
    a, b = houkai("remember", "parent"), houkai("remember", "child")
    assert "refines" in houkai("link", a[:8], b[:8], "--rel", "refines")
    assert "child" in houkai("neighbors", a[:8], "--direction", "out")
    assert houkai("graph", a[:8]).splitlines()[-1] == f"{a[:8]} -> {b[:8]} (refines)"
    assert houkai("graph", a[:8], "--format", "dot").startswith("digraph")
    assert houkai.json("graph", a[:8], "--depth", "1")["edges"] == [[a, b, "refines"]]
    assert "Removed 1" in houkai("unlink", a[:8], b[:8])


@pytest.mark.slow
@pytest.mark.accepts("H20.13", "H20.18")
def test_succession_is_made_and_undone(houkai: Houkai) -> None:
    old, new = houkai("remember", "old"), houkai("remember", "new")
    houkai("supersede", old[:8], new[:8])
    assert [row["id"] for row in houkai.json("list")] == [new]
    assert "superseded by" in houkai("show", old[:8])
    assert "Error" in houkai("supersede", new[:8], old[:8], code=1)
    assert "restored" in houkai("restore", old[:8])


@pytest.mark.slow
@pytest.mark.accepts("H20.18")
def test_conflicts_are_settled_one_by_one(houkai: Houkai) -> None:
    for _ in range(3):
        houkai("remember", "use ruff for linting")
    assert "duplicate" in houkai("conflicts")
    houkai("conflicts", "--resolve", "interactive", values="da\nb\ns\n")
    assert len(houkai.json("list")) == 1


@pytest.mark.slow
@pytest.mark.accepts("H20.7", "H20.8", "H20.19", "H20.20")
def test_pruning_and_reflecting_only_show_unless_applied(houkai: Houkai) -> None:
    for _ in range(3):
        houkai("remember", "deployed the api", "-t", "episodic", "-i", "0.01")
    houkai("prune", "--min-score", "0.5")
    assert "[Reflection ×3]" in houkai("reflect")
    assert len(houkai.json("list")) == 3
    houkai("reflect", "--apply", "--consolidate", "soft")
    assert [row["type"] for row in houkai.json("list")] == ["semantic"]
    houkai("reflect", "--apply", "--consolidate", "hard", values="n\n", code=1)
    assert "Error" in houkai("reflect", "--consolidate", "firmly", code=1)
    houkai("prune", "--min-score", "0.5", "--apply", values="n\n", code=1)
    assert "Deleted 4" in houkai("prune", "--min-score", "0.5", "--apply", "--yes")


@pytest.mark.slow
@pytest.mark.accepts("H15.5", "H20.7", "H20.21")
def test_archives_go_out_are_looked_into_and_come_in(houkai: Houkai, tmp_path: Path) -> None:
    houkai("remember", "to be carried", "--tag", "x")
    file = str(tmp_path / "dump.ahkai")
    assert "Exported 1 memories" in houkai("export", file, "--no-vectors")
    assert "1 memories of 'tests'" in houkai("info", file)
    other = Houkai(tmp_path / "other")
    assert "imported=1" in other("import", file, "--yes")
    other("import", file, values="n\n", code=1)
    assert "Error" in other("import", file, "--on-conflict", "error", "--yes", code=1)
    assert "Error" in other("import", file, "--on-conflict", "bogus", "--yes", code=1)


@pytest.mark.accepts("H20.21")
def test_a_backup_is_a_store_of_its_own(houkai: Houkai) -> None:
    houkai("remember", "worth a copy")
    assert len(Houkai(Path(houkai("backup"))).json("list")) == 1


@pytest.mark.accepts("H20.22")
def test_stats_count(houkai: Houkai) -> None:
    houkai("remember", "one", "--type", "procedural", "--tag", "x")
    result = houkai.json("stats")
    assert (result["total"], result["active"], result["superseded"]) == (1, 1, 0)
    assert (result["by_type"], result["top_tags"]) == ({"procedural": 1}, {"x": 1})
    assert result["store_size_bytes"] > 0


@pytest.mark.slow
@pytest.mark.accepts("H20.23")
def test_the_journal_is_shown_and_undone_by_time(houkai: Houkai) -> None:
    houkai("remember", "to be undone")
    ts = houkai("journal", "tail", "-n", "1", "--op", "remember").splitlines()[-1].split("\t")[0]
    assert json.loads(houkai("journal", "show", ts))["actor"] == "cli"
    assert "Undone" in houkai("journal", "undo", ts, "--yes")
    assert houkai.json("list") == []
    assert "Error" in houkai("journal", "undo", ts, "--yes", code=1)
    assert "Error" in houkai("journal", "show", "1.0", code=1)


@pytest.mark.accepts("H16.6", "H20.3")
def test_maintenance_runs_and_reports(houkai: Houkai, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[maintenance]\nreflect_every = "off"\n[maintenance.decay]\nmin_score = 0.2\n'
    )
    known = config.load_maintenance()
    assert (known.reflect_every, known.decay_every, known.tick_interval) == (None, 86_400, 300)
    assert (known.min_score, known.min_cluster_size, known.reflect_apply) == (0.2, 3, False)
    houkai("remember", "worth nothing", "-i", "0.1")
    assert "decay: 1" in houkai("maintenance", "tick")
    said = houkai("maintenance", "status")
    assert "not running" in said and "1 in all" in said
    assert "Nothing" in houkai("maintenance", "stop")


@pytest.mark.accepts("H20.2", "H20.3")
def test_flags_go_before_the_environment_and_that_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setattr(config, "_CONFIG_FILE", file)
    monkeypatch.delenv("EDITOR", raising=False)
    for name in ("AI_HOUKAI_PATH", "AI_HOUKAI_COLLECTION"):
        monkeypatch.delenv(name, raising=False)
    usual = config.load()
    assert Path(usual.store_path).parts[-2:] == (".ai_houkai", ".chroma") and usual.collection == "ai_houkai"
    assert (usual.default_type, usual.default_importance, usual.editor) == ("semantic", 0.5, "nano")
    file.write_text('store_path = "/from/file"\ncollection = "f"\ndefault_type = "feedback"\neditor = "vi"\n')
    assert (config.load().store_path, config.load().default_type, config.load().editor) == (
        "/from/file",
        "feedback",
        "vi",
    )
    monkeypatch.setenv("AI_HOUKAI_PATH", "/from/environment")
    assert (config.load().store_path, config.load().collection) == ("/from/environment", "f")
    monkeypatch.setenv("AI_HOUKAI_EMBEDDER", "hashing")
    flagged = CliRunner().invoke(app, ["-S", str(tmp_path / "flag"), "-C", "own", "remember", "by flag"])
    assert flagged.exit_code == 0 and (tmp_path / "flag").is_dir()


@pytest.mark.accepts("H20.6")
def test_ages_and_importance_are_readable() -> None:
    import time

    ages = (0, 120, 7200, 3 * 86_400, 15 * 86_400, 90 * 86_400)
    assert [fmt_age(time.time() - ago) for ago in ages] == [
        "just now",
        "2m ago",
        "2h ago",
        "3d ago",
        "2w ago",
        "3mo ago",
    ]
    assert (fmt_importance(0.6), fmt_importance(1.0)) == ("███░░", "█████")


@pytest.mark.slow
@pytest.mark.accepts("H1.9")
def test_without_typer_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "nacre.compat.ai_houkai.cli", "list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1 and 'pip install ".[compat]"' in ran.stderr


@pytest.mark.slow
@pytest.mark.accepts("H1.8")
def test_memory_and_server_import_no_typer_and_no_rich() -> None:
    wanted = "nacre.compat.ai_houkai.memory_system, nacre.compat.ai_houkai.mcp_server.server"
    check = f"import sys, {wanted}; assert not {{'typer', 'rich'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


@pytest.mark.accepts("H3.2")
def test_a_users_own_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_ON_CONFLICT", "raise")
    monkeypatch.setenv("NACRE_SPACE", "elsewhere")
    store = MemoryStore(tmp_path / "chroma", embedding_model="hashing")
    store.remember("said twice")
    store.remember("said twice")
    store.client.close()
    assert store.native.space == "ai_houkai"
