"""What scripts/mutate.py runs inside pytest: notes which segments each test enters, and runs tests against mutants.

A process of pytest collects the tests once. For each mutant it forks; the child gets new code for the functions that
the mutant changes, and runs the tests that were chosen until one fails. That spares each mutant the seconds in which
the tests are imported. The file holds the mutant as well, for processes that tests start. A mutant of what runs on
import (a constant, a default, a table) is run by a process of its own. `MUTATION_JOBS` names the file with the jobs,
`MUTATION_TRACE` the folder for the notes; each process of pytest has one of them.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

JOBS, TRACE = os.environ.get("MUTATION_JOBS", ""), os.environ.get("MUTATION_TRACE", "")
SINGLE = os.environ.get("MUTATION_SINGLE", "")  # where a process for one mutant says what its tests do
SERVER_VARIABLE = "NACRE_TEST_POSTGRES"  # of tests/postgres_server.py
SERVER = os.environ.get(SERVER_VARIABLE, "")  # the address of its superuser
LEAST_PATIENCE, PATIENCE = 15.0, 10.0  # seconds for a test, and times its usual duration: the machine may be busy
SLOWEST = 120.0  # seconds for a slow test, whose usual duration is not known
STARTING = 90.0  # seconds until a process of its own has collected its tests
MARKS = "nacre.mutation_mark"  # notes which segments are entered
MARK_MODULE = """
import atexit, json, os
seen = set()
entered = seen.add

def write():
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and seen and OWNER != os.getpid():
        try:
            with open(f"{FOLDER}/process.{os.getpid()}.jsonl", "a") as out:
                out.write(json.dumps([test, sorted(seen)]) + "\\n")
        except OSError:
            pass

OWNER = 0  # the process of pytest itself
FOLDER = %r
atexit.register(write)
"""


# Tracing


class Tracer:
    """Writes a line for each test: its name, its seconds, whether it passed, and the segments that it entered."""

    def __init__(self, folder: Path) -> None:
        marks: Any = import_module(MARKS)  # written into the copy of the source
        self.seen: set[str] = marks.seen
        marks.OWNER = os.getpid()
        self.out = (folder / f"tests.{os.getpid()}.jsonl").open("a")
        self.failed = set[str]()

    def pytest_collection_finish(self) -> None:
        self.write("", 0.0)  # what importing the tests enters

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.seen.clear()
        started = time.perf_counter()
        yield
        self.write(item.nodeid, time.perf_counter() - started)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def write(self, name: str, seconds: float) -> None:
        row: dict[str, Any] = {"test": name, "seconds": seconds, "passed": name not in self.failed}
        row["entered"] = sorted(self.seen)
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()


# Mutants


class Runner:
    """Runs the jobs in place of the tests that were collected."""

    def __init__(self, jobs: Path) -> None:
        self.jobs: list[dict[str, Any]] = json.loads(jobs.read_text())
        self.results = jobs.with_suffix(".results")
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for job in self.jobs:
            child, outcome, test, ran = self.run(job, items)
            remove_databases(child)
            with self.results.open("a") as out:
                out.write(json.dumps({"key": job["key"], "outcome": outcome, "test": test, "ran": ran}) + "\n")
        return True

    def run(self, job: dict[str, Any], items: dict[str, pytest.Item]) -> tuple[int, str, str, int]:
        file = Path("src/nacre") / job["path"]
        original = file.read_bytes()
        changed = original[: job["start"]] + job["new"].encode() + original[job["end"] :]
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()  # its time may be that of the mutant to the second
        file.write_bytes(changed)
        try:
            codes = swaps(original, changed, str(file.resolve())) if job["swappable"] else None
            codes = [] if changed == original else codes
            chosen = [items[name] for name, _ in job["tests"] if name in items]
            child, reading = self.process(job) if codes is None else self.fork(chosen, codes)
            result = watch(child, reading, job, STARTING if codes is None else LEAST_PATIENCE)
            if result[0] == "survived" and job.get("slow") and changed != original:
                remove_databases(child)
                child, reading = self.process({**job, "tests": [(name, SLOWEST) for name in job["slow"]]}, "slow")
                result = watch(child, reading, job, STARTING, SLOWEST)
                result = ("noticed slowly", *result[1:]) if result[0] == "noticed" else result
            return child, *result
        except SyntaxError as error:
            return 0, "invalid", str(error)[:100], 0
        finally:
            file.write_bytes(original)

    def fork(self, chosen: Sequence[pytest.Item], codes: Codes) -> tuple[int, int]:
        reading, writing = os.pipe()
        if child := os.fork():
            os.close(writing)
            return child, reading
        os.setsid()
        status = 2
        try:
            swap(codes)
            for number, item in enumerate(chosen):
                os.write(writing, f"{item.nodeid}\n".encode())
                following = chosen[number + 1] if number + 1 < len(chosen) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.failed:
                    break
            status = 1 if self.failed else 0
        finally:
            os._exit(status)

    def process(self, job: dict[str, Any], marker: str = "not slow") -> tuple[int, int]:
        reading, writing = os.pipe()
        names = self.results.with_suffix(".names")
        names.write_text("\n".join(name for name, _ in job["tests"]))
        command = [
            sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-m", marker, "-p", "no:cacheprovider",
            "-p", "mutation_plugin", f"--basetemp={names.with_suffix('.single')}", f"@{names}",
        ]  # fmt: skip
        known = {**os.environ, "MUTATION_SINGLE": str(writing), "MUTATION_JOBS": ""}
        started = subprocess.Popen(
            command, env=known, pass_fds=[writing], start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(writing)
        started.returncode = 0  # `watch` waits for it
        return started.pid, reading


class StartReporter:
    """In a process for one mutant: says which test begins."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        os.write(int(SINGLE), f"{nodeid}\n".encode())


def watch(
    child: int, reading: int, job: dict[str, Any], patience: float, least: float = LEAST_PATIENCE
) -> tuple[str, str, int]:
    """What became of the tests of a process: `noticed` with the test that failed, `timeout` or `survived`, and how many
    tests began. A process that ends without a test's failure was ended by the mutant, which counts as noticed."""
    usual = dict(job["tests"])
    received, waiting = b"", selectors.DefaultSelector()
    waiting.register(reading, selectors.EVENT_READ)
    limit, outcome = time.monotonic() + patience, ""
    while not outcome:
        if not waiting.select(max(0.0, limit - time.monotonic())):
            outcome = "timeout"
        elif not (more := os.read(reading, 65536)):
            outcome = "ended"
        else:
            received += more
            name = received.decode().splitlines()[-1]
            limit = time.monotonic() + least + PATIENCE * usual.get(name, 0.0)
    os.close(reading)
    waiting.close()
    names = received.decode().splitlines()
    code = ended(child, outcome == "timeout")
    if outcome == "ended":
        outcome = "survived" if code in (0, 5) else "noticed"  # 5: no test was collected
    return outcome, "" if outcome == "survived" else (names[-1] if names else "on import"), len(names)


def ended(child: int, at_once: bool) -> int:
    """The exit status. What the child started ends with it; it has a moment to end by itself."""
    limit = time.monotonic() + (0 if at_once else LEAST_PATIENCE)
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < limit:
        time.sleep(0.01)
        done, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def remove_databases(process: int) -> None:
    """Those that the tests of a process made on the server that all share, as tests/postgres_server.py names them."""
    if not SERVER or not process:
        return
    import psycopg

    with psycopg.connect(SERVER, autocommit=True) as connection:
        names = connection.execute(
            "SELECT datname FROM pg_database WHERE datname ~ %s", (f"^nacre_{process}(_|$)",)
        ).fetchall()
        for (name,) in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


# New code for functions


Codes = list[tuple[tuple[str, str, int], CodeType]]


def swaps(original: bytes, changed: bytes, name: str) -> Codes | None:
    """File, name and first line of each function that differs, with its new code; None where that is not enough."""
    old, new = compile(original, name, "exec", dont_inherit=True), compile(changed, name, "exec", dont_inherit=True)
    codes: Codes = []
    return codes if pair(old, new, codes, outermost=True) and codes else None


def pair(old: CodeType, new: CodeType, codes: Codes, *, outermost: bool) -> bool:
    """Whether only functions differ. Of nested functions the outer one is swapped, which has the inner as constants."""
    inner = [each for each in old.co_consts if isinstance(each, CodeType)]
    others = [each for each in new.co_consts if isinstance(each, CodeType)]
    if outermost or not old.co_flags & 0x1:  # neither a module nor a class: those have no fast locals
        if [each.co_name for each in inner] != [each.co_name for each in others] or not same(old, new):
            return False
        return all(pair(one, other, codes, outermost=False) for one, other in zip(inner, others, strict=True))
    if not same(old, new) or not all(map(equal, inner, others)) or len(inner) != len(others):
        if old.co_freevars != new.co_freevars:
            return False
        codes.append(((old.co_filename, old.co_qualname, old.co_firstlineno), new))
    return True


def same(old: CodeType, new: CodeType) -> bool:
    def plain(code: CodeType) -> list[object]:
        return [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]

    def names(code: CodeType) -> list[tuple[str, ...]]:
        return [code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars]

    return old.co_code == new.co_code and names(old) == names(new) and plain(old) == plain(new)


def equal(old: CodeType, new: CodeType) -> bool:
    inner = [each for each in old.co_consts if isinstance(each, CodeType)]
    others = [each for each in new.co_consts if isinstance(each, CodeType)]
    return same(old, new) and len(inner) == len(others) and all(map(equal, inner, others))


def swap(codes: Codes) -> None:
    """Modules that are imported later read the file, which has the mutant."""
    gc.unfreeze()
    wanted = dict(codes)
    for each in gc.get_objects():
        if type(each) is FunctionType:
            code = each.__code__
            new = wanted.get((code.co_filename, code.co_qualname, code.co_firstlineno))
            if new is not None:
                each.__code__ = new


def pytest_configure(config: pytest.Config) -> None:
    if TRACE:
        config.pluginmanager.register(Tracer(Path(TRACE)))
    elif SINGLE:
        config.pluginmanager.register(StartReporter())
    elif JOBS:
        config.pluginmanager.register(Runner(Path(JOBS)))
