"""Conflicts and review items as sentences, with the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.cli.ui.columns import excerpt, short
from nacre.cli.ui.output import say
from nacre.model import Conflict, Memory, RememberResult
from nacre.model.review import ReviewItem

# The judge's names for its reasons, as sentences; one that is missing here is printed as it is.
REASONS = {
    "polarity": "one is for it, the other against",
    "negation_diff": "one denies the other",
    "opposites": "the words are opposites",
    "substitution": "another word stands in its place",
    "numbers": "the numbers differ",
    "versions": "the versions differ",
    "dates": "the dates differ",
    "change": "it says that something changed",
    "similarity": "they are much alike",
    "weighed": "they seem to speak of the same, otherwise",
    "custom_fn": "your own rule says so",
    "language_model": "the language model says so",
}
KINDS = {"contradiction": "This contradicts", "update": "This seems to update", "duplicate": "This says the same as"}


def report_conflicts(result: RememberResult, *, noted: bool) -> None:
    """What a new memory conflicts with, what became of that, and what to do."""
    for conflict in result.conflicts:
        say(conflict_sentence(conflict))
    if result.conflicts:
        say(remedy(result, noted=noted))


def conflict_sentence(conflict: Conflict) -> str:
    if conflict.a.text == conflict.b.text:
        return f"The same text is already there: {short(conflict.b.id)}."
    opening = KINDS.get(conflict.kind, f"This conflicts ({conflict.kind}) with")
    return f"{opening} {short(conflict.b.id)} ({conflict_reason(conflict)}): {excerpt(conflict.b)}"


def conflict_reason(conflict: Conflict) -> str:
    """With the words that decided."""
    reason = REASONS.get(conflict.reason, conflict.reason)
    newer, older = conflict.words
    if newer and older and newer != older:
        return f"{reason}: {newer!r} now, {older!r} before"
    return f"{reason}: {(newer or older)!r}" if newer or older else reason


def remedy(result: RememberResult, *, noted: bool) -> str:
    if result.action == "merged":
        return f"Nothing was added: {short(result.memory.id)} stands for both; `nacre undo` takes that back."
    if result.action == "superseded":
        replaced = [short(each.b.id) for each in result.conflicts if each.kind != "duplicate"]
        return f"It took the place of {', '.join(replaced)}; `nacre undo` takes that back."
    ways = f"`nacre supersede {short(result.conflicts[0].b.id)} {short(result.memory.id)}` lets this one stand alone"
    review = "`nacre review` settles it, " if noted else ""
    return f"Both are kept: {review}{ways}, `nacre undo` takes this one back."


def both_texts(conflict: Conflict) -> str:
    """The two texts, one a line."""
    return "\n".join(f"{short(memory.id)} {excerpt(memory)}" for memory in (conflict.a, conflict.b))


def report_refused(conflicts: Sequence[object]) -> None:
    for conflict in conflicts:
        if isinstance(conflict, Conflict):
            say(conflict_sentence(conflict))


def short_item(id: str) -> str:
    """`nacre review decide` understands it so, too."""
    newer, apart, older = id.partition(":")
    if newer in ("relation", "entity") and apart:
        return id
    return f"{short(newer)}:{short(older)}" if apart else short(id)


def item_text(item: ReviewItem) -> str:
    if item.conflict is not None:
        return both_texts(item.conflict)
    return excerpt(item.memory) if item.memory is not None else item.word or " = ".join(item.names)


def is_current(memory: Memory) -> bool:
    """Whether it can still be in conflict with anything."""
    return memory.status != "trashed" and not memory.superseded_by
