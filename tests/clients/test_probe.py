"""A server is tried as a client would start it, and what went wrong is told."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from nacre.clients.installer import Launch
from nacre.clients.probe import probe
from nacre.errors import ConfigError

SERVER = """
import os, sys
from mcp.server import MCPServer
server = MCPServer("tiny")
@server.tool()
def where() -> str:
    return os.environ["NACRE_STORE"]
print("a word on stderr", file=sys.stderr)
server.run()
"""


@pytest.mark.slow
def test_a_server_that_answers_shows_its_tools(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    answer = probe(Launch(sys.executable, (str(script),), {"NACRE_STORE": "/x"}))
    assert (answer.server, answer.tools) == ("tiny", ("where",))
    assert 0 < answer.seconds < 30


def test_a_command_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r"did not answer.*Run `/no/such/nacre mcp` to see why\."):
        probe(Launch("/no/such/nacre", ("mcp",)))


def test_the_last_output_of_a_server_that_dies_is_reported() -> None:
    dying = "import sys; print('the store is locked', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ConfigError, match="it said: the store is locked"):
        probe(Launch(sys.executable, ("-c", dying)))


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    began = time.monotonic()
    with pytest.raises(ConfigError, match=r"no answer within 0\.5 s"):
        probe(Launch(sys.executable, ("-c", "import time; time.sleep(60)")), within=0.5)
    assert time.monotonic() - began < 15
