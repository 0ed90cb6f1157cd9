"""The open stores of the helper."""

from __future__ import annotations

from pathlib import Path

from nacre.hooks.stores import Stores


def test_a_helper_that_was_warmed_has_its_model_before_the_first_request(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "s.db")
    assert not stores.ready
    stores.warm("hashing")
    assert stores.ready
    assert not (tmp_path / "s.db").exists()


def test_a_model_that_cannot_be_made_does_not_stop_the_helper(tmp_path: Path) -> None:
    stores = Stores(tmp_path / "s.db")
    stores.warm("no such model")
    assert not stores.ready
