"""BEAM: one very long chat with an assistant, asked about message by message."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nacre.bench.corpus import Corpus, Question, Suite, Turn, read_json, seconds_of, worth_asking

TRAILER = re.compile(r"\s*->->\s*[\d,\s]+\Z")  # the generator's own numbering at the end of user messages
DATE = "%B-%d-%Y"


def load(file: Path) -> Suite:
    return Suite("beam", "separate", "turn", tuple(corpus(each) for each in read_json(file)))


def corpus(whole: Mapping[str, Any]) -> Corpus:
    turns = tuple(said(whole["chat"]))
    known = {turn.key for turn in turns}
    asked = whole["probing_questions"]
    kinds: Mapping[str, Any] = ast.literal_eval(asked) if isinstance(asked, str) else asked
    return Corpus(turns, worth_asking(question(each, kind, known) for kind, some in kinds.items() for each in some))


def said(chat: list[Any]) -> Iterator[Turn]:
    """Batches are its sessions; a date, where one is given, holds until the next."""
    for number, batch in enumerate(chat):
        place, at = 0, None
        for message in messages(batch):
            at = seconds_of(message.get("time_anchor"), DATE) or at
            text = TRAILER.sub("", message["content"])
            if text.strip():
                yield Turn(f"m{message['id']}", text, message["role"], f"s{number}", place, at)
                place += 1


def messages(part: Any) -> Iterator[Mapping[str, Any]]:
    """A batch holds exchanges, and an exchange messages; some releases leave a level out."""
    if isinstance(part, Mapping) and "content" in part:
        yield part
        return
    for item in part["turns"] if isinstance(part, Mapping) else part:
        yield from messages(item)


def question(asked: Mapping[str, Any], kind: str, known: set[str]) -> Question:
    gold = {f"m{id}" for id in flattened(asked.get("source_chat_ids"))} & known
    return Question(asked["question"], frozenset(gold), kind)


def flattened(ids: object) -> Iterator[int]:
    """Some kinds of question list their sources, some sort them into lists by what they say."""
    if isinstance(ids, Mapping):
        ids = list(ids.values())
    if isinstance(ids, list):
        for item in ids:
            yield from flattened(item)
    elif isinstance(ids, int):
        yield ids
