"""Keeps secrets out of what is remembered and of what is shown, and marks what gives orders to its reader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nacre.errors import ConfigError, InvalidInput, SecretRefused, UnknownName
from nacre.model import Link, Memory
from nacre.model.memory import LISTS, SUSPICION, Json

if TYPE_CHECKING:  # the rules cost a command 20 ms, and are needed when something is written
    from nacre.safety.injection import Suspicion
    from nacre.safety.secrets import Policy

MODES = ("redact", "refuse", "allow")
PERSONAL = ("allow", "redact")
SUSPICIOUS = ("mark", "refuse", "allow")
# Names that tie memories together (id, session, agent, role) stay as they are given.
WRITTEN = ("text", "title", "source", "source_notes")
GUARDED = (*WRITTEN, *LISTS, "metadata", "links")


@dataclass(frozen=True, slots=True)
class Guard:
    """`secrets` is redact, refuse or allow; where they are not allowed, `personal` (allow, redact) says whether
    addresses and phone, card and account numbers count as such, and `allow` what is none. `suspicious` is mark, refuse
    or allow."""

    secrets: str = "redact"
    personal: str = "allow"
    allow: tuple[str | re.Pattern[str], ...] = ()
    suspicious: str = "mark"

    def __post_init__(self) -> None:
        if self.secrets not in MODES:
            raise UnknownName("policy for secrets", self.secrets, MODES)
        if self.personal not in PERSONAL:
            raise UnknownName("policy for personal data", self.personal, PERSONAL)
        if self.suspicious not in SUSPICIOUS:
            raise UnknownName("policy for suspicious texts", self.suspicious, SUSPICIOUS)

    def fields(self, given: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """Checked fields without their secrets, and the kinds that were found. Raises `SecretRefused`."""
        if self.secrets == "allow":
            return dict(given), ()
        kinds: list[str] = []
        clean = {name: self._clean(name, value, kinds) for name, value in given.items()}
        if kinds and self.secrets == "refuse":
            raise SecretRefused(kinds)
        return clean, tuple(dict.fromkeys(kinds))

    def doubts(self, fields: Mapping[str, object]) -> Suspicion:
        """Why the text should be trusted little: it gives orders to a model. Raises `InvalidInput` where such texts
        are refused."""
        from nacre.safety.injection import SUSPICIOUS as DOUBTED
        from nacre.safety.injection import Suspicion, suspicion

        if self.suspicious == "allow" or "text" not in fields:
            return Suspicion()
        found = suspicion(f"{fields.get('title', '')}\n{fields['text']}")
        if found.score < DOUBTED:
            return Suspicion()
        if self.suspicious == "refuse":
            raise InvalidInput(
                f"Nothing was kept: the text seems to give orders to a model ({', '.join(found.reasons)}). "
                "Take them out, or set `suspicious` to mark."
            )
        return found

    def kept(self, memory: Memory, before: Memory | None) -> Memory:
        """The memory as it may be kept: what is new or has changed of it without secrets, and marked where it gives
        orders to a model and nobody has marked it yet. Raises `SecretRefused` and `InvalidInput`."""
        if before is not None and is_suspicious(before) and before.text != memory.text:
            memory = restore_trust(memory)  # what it says now is looked at anew
        changed = {
            name: getattr(memory, name)
            for name in GUARDED
            if before is None or getattr(memory, name) != getattr(before, name)
        }
        clean, _ = self.fields(changed)
        kept = replace(memory, **clean) if clean != changed else memory  # type: ignore[arg-type]
        if "text" not in changed or SUSPICION in kept.metadata:
            return kept
        return mark_suspicious(kept, self.doubts({"title": kept.title, "text": kept.text}), trust_given=False)

    def shown(self, memory: Memory) -> Memory:
        """Without the secrets that were kept before there was a guard, or by a program that had none."""
        if self.secrets == "allow":
            return memory
        kept = {name: getattr(memory, name) for name in GUARDED}
        clean = {name: self._clean(name, value, []) for name, value in kept.items() if value}
        changed = {name: value for name, value in clean.items() if value != kept[name]}
        return replace(memory, **changed) if changed else memory  # type: ignore[arg-type]

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
        from nacre.safety.secrets import scrub

        found = scrub(text, policy=self._policy())
        kinds += (each.kind for each in found.findings)
        return found.text

    def _json(self, value: dict[str, Json], kinds: list[str]) -> dict[str, Json]:
        from nacre.safety.secrets import scrub_json

        found = scrub_json(value, policy=self._policy())
        kinds += found.kinds
        return cast("dict[str, Json]", found.value)

    def data(self, value: Mapping[str, Json]) -> dict[str, Json]:
        """What is told with a tie. Raises `SecretRefused`."""
        clean, _ = self.fields({"metadata": dict(value)})
        return cast("dict[str, Json]", clean["metadata"])

    def _policy(self) -> Policy:
        from nacre.safety.secrets import Policy

        return Policy(mode="redact", personal=self.personal == "redact", allow=self.allow)


def guard_notes(kinds: tuple[str, ...], doubts: tuple[str, ...] = ()) -> tuple[str, ...]:
    said = []
    if kinds:
        what = ", ".join(kinds)
        said.append(f"Kept without what looked like a secret ({what}); the setting `secrets` says what is done.")
    if doubts:
        said.append(f"Kept with little trust, since it seems to give orders to a model ({', '.join(doubts)}).")
    return tuple(said)


def mark_suspicious(memory: Memory, doubts: Suspicion, *, trust_given: bool) -> Memory:
    """With less trust and the reason for it; a trust that the caller gave stands."""
    if not doubts.reasons:
        return memory
    metadata: dict[str, Json] = {**memory.metadata, SUSPICION: [*doubts.reasons]}
    return replace(memory, metadata=metadata, trust=memory.trust if trust_given else round(1 - doubts.score, 3))


def is_suspicious(memory: Memory) -> bool:
    return SUSPICION in memory.metadata


def restore_trust(memory: Memory) -> Memory:
    """When somebody has looked at it, or it no longer says what was doubted."""
    rest = {key: value for key, value in memory.metadata.items() if key != SUSPICION}
    return replace(memory, metadata=rest, trust=1.0)


def parse_allowed(setting: str) -> tuple[str | re.Pattern[str], ...]:
    """Strings between blanks, as they are; between two slashes, a pattern that a whole secret fits."""
    return tuple(pattern(each[1:-1]) if each[:1] == each[-1:] == "/" != each else each for each in setting.split())


def pattern(written: str) -> re.Pattern[str]:
    try:
        return re.compile(written)
    except re.error as error:
        raise ConfigError(f"The setting secrets_allow holds /{written}/, which is no pattern ({error}).") from error
