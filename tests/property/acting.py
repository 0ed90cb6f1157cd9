"""Random acts over every changing method of a store, drawn so that they often meet and conflict."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from hypothesis import strategies as st

from nacre import Memory, MemoryStore
from nacre.engine.remember import POLICIES
from nacre.errors import ConflictError, InvalidInput, LinkRefused, MemoryNotFound, SupersedeCycle, UndoRefused
from nacre.model.review import KINDS

# What may be refused, because an operation meets what it cannot be done to; anything else is a fault.
REFUSALS = (ConflictError, InvalidInput, LinkRefused, MemoryNotFound, SupersedeCycle, UndoRefused)
TEXTS = (
    "The port is 80", "The port is 90", "The port is not 80", "Use ruff for linting", "Use flake8 for linting",
    "Anna likes tea", "Anna does not like tea", "Anna moved to Rome", "The team won 9 medals", "The team won 10 medals",
    "green", "A door opens at noon", "The door is closed", "The door is open",
)  # fmt: skip
RELATIONS = ("related", "needs", "Needs", "supersedes", "derived_from", "similar_to", "knows")
TAGS = ((), ("a",), ("b",), ("a", "b"))


@dataclass(frozen=True, slots=True)
class Choice:
    """One operation: its name, and numbers that choose among what is there when it is done."""

    name: str
    first: int
    second: int
    third: int


class Rising:
    """Each look at it is a second later."""

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def __call__(self) -> float:
        self.at += 1.0
        return self.at


Ids: TypeAlias = list[str]
Doing: TypeAlias = Callable[[MemoryStore, Ids, Choice], object]


def one(ids: Ids, number: int) -> str:
    """Now and then nobody."""
    return ids[number % len(ids)] if ids and number % 23 != 22 else "nobody"


def item(choice: Choice, number: int) -> dict[str, object]:
    return {
        "text": TEXTS[choice.first % len(TEXTS)], "id": f"m{number}", "tags": TAGS[choice.second % len(TAGS)],
        "polarity": (0, 0, 0, 1, -1)[choice.second % 5], "confidence": (1.0, 0.3)[choice.second % 2],
        "type": ("semantic", "semantic", "episodic")[choice.third % 3],
        "valid_from": (None, None, 999_000.0)[choice.second % 3], "metadata": {"n": [choice.second]},
    }  # fmt: skip


def remember(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    policy = POLICIES[choice.third % len(POLICIES)]
    return store.remember(on_conflict=policy, **item(choice, len(ids)))  # type: ignore[arg-type]


def remember_many(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    policy = ("ignore", "note", "supersede")[choice.third % 3]
    given = [item(replace(choice, first=choice.first + at), len(ids) + at) for at in range(1 + choice.second % 3)]
    return store.remember_many(given, on_conflict=policy)


def edit(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    fields: tuple[Mapping[str, object], ...] = (
        {"text": TEXTS[choice.second % len(TEXTS)]}, {"tags": TAGS[choice.third % len(TAGS)]}, {"importance": 0.9},
        {"status": "trashed"}, {"status": "long_term"}, {"links": ()}, {"valid_until": 1_000_050.0},
        {"text": "green", "title": "a title", "metadata": {"x": {"y": [1, None]}}},
    )  # fmt: skip
    return store.edit(one(ids, choice.first), **fields[choice.third % len(fields)])  # type: ignore[arg-type]


def link(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    rel = RELATIONS[choice.third % len(RELATIONS)]
    return store.link(one(ids, choice.first), one(ids, choice.second), rel, weight=(1.0, 0.1, 0.2)[choice.third % 3])


def register(store: MemoryStore, _: Ids, choice: Choice) -> object:
    name, description = RELATIONS[choice.first % len(RELATIONS)], ("", "first", "second")[choice.second % 3]
    store.register_relation(name, description)
    return name


def decide(store: MemoryStore, _: Ids, choice: Choice) -> object:
    kind = KINDS[choice.second % len(KINDS)]
    waiting = store.review(kinds=kind, stale_days=0.0) or store.review(stale_days=0.0)
    if not waiting:
        return None
    chosen = waiting[choice.first % len(waiting)]
    decision = chosen.decisions[choice.third // 7 % len(chosen.decisions)]
    into = ("", "related", "knows")[choice.third % 3]
    text = ("", "said together")[choice.third % 2]
    return store.decide(chosen, decision, into=into, text=text)


def note_conflicts(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    found = store.find_conflicts(one(ids, choice.first) if choice.second % 2 else None)
    return store.note_conflicts(found)


def restore(store: MemoryStore, ids: Ids, choice: Choice) -> object:
    hidden = [id for id in ids if (found := store.get(id)) and (found.superseded_by or found.status == "trashed")]
    return store.restore(one(hidden or ids, choice.first))


def unlink(store: MemoryStore, _: Ids, choice: Choice) -> object:
    tied = [memory for memory in store.iterate(include_superseded=True) if memory.links]
    if not tied:
        return None
    source = tied[choice.first % len(tied)]
    tie = source.links[choice.second % len(source.links)]
    return store.unlink(source.id, tie.to, tie.rel if choice.third % 2 else None)


def undo(store: MemoryStore, _: Ids, choice: Choice) -> object:
    acts = list(dict.fromkeys(entry.operation.batch for entry in store.journal(limit=None)))
    if choice.first % 3 and acts:
        return store.undo(acts[choice.second % min(3, len(acts))])
    return store.undo(last=1 + choice.second % 3)


ACTS: dict[str, Doing] = {
    "remember": remember,
    "remember again": remember,
    "remember_many": remember_many,
    "edit": edit,
    "forget": lambda store, ids, choice: store.forget(one(ids, choice.first), one(ids, choice.second)),
    "restore": restore,
    "supersede": lambda store, ids, choice: store.supersede(one(ids, choice.first), one(ids, choice.second)),
    "link": link,
    "unlink": unlink,
    "register_relation": register,
    "validate": lambda store, ids, choice: store.validate(one(ids, choice.first), confidence=0.9),
    "decide": decide,
    "note_conflicts": note_conflicts,
    "prune_links": lambda store, _, choice: store.prune_links(store.weak_links(below=(0.15, 1.5)[choice.first % 2])),
    "undo": undo,
}
numbers = st.integers(0, 999)
drawn = st.lists(st.builds(Choice, st.sampled_from(sorted(ACTS)), numbers, numbers, numbers), min_size=8, max_size=24)
# The first acts see to it that the others find something to be done to.
choices = drawn.map(lambda found: [Choice("remember_many", 3 * found[0].first, 2, 1), *found])


def perform(store: MemoryStore, choice: Choice) -> None:
    known = {entry.memory_id for entry in store.journal(limit=None) if entry.kind == "memory"}
    ids = sorted(known, key=lambda id: int(id[1:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ACTS[choice.name](store, ids, choice)
        except REFUSALS:
            return


def told(memory: Memory) -> str:
    """All that an operation can change, as JSON: uses are no acts."""
    return json.dumps(replace(memory, last_accessed=0.0, access_count=0).to_dict(), ensure_ascii=False)
