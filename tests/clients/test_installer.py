"""What an agent is told stands between marks, once, and goes without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.installer import BEGIN, END, guidance, with_guidance, without_guidance
from nacre.clients.registry import INSTALLERS, CursorInstaller


@pytest.mark.parametrize("text", ["# House rules\n\nUse tabs.\n", "# Regeln\r\n\r\nKurz.\r\n"])
def test_it_is_added_once_and_taken_out_again(text: str) -> None:
    after = with_guidance(text, guidance())
    assert after.startswith(text) and after.count(BEGIN) == 1
    assert with_guidance(after, guidance()) == after
    assert ("\r\n" in text) == ("\r\n" in after)
    assert without_guidance(after) == text


def test_an_older_wording_is_replaced_in_place() -> None:
    text = f"# A\n\n{BEGIN}\nold words\n{END}\n\n# B\n"
    after = with_guidance(text, "new words")
    assert after == f"# A\n\n{BEGIN}\nnew words\n{END}\n\n# B\n"
    assert "# A" in without_guidance(after) and "# B" in without_guidance(after)


def test_a_text_without_our_marks_is_not_touched() -> None:
    assert without_guidance("# A\n") == "# A\n"
    assert without_guidance(f"{BEGIN} and no end") == f"{BEGIN} and no end"


@pytest.mark.accepts("H18.8")
def test_it_names_the_server_and_says_the_three_things() -> None:
    told = guidance("second brain")
    assert "`second brain`" in told
    assert all(f"`{act}`" in told for act in ("recall", "remember", "forget"))


def test_a_file_that_held_only_ours_is_removed(elsewhere: Path) -> None:
    installer = CursorInstaller(folder=elsewhere)
    assert installer.write_guidance() is not None
    rule = elsewhere / ".cursor" / "rules" / "nacre.mdc"
    assert rule.read_text().startswith("---\ndescription:")
    assert installer.remove_guidance() and not rule.exists()
    assert not installer.remove_guidance()


@pytest.mark.parametrize(
    ("client", "user", "project"),
    [
        ("claude-code", ".claude/CLAUDE.md", "CLAUDE.md"),
        ("claude-desktop", None, None),
        ("cursor", None, ".cursor/rules/nacre.mdc"),
        ("vscode", None, ".github/copilot-instructions.md"),
        ("windsurf", ".codeium/windsurf/memories/global_rules.md", ".windsurf/rules/nacre.md"),
        ("codex", ".codex/AGENTS.md", "AGENTS.md"),
        ("gemini-cli", ".gemini/GEMINI.md", "GEMINI.md"),
        ("opencode", "config/opencode/AGENTS.md", "AGENTS.md"),
    ],
)
def test_each_client_reads_its_own_file(client: str, user: str | None, project: str | None, elsewhere: Path) -> None:
    folder = elsewhere / "shop"
    kind = INSTALLERS[client]
    assert kind().guidance_path() == (None if user is None else elsewhere / user)
    assert kind(folder=folder).guidance_path() == (None if project is None else folder / project)
    assert (kind().write_guidance() is None) == (user is None)


def test_the_rest_of_the_instructions_stays(elsewhere: Path) -> None:
    file = elsewhere / "CLAUDE.md"
    file.write_text("# Shop\n\nRun `make test`.")
    installer = ClaudeCodeInstaller(folder=elsewhere)
    installer.write_guidance()
    assert file.read_text().startswith("# Shop\n\nRun `make test`.\n\n" + BEGIN)
    installer.remove_guidance()
    assert [(each, each.read_text()) for each in elsewhere.iterdir()] == [(file, "# Shop\n\nRun `make test`.")]
