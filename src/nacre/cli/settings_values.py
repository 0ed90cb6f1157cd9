"""Values that a setting cannot have, told before they are written: later they would stop every command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nacre.clients.settings_file import is_plain_key
from nacre.errors import UnknownName
from nacre.settings import converted

OFF = "off"
SHARES = ("default_importance", "min_trust", "conflict_threshold", "lesson_semantic", "lesson_keyword")
# As the parts themselves have them, which are dear to import; a test holds the two together.
WORDS: Mapping[str, Sequence[str]] = {
    "on_conflict": ("note", "ignore", "warn", "supersede", "raise"),
    "scope": ("", "session_only", "cross_session_read", "cross_session_write", "global_read", "global_write"),
    "secrets": ("redact", "refuse", "allow"),
    "personal_data": ("allow", "redact"),
    "suspicious": ("mark", "refuse", "allow"),
    "importance": ("rules", "fixed", "language-model"),
    "emotion": ("own", "vader", "off"),
    "conflict_judge": ("", "language-model"),
    "decay_model": ("strength", "simple"),
    "reflect_consolidate": ("soft", "none", "hard"),
    "summarizer": ("central", "extractive", "language-model"),
    "retain_outcome": ("archive", "trash"),
    "lesson_expand": ("vocabulary", "language-model", "none"),
}


def check_value(key: str, value: str) -> None:
    """Raises the error that the first use of the setting would raise."""
    read = converted(key, value, "The command line")
    if value not in WORDS.get(key, (value,)):
        raise UnknownName(f"value of {key}", value, WORDS[key])
    if key.startswith("maintenance_") and value.lower() != OFF:
        from nacre.model.instants import parse_duration

        parse_duration(value)
    if key == "embedder":
        check_embedder(value)
    if key in SHARES:
        from nacre.remember.validate import fraction

        fraction(key, read)


def plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def shown_value(key: str, value: object) -> str:
    return "(set, not shown)" if is_plain_key(key, value) else plain(value)


def check_embedder(value: str) -> None:
    from nacre.factory import EMBEDDERS

    kind, _, model = value.partition(":")
    if value not in EMBEDDERS[:2] and not (kind in ("openai", "sentence-transformers") and model):
        raise UnknownName("embedder", value, EMBEDDERS)
