"""The ranking strategies: each gathers candidates and scores them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from nacre.errors import EmbeddingError
from nacre.model import Link, Memory, Query, Reason
from nacre.model.instants import DAY
from nacre.model.memory import MAY_REPLACE
from nacre.models.calibration import Calibration, Closeness
from nacre.protocols import Embedder, Match, Reader, Vectors
from nacre.recall.gather import POOL, POOL_PER_WANTED, REACH, PlacedCandidates, Question, asks_by_time_alone, gather
from nacre.recall.signals import closeness_of, signals, weighted, weights_with
from nacre.text.tokens import content_stems, stems


class Scored(NamedTuple):
    """A strategy that does not know the `closeness` gives the `cosine`, if it has one. `was` are the ids of the
    superseded memories that counted for it, the best match first."""

    id: str
    score: float
    why: tuple[Reason, ...]
    closeness: Closeness | None = None
    cosine: float | None = None
    was: tuple[str, ...] = ()


class Ranking(NamedTuple):
    """Best first."""

    scored: tuple[Scored, ...] = ()
    notes: tuple[str, ...] = ()


EXTRA_CANDIDATES = 6  # beyond k, since adjusting may swap close scores and copies are dropped
LONGEST_CHAIN = 4  # links that are followed from one of the best to its newest version,
MOST_LINKED = 20  # unless these lead to so many
SPARE = 2  # times k, for the steps that may drop some
MATCHED = 4  # matched words shown with a hit
# A memory outside of any conversation has no neighbours, so that this signal comes from itself.
REASONS_ALONE = {"coverage nearby": "coverage"}
SEEDS, HOPS, PASSED_ON = 5, 2, 0.6  # of the walk along links
LEAST_SHOWN = 0.005  # a signal that gave less is not listed as a reason
LOCAL_K1, LOCAL_B = 1.5, 0.75  # of the published hybrid formula, whose BM25 uses only its own pool


class Sources(NamedTuple):
    space: str
    reader: Reader
    embedder: Embedder
    calibration: Calibration
    calibrated: bool


Strategy: TypeAlias = Callable[[Question, Sources, int], Ranking]  # how many are wanted, at least


def auto(question: Question, sources: Sources, wanted: int) -> Ranking:
    """Words, meaning, neighbours and conversation, with weights fitted on the development data."""
    vector, notes = embed_question(question, sources)
    pool = max(POOL, POOL_PER_WANTED * wanted)
    candidates = gather(question, vector, space=sources.space, reader=sources.reader, pool=pool, reach=REACH)
    scored = score_candidates(candidates, question, sources.calibration, wanted + EXTRA_CANDIDATES)
    return Ranking(tuple(scored), notes)


def score_candidates(
    candidates: PlacedCandidates,
    question: Question,
    calibration: Calibration,
    wanted: int,
) -> list[Scored]:
    """The best `wanted` candidates with their reasons: those that match in words or meaning, and the others as well for
    who asks for all (a `min_relevance` of 0)."""
    if not candidates.places:
        return []
    by_name = signals(candidates, question)
    shares = weighted(by_name, weights_with(calibration.meaning), candidates)
    scores = shares.sum(axis=0)
    matching = (by_name["words"] > 0) | (candidates.cosines > 0) | (by_name["coverage nearby"] > 0)
    matching |= question.query.min_relevance == 0 or not question.terms
    best = np.lexsort((-np.array([place.key for place in candidates.places]), -scores))
    # Where only a time is asked for, neither words nor meaning tell which are of that time.
    best = best if asks_by_time_alone(question) else best[matching[best]][:wanted]
    chosen = best.tolist()
    chosen += counterparts(candidates, chosen)
    chosen += replies(candidates, chosen)
    return [
        Scored(
            candidates.places[i].id,
            float(scores[i]),
            reasons(tuple(by_name), shares[:, i], candidates, i),
            near,
            was=candidates.replaced.get(candidates.places[i].id, ()),
        )
        for i, near in zip(chosen, closeness_of(candidates, by_name, chosen), strict=True)
    ]


def counterparts(candidates: PlacedCandidates, best: Sequence[int]) -> list[int]:
    """The candidates that conflict with one of the best, or may be another version of it, and are not among them,
    however little they match: an outdated memory may match better than the one that should replace it, and that one
    may be outdated itself."""
    at = {place.id: i for i, place in enumerate(candidates.places)}
    links = [link for link in candidates.links if link.kind != "duplicate"]
    reached = dict.fromkeys(candidates.places[i].id for i in best)
    first = len(reached)
    for _ in range(LONGEST_CHAIN):
        new = [id for link in links if (link.source in reached) != (link.target in reached) for id in link[:2]]
        if not new or len(reached) > first + MOST_LINKED:
            break
        reached |= dict.fromkeys(new)
    return [at[id] for id in islice(reached, first, None)]


def replies(candidates: PlacedCandidates, best: Sequence[int]) -> list[int]:
    """The turns after those of the best that end with a question, where they are not among them: an answer often has no
    word of what was asked."""
    after = (int(candidates.after[i]) for i in best if candidates.places[i].asks)
    return list(dict.fromkeys(i for i in after if i >= 0 and i not in best))


def reasons(names: Sequence[str], signal_shares: Vectors, candidates: PlacedCandidates, i: int) -> tuple[Reason, ...]:
    """What each signal gave; the shares add up to the score, except for those too small to list."""
    renamed = {} if candidates.places[i].session else REASONS_ALONE
    shares = {renamed.get(name, name): share for name, share in zip(names, signal_shares.tolist(), strict=True)}
    details = {"meaning": f"cosine {candidates.cosines[i]:.2f}", "words": matched_terms(candidates, i)}
    ranked = sorted(shares, key=lambda name: -abs(shares[name]))
    return tuple(
        Reason(name, shares[name], details.get(name, "")) for name in ranked if abs(shares[name]) > LEAST_SHOWN
    )


def matched_terms(candidates: PlacedCandidates, i: int) -> str:
    shares = zip(candidates.shares[:, i].tolist(), candidates.terms, strict=True)
    matches = sorted(((share, term) for share, term in shares if share), reverse=True)
    return ", ".join(term for _, term in matches[:MATCHED])


def embed_question(question: Question, sources: Sources) -> tuple[Vectors | None, tuple[str, ...]]:
    try:
        return sources.embedder.embed([question.text])[0], ()
    except EmbeddingError as error:
        return None, (f"Answered from words alone: {error}",)


def semantic(question: Question, sources: Sources, wanted: int) -> Ranking:
    vector, notes = embed_question(question, sources)
    if vector is None:
        return Ranking(keyword(question, sources, wanted).scored, notes)
    matches = nearest(question, sources, vector, SPARE * wanted)
    return Ranking(tuple(Scored(each.id, each.score, (Reason("meaning", each.score),), cosine=each.score)
                         for each in matches))  # fmt: skip


def keyword(question: Question, sources: Sources, wanted: int) -> Ranking:
    matches = sources.reader.by_words(sources.space, question.terms, question.where, SPARE * wanted)
    return Ranking(tuple(Scored(each.id, each.score, (Reason("words", each.score),)) for each in matches))


def nearest(question: Question, sources: Sources, vector: Vectors, pool: int) -> list[Match]:
    return sources.reader.by_vector(sources.space, vector, question.where, pool)


def rrf(question: Question, sources: Sources, wanted: int) -> Ranking:
    """Weighted reciprocal rank fusion of words and meaning, as published."""
    vector, notes = embed_question(question, sources)
    pool = max(POOL, POOL_PER_WANTED * wanted)
    words = sources.reader.by_words(sources.space, question.terms, question.where, pool)
    near = [] if vector is None else nearest(question, sources, vector, pool)
    fusion = question.query.fusion
    reasons_by_id: dict[str, list[Reason]] = defaultdict(list)
    for name, weight, matches in (("words", fusion.words, words), ("meaning", fusion.meaning, near)):
        for place, match in enumerate(matches, start=1):
            reasons_by_id[match.id].append(Reason(name, weight / (fusion.k + place), f"rank {place}"))
    scored = sum_reasons(reasons_by_id, {match.id: match.score for match in near})
    return Ranking(tuple(scored[: SPARE * wanted + POOL_PER_WANTED]), notes)


def hybrid(question: Question, sources: Sources, wanted: int) -> Ranking:
    """The published weighted sum over the nearest by meaning: cosine, BM25 within the pool, recency, importance."""
    vector, notes = embed_question(question, sources)
    if vector is None:
        return Ranking(keyword(question, sources, wanted).scored, notes)
    near = nearest(question, sources, vector, max(1, question.query.overfetch) * wanted)
    cosines = {match.id: match.score for match in near}
    memories = sources.reader.get_many(sources.space, list(cosines))
    words = pool_words(question.text, memories)
    weights = question.query.weights
    reasons_by_id = {
        memory.id: [
            Reason("meaning", weights.cosine * cosines[memory.id]),
            Reason("words", weights.lexical * words[memory.id]),
            Reason("recency", weights.recency * exponential_recency(memory, question.query, weights.decay_rate)),
            Reason("importance", weights.importance * memory.importance),
        ]
        for memory in memories
    }
    return Ranking(tuple(sum_reasons(reasons_by_id, cosines)), notes)


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


def exponential_recency(memory: Memory, query: Query, rate: float) -> float:
    """exp(-rate x age in days); a time in the future counts as now."""
    since = memory.last_accessed if query.recency_basis == "accessed" else memory.created_at
    return math.exp(-rate * max(0.0, query.asked_at - since) / DAY)


def sum_reasons(reasons_by_id: Mapping[str, Sequence[Reason]], cosines: Mapping[str, float]) -> list[Scored]:
    scored = [
        Scored(id, sum(reason.score for reason in why), tuple(why), cosine=cosines.get(id))
        for id, why in reasons_by_id.items()
    ]
    return sorted(scored, key=lambda each: -each.score)


def graph(question: Question, sources: Sources, wanted: int) -> Ranking:
    """Starts at the best answers of `auto` and follows their links both ways; each hop passes on part of the score.
    Possible newer versions are not followed: they are raised afterwards, by how well they match themselves."""
    start = auto(question, sources, wanted)
    scored = {each.id: each for each in start.scored}
    frontier = sources.reader.get_many(sources.space, list(scored)[:SEEDS])
    for hop in range(1, HOPS + 1):
        reached: list[Memory] = []
        for near, memory, link in linked(frontier, question, sources):
            score = scored[near].score * PASSED_ON * min(1.0, link.weight)
            if memory.id not in scored or score > scored[memory.id].score:
                scored[memory.id] = Scored(memory.id, score, (Reason("link", score, f"{link.rel}, {hop} away"),))
                reached.append(memory)
        frontier = reached
    return Ranking(tuple(sorted(scored.values(), key=lambda each: -each.score)), start.notes)


def linked(memories: Sequence[Memory], question: Question, sources: Sources) -> list[tuple[str, Memory, Link]]:
    """For each link between one of the memories and another that the filter admits: the id here, the memory there."""
    here = {memory.id for memory in memories}
    targets = {link.to for memory in memories for link in followed(memory)}
    outward = {m.id: m for m in sources.reader.get_many(sources.space, sorted(targets)) if question.where.admits(m)}
    pairs = [(m.id, outward[link.to], link) for m in memories for link in followed(m) if link.to in outward]
    source_ids = [edge.source for edge in sources.reader.edges(sources.space, into=sorted(here))] if here else []
    inward = [memory for memory in sources.reader.get_many(sources.space, source_ids) if question.where.admits(memory)]
    return pairs + [(link.to, memory, link) for memory in inward for link in followed(memory) if link.to in here]


def followed(memory: Memory) -> list[Link]:
    return [link for link in memory.links if link.rel != MAY_REPLACE]


STRATEGIES: Mapping[str, Strategy] = {
    "auto": auto,
    "hybrid": hybrid,
    "rrf": rrf,
    "semantic": semantic,
    "keyword": keyword,
    "graph": graph,
}
