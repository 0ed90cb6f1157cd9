"""nacre install and nacre uninstall"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from nacre.clients.files import BACKUP
from nacre.clients.installer import BEGIN
from nacre.clients.registry import INSTALLERS
from tests.cli.terminal import conversation
from tests.command_line import CommandLine
from tests.trusting import trusted


def servers(file: Path, section: str = "mcpServers") -> dict[str, dict[str, object]]:
    result: dict[str, dict[str, object]] = json.loads(file.read_text())[section]
    return result


def test_a_client_is_set_up_where_it_reads_its_settings(nacre: CommandLine, elsewhere: Path) -> None:
    result = nacre("install", "claude-code")
    assert result.exit_code == 0, result.output
    entry = servers(elsewhere / ".claude.json")["nacre"]
    assert Path(str(entry["command"])).is_absolute() and entry["args"][-1] == "mcp"  # type: ignore[index]
    assert entry["env"] == {"NACRE_STORE": str(nacre.store), "NACRE_EMBEDDER": "hashing"}
    assert "Wrote the server 'nacre' to" in result.stderr and "Restart Claude Code" in result.stderr
    again = nacre("install", "claude-code")
    assert again.exit_code == 0 and "already" in again.stderr


def test_without_the_package_mcp_nothing_is_set_up(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.cli.commands.agents.find_spec", lambda _name: None)
    result = nacre("install", "claude-code")
    assert result.exit_code == 2 and '`pip install ".[mcp]"` in the checkout of Nacre.' in result.stderr
    assert not (elsewhere / ".claude.json").exists()
    nacre.ok("install", "claude-code", "--print")


def test_the_options_choose_store_space_profile_and_name(nacre: CommandLine, elsewhere: Path) -> None:
    nacre.ok("install", "cursor", "--store", "other.db", "--space", "work", "--profile", "full", "--server-name", "m2")
    entry = servers(elsewhere / ".cursor" / "mcp.json")["m2"]
    assert entry["args"][-3:] == ["mcp", "--profile", "full"]  # type: ignore[index]
    assert entry["env"]["NACRE_STORE"] == str(elsewhere / "other.db")  # type: ignore[index]
    assert entry["env"]["NACRE_SPACE"] == "work"  # type: ignore[index]
    assert nacre("install", "cursor", "--profile", "everything").exit_code == 2


def test_a_project_gets_its_own_store_and_the_user_never_a_projects(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_STORE")
    trusted(elsewhere / ".nacre.toml", 'store = "shop.db"\n')
    nacre.ok("install", "claude-code", "--project")
    nacre.ok("install", "claude-code")
    stores = [servers(elsewhere / name)["nacre"]["env"]["NACRE_STORE"] for name in (".mcp.json", ".claude.json")]  # type: ignore[index]
    assert stores == [str(elsewhere / "shop.db"), str(elsewhere / "data" / "nacre" / "nacre.db")]


def test_a_client_without_projects_says_so(nacre: CommandLine) -> None:
    result = nacre("install", "windsurf", "--project")
    assert result.exit_code == 2 and "leave out --project" in result.stderr


def test_hooks_and_guidance_come_with_it_and_all_of_it_goes_again(nacre: CommandLine, elsewhere: Path) -> None:
    settings, words = elsewhere / ".claude" / "settings.json", elsewhere / ".claude" / "CLAUDE.md"
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus"\n}\n')
    words.write_text("# Mine\n")
    nacre.ok("install", "claude-code", "--hooks", "--write-guidance")
    assert set(json.loads(settings.read_text())["hooks"]) == {
        "SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd",
    }  # fmt: skip
    assert BEGIN in words.read_text()
    result = nacre("uninstall", "claude-code")
    assert result.exit_code == 0 and result.stderr.count("Took the") == 3
    assert settings.read_text() == '{\n  "model": "opus"\n}\n' and words.read_text() == "# Mine\n"
    assert json.loads((elsewhere / ".claude.json").read_text()) == {}
    assert nacre("uninstall", "claude-code").exit_code == 1


def test_hooks_that_cannot_be_written_leave_all_as_it_was(nacre: CommandLine, elsewhere: Path) -> None:
    (elsewhere / ".claude").mkdir()
    (elsewhere / ".claude" / "settings.json").write_text("{")
    assert nacre("install", "claude-code", "--hooks", "--yes").exit_code == 2
    assert not (elsewhere / ".claude.json").exists()
    nacre.ok("install", "claude-code", "--hooks", "--force")
    assert "hooks" in json.loads((elsewhere / ".claude" / "settings.json").read_text())


def test_hooks_are_for_claude_code_alone(nacre: CommandLine, elsewhere: Path) -> None:
    result = nacre("install", "codex", "--hooks")
    assert result.exit_code == 2 and "leave out --hooks" in result.stderr
    assert not (elsewhere / ".codex").exists()


def test_guidance_that_has_no_file_is_refused_before_anything_is_written(nacre: CommandLine, elsewhere: Path) -> None:
    result = nacre("install", "cursor", "--write-guidance")
    assert result.exit_code == 2 and "--guidance" in result.stderr
    assert not (elsewhere / ".cursor").exists()
    assert "recall" in nacre.ok("install", "cursor", "--guidance")


@pytest.mark.parametrize("client", INSTALLERS)
def test_print_writes_nothing(client: str, nacre: CommandLine, elsewhere: Path) -> None:
    before = sorted(elsewhere.rglob("*"))
    printed = nacre.ok("install", client, "--print")
    assert str(nacre.store) in printed
    assert (tomllib.loads if client == "codex" else json.loads)(printed)
    assert sorted(elsewhere.rglob("*")) == before


def test_an_entry_that_was_set_up_otherwise_is_replaced_only_on_a_yes(nacre: CommandLine, elsewhere: Path) -> None:
    file = elsewhere / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"nacre": {"command": "mine"}}}')
    assert nacre("install", "cursor", input="n\n").exit_code == 2
    assert servers(file)["nacre"] == {"command": "mine"}
    nacre.ok("install", "cursor", "--yes")
    assert servers(file)["nacre"] != {"command": "mine"}
    assert "mine" in file.with_name(file.name + BACKUP).read_text()


def test_settings_that_cannot_be_read_are_left_alone_without_force(nacre: CommandLine, elsewhere: Path) -> None:
    file = elsewhere / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"theme": ')
    result = nacre("install", "gemini-cli", "--yes")
    assert result.exit_code == 2 and "--force" in result.stderr and "Traceback" not in result.stderr
    assert file.read_text() == '{"theme": '
    nacre.ok("install", "gemini-cli", "--force")
    assert "nacre" in servers(file)
    assert file.with_name(file.name + BACKUP).read_text() == '{"theme": '


def test_at_a_terminal_one_is_asked_before_they_are_replaced(nacre: CommandLine, elsewhere: Path) -> None:  # noqa: ARG001
    file = elsewhere / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"theme": ')
    seen, code = conversation("install", "gemini-cli", answers=(("[y/N]", "n\n"),))
    assert code == 2 and "cannot be read. Replace it?" in " ".join(seen.split())
    _, code = conversation("install", "gemini-cli", answers=(("[y/N]", "y\n"),))
    assert code == 0 and "nacre" in servers(file)


def test_the_list_shows_what_is_here_and_what_is_set_up(nacre: CommandLine, elsewhere: Path) -> None:
    nacre.ok("install", "cursor")
    (elsewhere / ".gemini").mkdir()
    (elsewhere / ".gemini" / "settings.json").write_text("{")
    rows = {row["client"]: row for row in nacre.json("install", "--list")}
    assert list(rows) == list(INSTALLERS)
    assert (rows["cursor"]["found"], rows["cursor"]["installed"]) == (True, "yes")
    assert (rows["gemini-cli"]["found"], rows["gemini-cli"]["installed"]) == (True, "unreadable")
    assert rows["codex"]["installed"] == "no"
    assert "cursor\tyes\tyes\t" in nacre.ok("install", "--list")


def test_a_client_must_be_named_and_known(nacre: CommandLine) -> None:
    assert "name a client: claude-code" in nacre("install").stderr
    assert "name a client: claude-code" in nacre("uninstall").stderr
    assert "did you mean 'codex'?" in nacre("install", "codx").stderr
