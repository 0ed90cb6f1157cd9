"""What one client remembers, every other one knows: real MCP servers, hooks and commands, each a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.hooks.hook_client import Client
from tests.mcp.agents import Agent, environment, talking
from tests.transcripts import turn, write_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt" or shutil.which("git") is None, reason="needs git and POSIX processes"),
]

PORT = "The staging database listens on port 5433 of the host heron."
QUESTION = "Which port does the staging database listen on?"
TABS = "The user prefers tabs to spaces in every file."


def git(folder: Path, *words: str) -> None:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, **{f"GIT_{who}_{what}": "n@example.org" for who in ("AUTHOR", "COMMITTER")
                                               for what in ("NAME", "EMAIL")}}  # fmt: skip
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **own})


def make_repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"first of {folder.name}")
    return folder


class Machine:
    """One user with one store; each call is another process."""

    def __init__(self, home: Path, store: Path, embedder: str = "hashing") -> None:
        self.home, self.store, self.embedder = home, store, embedder

    @contextmanager
    def agent(self, folder: Path, *options: str) -> Iterator[Agent]:
        import sys

        from mcp.client.stdio import stdio_client

        from mcp import StdioServerParameters

        words = ["-m", "nacre", "--store", str(self.store), "mcp", *options]
        own = environment(self.home, NACRE_EMBEDDER=self.embedder, XDG_STATE_HOME=str(self.home / "state"))
        del own["NACRE_SPACE"]
        started = StdioServerParameters(command=sys.executable, args=words, env=own, cwd=str(folder))
        with talking(stdio_client(started)) as agent:
            yield agent

    def told(self, folder: Path, tool: str, /, **arguments: object) -> str:
        """In a server process of its own, as clients do that start one for each call."""
        with self.agent(folder) as agent:
            return agent.told(tool, **arguments)

    @contextmanager
    def client(self, folder: Path) -> Iterator[Client]:
        found = Client(self.store, folder, environment={"NACRE_EMBEDDER": self.embedder})
        yield found
        found.end()


@pytest.fixture
def machine(nacre: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.delenv("NACRE_SPACE")
    return Machine(elsewhere, nacre.store)


def test_what_an_agent_remembers_is_injected_in_the_next_session_and_what_is_said_is_recalled(
    machine: Machine, tmp_path: Path
) -> None:
    shop = make_repository(tmp_path / "shop")
    assert "in the space shop-" in machine.told(shop, "remember", text=PORT)
    with machine.client(shop) as client:
        injected = client.context("prompt", prompt=QUESTION)
        assert PORT in injected and "space shop-" in injected
        said = "We decided that invoices are sent by the service named quail."
        write_lines(client.transcript, [turn(1, said, cwd=str(shop))])
        client.call("stop")
    recalled = machine.told(shop, "recall", query="Which service sends invoices?")
    assert said in recalled and "space shop-" in recalled


def test_clones_and_worktrees_share_and_other_projects_do_not(machine: Machine, tmp_path: Path) -> None:
    shop, farm = make_repository(tmp_path / "shop"), make_repository(tmp_path / "farm")
    git(shop, "worktree", "add", "-q", "../tree", "-b", "side")
    git(tmp_path, "clone", "-q", str(shop), "copy")
    machine.told(shop, "remember", text=PORT)
    machine.told(farm, "remember", text=TABS, scope="personal")
    for folder in (tmp_path / "tree", tmp_path / "copy"):
        assert PORT in machine.told(folder, "recall", query=QUESTION)
    assert PORT not in machine.told(farm, "recall", query=QUESTION)
    for folder in (shop, farm, tmp_path):
        recalled = machine.told(folder, "recall", query="Does the user prefer tabs or spaces?")
        assert TABS in recalled and "space personal" in recalled
    with machine.client(farm) as client:
        assert PORT not in client.context("prompt", prompt=QUESTION)
        assert TABS in client.context("prompt", prompt="Does the user prefer tabs or spaces in a file?")


def test_a_chosen_space_is_used_alone_by_a_server(machine: Machine, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop")
    machine.told(shop, "remember", text=TABS, scope="personal")
    with machine.agent(shop, "--space", "mine") as agent:
        assert "in the space mine" in agent.told("remember", text=PORT)
        assert TABS not in agent.told("recall", query="Does the user prefer tabs or spaces?")
        assert "alone; repeat without `scope`" in agent.refused("remember", text=TABS, scope="personal")
    assert PORT not in machine.told(shop, "recall", query=QUESTION)


def test_a_server_edits_forgets_and_undoes_in_either_space_and_suggests_personal(
    machine: Machine, tmp_path: Path
) -> None:
    shop = make_repository(tmp_path / "shop")
    with machine.agent(shop, "--profile", "full") as agent:
        assert 'scope "personal"' in agent.told("remember", text=TABS)
        told = agent.told("remember", text="The user likes short answers.", scope="personal")
        assert "in the space personal" in told
        id = told.split("stored: ")[1].split()[0]
        agent.told("edit", id=id, text="The user likes very short answers.")
        assert "very short" in agent.told("history", id=id)
        agent.told("forget", ids=[id])
        assert "very short" not in agent.told("list")
        agent.told("history", undo="last")
        assert "very short" in agent.told("list")


def test_the_first_call_of_a_process_is_answered_by_meaning(machine: Machine, tmp_path: Path) -> None:
    """As in a long-lived one: the shipped model is waited for."""
    machine.embedder = "english"
    shop = make_repository(tmp_path / "shop")
    note = "Deployments are frozen while the accountants close the quarter."
    machine.told(shop, "remember", text=note)
    question = "Why is nobody allowed to ship while accounting is busy?"  # fits fairly before the model has read it
    recalled = machine.told(shop, "recall", query=question)
    assert note in recalled and "by their words" not in recalled
    with machine.client(shop) as client:
        assert note in client.context("prompt", prompt=question)
