"""Scores candidates by signals from 0 to 1, adjusts the scores by importance, time and mood, and computes relevance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nacre.model import GENERIC_ROLES, Hit, Memory, Reason
from nacre.model.instants import DAY, FIRST, LAST
from nacre.model.memory import is_place_of_turn
from nacre.models.calibration import Closeness
from nacre.protocols import Vectors
from nacre.recall.gather import REACH, PlacedCandidates, Question, speaker_stems
from nacre.storage.candidates import MOST_TERMS
from nacre.text.dates import Window, named_times, when_weight
from nacre.text.recurrences import PERHAPS_THEN, recurrence_weight
from nacre.text.tokens import stems

# Fitted by `benchmarks/fit_recall.py` on the development halves of LoCoMo and BEAM and on notes together, each of the
# three counting the same, with whole conversations, chats and worlds left out in turn; benchmarks/RECALL.md says what
# each gives. That of meaning belongs to the embedder (`models/calibration.py`).
WEIGHTS: Mapping[str, float] = {
    "words": 0.60,
    "words nearby": 0.60,
    "coverage nearby": 2.32,
    "speaker": 2.39,
    "voice": 0.49,
    "reply": 3.05,
    "conversation": 4.81,
    "brief": -6.67,
    "long": -1.37,
    "question": -0.60,
}
# The weights are divided so that a turn that is best in these and in meaning scores 1.
FULL_SCORE = sum(WEIGHTS[name] for name in ("words", "words nearby", "coverage nearby", "conversation"))
# What only a conversation has; the score of a memory outside of any is divided by what is left of the full score.
OF_CONVERSATIONS = ("words nearby", "conversation")
# How the parts of "conversation" are mixed before the best turn of a session is taken.
CONVERSATION_MIX = {"meaning": 0.5, "words": 0.3, "words nearby": 0.2}
# A turn of fewer characters than BRIEF ("Thanks!") rarely answers; one of more than LONG buries the answer, and none
# loses more than one of LONGEST. A stem counts as so many characters as an English word has, with its blank: the ten
# characters of a Chinese sentence are nine stems.
BRIEF, LONG, LONGEST, CHARACTERS_PER_STEM = 110, 560, 2240, 5.5
# Unrelated texts have cosines up to about 0.1: where none is higher, meaning says little and words decide.
LEAST_BEST_COSINE = 0.1


def signals(candidates: PlacedCandidates, question: Question) -> dict[str, Vectors]:
    shares, known = candidates.shares, known_share(candidates, question)
    turn, roles = candidates.turn, frozenset(place.role for place in candidates.places)
    meaning = relative_to_best(np.maximum(candidates.cosines, 0), LEAST_BEST_COSINE)
    words = known * relative_to_best(shares.sum(axis=0))
    nearby = known * relative_to_best(best_within(shares, candidates, 1).sum(axis=0))
    mixed = sum(share * {"meaning": meaning, "words": words, "words nearby": nearby}[name]
                for name, share in CONVERSATION_MIX.items())  # fmt: skip
    result = {
        "meaning": meaning,
        "words": words,
        "words nearby": turn * nearby,
        "coverage nearby": known * coverage(best_within(shares, candidates, REACH), candidates, roles),
        "speaker": turn * said_by(candidates, question.speakers(roles)),
        "voice": turn * said_by(candidates, question.likely_roles),
        "reply": turn * said_by(candidates, GENERIC_ROLES) * shifted(meaning, candidates.after),
        "conversation": turn * best_of_session(np.asarray(mixed), candidates),
    }
    return result | style_signals(candidates)


def known_share(candidates: PlacedCandidates, question: Question) -> float:
    """The share of the question's terms that the store knows at all.

    Where it knows few (a paraphrase, another language), what has one of them by chance would be best in words, and
    meaning should decide. So it should where a question names little but a time ("Where was Ann on 12 July?"): the
    names of times are terms that no word of a memory stands for.
    """
    asked = {term for term in (*question.terms, *question.time_stems) if " " not in term}
    return len(asked.intersection(candidates.terms)) / max(1, min(len(asked), MOST_TERMS))


def weights_with(meaning: float) -> dict[str, float]:
    """The share of each signal in a full score, where meaning has this weight."""
    weights = {**WEIGHTS, "meaning": meaning}
    return {name: weight / (FULL_SCORE + meaning) for name, weight in weights.items()}


def weighted(signals: Mapping[str, Vectors], weights: Mapping[str, float], candidates: PlacedCandidates) -> Vectors:
    """A row per signal: what it gives to the score of each candidate."""
    shares = np.stack([np.float32(weights[name]) * values for name, values in signals.items()])
    alone = 1 / (1 - sum(weights[name] for name in OF_CONVERSATIONS))
    return np.asarray(shares * np.where(candidates.turn > 0, np.float32(1), np.float32(alone)))


def style_signals(candidates: PlacedCandidates) -> dict[str, Vectors]:
    """Length and form of turns. They count only in conversations: a short note is as good as a long one."""
    turn = candidates.turn
    length = CHARACTERS_PER_STEM * np.array([place.length for place in candidates.places], np.float32)
    asks = np.array([place.asks for place in candidates.places], np.float32)
    return {
        "brief": turn * (1 - np.minimum(np.log1p(length) / np.log1p(BRIEF), 1)),
        "long": turn * np.maximum(np.log1p(np.minimum(length, LONGEST)) - np.log1p(LONG), 0),
        "question": turn * asks,
    }


def relative_to_best(values: Vectors, least: float = 0.0) -> Vectors:
    """Shares of the best value, or of `least` where the best is lower."""
    best = float(values.max(initial=least))
    return values / best if best > 0 else values * 0


def shifted(values: Vectors, to: NDArray[np.int64]) -> Vectors:
    return np.where(to >= 0, values[to], 0)


def best_within(shares: Vectors, candidates: PlacedCandidates, reach: int) -> Vectors:
    """For each term, the best share of a place or of any turn within reach of it."""
    best = backward = forward = shares
    for _ in range(reach):
        backward = np.where(candidates.before >= 0, backward[:, candidates.before], 0)
        forward = np.where(candidates.after >= 0, forward[:, candidates.after], 0)
        best = np.maximum(best, np.maximum(backward, forward))
    return best


def coverage(shares: Vectors, candidates: PlacedCandidates, roles: frozenset[str]) -> Vectors:
    """The share of the question's terms that is present; rare terms count more, the names of speakers (among the
    `roles`) do not count."""
    names = speaker_stems(roles)
    worth = np.array(
        [0 if term in names else rarity for term, rarity in zip(candidates.terms, candidates.rarity, strict=True)]
    )
    total = float(worth.sum())
    present = (worth[:, None] * (shares > 0)).sum(axis=0)
    return np.asarray(present / total if total > 0 else present, np.float32)


def said_by(candidates: PlacedCandidates, speakers: frozenset[str]) -> Vectors:
    if not speakers:
        return np.zeros(len(candidates.places), np.float32)
    return np.array([place.role in speakers for place in candidates.places], np.float32)


def best_of_session(values: Vectors, candidates: PlacedCandidates) -> Vectors:
    """For each candidate."""
    return best_of_turns(values, candidates)[candidates.session]


def best_of_turns(values: Vectors, candidates: PlacedCandidates) -> Vectors:
    """For each session."""
    best = np.zeros(int(candidates.session.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, candidates.session, values)
    return best


def closeness_of(
    candidates: PlacedCandidates, signals: Mapping[str, Vectors], chosen: Sequence[int]
) -> list[Closeness]:
    """What the relevance of each of the chosen candidates is computed from, before anything is read."""
    known, nearest = candidates.cosines.any(), candidates.cosines.max(initial=0)
    result = []
    for i in chosen:
        cosine = float(candidates.cosines[i]) if known else None
        gap = float(nearest - max(0.0, cosine or 0.0))
        place = candidates.places[i]
        turn = is_place_of_turn(place.session, place.position)
        result.append(Closeness(cosine, float(signals["coverage nearby"][i]), turn, gap))
    return result


def closeness_alone(memory: Memory, question: Question, cosine: float | None) -> Closeness:
    """The same for one memory by itself, for strategies that do not read its neighbours."""
    held = f" {' '.join(stems(f'{memory.title} {memory.text}'))} "
    forms = ((term, *question.spellings.get(term, ())) for term in question.terms)
    covered = sum(any(f" {form} " in held for form in some) for some in forms) / max(1, len(question.terms))
    return Closeness(cosine, covered, memory.is_turn)


# Small on purpose: they may decide between two close scores, never lift an unrelated memory.
IMPORTANCE_SPAN = 0.10
# Of notes alone: what was noted later is more often what holds now. What was said later is not more often the answer.
RECENCY_SPAN, RECENCY_DAYS = 0.10, 120.0
USE_SPAN, USES = 0.02, 20
# Many harmless turns of chats read like orders to a model, so that little trust does not hide a memory: it is marked
# and fenced, and `min_trust` leaves it out.
CONFIDENCE_FLOOR, TRUST_FLOOR = 0.75, 0.85
SUPERSEDED = 0.5  # only matters when the query includes superseded memories
CONTEXT_BONUS = 1.1
ASKS = 0.6  # a question that was noted has the words of one that is asked, and does not answer it
# The factor outside of the time that the question names: dates of memories are often missing or wrong.
OUT_OF_TIME = 0.7
# The factor for an event whose own date lies outside of that time. Half of the other one: the right event, in other
# words, has little more than half the score of an event of another time that has the question's words.
OF_ANOTHER_TIME = OUT_OF_TIME / 2
# The match of an older note with a long time: what it says may still have been true then.
STILL_HELD = 0.5
YEAR = 365.25 * DAY
SEASON = 27 * DAY  # a question that names a month or more asks what was true then as often as what happened
WIDEST_MOODS = math.sqrt(8)  # the distance between the corners of valence and arousal
UNKNOWN_MOOD = 0.5
NOISE = 1e-6  # relative: equal vectors get cosines that differ this much by their place in the matrix


def adjust(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """Best first; equal scores are ordered by importance, then newest first."""
    query = question.query
    adjusted = [apply_factors(hit, question) for hit in hits] if query.strategy == "auto" else list(hits)
    if query.emotion is not None:
        adjusted = blend_mood(adjusted, query.emotion, query.emotion_weight)
    places = rank_places([hit.score for hit in adjusted])
    return sorted(adjusted, key=lambda hit: (places[hit.score], -hit.memory.importance, -hit.memory.created_at))


def rank_places(scores: Sequence[float]) -> dict[float, int]:
    """The place of each score, best first; scores that differ only by rounding share a place."""
    places: dict[float, int] = {}
    last = math.inf
    for score in sorted(scores, reverse=True):
        near = math.isclose(score, last, rel_tol=NOISE)
        places[score] = len(places) if not near else places[last]
        last = score
    return places


def apply_factors(hit: Hit, question: Question) -> Hit:
    factors = {name: factor(hit.memory, question) for name, factor in FACTORS.items()}
    product = math.prod(factors.values())
    reasons = tuple(Reason(name, hit.score * (value - 1)) for name, value in factors.items() if value != 1)
    # Multiplying a negative score would reverse the effect; it is last anyway.
    return hit if hit.score <= 0 else replace(hit, score=hit.score * product, why=hit.why + reasons)


def importance(memory: Memory, _: Question) -> float:
    return 1 + IMPORTANCE_SPAN * (memory.importance - 0.5)


def recency(memory: Memory, question: Question) -> float:
    by_use = question.query.recency_basis == "accessed"
    if not by_use and (memory.is_turn or question.windows or question.order or question.former):
        return 1.0
    since = memory.last_accessed if by_use else memory.happened_at
    age = max(0.0, question.query.asked_at - since) / DAY
    return 1 + RECENCY_SPAN * math.exp(-age / RECENCY_DAYS)


def use(memory: Memory, question: Question) -> float:
    """Counts only when the query asks for it; otherwise a recall would change the next one."""
    if question.query.recency_basis != "accessed":
        return 1.0
    return 1 + USE_SPAN * min(1.0, math.log1p(memory.access_count) / math.log1p(USES))


def belief(memory: Memory, _: Question) -> float:
    confidence = CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * memory.confidence
    return confidence * (TRUST_FLOOR + (1 - TRUST_FLOOR) * memory.trust)


def superseded(memory: Memory, question: Question) -> float:
    """Who asks what held at a time asks for what was superseded since."""
    return 1.0 if question.asks_validity or not memory.superseded_by else SUPERSEDED


def context(memory: Memory, question: Question) -> float:
    return CONTEXT_BONUS if set(memory.contexts) & set(question.query.contexts) else 1.0


def time(memory: Memory, question: Question) -> float:
    if not question.windows and not question.future_windows:
        return 1.0
    least = OF_ANOTHER_TIME if is_event_of_another_time(memory, question) else OUT_OF_TIME
    return least + (1 - least) * time_match(memory, question)


def share_of_relevance(memory: Memory, question: Question) -> float:
    """What an event of another time than the question names keeps of its relevance, which comes from its text alone;
    1 for everything else."""
    if not all_windows(question) or not is_event_of_another_time(memory, question):
        return 1.0
    return OF_ANOTHER_TIME + (1 - OF_ANOTHER_TIME) * time_match(memory, question)


def is_event_of_another_time(memory: Memory, question: Question) -> bool:
    """Whether it is an event with a date of its own that lies in none of the times asked for, nor in the same part of
    another year: «in June» need not be the last June. For who asks what happened, any dated note tells of an event."""
    at = memory.occurred_at if question.what_happened and not memory.is_turn else own_event_time(memory)
    if at is None:
        return False
    nearest = ((window, at + round((window.start - at) / YEAR) * YEAR) for window in all_windows(question))
    return not any(window.start - DAY <= then < window.end + DAY for window, then in nearest)


def own_event_time(memory: Memory) -> float | None:
    """When an event took place that has a date of its own; None of anything else, also of a turn."""
    return memory.occurred_at if memory.type == "episodic" and not memory.is_turn else None


def is_note_that_lasts(memory: Memory) -> bool:
    """Neither a turn nor an event: these tell what happened once."""
    return memory.type != "episodic" and not memory.is_turn


def time_match(memory: Memory, question: Question) -> float:
    """1 for a memory of the time that the question names, or that held then; less for one that may have held."""
    match = event_match(memory, question)
    if match < 1 and (memory.valid_from is not None or memory.valid_until is not None):
        held = Window(memory.valid_from or FIRST, memory.valid_until or LAST, "")
        match = max([match, *(1.0 for window in all_windows(question) if overlap(held, window) > 0)])
    return max([match, *(STILL_HELD for window in question.windows if may_have_held(memory, window))])


def event_match(memory: Memory, question: Question) -> float:
    """1 for a memory of the time that the question names, by its own time, by when it began or ended to hold, by a date
    in its text, or because it says that it comes again then. What only held then is of another time: «what happened on
    5 May?» does not ask for the rent."""
    match = when_weight(memory.happened_at, question.windows)
    if memory.occurred_at is not None:
        match = max(match, when_weight(memory.occurred_at, question.future_windows))
    asked = all_windows(question)
    if memory.valid_from is not None and memory.valid_until is not None:
        held = Window(memory.valid_from, memory.valid_until, "")
        match = max([match, *(share_in(held, window) for window in asked)]) if held.start < held.end else match
    edges = (at for at in (memory.valid_from, memory.valid_until) if at is not None)
    match = max([match, *(1.0 for at in edges for window in asked if window.start <= at < window.end)])
    if match < 1:
        named = [one for one in named_times(memory.text, memory.happened_at) if not is_said_of_event(one, memory)]
        match = max([match, *(share_in(one, window) for one in named for window in asked)])
    if match < 1 and is_note_that_lasts(memory):
        recurring = [window for window in question.recurring_windows if holds_in(memory, window)]
        match = max(match, recurrence_weight(memory.text, recurring))
    return match


def is_said_of_event(named: Window, memory: Memory) -> bool:
    """Whether it is a long time in which an event with a date of its own lies: the "best run of this year" was on one
    day of it."""
    at = own_event_time(memory)
    if at is None:
        return False
    return named.end - named.start >= SEASON and named.start <= at < named.end


def holds_in(memory: Memory, window: Window) -> bool:
    begun = memory.valid_from is None or memory.valid_from < window.end
    return begun and (memory.valid_until is None or window.start < memory.valid_until)


def distance_of_time(memory: Memory, question: Question) -> int:
    """0 where it happened in the time that the question names, or began or ceased to hold; 1 where it was written then;
    2 where it only names that time: «the loan runs until June» did not happen in June. Where the question may mean the
    last or the coming one («what is on Friday?»), 0 for the coming one and 1 for the last."""
    own = [at for at in (memory.occurred_at, memory.valid_from, memory.valid_until) if at is not None]
    if question.windows and question.future_windows:  # who does not say which is meant rather means the coming one
        return 0 if is_of_coming_time(memory, own, question.future_windows) else 1
    if any(window.start <= at < window.end for at in own for window in all_windows(question)):
        return 0
    return 1 if any(window.start <= memory.happened_at < window.end for window in question.windows) else 2


def is_of_coming_time(memory: Memory, own: Sequence[float], coming: Sequence[Window]) -> bool:
    named = named_times(memory.text, memory.happened_at)
    return any(window.start <= at < window.end for at in own for window in coming) or any(
        share_in(one, window) >= 1 for one in named for window in coming
    )


def names_time(memory: Memory, question: Question) -> bool:
    """Whether its text names a time that touches one that is asked for."""
    named = named_times(memory.text, memory.happened_at)
    return any(overlap(one, window) > 0 for one in named for window in all_windows(question))


def all_windows(question: Question) -> tuple[Window, ...]:
    return (*question.windows, *question.future_windows)


def share_in(named: Window, asked: Window) -> float:
    """Of the time that a memory names, the share in the time that is asked for; a longer one may reach across it
    («closed from 20 December to 3 January»)."""
    common = overlap(named, asked)
    return max(common / (named.end - named.start), PERHAPS_THEN * common / (asked.end - asked.start))


def overlap(one: Window, other: Window) -> float:
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def may_have_held(memory: Memory, window: Window) -> bool:
    """Whether it may still have been true in a time of a month or more ("in March"), because it was written before."""
    long = window.end - window.start >= SEASON and window.end < LAST
    return is_note_that_lasts(memory) and memory.happened_at < window.start and long


def asks(memory: Memory, _: Question) -> float:
    return ASKS if memory.asks and not memory.is_turn else 1.0


Factor = Callable[[Memory, Question], float]
FACTORS: Mapping[str, Factor] = {
    "importance": importance,
    "recency": recency,
    "use": use,
    "belief": belief,
    "superseded": superseded,
    "context": context,
    "time": time,
    "asks": asks,
}


def blend_mood(hits: Sequence[Hit], emotion: tuple[float, float], weight: float) -> list[Hit]:
    """(1 - w) x score relative to the best + w x similarity of mood."""
    best = max([0.0, *(hit.score for hit in hits)]) or 1.0
    moods = [(hit, mood_similarity(hit.memory, emotion)) for hit in hits]
    return [
        replace(
            hit, score=(1 - weight) * hit.score / best + weight * mood, why=(*hit.why, Reason("mood", weight * mood))
        )
        for hit, mood in moods
    ]


def mood_similarity(memory: Memory, emotion: tuple[float, float]) -> float:
    if memory.valence is None or memory.arousal is None:
        return UNKNOWN_MOOD
    return 1 - math.dist((memory.valence, memory.arousal), emotion) / WIDEST_MOODS
