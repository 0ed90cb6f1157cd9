"""Each program's settings get the server in that program's own form, and nothing else changes."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from nacre.clients import installer as launching
from nacre.clients.claude_code import ClaudeCodeInstaller
from nacre.clients.files import BACKUP
from nacre.clients.installer import Installer
from nacre.clients.registry import INSTALLERS, ClaudeDesktopInstaller, installer_for
from nacre.errors import ConfigError, UnknownName

SAMPLES = {
    "claude-code": """{
  "numStartups": 41,
  "tipsHistory": {"new-user-warmup": 3},
  "projects": {
    "/home/ann/shop": {"allowedTools": [], "mcpServers": {}, "hasTrustDialogAccepted": true}
  },
  "mcpServers": {
    "tracker": {"type": "http", "url": "https://tracker.example/mcp"}
  },
  "userID": "u-1"
}
""",
    "claude-desktop": '{\n\t"globalShortcut": "Alt+Space",\n\t"mcpServers": {\n\t\t"files": {"command": "npx"}\n\t}\n}',
    "cursor": '{"mcpServers":{"db":{"command":"db-mcp","args":["--ro"]}}}',
    "vscode": """{
    // Servers for every workspace
    "inputs": [
        {"id": "token", "type": "promptString", "password": true}, // asked once
    ],
    "servers": {
        /* the issue tracker */
        "tracker": {"type": "http", "url": "https://tracker.example/mcp"},
    },
}
""",
    "windsurf": '{\r\n  "mcpServers": {\r\n    "maps": {"serverUrl": "https://maps.example"}\r\n  }\r\n}\r\n',
    "codex": """model = "gpt-5" # the usual
approval_policy = "on-request"

[mcp_servers.docs]
command = "docs-mcp"
args = ["--stdio"]

# colours
[tui]
theme = "dark"
""",
    "gemini-cli": """{
  // mine
  "theme": "GitHub",
  "mcpServers": {"web": {"httpUrl": "https://w.example"}}, // one
  "ui": {"hideTips": true}
}
""",
    "opencode": """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "web": {"type": "remote", "url": "https://w.example"}
  }
}
""",
}
KEY = {"vscode": "servers", "codex": "mcp_servers", "opencode": "mcp"}


def made(client: str, **given: object) -> Installer:
    return installer_for(client)(**{"settings_path": "", "store": "/data/m.db", **given})  # type: ignore[arg-type]


def standing(installer: Installer) -> dict[str, object]:
    return installer.notation.read(installer.path.read_text("utf-8"))


@pytest.mark.accepts("H18.4", "H18.10")
@pytest.mark.parametrize("client", SAMPLES)
def test_a_lived_in_file_keeps_all_it_has_gets_ours_once_and_gives_it_back(client: str) -> None:
    installer = made(client)
    installer.path.parent.mkdir(parents=True, exist_ok=True)
    installer.path.write_bytes(SAMPLES[client].encode())
    before = standing(installer)
    assert not installer.verify()

    assert installer.install() == installer.path
    once = installer.path.read_bytes()
    after, section = standing(installer), KEY.get(client, "mcpServers")
    assert after[section]["nacre"] == installer.build_mcp_block()  # type: ignore[index]
    del after[section]["nacre"]  # type: ignore[attr-defined]
    assert after == before
    assert all(comment in once.decode() for comment in re.findall(r"(?:(?<!:)//|#|/\*).*", SAMPLES[client]))
    assert installer.verify()

    installer.install()
    assert installer.path.read_bytes() == once
    assert installer.path.with_name(installer.path.name + BACKUP).read_bytes() == SAMPLES[client].encode()

    assert installer.uninstall()
    assert installer.path.read_bytes().decode() == SAMPLES[client]
    assert not installer.path.with_name(installer.path.name + BACKUP).exists()
    assert not installer.uninstall() and not installer.verify()


@pytest.mark.parametrize("client", INSTALLERS)
@pytest.mark.parametrize("content", [None, "", "\n"], ids=["missing", "empty", "blank"])
def test_a_file_that_is_missing_or_empty_is_made(client: str, content: str | None) -> None:
    installer = made(client)
    if content is not None:
        installer.path.parent.mkdir(parents=True, exist_ok=True)
        installer.path.write_text(content)
    installer.install()
    assert standing(installer) == installer.build_settings_block()
    assert installer.verify()
    assert installer.uninstall()
    folder = installer.path.parent
    left = [each.name for each in folder.iterdir() if each.is_file()] if folder.exists() else []
    assert left == ([] if content is None else [installer.path.name])
    assert content is None or installer.path.read_text() == content


@pytest.mark.parametrize("client", INSTALLERS)
def test_an_entry_of_our_name_that_starts_another_program_stays(client: str) -> None:
    installer = made(client)
    installer.install()
    own = installer.launch().command
    theirs = installer.path.read_text().replace(json.dumps(own)[1:-1], "/opt/mine/other-program")
    installer.path.write_text(theirs)
    assert not installer.uninstall()
    assert installer.path.read_text() == theirs


@pytest.mark.parametrize("client", ["cursor", "vscode", "codex"])
def test_the_folder_of_a_project_stays_though_nothing_else_is_in_it(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    installer = installer_for(client)(folder=project, settings_path="")
    installer.install()
    assert installer.uninstall() and list(project.iterdir()) == []


def test_the_folder_of_all_settings_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "empty"))
    installer = made("opencode")
    installer.install()
    assert installer.uninstall() and list((tmp_path / "empty").iterdir()) == []


REMOTE: dict[str, dict[str, object]] = {
    "claude-code": {"type": "http", "url": "URL", "headers": "HEADERS", "alwaysLoad": True},
    "cursor": {"url": "URL", "headers": "HEADERS"},
    "vscode": {"type": "http", "url": "URL", "headers": "HEADERS"},
    "windsurf": {"serverUrl": "URL", "headers": "HEADERS"},
    "codex": {"url": "URL", "http_headers": "HEADERS"},
    "gemini-cli": {"httpUrl": "URL", "headers": "HEADERS"},
    "opencode": {"type": "remote", "url": "URL", "headers": "HEADERS", "enabled": True},
}


@pytest.mark.parametrize("client", REMOTE)
def test_a_server_that_runs_already_is_written_as_each_client_reads_it(client: str) -> None:
    url, token = "http://127.0.0.1:8765/mcp", "a-token-of-a-test"
    installer = made(client, url=url, token=token)
    installer.install()
    headers = {"Authorization": f"Bearer {token}"}
    wanted = {key: {"URL": url, "HEADERS": headers}.get(str(value), value) for key, value in REMOTE[client].items()}
    assert installer.entry() == wanted
    assert os.name != "posix" or installer.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("client", [each for each in INSTALLERS if installer_for(each).project_path(Path())])
def test_a_projects_file_names_nothing_of_this_machine(client: str, tmp_path: Path) -> None:
    installer = made(client, folder=tmp_path, store="")
    assert installer.launch() == launching.Launch("nacre", ("mcp",))
    assert str(Path.home()) not in installer.config_text() and sys.prefix not in installer.config_text()


@pytest.mark.accepts("H18.5", "H18.10")
@pytest.mark.parametrize("client", INSTALLERS)
def test_a_broken_file_is_left_alone_unless_it_may_be_replaced(client: str) -> None:
    installer = made(client, overwrite_unparseable=False)
    installer.path.parent.mkdir(parents=True, exist_ok=True)
    installer.path.write_text("{ broken = ")
    assert not installer.verify()
    for act in (installer.install, installer.uninstall, installer.entry):
        with pytest.raises(ConfigError, match="cannot be read"):
            act()
    assert installer.path.read_text() == "{ broken = "
    replace(installer, overwrite_unparseable=True).install()
    assert installer.verify()
    assert installer.path.with_name(installer.path.name + BACKUP).read_text() == "{ broken = "


@pytest.mark.parametrize("client", INSTALLERS)
def test_what_the_settings_say_starts_what_was_meant(client: str) -> None:
    installer = made(client, space="work", profile="full", extra_env={"NACRE_KEY": "file:/k"})
    installer.install()
    assert installer.entry() == installer.build_mcp_block()
    launch = installer.launch()
    assert launch.args[-3:] == ("mcp", "--profile", "full")
    assert launch.env == {"NACRE_STORE": "/data/m.db", "NACRE_SPACE": "work", "NACRE_KEY": "file:/k"}
    assert Path(launch.command).is_absolute()


@pytest.mark.parametrize("client", INSTALLERS)
def test_a_server_of_another_name_is_left_alone(client: str) -> None:
    made(client).install()
    other = made(client, server_name="second brain", space="two")
    other.install()
    assert made(client).verify() and other.verify()
    other.uninstall()
    assert made(client).verify() and other.entry() is None


@pytest.mark.parametrize("client", INSTALLERS)
def test_what_is_printed_is_what_would_be_written(client: str, capsys: pytest.CaptureFixture[str]) -> None:
    installer = made(client)
    installer.print_config()
    assert installer.notation.read(capsys.readouterr().out) == installer.build_settings_block()
    assert not installer.path.exists()


def test_the_forms_of_the_clients_are_their_own(elsewhere: Path) -> None:
    assert made("vscode").build_mcp_block()["type"] == "stdio"
    opencode = made("opencode").build_mcp_block()
    assert (opencode["type"], opencode["enabled"], type(opencode["command"])) == ("local", True, list)
    made("codex").install()
    written = tomllib.loads((elsewhere / ".codex" / "config.toml").read_text())
    assert written["mcp_servers"]["nacre"]["env"] == {"NACRE_STORE": "/data/m.db"}
    # Codex goes on without a server that takes longer than a second, but does not start without a required one.
    assert written["mcp_servers"]["nacre"]["required"] is True
    assert "required" not in made("codex", folder=elsewhere).build_mcp_block()
    assert "required" not in made("codex", required=False).build_mcp_block()


@pytest.mark.accepts("H18.9")
@pytest.mark.parametrize(
    ("client", "user", "project"),
    [
        ("claude-code", ".claude.json", ".mcp.json"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("vscode", "config/Code/User/mcp.json", ".vscode/mcp.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", None),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("gemini-cli", ".gemini/settings.json", ".gemini/settings.json"),
        ("opencode", "config/opencode/opencode.json", "opencode.json"),
        ("claude-desktop", "config/Claude/claude_desktop_config.json", None),
    ],
)
def test_each_client_has_its_own_place(client: str, user: str, project: str | None, elsewhere: Path) -> None:
    folder = elsewhere / "shop"
    assert made(client).path == elsewhere / user
    assert installer_for(client).project_path(folder) == (None if project is None else folder / project)
    assert made(client, folder=folder).path == (elsewhere / user if project is None else folder / project)


@pytest.mark.accepts("H18.9")
def test_the_place_follows_the_system(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "config" / "claude").mkdir(parents=True)
    assert ClaudeDesktopInstaller().path.parent == elsewhere / "config" / "claude"
    (elsewhere / "config" / "Claude").mkdir()
    assert ClaudeDesktopInstaller().path.parent == elsewhere / "config" / "Claude"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ClaudeDesktopInstaller().path.parent == elsewhere / "Library" / "Application Support" / "Claude"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", str(elsewhere / "Roaming"))
    assert ClaudeDesktopInstaller().path == elsewhere / "Roaming" / "Claude" / "claude_desktop_config.json"


def test_the_place_follows_what_the_client_itself_was_told(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere / "cc"))
    monkeypatch.setenv("CODEX_HOME", str(elsewhere / "cx"))
    claude = ClaudeCodeInstaller(settings_path="")
    assert claude.path == elsewhere / "cc" / ".claude.json"
    assert claude.hooks_path == elsewhere / "cc" / "settings.json"
    assert made("codex").path == elsewhere / "cx" / "config.toml"
    (elsewhere / "opencode.jsonc").write_text("{}")
    assert made("opencode", folder=elsewhere).path.name == "opencode.jsonc"


def test_a_client_is_found_by_its_folder_or_its_command(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere / "bin"))
    assert not any(each.is_present() for each in INSTALLERS.values())
    (elsewhere / ".codex").mkdir()
    (elsewhere / "bin").mkdir()
    (elsewhere / "bin" / "gemini").write_text("#!/bin/sh\n")
    (elsewhere / "bin" / "gemini").chmod(0o755)
    (elsewhere / ".claude.json").write_text("{}")
    assert {name for name, each in INSTALLERS.items() if each.is_present()} == {"codex", "gemini-cli", "claude-code"}


def test_an_unknown_client_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'cursor'"):
        installer_for("cursr")


def test_the_claude_code_installer_has_the_promised_shape(elsewhere: Path) -> None:
    names = {each.name for each in fields(ClaudeCodeInstaller)}
    assert {"store", "space", "settings_path", "server_name", "extra_env", "overwrite_unparseable"} <= names
    installer = ClaudeCodeInstaller(store="~/m.db", space="claude_code")
    installer.path.parent.mkdir()
    installer.path.write_text("{not json")
    assert installer.install() == elsewhere / ".claude" / "settings.json"
    written = json.loads(installer.path.read_text())
    assert written["mcpServers"]["nacre"]["env"]["NACRE_STORE"] == str(elsewhere / "m.db")
    assert "recall" in ClaudeCodeInstaller.claudemd_snippet()
    with pytest.raises(ValueError, match="cannot be read"):
        installer.path.write_text("[1]")
        ClaudeCodeInstaller(overwrite_unparseable=False).install()


@pytest.mark.accepts("H18.6")
def test_a_project_is_meant_by_its_settings_path(elsewhere: Path) -> None:
    assert ClaudeCodeInstaller(settings_path=".claude/settings.json").install() == elsewhere / ".claude/settings.json"


def test_the_command_needs_no_path_and_imports_nothing_from_the_callers_folder(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin = elsewhere / "env" / "bin"
    bin.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(bin / "python"))
    assert launching.own_command() == (str(bin / "python"), "-P", "-m", "nacre")
    (bin / launching.SCRIPT).write_text("")
    (bin / launching.SCRIPT).chmod(0o755)
    assert launching.own_command() == (str(bin / launching.SCRIPT),)
    monkeypatch.setattr(sys, "executable", os.path.relpath(bin / "python"))
    assert launching.own_command() == (str(bin / launching.SCRIPT),)


@pytest.mark.parametrize(
    ("client", "before", "after"),
    [
        ("vscode", "the issue tracker", "ask Ann about it"),
        ("vscode", "asked once", "asked twice"),
        ("codex", "# colours", "# colors of the evening"),
    ],
)
def test_a_comment_that_was_edited_after_the_installation_stays(client: str, before: str, after: str) -> None:
    installer = made(client)
    installer.path.parent.mkdir(parents=True, exist_ok=True)
    installer.path.write_text(SAMPLES[client])
    installer.install()
    installer.path.write_text(installer.path.read_text().replace(before, after))
    assert installer.uninstall()
    assert after in installer.path.read_text() and not installer.verify()
