"""Which version of a fact comes first: what holds before what does not, the newer of two before the older."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate, islice

from nacre.model import Hit, Memory, Reason
from nacre.model.instants import day, last_day
from nacre.model.memory import MAY_REPLACE, Link, short_id
from nacre.model.recollection import STRONG, began, conflicting_pairs, effective_from
from nacre.recall.gather import Question
from nacre.recall.signals import time_match
from nacre.text.tokens import has_digit

# For "the latest" and "originally" only hits with at least this share of the best score are ordered by time, and only
# these bring their newer versions along.
NEAR_BEST = 0.6
# From the first probability on a newer version stands above the older one if it has this share of its relevance, from
# the second on in any case: a change is often described in words that no question uses. Chosen on the
# development notes and authors 5, 19 and 45, among 0.6 to 0.75 and 0.8 to 0.85: with the highest of these, the newest
# of author 45's changed facts is first for 48 instead of 51 of 100 questions, and others are answered as well.
LIKELY_VERSION, CERTAIN_VERSION = 0.6, 0.8
FAR_LESS_RELEVANT = 0.05
POSSIBLE_VERSION = 0.6  # the least share of the older one's score that a newer version gets
MOST_UNCERTAIN_RELEVANCE = 0.9 * STRONG  # relevance of what is raised by a link that may be wrong
MOST_VERSIONS = 2  # of one memory that are raised
VALIDITY = ("valid_from", "valid_until")
VALID_THEN = ("valid_from", "le_or_unset")  # the condition that `valid_at` becomes in a filter: what had begun by then
NOT_HELD = 0.5  # the factor of what has ended or not begun, where the question names no time: as of what is superseded


def lower_what_does_not_hold(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """Lowers what no longer holds, or not yet, when the question is asked; the others keep their order."""
    if all(is_valid_now(hit.memory, question) for hit in hits):
        return list(hits)
    falling = accumulate((hit.score for hit in hits), min)
    ranked = [
        (least, hit)
        if is_valid_now(hit.memory, question)
        else (min(least, NOT_HELD * least), lowered(hit, question.query.asked_at))
        for hit, least in zip(hits, falling, strict=True)
    ]
    return [hit for _, hit in sorted(ranked, key=lambda each: -each[0])]


def lowered(hit: Hit, at: float) -> Hit:
    ends, begins = hit.memory.valid_until, hit.memory.valid_from or at
    detail = f"begins {day(begins)}" if ends is None or ends > at else f"ended {last_day(ends)}"
    score = min(hit.score, NOT_HELD * hit.score)
    return replace(hit, score=score, why=(*hit.why, Reason("validity", score - hit.score, detail)))


def is_valid_now(memory: Memory, question: Question) -> bool:
    """Whether it holds when the question is asked; what is superseded is lowered for that, and who asks for a time does
    not ask what holds now."""
    asked = question.windows or question.future_windows or question.order == "oldest"
    if asked or memory.superseded_by or memory.holds_at(question.query.asked_at):
        return True
    return any(each.field in VALIDITY for each in question.where.conditions)


def rank_newer_above_older(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """Where two hits conflict and nobody has settled it, moves the newer one to just above the older, or the older
    above the newer where the question asks for that one's time; beside what matches little itself, each stays where it
    is. Then raises what may be a newer version."""
    ordered, own = list(hits), {hit.memory.id: hit for hit in hits}
    least = least_near_best(hits)
    pairs = conflicting_pairs([hit.memory for hit in hits])
    above_which: dict[str, tuple[str, bool]] = {}  # by the id of a hit that rose: the older one, and whether surely
    for (newer, older), link in pairs.items() if not asks_about_the_past(question) else ():
        at = {hit.memory.id: i for i, hit in enumerate(ordered)}
        below, above = ordered[at[newer]], ordered[at[older]]
        near_best = above.score >= least
        if near_best and at[newer] > at[older] and may_precede(below.memory, above.memory, question):
            sure = link.data.get("sure") is not False
            if older in above_which and not continues(newer, sure, *above_which[older], pairs):
                # The older one was itself raised because of a third memory, with which the newer does not conflict.
                lift_to(ordered, below, own[older], sure)
            else:
                ordered.insert(at[older], raised_by_conflict(ordered.pop(at[newer]), above, sure))
                above_which[newer] = older, sure
    if not question.is_nacre_strategy:
        return ordered
    perhaps = {newer for newer, (_, sure) in above_which.items() if not sure}
    return rank_older_above_newer(with_newer_versions(ordered, question, perhaps), question)


def continues(newer: str, sure: bool, oldest: str, older_sure: bool, pairs: Collection[tuple[str, str]]) -> bool:
    """Whether the newer one belongs to the chain of what it would stand above: it conflicts with the `oldest`, above
    which the older one rose, or its own conflict is `sure` and so is the one by which the older rose (`older_sure`)."""
    return (newer, oldest) in pairs or (sure and older_sure)


def lift_to(ordered: list[Hit], newer: Hit, older: Hit, sure: bool) -> None:
    """Moves the newer one to the place that the older one's own score gives it, if that is higher."""
    if newer.score < older.score:
        ordered.remove(newer)
        place = next((i for i, hit in enumerate(ordered) if hit.score <= older.score), len(ordered))
        ordered.insert(place, raised_by_conflict(newer, older, sure))


def raised_by_conflict(newer: Hit, older: Hit, sure: bool) -> Hit:
    """Strong for that only where the conflict is sure."""
    return raised(newer, older, relevance=older.relevance if sure else min(older.relevance, MOST_UNCERTAIN_RELEVANCE))


def rank_older_above_newer(hits: Sequence[Hit], question: Question) -> list[Hit]:
    """Where the question asks for what held before, or for a time before the newer one of two began, moves the older of
    the two to just above it: of two that conflict, and of what are likely versions of one fact."""
    ordered, pairs = list(hits), newer_and_older(hits)
    memories = {hit.memory.id: hit.memory for hit in hits}
    replaced = {older for _, older in pairs}
    for newer, older in sorted(pairs, key=lambda pair: -began(memories[pair[1]])):
        at = {hit.memory.id: i for i, hit in enumerate(ordered)}
        above, below = ordered[at[newer]], ordered[at[older]]
        then = is_of_time_asked_for(below.memory, above.memory, question)
        asked = then or (question.former and newer not in replaced)
        if asked and at[older] > at[newer] and older_may_precede(below, above):
            ordered.insert(at[newer], raised(ordered.pop(at[older]), above, name="earlier"))
    return ordered


def with_newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """For a list that answers no question: the newer of two that conflict, and what is likely a newer version, just
    before the older."""
    ordered = list(hits)
    for newer, older in newer_and_older(hits):
        at = {hit.memory.id: i for i, hit in enumerate(ordered)}
        if at[newer] > at[older] and is_newer(ordered[at[newer]].memory, ordered[at[older]].memory):
            ordered.insert(at[older], ordered.pop(at[newer]))
    return ordered


def newer_and_older(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    """The ids of two that conflict, and of two that are likely versions of one fact."""
    linked = newer_versions(hits)
    likely = [(id, older) for older in linked for id, link in linked[older] if link.weight >= LIKELY_VERSION]
    return list(dict.fromkeys((*conflicting_pairs([hit.memory for hit in hits]), *likely)))


def is_of_time_asked_for(older: Memory, newer: Memory, question: Question) -> bool:
    ends = [window.end for window in question.windows]  # an end is no part of its time
    ends += [float(each.value) for each in question.where.conditions if (each.field, each.op) == VALID_THEN]  # type: ignore[arg-type]
    return bool(ends) and effective_from(older) < max(ends) <= effective_from(newer)


def older_may_precede(older: Hit, newer: Hit) -> bool:
    before = began(older.memory) < began(newer.memory)
    answers = newer.relevance < STRONG or answers_too(older, newer)
    return before and older.memory.trust >= newer.memory.trust and answers


def with_newer_versions(hits: Sequence[Hit], question: Question, perhaps: Collection[str] = ()) -> list[Hit]:
    """Raises what may be a newer version of one of the best hits, the more the likelier that is; to just above it only
    what is nearly certain to be one, or likely and not far less relevant. Not where the question asks for the time of
    the older, nor where that one stands there by a conflict that may be wrong (`perhaps`, ids)."""
    ordered, newer_ones = list(hits), {} if asks_about_the_past(question) else newer_versions(hits)
    least = least_near_best(hits)
    memories = {hit.memory.id: hit.memory for hit in hits}
    for id in (each for each in newer_ones if each not in perhaps):
        able: dict[str, Link] = {}
        for later, link in newer_ones[id]:
            if may_precede(memories[later], memories[id], question):
                able.setdefault(later, link)
        for later, link in islice(able.items(), MOST_VERSIONS):
            at = {hit.memory.id: i for i, hit in enumerate(ordered)}
            older, newer = ordered[at[id]], ordered[at[later]]
            likely = min(1.0, link.weight)  # a link by hand may have any weight
            if at[later] < at[id] or older.score < least:
                continue
            if likely >= CERTAIN_VERSION or (likely >= LIKELY_VERSION and answers_too(newer, older)):
                del ordered[at[later]]
                relevance = perhaps_relevant(older, likely)
                ordered.insert(at[id], raised(newer, older, relevance=relevance, how="perhaps, than"))
            elif newer.score < share_of_version(likely) * older.score:
                move_up(ordered, newer, older, likely)
    return ordered


def least_near_best(hits: Sequence[Hit]) -> float:
    """The least score of a hit that matches about as well as the best."""
    return NEAR_BEST * max([0.0, *(hit.score for hit in hits)])


def share_of_version(likely: float) -> float:
    """The least share of the older one's score."""
    return POSSIBLE_VERSION + (1 - POSSIBLE_VERSION) * likely


def perhaps_relevant(older: Hit, likely: float) -> float:
    """Of what perhaps takes the older one's place: never strong for that, unless somebody has linked the two."""
    return older.relevance if likely >= 1 else min(likely * older.relevance, MOST_UNCERTAIN_RELEVANCE)


def move_up(ordered: list[Hit], newer: Hit, older: Hit, likely: float) -> None:
    """Moves what perhaps takes the older one's place up, below it, to where its share of the score belongs."""
    share = share_of_version(likely)
    least, relevance = share * older.score, perhaps_relevant(older, likely)
    if newer.score >= least:
        ordered[ordered.index(newer)] = replace(newer, relevance=max(newer.relevance, relevance))
        return
    ordered.remove(newer)
    after = ordered.index(older) + 1
    place = next((i for i, hit in enumerate(ordered) if i >= after and hit.score < least), len(ordered))
    ordered.insert(place, raised(newer, older, share, relevance, "perhaps, than"))


def answers_too(hit: Hit, other: Hit) -> bool:
    """False where the hit is far less relevant by itself than the other one."""
    return hit.relevance >= FAR_LESS_RELEVANT * other.relevance


def asks_about_the_past(question: Question) -> bool:
    """Whether it asks for what held before: by its words ("originally", "formerly"), or by a filter."""
    by_words = question.order == "oldest" or question.former
    return by_words or any(each.field in VALIDITY for each in question.where.conditions)


def newer_versions(hits: Sequence[Hit]) -> dict[str, list[tuple[str, Link]]]:
    """By the id of a hit: the ids of those that may be newer versions of it, or of what it superseded, with their
    links, the likeliest first; the oldest hit first, so that a version that rose lets the next one rise."""
    linked = {hit.was.id: (hit.was, hit.memory) for hit in hits if hit.was}
    linked |= {hit.memory.id: (hit.memory, hit.memory) for hit in hits}
    newer: dict[str, list[tuple[str, Link]]] = {}
    for memory in (hit.memory for hit in hits):
        for id in (link.to for link in memory.links if link.rel == MAY_REPLACE and link.to in linked):
            former, older = linked[id]
            link = memory.version_link(former)
            if link is not None and older is not memory and not memory.is_settled_with(older):
                newer.setdefault(older.id, []).append((memory.id, link))
    age = {hit.memory.id: began(hit.memory) for hit in hits}
    return {id: sorted(newer[id], key=lambda pair: -pair[1].weight) for id in sorted(newer, key=age.__getitem__)}


def may_precede(newer: Memory, older: Memory, question: Question) -> bool:
    """Not where they are equally old, nor where the newer one is trusted less or does not hold while the older does,
    nor where it began after the time that the question names, nor where only the older has the number that is looked
    up."""
    if not is_valid_now(newer, question) and is_valid_now(older, question):
        return False
    looked_up = question.text.casefold()
    if has_digit(looked_up) and looked_up in older.text.casefold() and looked_up not in newer.text.casefold():
        return False
    fits = (time_match(each, question) for each in (newer, older))
    ends = [window.end for window in question.windows]
    asked_for = not ends or (effective_from(newer) < max(ends) and next(fits) >= next(fits))
    return asked_for and is_newer(newer, older)


def is_newer(newer: Memory, older: Memory) -> bool:
    """Not where they are equally old, nor where the newer one is trusted less."""
    return began(newer) > began(older) and newer.trust >= older.trust


def raised(
    hit: Hit, other: Hit, share: float = 1.0, relevance: float | None = None, how: str = "than", name: str = "newer"
) -> Hit:
    """With a share of the score of the other hit, which it stands beside, and its relevance unless another is given: it
    answers as well."""
    score = max(hit.score, share * other.score)  # what was not read may stand below a lower score
    why = (*hit.why, Reason(name, score - hit.score, f"{how} {short_id(other.memory.id)}"))
    least = other.relevance if relevance is None else relevance
    return replace(hit, score=score, relevance=max(hit.relevance, least), why=why)
