"""Reads the question: which words to look for, whose words they would be, and among which memories."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.errors import InvalidInput
from nacre.model import GENERIC_ROLES, Filter, Query
from nacre.text.dates import Window, time_windows
from nacre.text.tokens import content_stems, stem, stems, words

# Half a surrogate pair or a NUL, from a broken paste: nothing that is kept has them, and no model reads them.
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

    def named(self, roles: frozenset[str]) -> frozenset[str]:
        """The stems of all speakers' names, whether asked for or not."""
        return frozenset(stem(word) for role in roles - GENERIC_ROLES for word in words(role))

    def speakers(self, roles: frozenset[str]) -> frozenset[str]:
        """The speaker that the question names, where it names one; two are a conversation, not a hint."""
        asked = {
            role for role in roles - GENERIC_ROLES if role and stem(words(role)[0] if words(role) else "") in self.terms
        }
        return frozenset(asked) if len(asked) == 1 else frozenset()


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
        where=fitting(query),
        k=query.k,
        strategy=query.strategy,
        asked_at=query.asked_at,
        voice=voice(text),
        windows=past_windows(text, query.asked_at),
    )


def fitting(query: Query) -> Filter:
    """A memory that does not apply in the contexts at hand does not exist for the question."""
    return query.where & Filter.where(anti_contexts__none=query.contexts or None)


def phrases(text: str) -> list[str]:
    """What stands in quotes is looked for as it stands, beside its words."""
    found = (" ".join(stems(one or other)) for one, other in QUOTED.findall(text))
    return list(dict.fromkeys(phrase for phrase in found if " " in phrase))


def voice(text: str) -> frozenset[str]:
    """Whose turn of a chat with an assistant would tell: the user's own, or what the assistant said."""
    spoken = set(words(text))
    if spoken & SECOND_PERSON and {stem(word) for word in spoken} & SAID_BY_ASSISTANT:
        return frozenset(("assistant",))
    return frozenset(("user",)) if spoken & FIRST_PERSON else frozenset()


def past_windows(text: str, asked_at: float) -> tuple[Window, ...]:
    """ "What should I cook tonight?" asks for advice, not for a memory of tonight."""
    return tuple(window for window in time_windows(text, asked_at) if window.start < asked_at)
