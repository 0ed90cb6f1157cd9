"""Fills in what the caller left open: how much a text matters, and what is felt in it. The caller always wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nacre.errors import UnknownName

if TYPE_CHECKING:
    from nacre.remember.appraise import Appraisal

Ask: TypeAlias = "Callable[[str], Appraisal | None]"

IMPORTANCES = ("rules", "fixed", "language-model")
EMOTIONS = ("own", "vader", "off")


@dataclass(frozen=True, slots=True)
class Suggesting:
    """`usual` is the importance where it is fixed, or where no rule decides; `asked` is a language model's opinion, for
    which the rules stand in when it has none."""

    importance: str = "rules"
    emotion: str = "own"
    usual: float = 0.5
    asked: Ask | None = None

    def __post_init__(self) -> None:
        if self.importance not in IMPORTANCES:
            raise UnknownName("way to find an importance", self.importance, IMPORTANCES)
        if self.emotion not in EMOTIONS:
            raise UnknownName("way to find an emotion", self.emotion, EMOTIONS)

    def fields(self, given: Mapping[str, object]) -> dict[str, object]:
        """What is suggested for a checked text, for those fields alone that the caller did not give."""
        found: dict[str, object] = {}
        text = str(given["text"])
        if "importance" not in given:
            found["importance"] = self._importance(text, given)
        if self.emotion != "off" and "valence" not in given and "arousal" not in given:
            from nacre.text.emotion import felt  # its words are read when the first text is looked at

            feeling = felt(text, self.emotion)
            if feeling is not None:
                found |= {"valence": feeling.valence, "arousal": feeling.arousal}
        return found

    def _importance(self, text: str, given: Mapping[str, object]) -> float:
        if self.importance == "fixed":
            return self.usual
        from nacre.remember.appraise import DEFAULT, appraise

        asked = self.asked(text) if self.asked is not None else None
        role = str(given.get("role", ""))
        judged = asked or appraise(text, type=str(given.get("type", "semantic")), role=role)
        # A user's own default is worth more than what a type is usually worth.
        by_words = [reason for reason in judged.reasons if not reason.startswith("type:")]
        return judged.importance if by_words or (judged.reasons and self.usual == DEFAULT) else self.usual
