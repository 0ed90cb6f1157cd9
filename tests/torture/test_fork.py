"""A forked child may use the store that its parent opened; neither can harm the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.torture.crowd import at_once
from tests.torture.forking import (
    Scenario,
    child_goes_on_after_parent_closes,
    child_outlives_everything,
    side_by_side,
    with_threads,
)
from tests.torture.workers import missing, opened

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def check(scenario: Scenario, path: str) -> None:
    (kept,) = at_once([(scenario, (path,))])

    assert missing(path, kept) == []
    with opened(path) as store:
        assert store.count() == len(kept)
        assert store.health(thorough=True).problems == ()


@pytest.mark.slow
def test_a_forked_child_and_its_parent_use_the_same_object_side_by_side(tmp_path: Path) -> None:
    check(side_by_side, str(tmp_path / "memory.db"))


@pytest.mark.slow
def test_a_forked_child_loses_nothing_when_its_parent_closes_the_store(tmp_path: Path) -> None:
    check(child_goes_on_after_parent_closes, str(tmp_path / "memory.db"))


@pytest.mark.slow
def test_a_forked_child_that_never_used_the_store_takes_nothing_with_it_when_it_ends(tmp_path: Path) -> None:
    check(child_outlives_everything, str(tmp_path / "memory.db"))


@pytest.mark.slow
def test_a_process_whose_threads_use_the_store_may_fork(tmp_path: Path) -> None:
    check(with_threads, str(tmp_path / "memory.db"))
