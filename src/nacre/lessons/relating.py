"""Ties between lessons, and what a tie means for how far a lesson is to be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nacre.errors import LinkRefused
from nacre.lessons.answer import Answer
from nacre.lessons.lesson import Related
from nacre.lessons.shelf import Shelf
from nacre.lessons.vocabulary import normal
from nacre.model import Direction, Link, Memory
from nacre.model.levels import LEVELS, NAMES, level_of
from nacre.model.memory import LESSON

RELATED, CONTRADICTS, SUPERSEDES = "related", "contradicts", "supersedes"
USUAL = {"related_to": RELATED, "related-to": RELATED}  # ways to write what the store calls otherwise


def relation_named(name: str) -> str:
    plain = normal(name).replace("-", "_")
    return USUAL.get(plain, plain)


class Relating(Shelf):
    def related(
        self,
        id: str,
        *,
        depth: int = 1,
        relations: Iterable[str] | str | None = None,
        direction: Direction = "both",
        include_superseded: bool = False,
    ) -> Answer[tuple[Related, ...]]:
        """The lessons that ties lead to, nearest first, along and against them; those that another has replaced, or
        that are archived, when asked for, also by the relation itself. Raises `MemoryNotFound`."""
        self._memory(id)
        names = [relations] if isinstance(relations, str) else list(relations or ())
        rels = [relation_named(name) for name in names] or None
        hidden = include_superseded or SUPERSEDES in (rels or ())
        found = self.store.neighbors(id, rel=rels, direction=direction, depth=depth, include_hidden=hidden)
        return Answer(
            tuple(
                Related(self._shown(each.memory), each.rel, each.direction, each.depth)
                for each in found
                if each.memory.type == LESSON and each.memory.status != "trashed"
            )
        )

    def link(self, source: str, target: str, relation: str = RELATED, *, why: str = "") -> Answer[bool]:
        """True when the tie is new. A `contradicts` is counter-evidence: it lowers the other's confidence by a level; a
        `supersedes` takes its place. Raises `MemoryNotFound` and `LinkRefused`."""
        rel = relation_named(relation)
        for id in (source, target):
            self._memory(id)
        if rel == CONTRADICTS:
            return self._contradicted(source, target, why)
        made = self.store.link(source, target, rel, why=why)
        return Answer(made.new, made.notes)

    def unlink(self, source: str, target: str, relation: str | None = None, *, why: str = "") -> Answer[int]:
        """Takes the ties away and returns how many; the confidence that a contradiction cost stays as it is."""
        rel = None if relation is None else relation_named(relation)
        return Answer(self.store.unlink(source, target, rel, why=why))

    def _contradicted(self, source: str, target: str, why: str) -> Answer[bool]:
        if source == target:
            raise LinkRefused(f"{source} cannot be tied to itself; give another lesson.")
        tie = Link(target, CONTRADICTS)
        stands = any((link.to, link.rel) == (target, CONTRADICTS) for link in self._memory(source).links)
        if stands:
            return Answer(False)
        edits = {source: lambda memory: replace(memory, links=(*memory.links, tie)), target: doubted}
        changed = {memory.id: memory for memory in self.store.write("contradict", edits=edits, why=why)}
        if target not in changed:
            return Answer(True)
        now = level_of(changed[target].confidence).name
        return Answer(True, (f"The confidence of {target} is now {now}, since another lesson contradicts it.",))


def doubted(memory: Memory) -> Memory:
    """A level less sure; the lowest stays."""
    ordinal = max(1, level_of(memory.confidence).ordinal - 1)
    return replace(memory, confidence=min(memory.confidence, LEVELS[NAMES[ordinal - 1]].value))
