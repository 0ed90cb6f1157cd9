"""Configuration: what the YAML file says, and what comes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nacre.compat.ai_lessons import config as configuration
from nacre.compat.ai_lessons import core, db
from nacre.compat.ai_lessons.config import Config, EmbeddingConfig, SearchConfig
from nacre.compat.ai_lessons.db import book_of
from nacre.compat.ai_lessons.embeddings import OpenAIBackend, SentenceTransformersBackend, get_embedder
from nacre.errors import ConfigError

FILE = """
tag_aliases: {ovens: kiln}
known_tags: [glaze, kiln]
search: {default_limit: 4, hybrid_weight_semantic: 0.5}
embedding: {backend: openai, model: text-embedding-3-large, api_key: "${POTTERY_KEY}"}
"""


@pytest.mark.accepts("L2.2", "L2.3")
def test_without_a_file_all_is_as_documented(tmp_path: Path) -> None:
    results = Config.load(tmp_path / "none.yaml")
    assert results == Config() and results.search == SearchConfig(10, 0.7, 0.3)
    assert results.embedding == EmbeddingConfig("sentence-transformers", "all-MiniLM-L6-v2", None, 384)
    assert (results.tag_aliases, results.known_tags) == ({}, [])


@pytest.mark.accepts("L1.2", "L8.19")
def test_the_database_lies_in_the_home_of_whoever_asks(elsewhere: Path) -> None:
    asked = "from nacre.compat.ai_lessons import config; print(config.DEFAULT_DB_PATH, config.DEFAULT_CONFIG_PATH)"
    rendered = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert rendered == [str(elsewhere / ".ai/lessons/knowledge.db"), str(elsewhere / ".ai/lessons/config.yaml")]


@pytest.mark.accepts("L2.1", "L2.2", "L2.3")
def test_a_file_is_read_and_a_key_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POTTERY_KEY", "from-outside")
    (tmp_path / "config.yaml").write_text(FILE)
    results = Config.load(tmp_path / "config.yaml")
    assert (results.search.default_limit, results.search.hybrid_weight_semantic) == (4, 0.5)
    assert results.search.hybrid_weight_keyword == 0.3
    assert (results.tag_aliases, results.known_tags) == ({"ovens": "kiln"}, ["glaze", "kiln"])
    assert (results.embedding.dimensions, results.embedding.api_key) == (3072, "from-outside")


@pytest.mark.accepts("L2.1", "L2.3")
def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    config = Config(db_path=tmp_path / "k.db", tag_aliases={"ovens": "kiln"}, known_tags=["glaze"])
    config.save(tmp_path / "new" / "config.yaml")
    assert Config.load(tmp_path / "new" / "config.yaml") == config


@pytest.mark.accepts("L2")
@pytest.mark.parametrize("text", ["a: [", "just words"])
def test_a_broken_file_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(ConfigError, match="yaml"):
        Config.load(tmp_path / "config.yaml")


@pytest.mark.accepts("L2.1", "L4.1", "L4.2", "L8.3")
def test_aliases_and_known_tags_reach_the_vocabulary(config: Config) -> None:
    config.tag_aliases, config.known_tags = {"ovens": "kiln", "furnace": "kiln"}, ["kiln", "glaze"]
    answer = book_of(config).learn("Cool it", "Slowly.", tags=["Furnace", " GLAZE", "gaze"])
    assert answer.data.tags == ("kiln", "glaze", "gaze")
    assert answer.warnings == ("tag 'gaze' not recognized, did you mean 'glaze'?",)


@pytest.mark.accepts("L2.1")
def test_aliases_are_written_in_the_file_and_resolved_on_every_lesson(tmp_path: Path) -> None:
    written = "tag_aliases:\n  proj: project\n  projects: project\n  js: javascript\nembedding: {backend: hashing}\n"
    (tmp_path / "config.yaml").write_text(f"db_path: {tmp_path / 'knowledge.db'}\n{written}")
    config = Config.load(tmp_path / "config.yaml")
    try:
        id = core.add_lesson("Name the folder", "Before anything.", ["proj", "Projects", "js"], config=config)
        results = core.get_lesson(id, config)
        assert results is not None and results.tags == ["project", "javascript"]
    finally:
        db.close()


@pytest.mark.accepts("L2.3", "L2.4")
def test_the_backend_is_chosen_by_the_configuration() -> None:
    assert get_embedder(Config()) == SentenceTransformersBackend("all-MiniLM-L6-v2")
    assert get_embedder(Config()).name == "english"
    named = {
        EmbeddingConfig(model="all-mpnet-base-v2").model: "sentence-transformers:all-mpnet-base-v2",
        EmbeddingConfig("openai", "text-embedding-3-small").model: "openai:text-embedding-3-small",
    }
    assert SentenceTransformersBackend("all-mpnet-base-v2").name == named["all-mpnet-base-v2"]
    assert OpenAIBackend().name == named["text-embedding-3-small"]
    urls = [get_embedder(Config(embedding=EmbeddingConfig(each, "m"))).url for each in ("cohere", "local-llm")]
    assert "cohere" in urls[0] and "localhost" in urls[1]
    with pytest.raises(ValueError, match="telepathy"):
        get_embedder(Config(embedding=EmbeddingConfig(backend="telepathy")))


@pytest.mark.accepts("L2.2")
def test_a_configuration_that_is_changed_is_read_again(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = elsewhere / "config.yaml"
    monkeypatch.setattr(configuration, "DEFAULT_CONFIG_PATH", file)
    monkeypatch.setattr(configuration, "_config", None)
    assert configuration.get_config().search.default_limit == 10
    file.write_text("search: {default_limit: 3}")
    assert configuration.get_config().search.default_limit == 10
    assert configuration.reload_config().search.default_limit == 3
    assert configuration.get_config().search.default_limit == 3


@pytest.mark.accepts("L1")
def test_the_users_own_settings_of_nacre_change_nothing(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_AGENT", "somebody")
    monkeypatch.setenv("NACRE_LESSON_LIMIT", "1")
    for number in range(3):
        core.add_lesson(f"Kiln rule {number}", "Wait.", config=config)
    results = core.recall("kiln rule", config=config)
    assert len(results) == 3 and all(each.tags == [] for each in results)


def test_a_key_that_names_a_variable_is_saved_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "the key itself")
    file = tmp_path / "config.yaml"
    file.write_text("embedding:\n  backend: openai\n  api_key: ${SOME_KEY}\n")
    loaded = Config.load(file)
    assert loaded.embedding.api_key == "the key itself"
    loaded.save(file)
    assert "the key itself" not in file.read_text() and "${SOME_KEY}" in file.read_text()
    assert Config.load(file).embedding.api_key == "the key itself"
