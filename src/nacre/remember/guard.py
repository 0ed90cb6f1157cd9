"""Guards writes and reads: redacts or refuses secrets, and marks texts that give orders to a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nacre.errors import ConfigError, InvalidInput, SecretRefused, UnknownName
from nacre.model import Link, Memory
from nacre.model.memory import LISTS, SUSPICION, TRUST_GIVEN, Json, json_list

if TYPE_CHECKING:  # importing the rules takes a command 20 ms, and only writing needs them
    from nacre.safety.injection import BulkReading, Suspicion
    from nacre.safety.secrets import Policy

SECRET_POLICIES = ("redact", "refuse", "allow")
PERSONAL_POLICIES = ("allow", "redact")
SUSPICIOUS_POLICIES = ("mark", "refuse", "allow")
SPEAKERS = ("user", "assistant")  # whose turns are full of orders to a model, which are its user's own
# Fields that connect memories (id, session, agent, role) are not changed.
WRITTEN = ("text", "title", "source", "source_notes")
JUDGED = {"text", "title"}  # what may give orders to a model
GUARDED = (*WRITTEN, *LISTS, "metadata", "links")


@dataclass(frozen=True, slots=True)
class Guard:
    """`secrets` is redact, refuse or allow. Unless it is allow, `personal` (allow, redact) says whether e-mail
    addresses and phone, card and account numbers count as secrets, and `allow` lists strings that do not.
    `suspicious` (mark, refuse, allow) is for texts that give orders to a model."""

    secrets: str = "redact"
    personal: str = "allow"
    allow: tuple[str | re.Pattern[str], ...] = ()
    suspicious: str = "mark"

    def __post_init__(self) -> None:
        UnknownName.check("policy for secrets", self.secrets, SECRET_POLICIES)
        UnknownName.check("policy for personal data", self.personal, PERSONAL_POLICIES)
        UnknownName.check("policy for suspicious texts", self.suspicious, SUSPICIOUS_POLICIES)

    def fields(self, fields: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """Validated fields without their secrets, and the kinds of the secrets. Raises `SecretRefused`."""
        if self.secrets == "allow" or self._ordinary(fields):
            return dict(fields), ()
        kinds: list[str] = []
        clean = {name: self._clean(name, value, kinds) for name, value in fields.items()}
        if kinds and self.secrets == "refuse":
            raise SecretRefused(kinds)
        return clean, tuple(dict.fromkeys(kinds))

    def suspicion(
        self, fields: Mapping[str, object], bulk: BulkReading | None = None, *, rules_alone: bool = False
    ) -> Suspicion:
        """The reasons to distrust the title and the text: they give orders to a model. `bulk` belongs to all texts of
        one import or batch; with `rules_alone` no model reads it. Raises `InvalidInput` when such texts are refused."""
        from nacre.safety.injection import SUSPICIOUS_SCORE, Suspicion, suspicion

        if self.suspicious == "allow" or not JUDGED & fields.keys():
            return Suspicion()
        written = f"{fields.get('title', '')}\n{fields.get('text', '')}"
        result = suspicion(written, bulk, rules_alone=rules_alone)
        if result.score < SUSPICIOUS_SCORE:
            return Suspicion()
        if self.suspicious == "refuse":
            raise InvalidInput(
                f"Nothing was kept: the text seems to give orders to a model ({', '.join(result.reasons)}). "
                "Take them out, or set `suspicious` to mark."
            )
        return result

    def marked(self, memory: Memory, *, trust_given: bool = False) -> Memory:
        """With a mark if its title and text give orders to a model. Raises `InvalidInput` when such texts are
        refused."""
        fields = {"title": memory.title, "text": memory.text}
        suspicion = self.suspicion(fields, rules_alone=memory.role in SPEAKERS)
        return mark_suspicious(memory, suspicion, trust_given=trust_given)

    def edited(self, memory: Memory, before: Memory, *, trust_given: bool) -> Memory:
        """The memory after an edit: judged again if its title or its text changed. Raises `InvalidInput` when texts
        that give orders are refused."""
        if not rewritten(memory, before):
            return with_trust_kept(memory) if trust_given and is_suspicious(memory) else memory
        return self.marked(unmarked(memory, before, trust_given=trust_given), trust_given=trust_given)

    def before_write(self, memory: Memory, before: Memory | None) -> Memory:
        """The memory as it may be written: new and changed fields without secrets, and a mark if it gives orders to a
        model and has no mark yet. Raises `SecretRefused` and `InvalidInput`."""
        judge_again = before is None or rewritten(memory, before)
        if before is not None and judge_again:
            memory = unmarked(memory, before, trust_given=memory.trust != before.trust)
        elif before is not None and is_suspicious(memory) and memory.trust != before.trust:
            memory = with_trust_kept(memory)
        changed = {
            name: getattr(memory, name)
            for name in GUARDED
            if before is None or getattr(memory, name) != getattr(before, name)
        }
        clean, _ = self.fields(changed)
        guarded = replace(memory, **clean) if clean != changed else memory  # type: ignore[arg-type]
        return self.marked(guarded) if judge_again and not is_suspicious(guarded) else guarded

    def before_read(self, memory: Memory) -> Memory:
        """Without secrets that were stored before there was a guard, or by a program without one."""
        if self.secrets == "allow":
            return memory
        stored = {name: getattr(memory, name) for name in GUARDED}
        if self._ordinary(stored):
            return memory
        clean = {name: self._clean(name, value, []) for name, value in stored.items() if value}
        clean |= without_quotes(stored, clean)
        changed = {name: value for name, value in clean.items() if value != stored[name]}
        return replace(memory, **changed) if changed else memory  # type: ignore[arg-type]

    def words(self, text: str) -> str:
        """A reason or a note, for the journal."""
        return text if self.secrets == "allow" or self._ordinary({"text": text}) else self._text(text, [])

    def name(self, what: str, name: str) -> str:
        """The name of a term, which cannot be redacted: raises `InvalidInput` where it holds a secret."""
        kinds: list[str] = []
        if self.secrets != "allow" and not self._ordinary({"text": name}):
            self._text(name, kinds)
        if kinds:
            raise InvalidInput(f"The {what} holds what looks like a secret ({', '.join(kinds)}); choose another name.")
        return name

    def _ordinary(self, fields: Mapping[str, object]) -> bool:
        """Whether a quick look at all texts together finds nothing that could be a secret."""
        from nacre.safety.token_rules import ordinary

        links = cast("tuple[Link, ...]", fields.get("links", ()))
        if self.personal == "redact" or fields.get("metadata") or any(link.data for link in links):
            return False
        texts = [each for name in WRITTEN if isinstance(each := fields.get(name, ""), str)]
        texts += (link.rel for link in links)
        for name in LISTS:
            texts += cast("tuple[str, ...]", fields.get(name, ()))
        return ordinary("\n".join(texts).lower())

    def _clean(self, name: str, value: object, kinds: list[str]) -> object:
        if name in WRITTEN and isinstance(value, str):
            return self._text(value, kinds)
        if name in LISTS:
            return tuple(self._text(each, kinds) for each in cast("tuple[str, ...]", value))
        if name == "metadata":
            return self._json(cast("dict[str, Json]", value), kinds)
        if name == "links":
            links = (self._link(link, kinds) for link in cast("tuple[Link, ...]", value))
            return tuple({(link.to, link.rel): link for link in links}.values())  # two relations may be redacted alike
        return value

    def _link(self, link: Link, kinds: list[str]) -> Link:
        rel, data = self._text(link.rel, kinds), self._json(dict(link.data), kinds) if link.data else link.data
        return link if (rel, data) == (link.rel, link.data) else replace(link, rel=rel, data=data)

    def _text(self, text: str, kinds: list[str]) -> str:
        from nacre.safety.secrets import scrub

        result = scrub(text, policy=self._policy())
        kinds += (each.kind for each in result.findings)
        return result.text

    def _json(self, value: dict[str, Json], kinds: list[str]) -> dict[str, Json]:
        from nacre.safety.secrets import scrub_json

        result = scrub_json(value, policy=self._policy())
        kinds += result.kinds
        return cast("dict[str, Json]", result.value)

    def data(self, value: Mapping[str, Json]) -> dict[str, Json]:
        """The data of a term, without secrets. Raises `SecretRefused`."""
        clean, _ = self.fields({"metadata": dict(value)})
        return cast("dict[str, Json]", clean["metadata"])

    def link(self, link: Link) -> Link:
        """Its relation and its data without secrets. Raises `SecretRefused`."""
        clean, _ = self.fields({"links": (link,)})
        return cast("tuple[Link, ...]", clean["links"])[0]

    def _policy(self) -> Policy:
        from nacre.safety.secrets import Policy

        return Policy(personal=self.personal == "redact", allow=self.allow)


def without_quotes(stored: Mapping[str, object], clean: Mapping[str, object]) -> dict[str, object]:
    """The lists without what was removed from the title or the text: a password that was taken for a name there does
    not look like a secret when it stands alone."""
    before, after = (f"{fields.get('title', '')}\n{fields.get('text', '')}" for fields in (stored, clean))
    if before == after:
        return {}
    lists = {name: cast("tuple[str, ...]", clean[name]) for name in LISTS if name in clean}
    return {name: tuple(each for each in items if each not in before or each in after) for name, items in lists.items()}


def guard_notes(kinds: tuple[str, ...], reasons: tuple[str, ...] = ()) -> tuple[str, ...]:
    notes = []
    if kinds:
        what = ", ".join(kinds)
        notes.append(f"Kept without what looked like a secret ({what}); the setting `secrets` says what is done.")
    if reasons:
        notes.append(f"Marked: it seems to give orders to a model ({', '.join(reasons)}).")
    return tuple(notes)


def mark_suspicious(memory: Memory, suspicion: Suspicion, *, trust_given: bool) -> Memory:
    """Lowers the trust and records the reasons; a trust given by the caller with the text stays."""
    if not suspicion.reasons:
        return memory
    trust = memory.trust if trust_given else min(memory.trust, round(1 - suspicion.score, 3))
    memory = memory if is_suspicious(memory) else with_trust_kept(memory)
    return replace(memory, metadata={**memory.metadata, SUSPICION: [*suspicion.reasons]}, trust=trust)


def with_trust_kept(memory: Memory) -> Memory:
    """For the time when the mark is lifted."""
    rest = {key: value for key, value in memory.metadata.items() if key != TRUST_GIVEN}
    return replace(memory, metadata=rest if memory.trust == 1 else {**rest, TRUST_GIVEN: memory.trust})


def trusted_as(memory: Memory, sources: Sequence[Memory]) -> Memory:
    """Trusted no more than any of the memories that it was made from, and marked where one of them is."""
    every = (memory, *sources)
    reasons = dict.fromkeys(reason for each in every for reason in json_list(each.metadata.get(SUSPICION)))
    trust = min(each.trust for each in every)
    if not reasons:
        return replace(memory, trust=trust)
    unmarked_trust = min((restore_trust(each) if is_suspicious(each) else each).trust for each in every)
    kept = with_trust_kept(replace(memory, trust=unmarked_trust))
    return replace(kept, trust=trust, metadata={**kept.metadata, SUSPICION: [*reasons]})


def is_suspicious(memory: Memory) -> bool:
    return SUSPICION in memory.metadata


def rewritten(memory: Memory, before: Memory) -> bool:
    return (memory.title, memory.text) != (before.title, before.text)


def unmarked(memory: Memory, before: Memory, *, trust_given: bool) -> Memory:
    """Without the mark that it had before its edit; a trust given by the edit stays."""
    if not is_suspicious(before):
        return memory
    restored = restore_trust(memory)
    return replace(restored, trust=memory.trust) if trust_given else restored


def restore_trust(memory: Memory) -> Memory:
    """Removes the mark, after a review or a change of the title or the text; the trust is what it was before."""
    rest = {key: value for key, value in memory.metadata.items() if key not in (SUSPICION, TRUST_GIVEN)}
    kept = memory.metadata.get(TRUST_GIVEN)
    return replace(
        memory, metadata=rest, trust=float(kept) if isinstance(kept, int | float) and 0 <= kept <= 1 else 1.0
    )


def parse_allowed(setting: str) -> tuple[str | re.Pattern[str], ...]:
    """Strings separated by blanks; `/…/` is a pattern that must match a whole secret."""
    return tuple(pattern(each[1:-1]) if each[:1] == each[-1:] == "/" != each else each for each in setting.split())


def pattern(written: str) -> re.Pattern[str]:
    try:
        return re.compile(written)
    except re.error as error:
        raise ConfigError(
            f"The setting secrets_allow holds /{written}/, which is not a regular expression ({error}); correct it."
        ) from error
