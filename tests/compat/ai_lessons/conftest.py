"""A configuration in a folder of its own, as programs for ai-lessons make one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.compat.ai_lessons import config as configuration
from nacre.compat.ai_lessons import db
from nacre.compat.ai_lessons.config import Config, EmbeddingConfig


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Config]:
    yield Config(db_path=tmp_path / "lessons" / "knowledge.db", embedding=EmbeddingConfig(backend="hashing"))
    db.close()


@pytest.fixture
def configured(config: Config, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The one that functions work with when none is given."""
    monkeypatch.setattr(configuration, "_config", config)
    return config
