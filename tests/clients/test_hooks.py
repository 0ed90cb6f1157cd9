"""Our hooks stand beside those of others in a client's settings, and go without them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.hooks import EVENTS, HookInstaller, with_hooks, without_hooks
from nacre.clients.registry import installer_for

FOREIGN = """{
  "permissions": {"allow": ["Bash(make test)"]},
  "hooks": {
    "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "make format"}]}],
    "Stop": [
      // ring a bell
      {"hooks": [{"type": "command", "command": "bell"}, {"type": "command", "command": "./mynacre hook stop"}]}
    ]
  }
}
"""


def commands(text: str, event: str) -> list[str]:
    groups = json.loads(text.replace("// ring a bell", ""))["hooks"].get(event, [])
    return [hook["command"] for group in groups for hook in group["hooks"]]


def test_every_event_calls_its_own_command() -> None:
    text = with_hooks("", ("/opt/nacre",))
    assert {event: commands(text, event) for event in EVENTS} == {
        "SessionStart": ["/opt/nacre hook session-start"],
        "UserPromptSubmit": ["/opt/nacre hook prompt"],
        "PreCompact": ["/opt/nacre hook pre-compact"],
        "Stop": ["/opt/nacre hook stop"],
        "SessionEnd": ["/opt/nacre hook session-end"],
    }


def test_foreign_hooks_stay_and_ours_go_again() -> None:
    text = with_hooks(FOREIGN, ("/opt/nacre",))
    assert commands(text, "Stop") == ["bell", "./mynacre hook stop", "/opt/nacre hook stop"]
    assert commands(text, "PostToolUse") == ["make format"]
    assert with_hooks(text, ("/opt/nacre",)) == text
    assert without_hooks(text) == FOREIGN


@pytest.mark.parametrize(
    "old",
    [
        "/old/env/bin/nacre hook stop",
        "'/my env/bin/nacre' --store '/my data/m.db' hook stop",
        "/usr/bin/python3 -P -m nacre --space work hook stop",
        "C:\\env\\Scripts\\nacre.exe hook stop",
        "nacre hook stop",
    ],
)
def test_a_program_that_moved_is_still_ours(old: str) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": old}]}]}})
    assert commands(with_hooks(text, ("/new/nacre",)), "Stop") == ["/new/nacre hook stop"]
    assert without_hooks(text) == "{}"


def test_a_hook_that_is_there_twice_is_made_one() -> None:
    ours = {"type": "command", "command": "nacre hook stop"}
    text = json.dumps(
        {"hooks": {"Stop": [{"hooks": [ours, {"type": "command", "command": "bell"}]}, {"hooks": [ours]}]}}
    )
    assert commands(with_hooks(text, ("/n/nacre",)), "Stop") == ["bell", "/n/nacre hook stop"]


def test_a_group_that_held_only_ours_goes_whole() -> None:
    group = {"matcher": "startup", "hooks": [{"type": "command", "command": "nacre hook session-start"}]}
    assert without_hooks(json.dumps({"model": "m", "hooks": {"SessionStart": [group]}})) == '{"model": "m"}'


@pytest.mark.parametrize("odd", ["{}", '{"hooks": {}}', '{"hooks": []}', '{"hooks": {"Stop": [1, {"hooks": 3}]}}', ""])
def test_odd_settings_are_not_changed_when_there_is_nothing_of_ours(odd: str) -> None:
    assert without_hooks(odd) == odd


def test_hooks_use_the_same_store_space_and_key_as_the_server(elsewhere: Path) -> None:
    installer = ClaudeCodeInstaller(
        store="my memories.db", space="work", settings_path="", extra_env={"NACRE_KEY": "file:/my keys/k"}
    )
    installer.write_hooks()
    command = commands((elsewhere / ".claude" / "settings.json").read_text(), "Stop")[0]
    assert shlex.split(command)[-8:] == [
        "--store", str(elsewhere / "my memories.db"), "--space", "work", "--key", "file:/my keys/k", "hook", "stop",
    ]  # fmt: skip
    assert json.loads(installer.with_hooks("")) == json.loads((elsewhere / ".claude" / "settings.json").read_text())
    assert installer.remove_hooks() and not installer.remove_hooks()


@pytest.mark.parametrize(
    ("client", "file", "events", "timeout"),
    [
        ("claude-code", ".claude/settings.json", set(EVENTS), 30),
        ("codex", ".codex/hooks.json", {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop"}, 30),
        ("gemini-cli", ".gemini/settings.json", {"SessionStart", "BeforeAgent", "AfterAgent"}, 30_000),
    ],
)
def test_each_client_has_its_own_events_file_and_unit_of_time(
    client: str, file: str, events: set[str], timeout: int, elsewhere: Path
) -> None:
    installer = installer_for(client)(store="/data/m.db", settings_path="")
    assert isinstance(installer, HookInstaller)
    installer.write_hooks()
    written = json.loads((elsewhere / file).read_text())["hooks"]
    assert set(written) == events
    assert {group["hooks"][0]["timeout"] for groups in written.values() for group in groups} == {timeout}
    assert installer.remove_hooks() and not (elsewhere / file).exists()


def test_a_projects_hooks_name_nothing_of_this_machine(tmp_path: Path) -> None:
    for client in ("claude-code", "codex", "gemini-cli"):
        installer = installer_for(client)(folder=tmp_path, settings_path="")
        assert isinstance(installer, HookInstaller)
        assert installer.hook_command() == ("nacre",) and str(tmp_path) not in installer.with_hooks("")
