"""The first two steps of a recall: understand the question, then gather candidates by words, meaning and time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.errors import InvalidInput
from nacre.model import GENERIC_ROLES, Filter, Query
from nacre.protocols import Candidates, Place, Reader, Search, Vectors
from nacre.text.dates import Window, time_windows
from nacre.text.tokens import content_stems, stem, stems, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Half of a surrogate pair or a NUL, from a broken paste: no stored text has them.
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
LONGEST_QUERY = 20_000  # characters; an agent that pastes a whole file wants ingestion, not recall
FIRST_PERSON = frozenset(("i", "im", "ive", "id", "ill", "my", "me", "mine", "myself", "we", "our", "us"))
SECOND_PERSON = frozenset(("you", "your", "yours"))
# "What did you recommend?" asks for the assistant's words, "what did I tell you?" for the user's.
SAID_BY_ASSISTANT = frozenset(stem(word) for word in (
    "recommend", "suggest", "say", "said", "tell", "told", "mention", "provide", "give", "gave", "list", "advise",
    "explain", "write", "wrote", "propose", "answer",
))  # fmt: skip
QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”')


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    terms: tuple[str, ...]
    where: Filter
    k: int
    strategy: str
    asked_at: float
    voice: frozenset[str] = frozenset()
    windows: tuple[Window, ...] = ()

    def speaker_stems(self, roles: frozenset[str]) -> frozenset[str]:
        """The stems of all speakers' names."""
        return frozenset(stem(word) for role in roles - GENERIC_ROLES for word in words(role))

    def speakers(self, roles: frozenset[str]) -> frozenset[str]:
        """The speaker that the question names, if it names exactly one."""
        mentioned = {
            role for role in roles - GENERIC_ROLES if role and stem(words(role)[0] if words(role) else "") in self.terms
        }
        return frozenset(mentioned) if len(mentioned) == 1 else frozenset()


def understand(query: Query) -> Question:
    if not isinstance(query.text, str):  # the type forbids it, a caller may not know
        raise InvalidInput(f"The question must be text, not {type(query.text).__name__}.")
    if len(query.text) > LONGEST_QUERY:
        raise InvalidInput(
            f"The question has {len(query.text):,} characters; ask with at most {LONGEST_QUERY:,}, in fewer words."
        )
    text = UNWRITABLE.sub(" ", query.text).strip()
    return Question(
        text=text,
        terms=tuple(dict.fromkeys((*phrases(text), *content_stems(text), *content_stems(" ".join(query.also))))),
        where=with_contexts(query),
        k=query.k,
        strategy=query.strategy,
        asked_at=query.asked_at,
        voice=voice(text),
        windows=past_windows(text, query.asked_at),
    )


def with_contexts(query: Query) -> Filter:
    """Excludes memories that do not apply in the contexts of the query."""
    return query.where & Filter.where(anti_contexts__none=query.contexts or None)


def phrases(text: str) -> list[str]:
    """Quoted text is searched for as a phrase, besides its words."""
    quoted = (" ".join(stems(one or other)) for one, other in QUOTED.findall(text))
    return list(dict.fromkeys(phrase for phrase in quoted if " " in phrase))


def voice(text: str) -> frozenset[str]:
    """Whose turns are likely to answer in a chat with an assistant: the user's or the assistant's."""
    used = set(words(text))
    if used & SECOND_PERSON and {stem(word) for word in used} & SAID_BY_ASSISTANT:
        return frozenset(("assistant",))
    return frozenset(("user",)) if used & FIRST_PERSON else frozenset()


def past_windows(text: str, asked_at: float) -> tuple[Window, ...]:
    """Windows that began before now: "What should I cook tonight?" does not ask for a memory of tonight."""
    return tuple(window for window in time_windows(text, asked_at) if window.start < asked_at)


# How many candidates each channel brings. The right turn of a conversation of 600 is among them in all but 2 % of the
# development questions; twice as many gave no better result and cost a millisecond.
POOL = 100
POOL_PER_WANTED = 6
REACH = 2


@dataclass(frozen=True, slots=True, eq=False)
class PlacedCandidates(Candidates):
    """Candidates with their places in conversations."""

    before: NDArray[np.int64]  # index of the previous turn in `places`; -1 when it is not there
    after: NDArray[np.int64]
    session: NDArray[np.int64]  # a number per session; each memory outside a conversation has its own


def gather(
    question: Question, vector: Vectors | None, *, space: str, store: Reader, pool: int, reach: int
) -> PlacedCandidates:
    """Every place passes the filter; a narrow filter does not cost candidates."""
    windows = tuple((window.start, window.end) for window in question.windows)
    search = Search(question.terms, vector, question.where, pool, reach, windows)
    return placed(store.gather(space, search))


def placed(candidates: Candidates) -> PlacedCandidates:
    import numpy as np

    places = candidates.places
    spot = {(p.session, p.position): i for i, p in enumerate(places) if p.session and p.position is not None}
    names: dict[str, int] = {}
    session = [names.setdefault(p.session or f"\0{p.key}", len(names)) for p in places]
    return PlacedCandidates(
        places=places,
        cosines=candidates.cosines,
        terms=candidates.terms,
        rarity=candidates.rarity,
        shares=candidates.shares,
        before=np.array([neighbour(p, -1, spot) for p in places], np.int64),
        after=np.array([neighbour(p, 1, spot) for p in places], np.int64),
        session=np.array(session, np.int64),
    )


def neighbour(place: Place, step: int, spot: Mapping[tuple[str, int], int]) -> int:
    return -1 if place.position is None else spot.get((place.session, place.position + step), -1)
