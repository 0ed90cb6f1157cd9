"""Passes every memory of an answer through a guard, wherever in the answer it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nacre.errors import InvalidInput, RerankingError, UnknownName
from nacre.model import ExpandSpec, Filter, Hit, Memory, Query, Reason, Recollection, SessionHit
from nacre.model.recollection import RECENCY_BASES
from nacre.protocols import Backend, Embedder, Reranker
from nacre.recall.select import choose, weigh
from nacre.recall.sessions import ScoredSession, rank_sessions
from nacre.recall.signals import judged
from nacre.recall.strategies import STRATEGIES, Scored, Sources, rank
from nacre.recall.understand import Question, understand


def clean_recollection(found: Recollection, clean: Callable[[Memory], Memory]) -> Recollection:
    def hit(each: Hit) -> Hit:
        memory, context = clean(each.memory), tuple(map(clean, each.context))
        same = memory is each.memory and all(one is other for one, other in zip(context, each.context, strict=True))
        return each if same else replace(each, memory=memory, context=context)

    sessions = tuple(replace(each, hits=tuple(map(hit, each.hits))) for each in found.sessions)
    return replace(found, hits=tuple(map(hit, found.hits)), sessions=sessions)


def expand(hits: Sequence[Hit], spec: ExpandSpec | None, where: Filter, *, space: str, store: Backend) -> list[Hit]:
    """Appends what the links lead to, hop by hop, up to the cap; what the filter hides neither shows nor leads on."""
    if spec is None:
        return list(hits)
    found = list(hits)
    seen = {hit.memory.id for hit in hits}
    frontier: list[Memory] = [hit.memory for hit in hits]
    for hop in range(1, spec.depth + 1):
        ties = [link for memory in frontier for link in memory.links if link.rel in spec.rels]
        if not ties:
            break
        rels = {link.to: link.rel for link in reversed(ties)}
        reached = store.get(space, [link.to for link in ties])
        frontier = [memory for memory in reached if memory.id not in seen and where.admits(memory)]
        seen |= {memory.id for memory in frontier}
        found += [
            Hit(memory, spec.score, (Reason("link", spec.score, f"{rels[memory.id]}, {hop} away"),))
            for memory in frontier
        ]
    return found[: len(hits) + max(0, spec.cap)]


READ = 30  # a reader of 20 million parameters takes some 10 ms a text on one core
BLEND = 0.5  # as good as any share from 0.3 to 0.7 in published trials with small cross-encoders


def reranked_text(memory: Memory) -> str:
    """A title says what the text is about, to a second reader too."""
    return f"{memory.title}\n\n{memory.text}" if memory.title else memory.text


def rerank(hits: Sequence[Hit], asked: Question, reranker: Reranker | None) -> tuple[list[Hit], tuple[str, ...]]:
    if reranker is None or not hits:
        return list(hits), ()
    top, rest = list(hits[:READ]), list(hits[READ:])
    try:
        given = reranker.score(asked.text, [reranked_text(hit.memory) for hit in top])
    except RerankingError as error:
        return list(hits), (f"Not reranked: {error}",)
    best = max([0.0, *(hit.score for hit in top)]) or 1.0
    blended = [
        replace(
            hit,
            score=(1 - BLEND) * max(hit.score, 0) + BLEND * best * score,
            why=(*hit.why, Reason("reranker", BLEND * best * score, reranker.identity)),
        )
        for hit, score in zip(top, given, strict=True)
    ]
    unread = [replace(hit, score=(1 - BLEND) * max(hit.score, 0)) for hit in rest]
    return sorted(blended, key=lambda hit: -hit.score) + unread, ()


GROUPINGS = ("session",)
# Where the order may still change much, more are looked at.
WIDE, WIDER, WIDEST = 3, 8, 16


def recall(
    query: Query, *, space: str, store: Backend, embedder: Embedder, reranker: Reranker | None = None
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
    asked: Question, query: Query, sources: Sources, reranker: Reranker | None, wider: int
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


def certain(hits: Sequence[Hit], cosines: Mapping[str, float | None], asked: Question) -> list[Hit]:
    """Judges the hits that their strategy did not; late, since it reads their texts."""
    return [
        replace(hit, relevance=judged(hit.memory, asked, cosines[hit.memory.id])) if hit.memory.id in cosines else hit
        for hit in hits
    ]


def surrounded(hits: Sequence[Hit], query: Query, asked: Question, sources: Sources) -> list[Hit]:
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


def by_session(asked: Question, query: Query, sources: Sources) -> Recollection:
    ranked, notes = rank_sessions(asked, sources, query.k)
    ids = [turn.id for session in ranked for turn in session.turns]
    known = {memory.id: memory for memory in sources.store.get(sources.space, ids)}
    sessions = [session_hit(each, known, asked, query, sources) for each in ranked]
    kept = tuple(each for each in sessions if each.hits)
    return Recollection(tuple(hit for session in kept for hit in session.hits), notes, kept)


def session_hit(
    session: ScoredSession, known: Mapping[str, Memory], asked: Question, query: Query, sources: Sources
) -> SessionHit:
    turns = [(known[turn.id], turn.cosine) for turn in session.turns if turn.id in known]
    hits = [Hit(memory, session.score, session.why, judged(memory, asked, cosine)) for memory, cosine in turns]
    relevant = [hit for hit in hits if hit.relevance >= query.min_relevance]
    return SessionHit(session.session, session.score, tuple(surrounded(relevant, query, asked, sources)), session.why)
