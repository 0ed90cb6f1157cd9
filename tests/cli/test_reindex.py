"""nacre store reindex: stopped half-way it loses nothing, and goes on where it ended."""

from __future__ import annotations

import os
import re
import signal
from tempfile import TemporaryFile

import pytest

from nacre import MemoryStore
from tests import forked
from tests.command_line import CommandLine
from tests.embedders import WordBag

MANY = 1_000  # four batches
PATIENCE = 120.0
GOES_ON = "What is computed stays; `nacre store reindex` goes on where this ended."


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    with MemoryStore(nacre.store, embedder=WordBag()) as store:
        store.remember_many(f"Note {number} of the harbour, berth {number % 97}" for number in range(MANY))
    return nacre


def stopped_half_way(how: signal.Signals) -> tuple[int, str]:
    read, write = os.pipe()
    nothing, held = os.pipe()  # what it waits for never comes
    with TemporaryFile() as err:
        process = forked.start(["reindex"], streams=(nothing, write, err.fileno()), module="tests.stopping")
        os.close(write)
        assert os.read(read, 100) == b"half-way\n"
        os.kill(process.pid, how)
        code = process.wait(PATIENCE)
        err.seek(0)
        result = err.read().decode()
    for file in (read, nothing, held):
        os.close(file)
    return code, result


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_second_call_goes_on_where_the_first_was_stopped(filled: CommandLine, how: signal.Signals) -> None:
    code, result = stopped_half_way(how)
    assert (code, result) == ((130, f"nacre: stopped. {GOES_ON}\n") if how == signal.SIGINT else (-9, ""))
    with MemoryStore(filled.store, embedder="hashing") as store:
        health = store.health(thorough=True)
        assert health.problems == () and store.count() == MANY
        assert [hit.memory.text[:9] for hit in store.recall("note 471", k=1, strategy="keyword")] == ["Note 471 "]
        left = store.health().pending
    assert 0 < left < MANY
    reindexed = re.search(r"Reindexed ([\d,]+) memories with hashing", filled("reindex").stderr)
    assert reindexed is not None and 0 < int(reindexed.group(1).replace(",", "")) <= left  # a recall may have done some
    with MemoryStore(filled.store, embedder="hashing") as store:
        assert (store.health(thorough=True).problems, store.health().pending) == ((), 0)
    assert f"Reindexed {MANY:,} memories" in filled("reindex").stderr


def test_another_embedder_than_that_of_the_settings_is_reported(nacre: CommandLine) -> None:
    with MemoryStore(nacre.store, embedder=WordBag()) as store:
        store.remember("x")
    assert "config set" not in nacre("reindex").stderr
    nacre.ok("config", "set", "embedder", "english")
    assert nacre("list").exit_code == 0
    assert "reindex" in nacre.ok("reindex", "--help") and "--embedder" in nacre.ok("reindex", "--help")
