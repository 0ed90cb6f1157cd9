"""Where `houkai` finds its store: flags, environment, its settings file, defaults."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.compat.ai_houkai.memory_system.store import MODEL, model_of_environment

from ..maintenance.durations import parse_duration

_HOUKAI_DIR = Path.home() / ".ai_houkai"
_DEFAULT_PATH = str(_HOUKAI_DIR / ".chroma")
_DEFAULT_COLLECTION = "ai_houkai"
_CONFIG_FILE = Path.home() / ".config" / "ai_houkai" / "config.toml"
OFF = "off"


@dataclass
class Config:
    store_path: str
    collection: str
    default_type: str = "semantic"
    default_importance: float = 0.5
    editor: str = "nano"
    embedding_model: str = MODEL


@dataclass
class MaintenanceConfig:
    """Intervals are in seconds; None means off."""

    enabled: bool
    decay_every: int | None
    reflect_every: int | None
    tick_interval: int
    log_path: str
    state_path: str
    pid_path: str
    decay_rate: float = 0.1
    min_score: float = 0.05
    protect_types: tuple[str, ...] = ("procedural",)
    min_cluster_size: int = 3
    reflect_apply: bool = False


def read() -> dict[str, Any]:
    return tomllib.loads(_CONFIG_FILE.read_text("utf-8")) if _CONFIG_FILE.is_file() else {}


def load() -> Config:
    value, env = read(), os.environ
    return Config(
        store_path=env.get("AI_HOUKAI_PATH") or value.get("store_path", _DEFAULT_PATH),
        collection=env.get("AI_HOUKAI_COLLECTION") or value.get("collection", _DEFAULT_COLLECTION),
        default_type=value.get("default_type", "semantic"),
        default_importance=float(value.get("default_importance", 0.5)),
        editor=value.get("editor") or env.get("EDITOR") or "nano",
        embedding_model=model_of_environment(),
    )


def load_maintenance() -> MaintenanceConfig:
    value = read().get("maintenance", {})
    decay, reflect = value.get("decay", {}), value.get("reflect", {})
    return MaintenanceConfig(
        enabled=bool(value.get("enabled", False)), decay_every=interval(value.get("decay_every", "24h")),
        reflect_every=interval(value.get("reflect_every", "7d")),
        tick_interval=interval(value.get("tick_interval", "5m")) or 300,
        log_path=place(value, "log_path", "maintenance.log"),
        state_path=place(value, "state_path", "maintenance.state.json"),
        pid_path=place(value, "pid_path", "maintenance.pid"), decay_rate=float(decay.get("decay_rate", 0.1)),
        min_score=float(decay.get("min_score", 0.05)), protect_types=tuple(decay.get("protect_types", ["procedural"])),
        min_cluster_size=int(reflect.get("min_cluster_size", 3)), reflect_apply=bool(reflect.get("apply", False)),
    )  # fmt: skip


def interval(value: object) -> int | None:
    if value is None or value == OFF:
        return None
    return int(value) if isinstance(value, int | float) else parse_duration(str(value))


def place(fields: dict[str, Any], name: str, usual: str) -> str:
    return str(Path(fields.get(name, _HOUKAI_DIR / usual)).expanduser())
