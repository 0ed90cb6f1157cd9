"""The first two steps of a recall: understand the question, then gather candidates by words, meaning and time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.errors import InvalidInput
from nacre.model import GENERIC_ROLES, Filter, Query
from nacre.protocols import Backend, Place, Posting, Vectors
from nacre.text.dates import Window, time_windows
from nacre.text.tokens import content_stems, stem, stems, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nacre.protocols import Keys

# Half of a surrogate pair or a NUL, from a broken paste: no stored text has them.
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
LONGEST_QUERY = 20_000  # characters; an agent that pastes a whole file wants ingestion, not recall
FIRST_PERSON = frozenset(("i", "im", "ive", "id", "ill", "my", "me", "mine", "myself", "we", "our", "us"))
SECOND_PERSON = frozenset(("you", "your", "yours"))
# "What did you recommend?" asks for the assistant's words, "what did I tell you?" for the user's.
SAID_BY_ASSISTANT = frozenset(stem(word) for word in (
    "recommend", "suggest", "say", "said", "tell", "told", "mention", "provide", "give", "gave", "list", "advise",
    "explain", "write", "wrote", "propose", "answer",
))  # fmt: skip
QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”')


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    terms: tuple[str, ...]
    where: Filter
    k: int
    strategy: str
    asked_at: float
    voice: frozenset[str] = frozenset()
    windows: tuple[Window, ...] = ()

    def speaker_stems(self, roles: frozenset[str]) -> frozenset[str]:
        """The stems of all speakers' names."""
        return frozenset(stem(word) for role in roles - GENERIC_ROLES for word in words(role))

    def speakers(self, roles: frozenset[str]) -> frozenset[str]:
        """The speaker that the question names, if it names exactly one."""
        mentioned = {
            role for role in roles - GENERIC_ROLES if role and stem(words(role)[0] if words(role) else "") in self.terms
        }
        return frozenset(mentioned) if len(mentioned) == 1 else frozenset()


def understand(query: Query) -> Question:
    if not isinstance(query.text, str):  # the type forbids it, a caller may not know
        raise InvalidInput(f"The question must be text, not {type(query.text).__name__}.")
    if len(query.text) > LONGEST_QUERY:
        raise InvalidInput(
            f"The question has {len(query.text):,} characters; ask with at most {LONGEST_QUERY:,}, in fewer words."
        )
    text = UNWRITABLE.sub(" ", query.text).strip()
    return Question(
        text=text,
        terms=tuple(dict.fromkeys((*phrases(text), *content_stems(text), *content_stems(" ".join(query.also))))),
        where=with_contexts(query),
        k=query.k,
        strategy=query.strategy,
        asked_at=query.asked_at,
        voice=voice(text),
        windows=past_windows(text, query.asked_at),
    )


def with_contexts(query: Query) -> Filter:
    """Excludes memories that do not apply in the contexts of the query."""
    return query.where & Filter.where(anti_contexts__none=query.contexts or None)


def phrases(text: str) -> list[str]:
    """Quoted text is searched for as a phrase, besides its words."""
    quoted = (" ".join(stems(one or other)) for one, other in QUOTED.findall(text))
    return list(dict.fromkeys(phrase for phrase in quoted if " " in phrase))


def voice(text: str) -> frozenset[str]:
    """Whose turns are likely to answer in a chat with an assistant: the user's or the assistant's."""
    used = set(words(text))
    if used & SECOND_PERSON and {stem(word) for word in used} & SAID_BY_ASSISTANT:
        return frozenset(("assistant",))
    return frozenset(("user",)) if used & FIRST_PERSON else frozenset()


def past_windows(text: str, asked_at: float) -> tuple[Window, ...]:
    """Windows that began before now: "What should I cook tonight?" does not ask for a memory of tonight."""
    return tuple(window for window in time_windows(text, asked_at) if window.start < asked_at)


# How many candidates each channel brings. The right turn of a conversation of 600 is among them in all but 2 % of the
# development questions; twice as many gave no better result and cost a millisecond.
POOL = 100
POOL_PER_WANTED = 6
# So many of the best also bring their neighbours: a reply may not repeat what it replies to.
WITH_NEIGHBOURS = 50
WINDOW_SHARE = 5  # a time window brings one fifth of a channel's pool
REACH = 2


@dataclass(frozen=True, slots=True)
class Candidates:
    """Arrays run along `places`. `shares` has a row per term: the BM25 score of each place for it."""

    places: tuple[Place, ...]
    cosines: Vectors
    terms: tuple[str, ...]
    rarity: Vectors
    shares: Vectors
    before: NDArray[np.int64]  # index of the previous turn in `places`; -1 when it is not there
    after: NDArray[np.int64]
    session: NDArray[np.int64]  # a number per session; each memory outside a conversation has its own


def gather(
    question: Question, vector: Vectors | None, *, space: str, store: Backend, pool: int, reach: int
) -> Candidates:
    """Every place passes the filter; a narrow filter does not cost candidates."""
    import numpy as np

    postings = store.postings(question.terms)
    worth = rarities(postings, store.size())  # of every space, as the postings are
    places = candidate_places(question, postings, worth, vector, space=space, store=store, pool=pool)
    cosines = add_cosines(vector, places, {}, space=space, store=store)
    if reach and any(place.session for place in places):
        spots = best_positions(places, term_shares(postings, worth, place_keys(places)), cosines)
        here = {place.key for place in places}
        places += [place for place in store.around(space, spots, reach, question.where) if place.key not in here]
        cosines = add_cosines(vector, places, cosines, space=space, store=store)
    by_place = np.array([cosines[place.key] for place in places], np.float32)
    return arrange(places, by_place, postings, worth, place_keys(places))


def place_keys(places: Sequence[Place]) -> Keys:
    import numpy as np

    return np.array([place.key for place in places], np.int64)


def add_cosines(
    vector: Vectors | None, places: Sequence[Place], known: Mapping[int, float], *, space: str, store: Backend
) -> dict[int, float]:
    """`known` and the cosines that it lacks, by key; 0 without a vector."""
    missing = [place for place in places if place.key not in known]
    if vector is None or not missing:
        return {**dict.fromkeys((place.key for place in missing), 0.0), **known}
    added = store.cosines(space, vector, place_keys(missing)).tolist()
    return {**known, **dict(zip((place.key for place in missing), added, strict=True))}


def rarities(postings: Mapping[str, Posting], total: int) -> dict[str, float]:
    """Inverse document frequency, never negative: a common word says little, but nothing against a memory."""
    return {term: rarity(len(posting.keys), total) for term, posting in postings.items()}


def rarity(holding: int, total: int) -> float:
    return math.log(1 + (max(total - holding, 0) + 0.5) / (holding + 0.5))


def candidate_places(
    question: Question,
    postings: Mapping[str, Posting],
    worth: Mapping[str, float],
    vector: Vectors | None,
    *,
    space: str,
    store: Backend,
    pool: int,
) -> list[Place]:
    """Each channel brings at least half of its pool, or everything that the filter admits."""
    import numpy as np

    def channels(only: Keys | None) -> list[Keys]:
        by_words = best_by_words(postings, worth, pool, only)
        return [by_words] if vector is None else [by_words, store.near(space, vector, pool, only)[0]]

    keys_by_channel = channels(None)
    places = store.places(space, np.unique(np.concatenate(keys_by_channel)), question.where)
    admitted = place_keys(places)
    if any(len(keys) >= pool and 2 * np.isin(keys, admitted).sum() < pool for keys in keys_by_channel):
        # The filter is narrow, or most matches are in other spaces: search only among what the filter admits.
        keys_by_channel = channels(store.allowed(space, question.where))
        places = store.places(space, np.unique(np.concatenate(keys_by_channel)), question.where)
    return (
        places
        if vector is None
        else places + nearest_in_time(question, vector, places, space=space, store=store, pool=pool)
    )


def nearest_in_time(
    question: Question, vector: Vectors, known: Sequence[Place], *, space: str, store: Backend, pool: int
) -> list[Place]:
    """The nearest memories of the time that the question names; they may be far from the nearest of all."""
    here = {place.key for place in known}
    added: list[Place] = []
    for window in question.windows:
        for when in time_filters(window):
            only = store.allowed(space, question.where & when)
            keys = store.near(space, vector, pool // WINDOW_SHARE, only)[0] if len(only) else only
            added += [place for place in store.places(space, keys, question.where) if place.key not in here]
            here |= {place.key for place in added}
    return added


def time_filters(window: Window) -> tuple[Filter, Filter]:
    dated = Filter.where(occurred_at__ge=window.start, occurred_at__le=window.end)
    written = Filter.where(occurred_at__unset=True, created_at__ge=window.start, created_at__le=window.end)
    return dated, written


def best_by_words(postings: Mapping[str, Posting], worth: Mapping[str, float], pool: int, only: Keys | None) -> Keys:
    import numpy as np

    if not postings:
        return np.empty(0, np.int64)
    keys = np.concatenate([posting.keys for posting in postings.values()])
    shares = np.concatenate([worth[term] * posting.weights for term, posting in postings.items()])
    unique, where = np.unique(keys, return_inverse=True)
    scores = np.bincount(where, shares, len(unique))
    if only is not None:
        allowed = np.isin(unique, only, assume_unique=True)
        unique, scores = unique[allowed], scores[allowed]
    if len(unique) <= pool:
        return unique
    return unique[np.argpartition(-scores, pool)[:pool]]


def best_positions(places: Sequence[Place], shares: Vectors, cosines: Mapping[int, float]) -> list[tuple[str, int]]:
    import numpy as np

    words = shares.sum(axis=0)
    meaning = np.array([cosines[place.key] for place in places], np.float32)
    together = words / max(float(words.max(initial=0)), 1e-9) + meaning / max(float(meaning.max(initial=0)), 1e-9)
    ranked = (places[i] for i in np.argsort(-together, kind="stable").tolist())
    spots = [(place.session, place.position) for place in ranked if place.session and place.position is not None]
    return spots[:WITH_NEIGHBOURS]


def arrange(
    places: Sequence[Place],
    cosines: Vectors,
    postings: Mapping[str, Posting],
    worth: Mapping[str, float],
    keys: Keys,
) -> Candidates:
    import numpy as np

    spot = {(p.session, p.position): i for i, p in enumerate(places) if p.session and p.position is not None}
    names: dict[str, int] = {}
    session = [names.setdefault(p.session or f"\0{p.key}", len(names)) for p in places]
    return Candidates(
        places=tuple(places),
        cosines=cosines,
        terms=tuple(postings),
        rarity=np.array([worth[term] for term in postings], np.float32),
        shares=term_shares(postings, worth, keys),
        before=np.array([neighbour(p, -1, spot) for p in places], np.int64),
        after=np.array([neighbour(p, 1, spot) for p in places], np.int64),
        session=np.array(session, np.int64),
    )


def neighbour(place: Place, step: int, spot: Mapping[tuple[str, int], int]) -> int:
    return -1 if place.position is None else spot.get((place.session, place.position + step), -1)


def term_shares(postings: Mapping[str, Posting], worth: Mapping[str, float], keys: Keys) -> Vectors:
    import numpy as np

    shares = np.zeros((len(postings), len(keys)), np.float32)
    for row, (term, posting) in enumerate(postings.items()):
        at = np.minimum(np.searchsorted(posting.keys, keys), len(posting.keys) - 1)
        shares[row] = np.where(posting.keys[at] == keys, worth[term] * posting.weights[at], 0)
    return shares
