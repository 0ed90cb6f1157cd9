"""Reads the dates of the datasets, each in the one form that it writes."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterable
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
    """`key` and `session` are neutral: nothing of a dataset's own ids may reach the store."""

    key: str
    text: str
    role: str
    session: str
    position: int
    at: float | None


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` holds turn keys or session names, whichever the suite retrieves; none means that nothing answers."""

    text: str
    gold: frozenset[str]
    category: str
    asked_at: float | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """What goes into one store, and what is asked of it."""

    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def ended_at(self) -> float:
        """When the last turn was said, and 0 where no turn says it."""
        return max((turn.at for turn in self.turns if turn.at is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    mode: str
    unit: Unit
    corpora: tuple[Corpus, ...]


def worth_asking(questions: Iterable[Question]) -> tuple[Question, ...]:
    """A question whose evidence cannot be resolved says nothing; one that nothing answers says when to be silent."""
    return tuple(each for each in questions if each.gold or each.category == ABSTENTION)


def by_session(suite: Suite) -> Suite:
    """The same questions, answered by the sessions that hold the gold turns."""
    return replace(suite, unit="session", corpora=tuple(map(sessions_wanted, suite.corpora)))


def sessions_wanted(corpus: Corpus) -> Corpus:
    home = {turn.key: turn.session for turn in corpus.turns}
    questions = (replace(each, gold=frozenset(home[key] for key in each.gold)) for each in corpus.questions)
    return replace(corpus, questions=tuple(questions))


def sample(suite: Suite, count: int) -> Suite:
    """So many of its questions, always the same ones, in their order; a corpus that none is left for is left out."""
    places = [(number, place) for number, corpus in enumerate(suite.corpora) for place in range(len(corpus.questions))]
    kept = set(random.Random(SAMPLE_SEED).sample(places, min(count, len(places))))
    corpora = (
        replace(corpus, questions=tuple(q for place, q in enumerate(corpus.questions) if (number, place) in kept))
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
