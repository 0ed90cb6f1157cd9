"""Recall: understand the question, gather and score candidates, adjust, rerank, select, expand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from nacre.errors import InvalidInput, RerankingError, UnknownName
from nacre.model import ExpandSpec, Filter, Hit, Memory, Query, Reason, Recollection, SessionHit
from nacre.model.recollection import RECENCY_BASES
from nacre.models.calibration import Calibration, calibration_of, logistic
from nacre.protocols import AnswerModel, Embedder, Reader, Reranker
from nacre.recall.gather import Question, understand
from nacre.recall.sessions import ScoredSession, rank_sessions
from nacre.recall.signals import adjust, relevance_alone
from nacre.recall.strategies import STRATEGIES, Scored, Sources

GROUPINGS = ("session",)
# How many times k candidates are looked at: later steps may move hits up or drop the first ones.
WIDE, WIDEST = 3, 16
RERANKED = 30  # hits that the reranker reads; a model of 20 million parameters needs about 10 ms a text on one core
BLEND = 0.5  # share of the reranker; any share from 0.3 to 0.7 is as good in published trials with small cross-encoders
SMALLEST = 1e-6  # probability: its log odds can be added to
WORD = re.compile(r"\w+")


def recall(
    query: Query,
    *,
    space: str,
    store: Reader,
    embedder: Embedder,
    reranker: Reranker | None = None,
    answer_model: AnswerModel | None = None,
) -> Recollection:
    """Reads only: the caller decides whether a hit counts as a use. The `answer_model` reads the best hits where no
    `reranker` does."""
    check_query(query)
    question, sources = understand(query), Sources(space, store, embedder, *calibration_of(embedder.identity, store))
    if not question.text or query.k <= 0:
        return Recollection()
    if query.group_by:
        return recall_sessions(question, query, sources)
    rerankers = Rerankers(reranker, answer_model)
    selected, notes = best_hits(question, query, sources, rerankers, candidate_factor(question, query, reranker))
    if len(selected) < query.k and any(hit.collapsed for hit in selected):
        # Copies of a few memories took the places of others.
        selected, notes = best_hits(question, query, sources, rerankers, WIDEST)
    expanded = expand(selected, query.expand, question.where, space=space, store=store)
    hits = tuple(with_context(expanded, query, question, sources))
    return Recollection(hits, notes, calibrated=sources.calibrated)


def check_query(query: Query) -> None:
    if query.strategy not in STRATEGIES:
        raise UnknownName("strategy", query.strategy, STRATEGIES)
    if query.group_by and query.group_by not in GROUPINGS:
        raise UnknownName("grouping", query.group_by, GROUPINGS)
    if query.recency_basis not in RECENCY_BASES:
        raise UnknownName("recency basis", query.recency_basis, RECENCY_BASES)
    for name in ("min_relevance", "emotion_weight"):
        if not 0 <= getattr(query, name) <= 1:
            raise InvalidInput(f"{name} is {getattr(query, name)}; it must lie between 0 and 1.")
    if query.emotion is not None and not (len(query.emotion) == 2 and all(-1 <= each <= 1 for each in query.emotion)):
        raise InvalidInput(f"emotion is {query.emotion}; give (valence, arousal), each between -1 and 1.")


def candidate_factor(question: Question, query: Query, reranker: Reranker | None) -> int:
    return WIDE if query.emotion or question.windows or reranker else 1


@dataclass(frozen=True, slots=True)
class Rerankers:
    """At most one of them reorders the best hits."""

    reranker: Reranker | None
    answer_model: AnswerModel | None


def best_hits(
    question: Question, query: Query, sources: Sources, rerankers: Rerankers, factor: int
) -> tuple[list[Hit], tuple[str, ...]]:
    """The best k of `factor` times k candidates."""
    gather_and_score = STRATEGIES[query.strategy]
    ranking = gather_and_score(question, replace(query, k=factor * query.k), sources)
    cosines = {each.id: each.cosine for each in ranking.scored if each.relevance is None}
    hits = load_hits(ranking.scored, sources)
    if query.min_relevance:
        hits = with_relevance(hits, cosines, question, sources.calibration)
    adjusted = adjust(hits, question, query)
    if rerankers.reranker is None and query.strategy == "auto" and sources.calibrated:
        adjusted = read_answers(adjusted, question, rerankers.answer_model)
    reranked, notes = rerank(adjusted, question, rerankers.reranker)
    return with_relevance(select(reranked, query), cosines, question, sources.calibration), ranking.notes + notes


def load_hits(scored: Sequence[Scored], sources: Sources) -> list[Hit]:
    memories = {memory.id: memory for memory in sources.reader.get_many(sources.space, [each.id for each in scored])}
    return [
        Hit(memories[each.id], each.score, each.why, each.relevance or 0.0) for each in scored if each.id in memories
    ]


def with_relevance(
    hits: Sequence[Hit], cosines: Mapping[str, float | None], question: Question, calibration: Calibration
) -> list[Hit]:
    """Computes the relevance of hits whose strategy gave none; late, because it reads their texts."""
    return [
        replace(hit, relevance=relevance_alone(hit.memory, question, cosines[hit.memory.id], calibration))
        if hit.memory.id in cosines
        else hit
        for hit in hits
    ]


def rerank(hits: Sequence[Hit], question: Question, reranker: Reranker | None) -> tuple[list[Hit], tuple[str, ...]]:
    """Blends the reranker's score into the best hits; when it fails, the order stays and a note says why."""
    if reranker is None or not hits:
        return list(hits), ()
    top, rest = list(hits[:RERANKED]), list(hits[RERANKED:])
    try:
        scores = reranker.score(question.text, [reranked_text(hit.memory) for hit in top])
    except RerankingError as error:
        return list(hits), (f"Not reranked: {error}",)
    best = max([0.0, *(hit.score for hit in top)]) or 1.0
    blended = [
        replace(
            hit,
            score=(1 - BLEND) * max(hit.score, 0) + BLEND * best * score,
            why=(*hit.why, Reason("reranker", BLEND * best * score, reranker.identity)),
        )
        for hit, score in zip(top, scores, strict=True)
    ]
    unread = [replace(hit, score=(1 - BLEND) * max(hit.score, 0)) for hit in rest]
    return sorted(blended, key=lambda hit: -hit.score) + unread, ()


def read_answers(hits: Sequence[Hit], question: Question, model: AnswerModel | None) -> list[Hit]:
    """Raises hits that answer the question. The model reads as many of the best as its time budget allows; unread
    hits are ranked after them.

    No score rises above 1: where one would, all are divided.
    """
    texts = [reranked_text(hit.memory) for hit in hits]
    distinct = list(dict.fromkeys(texts))  # copies are read once
    by_text = dict(zip(distinct, model.answers(question.text, distinct) if model is not None else (), strict=False))
    answers = [by_text[text] for text in takewhile(by_text.__contains__, texts)]
    if not answers:
        return list(hits)
    best = max([0.0, *(hit.score for hit in hits)])
    lifted = [hit.score + best * answer.gain for hit, answer in zip(hits, answers, strict=False)]
    most = max([1.0, *lifted])
    read = [
        replace(with_reading(hit, score / most), relevance=add_log_odds(hit.relevance, answer.evidence))
        for hit, score, answer in zip(hits, lifted, answers, strict=False)
    ]
    unread = [with_reading(hit, hit.score / most) if most > 1 else hit for hit in hits[len(read) :]]
    return sorted(read, key=lambda hit: -hit.score) + unread


def with_reading(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, why=(*hit.why, Reason("reading", score - hit.score)))


def add_log_odds(probability: float, log_odds: float) -> float:
    bounded = min(max(probability, SMALLEST), 1 - SMALLEST)
    return logistic(math.log(bounded / (1 - bounded)) + log_odds)


def reranked_text(memory: Memory) -> str:
    return f"{memory.title}\n\n{memory.text}" if memory.title else memory.text


def select(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Drops irrelevant hits and copies, and takes the best k."""
    relevant = [hit for hit in hits if hit.relevance >= query.min_relevance]
    return (collapse_copies(relevant) if query.collapse else relevant)[: query.k]


def collapse_copies(hits: Sequence[Hit]) -> list[Hit]:
    """Memories with the same words appear once, with the ids of the copies. Numbers are words, so 9 is not 10.

    Turns of a conversation are events, so they are never collapsed: "yes" said twice was said twice.
    """
    first: dict[tuple[str, ...], int] = {}
    unique: list[Hit] = []
    for hit in hits:
        words = (hit.memory.id,) if hit.memory.session else normalized_words(hit.memory)
        if words in first:
            original = unique[first[words]]
            unique[first[words]] = replace(original, collapsed=(*original.collapsed, hit.memory.id))
        else:
            first[words] = len(unique)
            unique.append(hit)
    return unique


def normalized_words(memory: Memory) -> tuple[str, ...]:
    # Not stems: stemming sixteen texts costs as much as finding them.
    return tuple(WORD.findall(f"{memory.title}\n{memory.text}".casefold())) or (memory.title, memory.text)


def expand(hits: Sequence[Hit], spec: ExpandSpec | None, where: Filter, *, space: str, store: Reader) -> list[Hit]:
    """Appends memories that links lead to, hop by hop, up to the cap. Memories that the filter hides end the walk."""
    if spec is None:
        return list(hits)
    expanded = list(hits)
    seen = {hit.memory.id for hit in hits}
    frontier: list[Memory] = [hit.memory for hit in hits]
    for hop in range(1, spec.depth + 1):
        links = [link for memory in frontier for link in memory.links if link.rel in spec.rels]
        if not links:
            break
        rels = {link.to: link.rel for link in reversed(links)}
        reached = store.get_many(space, [link.to for link in links])
        frontier = [memory for memory in reached if memory.id not in seen and where.admits(memory)]
        seen |= {memory.id for memory in frontier}
        expanded += [
            Hit(memory, spec.score, (Reason("link", spec.score, f"{rels[memory.id]}, {hop} away"),))
            for memory in frontier
        ]
    return expanded[: len(hits) + max(0, spec.cap)]


def with_context(hits: Sequence[Hit], query: Query, question: Question, sources: Sources) -> list[Hit]:
    """Adds to each turn the turns around it, in the order in which they were said."""
    if query.with_context <= 0:
        return list(hits)
    return [add_neighbours(hit, query.with_context, question.where, sources) for hit in hits]


def add_neighbours(hit: Hit, reach: int, where: Filter, sources: Sources) -> Hit:
    session, position = hit.memory.session, hit.memory.position
    if not session or position is None:
        return hit
    near = Filter.where(session=session, position__ge=position - reach, position__le=position + reach)
    around = sources.reader.iterate(sources.space, where & near)
    others = (memory for memory in around if memory.id != hit.memory.id)
    return replace(hit, context=tuple(sorted(others, key=lambda memory: memory.position or 0)))


def recall_sessions(question: Question, query: Query, sources: Sources) -> Recollection:
    """Whole conversations, each with its best turns as hits."""
    ranked, notes = rank_sessions(question, sources, query.k)
    ids = [turn.id for session in ranked for turn in session.turns]
    memories = {memory.id: memory for memory in sources.reader.get_many(sources.space, ids)}
    sessions = [session_hit(each, memories, question, query, sources) for each in ranked]
    with_hits = tuple(each for each in sessions if each.hits)
    hits = tuple(hit for session in with_hits for hit in session.hits)
    return Recollection(hits, notes, with_hits, sources.calibrated)


def session_hit(
    session: ScoredSession, memories: Mapping[str, Memory], question: Question, query: Query, sources: Sources
) -> SessionHit:
    turns = [(memories[turn.id], turn.cosine) for turn in session.turns if turn.id in memories]
    hits = [
        Hit(memory, session.score, session.why, relevance_alone(memory, question, cosine, sources.calibration))
        for memory, cosine in turns
    ]
    relevant = [hit for hit in hits if hit.relevance >= query.min_relevance]
    return SessionHit(
        session.session, session.score, tuple(with_context(relevant, query, question, sources)), session.why
    )


def clean_recollection(recollection: Recollection, clean: Callable[[Memory], Memory]) -> Recollection:
    """Passes every memory of a recollection through `clean`, for example to redact secrets."""

    def clean_hit(hit: Hit) -> Hit:
        memory, context = clean(hit.memory), tuple(map(clean, hit.context))
        same = memory is hit.memory and all(one is other for one, other in zip(context, hit.context, strict=True))
        return hit if same else replace(hit, memory=memory, context=context)

    sessions = tuple(replace(each, hits=tuple(map(clean_hit, each.hits))) for each in recollection.sessions)
    return replace(recollection, hits=tuple(map(clean_hit, recollection.hits)), sessions=sessions)
