"""Where the settings come from: flag, environment, project file, user file, default; the first that speaks wins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path

from nacre.errors import ConfigError

PROJECT_FILE = ".nacre.toml"
USER_FILE = "config.toml"
STORE_FILE = "nacre.db"
IN_MEMORY = ":memory:"
ENVIRONMENT = "NACRE_"


@dataclass(frozen=True, slots=True)
class Settings:
    """`embedder` is minilm, hashing, openai:MODEL or sentence-transformers:MODEL; `language_model` is openai:MODEL or
    anthropic:MODEL, `reranker` is cross-encoder:DIRECTORY or language-model, and both may be left empty."""

    store: str = ""
    space: str = "default"
    embedder: str = "minilm"
    embedder_url: str = "https://api.openai.com/v1"
    embedder_key: str = ""
    reranker: str = ""
    language_model: str = ""
    language_model_url: str = ""
    language_model_key: str = ""
    default_type: str = "semantic"
    default_importance: float = 0.5
    editor: str = ""


def settings(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user_file: Path | None = None,
) -> Settings:
    """Raises `ConfigError`, which names the file and the key, when a setting cannot be read."""
    environment = os.environ if environment is None else environment
    found = Settings()
    for file in (user_file or user_config(), project_file(folder or Path.cwd())):
        if file is not None and file.is_file():
            found = replace(found, **from_file(file))  # type: ignore[arg-type]
    found = replace(found, **from_environment(environment))  # type: ignore[arg-type]
    found = replace(found, **{k: v for k, v in (flags or {}).items() if v is not None})  # type: ignore[arg-type]
    return found if found.store else replace(found, store=str(default_store()))


def user_config() -> Path:
    from platformdirs import user_config_path

    return user_config_path("nacre", appauthor=False) / USER_FILE


def default_store() -> Path:
    from platformdirs import user_data_path

    return user_data_path("nacre", appauthor=False) / STORE_FILE


def project_file(folder: Path) -> Path | None:
    """The nearest one upwards, as git looks for its own."""
    return next((found for at in (folder, *folder.parents) if (found := at / PROJECT_FILE).is_file()), None)


def from_file(file: Path) -> dict[str, object]:
    import tomllib

    try:
        given = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as settings ({error}). Mend or remove it.") from error
    read = {key: converted(key, value, str(file)) for key, value in given.items()}
    if read.get("store") not in (None, "", IN_MEMORY):
        # A path in a file is meant from where the file lies, wherever the program was started.
        read["store"] = str(file.parent / Path(str(read["store"])).expanduser())
    return read


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    names = {ENVIRONMENT + field.name.upper(): field.name for field in fields(Settings)}
    return {
        name: converted(name, environment[key], key)
        for key, name in names.items()
        if environment.get(key, "").strip() != ""
    }


def converted(key: str, value: object, origin: str) -> object:
    kinds = {field.name: field.type for field in fields(Settings)}
    if key not in kinds:
        raise ConfigError(f"{origin} sets {key!r}, which is no setting; {nearest(key, kinds)}.")
    if kinds[key] == "float":
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"{origin} sets {key} to {value!r}, which is no number. Write 0.5, for example."
            ) from error
    if not isinstance(value, str):
        raise ConfigError(f"{origin} sets {key} to {value!r}; write it as text in quotes.")
    return value


def nearest(key: str, names: Iterable[str]) -> str:
    known = sorted(names)
    near = get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else "the settings are " + ", ".join(known)
