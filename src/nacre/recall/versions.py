"""Which version of a fact comes first: what holds before what does not, the newer of two before the older."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import log
from typing import NamedTuple

from nacre.model import Hit, Memory, Reason
from nacre.model.instants import day, last_day
from nacre.model.memory import MAY_REPLACE, Link, short_id
from nacre.model.recollection import LIKELY_VERSION, STRONG, age_order, began, conflicting_pairs, effective_from
from nacre.models.calibration import Reading, logistic
from nacre.recall.gather import Question
from nacre.recall.signals import time_match
from nacre.text.tokens import has_digit

# For "the latest" and "originally" only hits with at least this share of the best score are ordered by time, and only
# these bring their newer versions along.
NEAR_BEST = 0.6
# How likely a newer memory answers instead of the older one that is found: what adds up to the log odds. Fitted on the
# development notes and authors 12, 19 and 45 (benchmarks/fit_newer_first.py), so that questions about what has changed
# and those about what still holds count the same. The last number counts only where a model has read both.
CONSTANT, OF_VERSION, OF_SCORES = 0.86, 0.61, 1.98
CONSTANT_READ, OF_VERSION_READ, OF_SCORES_READ, OF_READINGS = 0.77, 0.59, 1.03, 0.18
# How likely the newer side of a noted conflict says how the same thing is now: as many are right as are noted, and sure
# (benchmarks/CONFLICTS.md).
NOTED_CONFLICT, SURE_CONFLICT = 0.8, 0.95
LEAST_LIKELY, MOST_LIKELY = 0.02, 0.97  # what a model says of a version is kept within these
LEAST_SHARE = 0.01  # of the older one's score: below, a score says nothing more
FAR_LESS_RELEVANT = 0.05  # an older memory that is this much less relevant is not what was asked for
EVEN = 0.5
POSSIBLE_VERSION = 0.6  # the least share of the older one's score that a newer version gets
MOST_UNCERTAIN_RELEVANCE = 0.9 * STRONG  # relevance of what is raised by a link that may be wrong
NEWER, EARLIER = "newer", "earlier"  # signals of what was raised beside another version
MOST_VERSIONS = 2  # of one memory that are raised, unless more of them are likely
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
    return bool(asked or memory.superseded_by or memory.holds_at(question.query.asked_at) or question.asks_validity)


class Version(NamedTuple):
    """Of one hit, that it may say how something is now that another says as it was; both by their ids."""

    newer: str
    older: str
    likely: float
    sure: bool = False  # nobody would doubt it: what takes the older one's place may be strong for that
    by_hand: bool = False
    direct: bool = True  # linked with it, not only with a version in between


def rank_newer_above_older(
    hits: Sequence[Hit], question: Question, readings: Mapping[str, Reading] | None = None
) -> list[Hit]:
    """Where a newer hit likely answers instead of an older one, moves it to just above that; what is less likely rises
    less, and stays below it. The older moves above the newer where the question asks for that one's time. Nothing moves
    for the sake of a hit that matches far less than the best. `readings` are by the ids of hits."""
    ordered = list(hits) if asks_about_the_past(question) else with_newer_above(hits, question, readings or {})
    return rank_older_above_newer(ordered, question) if question.is_nacre_strategy else ordered


def with_newer_above(hits: Sequence[Hit], question: Question, readings: Mapping[str, Reading]) -> list[Hit]:
    ordered, least, own = list(hits), least_near_best(hits), {hit.memory.id: hit for hit in hits}
    above: dict[str, list[Version]] = {}  # by the id of an older one, what rose above it
    for version in versions_among(hits, question):
        at = {hit.memory.id: i for i, hit in enumerate(ordered)}
        newer, older = ordered[at[version.newer]], ordered[at[version.older]]
        if older.score < least:
            continue
        if at[version.newer] < at[version.older]:
            above.setdefault(version.older, []).append(version)
            continue
        chance = chance_of_newer(version, own[version.newer], own[version.older], readings)
        if chance >= EVEN or not question.is_nacre_strategy:
            before = [at[each.newer] for each in above.get(version.older, ()) if outranks(version, each, own, readings)]
            ordered.insert(
                min([at[version.older], *before]), raised_above(ordered.pop(at[version.newer]), older, version, chance)
            )
            above.setdefault(version.older, []).append(version)
        elif version.direct:
            move_up(ordered, newer, older, version)
    return ordered


def outranks(version: Version, other: Version, hits: Mapping[str, Hit], readings: Mapping[str, Reading]) -> bool:
    """Of two newer versions of one memory the newer comes first, unless the other one likely answers instead; of those
    of the same time the likelier."""
    one, two = hits[version.newer], hits[other.newer]
    if began(one.memory) == began(two.memory):
        return version.likely > other.likely
    between = version._replace(older=other.newer, likely=version.likely * other.likely)
    return is_newer(one.memory, two.memory) and chance_of_newer(between, one, two, readings) >= EVEN


def chance_of_newer(version: Version, newer: Hit, older: Hit, readings: Mapping[str, Reading]) -> float:
    """How likely it is that the newer one answers, if one of the two does, by how likely it is a version of the older
    and by how well both match the question."""
    if version.by_hand:
        return 1.0
    probability = min(MOST_LIKELY, max(LEAST_LIKELY, version.likely))
    likely = log(probability / (1 - probability))
    scores = log(max(newer.score / older.score, LEAST_SHARE)) if older.score > 0 else 0.0
    read = readings.get(newer.memory.id), readings.get(older.memory.id)
    if read[0] is None or read[1] is None:
        return logistic(CONSTANT + OF_VERSION * likely + OF_SCORES * scores)
    apart = read[0].log_odds - read[1].log_odds
    return logistic(CONSTANT_READ + OF_VERSION_READ * likely + OF_SCORES_READ * scores + OF_READINGS * apart)


def versions_among(hits: Sequence[Hit], question: Question) -> list[Version]:
    """The oldest newer side first, so that a version that rose lets the next one rise; of its older sides the likeliest
    first. A newer version of a newer version is one as well."""
    memories = {hit.memory.id: hit.memory for hit in hits}
    direct = noted_conflicts(hits, question)
    if question.is_nacre_strategy:
        direct = {**linked_versions(hits, question), **direct}
    every: dict[str, dict[str, Version]] = {}
    for newer in sorted({newer for newer, _ in direct}, key=lambda id: age_order(memories[id])):
        own = every[newer] = {older: each for (id, older), each in direct.items() if id == newer}
        for between in list(own.values()):
            for former in every.get(between.older, {}).values():
                indirect = Version(
                    newer, former.older, between.likely * former.likely, between.sure and former.sure, direct=False
                )
                if memories[newer].is_settled_with(memories[former.older]):
                    continue
                if former.older not in own or own[former.older].likely < indirect.likely:
                    own[former.older] = indirect._replace(direct=former.older in own)
    return [each for own in every.values() for each in sorted(own.values(), key=lambda each: -each.likely)]


def noted_conflicts(hits: Sequence[Hit], question: Question) -> dict[tuple[str, str], Version]:
    """By the ids of the newer and the older hit. What a hit has superseded outdates what that one did."""
    memories = {hit.memory.id: hit.memory for hit in hits}
    successor = {hit.was.id: hit.memory.id for hit in hits if hit.was}
    versions: dict[tuple[str, str], Version] = {}
    for (newer, older), link in conflicting_pairs(
        [each for hit in hits for each in (hit.memory, hit.was) if each]
    ).items():
        newest = newer if newer in memories else successor[newer]
        if older in memories and newest != older and may_precede(memories[newest], memories[older], question):
            sure, by_hand = link.data.get("sure") is not False, "reason" not in link.data
            likely = SURE_CONFLICT if sure else NOTED_CONFLICT
            versions[newest, older] = Version(newest, older, likely, sure, by_hand)
    return versions


def linked_versions(hits: Sequence[Hit], question: Question) -> dict[tuple[str, str], Version]:
    """Of each hit what are likely its newer versions, or the likeliest of what may be, by the ids of the newer and the
    older one."""
    memories = {hit.memory.id: hit.memory for hit in hits}
    versions: dict[tuple[str, str], Version] = {}
    for older, linked in newer_versions(hits).items():
        able: dict[str, Link] = {}
        for newer, link in linked:
            if may_precede(memories[newer], memories[older], question):
                able.setdefault(newer, link)
        for newer, link in able.items():
            by_hand = link.weight >= 1
            if link.weight < LIKELY_VERSION and len([each for each in versions if each[1] == older]) >= MOST_VERSIONS:
                break
            versions[newer, older] = Version(newer, older, min(1.0, link.weight), by_hand, by_hand)
    return versions


def raised_above(newer: Hit, older: Hit, version: Version, chance: float) -> Hit:
    """Strong for the older one's sake only where it is surely a version of that."""
    relevance = older.relevance if version.by_hand else chance * older.relevance
    most = 1.0 if version.sure else MOST_UNCERTAIN_RELEVANCE
    how = "than" if version.sure else "perhaps, than"
    return raised(newer, older, relevance=min(relevance, most), how=how)


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
            ordered.insert(at[newer], raised(ordered.pop(at[older]), above, name=EARLIER))
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
    ends = [window.end for window in question.past_windows]  # an end is no part of its time
    ends += [float(each.value) for each in question.where.conditions if (each.field, each.op) == VALID_THEN]  # type: ignore[arg-type]
    return bool(ends) and effective_from(older) < max(ends) <= effective_from(newer)


def older_may_precede(older: Hit, newer: Hit) -> bool:
    before = began(older.memory) < began(newer.memory)
    answers = newer.relevance < STRONG or is_comparably_relevant(older, newer)
    return before and older.memory.trust >= newer.memory.trust and answers


def least_near_best(hits: Sequence[Hit]) -> float:
    """The least score of a hit that matches about as well as the best."""
    return NEAR_BEST * max([0.0, *(hit.score for hit in hits)])


def share_of_version(likely: float) -> float:
    """The least share of the older one's score."""
    return POSSIBLE_VERSION + (1 - POSSIBLE_VERSION) * likely


def move_up(ordered: list[Hit], newer: Hit, older: Hit, version: Version) -> None:
    """Moves what perhaps takes the older one's place up, below it, to where its share of the score belongs."""
    share = share_of_version(version.likely)
    least, relevance = share * older.score, min(version.likely * older.relevance, MOST_UNCERTAIN_RELEVANCE)
    if newer.score >= least:
        return
    ordered.remove(newer)
    after = ordered.index(older) + 1
    place = next((i for i, hit in enumerate(ordered) if i >= after and hit.score < least), len(ordered))
    ordered.insert(place, raised(newer, older, share, relevance, "perhaps, than"))


def is_comparably_relevant(hit: Hit, other: Hit) -> bool:
    return hit.relevance >= FAR_LESS_RELEVANT * other.relevance


def asks_about_the_past(question: Question) -> bool:
    """Whether it asks for what held before: by its words ("originally", "formerly"), or by a filter."""
    return question.order == "oldest" or question.former or question.asks_validity


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
    return is_newer(newer, older) and (not question.past_windows or is_of_past_asked_for(newer, older, question))


def is_of_past_asked_for(newer: Memory, older: Memory, question: Question) -> bool:
    """Whether the newer one held in the time that the question names, and fits it as well as the older."""
    in_time = effective_from(newer) < max(window.end for window in question.past_windows)
    return in_time and time_match(newer, question) >= time_match(older, question)


def is_newer(newer: Memory, older: Memory) -> bool:
    """Not where they are equally old, nor where the newer one is trusted less."""
    return began(newer) > began(older) and newer.trust >= older.trust


def raised(
    hit: Hit, other: Hit, share: float = 1.0, relevance: float | None = None, how: str = "than", name: str = NEWER
) -> Hit:
    """With a share of the score of the other hit, which it stands beside, and its relevance unless another is given: it
    answers as well."""
    score = max(hit.score, share * other.score)  # what was not read may stand below a lower score
    why = (*hit.why, Reason(name, score - hit.score, f"{how} {short_id(other.memory.id)}"))
    least = other.relevance if relevance is None else relevance
    return replace(hit, score=score, relevance=max(hit.relevance, least), why=why)


def raised_for(hit: Hit, ids: Iterable[str]) -> list[str]:
    """Of these ids those of the hits beside which it was raised, as a newer or an earlier version."""
    names = {reason.detail.split()[-1] for reason in hit.why if reason.signal in (NEWER, EARLIER)}
    return [id for id in ids if short_id(id) in names] if names else []
