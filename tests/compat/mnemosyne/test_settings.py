"""The settings: their defaults, their bounds, and which source wins."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.compat.mnemosyne import cli
from nacre.compat.mnemosyne.config.settings import (
    ConsolidationSettings,
    LoggingSettings,
    RetrievalSettings,
    Settings,
    StorageSettings,
)
from nacre.errors import ConfigError


@pytest.fixture
def toml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "configs" / "mnemosyne.toml"
    file.parent.mkdir()
    return file


@pytest.fixture
def root_log() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    yield root
    for handler in root.handlers:
        if handler not in kept:
            handler.close()
    root.handlers, root.level = kept, level


@pytest.mark.accepts("M10.1", "M10.4")
def test_the_published_defaults() -> None:
    assert StorageSettings().model_dump() == {
        "persist_directory": "./data/memory", "embedding_model": "all-MiniLM-L6-v2",
        "short_term_collection": "short_term_memory", "long_term_collection": "long_term_memory",
    }  # fmt: skip
    assert RetrievalSettings().model_dump() == {
        "emotion_weight": 0.3, "candidate_multiplier": 2, "vector_weight": 0.5, "bm25_weight": 0.5,
        "recency_weight": 0.3, "importance_weight": 0.2, "relevance_weight": 0.5, "recency_decay_rate": 0.995,
        "max_recency_hours": 720, "max_content_length": 500, "semantic_type_factor": 1.2,
        "assistant_role_factor": 1.1, "user_role_factor": 0.9, "use_angular_similarity": False,
    }  # fmt: skip
    assert ConsolidationSettings().model_dump() == {
        "importance_threshold": 0.6, "min_age_hours": 1, "max_batch_size": 50, "buffer_threshold": 100,
        "similarity_threshold": 0.85, "min_cluster_size": 2,
    }  # fmt: skip
    assert LoggingSettings().model_dump() == {"level": "INFO", "quiet": False}


@pytest.mark.accepts("M10.3")
def test_the_constructor_wins_over_the_environment_over_the_file_over_the_default(
    toml: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml.write_text("[consolidation]\nbuffer_threshold = 7\nmax_batch_size = 7\nmin_age_hours = 7\n[unknown]\nx = 1\n")
    monkeypatch.setenv("MNEMOSYNE_CONSOLIDATION_BUFFER_THRESHOLD", "8")
    monkeypatch.setenv("mnemosyne_consolidation_max_batch_size", "8")
    result = Settings(consolidation={"buffer_threshold": 9}).consolidation
    assert (result.buffer_threshold, result.max_batch_size, result.min_age_hours) == (9, 8, 7)
    assert result.min_cluster_size == 2


@pytest.mark.accepts("M10.3")
@pytest.mark.parametrize(
    ("variable", "value", "section", "name", "meant"),
    [
        ("MNEMOSYNE_STORAGE_PERSIST_DIRECTORY", "/far/away", "storage", "persist_directory", "/far/away"),
        ("MNEMOSYNE_CONSOLIDATION_IMPORTANCE_THRESHOLD", "0.8", "consolidation", "importance_threshold", 0.8),
        ("MNEMOSYNE_RETRIEVAL_USE_ANGULAR_SIMILARITY", "true", "retrieval", "use_angular_similarity", True),
        ("MNEMOSYNE_LOGGING_QUIET", "1", "logging", "quiet", True),
        ("STORAGE__PERSIST_DIRECTORY", "/nested", "storage", "persist_directory", "/nested"),
    ],
)
def test_an_environment_variable_overrides_the_default(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, section: str, name: str, meant: object
) -> None:
    monkeypatch.setenv(variable, value)
    assert getattr(getattr(Settings(), section), name) == meant
    if variable.startswith("MNEMOSYNE"):
        alone = type(getattr(Settings(), section))()
        assert getattr(alone, name) == meant


@pytest.mark.accepts("M10.4")
@pytest.mark.parametrize("values", [{"emotion_weight": 1.1}, {"max_recency_hours": 3}, {"emotion_wait": 0.3}])
def test_a_value_out_of_bounds_and_an_unknown_name_are_value_errors(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        RetrievalSettings(**values)  # type: ignore[arg-type]


@pytest.mark.accepts("M10.3")
def test_a_broken_file_is_one_clear_error(toml: Path) -> None:
    toml.write_text("[storage\n")
    with pytest.raises(ConfigError, match="Mend or remove it"):
        Settings()


@pytest.mark.accepts("M10.5")
@pytest.mark.parametrize("variable", ["MNEMOSYNE_LOGGING_QUIET", "MNEMOSYNE_QUIET"])
def test_a_quiet_server_logs_into_a_file(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, root_log: logging.Logger, variable: str
) -> None:
    monkeypatch.setenv(variable, "true")
    cli.setup_logging()
    logging.getLogger("mnemosyne").info("heard in the file")
    assert "heard in the file" in (elsewhere / ".mnemosyne" / "mnemosyne-server.log").read_text("utf-8")
    assert not any(getattr(handler, "stream", None) is sys.stderr for handler in root_log.handlers)


@pytest.mark.accepts("M10.5")
def test_a_server_that_cannot_start_says_why(
    toml: Path, capsys: pytest.CaptureFixture[str], root_log: logging.Logger
) -> None:
    assert root_log is not None
    toml.write_text("[storage\n")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1 and "Server error: configs/mnemosyne.toml" in capsys.readouterr().err
