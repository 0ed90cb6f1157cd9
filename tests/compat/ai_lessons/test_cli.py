"""The command `ai-lessons` in real processes, as it is called from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests import forked
from tests.cli.terminal import conversation

SETUP = "embedding: {backend: hashing}\ntag_aliases: {ovens: kiln}\nknown_tags: [jira]\n"


@pytest.fixture
def lessons(elsewhere: Path) -> Path:
    folder = elsewhere / ".ai" / "lessons"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(SETUP)
    return folder


def ran(*words: str, input: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked.run(words, module="tests.compat.ai_lessons.command", input=input)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.accepts("L9.5")
@pytest.mark.usefixtures("lessons")
def test_it_starts_nacre_in_a_process_of_its_own_and_passes_on_what_that_says() -> None:
    command = [sys.executable, "-m", "nacre.compat.ai_lessons.cli"]
    done = subprocess.run([*command, "add", "-t", "Cool slowly", "-c", "-"], input="Draughts crack.",
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Draughts crack." in ran("show", done.stdout.strip()).stdout


@pytest.mark.accepts("L7.1", "L7.6", "L9.3", "L9.5")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_the_commands_that_verify_an_installation_work_as_written() -> None:
    assert "0" in ran("stats").stdout
    ran("tags")
    assert "hearsay" in ran("sources").stdout
    words = "--content Testing --tags test --confidence low --source tested"
    id = ran("add", "--title", "Test lesson", *words.split()).stdout.strip()
    assert len(id) == 26
    assert "Test lesson" in ran("search", "test").stdout
    assert "test" in ran("tags", "--counts").stdout
    ran("delete", id)
    ran("show", id, code=1)


@pytest.mark.accepts("L7.8", "L8.3")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_a_tag_that_is_unknown_is_stored_with_a_warning() -> None:
    done = ran("add", "-t", "Close tickets", "-c", "Then they are gone.", "--tags", "jra,ovens")
    assert "tag 'jra' not recognized, did you mean 'jira'?" in done.stderr
    printed = json.loads(ran("show", done.stdout.strip(), "--format", "json").stdout)
    assert "kiln" in str(printed) and "ovens" not in str(printed)


@pytest.mark.accepts("L7.1", "L7.2", "L7.3", "L7.4", "L9.3")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_content_comes_from_stdin_and_the_older_options_are_understood() -> None:
    one = ran("add", "--title=Cool slowly", "--context", "workshop", "--anti-context", "raku", "--source-notes",
              "twice", "--source", "tested", input="Draughts crack.").stdout.strip()  # fmt: skip
    two = ran("add", "-t", "Load loosely", "-c", "Pots stick.").stdout.strip()
    rendered = ran("show", one, "--format", "json").stdout
    assert all(word in rendered for word in ("Draughts crack.", "workshop", "raku", "twice"))
    ran("link", one, two, "--relation", "derived_from")
    assert "Load loosely" in ran("related", one, "-d", "2", "-r", "derived_from").stdout
    ran("unlink", one, two)
    assert "Load loosely" not in ran("related", one).stdout
    ran("update", two, "-t", "Load very loosely", "--tags", "ware")
    assert "Load very loosely" in ran("search", "pots", "--tags", "ware", "--limit", "1").stdout
    assert "workshop" in ran("contexts").stdout
    assert "Cool slowly" in ran("search", "draughts pots", "--context", "workshop").stdout
    assert "Load" not in ran("search", "draughts pots", "--context", "workshop").stdout


@pytest.mark.accepts("L7.4", "L8.9")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_sources_are_added_reviewed_and_merged() -> None:
    ran("sources", "--add", "chart", "--description", "off a chart")
    ran("manage", "add-source", "table", "--typical-confidence", "low-medium")
    assert "already exists" in ran("manage", "add-source", "table", code=1).stderr
    ran("add", "-t", "Cone six", "-c", "1222 degrees.", "--source", "dream")
    assert "dream" in ran("sources", "--review").stdout
    ran("sources", "--merge", "dream", "chart")
    assert "dream" not in ran("sources").stdout
    assert "3. medium" in ran("confidence").stdout
    assert "0 lessons affected" in ran("manage", "merge-tags", "a", "b").stdout


@pytest.mark.accepts("L7.5", "L7.6", "L8.19")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_what_is_exported_can_be_imported_and_embedded_again() -> None:
    id = ran("add", "-t", "Cool slowly", "-c", "Draughts crack.", "--tags", "kiln").stdout.strip()
    ran("add", "-t", "Who pays", "-c", "The client.", "--tags", "sensitive")
    rendered = ran("export", "--format", "json", "--exclude-tags", "sensitive").stdout
    assert [each["id"] for each in json.loads(rendered)["lessons"]] == [id]
    assert json.loads(ran("export", "--tags", "kiln").stdout)["lessons"] == json.loads(rendered)["lessons"]
    ran("delete", id)
    ran("import", input=rendered)
    assert "Draughts crack." in ran("show", id).stdout
    ran("reembed", "--all")
    ran("reembed", "--lesson", id)
    assert "format: nacre-lessons" in ran("export", "--format", "yaml").stdout


@pytest.mark.accepts("L8.18")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_links_are_drawn_and_unused_ones_are_pruned() -> None:
    one, two, three = (ran("add", "-t", f"Rule {name}", "-c", name).stdout.strip() for name in ("one", "two", "three"))
    ran("link", one, two, "--relation", "related_to")
    ran("link", two, three, "--relation", "related_to")
    assert "digraph" in ran("graph", "-f", "dot").stdout
    assert "<graphml" in ran("graph", "-f", "graphml").stdout
    ran("related", one)
    ran("graph", "--prune", "--min-traversals", "0")
    assert "Rule two" in ran("related", one).stdout
    assert "Rule three" not in ran("related", two).stdout


@pytest.mark.accepts("L8.2", "L8.12", "L8.16")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_lessons_are_audited_reviewed_and_put_away() -> None:
    id = ran("add", "-t", "Bold claim", "-c", "Surely.", "--confidence", "high", "--source", "inferred").stdout.strip()
    assert "Bold claim" in ran("audit", "--confidence", "high", "--source", "inferred").stdout
    ran("review", "--stale-days", "365", "--list")
    ran("archive", id)
    assert "Bold claim" not in ran("search", "claim").stdout
    assert "Bold claim" in ran("search", "claim", "--include-archived").stdout


@pytest.mark.accepts("L7.1", "L7.7")
@pytest.mark.usefixtures("lessons")
@pytest.mark.slow
def test_a_lesson_is_asked_for_at_a_terminal_and_previewed_before_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")  # this terminal does not tell where its cursor is
    ran("add", "-t", "Cool slowly", "-c", "Draughts crack.", "--tags", "kiln", "--context", "workshop")
    questions = {
        "Title:": "Load loosely\r", "ends it):": "Pots stick.\rAlways.\x04", "Tags:": "ki\t, jra\r",
        "did you mean 'jira'?": "y", "Applies in:": "work\t\r", "Does not apply in:": "\r", "Source:": "hear\t\r",
        "and where:": "\r", "Confidence, ": "\r", "[?] ": "s",
    }  # fmt: skip
    seen, code = conversation(
        "compat", "run", "ai-lessons", "add", "--interactive", answers=tuple(questions.items())
    )  # fmt: skip
    assert code == 0, seen
    assert "Pots stick." in seen[seen.rindex("Confidence, ") :]
    (stored,) = json.loads(ran("search", "pots stick", "--limit", "1", "--format", "json").stdout)["data"]
    assert (stored["title"], stored["content"]) == ("Load loosely", "Pots stick.\nAlways.")
    assert (stored["tags"], stored["contexts"], stored["source"]) == (["kiln", "jira"], ["workshop"], "hearsay")


@pytest.mark.accepts("L9.4")
def test_its_commands_are_on_the_path_and_the_tools_can_be_registered(elsewhere: Path) -> None:
    options = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    for name in ("ai-lessons", "ai-lessons-mcp"):
        place, _, function = options[name].partition(":")
        assert callable(getattr(import_module(place), function))
    done = forked.run(["install", "claude-code", "--profile", "lessons", "--server-name", "lessons"])
    assert done.returncode == 0, done.stderr
    servers = json.loads((elsewhere / ".claude.json").read_text())["mcpServers"]
    assert servers["lessons"]["args"][-3:] == ["mcp", "--profile", "lessons"]


@pytest.mark.accepts("L1.2", "L9.4")
def test_init_makes_database_and_configuration(elsewhere: Path) -> None:
    rendered = ran("init").stdout
    folder = elsewhere / ".ai" / "lessons"
    assert str(folder / "knowledge.db") in rendered and (folder / "knowledge.db").exists()
    assert "all-MiniLM-L6-v2" in (folder / "config.yaml").read_text()


@pytest.mark.accepts("L7")
@pytest.mark.usefixtures("lessons")
def test_help_lists_every_command_and_an_unknown_one_is_refused() -> None:
    rendered = ran("--help").stdout
    assert all(
        f"\n  {name} " in rendered for name in ("add", "search", "import", "reembed", "update", "manage", "init")
    )
    assert "--interactive" in ran("add", "--help").stdout
    ran("divine", code=2)
