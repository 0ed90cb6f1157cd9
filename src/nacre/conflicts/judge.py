"""Says of two memories whether the newer contradicts, replaces or repeats the older, and by which words.

Exact rules decide what a model that reads the two texts cannot see; all else is the conflict model's. What either says
of a pair depends on the two memories alone. Which pairs the model reads does not: only the most alike (`MOST_READ`); of
the others it is only looked whether a value has changed.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol, TypeAlias

from nacre.conflicts.difference import (
    WEEKDAY,
    changed_address,
    changed_unit,
    changed_value,
    denial,
    differing_words,
    identical,
    is_unit,
    keyed_values,
    moved_weekly,
    only_number,
    opposite_words,
    other_amounts,
    other_labels,
    other_numbers,
    other_sides,
    swapped_words,
)
from nacre.conflicts.holder import changed_holder, says_since_when
from nacre.errors import ConflictModelError
from nacre.model.instants import DAY
from nacre.model.memory import DERIVED_FROM, LESSON, Memory
from nacre.model.review import Verdict, newer_first
from nacre.protocols import ConflictModel, Relation
from nacre.safety.secrets import PLACEHOLDER

log = logging.getLogger("nacre")

ConflictFn: TypeAlias = Callable[[Memory, Memory], bool]

# From this cosine on, two texts without a difference that we can name count as duplicates (AI-Houkai's threshold).
THRESHOLD = 0.80
BY_MODEL = "conflict_model"
CONFLICTING = ("contradiction", "update")
SEEN_ACROSS_TYPES = (BY_MODEL, "value", "negation")
# The share of words in common from which a negation in one of two texts denies the other: of any texts, and of those
# that a model finds alike. Below the last, one thing is said in other words («is not allowed», «is forbidden»).
NEARLY_ALL_WORDS, MOST_WORDS, HALF_OF_WORDS = 0.8, 0.6, 0.5
SAME_PROBABILITY = 0.9  # from this probability on, more than 90 % of the pairs are duplicates
# The mean of the probability that two say the same, read in either order, from which they say about the same. Of 12
# notes and the turns that they were made of ten are above it, and of 11 pairs of neighbouring facts one.
ABOUT_THE_SAME = 0.3
NO_CONFLICT = Verdict("apart", "subjects")  # decided: no conflict; callers of `verdicts` get None instead
# Passing impressions, and what other parts of the program keep: they do not conflict with memories of other types.
OWN_TYPES = frozenset(("sensory", "working", "emotional", "reflection", LESSON))
# Pairs that the model reads for one memory, the most alike: some 10 ms each on one core, and two cores share them. Of
# 262 pairs of versions in the notes of authors 5, 12 and 19 and the development notes, 261 are among the three most
# alike. Of long texts, which take ten times as long, fewer are read: so many characters are four pairs of long notes.
MOST_READ, FEWEST_READ, CHARACTERS_READ = 4, 2, 1_600
LONGEST_READ = 1_000  # characters of a pair; about what the model reads of it


# How likely one of two memories is a newer version of the other: what adds up to the log odds, fitted on the facts that
# change in `training/notes` of authors 12 and 19 (benchmarks/fit_versions.py).
VERSION_CONSTANT, VERSION_HEAD, VERSION_COSINE = -1.283, 0.864, 2.585
LEAST_PROBABILITY = 1e-4  # the model's are kept within this and its complement: beyond, they say nothing more


class Judge(Protocol):
    """A second opinion where no conflict was seen; None when it has none."""

    def __call__(self, a: Memory, b: Memory, similarity: float) -> Verdict | None: ...


@dataclass(frozen=True, slots=True)
class PairJudge:
    """Without a model the exact rules judge alone. `contradiction_fn` and the second judge are asked only where nobody
    saw a conflict and the texts are alike."""

    model: ConflictModel | None = None
    threshold: float = THRESHOLD
    contradiction_fn: ConflictFn | None = None
    second: Judge | None = None

    def verdicts(
        self, memory: Memory, others: Sequence[tuple[Memory, float]]
    ) -> tuple[list[Verdict | None], tuple[str, ...]]:
        """What is said of each pair, and sentences about how. The model reads the most alike in one call; the
        others are judged by the exact rules, whatever the number of neighbours."""
        pairs = [newer_first(memory, other) for other, _ in others]
        read_pairs = [(without_placeholders(newer), without_placeholders(older)) for newer, older in pairs]
        verdicts = [
            by_rules(*pair, similarity, self.threshold)
            for pair, (_, similarity) in zip(read_pairs, others, strict=True)
        ]
        undecided = [at for at, verdict in enumerate(verdicts) if verdict is None]
        undecided.sort(key=lambda at: -others[at][1])
        notes: tuple[str, ...] = ()
        if self.model is not None and undecided:
            read = undecided[: pairs_to_read([read_pairs[at] for at in undecided])]
            try:
                relations = self.model.relations([(read_pairs[at][1].text, read_pairs[at][0].text) for at in read])
                for at, relation in zip(read, relations, strict=True):
                    verdicts[at] = verdict_by_model(*read_pairs[at], relation, self.model) or NO_CONFLICT
                for at in undecided[len(read) :]:
                    verdicts[at] = by_value(*read_pairs[at])
                undecided = []
            except ConflictModelError as error:
                notes = (str(error),)
                log.warning("%s", error)
        for at in undecided:
            verdicts[at] = verdict_without_model(*read_pairs[at], others[at][1], self.threshold)
        return [
            self.with_second_opinion(*pair, similarity, across_types(*pair, verdict))
            for pair, (_, similarity), verdict in zip(pairs, others, verdicts, strict=True)
        ], notes

    def version_probability(self, newer: Memory, older: Memory, cosine: float) -> float:
        """How likely the newer is another version of what the older says; 0 where rules decide, or no model reads."""
        a, b = without_placeholders(newer), without_placeholders(older)
        if self.model is None or by_rules(a, b, cosine, self.threshold) is not None:
            return 0.0
        try:
            (relation,) = self.model.relations([(b.text, a.text)])
        except ConflictModelError as error:
            log.warning("%s", error)
            return 0.0
        version = log_odds(relation.conflict if relation.version is None else relation.version)
        return 1 / (1 + math.exp(-(VERSION_CONSTANT + VERSION_HEAD * version + VERSION_COSINE * cosine)))

    def say_the_same(self, memory: Memory, others: Sequence[tuple[Memory, float]]) -> list[bool]:
        """Of each whether it says about the same as the memory, in other words. More than a duplicate counts, which
        adds nothing: what replaces the one outdates the other."""
        pairs = [newer_first(memory, other) for other, _ in others]
        read_pairs = [(without_placeholders(a), without_placeholders(b)) for a, b in pairs]
        verdicts = [
            by_rules(*pair, likeness, self.threshold) for pair, (_, likeness) in zip(read_pairs, others, strict=True)
        ]
        undecided = [at for at, verdict in enumerate(verdicts) if verdict is None]
        same = [verdict is not None and verdict.kind == "duplicate" for verdict in verdicts]
        texts = [(read_pairs[at][1].text, read_pairs[at][0].text) for at in undecided]
        try:
            read = self.model.relations([*texts, *((b, a) for a, b in texts)]) if self.model and texts else ()
        except ConflictModelError as error:
            log.warning("%s", error)
            read = ()
        for place, at in enumerate(undecided):
            if read:
                both = read[place].duplicate + read[place + len(texts)].duplicate
                same[at] = both / 2 >= ABOUT_THE_SAME
            else:
                same[at] = by_similarity(*read_pairs[at], others[at][1], self.threshold) is not None
        return same

    def with_second_opinion(self, a: Memory, b: Memory, similarity: float, verdict: Verdict | None) -> Verdict | None:
        """The verdict, or that of the caller's own judges where they see a conflict that nobody else saw."""
        seen = verdict is not None and (verdict.kind in CONFLICTING or verdict.reason == "identical text")
        if seen or similarity < self.threshold or a.type != b.type or are_two_events(a, b):
            return verdict
        if self.contradiction_fn is not None and self.contradiction_fn(a, b):
            return Verdict("contradiction", "custom_fn")
        return (self.second(a, b, similarity) if self.second is not None else None) or verdict


def pairs_to_read(pairs: Sequence[tuple[Memory, Memory]]) -> int:
    """How many of these pairs, the most alike first, are read."""
    characters = list(accumulate(min(LONGEST_READ, len(a.text) + len(b.text)) for a, b in pairs))
    return min(MOST_READ, max(FEWEST_READ, bisect_right(characters, CHARACTERS_READ)))


def log_odds(probability: float) -> float:
    clamped = min(max(probability, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    return math.log(clamped / (1 - clamped))


def without_placeholders(memory: Memory) -> Memory:
    """What stands for a removed secret is no value that could differ."""
    text = PLACEHOLDER.sub("", memory.text) if "[REDACTED" in memory.text else memory.text
    return memory if text == memory.text else replace(memory, text=text.strip())


def by_rules(a: Memory, b: Memory, similarity: float, threshold: float = THRESHOLD) -> Verdict | None:
    """What is certain without reading; `NO_CONFLICT` where the two cannot conflict. `a` is the newer memory."""
    if not a.text or not b.text:
        return NO_CONFLICT
    if identical(a.text, b.text):
        return Verdict("duplicate", "identical text")
    if are_two_events(a, b):
        return NO_CONFLICT
    if a.type != b.type and not OWN_TYPES.isdisjoint((a.type, b.type)):
        return NO_CONFLICT
    if opposed(a, b) and similarity >= threshold:
        return Verdict("contradiction", "polarity")
    if derived(a, b) or derived(b, a):  # a summary repeats its sources; it does not argue with them
        return Verdict("duplicate", "similarity") if similarity >= threshold else NO_CONFLICT
    if a.asks or b.asks or other_labels(a.text, b.text) or other_sides(a.text, b.text):
        return NO_CONFLICT
    if words := swapped_words(a.text, b.text):
        return Verdict("contradiction", "order", words, sure=False)
    if values := keyed_values(a.text, b.text):
        return Verdict("update", "value", values)
    holders = changed_holder(a.text, b.text)
    return Verdict("update", "value", holders, sure=says_since_when(a.text)) if holders else None


def across_types(a: Memory, b: Memory, verdict: Verdict | None) -> Verdict | None:
    """The verdict as far as it holds for memories of these types. A fact may be outdated by an event or a decision, but
    people give types freely: what only likeness or polarity says does not count, and nothing is sure."""
    if verdict is None or verdict is NO_CONFLICT:
        return None
    if a.type == b.type or a.role or b.role or verdict.reason == "identical text":
        return verdict  # nobody chose the type of a turn
    seen = verdict.kind != "duplicate" and verdict.reason in SEEN_ACROSS_TYPES
    return replace(verdict, sure=False) if seen else None


def are_two_events(a: Memory, b: Memory) -> bool:
    """Whether both tell what happened, at different times: each stays true. What is noted within a day may tell of one
    event, and correct it."""
    return abs(a.happened_at - b.happened_at) >= DAY and is_past_event(a) and is_past_event(b)


def is_past_event(memory: Memory) -> bool:
    """Not what names only times to come: what is planned may be moved; "this year" has begun. A turn of a conversation
    has the type of an event and may state a fact."""
    from nacre.text.dates import named_times  # few pairs are of this type

    if memory.type != "episodic" or memory.role or memory.happened_at > memory.created_at:
        return False
    named = named_times(memory.text, memory.happened_at)
    return not named or any(each.start <= memory.created_at for each in named)


def opposed(a: Memory, b: Memory) -> bool:
    """Whether one is for a thing and the other against it: what says the same then contradicts."""
    return a.polarity * b.polarity == -1


def derived(product: Memory, source: Memory) -> bool:
    linked = any(link.rel == DERIVED_FROM and link.to == source.id for link in product.links)
    return linked or product.type == "reflection" or "reflection" in product.tags


def verdict_by_model(a: Memory, b: Memory, relation: Relation, model: ConflictModel) -> Verdict | None:
    conflict = relation.conflict
    if conflict >= model.noted:
        kind = "update" if relation.update >= relation.contradiction else "contradiction"
        sure = conflict >= model.sure or changed_value(a.text, b.text) is not None
        return Verdict(kind, BY_MODEL, differing_words(a.text, b.text), sure=sure)
    # Before likeness: two texts that differ in one number are very much alike.
    value = by_value(a, b, sure=False) or by_negation(a, b)
    if value is None and relation.duplicate >= SAME_PROBABILITY:
        return Verdict("contradiction", "polarity") if opposed(a, b) else duplicate(a, b, BY_MODEL)
    return value


def duplicate(a: Memory, b: Memory, reason: str) -> Verdict | None:
    """What is much alike says the same, unless another amount, an opposite word or a negation stands in it, or what is
    counted is another thing."""
    if values := other_amounts(a.text, b.text):
        return Verdict("update", "value", values, sure=False)
    if values := other_numbers(a.text, b.text):
        # Where there are more, or parts of a date, one of them may be the same in another form.
        alone = only_number(a.text) and only_number(b.text)
        return Verdict("update", "value", values, sure=False) if alone else None
    if opposite_words(a.text, b.text) or changed_unit(a.text, b.text):
        return None
    if (denial(a.text, b.text) or 0.0) >= HALF_OF_WORDS:
        return by_negation(a, b, MOST_WORDS)
    return Verdict("duplicate", reason)


def by_negation(a: Memory, b: Memory, least: float = NEARLY_ALL_WORDS) -> Verdict | None:
    """Where one text is nearly the other with a negation. The model reads that in English, and less well elsewhere;
    never sure, because a word in a list of negations may be another word there."""
    if (denial(a.text, b.text) or 0.0) < least:
        return None
    return Verdict("contradiction", "negation", differing_words(a.text, b.text), sure=False)


def by_value(a: Memory, b: Memory, *, sure: bool = True) -> Verdict | None:
    if values := changed_value(a.text, b.text):
        return Verdict("update", "value", values, sure)
    unit = changed_unit(a.text, b.text)
    if unit is not None and all(map(is_unit, unit)):
        return Verdict("update", "value", unit, sure=False)
    # What is on Mondays may be on Tuesdays, too, and what is in one place may have a copy.
    weekday = changed_value(a.text, b.text, WEEKDAY) or moved_weekly(a.text, b.text)
    unsure = weekday or changed_address(a.text, b.text)
    return Verdict("update", "value", unsure, sure=False) if unsure else None


def verdict_without_model(a: Memory, b: Memory, similarity: float, threshold: float = THRESHOLD) -> Verdict | None:
    """Where no model can be asked: a number, a date or a version that changed in an else equal text, and likeness."""
    return by_value(a, b) or by_negation(a, b) or by_similarity(a, b, similarity, threshold)


def by_similarity(a: Memory, b: Memory, similarity: float, threshold: float) -> Verdict | None:
    return duplicate(a, b, "similarity") if similarity >= threshold else None
