"""The pipeline from a question to its memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nacre.errors import InvalidInput, UnknownName
from nacre.model import Hit, Memory, Query, Recollection, SessionHit
from nacre.model.ranking import RECENCY_BASES
from nacre.ports import Embedder, Reranker, Store
from nacre.recall.choose import choose
from nacre.recall.expand import expand
from nacre.recall.relevance import judged
from nacre.recall.rerank import rerank
from nacre.recall.scored import Scored
from nacre.recall.sessions import ScoredSession, rank_sessions
from nacre.recall.strategies import STRATEGIES, Sources, rank
from nacre.recall.understand import Asked, understand
from nacre.recall.weigh import weigh

GROUPINGS = ("session",)
# Where the order may still change much, more are looked at.
WIDE, WIDER, WIDEST = 3, 8, 16


def recall(
    query: Query, *, space: str, store: Store, embedder: Embedder, reranker: Reranker | None = None
) -> Recollection:
    """Nothing is touched here: whether a hit counts as a use is the caller's to say."""
    check(query)
    asked, sources = understand(query), Sources(space, store, embedder)
    if not asked.text or query.k <= 0:
        return Recollection()
    if query.group_by:
        return by_session(asked, query, sources)
    # What comes after the ranking may lift a hit from far below, or drop the first ones.
    dropping = query.per_session or query.diversity
    moving = query.emotion or asked.windows or reranker
    chosen, notes = best(asked, query, sources, reranker, WIDER if dropping else WIDE if moving else 1)
    if len(chosen) < query.k and any(hit.collapsed for hit in chosen):
        # Many copies of a few notes took the places of others.
        chosen, notes = best(asked, query, sources, reranker, WIDEST)
    grown = expand(chosen, query.expand, asked.where, space=space, store=store)
    return Recollection(tuple(surrounded(grown, query, asked, sources)), notes)


def best(
    asked: Asked, query: Query, sources: Sources, reranker: Reranker | None, wider: int
) -> tuple[list[Hit], tuple[str, ...]]:
    """The best k, chosen among so many times as many as are usual."""
    ranking = rank(asked, replace(query, k=wider * query.k), sources)
    cosines = {each.id: each.cosine for each in ranking.found if each.relevance is None}
    hits = read(ranking.found, sources)
    if query.min_relevance:
        hits = certain(hits, cosines, asked)
    ranked, notes = rerank(weigh(hits, asked, query), asked, reranker)
    return certain(choose(ranked, query), cosines, asked), ranking.notes + notes


def check(query: Query) -> None:
    if query.strategy not in STRATEGIES:
        raise UnknownName("strategy", query.strategy, STRATEGIES)
    if query.group_by and query.group_by not in GROUPINGS:
        raise UnknownName("grouping", query.group_by, GROUPINGS)
    if query.recency_basis not in RECENCY_BASES:
        raise UnknownName("recency basis", query.recency_basis, RECENCY_BASES)
    for name in ("min_relevance", "emotion_weight", "diversity"):
        if not 0 <= getattr(query, name) <= 1:
            raise InvalidInput(f"{name} is {getattr(query, name)}; it must lie between 0 and 1.")
    if query.emotion is not None and not (len(query.emotion) == 2 and all(-1 <= each <= 1 for each in query.emotion)):
        raise InvalidInput(f"emotion is {query.emotion}; give (valence, arousal), each between -1 and 1.")


def read(found: Sequence[Scored], sources: Sources) -> list[Hit]:
    known = {memory.id: memory for memory in sources.store.get(sources.space, [each.id for each in found])}
    return [Hit(known[each.id], each.score, each.why, each.relevance or 0.0) for each in found if each.id in known]


def certain(hits: Sequence[Hit], cosines: Mapping[str, float | None], asked: Asked) -> list[Hit]:
    """Judges the hits that their strategy did not; late, since it reads their texts."""
    return [
        replace(hit, relevance=judged(hit.memory, asked, cosines[hit.memory.id])) if hit.memory.id in cosines else hit
        for hit in hits
    ]


def surrounded(hits: Sequence[Hit], query: Query, asked: Asked, sources: Sources) -> list[Hit]:
    """Gives each turn the turns around it, in the order in which they were said."""
    if query.with_context <= 0:
        return list(hits)
    whole = []
    for hit in hits:
        session, position = hit.memory.session, hit.memory.position
        if session and position is not None:
            near = sources.store.around(sources.space, [(session, position)], query.with_context, asked.where)
            memories = sources.store.get(sources.space, [place.id for place in near if place.id != hit.memory.id])
            hit = replace(hit, context=tuple(sorted(memories, key=lambda memory: memory.position or 0)))
        whole.append(hit)
    return whole


def by_session(asked: Asked, query: Query, sources: Sources) -> Recollection:
    ranked, notes = rank_sessions(asked, sources, query.k)
    ids = [turn.id for session in ranked for turn in session.turns]
    known = {memory.id: memory for memory in sources.store.get(sources.space, ids)}
    sessions = [session_hit(each, known, asked, query, sources) for each in ranked]
    kept = tuple(each for each in sessions if each.hits)
    return Recollection(tuple(hit for session in kept for hit in session.hits), notes, kept)


def session_hit(
    session: ScoredSession, known: Mapping[str, Memory], asked: Asked, query: Query, sources: Sources
) -> SessionHit:
    turns = [(known[turn.id], turn.cosine) for turn in session.turns if turn.id in known]
    hits = [Hit(memory, session.score, session.why, judged(memory, asked, cosine)) for memory, cosine in turns]
    relevant = [hit for hit in hits if hit.relevance >= query.min_relevance]
    return SessionHit(session.session, session.score, tuple(surrounded(relevant, query, asked, sources)), session.why)
