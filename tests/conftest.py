"""Keeps every test away from the user's own configuration and data."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from nacre.files import file_lock
from tests.command_line import nacre as nacre

# The short profile and the long one, of `make test-all`, try the same examples each time, so that a change passes or
# fails for what it does; `make explore` tries new ones, by the thorough profile.
settings.register_profile(
    "short",
    deadline=None,
    max_examples=16,
    stateful_step_count=25,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # making a failure small takes minutes; the long profile does it
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=60, phases=tuple(Phase))
settings.register_profile(
    "thorough", parent=settings.get_profile("long"), max_examples=500, derandomize=False, print_blob=True
)
# Says that an error was found without taking minutes to make it small: for trying the tests on broken code.
settings.register_profile("unshrunk", parent=settings.get_profile("long"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("TEST_PROFILE", "short"))

LOCK = Path(__file__).parent / "__pycache__" / "reading.lock"
LAST_COMPILED = Path(__file__).parent / "web" / "__pycache__"
PATIENCE = 600.0  # seconds until all tests are read, on a busy machine
HOME_NUMBERS = count()
SPARE_HOMES: list[Path] = []  # in which nothing was written


def pytest_configure() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and every process that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The collected tests stay to the end: the garbage collector need not look through them again and again."""
    gc.disable()
    if is_compiled() or "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    # The workers of a first run would compile every file at the same time. One does, and the others read the results.
    with file_lock(LOCK, exclusive=True, patience=PATIENCE):
        if not is_compiled():
            return (yield)
    return (yield)


def is_compiled() -> bool:
    """Whether some run has read all tests, to the last folder, or none keeps what it compiles."""
    return sys.dont_write_bytecode or LAST_COMPILED.exists()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long tests come first: at the end, one of them would keep a single core busy for minutes."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None or "torture" not in item.path.parts)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each test gets a home of its own."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def elsewhere(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = SPARE_HOMES.pop() if SPARE_HOMES else homes / str(next(HOME_NUMBERS))
    home.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.startswith("NACRE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(homes / "cache"))  # one for all: models are read through once
    monkeypatch.chdir(home)
    yield home
    if home.is_dir() and not any(home.iterdir()):
        SPARE_HOMES.append(home)
