"""Recall: understand the question, gather and score candidates, adjust, rerank, select, expand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from nacre.errors import InvalidInput, RerankingError, UnknownName
from nacre.model import Edge, ExpandSpec, Filter, Hit, Memory, Query, Reason, Recollection, SessionHit
from nacre.model.instants import LAST
from nacre.model.memory import SUSPICION
from nacre.model.recollection import RECENCY_BASES, STRONG, WORDLESS, age_order, effective_from, with_conflicts
from nacre.models.calibration import Closeness, Floor, Reading, calibration_of, floor_of, weighed_together
from nacre.protocols import AnswerModel, Data, Embedder, Reader, Reranker
from nacre.recall.gather import Question, asks_by_time_alone, speaker_stems, understand
from nacre.recall.sessions import ScoredSession, rank_sessions
from nacre.recall.signals import (
    adjust,
    all_windows,
    closeness_alone,
    distance_of_time,
    event_match,
    is_event_of_another_time,
    names_time,
    share_of_relevance,
    time_match,
)
from nacre.recall.strategies import STRATEGIES, Scored, Sources
from nacre.recall.versions import (
    MOST_UNCERTAIN_RELEVANCE,
    least_near_best,
    lower_what_does_not_hold,
    raised,
    raised_for,
    rank_newer_above_older,
)
from nacre.text.dates import Window, is_english, is_question, without
from nacre.text.tokens import STOP_WORDS, excerpt, only_asks, words

GROUPINGS = ("session",)
# How many times k candidates are looked at: later steps may move hits up or drop the first ones.
WIDE, WIDEST = 3, 16
# Characters that a model reads of a memory, around the question's words: some 200 of the 256 pieces that it takes.
LONGEST_READ = 800
RERANKED = 30  # hits that the reranker reads; a model of 20 million parameters needs about 10 ms a text on one core
BLEND = 0.5  # share of the reranker; any share from 0.3 to 0.7 is as good in published trials with small cross-encoders
ORDER_SPAN = 0.5  # share of its score that the last in that order loses
# The share of its gain that reading gives to a turn, of which the model sees neither who said it nor when.
READ_TURN = 0.5
# Of what lies in the time, for a question that names nothing else: it is more likely an answer than not.
TIME_ONLY_RELEVANCE = STRONG
FITS_TIME = 0.5  # what held in a season, or lies within half a day of a day
TOUCHES_TIME = 0.4  # besides, what names a longer time
MOST_LOOKED_UP = 3  # words of a question that is a list of words; more of them describe something
ALL_WORDS = 0.999  # 1 but for rounding
LOOKUP_RELEVANCE = STRONG  # of what has all these words
MOST_FORMER = 8  # superseded memories of a hit that are read: a chain is seldom longer
WORD = re.compile(r"\w+")
# From this cosine on a note is shown even where no word is common and reading says no: reading says little across
# languages. On five sets of notes 11 more answerable questions get a hit, and one of 448 unanswerable ones gets a wrong
# one; at 0.45 it is 12 and six. It is 0.3 for questions that are not surely English, which reading understands less: of
# 491 of them that something answers five more get a hit, the right one, and of 147 others at most two get a wrong one;
# it was chosen on these.
ALIKE_WITHOUT_WORDS, ALIKE_IN_OTHER_LANGUAGES = 0.5, 0.3
REPLY = "answer"  # the reason of a turn that was said after a question; "reply" is a signal of all turns
DOES_NOT_KNOW = re.compile(
    r"\b(?:no idea|not sure|dunno|(?:don'?t|do not|doesn'?t|didn'?t) know|keine ahnung|weiß (?:ich |es )?nicht"
    r"|(?:ne )?sais pas|no (?:lo )?sé|non (?:lo )?so|nie wiem)\b|不知道|わからない",
    re.IGNORECASE,
)
DECIDING = 5  # hits at least that decide whether any is shown, however few are asked for
LIKE_A_WORD = 0.3  # cosine of a memory that has not the word but its meaning: about 0.5; of an unrelated one: 0.1


def recall(
    query: Query,
    *,
    space: str,
    reader: Reader,
    embedder: Embedder,
    measured: Data | None = None,
    reranker: Reranker | None = None,
    answer_model: AnswerModel | None = None,
) -> Recollection:
    """Reads only: the caller decides whether a hit counts as a use. `measured` is what the store knows of the
    embedder's cosines. The `answer_model` reads the best hits where no `reranker` does."""
    check_query(query)
    question, sources = (
        understand(query),
        Sources(space, reader, embedder, *calibration_of(embedder.identity, measured)),
    )
    if not question.text:
        if question.is_nacre_strategy:
            raise InvalidInput("The question is empty; say what to look for.")
        # The systems that published the other strategies return nothing for an empty question.
        return Recollection()
    if not question.terms and not WORD.search(question.text):  # an emoji is searched for, a question mark is not
        return Recollection(notes=(WORDLESS,), calibrated=sources.calibrated)
    if query.group_by:
        return recall_sessions(question, sources)
    rerankers = Rerankers(reranker, answer_model)
    best = best_hits(question, sources, rerankers, candidate_factor(question, reranker))
    if len(best.hits) < query.k and any(judged.hit.collapsed for judged in best.hits):
        # Copies of a few memories took the places of others.
        best = best_hits(question, sources, rerankers, WIDEST)
    relevant, nearest = above_floor(best.hits, question, only_time=best.only_time)
    expanded = with_conflicts(relevant[: query.k], query.asked_at)
    if query.expand is not None:
        expanded = expand(expanded, query.expand, admitted_memories(question.where, sources))
    hits = tuple(with_context(expanded, question, sources))
    return Recollection(hits, best.notes, calibrated=sources.calibrated, nearest=nearest)


def check_query(query: Query) -> None:
    if query.strategy not in STRATEGIES:
        raise UnknownName("strategy", query.strategy, STRATEGIES)
    if query.group_by and query.group_by not in GROUPINGS:
        raise UnknownName("grouping", query.group_by, GROUPINGS)
    if query.recency_basis not in RECENCY_BASES:
        raise UnknownName("recency basis", query.recency_basis, RECENCY_BASES)
    if query.k < 1:
        raise InvalidInput(f"k is {query.k}; ask for at least 1 memory.")
    for name in ("min_relevance", "emotion_weight"):
        if not 0 <= (getattr(query, name) or 0) <= 1:
            raise InvalidInput(f"{name} is {getattr(query, name)}; it must lie between 0 and 1.")
    if query.emotion is not None and not (len(query.emotion) == 2 and all(-1 <= each <= 1 for each in query.emotion)):
        raise InvalidInput(f"emotion is {query.emotion}; give (valence, arousal), each between -1 and 1.")


def candidate_factor(question: Question, reranker: Reranker | None) -> int:
    by_time = question.windows or question.future_windows or question.order
    return WIDE if question.query.emotion or by_time or reranker else 1


class Judged(NamedTuple):
    """A hit with its relevance, and what decides whether it is shown."""

    hit: Hit
    floor: Floor
    near_enough: bool = True  # enough to answer, apart from any reading
    read: bool = False  # by a model
    alike: bool = False  # in meaning, without a word in common


class BestHits(NamedTuple):
    hits: list[Judged]  # best first
    notes: tuple[str, ...]
    only_time: bool  # whether the question names a time and nothing else but a speaker


class Rerankers(NamedTuple):
    """At most one of them reorders the best hits."""

    reranker: Reranker | None
    answer_model: AnswerModel | None


def best_hits(question: Question, sources: Sources, rerankers: Rerankers, factor: int) -> BestHits:
    """The best of `factor` times k candidates: k, or as many as decide whether any is shown."""
    gather_and_score = STRATEGIES[question.query.strategy]
    ranking = gather_and_score(question, sources, factor * question.query.k)
    # What is newer is named also where it is no hit later.
    loaded = with_conflicts(load_hits(ranking.scored, question, sources), question.query.asked_at)
    asked_before = hits_asked_before(loaded, question)
    adjusted, time_fits = adjusted_hits([hit for hit in loaded if hit not in asked_before], question, factor)
    reranked, readings, notes = rerank_hits(adjusted, question, sources, rerankers)
    only_time = question.is_nacre_strategy and names_only_time(question, reranked)
    judge = RelevanceJudge(
        question=question,
        sources=sources,
        scored={each.id: each for each in beside_answers(ranking.scored, loaded, question)},
        readings=readings,
        time_fits=time_fits,
        only_time=only_time,
        unknown=sources.calibrated and is_unknown_word(question, ranking.scored),
    )
    ids_with_all_words = lookup_matches(question, ranking.scored)
    judged = judge.judge_all(reranked, ids_with_all_words)
    relevant = [judged[hit.memory.id].hit if hit.memory.id in judged else hit for hit in reranked]
    ordered = in_order(relevant, question, ids_with_all_words, time_fits, asked_before, readings)
    if least := question.query.min_relevance:
        ordered = relevant_enough([judge.judge_late(hit, judged).hit for hit in ordered], least)
    looked_at = replace(question.query, k=max(question.query.k, DECIDING))
    hits = [judge.judge_late(hit, judged) for hit in select(ordered, looked_at)]
    return BestHits(hits, ranking.notes + notes, only_time)


def relevant_enough(ordered: Sequence[Hit], least: float) -> list[Hit]:
    """Those that are, and what stands above one of them as its newer version: without that, what is outdated would look
    as if it still held."""
    kept: dict[str, Hit] = {}
    for hit in reversed(ordered):
        if hit.relevance >= least or raised_for(hit, kept):
            kept[hit.memory.id] = hit
    return list(reversed(kept.values()))


def hits_asked_before(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """Turns that only asked the same question. Empty with `with_context`, which shows the answer beside them."""
    return [] if question.query.with_context else [hit for hit in hits if repeats(hit.memory, question)]


def rerank_hits(
    hits: Sequence[Hit], question: Question, sources: Sources, rerankers: Rerankers
) -> tuple[list[Hit], dict[str, Reading], tuple[str, ...]]:
    """Best first, what the shipped model says of those that it read, by id, and sentences on what failed."""
    if rerankers.reranker is None and question.query.strategy == "auto" and sources.calibrated:
        return *read_answers(hits, question, rerankers.answer_model), ()
    reranked, notes = rerank(hits, question, rerankers.reranker)
    return reranked, {}, notes


class RelevanceJudge(NamedTuple):
    """Gives hits their relevance, from what is known of all of them; mappings are by id."""

    question: Question
    sources: Sources
    scored: Mapping[str, Scored]
    readings: Mapping[str, Reading]
    time_fits: Mapping[str, float]  # of a question by time alone
    only_time: bool  # whether it names a time, and at most a speaker beside
    unknown: bool  # whether it is a word that no candidate has

    def judge_all(self, hits: Sequence[Hit], ids_with_all_words: Collection[str]) -> dict[str, Judged]:
        """Those whose closeness the strategy knows, by id; those in `ids_with_all_words` are strong."""
        judged = {hit.memory.id: self.judge(hit) for hit in hits if self.scored[hit.memory.id].closeness}
        if not self.only_time:
            judged |= judged_together(judged, self.scored, self.readings)
        judged = {id: in_asked_time(each, self.question) for id, each in judged.items()}
        return judged | {id: as_strong_hit(judged[id]) for id in judged.keys() & ids_with_all_words}

    def judge_late(self, hit: Hit, judged: Mapping[str, Judged]) -> Judged:
        """What has no closeness is judged late, because its text must be read."""
        before = judged.get(hit.memory.id)
        if before is None:
            return in_asked_time(self.judge(hit), self.question)
        for_others = any(judged[id].near_enough for id in raised_for(hit, judged))
        near = before.near_enough or is_raised_reply(hit) or for_others
        return before._replace(hit=hit, near_enough=near)

    def judge(self, hit: Hit) -> Judged:
        """By itself."""
        scored = self.scored[hit.memory.id]
        closeness = scored.closeness or closeness_alone(hit.memory, self.question, scored.cosine)
        meaningless = self.unknown and (closeness.cosine or 0) < LIKE_A_WORD
        reading = None if meaningless else self.readings.get(hit.memory.id)
        result = with_relevance(hit, closeness, reading, self.question, self.sources)
        if self.only_time:
            fit = self.time_fits[hit.memory.id] if self.time_fits else event_match(hit.memory, self.question)
            least = TIME_ONLY_RELEVANCE if fit >= 1 else 0.0
            return result._replace(hit=replace(hit, relevance=max(result.hit.relevance, least)))
        return result._replace(floor=Floor(1.0, 1.0)) if meaningless else result


def in_order(
    hits: Sequence[Hit],
    question: Question,
    ids_with_all_words: Collection[str],
    time_fits: Mapping[str, float],
    asked_before: Sequence[Hit],
    readings: Mapping[str, Reading],
) -> list[Hit]:
    """What decides besides the scores: replies to questions, all words of a lookup, what holds now, which version is
    newer, and the time that the question asks for. Who asks by mood asks for another order than that of versions."""
    is_nacre, query = question.is_nacre_strategy, question.query
    ordered = list(hits) if query.with_context or not is_nacre else rank_replies_above_questions(hits, asked_before)
    ordered = lower_what_does_not_hold(lift_above(ordered, ids_with_all_words), question) if is_nacre else ordered
    if not query.emotion:
        ordered = rank_newer_above_older(ordered, question, readings)
    return in_time_first(scaled(order_by_time(ordered, question.order)), time_fits, question) if is_nacre else ordered


def adjusted_hits(hits: Sequence[Hit], question: Question, factor: int) -> tuple[list[Hit], dict[str, float]]:
    """Best first. Where the question only names a time, also how well each fits it, by id: first comes what lies in it,
    and what does not touch it is left out, unless the query says how relevant a hit must be."""
    if not asks_by_time_alone(question):
        return adjust(hits, question), {}
    time_fits = {hit.memory.id: event_match(hit.memory, question) for hit in hits}
    if question.query.min_relevance is not None:
        return in_time_first(adjust(hits, question), time_fits, question), time_fits
    near = [hit for hit in hits if time_fits[hit.memory.id] >= TOUCHES_TIME]
    return in_time_first(adjust(near, question), time_fits, question)[: factor * question.query.k], time_fits


def in_time_first(hits: Sequence[Hit], time_fits: Mapping[str, float], question: Question) -> list[Hit]:
    """What happened in the time, then what was written in it, then what only names it."""

    def place(hit: Hit) -> tuple[bool, int]:
        outside = time_fits[hit.memory.id] < 1
        return outside, 0 if outside else distance_of_time(hit.memory, question)

    return sorted(hits, key=place) if time_fits else list(hits)


def lookup_matches(question: Question, scored: Sequence[Scored]) -> set[str]:
    """Of a question that looks words up: the ids of the notes that have every one of them."""
    if not is_keyword_lookup(question):
        return set()
    closeness = {each.id: each.closeness for each in scored}
    return {id for id, each in closeness.items() if each and not each.turn and each.coverage >= ALL_WORDS}


def is_keyword_lookup(question: Question) -> bool:
    """Whether it only lists words that a memory has to have («INC-118», «guest wifi»), or asks for one name («who is
    Keiko»). A model that reads finds no question in these, and cosines of names are noise. Beside a time it is the time
    that decides."""
    asked = words(question.text)
    subjects = [word for word in asked if word not in STOP_WORDS]
    capitals = {each for word in WORD.findall(question.text)[1:] if word[0].isupper() for each in words(word)}
    possible = question.is_nacre_strategy and question.terms and not (question.windows or question.future_windows)
    # «030-271-4420» is one; languages without blanks have no such identifiers.
    number = min(len(subjects), len(question.text.split())) if question.text.isascii() else len(subjects)
    return bool(possible) and 0 < number <= MOST_LOOKED_UP and (asked == subjects or capitals.issuperset(subjects))


def as_strong_hit(judged: Judged) -> Judged:
    return judged._replace(
        hit=replace(judged.hit, relevance=max(judged.hit.relevance, LOOKUP_RELEVANCE)), near_enough=True
    )


def lift_above(hits: Sequence[Hit], ids_with_all_words: Collection[str]) -> list[Hit]:
    """Those with all the words first, and none of them with a lower score than any of the others."""
    best = max((hit.score for hit in hits if hit.memory.id not in ids_with_all_words), default=0.0)
    first = [
        hit if hit.score >= best else with_all_words(hit, best) for hit in hits if hit.memory.id in ids_with_all_words
    ]
    return first + [hit for hit in hits if hit.memory.id not in ids_with_all_words]


def with_all_words(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, why=(*hit.why, Reason("all words", score - hit.score)))


def is_unknown_word(question: Question, scored: Sequence[Scored]) -> bool:
    """Whether the question is a single word that no candidate has. A model that reads may take it for anything."""
    alone = len(WORD.findall(question.text)) == len(question.terms) == 1
    return alone and all(each.closeness is not None and not each.closeness.coverage for each in scored)


def with_relevance(
    hit: Hit, closeness: Closeness, reading: Reading | None, question: Question, sources: Sources
) -> Judged:
    known = sources.calibration.relevance(closeness, reading)
    if not sources.calibrated:
        return Judged(replace(hit, relevance=known), sources.calibration.nothing_in_common(closeness))
    if closeness.cosine is None:  # nobody can tell how near it is
        return Judged(replace(hit, relevance=known), floor_of(closeness, reading), read=reading is not None)
    # A long note is about many things, so that its cosine is low: the words say that it is near.
    worded = closeness.coverage >= ALL_WORDS or (
        closeness.coverage > 0 and reading is not None and reading.log_odds > 0
    )
    near = worded or sources.calibration.relevance(closeness) >= floor_of(closeness).best
    least_alike = ALIKE_WITHOUT_WORDS if is_english(question.text) else ALIKE_IN_OTHER_LANGUAGES
    alike = not closeness.coverage and sources.calibration.cosine(closeness.cosine) >= least_alike
    return Judged(replace(hit, relevance=known), floor_of(closeness, reading), near, reading is not None, alike)


def in_asked_time(judged: Judged, question: Question) -> Judged:
    """With what the date of an event leaves of its relevance. Its floor falls as much: whether anything is shown is
    decided by what the texts say."""
    share, floor = share_of_relevance(judged.hit.memory, question), judged.floor
    if share >= 1:
        return judged
    most = MOST_UNCERTAIN_RELEVANCE if question.what_happened else 1.0
    lowered_hit = replace(judged.hit, relevance=min(most, share * judged.hit.relevance))
    return judged._replace(hit=lowered_hit, floor=Floor(*(share * each for each in floor)))


def is_note_with_vector(closeness: Closeness) -> bool:
    return closeness.cosine is not None and not closeness.turn


def judged_together(
    hits: Mapping[str, Judged], scored: Mapping[str, Scored], readings: Mapping[str, Reading]
) -> dict[str, Judged]:
    """Notes of which some were read: each is the more relevant, the likelier it is that any of them answers."""
    closeness = {id: scored[id].closeness for id in hits}
    notes = {id: hits[id] for id, each in closeness.items() if each is not None and is_note_with_vector(each)}
    read = [id for id in notes if id in readings]
    if not read:
        return {}
    relevance = weighed_together({id: each.hit.relevance for id, each in notes.items()}, read)
    floors = {id: each.floor if id in readings else notes[read[0]].floor for id, each in notes.items()}
    return {
        id: each._replace(hit=replace(each.hit, relevance=relevance[id]), floor=floors[id])
        for id, each in notes.items()
    }


def load_hits(scored: Sequence[Scored], question: Question, sources: Sources) -> list[Hit]:
    wanted = [id for each in scored for id in (each.id, *each.was[:MOST_FORMER])]
    memories = {memory.id: memory for memory in sources.reader.get_many(sources.space, wanted)}
    return [
        Hit(
            memories[each.id],
            each.score,
            each.why,
            was=former_asked_for([memories[id] for id in each.was if id in memories], question),
        )
        for each in scored
        if each.id in memories
    ]


def repeats(memory: Memory, question: Question) -> bool:
    """Whether somebody only asked the same in a conversation: whoever asks again wants the answer."""
    if not question.is_nacre_strategy or not memory.role:
        return False
    return is_question(memory.text) and words(memory.text) == words(question.text)


def beside_answers(scored: Sequence[Scored], hits: Sequence[Hit], question: Question) -> Sequence[Scored]:
    """With each cosine compared to the best of those that may answer: a question that was asked in a conversation is
    nearest to one like it, and how far an answer is behind it says nothing."""
    turns = (hit.memory for hit in hits if hit.memory.is_turn)
    questions = {each.id for each in turns if only_asks(each.text) or repeats(each, question)}
    cosines = {each.id: each.closeness.cosine or 0.0 for each in scored if each.closeness}
    nearest = max(cosines.values(), default=0.0)
    excess = nearest - max((cosine for id, cosine in cosines.items() if id not in questions), default=nearest)

    def compared(each: Scored) -> Scored:
        before = each.closeness
        closer = before and before._replace(cosine_gap=max(0.0, before.cosine_gap - excess))
        return each._replace(closeness=closer)

    return [compared(each) for each in scored] if excess > 0 else scored


def former_asked_for(superseded: Sequence[Memory], question: Question) -> Memory | None:
    """Of what a hit took the place of (the best match first): what held at the time that the question names, else the
    first or the last where it asks for that, else the best match. Nothing that gives orders to a model, nor what was
    redacted."""
    known = [each for each in superseded if not each.metadata.get("redacted") and SUSPICION not in each.metadata]
    then = [each for each in known if any(held_within(each, window) for window in question.windows)]
    if then or not known:
        return then[0] if then else None
    if question.order == "oldest":
        return min(known, key=age_order)
    return max(known, key=age_order) if question.former else known[0]


def held_within(memory: Memory, window: Window) -> bool:
    """Whether a superseded memory held in some of a time that has an end."""
    ended = min((at for at in (memory.valid_until, memory.superseded_at) if at is not None), default=LAST)
    return effective_from(memory) < window.end < LAST and window.start < ended


def above_floor(selected: Sequence[Judged], question: Question, *, only_time: bool) -> tuple[list[Hit], Hit | None]:
    """The hits that may answer, unless the query says how relevant they must be; where there are none, also the most
    relevant of the others. A question that names only a time has no floor (`only_time`)."""
    if question.query.min_relevance is not None or not question.is_nacre_strategy or only_time or not selected:
        return [each.hit for each in selected], None
    turns = [each for each in selected if each.hit.memory.is_turn]
    notes = [each for each in selected if not each.hit.memory.is_turn]
    # What was said has another floor than what was noted, so that each is judged among its own kind.
    kind_may_answer = {True: may_answer(turns), False: may_answer(notes)}
    kept = [
        each.hit
        for each in selected
        if (kind_may_answer[each.hit.memory.is_turn] and each.hit.relevance >= each.floor.each)
        or each.alike
        or is_timely(each, question)
    ]
    return kept, None if kept else most_relevant(selected).hit


def may_answer(hits: Sequence[Judged]) -> bool:
    """Whether the best of them is relevant enough, and any is near."""
    if not hits:
        return False
    best = most_relevant(hits)
    return best.hit.relevance >= best.floor.best and any(each.near_enough for each in hits)


def most_relevant(hits: Sequence[Judged]) -> Judged:
    return max(hits, key=lambda judged: judged.hit.relevance)


def names_only_time(question: Question, hits: Sequence[Hit]) -> bool:
    """Whether it names a time and nothing else ("What did I do yesterday?") but a speaker ("Where was Ann on 12
    July?")."""
    speakers = speaker_stems(frozenset(hit.memory.role for hit in hits))
    return bool(question.windows or question.future_windows) and speakers.issuperset(question.terms)


def is_timely(judged: Judged, question: Question) -> bool:
    """Whether a note is of the time that the question names, and near enough. The model that reads hits sees the text
    without its date, so that it scores a note of August low for a question about August."""
    memory, times = judged.hit.memory, question.windows or question.future_windows
    if not (times and judged.read and judged.near_enough and not memory.is_turn):
        return False
    # Where a date may be the last or the next one, many notes name the next; that alone makes none an answer.
    return time_match(memory, question._replace(future_windows=()) if question.windows else question) >= FITS_TIME


def rerank(hits: Sequence[Hit], question: Question, reranker: Reranker | None) -> tuple[list[Hit], tuple[str, ...]]:
    """Blends the reranker's score into the best hits; when it fails, the order stays and a note says why."""
    if reranker is None or not hits:
        return list(hits), ()
    top, rest = list(hits[:RERANKED]), list(hits[RERANKED:])
    try:
        scores = checked_scores(reranker, question.text, [reranked_text(hit.memory, question) for hit in top])
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


def checked_scores(reranker: Reranker, asked: str, texts: Sequence[str]) -> list[float]:
    """A reranker may be a program's own."""
    scores = reranker.score(asked, texts)
    try:
        usable = len(scores) == len(texts) and all(0 <= score <= 1 for score in scores)
    except TypeError:
        usable = False
    if not usable:
        wanted = "Return a list with one number from 0 to 1 for each text."
        raise RerankingError(reranker.identity, "what it returned cannot be used", wanted)
    return scores


def scaled(hits: Sequence[Hit]) -> list[Hit]:
    """With scores from 0 to 1: where one is above, all are divided by the best, and so are their reasons."""
    most = max([1.0, *(hit.score for hit in hits)])
    if most == 1 and all(hit.score >= 0 for hit in hits):
        return list(hits)
    return [
        replace(
            hit,
            score=max(0.0, hit.score / most),
            why=tuple(replace(reason, score=reason.score / most) for reason in hit.why),
        )
        for hit in hits
    ]


def read_answers(
    hits: Sequence[Hit], question: Question, model: AnswerModel | None
) -> tuple[list[Hit], dict[str, Reading]]:
    """Raises hits that answer the question, and returns what the model says of each, by id. It reads as many of the
    best as its time budget allows; unread hits are ranked after them.

    No score rises above 1: where one would, all are divided.
    """
    pairs = [(read_question(hit, question), read_text(hit, question)) for hit in hits]
    distinct = list(dict.fromkeys(pairs))  # copies are read once
    known = dict(zip(distinct, model.answers(distinct) if model is not None else (), strict=False))
    answers = [known[pair] for pair in takewhile(known.__contains__, pairs)]
    if not answers:
        return list(hits), {}
    best = max([0.0, *(hit.score for hit in hits)])
    raised = [
        hit.score + best * answer.gain * share_read(hit.memory, question)
        for hit, answer in zip(hits, answers, strict=False)
    ]
    most = max([1.0, *raised])
    read = [with_reading(hit, score / most) for hit, score in zip(hits, raised, strict=False)]
    unread = [with_reading(hit, hit.score / most) if most > 1 else hit for hit in hits[len(read) :]]
    top = max(answer.log_odds for answer in answers)
    readings = {
        hit.memory.id: Reading(answer.log_odds, top - answer.log_odds)
        for hit, answer in zip(hits, answers, strict=False)
    }
    return sorted(read, key=lambda hit: -hit.score) + unread, readings


def read_question(hit: Hit, question: Question) -> str:
    """The model sees a memory without its date: of what fits the time that is asked for by its date alone, it would say
    that it is no answer, and of an event of another time that names it, that it is one. For these the time is left out,
    but from a list of words, where each counts."""
    memory = hit.memory
    if not (all_windows(question) and question.terms and is_question(question.text)):
        return question.text
    of_another = is_event_of_another_time(memory, question)
    by_date = time_match(memory, question) >= FITS_TIME and not names_time(memory, question)
    if not (of_another or by_date):
        return question.text
    return " ".join(without(question.text, all_windows(question)).split())


def read_text(hit: Hit, question: Question) -> str:
    """What held before is read as well: the question may ask with its words."""
    text = reranked_text(hit.memory, question)
    return text if hit.was is None else f"{text} (was: {reranked_text(hit.was, question)})"


def share_read(memory: Memory, question: Question) -> float:
    """Of an event of another time the model has not seen the date."""
    if question.what_happened and is_event_of_another_time(memory, question):
        return 0.0
    return (READ_TURN if memory.is_turn else 1.0) * share_of_relevance(memory, question)


def rank_replies_above_questions(hits: Sequence[Hit], asked_before: Sequence[Hit]) -> list[Hit]:
    """Moves what was said after a turn that only asks to just above it, unless that asks too or does not know. A
    question like the one that is asked makes neither of them strong. Those that were `asked_before` in the same words
    are no hits themselves."""
    repeated = {hit.memory.id for hit in asked_before}
    ordered = [*(replace(hit, relevance=MOST_UNCERTAIN_RELEVANCE) for hit in asked_before), *hits]
    turns = [hit.memory for hit in ordered if hit.memory.is_turn]
    for asked in [each for each in turns if each.id in repeated or only_asks(each.text)]:
        at = next(i for i, hit in enumerate(ordered) if hit.memory.id == asked.id)
        question = replace(ordered[at], relevance=min(ordered[at].relevance, MOST_UNCERTAIN_RELEVANCE))
        ordered[at] = question
        below = range(at + 1, len(ordered))
        if (place := next((i for i in below if is_reply(ordered[i].memory, asked)), None)) is not None:
            ordered.insert(at, raised(ordered.pop(place), question, how="to", name=REPLY))
    return [hit for hit in ordered if hit.memory.id not in repeated]


def is_reply(memory: Memory, asked: Memory) -> bool:
    next_in_session = memory.is_turn and (memory.session, memory.position) == (asked.session, (asked.position or 0) + 1)
    return next_in_session and not only_asks(memory.text) and not DOES_NOT_KNOW.search(memory.text)


def is_raised_reply(hit: Hit) -> bool:
    return any(reason.signal == REPLY for reason in hit.why)


def with_reading(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, why=(*hit.why, Reason("reading", score - hit.score)))


def order_by_time(hits: Sequence[Hit], order: str) -> list[Hit]:
    """Of the hits that match about as well as the best, the newest or the oldest first, as the question asks."""
    least = least_near_best(hits)
    near = sorted({hit.memory.happened_at for hit in hits if hit.score >= least}, reverse=order == "oldest")
    if not order or len(near) < 2:
        return list(hits)
    place = {at: number / (len(near) - 1) for number, at in enumerate(near)}
    lost = [
        ORDER_SPAN * max(hit.score, 0) * (1 - (place[hit.memory.happened_at] if hit.score >= least else 0))
        for hit in hits
    ]
    ordered = [
        replace(hit, score=hit.score - less, why=(*hit.why, Reason(order, -less)))
        for hit, less in zip(hits, lost, strict=True)
    ]
    return sorted(ordered, key=lambda hit: -hit.score)


def reranked_text(memory: Memory, question: Question) -> str:
    """Of a long text the part that is about the question: a model reads only the beginning of what it is given."""
    text = excerpt(memory.text, question.wanted_stems, LONGEST_READ)
    return f"{memory.title}\n\n{text}" if memory.title else text


def select(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Drops copies, and takes the best k."""
    return (collapse_copies(hits) if query.collapse else list(hits))[: query.k]


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


def admitted_memories(where: Filter, sources: Sources) -> Callable[[list[str]], list[Memory]]:
    def load(ids: list[str]) -> list[Memory]:
        return [memory for memory in sources.reader.get_many(sources.space, ids) if where.admits(memory)]

    return load


def expand(hits: Sequence[Hit], spec: ExpandSpec, load: Callable[[list[str]], list[Memory]]) -> list[Hit]:
    """Appends memories that links lead to, hop by hop, up to the cap. What `load` does not return ends the walk."""
    expanded = list(hits)
    seen = {hit.memory.id for hit in hits}
    frontier: list[Memory] = [hit.memory for hit in hits]
    for hop in range(1, spec.depth + 1):
        edges = [
            Edge(memory.id, link.to, link.rel, link.weight)
            for memory in frontier
            for link in memory.links
            if link.rel in spec.rels
        ]
        if not edges:
            break
        via = {edge.target: edge for edge in reversed(edges)}
        frontier = [memory for memory in load([edge.target for edge in edges]) if memory.id not in seen]
        seen |= {memory.id for memory in frontier}
        expanded += [
            Hit(memory, spec.score, (Reason("link", spec.score, f"{edge.rel}, {hop} away"),), via=edge)
            for memory in frontier
            for edge in (via[memory.id],)
        ]
    return expanded[: len(hits) + max(0, spec.cap)]


def with_context(hits: Sequence[Hit], question: Question, sources: Sources) -> list[Hit]:
    """Adds to each turn the turns around it, in the order in which they were said."""
    reach = question.query.with_context
    if reach <= 0:
        return list(hits)
    return [add_neighbours(hit, reach, question.where, sources) for hit in hits]


def add_neighbours(hit: Hit, reach: int, where: Filter, sources: Sources) -> Hit:
    session, position = hit.memory.session, hit.memory.position
    if not session or position is None:
        return hit
    near = Filter.where(session=session, position__ge=position - reach, position__le=position + reach)
    around = sources.reader.iterate(sources.space, where & near)
    others = (memory for memory in around if memory.id != hit.memory.id)
    return replace(hit, context=tuple(sorted(others, key=lambda memory: memory.position or 0)))


def recall_sessions(question: Question, sources: Sources) -> Recollection:
    """Whole conversations, each with its best turns as hits."""
    ranked, notes = rank_sessions(question, sources)
    ids = [turn.id for session in ranked for turn in session.turns]
    memories = {memory.id: memory for memory in sources.reader.get_many(sources.space, ids)}
    turns = {each.session: judged_turns(each, memories, question, sources) for each in ranked}
    best = [turn for some in turns.values() for turn in some]
    relevant, nearest = above_floor(best, question, only_time=names_only_time(question, [turn.hit for turn in best]))
    with_turns = {hit.memory.id: hit for hit in with_context(relevant, question, sources)}
    sessions = [
        SessionHit(
            each.session,
            each.score,
            tuple(with_turns[id] for turn in turns[each.session] if (id := turn.hit.memory.id) in with_turns),
            each.why,
        )
        for each in ranked
    ]
    with_hits = tuple(each for each in sessions if each.hits)
    hits = tuple(hit for session in with_hits for hit in session.hits)
    return Recollection(hits, notes, with_hits, sources.calibrated, nearest)


def judged_turns(
    session: ScoredSession, memories: Mapping[str, Memory], question: Question, sources: Sources
) -> list[Judged]:
    """The best turns of a conversation that are as relevant as the query asks."""
    turns = [(memories[turn.id], turn.cosine) for turn in session.turns if turn.id in memories]
    hits = [
        with_relevance(
            Hit(memory, session.score, session.why),
            closeness_alone(memory, question, cosine),
            None,
            question,
            sources,
        )
        for memory, cosine in turns
    ]
    return [each for each in hits if each.hit.relevance >= (question.query.min_relevance or 0)]


def clean_recollection(recollection: Recollection, clean: Callable[[Memory], Memory]) -> Recollection:
    """Passes every memory of a recollection through `clean`, for example to redact secrets."""

    def clean_hit(hit: Hit) -> Hit:
        memory, context = clean(hit.memory), tuple(map(clean, hit.context))
        was = None if hit.was is None else clean(hit.was)
        conflicts = tuple(replace(each, text=clean(Memory("", each.text)).text) for each in hit.conflicts)
        same = memory is hit.memory and all(one is other for one, other in zip(context, hit.context, strict=True))
        unchanged = same and was is hit.was and conflicts == hit.conflicts
        return hit if unchanged else replace(hit, memory=memory, context=context, was=was, conflicts=conflicts)

    sessions = tuple(replace(each, hits=tuple(map(clean_hit, each.hits))) for each in recollection.sessions)
    nearest = recollection.nearest and clean_hit(recollection.nearest)
    return replace(recollection, hits=tuple(map(clean_hit, recollection.hits)), sessions=sessions, nearest=nearest)
