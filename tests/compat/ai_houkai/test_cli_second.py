"""H20, what the first file leaves open: the options of each command, the terminal, and what an edit leaves alone."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from nacre.compat.ai_houkai import Memory, MemoryStore
from nacre.compat.ai_houkai.cli import config
from nacre.compat.ai_houkai.cli.commands import app
from nacre.compat.ai_houkai.cli.output import show_memories
from nacre.models.embedders import Hashing
from tests.compat.ai_houkai.conftest import Opened
from tests.compat.ai_houkai.test_cli import Houkai, houkai

__all__ = ["houkai"]  # the fixture is the first file's


def texts(rows: list[dict[str, object]]) -> list[object]:
    return [row["text"] for row in rows]


@pytest.mark.accepts("H20.1")
def test_every_command_gets_the_store_and_the_config(houkai: Houkai) -> None:
    command = get_command(app)
    with command.make_context("houkai", ["-S", str(houkai.place), "-C", "own", "list"]) as ctx:
        command.invoke(ctx)
        assert set(ctx.obj) == {"store", "config"}
        assert isinstance(ctx.obj["store"], MemoryStore)
        assert (ctx.obj["config"].store_path, ctx.obj["config"].collection) == (str(houkai.place), "own")


@pytest.mark.accepts("H20.3")
def test_the_file_of_settings_may_set_each_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setattr(config, "_CONFIG_FILE", file)
    monkeypatch.setenv("EDITOR", "ed")
    assert config.load().editor == "ed" and config.load_maintenance().reflect_every == 604_800
    file.write_text(
        "default_importance = 0.7\n"
        '[maintenance]\nenabled = true\ndecay_every = "off"\nreflect_every = "2d"\ntick_interval = "1m"\n'
        'log_path = "/l"\nstate_path = "/s"\npid_path = "/p"\n'
        '[maintenance.decay]\ndecay_rate = 0.3\nprotect_types = ["feedback"]\n'
        "[maintenance.reflect]\nmin_cluster_size = 5\napply = true\n"
    )
    known = config.load_maintenance()
    assert (known.enabled, known.decay_every, known.reflect_every, known.tick_interval) == (True, None, 172_800, 60)
    assert (known.log_path, known.state_path, known.pid_path) == ("/l", "/s", "/p")
    assert (known.decay_rate, known.protect_types) == (0.3, ("feedback",))
    assert (known.min_cluster_size, known.reflect_apply, config.load().default_importance) == (5, True, 0.7)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.accepts("H20.4", "H20.5")
def test_a_terminal_gets_a_table_with_short_ids_unless_it_wants_no_colour(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store.remember("roses")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", table := Terminal())
    show_memories([kept])
    assert kept.id[:8] in table.getvalue() and kept.id not in table.getvalue() and "│" in table.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", plain := Terminal())
    show_memories([kept])
    assert plain.getvalue().splitlines()[1].split("\t")[0] == kept.id


@pytest.mark.accepts("H20.9")
def test_a_conflict_and_a_polarity_are_given_as_options(houkai: Houkai) -> None:
    houkai("remember", "use tabs", "--polarity", "1")
    assert "Error" in houkai("remember", "use tabs", "--on-conflict", "raise", code=1)
    new = houkai("remember", "use tabs", "--polarity", "-1", "--on-conflict", "supersede")
    assert [(row["id"], row["polarity"]) for row in houkai.json("list")] == [(new, -1)]


@pytest.mark.slow
@pytest.mark.accepts("H20.10")
def test_recall_is_narrowed_by_its_options(houkai: Houkai) -> None:
    for words in (("a", "-t", "episodic"), ("b", "-g", "x"), ("c", "-i", "0.9"), ("d", "-i", "0.1")):
        houkai("remember", f"red rose {words[0]}", *words[1:])
    old, new = (row["id"] for row in houkai.json("list", "-n", "2"))
    houkai("supersede", old, new)
    assert texts(houkai.json("recall", "rose", "-t", "episodic")) == ["red rose a"]
    assert texts(houkai.json("recall", "rose", "-g", "x")) == ["red rose b"]
    assert texts(houkai.json("recall", "rose", "--min-importance", "0.8")) == ["red rose c"]
    assert len(houkai.json("recall", "rose")) == 3
    assert len(houkai.json("recall", "rose", "--include-superseded", "--mode", "hybrid")) == 4
    assert len(houkai.json("recall", "rose", "-k", "1")) == 1


@pytest.mark.slow
@pytest.mark.accepts("H20.11")
def test_a_pack_goes_to_stdout_and_its_summary_to_stderr(houkai: Houkai) -> None:
    for number in range(3):
        houkai("remember", f"rose number {number}")
    asked = ["-S", str(houkai.place), "-C", "tests", "pack", "rose", "--max-items", "2", "--header", "# Mine"]
    result = CliRunner().invoke(app, asked)
    head, *lines = result.stdout.splitlines()
    assert head == "# Mine" and len(lines) == 2 and all(line.startswith("- (semantic) rose") for line in lines)
    assert result.stderr.startswith("2 memories, ") and "of 800 tokens" in result.stderr


@pytest.mark.slow
@pytest.mark.accepts("H20.13", "H20.14")
def test_a_chain_of_successors_is_shown_and_several_are_deleted_at_once(houkai: Houkai) -> None:
    first, second, third = (houkai("remember", text) for text in ("gate one", "gate two", "gate three"))
    houkai("supersede", first, second)
    houkai("supersede", second, third)
    said = houkai("show", first[:8]).splitlines()
    assert [line for line in said if line.startswith("superseded by")] == [
        f"superseded by {second[:8]}: gate two",
        f"superseded by {third[:8]}: gate three",
    ]
    assert {"id", "text", "type", "tags", "importance", "created_at"} <= {line.partition(":")[0] for line in said}
    assert len(houkai("forget", first[:8], second[:8], third, "-y").splitlines()) == 3
    assert houkai.json("list", "--include-superseded") == []


@pytest.mark.slow
@pytest.mark.accepts("H20.15", "H20.16")
def test_only_a_changed_text_is_embedded_again(
    houkai: Houkai,
    opened: Opened,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    id = houkai("remember", "about cats")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "file.write_text(file.read_text().replace(sys.argv[1], sys.argv[2]))\n"
    )
    embedded: list[str] = []
    embed = Hashing.embed

    def noted(self: Hashing, texts: list[str]) -> object:
        embedded.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(Hashing, "embed", noted)
    before = opened().collection.get(ids=[id], include=["embeddings"])["embeddings"]
    houkai("tag", id[:8], "--add", "pets")
    houkai("bump", id[:8], "+0.2")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor} 0.7 0.9")
    houkai("edit", id[:8])
    assert [(row["tags"], row["importance"]) for row in houkai.json("list")] == [(["pets"], 0.9)]
    assert "about cats" not in embedded
    after = opened().collection.get(ids=[id], include=["embeddings"])["embeddings"]
    assert before is not None and after is not None and list(before[0]) == list(after[0])
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor} cats dogs")
    houkai("edit", id[:8])
    assert "about dogs" in embedded


@pytest.mark.slow
@pytest.mark.accepts("H20.17")
def test_links_are_filtered_by_relation_direction_and_depth(houkai: Houkai) -> None:
    a, b, c = (houkai("remember", text) for text in ("aa", "bb", "cc"))
    houkai("link", a, b, "--rel", "refines")
    houkai("link", b, c)
    assert texts(houkai.json("neighbors", a, "--depth", "2")) == ["bb", "cc"]
    assert texts(houkai.json("neighbors", b, "--direction", "in")) == ["aa"]
    assert texts(houkai.json("neighbors", b, "--rel", "related")) == ["cc"]
    assert len(houkai.json("graph", a, "--depth", "2")["edges"]) == 2
    assert "Removed 0" in houkai("unlink", a, b, "--rel", "related")


@pytest.mark.slow
@pytest.mark.accepts("H20.18")
def test_conflicts_are_asked_for_by_id_and_threshold(houkai: Houkai) -> None:
    id = houkai("remember", "use ruff for linting")
    houkai("remember", "use ruff for linting python")
    houkai("remember", "never touch the furnace")
    assert id[:8] in houkai("conflicts", "--id", id[:8], "--threshold", "0.5")
    assert houkai("conflicts", "--id", id[:8], "--threshold", "0.999") == ""


@pytest.mark.slow
@pytest.mark.accepts("H20.19")
def test_pruning_takes_its_rate_its_threshold_and_what_it_spares(
    houkai: Houkai,
    opened: Opened,
) -> None:
    for kind in ("semantic", "feedback", "procedural"):
        houkai("remember", f"a {kind} note", "-t", kind, "-i", "0.9")
    store = opened()
    for memory in store.list_recent():
        memory.last_accessed -= 5 * 86_400
        store.collection.update(ids=[memory.id], metadatas=[memory.to_metadata()])
    assert "No memories" in houkai("prune")
    houkai("prune", "--decay-rate", "1", "--protect-type", "feedback", "--apply", "-y")
    assert texts(houkai.json("list")) == ["a feedback note"]


@pytest.mark.slow
@pytest.mark.accepts("H20.20")
def test_reflecting_takes_a_threshold_and_a_size(houkai: Houkai) -> None:
    for end in ("today", "again"):
        houkai("remember", f"deployed the api {end}", "-t", "episodic")
    assert "No memories" in houkai("reflect", "--threshold", "0.3")
    assert "[Reflection ×2]" in houkai("reflect", "--threshold", "0.3", "--min-cluster-size", "2")
    assert "No memories" in houkai("reflect", "--threshold", "0.99", "--min-cluster-size", "2")
    houkai("reflect", "--threshold", "0.3", "--min-cluster-size", "2", "--apply", "--consolidate", "hard", "-y")
    assert [row["type"] for row in houkai.json("list", "--include-superseded")] == ["semantic"]


@pytest.mark.slow
@pytest.mark.accepts("H20.21")
def test_an_archive_is_chosen_by_options_and_taken_in_as_asked(houkai: Houkai, tmp_path: Path) -> None:
    old, new = houkai("remember", "old", "-g", "x"), houkai("remember", "new", "-t", "episodic")
    houkai("supersede", old, new)
    file = str(tmp_path / "dump.ahkai")
    assert "Exported 1 " in houkai("export", file, "--type", "episodic")
    assert "Exported 0 " in houkai("export", file, "--tag", "x")
    assert "Exported 2 " in houkai("export", file, "--include-superseded")
    other = Houkai(tmp_path / "other")
    assert "imported=2" in other("import", file, "--dry-run")
    assert other.json("list") == []
    assert "imported=2" in other("import", file, "--regenerate-vectors", "--yes")
    other("tag", new, "--add", "changed")
    assert "overwritten=1" in other("import", file, "--on-conflict", "overwrite", "--yes")
    backup = Path(houkai("backup"))
    assert backup.parent == config._HOUKAI_DIR / "backups" and backup.is_dir()


@pytest.mark.slow
@pytest.mark.accepts("H20.23")
def test_the_journal_is_narrowed_and_an_undo_asks_first(houkai: Houkai, opened: Opened) -> None:
    first, second = houkai("remember", "one"), houkai("remember", "two")
    opened().forget(first)
    assert houkai("journal", "tail", "--actor", "lib").splitlines()[1].split("\t")[1] == "forget"
    (row,) = houkai("journal", "tail", "--id", second).splitlines()[1:]
    opened().journal._rotate()
    assert len(houkai("journal", "tail").splitlines()) == 1
    assert len(houkai("journal", "tail", "--all").splitlines()) == 4
    ts = row.split("\t")[0]
    assert json.loads(houkai("journal", "show", ts))["id"] == second
    houkai("journal", "undo", ts, values="n\n", code=1)
    assert texts(houkai.json("list")) == ["two"]


@pytest.mark.slow
@pytest.mark.accepts("H20.24")
def test_a_warning_in_the_log_does_not_stand_between_a_script_and_the_id(houkai: Houkai, tmp_path: Path) -> None:
    (tmp_path / "journal.log").mkdir()
    command = [sys.executable, "-m", "nacre.compat.ai_houkai.cli", "-S", str(houkai.place), "-C", "tests"]
    ran = subprocess.run([*command, "remember", "said once"], capture_output=True, text=True, check=True, timeout=120)
    assert "was not written" in ran.stderr
    assert [row["id"] for row in houkai.json("list")] == ran.stdout.splitlines()


@pytest.mark.parametrize(
    ("command", "tags", "importance"),
    [(("tag", "--add", "mine"), ["theirs", "mine"], 0.5), (("bump", "+0.2"), ["theirs"], 0.7)],
)
def test_a_change_is_made_to_what_somebody_else_wrote_meanwhile(
    houkai: Houkai, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], tags: list[str], importance: float
) -> None:
    id, late = houkai("remember", "about cats"), ["theirs"]
    edit_with = MemoryStore.edit_with

    def overtaken(store: MemoryStore, memory_id: str, change: Callable[[Memory], Mapping[str, Any]]) -> object:
        def later(memory: Memory) -> Mapping[str, Any]:
            if late:
                store.native.tag(memory.id, add=[late.pop()])
            return change(memory)

        return edit_with(store, memory_id, later)

    monkeypatch.setattr(MemoryStore, "edit_with", overtaken)
    houkai(command[0], id[:8], *command[1:])
    assert [(row["tags"], row["importance"]) for row in houkai.json("list")] == [(tags, importance)]


def test_an_editor_does_not_overwrite_what_changed_while_it_was_open(
    houkai: Houkai, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = houkai("remember", "about cats")

    def editor(command: list[str], *, check: bool) -> None:  # noqa: ARG001
        houkai("tag", id[:8], "--add", "theirs")
        Path(command[-1]).write_text(Path(command[-1]).read_text() + "mine")

    monkeypatch.setattr(subprocess, "run", editor)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert "was changed by somebody else meanwhile" in houkai("edit", id[:8], code=1)
    assert [file.read_text().endswith("mine") for file in tmp_path.glob("houkai-*.txt")] == [True]
    assert [(row["tags"], row["text"]) for row in houkai.json("list")] == [(["theirs"], "about cats")]
