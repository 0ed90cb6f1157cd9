"""Mnemosyne's settings: constructor, then environment, then `configs/mnemosyne.toml`, then the default."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from nacre.errors import ConfigError, MissingExtra

try:
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise MissingExtra("Mnemosyne's settings", "compat") from error

from ..core.constants import CONSOLIDATION_IMPORTANCE_THRESHOLD, CONSOLIDATION_SIMILARITY_THRESHOLD

TOML_FILE = "configs/mnemosyne.toml"
PREFIX = "MNEMOSYNE_"
NESTED = "__"
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Counted: TypeAlias = Annotated[int, Field(ge=1)]
RoleFactor: TypeAlias = Annotated[float, Field(ge=0.5, le=2)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid")
    env_prefix: ClassVar[str] = PREFIX

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{**from_environment(type(self), self.env_prefix), **fields})


class StorageSettings(Section):
    env_prefix: ClassVar[str] = PREFIX + "STORAGE_"
    persist_directory: str = "./data/memory"
    embedding_model: str = "all-MiniLM-L6-v2"
    short_term_collection: str = "short_term_memory"
    long_term_collection: str = "long_term_memory"


class ConsolidationSettings(Section):
    env_prefix: ClassVar[str] = PREFIX + "CONSOLIDATION_"
    importance_threshold: Share = CONSOLIDATION_IMPORTANCE_THRESHOLD
    min_age_hours: Annotated[int, Field(ge=0)] = 1
    max_batch_size: Counted = 50
    buffer_threshold: Counted = 100
    similarity_threshold: Share = CONSOLIDATION_SIMILARITY_THRESHOLD
    min_cluster_size: Counted = 2


class RetrievalSettings(Section):
    env_prefix: ClassVar[str] = PREFIX + "RETRIEVAL_"
    emotion_weight: Share = 0.3
    candidate_multiplier: Annotated[int, Field(ge=1, le=5)] = 2
    vector_weight: Share = 0.5
    bm25_weight: Share = 0.5
    recency_weight: Share = 0.3
    importance_weight: Share = 0.2
    relevance_weight: Share = 0.5
    recency_decay_rate: Annotated[float, Field(ge=0.9, le=1)] = 0.995
    max_recency_hours: Annotated[int, Field(ge=24)] = 720
    max_content_length: Annotated[int, Field(ge=100)] = 500
    semantic_type_factor: Annotated[float, Field(ge=1, le=2)] = 1.2
    assistant_role_factor: RoleFactor = 1.1
    user_role_factor: RoleFactor = 0.9
    use_angular_similarity: bool = False


class LoggingSettings(Section):
    env_prefix: ClassVar[str] = PREFIX + "LOGGING_"
    level: str = "INFO"
    quiet: bool = False


class Settings(BaseModel):
    """A variable may be written as MNEMOSYNE_STORAGE_PERSIST_DIRECTORY or as STORAGE__PERSIST_DIRECTORY."""

    model_config = ConfigDict(extra="ignore")
    storage: StorageSettings
    consolidation: ConsolidationSettings
    retrieval: RetrievalSettings
    logging: LoggingSettings

    def __init__(self, **fields: Any) -> None:
        file = from_file(Path(TOML_FILE))
        sections = type(self).model_fields.items()
        super().__init__(**{
            name: filled(data.annotation, name, file.get(name, {}), fields.get(name, {})) for name, data in sections
        })  # fmt: skip


def filled(section: Any, name: str, file: Mapping[str, Any], value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    nested = from_environment(section, name + NESTED)
    return section(**{**file, **from_environment(section, section.env_prefix), **nested, **value})


def from_environment(section: type[Section], prefix: str) -> dict[str, str]:
    terms = {name.lower(): value for name, value in os.environ.items()}
    return {name: terms[key] for name in section.model_fields if (key := (prefix + name).lower()) in terms}


def from_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as settings ({error}). Mend or remove it.") from error
