"""The first two steps of a recall: understand the question, then gather candidates by words, meaning and time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nacre.errors import InvalidInput
from nacre.model import GENERIC_ROLES, Condition, Filter, Query
from nacre.model.instants import DAY
from nacre.model.memory import CONFLICTS, MAY_REPLACE, is_place_of_turn
from nacre.model.validate import UNWRITABLE
from nacre.protocols import Candidates, Reader, Search, Vectors
from nacre.text.date_readings import MONTHS, WEEKDAYS
from nacre.text.dates import (
    NO_ORDER,
    Window,
    asks_for_former,
    asks_of_past,
    asks_what_happened,
    coming_dates,
    is_english,
    order_asked,
    points_ahead,
    time_windows,
    without,
)
from nacre.text.foreign_dates import fillers, has_han
from nacre.text.tokens import STOP_WORDS, compounds, content_stems, spellings, stem, stems, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_QUERY = 20_000  # characters; an agent that pastes a whole file wants ingestion, not recall
# As words of the text: an "id", somebody "ill" and the US are not the asker.
FIRST_PERSON = re.compile(
    r"\b(?i:i['’](?:m|ve|d|ll)|i|im|ive|my|me|mine|myself|we|we['’](?:re|ve|d|ll)|our|ours)\b|\bus\b"
)
SECOND_PERSON = frozenset(("you", "your", "yours"))
# "What did you recommend?" asks for the assistant's words, "what did I tell you?" for the user's.
SAID_BY_ASSISTANT = frozenset(stem(word) for word in (
    "recommend", "suggest", "say", "said", "tell", "told", "mention", "provide", "give", "gave", "list", "advise",
    "explain", "write", "wrote", "propose", "answer",
))  # fmt: skip
LONG_AGO = 180 * DAY
# Beside a time these say nothing of what is looked for: "What happened in March?" asks by the time alone.
FILLER_WORDS = STOP_WORDS | frozenset(
    "happen happened happens happening occur occurred took place tell told note noted new news change changed changes"
    " anything everything something summary give show list".split()
)
# "What is planned for next week?", "Do I have any meetings tomorrow?"
FILLER_WORDS_AHEAD = FILLER_WORDS | frozenset(
    "coming upcoming planned scheduled booked due plan plans schedule appointment appointments meeting meetings"
    " calendar agenda".split()
)
NAMES = frozenset((*MONTHS, *WEEKDAYS))
VALIDITY = ("valid_from", "valid_until")
# The others are published formulas: scores come from the formula alone, and the words of a time are words to them.
NACRE_STRATEGIES = frozenset(("auto", "graph"))
QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”')


class Question(NamedTuple):
    """A query, and what it says."""

    query: Query
    text: str
    terms: tuple[str, ...]
    where: Filter
    likely_roles: frozenset[str] = frozenset()  # of those whose turns are likely to answer
    windows: tuple[Window, ...] = ()  # past times that it names
    future_windows: tuple[Window, ...] = ()  # times from now on
    recurring_windows: tuple[Window, ...] = ()  # present and coming times, on which «every Thursday» may fall
    order: str = ""  # "newest" or "oldest" where one of several is asked for by time
    former: bool = False  # whether it asks for what held before
    what_happened: bool = False  # whether it asks for what took place, not for what held
    time_stems: tuple[str, ...] = ()  # stems of the times' names: they bring candidates and do not count as words
    spellings: Mapping[str, tuple[str, ...]] = {}  # by term: other forms in which a memory may have it

    @property
    def is_nacre_strategy(self) -> bool:
        """Whether the strategy is Nacre's own, and no published formula."""
        return self.query.strategy in NACRE_STRATEGIES

    @property
    def asks_validity(self) -> bool:
        """Whether a filter says when a memory has to hold."""
        return any(each.field in VALIDITY for each in self.where.conditions)

    @property
    def past_windows(self) -> tuple[Window, ...]:
        """The times that are surely over: «on Friday» may be the coming one, where the question is not of the past."""
        return () if self.recurring_windows else self.windows

    @property
    def wanted_stems(self) -> frozenset[str]:
        """The stems that a memory which answers may have in its text."""
        forms = (*self.terms, *(form for some in self.spellings.values() for form in some))
        return frozenset(stem for form in forms for stem in form.split())

    def speakers(self, roles: frozenset[str]) -> frozenset[str]:
        """The speaker that the question names, if it names exactly one."""
        mentioned = {
            role for role in roles - GENERIC_ROLES if role and stem(words(role)[0] if words(role) else "") in self.terms
        }
        return frozenset(mentioned) if len(mentioned) == 1 else frozenset()


def speaker_stems(roles: frozenset[str]) -> frozenset[str]:
    """The stems of all speakers' names."""
    return frozenset(stem(word) for role in roles - GENERIC_ROLES for word in words(role))


def asks_by_time_alone(question: Question) -> bool:
    """As in "what did I do yesterday?"."""
    return not question.terms and bool(question.windows or question.future_windows)


def understand(query: Query) -> Question:
    if not isinstance(query.text, str):  # the type forbids it, a caller may not know
        raise InvalidInput(f"The question must be text, not {type(query.text).__name__}; convert it first.")
    if len(query.text) > LONGEST_QUERY:
        raise InvalidInput(
            f"The question has {len(query.text):,} characters; ask with at most {LONGEST_QUERY:,}, in fewer words."
        )
    text = UNWRITABLE.sub(" ", query.text).strip()
    is_nacre = query.strategy in NACRE_STRATEGIES
    windows = time_windows(text, query.asked_at) if is_nacre else ()
    order = order_asked(text, windows) if is_nacre else NO_ORDER
    future_windows = coming_dates(text, query.asked_at) if windows else ()
    only_coming = bool(future_windows) and points_ahead(text)
    subject = without(text, [*windows, order])
    nothing = filler_words(text, windows, query.asked_at, only_coming)
    if windows and not says_nothing(subject, nothing):
        subject = without(text, [*(each for each in windows if not is_vague_past_phrase(each, query.asked_at)), order])
    also = " ".join(query.also)
    terms = tuple(dict.fromkeys((*phrases(text), *subject_stems(text, subject, nothing), *content_stems(also))))
    future_windows += tuple(window for window in windows if window.start >= query.asked_at)
    going_on = tuple(window for window in windows if window.start < query.asked_at < window.end)
    recurring_windows = () if asks_of_past(text) else (*future_windows, *going_on)
    return Question(
        query=query,
        text=text,
        terms=terms,
        where=with_contexts(query),
        likely_roles=likely_roles(text),
        # "What should I cook tonight?" does not ask for a memory that was written tonight.
        windows=tuple(
            window
            for window in windows
            if window.start < query.asked_at and not (only_coming and window.end <= query.asked_at)
        ),
        future_windows=future_windows,
        recurring_windows=recurring_windows,
        order=order.name,
        former=is_nacre and asks_for_former(text, windows),
        what_happened=is_nacre and asks_what_happened(text),
        time_stems=calendar_names(windows) if terms else (*calendar_names(windows), *weekday_names(recurring_windows)),
        spellings=other_spellings(f"{subject}\n{also}", terms) if is_nacre else {},
    )


def other_spellings(text: str, terms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Other spellings of the terms, as many as the search has room for: a pasted page does not ask for one number."""
    from nacre.storage.candidates import MOST_TERMS  # loads numpy, which importing this module must not

    room = MOST_TERMS - len(terms)
    if not 0 < room < MOST_TERMS:
        return {}
    surely, perhaps = spellings(text), compounds(text)
    forms = (form for some in (surely, perhaps) for term in terms for form in some.get(term, ()))
    kept = frozenset(islice(dict.fromkeys(forms), room))
    both = {term: dict.fromkeys((*surely.get(term, ()), *perhaps.get(term, ()))) for term in terms}
    return {term: known for term in terms if (known := tuple(form for form in both[term] if form in kept))}


def filler_words(text: str, windows: Sequence[Window], asked_at: float, only_coming: bool) -> frozenset[str]:
    """The words that say nothing of what is looked for beside these times."""
    if not windows:
        return FILLER_WORDS
    ahead = only_coming or windows[0].start >= asked_at
    known = FILLER_WORDS_AHEAD if ahead else FILLER_WORDS
    if is_english(text):
        return known
    of_languages = fillers(text, ahead)
    return known.union(words(" ".join(of_languages)), filter(has_han, of_languages))


def subject_stems(text: str, subject: str, nothing: frozenset[str]) -> list[str]:
    """The terms of a question without its times: "last month" is not looked for as words.

    Where nothing but common words is left beside a time ("what did we do yesterday?"), the time alone decides.
    """
    if subject == text:
        return content_stems(text)
    return [] if says_nothing(subject, nothing) else content_stems(subject)


def says_nothing(subject: str, fillers: frozenset[str]) -> bool:
    """Whether these words are all that it has. Chinese is written without blanks, and the pairs of signs that it is cut
    into reach over two fillers: there the fillers are taken out before it is cut."""
    if has_han(subject):
        for filler in sorted(filter(has_han, fillers), key=lambda each: (-len(each), each)):
            subject = subject.replace(filler, " ")
    return fillers.issuperset(words(subject))


def is_vague_past_phrase(window: Window, asked_at: float) -> bool:
    """Whether it is long ago and no date ("a few years ago"). People tell of it later and write «a few years ago»
    themselves, so the words count."""
    return asked_at - window.end > LONG_AGO and not calendar_names((window,))


def calendar_names(windows: Sequence[Window]) -> tuple[str, ...]:
    """The stems of a time's own names ("March", "2026"), which a memory that tells of it may have in its text."""
    mentioned = (word for window in windows for word in words(window.words))
    return tuple(
        dict.fromkeys(
            stem(word) for word in mentioned if (word[:3] in NAMES and not word.startswith("month")) or word.isdigit()
        )
    )


def weekday_names(windows: Sequence[Window]) -> tuple[str, ...]:
    """The stems of the weekdays of single days: what comes every Thursday names neither the date nor «tomorrow»."""
    days = (window.start for window in windows if window.end - window.start <= DAY)
    return tuple(dict.fromkeys(stem(f"{datetime.fromtimestamp(day, UTC):%A}".lower()) for day in days))


def with_contexts(query: Query) -> Filter:
    """Excludes memories that do not apply in the contexts of the query."""
    return query.where & Filter.where(anti_contexts__none=query.contexts or None)


def phrases(text: str) -> list[str]:
    """Quoted text is searched for as a phrase, besides its words."""
    quoted = (" ".join(stems(one or other)) for one, other in QUOTED.findall(text))
    return list(dict.fromkeys(phrase for phrase in quoted if " " in phrase))


def likely_roles(text: str) -> frozenset[str]:
    """Whose turns are likely to answer in a chat with an assistant: the user's or the assistant's."""
    used = set(words(text))
    if used & SECOND_PERSON and {stem(word) for word in used} & SAID_BY_ASSISTANT:
        return frozenset(("assistant",))
    return frozenset(("user",)) if FIRST_PERSON.search(text) else frozenset()


# How many candidates each channel brings. The right turn of a conversation of 600 is among them in all but 2 % of the
# development questions; twice as many gave no better result and cost a millisecond.
POOL = 100
POOL_PER_WANTED = 6
REACH = 2
HIDES_SUPERSEDED = Condition("superseded_by", "eq", "")
# Conditions on what may be shown at all; every other one says what is looked for, which the successor has to be.
HIDING = (("status", "ne"), ("expires_at", "gt_or_unset"), ("trust", "ge"))


Spot: TypeAlias = tuple[str, int | None]  # a session and a position in it


@dataclass(frozen=True, slots=True, eq=False)
class PlacedCandidates(Candidates):
    """Candidates with their places in conversations."""

    turn: Vectors  # 1 for what was said in a conversation, 0 for a note, also for one that was written in a session
    before: NDArray[np.int64]  # index of the previous turn in `places`; -1 when it is not there
    after: NDArray[np.int64]
    session: NDArray[np.int64]  # a number per session; each memory outside a conversation has its own


def gather(
    question: Question, vector: Vectors | None, *, space: str, reader: Reader, pool: int, reach: int
) -> PlacedCandidates:
    """Every place passes the filter; a narrow filter does not cost candidates."""
    windows = tuple((window.start, window.end) for window in (*question.windows, *question.future_windows))
    forms = (form for some in question.spellings.values() for form in some)
    search = Search(
        tuple(dict.fromkeys((*question.terms, *question.time_stems, *forms))),
        vector,
        question.where,
        pool,
        reach,
        windows,
        replaced=predecessors(question.where),
        linked_by=(CONFLICTS, MAY_REPLACE),
    )
    candidates = with_spellings(reader.gather(space, search), question)
    return placed(without_terms(candidates, frozenset(question.time_stems) - frozenset(question.terms)))


def with_spellings(candidates: Candidates, question: Question) -> Candidates:
    """Counts each form of a term as the term, as rare as the commonest of them."""
    if not question.spellings:
        return candidates
    import numpy as np

    at = {term: i for i, term in enumerate(candidates.terms)}
    asked = dict.fromkeys((*question.terms, *question.time_stems))
    forms = {term: [at[each] for each in (term, *question.spellings.get(term, ())) if each in at] for term in asked}
    known = {term: rows for term, rows in forms.items() if rows}
    rarity = np.array([candidates.rarity[rows].min() for rows in known.values()], np.float32)
    weights = candidates.shares / candidates.rarity[:, None]
    shares = [rare * weights[rows].max(axis=0) for rare, rows in zip(rarity, known.values(), strict=True)]
    return replace(
        candidates,
        terms=tuple(known),
        rarity=rarity,
        shares=np.array(shares, np.float32).reshape(len(known), len(candidates.places)),
    )


def without_terms(candidates: Candidates, terms: frozenset[str]) -> Candidates:
    if terms.isdisjoint(candidates.terms):
        return candidates
    counted = [term not in terms for term in candidates.terms]
    return replace(
        candidates,
        terms=tuple(term for term in candidates.terms if term not in terms),
        rarity=candidates.rarity[counted],
        shares=candidates.shares[counted],
    )


def predecessors(where: Filter) -> Filter | None:
    """The superseded memories that count for their successors: all but those that are hidden for another reason too.
    None where they are asked for themselves."""
    if HIDES_SUPERSEDED not in where.conditions:
        return None
    return Filter(tuple(each for each in where.conditions if (each.field, each.op) in HIDING))


def placed(candidates: Candidates) -> PlacedCandidates:
    import numpy as np

    places = candidates.places
    spots = [(p.session, p.position) for p in places]
    turn = [is_place_of_turn(*spot) for spot in spots]
    at = {spot: i for i, spot in enumerate(spots) if turn[i]}
    names: dict[str, int] = {}
    session = [names.setdefault(p.session or f"\0{p.key}", len(names)) for p in places]
    return PlacedCandidates(
        places=places,
        cosines=candidates.cosines,
        terms=candidates.terms,
        rarity=candidates.rarity,
        shares=candidates.shares,
        replaced=candidates.replaced,
        links=candidates.links,
        turn=np.array(turn, np.float32),
        before=np.array(neighbours(spots, at, -1), np.int64),
        after=np.array(neighbours(spots, at, 1), np.int64),
        session=np.array(session, np.int64),
    )


def neighbours(spots: Sequence[Spot], at: Mapping[Spot, int], step: int) -> list[int]:
    find = at.get
    return [-1 if position is None else find((session, position + step), -1) for session, position in spots]
