"""The quickstart, typed into a shell in tmux, shows what its page of a session shows."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs.test_pages import script

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed; the session is not typed")


@pytest.mark.slow  # six processes that load the models
def test_the_quickstart_typed_into_a_shell_shows_what_the_page_shows() -> None:
    typed, blocks = script("terminal_session"), script("console_blocks")
    (written,) = blocks.BLOCK.findall(typed.PAGE.read_text("utf-8"))
    with TemporaryDirectory() as home:  # of a short name: a sentence with its path is wrapped elsewhere
        seen = typed.session(Path(home), Path(sys.executable).parent)
    assert blocks.masked(seen) == blocks.masked(written), "`python scripts/terminal_session.py` writes it anew"


def test_the_session_has_every_command_of_the_quickstart() -> None:
    typed = script("terminal_session")
    wanted = typed.commands(typed.QUICKSTART.read_text("utf-8"))
    assert len(wanted) >= 6 and typed.commands(typed.PAGE.read_text("utf-8")) == wanted
