"""The array logic of `gather` and `by_words` that all backends share: channels, neighbours, cosines, BM25."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nacre.model import Filter
from nacre.protocols import ALL, CandidateLink, Candidates, Keys, Match, Place, Search, Vectors

K1, B = 1.2, 0.75  # of BM25, as usual
# A title is a summary by its author; a tag is a chosen word. The text is the measure.
COLUMN_WEIGHTS: Mapping[str, float] = {"title": 2.0, "text": 1.0, "role": 1.0, "tags": 1.5, "entities": 1.0}
# So many of the best also bring their neighbours: a reply may not repeat what it replies to.
WITH_NEIGHBOURS = 50
# A question has about ten stems, a pasted page a thousand, and each is a posting to read. The rarest tell the memories
# apart; what the others add to a sum of so many is little.
MOST_TERMS = 64
NO_KEYS: Keys = np.empty(0, np.int64)
WINDOW_SHARE = 5  # a time window brings one fifth of a channel's pool


class Posting(NamedTuple):
    """The memories that contain a stem, by rising key. `frequencies` sum its occurrences times `COLUMN_WEIGHTS`,
    `lengths` count all stems of the memory, `holding` says on how many memories it is: more than were read, maybe."""

    keys: Keys
    frequencies: Vectors
    lengths: Vectors
    holding: int


class Successor(NamedTuple):
    """A place for which a superseded memory counts: its key and id."""

    key: int
    id: str
    place: Place


class Reached(NamedTuple):
    """Places by rising key, each once, and how some of them were reached."""

    places: list[Place]
    successors: tuple[Successor, ...] = ()
    links: tuple[CandidateLink, ...] = ()


class Index(Protocol):
    """One state of one space, as a backend reads it within one snapshot.

    A key is the backend's number for a memory in that state; the channels may also bring keys of other states, which
    `places` and `around` leave out.
    """

    def measure(self, where: Filter) -> tuple[int, int]:
        """How many memories the filter admits, and how many stems they have; without conditions, from counters."""

    def postings(self, terms: Sequence[str], visible: Filter, among: Filter | None = None) -> dict[str, Posting]:
        """Of the terms that occur in what `visible` admits, counting only that. Of a common term a backend may read
        only a part, which may be of other states; with `among`, a part of what this filter admits."""

    def nearest(self, vector: Vectors, limit: int, only: Keys | None = None, also: Keys = NO_KEYS) -> Keys:
        """The nearest memories of any status, best first; `only` (rising) restricts the search. Of those in `also` the
        cosines will be asked for next: a backend may read them at the same time."""

    def cosines(self, vector: Vectors, keys: Keys) -> Vectors:
        """Of each memory's best chunk, in order; 0 where there is no vector."""

    def places(self, keys: Keys, where: Filter) -> list[Place]:
        """Of the memories that the filter admits, by rising key."""

    def reached(self, keys: Keys, where: Filter, replaced: Filter | None, linked_by: tuple[str, ...]) -> Reached:
        """As `places`, with the successors and the linked memories that `Search` describes."""

    def around(self, spots: Sequence[tuple[str, int]], reach: int, where: Filter, known: Keys) -> list[Place]:
        """The admitted memories within `reach` positions of each (session, position), by rising key, each once;
        without those in `known`."""

    def allowed(self, where: Filter, replaced: Filter | None = None) -> Keys:
        """The keys of all memories that the filter admits, and of those that count for one of them, rising."""


class Weights(NamedTuple):
    """Per term its rarity, and the BM25 share of each memory that contains it."""

    postings: Mapping[str, Posting]
    rarity: Mapping[str, float]
    shares: Mapping[str, Vectors]

    @classmethod
    def read(cls, index: Index, terms: Sequence[str], visible: Filter, among: Filter | None = None) -> Weights:
        read = index.postings(tuple(dict.fromkeys(terms)), visible, among) if terms else {}
        postings = {term: posting for term, posting in read.items() if len(posting.keys)}
        memories, stems = index.measure(visible) if postings else (0, 0)
        average = max(1.0, stems / max(1, memories))
        rarity = {term: rarity_of(posting.holding, memories) for term, posting in postings.items()}
        shares = {term: rarity[term] * bm25(posting, average) for term, posting in postings.items()}
        return cls(postings, rarity, shares)

    def best(self, pool: int, only: Keys | None) -> Keys:
        """The memories with the best sums, in no order."""
        keys, scores = self.sums()
        if only is not None:
            allowed = np.isin(keys, only, assume_unique=True)
            keys, scores = keys[allowed], scores[allowed]
        return keys if len(keys) <= pool else keys[np.argpartition(-scores, pool)[:pool]]

    def sums(self) -> tuple[Keys, Vectors]:
        """Every memory that contains a term, by rising key, with the sum of its shares."""
        if not self.postings:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        keys = np.concatenate([posting.keys for posting in self.postings.values()])
        unique, where = np.unique(keys, return_inverse=True)
        sums = np.bincount(where, np.concatenate(list(self.shares.values())), len(unique))
        return unique, sums.astype(np.float32)

    def along(self, keys: Keys) -> Vectors:
        """A row per term: its share in each of the keys."""
        rows = np.zeros((len(self.postings), len(keys)), np.float32)
        for row, (term, posting) in enumerate(self.postings.items()):
            at = np.minimum(np.searchsorted(posting.keys, keys), len(posting.keys) - 1)
            rows[row] = np.where(posting.keys[at] == keys, self.shares[term][at], 0)
        return rows


def bounded(
    terms: Sequence[str], visible: Filter, holding: Callable[[Sequence[str]], Mapping[str, int]]
) -> tuple[str, ...]:
    """The terms that are searched: at most `MOST_TERMS`, the rarest. `holding` says on how many memories each is.

    Who may not see everything must not learn from the choice how rare a word is to others: there the longest are taken.
    """
    unique = tuple(dict.fromkeys(terms))
    if len(unique) <= MOST_TERMS:
        return unique
    if visible.conditions:
        ranked = sorted(unique, key=len, reverse=True)
    else:
        counts = holding(unique)
        ranked = sorted((term for term in unique if counts.get(term)), key=counts.__getitem__)
    chosen = frozenset(ranked[:MOST_TERMS])
    return tuple(term for term in unique if term in chosen)


def occurrences(term: str, line: str) -> int:
    """How often the stems of a term follow each other in a line of stems."""
    wanted = term.split()
    if not wanted or wanted[0] not in line:
        return 0
    stems = line.split()
    return sum(stems[at : at + len(wanted)] == wanted for at in range(len(stems) - len(wanted) + 1))


def rarity_of(holding: int, total: int) -> float:
    """Inverse document frequency, never negative: a common word says little, but nothing against a memory."""
    return math.log(1 + (max(total - holding, 0) + 0.5) / (holding + 0.5))


def bm25(posting: Posting, average: float) -> Vectors:
    """The weight of the term in each memory, without its rarity."""
    frequency = posting.frequencies
    weights = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * posting.lengths / average))
    return weights.astype(np.float32)


# As `Index.allowed`, but None unless it is known at little cost that these are a small part of all memories.
Few: TypeAlias = "Callable[[Filter, Filter | None], Keys | None]"


def gather(index: Index, search: Search, few: Few | None = None) -> Candidates:
    """See `Reader.gather`. With `few`, what a narrow filter admits is searched at once, and not first everything."""
    where = search.where & search.visible
    if search.replaced is not None:
        search = replace(search, replaced=search.replaced & search.visible)
    reached, weights = candidate_places(index, search, where, few)
    places, keys = reached.places, keys_of(reached.places)
    replaced = np.array([each.key for each in reached.successors], np.int64)
    both = cosines_of(index, search.vector, np.concatenate([keys, replaced]))
    cosines, of_replaced = both[: len(keys)], both[len(keys) :]
    shares = weights.along(keys)
    if search.reach and any(place.session for place in places):
        spots = best_positions(places, shares, cosines)
        added = index.around(spots, search.reach, where, keys)
        places += added
        cosines = np.concatenate([cosines, cosines_of(index, search.vector, keys_of(added))])
        shares = np.concatenate([shares, weights.along(keys_of(added))], axis=1)
    of_replaced_terms = weights.along(replaced)
    return Candidates(
        places=tuple(places),
        cosines=cosines,
        terms=tuple(weights.postings),
        rarity=np.array(list(weights.rarity.values()), np.float32),
        shares=shares,
        replaced=count_for_successors(places, cosines, shares, reached.successors, of_replaced, of_replaced_terms),
        links=reached.links,
    )


def count_for_successors(
    places: Sequence[Place],
    cosines: Vectors,
    shares: Vectors,
    successors: Sequence[Successor],
    of_replaced: Vectors,
    of_replaced_terms: Vectors,
) -> dict[str, tuple[str, ...]]:
    """Raises the cosines and shares of places to those of what they replace; names these, the best match first."""
    at = {place.key: i for i, place in enumerate(places)}
    replaced: dict[str, tuple[str, ...]] = {}
    for j in np.argsort(-combined(of_replaced_terms, of_replaced), kind="stable").tolist():
        successor, i = successors[j], at[successors[j].place.key]
        cosines[i] = max(cosines[i], of_replaced[j])
        shares[:, i] = np.maximum(shares[:, i], of_replaced_terms[:, j])
        replaced[successor.place.id] = (*replaced.get(successor.place.id, ()), successor.id)
    return replaced


def candidate_places(index: Index, search: Search, where: Filter, few: Few | None) -> tuple[Reached, Weights]:
    """Each channel brings at least half of its pool, or everything that the filter admits."""

    def channels(weights: Weights, only: Keys | None) -> list[Keys]:
        by_words = weights.best(search.pool, only)
        if search.vector is None:
            return [by_words]
        return [by_words, index.nearest(search.vector, search.pool, only, by_words)]

    def among(only: Keys) -> tuple[Reached, Weights]:
        weights = Weights.read(index, search.terms, search.visible, where)
        keys = distinct(np.concatenate(channels(weights, only)))
        return index.reached(keys, where, search.replaced, search.linked_by), weights

    only = None if few is None else few(where, search.replaced)
    if only is not None:
        reached, weights = among(only)
    else:
        weights = Weights.read(index, search.terms, search.visible)
        keys_by_channel = channels(weights, None)
        reached = index.reached(distinct(np.concatenate(keys_by_channel)), where, search.replaced, search.linked_by)
        admitted = {*keys_of(reached.places), *(each.key for each in reached.successors)}
        full = [keys for keys in keys_by_channel if len(keys) >= search.pool]
        if any(2 * sum(key in admitted for key in keys.tolist()) < search.pool for keys in full):
            # The filter is narrow, or most matches are of another state: search only among what the filter admits.
            reached, weights = among(index.allowed(where, search.replaced))
    more = nearest_in_time(index, search, reached.places, where)
    return reached._replace(places=reached.places + more), weights


def nearest_in_time(index: Index, search: Search, known: Sequence[Place], where: Filter) -> list[Place]:
    """The nearest memories of the times that the question names; they may be far from the nearest of all."""
    here = {place.key for place in known}
    added: list[Place] = []
    for start, end in search.windows if search.vector is not None or not search.terms else ():
        for when in time_filters(start, end):
            only = index.allowed(where & when)
            if search.vector is None or not len(only):
                keys = only[-(search.pool // WINDOW_SHARE) :]  # nothing but the time is asked for: the newest
            else:
                keys = index.nearest(search.vector, search.pool // WINDOW_SHARE, only)
            added += [place for place in index.places(np.sort(keys), where) if place.key not in here]
            here |= {place.key for place in added}
    return added


def time_filters(start: float, end: float) -> tuple[Filter, Filter]:
    dated = Filter.where(occurred_at__ge=start, occurred_at__le=end)
    written = Filter.where(occurred_at__unset=True, created_at__ge=start, created_at__le=end)
    return dated, written


def cosines_of(index: Index, vector: Vectors | None, keys: Keys) -> Vectors:
    if vector is None or not len(keys):
        return np.zeros(len(keys), np.float32)
    return index.cosines(vector, keys)


def combined(shares: Vectors, cosines: Vectors) -> Vectors:
    """Words and meaning, each relative to the best."""
    words = shares.sum(axis=0)
    together = words / max(float(words.max(initial=0)), 1e-9) + cosines / max(float(cosines.max(initial=0)), 1e-9)
    return np.asarray(together, np.float32)


def best_positions(places: Sequence[Place], shares: Vectors, cosines: Vectors) -> list[tuple[str, int]]:
    ranked = (places[i] for i in np.argsort(-combined(shares, cosines), kind="stable").tolist())
    spots = [(place.session, place.position) for place in ranked if place.session and place.position is not None]
    return spots[:WITH_NEIGHBOURS]


def distinct(keys: Keys) -> Keys:
    """Each once, rising. `np.unique` would import masked arrays, for which a command that recalls would wait."""
    rising: Keys = np.sort(keys)
    repeated = rising[1:] == rising[:-1]
    return np.delete(rising, 1 + np.flatnonzero(repeated))


def is_among(keys: Keys, rising: Keys) -> NDArray[np.bool_]:
    """Of each key whether it is among those that rise. `np.isin` would sort them again."""
    if not len(rising):
        return np.zeros(len(keys), np.bool_)
    nearest = rising[np.minimum(np.searchsorted(rising, keys), len(rising) - 1)]
    same: NDArray[np.bool_] = nearest == keys
    return same


# A half has its exponent and fraction 13 bits lower than a float, and another bias: moved there, it is 2 ** -112 of its
# value. numpy converts halves one by one, which takes three times as long.
HALF_SHIFT, HALF_SIGN_AND_VALUE, HALF_SCALE = 13, np.int32(-0x70000001), np.float32(2.0**56)
HALVES_AT_ONCE = 512  # rows; more would not stay in the processor's cache


def products(halves: NDArray[np.float16], vector: Vectors) -> Vectors:
    """Of each row with the vector. Not by a matrix product: its threads keep a core busy after each recall, waiting for
    the next one."""
    result = np.empty(len(halves), np.float32)
    bits, scaled = np.ascontiguousarray(halves).view(np.int16), vector.astype(np.float32) * HALF_SCALE
    room = np.empty((min(HALVES_AT_ONCE, len(bits)), len(vector)), np.int32)
    for start in range(0, len(bits), HALVES_AT_ONCE):
        part = bits[start : start + HALVES_AT_ONCE]
        moved = room[: len(part)]
        np.left_shift(part, HALF_SHIFT, out=moved, dtype=np.int32)
        np.bitwise_and(moved, HALF_SIGN_AND_VALUE, out=moved)
        np.einsum("ij,j->i", moved.view(np.float32), scaled, out=result[start : start + len(part)])
    return result * HALF_SCALE


def keys_of(places: Sequence[Place]) -> Keys:
    return np.array([place.key for place in places], np.int64)


def by_words(index: Index, terms: Sequence[str], where: Filter, limit: int, visible: Filter = ALL) -> list[Match]:
    """See `Reader.by_words`."""
    if limit <= 0:
        return []
    for among in (None, where & visible):
        keys, scores = Weights.read(index, terms, visible, among).sums()
        ids = {place.key: place.id for place in index.places(keys, where & visible)} if len(keys) else {}
        if len(ids) >= min(limit, len(keys)):
            break  # else what was read of common terms may be of another state, or not admitted
    best = np.lexsort((-keys, -scores)).tolist()
    ranked = [Match(ids[int(keys[i])], float(scores[i])) for i in best if int(keys[i]) in ids]
    return ranked[:limit]


# A stem on at most so many memories is weighed by how often it is in each; a commoner one says little, however often it
# is there. Past the second number reading on costs more than it tells, and of one stem only the newest are read.
# Measured on 5,500 turns: the same hits as without any of these limits.
WEIGHED = 300
POSTINGS_READ = 2_000
STEM_COLUMNS = ("title", "text", "role", "tag_stems", "entity_stems")  # as they are called in the tables
FIELD_WEIGHTS = dict(zip(STEM_COLUMNS, COLUMN_WEIGHTS.values(), strict=True))


def divided(holding: dict[str, int]) -> tuple[list[str], dict[str, int]]:
    """The terms that are weighed, and how much is read of those that are too common for that."""
    weighed: list[str] = []
    common: dict[str, int] = {}
    read = 0
    for term in sorted(holding, key=holding.__getitem__):
        read += holding[term]
        if holding[term] <= WEIGHED:
            weighed.append(term)
        elif read <= POSTINGS_READ or not (common or any(holding[each] > 1 for each in weighed)):
            common[term] = POSTINGS_READ  # a form that no memory has counts as one in an earlier state
    return weighed, common


class WordQuestion(NamedTuple):
    """Which words are looked up, and in which memories of the state."""

    terms: Sequence[str]  # whose occurrences are counted
    common: Mapping[str, int]  # of these only the newest contents are read, so many at most
    visible: Filter
    admitted: Filter | None  # where `common` is read; None means in any state, which is quicker


class WordCounts(NamedTuple):
    """The answer to a `WordQuestion`."""

    frequencies: dict[str, dict[int, float]]  # of each term, how often it is in each memory, weighted by field
    newest: dict[str, list[int]]  # contents, of each of the common terms
    lengths: dict[int, int]  # in stems, of the memories in `frequencies`


class WordIndex(ABC):
    """The postings of one state of a space whose words are rows of tables: what the backends with SQL share."""

    def __init__(self, *, past: bool, size: tuple[int, int], present: int, holding: Mapping[str, int]) -> None:
        self._past = past  # whether the state is an earlier one
        self._size = size  # how many memories the state has, and how many stems they have
        self._present = present  # how many memories the space has at present
        self._holding = holding  # on how many of these each stem is that may be asked about

    @abstractmethod
    def _counts(self, asked: WordQuestion) -> WordCounts:
        """What the tables say about these words."""

    def holding(self, terms: Sequence[str]) -> dict[str, int]:
        """How many memories have each term, at most: a phrase is at least as rare as its rarest word."""
        past = int(self._past)  # a word may be only in what has changed since
        smallest = ((term, min((self._holding.get(stem, past) for stem in term.split()), default=0)) for term in terms)
        return {term: n for term, n in smallest if n}

    def _question(self, terms: Sequence[str], visible: Filter, among: Filter | None) -> WordQuestion:
        weighed, common = divided(self.holding(terms))
        return WordQuestion(weighed, common, visible, visible if among is None and visible.conditions else among)

    def postings(self, terms: Sequence[str], visible: Filter, among: Filter | None = None) -> dict[str, Posting]:
        holding = self.holding(terms)
        counts = self._counts(self._question(terms, visible, among))
        memories, stems = self._size
        average = max(1.0, stems / max(1, memories))
        made: dict[str, Posting] = {}
        for term in terms:
            result = counts.frequencies.get(term)
            if result is None:  # a common one: once, in a text of usual length; the weight of that is 1
                keys = np.sort(np.array(counts.newest.get(term, ()), np.int64))
                frequencies, lengths = np.ones(len(keys), np.float32), np.full(len(keys), average, np.float32)
            else:
                keys = np.array(sorted(result), np.int64)
                frequencies = np.array([result[key] for key in keys.tolist()], np.float32)
                lengths = np.array([counts.lengths[key] for key in keys.tolist()], np.float32)
            counted = visible.conditions or " " in term or (self._past and result is not None)
            holders = len(keys) if counted else self._estimate(holding.get(term, 0), len(keys))
            made[term] = Posting(keys, frequencies, lengths, holders)
        return made

    def _estimate(self, holding: int, read: int) -> int:
        """How many memories of the state have a term that `holding` memories have at present. An earlier state is taken
        to have the same share of them, because an exact count would read them all."""
        if not self._past:
            return max(holding, read)
        return round(holding * self._size[0] / max(1, self._present))
