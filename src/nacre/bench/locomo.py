"""LoCoMo: long conversations between two people, asked about turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nacre.bench.corpus import Corpus, Question, Suite, Turn, read_json, seconds_of, worth_asking

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}  # 5 is adversarial: no evidence
EVIDENCE = re.compile(r"D:?(\d+):(\d+)")  # several may stand in one string, and a few have a colon too many
SESSION = re.compile(r"session_(\d+)\Z")
DATE = "%I:%M %p on %d %B, %Y"


def load(file: Path) -> Suite:
    return Suite("locomo", "separate", "turn", tuple(corpus(each) for each in read_json(file)))


def corpus(whole: Mapping[str, Any]) -> Corpus:
    turns = tuple(said(whole["conversation"]))
    known = {turn.key for turn in turns}
    return Corpus(turns, worth_asking(question(each, known) for each in whole["qa"] if each["category"] in CATEGORIES))


def said(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    for number in sorted(int(found.group(1)) for name in conversation if (found := SESSION.match(name))):
        at = seconds_of(conversation.get(f"session_{number}_date_time"), DATE)
        for place, turn in enumerate(conversation[f"session_{number}"]):
            if turn["text"].strip():
                yield Turn(keys(turn["dia_id"])[0], turn["text"], turn["speaker"], f"s{number}", place, at)


def question(asked: Mapping[str, Any], known: set[str]) -> Question:
    cited = {key for item in asked.get("evidence", ()) for key in keys(str(item))}
    return Question(asked["question"], frozenset(cited & known), CATEGORIES[asked["category"]])


def keys(ids: str) -> list[str]:
    """Neutral keys for the dataset's ids; "D8:6; D9:17" names two turns."""
    return [f"t{session}-{turn}" for session, turn in EVIDENCE.findall(ids)]
