"""Keeps every test away from the user's own configuration and data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from platformdirs import user_cache_path

settings.register_profile(
    "nacre", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("thorough", parent=settings.get_profile("nacre"), max_examples=2000)
# Says that an error was found without taking minutes to make it small: for trying the tests on broken code.
settings.register_profile("unshrunk", parent=settings.get_profile("nacre"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("NACRE_TEST_PROFILE", "nacre"))

# The model is costly to provision: it stays where the user's cache has it, while everything else moves to a new home.
CACHE = os.environ.get("XDG_CACHE_HOME") or str(user_cache_path().absolute())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("NACRE_") and not keeps(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", CACHE)
    monkeypatch.chdir(home)
    yield home


def keeps(name: str) -> bool:
    return name.startswith(("NACRE_MODEL", "NACRE_TEST"))
