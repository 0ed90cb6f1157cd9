"""Passes every memory of an answer through a guard, wherever in the answer it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nacre.model import Hit, Memory, Recollection


def shown(found: Recollection, clean: Callable[[Memory], Memory]) -> Recollection:
    def hit(each: Hit) -> Hit:
        memory, context = clean(each.memory), tuple(map(clean, each.context))
        same = memory is each.memory and all(one is other for one, other in zip(context, each.context, strict=True))
        return each if same else replace(each, memory=memory, context=context)

    sessions = tuple(replace(each, hits=tuple(map(hit, each.hits))) for each in found.sessions)
    return replace(found, hits=tuple(map(hit, found.hits)), sessions=sessions)
