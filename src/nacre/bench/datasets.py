"""The public datasets as corpora of turns and questions: LoCoMo, LongMemEval and BEAM."""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nacre.errors import InvalidInput


def seconds_of(date: str | None, form: str) -> float | None:
    """UTC seconds, or None where there is no date in this form."""
    try:
        return datetime.strptime((date or "").strip(), form).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


Unit: TypeAlias = Literal["turn", "session"]

ABSTENTION = "abstention"  # the category of questions that nothing answers
GZIP = b"\x1f\x8b"
SAMPLE_SEED = 20260102


@dataclass(frozen=True, slots=True)
class Turn:
    """`key` and `session` are neutral names: the dataset's own ids may reveal the answers."""

    key: str
    text: str
    role: str
    session: str
    position: int
    at: float | None


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` holds turn keys or session names, by the unit of the suite; empty when nothing answers the question."""

    text: str
    gold: frozenset[str]
    category: str
    asked_at: float | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """The turns of one store, and the questions about them."""

    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def ended_at(self) -> float:
        """The time of the last turn, 0 when no turn has one."""
        return max((turn.at for turn in self.turns if turn.at is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    mode: str
    unit: Unit
    corpora: tuple[Corpus, ...]


def answerable(questions: Iterable[Question]) -> tuple[Question, ...]:
    """Drops questions whose evidence is missing; keeps those of the category abstention."""
    return tuple(each for each in questions if each.gold or each.category == ABSTENTION)


def by_session(suite: Suite) -> Suite:
    """The same questions, answered by the sessions that hold the gold turns."""

    def with_session_gold(corpus: Corpus) -> Corpus:
        home = {turn.key: turn.session for turn in corpus.turns}
        questions = (replace(each, gold=frozenset(home[key] for key in each.gold)) for each in corpus.questions)
        return replace(corpus, questions=tuple(questions))

    return replace(suite, unit="session", corpora=tuple(map(with_session_gold, suite.corpora)))


def sample(suite: Suite, count: int) -> Suite:
    """Always the same `count` questions, in order; a corpus without questions is left out."""
    places = [(number, place) for number, corpus in enumerate(suite.corpora) for place in range(len(corpus.questions))]
    picked = set(random.Random(SAMPLE_SEED).sample(places, min(count, len(places))))
    corpora = (
        replace(corpus, questions=tuple(q for place, q in enumerate(corpus.questions) if (number, place) in picked))
        for number, corpus in enumerate(suite.corpora)
    )
    return replace(suite, corpora=tuple(corpus for corpus in corpora if corpus.questions))


def read_json(file: Path) -> Any:
    """Plain or gzipped."""
    try:
        raw = file.read_bytes()
        return json.loads(gzip.decompress(raw) if raw.startswith(GZIP) else raw)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be read ({error.strerror or error}); give the official JSON file."
        ) from error
    except (EOFError, ValueError, RecursionError, zlib.error) as error:
        raise InvalidInput(f"{file} is not JSON ({error}); give the official JSON file, plain or gzipped.") from error


LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}  # 5 is adversarial: no evidence
LOCOMO_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")  # one string may hold several, and a few have an extra colon
LOCOMO_SESSION = re.compile(r"session_(\d+)\Z")
LOCOMO_DATE = "%I:%M %p on %d %B, %Y"


def load_locomo(file: Path) -> Suite:
    return Suite("locomo", "separate", "turn", tuple(locomo_corpus(each) for each in read_json(file)))


def locomo_corpus(record: Mapping[str, Any]) -> Corpus:
    turns = tuple(locomo_turns(record["conversation"]))
    known = {turn.key for turn in turns}
    questions = []
    for asked in record["qa"]:
        if asked["category"] in LOCOMO_CATEGORIES:
            cited = {key for item in asked.get("evidence", ()) for key in locomo_keys(str(item))}
            category = LOCOMO_CATEGORIES[asked["category"]]
            questions.append(Question(asked["question"], frozenset(cited & known), category))
    return Corpus(turns, answerable(questions))


def locomo_turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    for number in sorted(int(match.group(1)) for name in conversation if (match := LOCOMO_SESSION.match(name))):
        at = seconds_of(conversation.get(f"session_{number}_date_time"), LOCOMO_DATE)
        for place, turn in enumerate(conversation[f"session_{number}"]):
            if turn["text"].strip():
                yield Turn(locomo_keys(turn["dia_id"])[0], turn["text"], turn["speaker"], f"s{number}", place, at)


def locomo_keys(ids: str) -> list[str]:
    """Neutral keys for the dataset's ids; "D8:6; D9:17" names two turns."""
    return [f"t{session}-{turn}" for session, turn in LOCOMO_EVIDENCE.findall(ids)]


LONGMEMEVAL_DATE = "%Y/%m/%d (%a) %H:%M"
HAYSTACK = 50  # sessions in the corpus of one question, as in LongMemEval-S
HAYSTACK_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Sessions:
    """Each session once, under a neutral name: the dataset's own names reveal which ones hold answers."""

    turns: Mapping[str, tuple[Turn, ...]]
    names: Mapping[str, str]


def load_longmemeval(file: Path, mode: str, unit: Unit) -> Suite:
    asked = read_json(file)
    sessions = all_sessions(asked)
    questions = ((longmemeval_question(each, sessions, unit), source_sessions(each, sessions)) for each in asked)
    pairs = [(each, needed) for each, needed in questions if answerable([each])]
    if mode == "pooled":
        turns = tuple(turn for session in sessions.turns.values() for turn in session)
        return Suite("longmemeval", mode, unit, (Corpus(turns, tuple(each for each, _ in pairs)),))
    dice = random.Random(HAYSTACK_SEED)
    return Suite(
        "longmemeval", mode, unit, tuple(haystack(each, needed, sessions, dice) for each, needed in pairs if each.gold)
    )


def all_sessions(asked: Sequence[Mapping[str, Any]]) -> Sessions:
    turns: dict[str, tuple[Turn, ...]] = {}
    names: dict[str, str] = {}
    for each in asked:
        for own, said, date in sessions_of(each):
            if own not in names:
                name = names[own] = f"s{len(names)}"
                at = seconds_of(date, LONGMEMEVAL_DATE)
                turns[name] = tuple(
                    Turn(f"{name}-{place}", turn["content"], turn["role"], name, place, at)
                    for place, turn in enumerate(said)
                    if turn["content"].strip()
                )
    return Sessions(turns, names)


def sessions_of(each: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]], str]]:
    yield from zip(each["haystack_session_ids"], each["haystack_sessions"], each["haystack_dates"], strict=True)


def longmemeval_question(each: Mapping[str, Any], sessions: Sessions, unit: Unit) -> Question:
    unanswerable = each["question_id"].endswith("_abs")
    gold = (
        () if unanswerable else source_sessions(each, sessions) if unit == "session" else marked_turns(each, sessions)
    )
    category = ABSTENTION if unanswerable else each["question_type"]
    return Question(each["question"], frozenset(gold), category, seconds_of(each["question_date"], LONGMEMEVAL_DATE))


def source_sessions(each: Mapping[str, Any], sessions: Sessions) -> frozenset[str]:
    return frozenset(sessions.names[own] for own in each["answer_session_ids"] if own in sessions.names)


def marked_turns(each: Mapping[str, Any], sessions: Sessions) -> Iterator[str]:
    """The turns that the dataset marks as holding the answer."""
    for own, said, _ in sessions_of(each):
        positions = {turn.position for turn in sessions.turns[sessions.names[own]]}
        yield from (
            f"{sessions.names[own]}-{place}"
            for place, turn in enumerate(said)
            if turn.get("has_answer") and place in positions
        )


def haystack(asked: Question, needed: frozenset[str], sessions: Sessions, dice: random.Random) -> Corpus:
    others = [name for name in sessions.turns if name not in needed]
    chosen = {*needed, *dice.sample(others, min(len(others), max(0, HAYSTACK - len(needed))))}
    turns = (turn for name, session in sessions.turns.items() if name in chosen for turn in session)
    return Corpus(tuple(turns), (asked,))


BEAM_TRAILER = re.compile(r"\s*->->\s*[\d,\s]+\Z")  # the generator's own numbering at the end of user messages
BEAM_DATE = "%B-%d-%Y"


def load_beam(file: Path) -> Suite:
    return Suite("beam", "separate", "turn", tuple(beam_corpus(each) for each in read_json(file)))


def beam_corpus(record: Mapping[str, Any]) -> Corpus:
    turns = tuple(beam_turns(record["chat"]))
    known = {turn.key for turn in turns}
    asked = record["probing_questions"]
    kinds: Mapping[str, Any] = ast.literal_eval(asked) if isinstance(asked, str) else asked
    questions = (
        Question(each["question"], frozenset(known & {f"m{id}" for id in flattened(each.get("source_chat_ids"))}), kind)
        for kind, some in kinds.items()
        for each in some
    )
    return Corpus(turns, answerable(questions))


def beam_turns(chat: list[Any]) -> Iterator[Turn]:
    """A batch is a session; a date is valid until the next one."""
    for number, batch in enumerate(chat):
        place, at = 0, None
        for message in beam_messages(batch):
            at = seconds_of(message.get("time_anchor"), BEAM_DATE) or at
            text = BEAM_TRAILER.sub("", message["content"])
            if text.strip():
                yield Turn(f"m{message['id']}", text, message["role"], f"s{number}", place, at)
                place += 1


def beam_messages(part: Any) -> Iterator[Mapping[str, Any]]:
    """A batch holds exchanges, and an exchange holds messages; some releases have fewer levels."""
    if isinstance(part, Mapping) and "content" in part:
        yield part
        return
    for item in part["turns"] if isinstance(part, Mapping) else part:
        yield from beam_messages(item)


def flattened(ids: object) -> Iterator[int]:
    """Some kinds of questions have one list of sources, some have several lists."""
    if isinstance(ids, Mapping):
        ids = list(ids.values())
    if isinstance(ids, list):
        for item in ids:
            yield from flattened(item)
    elif isinstance(ids, int):
        yield ids
