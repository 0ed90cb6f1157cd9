"""Contexts: situations that lie in each other, in which a lesson applies or does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nacre.lessons.answer import Answer
from nacre.lessons.kinship import aliases, parents
from nacre.lessons.suggesting import contexts_for
from nacre.lessons.vocabulary import CONTEXT, LESSONS, normals
from nacre.lessons.wordkeeping import CHILD_OF, Wordkeeping


@dataclass(frozen=True, slots=True)
class ContextInfo:
    """`count` lessons apply there, and `anti_count` do not."""

    name: str
    count: int
    anti_count: int
    aliases: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


class Contexts(Wordkeeping):
    def contexts(self, *, counts: bool = True) -> Answer[tuple[ContextInfo, ...]]:
        """The most used first; without `counts` by name."""
        words = self._words(CONTEXT)
        applies, known_as = words.counts(), aliases(words)
        ruled_out = self.store.tally("anti_contexts", where=LESSONS, include_archived=True, include_superseded=True)
        names = {name for name, word in words.words.items() if not word.alias_of} | {*applies, *ruled_out}
        found = [
            ContextInfo(
                name,
                applies.get(name, 0) if counts else 0,
                ruled_out.get(name, 0) if counts else 0,
                known_as.get(name, ()),
                parents(words, name),
            )
            for name in names
        ]
        return Answer(tuple(sorted(found, key=lambda each: (-each.count - each.anti_count, each.name))))

    def relate_contexts(self, name: str, other: str, relation: str = CHILD_OF) -> Answer[bool]:
        """Whoever is in `name` is in `other` as well: what applies there applies here. As a `synonym`, both ways. False
        when it was so already."""
        return self._relate(CONTEXT, name, other, relation)

    def unrelate_contexts(self, name: str, other: str) -> Answer[bool]:
        """Takes back whatever was said of the two."""
        return self._unrelate(CONTEXT, name, other)

    def suggest_contexts(
        self, title: str, content: str = "", tags: Iterable[str] | str | None = None
    ) -> Answer[tuple[str, ...]]:
        """Those of lessons that are like this one, or have its tags; the likeliest first."""
        return Answer(contexts_for(self.store, f"{title}\n{content}", normals(tags)))
