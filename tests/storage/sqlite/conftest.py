"""What the tests of stores' files share."""

from __future__ import annotations

import pytest

from nacre.models import shipped
from tests.command_line import read_once


@pytest.fixture(autouse=True)
def models_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An examination of a store reads the models' files too, which stay as they are."""
    monkeypatch.setattr(shipped, "faults", read_once)
