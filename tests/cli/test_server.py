"""The commands `user` and `token`; `serve` itself is in tests/server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import forked
from tests.command_line import CommandLine
from tests.mcp.agents import environment
from tests.server.running import PATIENCE, Caller


def test_a_token_is_made_once_listed_without_itself_and_revoked(nacre: CommandLine) -> None:
    assert "token create" in nacre("user", "add", "ada", "--note", "works at night").stderr
    secret = nacre.ok("token", "create", "--user", "ada", "--space", "team", "--space", "home", "--role", "reviewer",
                      "--expires", "90d")  # fmt: skip
    assert secret.startswith("nacre_")
    listed = nacre("token", "list", "-f", "json")
    assert secret.split("_", 2)[2] not in listed.stdout  # the last part may have a _ in it
    (token,) = nacre.json("token", "list")
    assert (token["user"], token["role"], token["spaces"]) == ("ada", "reviewer", ["team", "home"])
    assert token["expires_at"] - token["created_at"] == 90 * 86_400
    assert "Revoked" in nacre("token", "revoke", token["id"][:6]).stderr
    assert nacre.json("token", "list") == []
    assert nacre("token", "revoke", token["id"]).exit_code == 2


def test_a_user_that_is_not_there_is_added_with_its_first_token_and_removed_with_all(nacre: CommandLine) -> None:
    made = nacre("token", "create", "--user", "bea")
    assert "Added the user 'bea'" in made.stderr and "once" in made.stderr
    assert [each["name"] for each in nacre.json("user", "list")] == ["bea"]
    assert nacre("user", "add", "bea").exit_code == 2
    assert "1 token was revoked" in nacre("user", "remove", "bea", "-y").stderr
    assert nacre.json("user", "list") == [] and nacre.json("token", "list") == []
    assert nacre("user", "remove", "bea", "-y").exit_code == 2
    unasked = nacre("user", "remove", "bea")
    assert "There is no user 'bea'" in unasked.stderr and "Remove" not in unasked.output


def test_who_removes_the_last_admin_of_all_spaces_is_told_before_and_after(nacre: CommandLine) -> None:
    for words in (("ada", "admin"), ("bea", "writer"), ("cleo", "admin", "--space", "team")):
        nacre.ok("token", "create", "--user", words[0], "--role", *words[1:])
    nacre.ok("token", "create", "--user", "dan", "--role", "admin")
    assert "admin for all spaces" not in nacre("user", "remove", "dan", "--yes").stderr  # ada is left
    asked = nacre("user", "remove", "ada", input="n\n")
    assert asked.exit_code == 2 and "Nobody else has a token with the role admin for all spaces" in asked.stderr
    assert "1 token was revoked" not in asked.stderr
    removed = nacre("user", "remove", "ada", "--yes").stderr
    assert "No token with the role admin for all spaces is left" in removed
    assert "token create --user NAME --role admin" in removed.replace("\n", " ")
    nacre.ok("token", "create", "--user", "ada", "--role", "admin")
    (only,) = [each["id"] for each in nacre.json("token", "list") if each["user"] == "ada"]
    assert "No token with the role admin" in nacre("token", "revoke", only).stderr


def test_what_is_mistyped_is_refused(nacre: CommandLine) -> None:
    assert nacre("token", "create", "--user", "ada", "--role", "boss").exit_code == 2
    assert nacre("token", "create", "--user", "two words").exit_code == 2
    assert nacre("token", "create", "--user", "ada", "--expires", "90").exit_code == 2


def test_the_page_opens_the_space_that_commands_use_in_this_folder(tmp_path: Path) -> None:
    env = {**os.environ, **environment(tmp_path)}
    del env["NACRE_SPACE"]
    store = ("--store", str(tmp_path / "store.db"))
    assert forked.run([*store, "remember", "The pier closes at dusk"], env=env, cwd=tmp_path).returncode == 0
    web = forked.launcher([*store, "web", "--no-open"])
    page = subprocess.Popen(web, env=env, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert page.stdout is not None
        url, _, code = page.stdout.readline().strip().partition("/#login=")
        reply = Caller(url)("POST", "/session", {"code": code}, x_nacre_page="1")
        assert (reply.json["user"], reply.json["space"]) == ("web", "personal")
    finally:
        page.terminate()
        page.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("port", ["65536", "99999", "-1"])
def test_a_port_that_does_not_exist_is_refused(nacre: CommandLine, port: str) -> None:
    result = nacre("web", "--port", port)
    assert result.exit_code == 2 and "0<=x<=65535" in result.stderr
