"""The name that a fact is about."""

from nacre.text.names import extract_entity_name

__all__ = ["extract_entity_name"]
