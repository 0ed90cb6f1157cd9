"""LongMemEval: a user's chats with an assistant, asked about session by session, or turn by turn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.bench.corpus import ABSTENTION, Corpus, Question, Suite, Turn, Unit, read_json, seconds_of, worth_asking

DATE = "%Y/%m/%d (%a) %H:%M"
HAYSTACK = 50  # sessions a question is asked among, as in LongMemEval-S
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Sessions:
    """Each session once, under a neutral name: the dataset's own names tell which ones hold answers."""

    turns: Mapping[str, tuple[Turn, ...]]
    names: Mapping[str, str]


def load(file: Path, mode: str, unit: Unit) -> Suite:
    asked = read_json(file)
    sessions = all_sessions(asked)
    found = ((question(each, sessions, unit), sources(each, sessions)) for each in asked)
    pairs = [(each, needed) for each, needed in found if worth_asking([each])]
    if mode == "pooled":
        turns = tuple(turn for session in sessions.turns.values() for turn in session)
        return Suite("longmemeval", mode, unit, (Corpus(turns, tuple(each for each, _ in pairs)),))
    dice = random.Random(SEED)
    return Suite(
        "longmemeval", mode, unit, tuple(haystack(each, needed, sessions, dice) for each, needed in pairs if each.gold)
    )


def all_sessions(asked: Sequence[Mapping[str, Any]]) -> Sessions:
    turns: dict[str, tuple[Turn, ...]] = {}
    names: dict[str, str] = {}
    for each in asked:
        for own, said, date in with_ids(each):
            if own not in names:
                names[own] = f"s{len(names)}"
                turns[names[own]] = tuple(turns_of(names[own], said, seconds_of(date, DATE)))
    return Sessions(turns, names)


def with_ids(each: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]], str]]:
    yield from zip(each["haystack_session_ids"], each["haystack_sessions"], each["haystack_dates"], strict=True)


def turns_of(name: str, said: Sequence[Mapping[str, Any]], at: float | None) -> Iterator[Turn]:
    for place, turn in enumerate(said):
        if turn["content"].strip():
            yield Turn(f"{name}-{place}", turn["content"], turn["role"], name, place, at)


def question(each: Mapping[str, Any], sessions: Sessions, unit: Unit) -> Question:
    unanswerable = each["question_id"].endswith("_abs")
    gold = () if unanswerable else sources(each, sessions) if unit == "session" else marked(each, sessions)
    category = ABSTENTION if unanswerable else each["question_type"]
    return Question(each["question"], frozenset(gold), category, seconds_of(each["question_date"], DATE))


def sources(each: Mapping[str, Any], sessions: Sessions) -> frozenset[str]:
    return frozenset(sessions.names[own] for own in each["answer_session_ids"] if own in sessions.names)


def marked(each: Mapping[str, Any], sessions: Sessions) -> Iterator[str]:
    """The turns that the dataset marks as holding the answer."""
    for own, said, _ in with_ids(each):
        kept = {turn.position for turn in sessions.turns[sessions.names[own]]}
        yield from (
            f"{sessions.names[own]}-{place}"
            for place, turn in enumerate(said)
            if turn.get("has_answer") and place in kept
        )


def haystack(asked: Question, needed: frozenset[str], sessions: Sessions, dice: random.Random) -> Corpus:
    others = [name for name in sessions.turns if name not in needed]
    chosen = {*needed, *dice.sample(others, min(len(others), max(0, HAYSTACK - len(needed))))}
    turns = (turn for name, session in sessions.turns.items() if name in chosen for turn in session)
    return Corpus(tuple(turns), (asked,))
