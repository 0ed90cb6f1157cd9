"""Looks through all tags for those that were meant to be one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nacre.errors import EmbeddingError
from nacre.lessons.answer import Answer
from nacre.lessons.kinship import settled
from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.near_meanings import one_in_meaning
from nacre.lessons.near_names import Pair, alike, rank
from nacre.lessons.shelf import Shelf
from nacre.lessons.vocabulary import TAG, Vocabulary

LEFT_OVER = "an alias that lessons still have"


@dataclass(frozen=True, slots=True)
class MergeProposal:
    """`merge_tags(merge, keep)` would carry it out; `counts` are of the lessons that have each."""

    keep: str
    merge: str
    reason: str
    counts: Mapping[str, int]


class TagReview(Shelf):
    def review_tags(self) -> Answer[tuple[MergeProposal, ...]]:
        """Tags that seem to be one, the surest first: aliases that lessons still have, other spellings, short forms,
        slips of the pen and, where there is a model, words of one meaning. What is related already, or kept apart, is
        left out; nothing is changed."""
        words = self._words(TAG)
        counts = {name: count for name, count in words.counts().items() if not name.startswith(AGENT_TAG)}
        counts |= {name: 0 for name in words.words if name not in counts}
        own = {name: count for name, count in counts.items() if words.resolve(name) == name}
        found = [*left_over(words, counts), *alike(own)]
        by_spelling = proposals(words, found, counts)
        stay = own.keys() - {each.merge for each in by_spelling}
        try:
            meaning = [*one_in_meaning(sorted(stay, key=lambda name: rank(name, own)), self.store.embedder)]
        except EmbeddingError as error:
            return Answer(by_spelling, (f"Compared by spelling alone: {error}",))
        return Answer(proposals(words, [*found, *meaning], counts))


def left_over(words: Vocabulary, counts: Mapping[str, int]) -> Iterator[Pair]:
    for name, count in counts.items():
        if count and (stands_for := words.resolve(name)) != name:
            yield Pair(stands_for, name, LEFT_OVER)


def proposals(words: Vocabulary, pairs: Iterable[Pair], counts: Mapping[str, int]) -> tuple[MergeProposal, ...]:
    """Each tag is merged at most once, by the surest reason, and into one that stays."""
    found: dict[str, MergeProposal] = {}
    for pair in pairs:
        if pair.reason != LEFT_OVER and settled(words, pair.one, pair.other):
            continue
        ends = [end(found, pair.one), end(found, pair.other)]
        keep, merge = ends if pair.reason == LEFT_OVER else sorted(ends, key=lambda name: rank(name, counts))
        if keep != merge and (pair.reason == LEFT_OVER or not settled(words, keep, merge)):
            told = {keep: counts.get(keep, 0), merge: counts.get(merge, 0)}
            found[merge] = MergeProposal(keep, merge, f"{pair.reason}; {why(keep, merge, counts)}", told)
    return tuple(found.values())


def end(found: Mapping[str, MergeProposal], name: str) -> str:
    """What it will be once all that is proposed so far is done."""
    while name in found:
        name = found[name].keep
    return name


def why(keep: str, merge: str, counts: Mapping[str, int]) -> str:
    one, other = counts.get(keep, 0), counts.get(merge, 0)
    if one > other:
        return f"{keep!r} stands on more lessons ({one} to {other})"
    return f"{keep!r} is the plainer word" if one == other else f"{keep!r} is what it stands for"
