"""Words counted among some memories alone, so that no score tells of the others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from nacre.model import Filter
from nacre.ports import Keys, Match, Place, Posting, Store
from nacre.remember.derive import words_of

# As the whole store's index has it: a stem on more memories than this is not weighed in each, and past the last number
# reading on costs more than it tells.
WEIGHED = 300
READ = 2_000
USUAL_WEIGHT = 1.0


def postings_within(store: Store, space: str, terms: Sequence[str], where: Filter) -> dict[str, Posting]:
    holders = {term: [m.id for m in store.by_words(space, [term], where, READ)] for term in dict.fromkeys(terms)}
    found: dict[str, Posting] = {}
    read = 0
    for term in sorted(holders, key=lambda term: len(holders[term])):
        read += len(holders[term])
        if found and read > READ:
            break
        if holders[term]:
            found[term] = posting_of(store, space, term, holders[term])
    return found


def posting_of(store: Store, space: str, term: str, ids: Sequence[str]) -> Posting:
    from nacre.storage.counted_words import padded, posting, weights

    keys = store.allowed(space, Filter.where(id__in=ids))
    placed = {place.id: place.key for place in store.places(space, keys, Filter())}
    shares = dict.fromkeys(placed.values(), USUAL_WEIGHT)
    if len(ids) <= WEIGHED:
        texts = {placed[m.id]: padded(words_of(m)) for m in store.get(space, ids) if m.id in placed}
        shares |= weights(term, texts, {key: len(text.split()) for key, text in texts.items()})
    return posting(shares)


def ranked(postings: Mapping[str, Posting], places: Sequence[Place], total: int, limit: int) -> list[Match]:
    ids = {place.key: place.id for place in places}
    scores: defaultdict[int, float] = defaultdict(float)
    for posting in postings.values():
        rarity = math.log(1 + (total - len(posting.keys) + 0.5) / (len(posting.keys) + 0.5))
        for key, weight in zip(posting.keys.tolist(), posting.weights.tolist(), strict=True):
            if key in ids:
                scores[key] += rarity * weight
    best = sorted(scores, key=lambda key: (-scores[key], -key))[: max(limit, 0)]
    return [Match(ids[key], scores[key]) for key in best]


def united(postings: Mapping[str, Posting]) -> Keys:
    import numpy as np

    every = [posting.keys for posting in postings.values()]
    return np.unique(np.concatenate(every)) if every else np.empty(0, np.int64)


def common(one: Keys, other: Keys) -> Keys:
    import numpy as np

    return np.intersect1d(one, other, assume_unique=True)
