"""Edits of one word's data: what `MemoryStore.write` applies to it inside the transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from nacre.engine.engine import Word as Data
from nacre.engine.engine import WordEdit
from nacre.lessons.vocabulary import ALIAS_OF, DESCRIPTION, DISTINCT, PARENTS, SOURCE, SYNONYMS, TYPICAL, seeded
from nacre.model.memory import Json

NewName: TypeAlias = Callable[[str], str]
WordEdits: TypeAlias = dict[tuple[str, str], WordEdit]
TYING = (SYNONYMS, PARENTS, DISTINCT)  # keys that list other words


def listed(data: Data, key: str) -> list[str]:
    found = (data or {}).get(key)
    return [str(each) for each in found] if isinstance(found, list) else []


def cleaned(data: Mapping[str, Json]) -> Data:
    """Without what says nothing; a word of which nothing is told is none."""
    return {key: value for key, value in data.items() if value not in (None, "", [])} or None


def told(changes: Mapping[str, Json]) -> WordEdit:
    """Sets these keys; None takes one away."""
    return lambda stood: cleaned({**(stood or {}), **changes})


def naming(key: str, other: str) -> WordEdit:
    return lambda stood: cleaned({**(stood or {}), key: [*dict.fromkeys((*listed(stood, key), other))]})


def not_naming(other: str) -> WordEdit:
    """Takes back all that ties it to the other, or holds it apart."""

    def edit(stood: Data) -> Data:
        kept: dict[str, Json] = {**(stood or {})}
        kept |= {key: [name for name in listed(stood, key) if name != other] for key in TYING}
        if kept.get(ALIAS_OF) == other:
            del kept[ALIAS_OF]
        return cleaned(kept)

    return edit


def aliased(target: str) -> WordEdit:
    """Nothing is told of an alias but what it stands for."""
    return lambda _: {ALIAS_OF: target}


def renaming(own: str, new_name: NewName) -> WordEdit:
    """The other words that it names, under their new names; itself it names no longer."""

    def edit(stood: Data) -> Data:
        kept: dict[str, Json] = {**(stood or {})}
        kept |= {key: renamed(listed(stood, key), own, new_name) for key in TYING}
        stands_for = new_name(str(kept.pop(ALIAS_OF, "")))
        return cleaned(kept if stands_for == own else {**kept, ALIAS_OF: stands_for})

    return edit


def inheriting(former: Mapping[str, Json], own: str, new_name: NewName) -> WordEdit:
    """Takes over the ties of the word that it replaces, and what is told of that one and not of itself."""

    def edit(stood: Data) -> Data:
        kept = dict(renaming(own, new_name)(stood) or {})
        ties: dict[str, Json] = {
            key: renamed((*listed(kept, key), *listed(former, key)), own, new_name) for key in TYING
        }
        return cleaned({**former, **kept, **ties} if stood is None else {**untold(former), **kept, **ties})

    return edit


def untold(former: Mapping[str, Json]) -> dict[str, Json]:
    """What a word that stands already may learn from another."""
    return {key: value for key, value in former.items() if key in (DESCRIPTION, TYPICAL)}


def renamed(names: Iterable[str], own: str, new_name: NewName) -> list[Json]:
    return [each for each in dict.fromkeys(map(new_name, names)) if each != own]


def from_seed(kind: str, name: str, edit: WordEdit) -> WordEdit:
    """A source that every book knows is in no store until somebody changes it."""
    if kind != SOURCE or name not in seeded():
        return edit
    return lambda stood: edit(seeded()[name] if stood is None else stood)
