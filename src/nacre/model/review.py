"""Verdicts, conflicts, the result of a remember, and review items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from nacre.errors import InvalidInput
from nacre.model.memory import CONFLICTS, SUPERSEDES, Memory, short_id
from nacre.model.recollection import age_order

CONTRADICTION = "contradiction"


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
    "negation": "one denies what the other says",
    "order": "two words have changed places",
    "conflict_model": "judged by reading both",
    "similarity": "they are much alike",
    "custom_fn": "your own rule says so",
    "language_model": "the language model says so",
    "replaced": "what says about the same was replaced",
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """`a` is the newer memory by their own times, `b` the older, whichever was written first: see `newer_first`.
    `words` are those of each that decided.

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
        """Why, for a reader, with the words that decided; of texts that differ in many places they say nothing."""
        reason = REASONS.get(self.reason, self.reason)
        newer, older = self.words if self.differs_in_one_place else ("", "")
        if newer and older and newer != older:
            return f"{reason}: new {newer!r}, old {older!r}"
        return f"{reason}: {(newer or older)!r}" if newer or older else reason

    @property
    def differs_in_one_place(self) -> bool:
        """Whether the words stand together in both texts."""
        return all(words in each.text for words, each in zip(self.words, (self.a, self.b), strict=True))

    def cleaned(self, clean: Callable[[Memory], Memory]) -> Conflict:
        """With both sides as `clean` returns them, and without words that only a text before it had: a secret that is
        quoted alone may not look like one."""
        sides = [(each, clean(each)) for each in (self.a, self.b)]
        newer, older = (
            word if after.text == before.text or word in after.text else ""
            for word, (before, after) in zip(self.words, sides, strict=True)
        )
        return replace(self, a=sides[0][1], b=sides[1][1], words=(newer, older))

    def other(self, id: str) -> Memory:
        """The side that has not this id."""
        return self.b if self.a.id == id else self.a

    def __str__(self) -> str:
        return f"{self.kind} of {self.b.id} ({self.explanation})"

    def named_for(self, id: str) -> str:
        """What the memory with this id conflicts with."""
        if self.a.id == id:
            return str(self)
        return f"{self.kind} with {self.a.id}, which is newer ({self.explanation})"


def severity(kind: str) -> int:
    """Sorts contradictions first and duplicates last; between them updates, and kinds that are not known here."""
    return {CONTRADICTION: 0, "duplicate": 2}.get(kind, 1)


def severity_order(conflict: Conflict) -> tuple[int, float]:
    """Sorts the worst first: contradictions, updates, duplicates; the more similar before the less."""
    return severity(conflict.kind), -conflict.similarity


def newer_first(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """The newer of two, by when each began to hold and was created, and the older; `one` first where both are equal."""
    is_older = age_order(one)[:2] < age_order(other)[:2]  # not by their ids, which say nothing of time
    return (other, one) if is_older else (one, other)


Outcome = Literal["stored", "known", "merged", "replaced", "replaced_by_known"]


@dataclass(frozen=True, slots=True)
class RememberResult:
    """What a remember or an edit did: `outcome` is the word to use. `notes` are sentences on what else a caller should
    know, such as a secret that was left out.

    `action` is internal: stored, superseded (it took the place of others), known (the same text is stored: `memory` is
    that one, with the new tags and source, if any) or merged (`memory` says the same). So is `stored_before`: what took
    the place of others was stored already, and nothing was added.
    """

    memory: Memory
    conflicts: tuple[Conflict, ...] = ()
    action: str = "stored"
    notes: tuple[str, ...] = ()
    stored_before: bool = False

    @property
    def outcome(self) -> Outcome:
        """What was done, in one word for messages. A text that was merged without a conflict was stored word for word
        before, and counts as `known`. With `replaced_by_known`, a memory that was stored before replaced others."""
        if self.action == "superseded":
            return "replaced_by_known" if self.stored_before else "replaced"
        if self.action == "merged":
            return "merged" if self.conflicts else "known"
        return "known" if self.action == "known" else "stored"

    @property
    def replaced(self) -> tuple[str, ...]:
        """The ids of those that it took the place of because they conflict with it."""
        linked = {link.to for link in self.memory.links if link.rel == SUPERSEDES}
        return tuple(each.id for each in self.others if each.id in linked)

    @property
    def noted(self) -> bool:
        """Whether one of its conflicts waits for review: a link of either side notes it."""
        own = self.memory.id
        return any(
            link.rel == CONFLICTS and link.to == there
            for other in self.others
            for here, there in ((self.memory, other.id), (other, own))
            for link in here.links
        )

    @property
    def others(self) -> tuple[Memory, ...]:
        """The other side of each conflict: what is stored beside the new memory, or stands for it."""
        kept = self.memory.id
        own = kept  # a merged one was not stored, and has an id of its own in its conflicts
        if self.action == "merged":
            own = next((each.other(kept).id for each in self.conflicts if kept in (each.a.id, each.b.id)), kept)
        return tuple(each.other(own) for each in self.conflicts)


KINDS = ("conflict", "unvalidated", "stale", "word", "entity")
QUICK_KINDS = tuple(kind for kind in KINDS if kind != "entity")  # to compare all names with each other may take seconds
STALE_DAYS = 365.0  # after which a memory that nobody confirmed should be looked at again
# `keep_both` says that both are true, `not_a_conflict` that the two are about different things; either way the pair is
# not compared again. With `newer` the newer memory replaces the older one from its own time on; with `older` the
# older one replaces the newer one, which has never held.
DECISIONS: dict[str, tuple[str, ...]] = {
    "conflict": ("keep_both", "not_a_conflict", "newer", "older", "merge", "trash_newer", "trash_older", "skip"),
    "unvalidated": ("validate", "trash", "skip"),
    "stale": ("validate", "trash", "skip"),
    "word": ("keep", "merge", "skip"),
    "entity": ("merge", "distinct", "skip"),
}


# What each decision does, for a reader who has the names alone.
SKIPPED = "decides nothing; it still waits"
CONFIRMING = {"validate": "it is right", "trash": "moves it to the trash", "skip": SKIPPED}
MEANINGS: dict[str, dict[str, str]] = {
    "conflict": {
        "keep_both": "both are true",
        "not_a_conflict": "they are about different things",
        "newer": "the newer replaces the older, which stays in its history",
        "older": "the older is right, and replaces the newer as if that had never held",
        "merge": "the newer gets the text of both and replaces the older",
        "trash_newer": "moves the newer to the trash",
        "trash_older": "moves the older to the trash",
        "skip": SKIPPED,
    },
    "unvalidated": CONFIRMING,
    "stale": CONFIRMING,
    "word": {
        "keep": "the relation is one of its own",
        "merge": "its links get the relation that is named",
        "skip": SKIPPED,
    },
    "entity": {
        "merge": "both names mean the same; the one that is named stays, else the fuller",
        "distinct": "they are two",
        "skip": SKIPPED,
    },
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

    def cleaned(self, clean: Callable[[Memory], Memory]) -> ReviewItem:
        """With its memories as `clean` returns them; the reason for a conflict quotes the words that differ."""
        memory = None if self.memory is None else clean(self.memory)
        if self.conflict is None:
            return replace(self, memory=memory)
        conflict = self.conflict.cleaned(clean)
        why = self.why if conflict == self.conflict else conflict.explanation
        return replace(self, memory=memory, conflict=conflict, why=why)

    def is_named(self, text: str) -> bool:
        """A pair goes by its two ids in either order."""
        turned = (
            self.conflict is not None and ":" in text and begins(f"{self.conflict.b.id}:{self.conflict.a.id}", text)
        )
        return turned or begins(self.id, text)


def kinds_named(typed: str) -> tuple[str, ...]:
    """The kinds of the items that this may name; the ids of two names begin with their kind."""
    return KINDS if "entity".startswith(typed.partition(":")[0]) else QUICK_KINDS


MOST_NAMED = 5  # ids in one sentence


def item_named(items: Iterable[ReviewItem], typed: str, decision: str) -> ReviewItem:
    """The item with this id that can be decided so, or the only one of those whose ids begin so, or whose two ids do.
    Raises `InvalidInput` when there is none, or several."""
    named = {(item.id, item.kind): item for item in items if item.is_named(typed)}
    fitting = [item for item in named.values() if decision in item.decisions] or list(named.values())
    exact = [item for item in fitting if item.id == typed] or fitting
    if len({item.id for item in exact}) == 1:
        return exact[0]
    if not exact:
        raise InvalidInput(f"{typed!r} names nothing that waits for review; `nacre review --list` lists what does.")
    ids = dict.fromkeys(":".join(map(short_id, item.id.split(":"))) for item in exact)
    some = ", ".join(list(ids)[:MOST_NAMED]) + (" and more" if len(ids) > MOST_NAMED else "")
    raise InvalidInput(f"{typed!r} names {len(ids)} things that wait for review; give one of these ids: {some}.")


def begins(id: str, text: str) -> bool:
    """Whether the id of an item begins so; `3f2a:77b0` is a pair of two ids that begin so."""
    parts, typed = id.split(":"), text.split(":")
    begin = all(part.startswith(start) for part, start in zip(parts, typed, strict=False))
    return text != "" and begin and len(typed) <= len(parts)
