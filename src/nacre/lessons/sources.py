"""Sources: how it is known what a lesson says, and how far that is usually to be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.errors import InvalidInput
from nacre.lessons.answer import Answer
from nacre.lessons.teaching import Teaching, given
from nacre.lessons.vocabulary import DEPRECATED, DESCRIPTION, REVIEW, SOURCE, TYPICAL, UNSAID, Vocabulary
from nacre.lessons.word_edits import told
from nacre.model.levels import level_named


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """`count` lessons name it; `review` when it came up by itself and nobody has confirmed it."""

    name: str
    description: str
    typical_confidence: str
    count: int
    review: bool = False
    deprecated: bool = False


class Sources(Teaching):
    def sources(self, *, review: bool = False) -> Answer[tuple[SourceInfo, ...]]:
        """The most used first; with `review` those only that wait for it."""
        words = self._words(SOURCE)
        used = words.counts()
        names = {name for name, word in words.words.items() if not word.alias_of} | {*used} - {""}
        found = (info(words, name, used.get(name, 0)) for name in names)
        shown = (each for each in found if each.review or not review)
        return Answer(tuple(sorted(shown, key=lambda each: (-each.count, each.name))))

    def add_source(self, name: str, description: str = "", typical_confidence: str = UNSAID) -> Answer[SourceInfo]:
        """Describes a source, a new one or one that stands; it no longer waits for review."""
        words = self._words(SOURCE)
        added = given(SOURCE, name)
        if added in words.words and words.words[added].alias_of:
            raise InvalidInput(
                f"{added!r} stands for {words.resolve(added)!r}; describe that one, or choose another name."
            )
        level = level_named(typical_confidence).name
        edit = told({DESCRIPTION: description.strip(), TYPICAL: level, REVIEW: None})
        self._teach("source", {(SOURCE, added): edit})
        return Answer(self._info(added))

    def confirm_source(self, name: str) -> Answer[SourceInfo]:
        """It may stay, although it came up by itself."""
        words = self._words(SOURCE)
        found = words.resolve(self._standing(words, name))
        typical = str(words.inherited(found, TYPICAL) or UNSAID)
        self._teach("confirm_source", {(SOURCE, found): told({REVIEW: None, TYPICAL: typical})})
        return Answer(self._info(found))

    def deprecate_source(self, name: str, deprecated: bool = True) -> Answer[SourceInfo]:
        """Lessons that name it stay as they are; whoever names it from now on is told to choose another."""
        words = self._words(SOURCE)
        found = words.resolve(self._standing(words, name))
        self._teach("deprecate_source", {(SOURCE, found): told({DEPRECATED: deprecated})})
        return Answer(self._info(found))

    def _info(self, name: str) -> SourceInfo:
        words = self._words(SOURCE)
        return info(words, name, words.counts().get(name, 0))


def info(words: Vocabulary, name: str, count: int) -> SourceInfo:
    own = words.words[name].data if name in words.words else {}
    return SourceInfo(
        name,
        str(own.get(DESCRIPTION) or ""),
        str(words.inherited(name, TYPICAL) or UNSAID),
        count,
        bool(own.get(REVIEW)) or not known(words, name),
        bool(words.inherited(name, DEPRECATED)),
    )


def known(words: Vocabulary, name: str) -> bool:
    """Somebody has described it, or what it lies in."""
    return any(name == each or name.startswith(f"{each}.") for each in words.words)
