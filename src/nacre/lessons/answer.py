"""What every method of a book answers: the matter itself, what to mind about it, and what may have been meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Generic, TypeVar

from nacre.model.memory import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """`suggestions` are, for each word that was not recognized, those that come near it."""

    data: T
    warnings: tuple[str, ...] = ()
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        return {
            "success": True,
            "data": told(self.data),
            "warnings": list(self.warnings),
            "suggestions": {name: list(near) for name, near in self.suggestions.items()},
        }


def told(value: object) -> Json:
    """In plain JSON values; whoever can tell itself does."""
    if hasattr(value, "to_dict"):
        return value.to_dict()  # type: ignore[no-any-return]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: told(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): told(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [told(each) for each in value]
    return value  # type: ignore[return-value]
