"""Verdicts, conflicts, the result of a remember, and review items."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.model.memory import Memory, short_id


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kind` is duplicate, contradiction or update; `words` are what decided, in the newer and in the older text.

    One that is not `sure` is worth a look, and no more: nothing should be overwritten for its sake.
    """

    kind: str
    reason: str
    words: tuple[str, str] = ("", "")
    sure: bool = True


# The judge's names for its reasons, as sentences; one that is missing here is shown as it is.
REASONS = {
    "polarity": "one is for it, the other against",
    "value": "the value differs",
    "order": "two words have changed places",
    "conflict_model": "judged by reading both",
    "similarity": "they are much alike",
    "custom_fn": "your own rule says so",
    "language_model": "the language model says so",
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """`a` is the newer memory, `b` the one that stood before; `words` are those of each that decided.

    What is not `sure` is worth a look, and no more: nothing is superseded for its sake.
    """

    a: Memory
    b: Memory
    similarity: float
    kind: str
    reason: str
    words: tuple[str, str] = ("", "")
    sure: bool = True

    @property
    def explanation(self) -> str:
        """Why, for a reader, with the words that decided."""
        reason = REASONS.get(self.reason, self.reason)
        newer, older = self.words
        if newer and older and newer != older:
            return f"{reason}: new {newer!r}, old {older!r}"
        return f"{reason}: {(newer or older)!r}" if newer or older else reason

    def __str__(self) -> str:
        return f"{self.kind} of {short_id(self.b.id)} ({self.explanation})"


def gravity(conflict: Conflict) -> tuple[int, float]:
    """Sorts the worst first: contradictions, updates, duplicates; the more similar before the less."""
    return ("contradiction", "update", "duplicate").index(conflict.kind), -conflict.similarity


@dataclass(frozen=True, slots=True)
class RememberResult:
    """`action` is stored, superseded (it took the place of others), known (the same text is stored: `memory` is
    that one, with the new tags and source, if any) or merged (`memory` says the same)."""

    memory: Memory
    conflicts: tuple[Conflict, ...] = ()
    action: str = "stored"
    notes: tuple[str, ...] = ()


KINDS = ("conflict", "unvalidated", "stale", "word", "entity")
STALE_DAYS = 365.0  # after which a memory that nobody confirmed should be looked at again
# `keep_both` says that both are true, `not_a_conflict` that the two are about different things; either way the pair is
# not compared again. With `newer` the newer memory replaces the older one, with `older` the other way round.
DECISIONS: dict[str, tuple[str, ...]] = {
    "conflict": ("keep_both", "not_a_conflict", "newer", "older", "merge", "trash_newer", "trash_older", "skip"),
    "unvalidated": ("validate", "trash", "skip"),
    "stale": ("validate", "trash", "skip"),
    "word": ("keep", "merge", "skip"),
    "entity": ("merge", "distinct", "skip"),
}


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """`id` names it as long as it waits. A conflict has a `conflict`; of the kind `word`, `word` is a relation that was
    used for the first time; an entity has the `names` that may be one, the fuller first; the others have a `memory`."""

    id: str
    kind: str
    why: str
    memory: Memory | None = None
    conflict: Conflict | None = None
    word: str = ""
    names: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[str, ...]:
        return DECISIONS[self.kind]

    def is_named(self, text: str) -> bool:
        return begins(self.id, text)


def begins(id: str, text: str) -> bool:
    """Whether the id of an item begins so; `3f2a:77b0` is a pair of two ids that begin so."""
    parts, typed = id.split(":"), text.split(":")
    begin = all(part.startswith(start) for part, start in zip(parts, typed, strict=False))
    return text != "" and begin and len(typed) <= len(parts)
