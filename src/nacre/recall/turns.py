"""Which turns of a conversation state something, and which of them announce a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from nacre.model import Hit, Memory
from nacre.model.recollection import conflicting_pairs
from nacre.remember.suggest import appraise
from nacre.text.tokens import content_stems, only_asks, sentences

USER, TOOL = "user", "tool"
PASSING = 0.45  # a turn below this importance by its words: a question, an acknowledgement, a step
# A request for one piece of work says what was wanted then, not what is so.
POLITE = "please|now|then|next|also|and|so|ok(?:ay)?|great|thanks|good|yes|let'?s|(?:can|could|would|will) you"
WORK = (
    "add|adjust|analy[sz]e|apply|build|change|check|clean|commit|compare|continue|convert|copy|create|debug|delete|"
    "deploy|describe|document|download|draft|edit|execute|explain|extend|extract|fetch|find|fix|format|generate|"
    "give|go|help|implement|improve|insert|inspect|install|investigate|list|look|make|merge|move|open|optimi[sz]e|"
    "prepare|print|pull|push|read|rebase|refactor|remove|rename|replace|repeat|rerun|research|restart|retry|revert|"
    "review|rewrite|run|search|send|set up|show|simplify|sketch|sort|split|start|stop|suggest|summari[sz]e|tell|test|"
    "translate|try|undo|update|upgrade|verify|write"
)
LEAD = re.compile(rf"(?:(?:{POLITE})[\s,]+)*", re.IGNORECASE)
REQUEST = re.compile(rf"(?:{WORK})\b", re.IGNORECASE)
# These begin like one and state something: «test server is now hera», «update: we moved», «explain it, I am new here».
STATES = re.compile(
    r"^\w+(?:\s+of\b|,|(?:\s+\w+){0,2}:)"
    r"|\b(?:is|are|was|were|has|have|had|will|must|should|may|isn't|aren't|don't|can't|i|we)\b",
    re.IGNORECASE,
)
# One for all time is a rule: «run the tests before every commit».
RULE = re.compile(
    r"\b(?:always|never|from now on|whenever|every|each|any ?more|by default|make sure|stop \w+ing|instead of"
    r"|rather than|in (?:this|our|the) (?:repo|repository|project|code|codebase|team))\b",
    re.IGNORECASE,
)
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
    """A turn that states nothing: what a tool printed, a question, a request, «ok, go on». It stays as context of its
    session."""
    if not memory.role:
        return False
    appraisal = appraise(memory.text)
    passing = appraisal.importance < PASSING and bool(appraisal.reasons)
    role = memory.role.lower()
    return passing or role == TOOL or only_asks(memory.text) or (role == USER and only_requests(memory.text))


def only_requests(text: str) -> bool:
    """Whether every sentence asks for a piece of work."""
    asked = [each[len(LEAD.match(each)[0]) :] for each in sentences(text)]  # type: ignore[index]
    return all(REQUEST.match(each) and not (RULE.search(each) or STATES.search(each)) for each in asked)


def asks_or_prints(memory: Memory) -> bool:
    """A turn that is certainly no statement: a question, or what a tool printed."""
    return bool(memory.role) and (memory.role.lower() == TOOL or only_asks(memory.text))


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
    said = [hit.memory for hit in hits if hit.memory.role.lower() == USER]
    return [hit for hit in hits if not any(is_echo(hit.memory, each) for each in said)]


def is_echo(answer: Memory, said: Memory) -> bool:
    if answer.role.lower() in ("", USER) or answer.session != said.session or None in (answer.position, said.position):
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
