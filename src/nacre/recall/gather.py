"""Collects what speaks for each candidate: its words, its meaning, and its neighbours in the conversation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.model import Filter
from nacre.protocols import Backend, Place, Posting, Vectors
from nacre.recall.understand import Question
from nacre.text.dates import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nacre.protocols import Keys

# How many candidates each channel brings. The right turn of a conversation of 600 is among them in all but 2 % of the
# development questions; twice as many found no more and cost a millisecond.
POOL = 100
POOL_PER_WANTED = 6
# The best of them are given their neighbours: a reply may say nothing of what it replies to.
FOLLOWED = 50
TIMELY = 5  # a window of time brings this part of a channel's pool
REACH = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """Arrays run along `places`. `shares` has a row for each term: what BM25 gives the place for it."""

    places: tuple[Place, ...]
    cosines: Vectors
    terms: tuple[str, ...]
    rarity: Vectors
    shares: Vectors
    before: NDArray[np.int64]  # where the turn before stands in `places`; -1 when it is not here
    after: NDArray[np.int64]
    session: NDArray[np.int64]  # memories outside a conversation each have a number of their own


def collect(asked: Question, vector: Vectors | None, *, space: str, store: Backend, pool: int, reach: int) -> Evidence:
    """The filter holds for every place; a narrow one does not cost any candidate."""
    import numpy as np

    postings = store.postings(asked.terms)
    worth = rarities(postings, store.size())  # of every space, as the postings are
    places = candidates(asked, postings, worth, vector, space=space, store=store, pool=pool)
    cosines = known_cosines(vector, places, {}, space=space, store=store)
    if reach and any(place.session for place in places):
        spots = best_spots(places, shares_of(postings, worth, keys_of(places)), cosines)
        here = {place.key for place in places}
        places += [place for place in store.around(space, spots, reach, asked.where) if place.key not in here]
        cosines = known_cosines(vector, places, cosines, space=space, store=store)
    found = np.array([cosines[place.key] for place in places], np.float32)
    return arranged(places, found, postings, worth, keys_of(places))


def keys_of(places: Sequence[Place]) -> Keys:
    import numpy as np

    return np.array([place.key for place in places], np.int64)


def known_cosines(
    vector: Vectors | None, places: Sequence[Place], known: Mapping[int, float], *, space: str, store: Backend
) -> dict[int, float]:
    """Asks only for those that are not known yet."""
    missing = [place for place in places if place.key not in known]
    if vector is None or not missing:
        return {**dict.fromkeys((place.key for place in missing), 0.0), **known}
    found = store.cosines(space, vector, keys_of(missing)).tolist()
    return {**known, **dict(zip((place.key for place in missing), found, strict=True))}


def rarities(postings: Mapping[str, Posting], total: int) -> dict[str, float]:
    """Inverse document frequency, never negative: a common word says little, but nothing against a memory."""
    return {term: rarity(len(found.keys), total) for term, found in postings.items()}


def rarity(holding: int, total: int) -> float:
    return math.log(1 + (max(total - holding, 0) + 0.5) / (holding + 0.5))


def candidates(
    asked: Question,
    postings: Mapping[str, Posting],
    worth: Mapping[str, float],
    vector: Vectors | None,
    *,
    space: str,
    store: Backend,
    pool: int,
) -> list[Place]:
    """Each channel brings at least half of its pool, or all that the filter leaves it."""
    import numpy as np

    def channels(only: Keys | None) -> list[Keys]:
        found = [best_by_words(postings, worth, pool, only)]
        return found if vector is None else [*found, store.near(space, vector, pool, only)[0]]

    found = channels(None)
    places = store.places(space, np.unique(np.concatenate(found)), asked.where)
    admitted = keys_of(places)
    if any(len(keys) >= pool and 2 * np.isin(keys, admitted).sum() < pool for keys in found):
        # The filter is narrow, or other spaces hold most of what was found: look only among what it admits.
        found = channels(store.allowed(space, asked.where))
        places = store.places(space, np.unique(np.concatenate(found)), asked.where)
    return places if vector is None else places + in_time(asked, vector, places, space=space, store=store, pool=pool)


def in_time(
    asked: Question, vector: Vectors, known: Sequence[Place], *, space: str, store: Backend, pool: int
) -> list[Place]:
    """The nearest among what happened when the question says, which may be far from the nearest of all."""
    here = {place.key for place in known}
    found: list[Place] = []
    for window in asked.windows:
        for when in happened_within(window):
            only = store.allowed(space, asked.where & when)
            keys = store.near(space, vector, pool // TIMELY, only)[0] if len(only) else only
            found += [place for place in store.places(space, keys, asked.where) if place.key not in here]
            here |= {place.key for place in found}
    return found


def happened_within(window: Window) -> tuple[Filter, Filter]:
    dated = Filter.where(occurred_at__ge=window.start, occurred_at__le=window.end)
    written = Filter.where(occurred_at__unset=True, created_at__ge=window.start, created_at__le=window.end)
    return dated, written


def best_by_words(postings: Mapping[str, Posting], worth: Mapping[str, float], pool: int, only: Keys | None) -> Keys:
    import numpy as np

    if not postings:
        return np.empty(0, np.int64)
    keys = np.concatenate([found.keys for found in postings.values()])
    shares = np.concatenate([worth[term] * found.weights for term, found in postings.items()])
    unique, where = np.unique(keys, return_inverse=True)
    scores = np.bincount(where, shares, len(unique))
    if only is not None:
        kept = np.isin(unique, only, assume_unique=True)
        unique, scores = unique[kept], scores[kept]
    if len(unique) <= pool:
        return unique
    return unique[np.argpartition(-scores, pool)[:pool]]


def best_spots(places: Sequence[Place], shares: Vectors, cosines: Mapping[int, float]) -> list[tuple[str, int]]:
    import numpy as np

    words = shares.sum(axis=0)
    meaning = np.array([cosines[place.key] for place in places], np.float32)
    together = words / max(float(words.max(initial=0)), 1e-9) + meaning / max(float(meaning.max(initial=0)), 1e-9)
    ranked = (places[i] for i in np.argsort(-together, kind="stable").tolist())
    spots = [(place.session, place.position) for place in ranked if place.session and place.position is not None]
    return spots[:FOLLOWED]


def arranged(
    places: Sequence[Place],
    cosines: Vectors,
    postings: Mapping[str, Posting],
    worth: Mapping[str, float],
    where: Keys,
) -> Evidence:
    import numpy as np

    spot = {(p.session, p.position): i for i, p in enumerate(places) if p.session and p.position is not None}
    names: dict[str, int] = {}
    session = [names.setdefault(p.session or f"\0{p.key}", len(names)) for p in places]
    return Evidence(
        places=tuple(places),
        cosines=cosines,
        terms=tuple(postings),
        rarity=np.array([worth[term] for term in postings], np.float32),
        shares=shares_of(postings, worth, where),
        before=np.array([neighbour(p, -1, spot) for p in places], np.int64),
        after=np.array([neighbour(p, 1, spot) for p in places], np.int64),
        session=np.array(session, np.int64),
    )


def neighbour(place: Place, step: int, spot: Mapping[tuple[str, int], int]) -> int:
    return -1 if place.position is None else spot.get((place.session, place.position + step), -1)


def shares_of(postings: Mapping[str, Posting], worth: Mapping[str, float], where: Keys) -> Vectors:
    import numpy as np

    whole = np.zeros((len(postings), len(where)), np.float32)
    for row, (term, found) in enumerate(postings.items()):
        at = np.minimum(np.searchsorted(found.keys, where), len(found.keys) - 1)
        whole[row] = np.where(found.keys[at] == where, worth[term] * found.weights[at], 0)
    return whole
