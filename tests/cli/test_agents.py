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
    chosen = {"NACRE_STORE": str(nacre.store), "NACRE_SPACE": "default", "NACRE_EMBEDDER": "hashing"}
    assert entry["env"] == chosen
    assert "Wrote the server 'nacre' to" in result.stderr and "Restart Claude Code" in result.stderr
    again = nacre("install", "claude-code")
    assert again.exit_code == 0 and "already" in again.stderr


@pytest.mark.parametrize("extra", [(), ("--print",), ("--hooks",)])
def test_a_passphrase_in_the_place_of_its_name_is_refused_and_written_nowhere(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple[str, ...]
) -> None:
    passphrase = "-".join(("hunter", "of", "pearls"))
    monkeypatch.setenv("NACRE_KEY", passphrase)
    result = nacre("install", "claude-code", *extra)
    assert result.exit_code != 0 and "Write file:PATH, env:VARIABLE or keyring:NAME" in result.stderr
    assert passphrase not in result.output + result.stderr
    assert not (elsewhere / ".claude.json").exists() and not (elsewhere / ".claude").exists()


def test_a_folder_and_a_circle_of_links_are_unreadable_and_the_others_are_listed(
    nacre: CommandLine, elsewhere: Path
) -> None:
    (elsewhere / ".cursor" / "mcp.json").mkdir(parents=True)
    (elsewhere / ".gemini").mkdir()
    (elsewhere / ".gemini" / "settings.json").symlink_to("loop.json")
    (elsewhere / ".gemini" / "loop.json").symlink_to("settings.json")
    listed = {each["client"]: each["installed"] for each in json.loads(nacre.ok("install", "--list", "-f", "json"))}
    assert set(listed) == set(INSTALLERS)
    assert {client for client, state in listed.items() if state == "unreadable"} == {"cursor", "gemini-cli"}
    for client in ("cursor", "gemini-cli"):
        for words in (("install", client), ("install", client, "--force"), ("uninstall", client)):
            result = nacre(*words)
            assert result.exit_code != 0 and "Make it a file that you may read" in result.stderr
            assert len(result.stderr.splitlines()) == 1


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


def test_a_projects_file_names_no_store_and_the_users_never_a_projects(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_STORE")
    trusted(elsewhere / ".nacre.toml", 'store = "shop.db"\n')
    nacre.ok("install", "claude-code", "--project")
    nacre.ok("install", "claude-code")
    shared = {"command": "nacre", "args": ["mcp"], "alwaysLoad": True}  # which reads the project's settings by itself
    assert servers(elsewhere / ".mcp.json")["nacre"] == shared
    entry = servers(elsewhere / ".claude.json")["nacre"]
    assert entry["env"]["NACRE_STORE"] == str(elsewhere / "data" / "nacre" / "nacre.db")  # type: ignore[index]
    nacre.ok("install", "cursor", "--project", "--store", "shop.db")
    assert servers(elsewhere / ".cursor" / "mcp.json")["nacre"]["env"] == {"NACRE_STORE": "shop.db"}


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
    assert not (elsewhere / ".claude.json").exists()
    assert [each for each in elsewhere.rglob("*") if BACKUP in each.name] == []
    assert nacre("uninstall", "claude-code", "-y").exit_code == 1


def test_hooks_that_cannot_be_written_leave_all_as_it_was(nacre: CommandLine, elsewhere: Path) -> None:
    (elsewhere / ".claude").mkdir()
    (elsewhere / ".claude" / "settings.json").write_text("{")
    assert nacre("install", "claude-code", "--hooks", "--yes").exit_code == 2
    assert not (elsewhere / ".claude.json").exists()
    nacre.ok("install", "claude-code", "--hooks", "--force")
    assert "hooks" in json.loads((elsewhere / ".claude" / "settings.json").read_text())


def test_hooks_and_permissions_are_only_for_clients_that_have_them(nacre: CommandLine, elsewhere: Path) -> None:
    for client, option in (("cursor", "--hooks"), ("codex", "--allow")):
        result = nacre("install", client, option)
        assert result.exit_code == 2 and f"leave out {option}" in result.stderr
    assert not (elsewhere / ".cursor").exists() and not (elsewhere / ".codex").exists()


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli"])
def test_what_is_set_up_for_a_client_that_had_no_settings_goes_without_a_trace(
    client: str, nacre: CommandLine, elsewhere: Path
) -> None:
    before = set(elsewhere.rglob("*"))
    allow = ["--allow"] if client == "claude-code" else []
    result = nacre("install", client, "--hooks", "--write-guidance", *allow)
    assert result.exit_code == 0 and ("/hooks" in result.stderr) == (client == "codex")
    assert ("does not start without it" in result.stderr) == (client == "codex")
    if allow:
        allowed = json.loads((elsewhere / ".claude" / "settings.json").read_text())["permissions"]["allow"]
        assert allowed == ["mcp__nacre"]
    nacre.ok("uninstall", client)
    assert set(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("client", INSTALLERS)
def test_a_client_that_is_not_here_does_not_seem_to_be_afterwards(client: str, nacre: CommandLine) -> None:
    def listed() -> dict[str, object]:
        return next(
            each for each in json.loads(nacre.ok("install", "--list", "-f", "json")) if each["client"] == client
        )

    before = listed()
    nacre.ok("install", client)
    nacre.ok("uninstall", client)
    assert listed() == before


def test_guidance_that_another_client_reads_stays(nacre: CommandLine, elsewhere: Path) -> None:
    for client in ("codex", "opencode"):
        nacre.ok("install", client, "--project", "--write-guidance")
    said = nacre("uninstall", "opencode", "--project").stderr
    assert f"The guidance stays in {elsewhere / 'AGENTS.md'}, which is read by Codex, too." in said
    assert BEGIN in (elsewhere / "AGENTS.md").read_text()
    nacre.ok("uninstall", "codex", "--project")
    assert not (elsewhere / "AGENTS.md").exists()


def test_no_backup_keeps_a_token_after_an_uninstall(nacre: CommandLine, elsewhere: Path) -> None:
    token, file = "-".join(("a", "token", "of", "this", "test")), elsewhere / "token"
    file.write_text(token)
    remote = ("--http", "http://127.0.0.1:8765/mcp", "--token-file", str(file))
    for client, name in (("claude-code", ".claude.json"), ("codex", ".codex/config.toml")):
        settings = elsewhere / name
        settings.parent.mkdir(exist_ok=True)
        nacre.ok("install", client, *remote)
        nacre.ok("install", client, "--yes")
        backups = list(settings.parent.glob(f"{settings.name}{BACKUP}*"))
        assert [token in each.read_text() for each in backups] == [True]
        nacre.ok("uninstall", client)
        assert not settings.exists() and not list(elsewhere.rglob(f"*{BACKUP}*"))


def test_a_backup_loses_only_what_was_this_programs(nacre: CommandLine, elsewhere: Path) -> None:
    settings, token = elsewhere / ".cursor" / "mcp.json", "-".join(("a", "token", "of", "this", "test"))
    settings.parent.mkdir()
    other, own = {"command": "other-memory"}, {"url": "http://x/mcp", "headers": {"Authorization": f"Bearer {token}"}}
    settings.write_text(json.dumps({"mcpServers": {"nacre": other}}))
    nacre.ok("install", "cursor", "--yes")
    settings.write_text(json.dumps({"mcpServers": {"nacre": own, "beside": other}, "theme": "dark"}))
    nacre.ok("install", "cursor", "--yes")
    settings.write_text(json.dumps({"mcpServers": {"nacre": own, "beside": other}, "theme": "light"}))
    removed = nacre("uninstall", "cursor")
    first, second = sorted(settings.parent.glob(f"{settings.name}{BACKUP}*"))
    assert removed.exit_code == 0 and all(f"{each} stays" in removed.stderr for each in (first, second))
    assert json.loads(first.read_text()) == {"mcpServers": {"nacre": other}}
    assert json.loads(second.read_text()) == {"mcpServers": {"beside": other}, "theme": "dark"}


def test_an_unreadable_file_is_no_reason_to_advise_what_uninstall_does_not_have(
    nacre: CommandLine, elsewhere: Path
) -> None:
    nacre.ok("install", "claude-code", "--hooks")
    (elsewhere / ".claude.json").write_text("{half")
    result = nacre("uninstall", "claude-code")
    assert result.exit_code == 2 and "--force" not in result.stderr and "in an editor" in result.stderr
    assert "Took the hooks out of" in result.stderr and not (elsewhere / ".claude").exists()


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765/mcp"),
        ("localhost:8765/mcp", "http://localhost:8765/mcp"),
        ("ftp://x", "http://x/mcp"),
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765/mcp"),
        ("http://127.0.0.1:8765/", "http://127.0.0.1:8765/mcp"),
        ("http://127.0.0.1:99999/mcp", "Port out of range"),
        ("ada:word@host", "does not belong in the address"),
        ("http:///mcp", "is not the address of a server"),
        ("http://a b/mcp", "is not the address of a server"),
        ("", "is not the address of a server"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(
    nacre: CommandLine, elsewhere: Path, address: str, advice: str
) -> None:
    result = nacre("install", "cursor", "--http", address)
    assert result.exit_code == 2 and advice in result.stderr and "word" not in result.stderr.replace("password", "")
    assert not (elsewhere / ".cursor").exists()


def test_hooks_beside_a_server_need_a_file_that_is_named(nacre: CommandLine, elsewhere: Path) -> None:
    words = ("install", "codex", "--hooks", "--http", "http://127.0.0.1:8765/mcp")
    refused = nacre(*words)
    assert refused.exit_code == 2 and "hooks cannot ask a server" in refused.stderr
    assert not (elsewhere / ".codex").exists()
    result = nacre("--store", str(elsewhere / "shared.db"), *words)
    assert result.exit_code == 0 and f"Hooks use {elsewhere / 'shared.db'}" in result.stderr
    assert str(elsewhere / "shared.db") in (elsewhere / ".codex" / "hooks.json").read_text()


def files_in(folder: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_a_dry_run_shows_each_file_with_what_changes_in_it_and_writes_nothing(
    nacre: CommandLine, elsewhere: Path
) -> None:
    (elsewhere / ".claude.json").write_text('{\n  "theme": "dark"\n}\n')
    before = files_in(elsewhere)
    words = ("install", "claude-code", "--hooks", "--allow", "--write-guidance")
    would = nacre(*words, "--dry-run")
    assert would.exit_code == 0, would.output
    assert files_in(elsewhere) == before
    assert f"{elsewhere / '.claude.json'} would be changed:" in would.stderr
    assert f"{elsewhere / '.claude' / 'settings.json'} would be made:" in would.stderr
    assert "3 files would be written; nothing was changed." in would.stderr
    assert '-  "theme": "dark"\n+  "theme": "dark",' in would.stdout and '+    "nacre": {' in would.stdout
    assert "mcp__nacre" in would.stdout and BEGIN in would.stdout
    nacre.ok(*words)
    again = nacre(*words, "--dry-run")
    assert "0 files would be written" in again.stderr and again.stdout == ""


@pytest.mark.usefixtures("elsewhere")
def test_a_dry_run_shows_no_token_and_says_where_nothing_else_changes(nacre: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "token"
    url = ("--http", "http://127.0.0.1:8765/mcp", "--token-file", str(file))
    first, second = ("a1" * 20, "b2" * 20)
    file.write_text(first)
    would = nacre("install", "cursor", *url, "--dry-run")
    assert "Bearer TOKEN" in would.stdout and first not in would.output
    nacre.ok("install", "cursor", *url)
    file.write_text(second)
    would = nacre("install", "cursor", *url, "--dry-run")
    assert first not in would.output and second not in would.output
    assert "(only a token or password changes)" in would.stdout


@pytest.mark.parametrize("client", ["cursor", "codex"])
@pytest.mark.parametrize("form", ["postgresql://u:{}@db.example/x", "postgresql://db.example/x?user=u&password={}"])
def test_a_dry_run_shows_no_password_that_a_file_has_or_gets(nacre: CommandLine, client: str, form: str) -> None:
    nacre.ok("--store", form.format("first-Secret"), "install", client, "--yes")
    for store in (form.format("second-Secret"), "/kept/here.db"):
        would = nacre("--store", store, "install", client, "--dry-run")
        assert would.exit_code == 0 and "Secret" not in would.output and "1 file would be written" in would.output
    assert "db.example" in would.stdout, "the rest of the line is shown"


def test_a_dry_run_refuses_a_file_that_cannot_be_read(nacre: CommandLine, elsewhere: Path) -> None:
    (elsewhere / ".claude.json").write_text("{ broken")
    refused = nacre("install", "claude-code", "--dry-run")
    assert refused.exit_code == 2 and "cannot be read" in refused.stderr
    forced = nacre("install", "claude-code", "--dry-run", "--force")
    assert forced.exit_code == 0 and "-{ broken" in forced.stdout
    assert (elsewhere / ".claude.json").read_text() == "{ broken"


def test_all_that_would_be_written_is_printed_each_file_once(nacre: CommandLine, elsewhere: Path) -> None:
    before = sorted(elsewhere.rglob("*"))
    result = nacre("install", "claude-code", "--print", "--hooks", "--allow", "--write-guidance")
    assert sorted(elsewhere.rglob("*")) == before
    named = [line.removeprefix("For ").rstrip(":") for line in result.stderr.splitlines()]
    files = [elsewhere / ".claude.json", elsewhere / ".claude/settings.json", elsewhere / ".claude/CLAUDE.md"]
    assert named == [str(file) for file in files]
    nacre.ok("install", "claude-code", "--hooks", "--allow", "--write-guidance")
    assert result.stdout == "".join(f"{file.read_text().rstrip()}\n" for file in files)


def test_a_server_that_runs_already_is_set_up_with_its_token(nacre: CommandLine, elsewhere: Path) -> None:
    token, file = "-".join(("a", "token", "of", "this", "test")), elsewhere / "token"
    remote = ("--http", "http://127.0.0.1:8765/mcp", "--token-file", str(file))
    assert "there is no" in nacre("install", "codex", *remote).stderr
    file.write_text(token)
    assert token not in nacre.ok("install", "codex", *remote, "--print")
    nacre.ok("install", "codex", *remote)
    (entry,) = tomllib.loads((elsewhere / ".codex" / "config.toml").read_text())["mcp_servers"].values()
    assert entry == {"url": remote[1], "http_headers": {"Authorization": f"Bearer {token}"}}
    for words in (("cursor", *remote, "--project"), ("claude-desktop", *remote), ("cursor", *remote[2:])):
        assert nacre("install", *words).exit_code == 2


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


def test_what_this_command_wrote_itself_is_not_kept_as_an_old_file(nacre: CommandLine, elsewhere: Path) -> None:
    settings = elsewhere / ".claude" / "settings.json"
    assert "old file" not in nacre("install", "claude-code", "--hooks", "--allow").stderr
    assert [each.name for each in settings.parent.glob("settings*")] == ["settings.json"]
    nacre.ok("uninstall", "claude-code")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"model": "opus"}')
    said = nacre("install", "claude-code", "--hooks", "--allow").stderr
    assert said.count("The old file is kept as settings.json.nacre-backup.") == 1
    kept = list(settings.parent.glob("settings*backup*"))
    assert [each.read_text() for each in kept] == ['{"model": "opus"}']


def test_codex_need_not_wait_for_the_server(nacre: CommandLine, elsewhere: Path) -> None:
    assert "--not-required` lets it start" in nacre("install", "codex").stderr
    said = nacre("install", "codex", "--not-required", "--yes").stderr
    assert "does not start without" not in said
    assert "required" not in (elsewhere / ".codex" / "config.toml").read_text()
    refused = nacre("install", "cursor", "--not-required")
    assert refused.exit_code == 2 and "leave out --not-required" in refused.stderr


@pytest.mark.parametrize("scheme", ["http://127.0.0.1:8790", "postgresql://ada:{}@db/mem", ":memory:"])
def test_hooks_are_refused_where_the_store_is_not_a_file(
    nacre: CommandLine, elsewhere: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = "-".join(("not", "a", "real", "one"))
    monkeypatch.setenv("NACRE_STORE", scheme.format(password))
    remote = ("--http", "http://127.0.0.1:8790/mcp")  # the hooks do not use it
    for words in (("install", "codex", "--hooks", "--print", *remote), ("hook", "status"), ("hook", "end")):
        result = nacre(*words)
        assert result.exit_code == 2 and "only with a store in a file" in result.stderr
        assert password not in result.output
    assert not (elsewhere / ".codex").exists()


def test_a_store_on_a_server_is_reached_by_its_address_and_not_started(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_STORE", "http://127.0.0.1:8790/")
    advice = "`nacre install cursor --http http://127.0.0.1:8790/mcp --token-file FILE`"
    result = nacre("install", "cursor")
    assert result.exit_code == 2 and advice in " ".join(result.stderr.split())
    assert "Name a file with --store" in nacre("install", "claude-desktop").stderr
    assert not (elsewhere / ".cursor").exists()
    (elsewhere / "token").write_text("-".join(("a", "token", "of", "this", "test")))
    connected = nacre("install", "cursor", "--http", "http://127.0.0.1:8790/mcp", "--token-file", "token")
    assert connected.exit_code == 0 and "Restart Cursor" in connected.stderr
    nacre.ok("uninstall", "cursor")


PASSWORD = "-".join(("not", "a", "real", "one"))


@pytest.mark.parametrize(
    ("address", "shown", "printed"),
    [
        (f"postgresql://ada:{PASSWORD}@db/mem", "postgresql://ada@db/mem", "postgresql://ada:PASSWORD@db/mem"),
        (
            f"postgresql://db/mem?user=ada&password={PASSWORD}",
            "postgresql://db/mem?user=ada&password=…",
            "postgresql://db/mem?user=ada&password=PASSWORD",
        ),
    ],
)
def test_the_password_of_a_database_is_in_no_shared_file_and_no_message(
    nacre: CommandLine, elsewhere: Path, address: str, shown: str, printed: str
) -> None:
    refused = nacre("install", "cursor", "--project", "--store", address)
    assert refused.exit_code == 2 and "leave out --project" in refused.stderr and PASSWORD not in refused.output
    result = nacre("install", "cursor", "--store", address)
    file = elsewhere / ".cursor" / "mcp.json"
    assert result.exit_code == 0 and PASSWORD not in result.output and shown in result.output
    assert file.stat().st_mode & 0o077 == 0 and servers(file)["nacre"]["env"]["NACRE_STORE"] == address  # type: ignore[index]
    listed = nacre("install", "cursor", "--store", address, "--print")
    assert PASSWORD not in listed.output and printed in listed.stdout
    for words in (("config", "list"), ("config", "list", "-f", "json"), ("config", "set", "store", address)):
        told = nacre("--store", address, *words)
        assert told.exit_code == 0 and PASSWORD not in told.output and shown in told.output
    nacre.ok("config", "set", "store", address, "--project")
    assert (elsewhere / ".nacre.toml").stat().st_mode & 0o077 == 0


def test_the_password_of_a_server_is_in_no_message(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_STORE", f"http://ada:{PASSWORD}@127.0.0.1:1")
    monkeypatch.setattr("nacre.client.PAUSES", (0.0,))
    for words in (("install", "cursor"), ("install", "cursor", "--project", "--print"), ("list",), ("doctor",)):
        result = nacre(*words)
        assert result.exit_code != 0 and "http://ada@127.0.0.1:1" in result.stderr and PASSWORD not in result.output
    assert "that `nacre serve` runs there" in nacre("list").stderr


@pytest.mark.parametrize("store", ["https://memory.example.org", "mysql://h/db"])
@pytest.mark.parametrize("words", [("--project", "--print"), ("--print",), ("--project",)])
def test_a_store_that_the_client_cannot_use_is_refused_before_anything_is_printed(
    nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, store: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NACRE_STORE", store)
    result = nacre("install", "cursor", *words)
    assert result.exit_code == 2 and result.stdout == "" and "For " not in result.stderr
    remedy = "`nacre install cursor --http https://memory.example.org/mcp --token-file FILE`"
    names = "a file or a folder, a database as postgresql://USER@HOST/DATABASE, or a server as https://HOST"
    assert (remedy if store.startswith("https") else names) in " ".join(result.stderr.split())
    assert not list(elsewhere.rglob("mcp.json"))
