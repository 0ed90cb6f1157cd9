"""The configuration of ai-lessons: a YAML file beside the database, and the settings that it gives a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from nacre.errors import ConfigError
from nacre.files import atomic_write, private_folder
from nacre.settings import Settings

DEFAULT_AI_DIR = Path.home() / ".ai"
DEFAULT_LESSONS_DIR = DEFAULT_AI_DIR / "lessons"
DEFAULT_DB_PATH = DEFAULT_LESSONS_DIR / "knowledge.db"
DEFAULT_CONFIG_PATH = DEFAULT_LESSONS_DIR / "config.yaml"
MINILM, MINILM_DIMENSIONS = "all-MiniLM-L6-v2", 384
DIMENSIONS = {
    "all-mpnet-base-v2": 768,
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


@dataclass
class EmbeddingConfig:
    """`api_key` may name an environment variable: ${OPENAI_API_KEY}."""

    backend: str = "sentence-transformers"
    model: str = MINILM
    api_key: str | None = None
    dimensions: int | None = None
    written_key: str | None = field(default=None, init=False, repr=False)  # as in the file, for `save`

    def __post_init__(self) -> None:
        self.written_key = self.api_key
        if self.api_key and self.api_key.startswith("${") and self.api_key.endswith("}"):
            self.api_key = os.environ.get(self.api_key[2:-1])
        if self.dimensions is None:
            self.dimensions = DIMENSIONS.get(self.model, MINILM_DIMENSIONS)


@dataclass
class SearchConfig:
    default_limit: int = 10
    hybrid_weight_semantic: float = 0.7
    hybrid_weight_keyword: float = 0.3


@dataclass
class Config:
    """`tag_aliases` and `known_tags` are added to the vocabulary when the book is opened."""

    db_path: Path = field(default_factory=lambda: DEFAULT_DB_PATH)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    tag_aliases: dict[str, str] = field(default_factory=dict)
    known_tags: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, config_path: Path | None = None) -> Config:
        """Raises `ConfigError` when the file cannot be read as YAML."""
        file = DEFAULT_CONFIG_PATH if config_path is None else Path(config_path)
        values = read(file) if file.exists() else {}
        return cls(
            db_path=Path(values.get("db_path") or DEFAULT_DB_PATH).expanduser(),
            embedding=EmbeddingConfig(**known_fields(EmbeddingConfig, values.get("embedding"))),
            search=SearchConfig(**known_fields(SearchConfig, values.get("search"))),
            tag_aliases=dict(values.get("tag_aliases") or {}),
            known_tags=list(values.get("known_tags") or []),
        )

    def save(self, config_path: Path | None = None) -> None:
        file = DEFAULT_CONFIG_PATH if config_path is None else Path(config_path)
        private_folder(file.parent)
        values: dict[str, Any] = {name: value for name, value in asdict(self).items() if value}
        key = self.embedding.api_key if self.embedding.written_key is None else self.embedding.written_key
        embedding = {**values["embedding"], "api_key": key, "written_key": None}
        values["embedding"] = {name: value for name, value in embedding.items() if value is not None}
        values["db_path"] = str(self.db_path)
        atomic_write(file, yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def read(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text("utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read as YAML ({' '.join(str(error).split())}); correct it.") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{file} has no settings; write them as `search:` and `embedding:`.")
    return values


def known_fields(kind: type, values: Mapping[str, Any] | None) -> dict[str, Any]:
    names = {each.name for each in fields(kind) if each.init}
    return {name: value for name, value in (values or {}).items() if name in names and value is not None}


def semantic_share(search: SearchConfig) -> float:
    """Of the two weights together, which need not make 1."""
    both = search.hybrid_weight_semantic + search.hybrid_weight_keyword
    return search.hybrid_weight_semantic / both if both > 0 else 0.5


def settings_of(config: Config) -> Settings:
    """Ignores the user's own settings: only the configuration of ai-lessons counts."""
    from .embeddings import backend_of

    chosen = backend_of(config.embedding)
    return Settings(
        store=str(config.db_path), embedder=chosen.name, embedder_url=chosen.url, embedder_key=chosen.key,
        lesson_semantic=semantic_share(config.search), rerank_ms=0.0,
    )  # fmt: skip


_config: Config | None = None


def get_config() -> Config:
    return reload_config() if _config is None else _config


def reload_config() -> Config:
    global _config
    _config = Config.load()
    return _config
