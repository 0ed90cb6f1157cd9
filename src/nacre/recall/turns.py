"""Which turns of a conversation state something, and which of them announce a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from nacre.model import Hit, Memory
from nacre.model.recollection import conflicting_pairs
from nacre.recall.requests import only_reports, only_requests
from nacre.remember.suggest import appraise
from nacre.text.tokens import content_stems, only_asks

USER, TOOL = "user", "tool"
PASSING = 0.45  # a turn below this importance by its words: a question, an acknowledgement, a step
# What the user does not know yet is no statement that an answer could repeat.
DOUBT = re.compile(r"\?|\b(?:whether|if|or|not sure|unsure|think|guess|maybe|perhaps)\b", re.IGNORECASE)
# Words of a change: most of what people say while they work is how it is just now.
CHANGE = re.compile(
    r"\b(?:no longer|any ?more|now|instead|from now on|as of|switched|moved|migrated|changed|renamed|replaced"
    r"|dropped|upgraded|stopped|nicht mehr|jetzt|ab sofort|statt|künftig|umgezogen|gewechselt|ne \S+ plus|désormais"
    r"|maintenant|ya no|ahora|adesso|non \S+ più|já não|agora)\b|больше не|теперь|不再|现在|改为|もう|今は|これから",
    re.IGNORECASE,
)
# The state of the work itself changes all the time: «the error is gone now».
AT_WORK = re.compile(
    r"\b(?:it works|works now|not work(?:ing)?|n't work(?:ing)?|the errors?|fail(?:s|ed|ing)?|broken|my branch|still)\b"
    r"(?! tracker)",
    re.IGNORECASE,
)
NEAR = 3  # turns between what was said and an answer that repeats it
ECHOED = 0.7  # of an answer's words, from which on it only repeats: «Noted: …» adds one or two


def is_chatter(memory: Memory) -> bool:
    """A turn that states nothing: what a tool printed, a question, a request, an answer that only says that it was
    done, «ok, go on». It stays as context of its session."""
    if not memory.role:
        return False
    appraisal = appraise(memory.text)
    passing = appraisal.importance < PASSING and bool(appraisal.reasons)
    asks = memory.role.lower() == USER and only_requests(memory.text)
    return passing or asks or is_no_statement(memory)


def is_no_statement(memory: Memory) -> bool:
    """A turn that certainly states nothing: a question, a request, what a tool printed, or an answer that only says
    that it was done."""
    role = memory.role.lower()
    if not role or role == TOOL or only_asks(memory.text):
        return bool(role)
    return only_requests(memory.text, certainly=True) if role == USER else only_reports(memory.text)


def informative(hits: Iterable[Hit], leave_out: Callable[[Memory], bool] = is_chatter) -> list[Hit]:
    """Those that tell a reader what is so: without chatter, echoes, and answers to what has changed since."""
    return without_outdated_answers(without_echoes(hit for hit in hits if not leave_out(hit.memory)))


def without_outdated_answers(hits: Iterable[Hit]) -> list[Hit]:
    """Without answers to a turn of the user that conflicts with a newer hit. Answers are not compared with anything
    themselves, so nothing else would show that such an answer is outdated as well."""
    hits = list(hits)
    memories = [hit.memory for hit in hits]
    outdated = {older for _, older in conflicting_pairs(memories)}
    said = {(each.session, each.position) for each in memories if each.id in outdated and each.role.lower() == USER}
    return [hit for hit in hits if hit.memory.role.lower() in ("", USER) or place_before(hit.memory) not in said]


def place_before(turn: Memory) -> tuple[str, int] | None:
    """The session and position of the turn before it."""
    return None if turn.position is None else (turn.session, turn.position - 1)


def without_repetitions(hits: Iterable[Hit]) -> list[Hit]:
    """The first of several turns with the same words."""
    first: dict[tuple[str, str], Hit] = {}
    for hit in hits:
        words = " ".join(hit.memory.text.casefold().split()) if hit.memory.role else hit.memory.id
        first.setdefault((hit.memory.role, words), hit)
    return list(first.values())


def without_echoes(hits: Iterable[Hit]) -> list[Hit]:
    """Without answers that only repeat what the user said just before them and what is among the hits itself."""
    hits = list(hits)
    said: dict[str, list[Memory]] = {}  # by session
    for memory in (hit.memory for hit in hits):
        if memory.role.lower() == USER:
            said.setdefault(memory.session, []).append(memory)
    return [hit for hit in hits if not any(is_echo(hit.memory, each) for each in said.get(hit.memory.session, ()))]


def is_echo(answer: Memory, said: Memory) -> bool:
    """Of two turns of one session."""
    if answer.role.lower() in ("", USER) or None in (answer.position, said.position):
        return False
    if not 0 < (answer.position or 0) - (said.position or 0) <= NEAR or DOUBT.search(said.text):
        return False
    words = set(content_stems(answer.text))
    return bool(words) and len(words.intersection(content_stems(said.text))) >= ECHOED * len(words)


def is_users_statement(memory: Memory) -> bool:
    return memory.role.lower() == USER and not is_chatter(memory)


def announced_changes(turns: Sequence[Memory]) -> list[Memory]:
    """Those in which the user says that something has changed."""
    stated = (each for each in turns if is_users_statement(each))
    return [each for each in stated if CHANGE.search(each.text) and not AT_WORK.search(each.text)]
