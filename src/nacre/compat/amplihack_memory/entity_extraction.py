"""The name that a fact is about."""

from nacre.text.entities import extract_entity_name

__all__ = ["extract_entity_name"]
