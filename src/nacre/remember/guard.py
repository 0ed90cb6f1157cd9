"""Keeps secrets out of what is remembered: they are replaced by what kind they were, or nothing is kept at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nacre.errors import SecretRefused, UnknownName
from nacre.model import Link
from nacre.model.memory import LISTS, Json

if TYPE_CHECKING:  # the rules cost a command 20 ms, and are needed when something is written
    from nacre.safety.scrub import Policy

MODES = ("redact", "refuse", "allow")
PERSONAL = ("allow", "redact")
# Names that tie memories together (id, session, agent, role) stay as they are given.
WRITTEN = ("text", "title", "source", "source_notes")


@dataclass(frozen=True, slots=True)
class Guard:
    """`secrets` is redact, refuse or allow; where they are not allowed, `personal` (allow, redact) says whether
    addresses and phone, card and account numbers count as such."""

    secrets: str = "redact"
    personal: str = "allow"

    def __post_init__(self) -> None:
        if self.secrets not in MODES:
            raise UnknownName("policy for secrets", self.secrets, MODES)
        if self.personal not in PERSONAL:
            raise UnknownName("policy for personal data", self.personal, PERSONAL)

    def fields(self, given: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """Checked fields without their secrets, and the kinds that were found. Raises `SecretRefused`."""
        if self.secrets == "allow":
            return dict(given), ()
        kinds: list[str] = []
        clean = {name: self._clean(name, value, kinds) for name, value in given.items()}
        if kinds and self.secrets == "refuse":
            raise SecretRefused(kinds)
        return clean, tuple(dict.fromkeys(kinds))

    def words(self, text: str) -> str:
        """A reason or a note, for the journal."""
        return text if self.secrets == "allow" or not text else self._text(text, [])

    def _clean(self, name: str, value: object, kinds: list[str]) -> object:
        if name in WRITTEN and isinstance(value, str):
            return self._text(value, kinds)
        if name in LISTS:
            return tuple(self._text(each, kinds) for each in cast("tuple[str, ...]", value))
        if name == "metadata":
            return self._json(cast("dict[str, Json]", value), kinds)
        if name == "links":
            ties = cast("tuple[Link, ...]", value)
            return tuple(replace(tie, data=self._json(dict(tie.data), kinds)) if tie.data else tie for tie in ties)
        return value

    def _text(self, text: str, kinds: list[str]) -> str:
        from nacre.safety.scrub import scrub

        found = scrub(text, policy=self._policy())
        kinds += (each.kind for each in found.findings)
        return found.text

    def _json(self, value: dict[str, Json], kinds: list[str]) -> dict[str, Json]:
        from nacre.safety.scrub import scrub_json

        found = scrub_json(value, policy=self._policy())
        kinds += found.kinds
        return cast("dict[str, Json]", found.value)

    def data(self, value: Mapping[str, Json]) -> dict[str, Json]:
        """What is told with a tie. Raises `SecretRefused`."""
        clean, _ = self.fields({"metadata": dict(value)})
        return cast("dict[str, Json]", clean["metadata"])

    def _policy(self) -> Policy:
        from nacre.safety.scrub import Policy

        return Policy(mode="redact", personal=self.personal == "redact")


def told(kinds: tuple[str, ...]) -> tuple[str, ...]:
    if not kinds:
        return ()
    return (f"Kept without what looked like a secret ({', '.join(kinds)}); the setting `secrets` says what is done.",)
