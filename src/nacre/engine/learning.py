"""Words that come up by themselves: a relation that nobody taught the store is learned, and waits for review."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.engine.change import AnyChange, Change, WordChange
from nacre.model.graph import RELATIONS
from nacre.ports import Transaction

RELATION = "relation"
FOR_REVIEW = "review"  # in a word's data: nobody has confirmed it yet


def learned(changes: Sequence[AnyChange], transaction: Transaction) -> list[WordChange]:
    found: dict[str, WordChange] = {}
    for change in changes:
        if isinstance(change, Change) and change.after is not None and change.after.links:
            had = {link.rel for link in change.before.links} if change.before is not None else set()
            for rel in {link.rel for link in change.after.links} - had - RELATIONS.keys() - found.keys():
                if transaction.word(RELATION, rel) is None:
                    found[rel] = WordChange(change.subject.space, RELATION, rel, None, {FOR_REVIEW: True})
    return list(found.values())
