"""Understands the question: its search terms, its speaker, its time and its filter."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.errors import InvalidInput
from nacre.model import GENERIC_ROLES, Filter, Query
from nacre.text.dates import Window, time_windows
from nacre.text.tokens import content_stems, stem, stems, words

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
