"""The spaces of a store: what they are for, and copying, renaming or deleting one."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.engine import spaces
from nacre.engine.change import SPACE
from nacre.engine.spaces import DESCRIPTION
from nacre.errors import AccessDenied
from nacre.model import Memory
from nacre.remember.check import named, written
from nacre.store.space import Space


@dataclass(frozen=True, slots=True)
class SpaceNote:
    """`memories` counts all, in the trash too."""

    name: str
    memories: int
    description: str = ""


class Spacing(Space):
    def space_notes(self) -> list[SpaceNote]:
        """Every space that holds a memory or was created, by name."""
        counts, told = self._store.spaces(), self._store.words(SPACE)
        names = sorted({*counts, *told})
        return [SpaceNote(name, counts.get(name, 0), str(told.get(name, {}).get(DESCRIPTION, ""))) for name in names]

    def create_space(self, name: str, description: str = "", *, why: str = "") -> bool:
        """Notes a space and what it is for; without that, a space begins with its first memory. False when it was
        noted so already."""
        self._demand("create a space")
        about = self._guard.words(written("description", description).strip())
        return spaces.create(self._engine, named("space", name), about, why=why)

    def copy_space(self, target: str, *, dry_run: bool = False, why: str = "") -> list[Memory]:
        """Brings what this space holds, except its trash, into another with all fields, ties and vectors, as one act
        there; returns the copies. What is there under the same id is left alone."""
        self._demand("copy a space")
        into = named("space", target)
        copied = spaces.copied(self._engine, self.space, into)
        return copied if dry_run else spaces.copy(self._engine, self.space, into, why=why)

    def rename_space(self, new: str, *, why: str = "") -> None:
        """Lets this space, its journal and its words go by another name, which nobody has yet; this store follows.
        Programs that have the space open under its old name begin an empty one if they write."""
        if self._access is not None:
            raise AccessDenied(
                f"The agent {self.agent!r} is bound to its space, and may not rename it; let others do so."
            )
        name = named("space", new)
        spaces.rename(self._engine, self.space, name, why=why)
        self.space = name

    def delete_space(self, *, purge: bool = False, why: str = "") -> int:
        """Moves all that this space holds to the trash in one act, or with `purge` deletes it for good, its trash too;
        returns how many memories."""
        self._demand("delete a space")
        return (spaces.purge if purge else spaces.empty)(self._engine, self.space, why=why)

    def _demand(self, what: str) -> None:
        if self._access is not None:
            self._access.demand(what)
