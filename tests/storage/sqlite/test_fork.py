"""A process that is forked while another thread of its parent is in the middle of something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from string import Template

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Another thread of the parent stays inside `held` until the child has ended, or a moment where the fork waits for it.
PROGRAM = """
import os, sys, threading, warnings
from contextlib import ExitStack
warnings.simplefilter("ignore", DeprecationWarning)  # newer interpreters warn of every fork beside threads
from nacre import MemoryStore
from nacre.errors import StoreInUseAtFork
from nacre.storage.sqlite import connection

connection.FORK_SECONDS = $seconds
store = MemoryStore(sys.argv[1], embedder="hashing")
store.remember("from the parent before", id="first")
store.recall("parent")
inside, ended = threading.Event(), threading.Event()

def hold():
    with ExitStack() as stack:
        for held in $held:
            stack.enter_context(held)
        inside.set()
        ended.wait(0.2 if $seconds else 60)

thread = threading.Thread(target=hold)
thread.start()
inside.wait(60)
$before
child = os.fork()
if child == 0:
    try:
        $child
    except BaseException as error:
        print(type(error).__name__, error, flush=True)
        os._exit(1)
    os._exit(0)
status = os.waitpid(child, 0)[1]
$after
ended.set()
thread.join()
store.remember("from the parent after")
assert store.health(thorough=True).problems == ()
store.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""
USES_THE_STORE = """
store.remember("from the child")
assert len(store.recall("child parent", k=5)) == 2
"""


def run(path: Path, child: str, *, held: str = "()", seconds: float = 0.0, before: str = "", after: str = "") -> None:
    body = child.strip().replace("\n", "\n        ")
    program = Template(PROGRAM).substitute(held=held, child=body, seconds=seconds, before=before, after=after)
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.slow
def test_a_fork_waits_until_another_thread_has_ended_its_transaction(tmp_path: Path) -> None:
    run(tmp_path / "s.db", USES_THE_STORE, held="[store.backend.transaction()]", seconds=60.0)


@pytest.mark.slow
def test_a_child_that_was_forked_during_a_long_transaction_says_at_once_that_it_cannot_use_the_store(
    tmp_path: Path,
) -> None:
    child = """
for attempt in (store.remember, MemoryStore):
    try:
        attempt(sys.argv[1])
        os._exit(2)
    except StoreInUseAtFork as error:
        assert "spawn" in str(error)
with MemoryStore(sys.argv[1] + "-other", embedder="hashing") as other:
    other.remember("another file")
"""
    run(tmp_path / "s.db", child, held="[store.backend.transaction()]")


@pytest.mark.slow
def test_a_child_does_not_wait_for_locks_that_another_thread_held(tmp_path: Path) -> None:
    locks = "[store.backend._connections._lock, store._parts.catch_up._lock]"
    run(tmp_path / "s.db", USES_THE_STORE, held=locks)


@pytest.mark.slow
def test_a_child_that_forks_in_the_middle_of_its_own_transaction_is_told_so(tmp_path: Path) -> None:
    child = """
try:
    store.count()
except StoreInUseAtFork:
    os._exit(0)
os._exit(2)
"""
    before = "transaction = store.backend.transaction(); transaction.__enter__()"
    run(tmp_path / "s.db", child, before=before, after="transaction.__exit__(None, None, None)")


@pytest.mark.slow
def test_a_child_writes_to_its_copy_of_a_store_in_memory() -> None:
    run(Path(":memory:"), USES_THE_STORE, held="[store.backend.transaction()]")
