"""Refuses YAML that would stand for more than it says, before anything is built from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nacre.errors import InvalidInput

DEEPEST = 150  # more than the metadata of any memory may be nested


def check_events(events: Iterable[object], refused: Callable[[str], InvalidInput]) -> None:
    """A few lines of aliases may stand for more than any memory holds, or for themselves."""
    from yaml import events as kinds

    depth = 0
    for event in events:
        if isinstance(event, kinds.AliasEvent):
            raise refused(f"it uses the YAML alias *{event.anchor:.40}; write its value out where it stands")
        depth += isinstance(event, kinds.CollectionStartEvent) - isinstance(event, kinds.CollectionEndEvent)
        if depth > DEEPEST:
            raise refused(f"it is nested more than {DEEPEST} deep; make it flatter")
