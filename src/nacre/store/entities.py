"""Entities: whom and what memories speak of, under which names, and the decisions about them.

The index is imported where it is asked: its tables of words cost a command 20 ms.
"""

from __future__ import annotations

from typing import Unpack

from nacre.model import Filter, Memory
from nacre.model.entity import Entity, EntityPair
from nacre.store.scope import Scope
from nacre.store.space import Space


class Entities(Space):
    def entities(self, limit: int | None = None) -> list[Entity]:
        """Whom and what live memories name, the most mentioned first; all the names of one together."""
        from nacre.engine.entities import entities

        found = entities(self._store, self.space, Filter.live(self._clock()))
        return found if limit is None else found[: max(0, limit)]

    def resolve_entity(self, name: str) -> str:
        """What the entity with this name or alias goes by, in whatever spelling; a name nobody merged is its own."""
        from nacre.engine.entities import Resolved

        return Resolved.of(self._store, self.space).name(name)

    def memories_about(self, name: str, limit: int = 20, **scope: Unpack[Scope]) -> list[Memory]:
        """The memories that name the entity by any of its names, spelled in any way, newest first."""
        from nacre.engine.entities import spellings

        known, where = self._known(scope.get("as_of")), self._filter(scope)
        names = spellings(known, self.space, name, where)
        if not names:
            return []
        return known.select(self.space, where & Filter.where(entities__any=tuple(names)), limit=max(0, limit))

    def merge_entities(self, into: str, *others: str, why: str = "") -> bool:
        """Lets the others be aliases of `into`, with all that they were merged with before, in one act that `undo`
        takes back; the memories' own words stay as written. False when it was so already."""
        from nacre.engine.entities import merge

        return merge(self._engine, self.space, into, others, why=why)

    def unalias(self, name: str, *, why: str = "") -> bool:
        """Lets an alias be a name of its own again; False when it is nobody's alias."""
        from nacre.engine.entities import unalias

        return unalias(self._engine, self.space, name, why=why)

    def entity_suggestions(self, limit: int | None = 20) -> list[EntityPair]:
        """Names that may be one and are neither merged nor judged to be two, the surest first, each with its reason."""
        from nacre.engine.entities import suggestions

        found = suggestions(self._store, self.space, Filter.live(self._clock()))
        return found if limit is None else found[: max(0, limit)]
