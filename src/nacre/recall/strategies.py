"""A candidate on its way through the steps of a recall."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from nacre.errors import EmbeddingError, UnknownName
from nacre.model import Link, Memory, Query, Reason
from nacre.model.instants import DAY
from nacre.protocols import Backend, Embedder, Match, Vectors
from nacre.recall import signals as relevance
from nacre.recall.gather import POOL, POOL_PER_WANTED, REACH, Evidence, collect
from nacre.recall.signals import FULL_SCORE, WEIGHTS, signals, weighed
from nacre.recall.understand import Question
from nacre.text.tokens import content_stems, stems


@dataclass(frozen=True, slots=True)
class Scored:
    """A strategy that knows no `relevance` gives the `cosine` it saw, if it saw one."""

    id: str
    score: float
    why: tuple[Reason, ...]
    relevance: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Best first."""

    found: tuple[Scored, ...] = ()
    notes: tuple[str, ...] = ()


EXPLAINED = 6  # more than asked for, since worth may exchange near-ties and copies fall away
SPARE = 2  # how many more than asked for are kept for the steps that may drop some
MATCHED = 4  # matched words shown with a hit
# A note outside of any conversation has no neighbours: what they would have said of it, it says itself.
NAMES_ALONE = {"conversation": "words with meaning", "coverage nearby": "coverage", "words nearby": "words"}
SEEDS, HOPS, PASSED_ON = 5, 2, 0.6  # of the walk along links
SHOWN = 0.005  # a signal that gave less is not worth a word
LOCAL_K1, LOCAL_B = 1.5, 0.75  # of the published hybrid formula, whose BM25 knows its own pool alone


@dataclass(frozen=True, slots=True)
class Sources:
    space: str
    store: Backend
    embedder: Embedder


Strategy: TypeAlias = Callable[[Question, Query, Sources], Ranking]


def rank(asked: Question, query: Query, sources: Sources) -> Ranking:
    if query.strategy not in STRATEGIES:
        raise UnknownName("strategy", query.strategy, STRATEGIES)
    return STRATEGIES[query.strategy](asked, query, sources)


def auto(asked: Question, query: Query, sources: Sources) -> Ranking:
    """Words, meaning, neighbours and conversation, weighed as the development data taught."""
    vector, notes = direction(asked, sources)
    pool = max(POOL, POOL_PER_WANTED * query.k)
    evidence = collect(asked, vector, space=sources.space, store=sources.store, pool=pool, reach=REACH)
    return Ranking(tuple(explained(evidence, asked, wanted=query.k + EXPLAINED)), notes)


def explained(evidence: Evidence, asked: Question, wanted: int) -> list[Scored]:
    import numpy as np

    if not evidence.places:
        return []
    told = signals(evidence, asked)
    scores = weighed(told)
    likely = relevance.likely(evidence, told)
    found = (told["words"] > 0) | (evidence.cosines > 0) | (told["coverage nearby"] > 0)
    best = np.lexsort((-np.array([place.key for place in evidence.places]), -scores))
    best = best[found[best]][:wanted]
    given = np.stack([WEIGHTS[name] / FULL_SCORE * found for name, found in told.items()])
    return [
        Scored(
            evidence.places[i].id, float(scores[i]), reasons(tuple(told), given[:, i], evidence, i), float(likely[i])
        )
        for i in best.tolist()
    ]


def reasons(names: Sequence[str], given: Vectors, evidence: Evidence, i: int) -> tuple[Reason, ...]:
    """What each signal gave; the shares add up to the score, but for those too small to show."""
    alone = {} if evidence.places[i].session else NAMES_ALONE
    shares: dict[str, float] = defaultdict(float)
    for name, share in zip(names, given.tolist(), strict=True):
        shares[alone.get(name, name)] += share
    details = {"meaning": f"cosine {evidence.cosines[i]:.2f}", "words": matched(evidence, i)}
    ranked = sorted(shares, key=lambda name: -abs(shares[name]))
    return tuple(Reason(name, shares[name], details.get(name, "")) for name in ranked if abs(shares[name]) > SHOWN)


def matched(evidence: Evidence, i: int) -> str:
    found = [(share, term) for share, term in zip(evidence.shares[:, i].tolist(), evidence.terms, strict=True) if share]
    return ", ".join(term for _, term in sorted(found, reverse=True)[:MATCHED])


def direction(asked: Question, sources: Sources) -> tuple[Vectors | None, tuple[str, ...]]:
    try:
        return sources.embedder.embed([asked.text])[0], ()
    except EmbeddingError as error:
        return None, (f"Answered from words alone: {error}",)


def semantic(asked: Question, query: Query, sources: Sources) -> Ranking:
    vector, notes = direction(asked, sources)
    if vector is None:
        return Ranking(keyword(asked, query, sources).found, notes)
    found = by_meaning(asked, query, sources, vector)
    return Ranking(tuple(Scored(each.id, each.score, (Reason("meaning", each.score),), cosine=each.score)
                         for each in found))  # fmt: skip


def keyword(asked: Question, query: Query, sources: Sources) -> Ranking:
    found = sources.store.by_words(sources.space, asked.terms, asked.where, SPARE * query.k)
    return Ranking(tuple(Scored(each.id, each.score, (Reason("words", each.score),)) for each in found))


def by_meaning(asked: Question, query: Query, sources: Sources, vector: Vectors, pool: int = 0) -> list[Match]:
    return sources.store.by_vector(sources.space, vector, asked.where, pool or SPARE * query.k)


def rrf(asked: Question, query: Query, sources: Sources) -> Ranking:
    """Weighted reciprocal rank fusion of words and meaning, as published."""
    vector, notes = direction(asked, sources)
    pool = max(POOL, POOL_PER_WANTED * query.k)
    words = sources.store.by_words(sources.space, asked.terms, asked.where, pool)
    near = [] if vector is None else by_meaning(asked, query, sources, vector, pool)
    given: dict[str, list[Reason]] = defaultdict(list)
    for name, weight, matches in (("words", query.fusion.words, words), ("meaning", query.fusion.meaning, near)):
        for place, match in enumerate(matches, start=1):
            given[match.id].append(Reason(name, weight / (query.fusion.k + place), f"rank {place}"))
    found = summed(given, {match.id: match.score for match in near})
    return Ranking(tuple(found[: SPARE * query.k + POOL_PER_WANTED]), notes)


def hybrid(asked: Question, query: Query, sources: Sources) -> Ranking:
    """The published weighted sum over the nearest by meaning: cosine, BM25 within the pool, recency, importance."""
    vector, notes = direction(asked, sources)
    if vector is None:
        return Ranking(keyword(asked, query, sources).found, notes)
    near = by_meaning(asked, query, sources, vector, max(1, query.overfetch) * query.k)
    cosines = {match.id: match.score for match in near}
    memories = sources.store.get(sources.space, list(cosines))
    words = pool_words(asked.text, memories)
    weights = query.hybrid
    given = {
        memory.id: [
            Reason("meaning", weights.cosine * cosines[memory.id]),
            Reason("words", weights.lexical * words[memory.id]),
            Reason("recency", weights.recency * recency(memory, query, weights.decay_rate)),
            Reason("importance", weights.importance * memory.importance),
        ]
        for memory in memories
    }
    return Ranking(tuple(summed(given, cosines)), notes)


def pool_words(question: str, memories: Sequence[Memory]) -> dict[str, float]:
    texts = {memory.id: Counter(stems(memory.text)) for memory in memories}
    lengths = {id: sum(counts.values()) for id, counts in texts.items()}
    usual = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    scores = dict.fromkeys(texts, 0.0)
    for term in content_stems(question):
        holding = sum(term in counts for counts in texts.values())
        rarity = math.log((len(texts) - holding + 0.5) / (holding + 0.5) + 1)
        for id, counts in texts.items():
            if times := counts[term]:
                scores[id] += (
                    rarity * times * (LOCAL_K1 + 1) / (times + LOCAL_K1 * (1 - LOCAL_B + LOCAL_B * lengths[id] / usual))
                )
    best = max(scores.values(), default=0.0)
    return {id: score / best if best else 0.0 for id, score in scores.items()}


def recency(memory: Memory, query: Query, rate: float) -> float:
    """exp(-rate x age in days); a time in the future counts as now."""
    since = memory.last_accessed if query.recency_basis == "accessed" else memory.created_at
    return math.exp(-rate * max(0.0, query.asked_at - since) / DAY)


def summed(given: Mapping[str, Sequence[Reason]], cosines: Mapping[str, float]) -> list[Scored]:
    whole = [
        Scored(id, sum(reason.score for reason in why), tuple(why), cosine=cosines.get(id)) for id, why in given.items()
    ]
    return sorted(whole, key=lambda each: -each.score)


def graph(asked: Question, query: Query, sources: Sources) -> Ranking:
    """Begins at the best answers and walks their links, both ways; each hop gives a part of the score on."""
    start = auto(asked, query, sources)
    found = {each.id: each for each in start.found}
    frontier = sources.store.get(sources.space, list(found)[:SEEDS])
    for hop in range(1, HOPS + 1):
        reached: list[Memory] = []
        for near, memory, link in tied(frontier, asked, sources):
            score = found[near].score * PASSED_ON * min(1.0, link.weight)
            if memory.id not in found or score > found[memory.id].score:
                found[memory.id] = Scored(memory.id, score, (Reason("link", score, f"{link.rel}, {hop} away"),))
                reached.append(memory)
        frontier = reached
    return Ranking(tuple(sorted(found.values(), key=lambda each: -each.score)), start.notes)


def tied(memories: Sequence[Memory], asked: Question, sources: Sources) -> list[tuple[str, Memory, Link]]:
    """For each link between one of the memories and another that the filter admits: the id here, the memory there."""
    here = {memory.id for memory in memories}
    targets = {link.to for memory in memories for link in memory.links}
    outward = {m.id: m for m in sources.store.get(sources.space, sorted(targets)) if asked.where.admits(m)}
    found = [(m.id, outward[link.to], link) for m in memories for link in m.links if link.to in outward]
    sources_of = [edge.source for edge in sources.store.edges(sources.space, into=sorted(here))] if here else []
    inward = [memory for memory in sources.store.get(sources.space, sources_of) if asked.where.admits(memory)]
    return found + [(link.to, memory, link) for memory in inward for link in memory.links if link.to in here]


STRATEGIES: Mapping[str, Strategy] = {
    "auto": auto,
    "hybrid": hybrid,
    "rrf": rrf,
    "semantic": semantic,
    "keyword": keyword,
    "graph": graph,
}
