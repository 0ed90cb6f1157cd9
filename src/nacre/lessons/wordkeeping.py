"""Tags: which there are, what each stands for, and how they lie to each other."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons.answer import Answer
from nacre.lessons.kinship import above, aliases, kept_apart, named, parents, synonyms, tied
from nacre.lessons.teaching import Teaching, absorbing, apart, given, known_kind, no_ring
from nacre.lessons.vocabulary import DISTINCT, PARENTS, REVIEW, SYNONYMS, TAG, Vocabulary, normals
from nacre.lessons.word_edits import WordEdits, naming, not_naming, told

SYNONYM, CHILD_OF = "synonym", "child_of"
RELATIONS = {SYNONYM: SYNONYMS, CHILD_OF: PARENTS}


@dataclass(frozen=True, slots=True)
class TagInfo:
    """`count` lessons have it; `review` when it came up by itself and nobody has looked at it."""

    name: str
    count: int
    aliases: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    review: bool = False


class Wordkeeping(Teaching):
    def tags(self, *, counts: bool = True) -> Answer[tuple[TagInfo, ...]]:
        """The most used first; without `counts` by name. An alias is told with what it stands for, and by itself only
        while lessons still have it."""
        words = self._words(TAG)
        used, known_as = words.counts(), aliases(words)
        names = {name for name, word in words.words.items() if not word.alias_of} | {*used}
        found = [
            TagInfo(
                name,
                used.get(name, 0) if counts else 0,
                known_as.get(name, ()),
                synonyms(words, name),
                parents(words, name),
                name in words.words and bool(words.words[name].data.get(REVIEW)),
            )
            for name in names
        ]
        return Answer(tuple(sorted(found, key=lambda each: (-each.count, each.name))))

    def know_tags(self, *names: str) -> Answer[tuple[str, ...]]:
        """Nobody is warned of these any more; returns those that are new."""
        words = self._words(TAG)
        new = [name for name in normals(names) if given(TAG, name) not in words.words]
        self._teach("know", {(TAG, name): told({REVIEW: False}) for name in new})
        return Answer(tuple(new))

    def alias_tag(self, alias: str, of: str) -> Answer[bool]:
        """From now on `alias` is written and asked for as `of`; False when it was so already."""
        words = self._words(TAG)
        name, target = given(TAG, alias), given(TAG, of)
        apart(TAG, name, target)
        no_ring(words, name, target)
        target = words.resolve(target)
        if name in words.words and words.words[name].alias_of == target:
            return Answer(False)
        self._teach("alias", absorbing(words, {name: target}))
        count = words.counts().get(name, 0)
        left = f"{count} lessons still have {name!r}; merge it into {target!r} to change them."
        return Answer(True, (left,) if count else ())

    def relate_tags(self, name: str, other: str, relation: str = SYNONYM) -> Answer[bool]:
        """A `synonym` is found with the other, both ways; a `child_of` only when the other is asked for. False when it
        was so already."""
        return self._relate(TAG, name, other, relation)

    def unrelate_tags(self, name: str, other: str) -> Answer[bool]:
        """Takes back whatever was said of the two: alias, synonym, child, or to be kept apart."""
        return self._unrelate(TAG, name, other)

    def keep_apart(self, kind: str, name: str, other: str) -> Answer[bool]:
        """No review proposes again to make one of the two."""
        one, two = given(known_kind(kind), name), given(kind, other)
        apart(kind, one, two)
        if kept_apart(self._words(kind), one, two):
            return Answer(False)
        self._teach("keep_apart", {(kind, one): naming(DISTINCT, two), (kind, two): naming(DISTINCT, one)})
        return Answer(True)

    def _relate(self, kind: str, name: str, other: str, relation: str) -> Answer[bool]:
        if relation not in RELATIONS:
            raise UnknownName("relation between words", relation, RELATIONS)
        words, key = self._words(kind), RELATIONS[relation]
        one, two = words.resolve(given(kind, name)), words.resolve(given(kind, other))
        apart(kind, one, two)
        if two in named(words, one, key):
            return Answer(False)
        edits: WordEdits = {(kind, one): naming(key, two)}
        if relation == SYNONYM:
            edits[kind, two] = naming(key, one)
        else:
            no_circle(words, one, two)
        self._teach("relate", edits)
        return Answer(True)

    def _unrelate(self, kind: str, name: str, other: str) -> Answer[bool]:
        one, two = given(kind, name), given(kind, other)
        if not tied(self._words(kind), one, two):
            return Answer(False)
        self._teach("unrelate", {(kind, one): not_naming(two), (kind, two): not_naming(one)})
        return Answer(True)


def no_circle(words: Vocabulary, child: str, parent: str) -> None:
    if child in above(words, parent):
        raise InvalidInput(f"{parent!r} lies under {child!r} already; unrelate them first, or leave it so.")
