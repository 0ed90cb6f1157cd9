"""Chooses the memories that a hook puts before a client's prompt, and none twice in a session.

What a session was given, and how many tokens each day cost, is saved in the store as terms, outside the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from nacre.hooks.request import EVENTS, Request
from nacre.model import Filter, Hit, Link, Memory, Pack, Query, Recollection
from nacre.model.instants import DAY, day
from nacre.model.memory import CONFLICTS, SUSPICION, Json
from nacre.model.recollection import conflicting_pairs
from nacre.models.background import BackgroundEmbedder
from nacre.protocols import Reader, TermSet
from nacre.recall.gather import understand
from nacre.recall.pack import pack, without_copies
from nacre.recall.turns import informative, names_something, only_requests
from nacre.recall.versions import with_newer_first
from nacre.recall_options import valid_at_filter
from nacre.text.dates import is_question
from nacre.text.tokens import excerpt, stems
from nacre.transfer.ingest.conversations import INSERTED

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

KIND = "injected"
DAY_KIND = "injected by day"
DAYS_KEPT = 90
LOST_AT = "lost"  # when the client lost what was said and given before
ACTOR = "hook"
SESSION_DAYS = 14.0  # after so long without use a session starts again
MOST = 1_000  # memories of a session; in a longer one the first ones may be given again
DIGEST_BYTES = 6


@dataclass(frozen=True, slots=True)
class Injected:
    store: MemoryStore
    session: str

    def unchanged(self) -> tuple[str, ...]:
        """The ids of the memories that were given and have not changed since."""
        if not self.session:
            return ()
        digests = ids_of(self.store.backend.terms(self._kind()).get(self.session))
        memories = self.store.get_many(list(digests))
        return tuple(memory.id for memory in memories if digests[memory.id] == digest(memory))

    def add(self, memories: Iterable[Memory], tokens: int) -> None:
        new = {memory.id: digest(memory) for memory in memories}
        if not new or not self.store.can_edit_vocabulary:
            return
        kind, today = day_kind(self.store.space), day(self.store.now())
        is_first = self.store.backend.term(kind, today) is None

        def plan(reader: Reader) -> list[TermSet]:
            past = injection_day(today, reader.term(kind, today))
            counted: dict[str, Json] = {
                "times": past.times + 1, "memories": past.memories + len(new), "tokens": past.tokens + tokens,
            }  # fmt: skip
            changes = [TermSet(kind, today, counted)]
            if self.session:
                term = reader.term(self._kind(), self.session) or {}
                ids: dict[str, Json] = {**ids_of(term), **new}
                newest = dict(list(ids.items())[-MOST:])
                changes.append(TermSet(self._kind(), self.session, {**term, "at": self.store.now(), "ids": newest}))
            return changes

        self.store.acting_as(ACTOR).write(None, plan)
        if is_first:
            self._remove_old()

    def forget(self) -> None:
        """The client has lost what it was given and what was said, by a summary or a fresh start."""
        if self.session and self.store.can_edit_vocabulary:
            now = self.store.now()
            self.store.backend.commit([TermSet(self._kind(), self.session, {"at": now, "ids": {}, LOST_AT: now})])

    def without_seen_turns(self) -> Filter:
        """Leaves out the turns of the session that the client sees anyway."""
        term = self.store.backend.term(self._kind(), self.session) if self.session else None
        lost_at = (term or {}).get(LOST_AT)
        if not isinstance(lost_at, int | float):
            return Filter.where(session__ne=self.session or None)
        seen = self.store.iterate(where=Filter.where(session=self.session, occurred_at__ge=float(lost_at)))
        return Filter.where(id__not_in=[turn.id for turn in seen])

    def _remove_old(self) -> None:
        """Sessions and days. By the first injection of a day: not every client says when a session starts or ends."""
        before = self.store.now() - SESSION_DAYS * DAY
        oldest = day(self.store.now() - DAYS_KEPT * DAY)
        sessions = self.store.backend.terms(self._kind())
        days = day_kind(self.store.space)
        removed = [TermSet(self._kind(), name, None) for name, each in sessions.items() if float(each["at"]) < before]  # type: ignore[arg-type]
        removed += [TermSet(days, each, None) for each in self.store.backend.terms(days) if each < oldest]
        if removed:
            self.store.backend.commit(removed)

    def _kind(self) -> str:
        return f"{KIND}/{self.store.space}"


class InjectionDay(NamedTuple):
    """What hooks put before prompts on one day, UTC: how often, how many memories, and how many tokens they took."""

    day: str
    times: int = 0
    memories: int = 0
    tokens: int = 0


def injection_days(backend: Reader, space: str) -> list[InjectionDay]:
    """The oldest first."""
    return [injection_day(each, data) for each, data in sorted(backend.terms(day_kind(space)).items())]


def added_by_day(store: MemoryStore) -> dict[str, dict[str, int]]:
    """What hooks put before prompts in the space, as `InjectionDay`, by day."""
    days = injection_days(store.backend, store.space)
    return {each.day: {"times": each.times, "memories": each.memories, "tokens": each.tokens} for each in days}


def injection_day(name: str, data: Mapping[str, Json] | None) -> InjectionDay:
    counts = (int(str((data or {}).get(each, 0))) for each in ("times", "memories", "tokens"))
    return InjectionDay(name, *counts)


def day_kind(space: str) -> str:
    return f"{DAY_KIND}/{space}"


def ids_of(entry: Mapping[str, Json] | None) -> dict[str, str]:
    ids = entry.get("ids") if entry else None
    return {id: str(mark) for id, mark in ids.items()} if isinstance(ids, dict) else {}


def digest(memory: Memory) -> str:
    return blake2b(f"{memory.title}\0{memory.text}".encode(), digest_size=DIGEST_BYTES).hexdigest()


HEADER = "## From memory"
RELEVANT = 12  # memories looked at; the budget holds fewer
FEWEST_WORDS = 2  # "yes" and "go on" are not questions; in "how do I deploy?" one word is enough
LONGEST_PROMPT = 2_000  # characters: the question is at the start or at the end of a long paste
# Without a model, this share of the prompt's words must be in the memory itself: less than half is chance.
WORDS_ALONE = 0.5
# The least relevance where the embedder is not calibrated: about that of a memory with half of the question's words.
UNMEASURED = 0.01
# A memory that gives orders to its reader is not injected unasked.
TRUSTED = 0.5
SESSION_IMPORTANCE = 0.7  # a session starts with memories that are pinned or at least so important
SESSION_TYPES = ("semantic", "procedural", "feedback", "prospective", "lesson")
MOST_AT_START = 50
LONGEST_TEXT = 600  # characters of one memory: a long turn must not take the room of four others
# A prompt gets at most 5 memories for a budget of up to 500 tokens, and in proportion for a larger one.
LINES, TOKENS = 5, 500
LOST = ("clear", "compact")  # the sources of a session start after which the client has lost what it was given


def injection(store: MemoryStore, request: Request) -> str:
    """The JSON for the client's stdout; empty when nothing fits or injection is off."""
    if not store.settings.hook_inject:
        return ""
    result = for_prompt(store, request) if request.event == "prompt" else for_session(store, request)
    if result is None:
        return ""
    name = request.text("hook_event_name") or EVENTS[request.event]
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": result.text}})


def for_prompt(store: MemoryStore, request: Request) -> Pack | None:
    prompt = middle_out(INSERTED.sub("", request.text("prompt")).strip())
    question = understand(Query(prompt, asked_at=store.now()))
    wanted = frozenset(question.terms)
    # "Why?" and "really?" name nothing.
    fewest = 1 if len(prompt.split()) > 1 and is_question(prompt) else FEWEST_WORDS
    if prompt.lstrip().startswith("/") or len(wanted) < fewest or not names_something(prompt):
        return None
    embedder = store.embedder  # asked before the recall: the model may finish loading meanwhile
    by_meaning = embedder.wait() if isinstance(embedder, BackgroundEmbedder) else embedder.ready
    injected = Injected(store, request.session)
    settings = store.settings
    # The model that reads was trained on questions: of a piece of work it takes much for an answer.
    is_asked = is_question(prompt) and not only_requests(prompt)
    recalled = store.recall(
        prompt,
        RELEVANT,
        touch=False,
        rerank=is_asked,
        min_trust=max(TRUSTED, settings.min_trust),
        where=injected.without_seen_turns(),
    )
    likely = (hit for hit in recalled.likely if recalled.calibrated or hit.relevance >= UNMEASURED)
    hits = informative(with_newer_sides(store, [hit for hit in likely if by_meaning or shares(hit.memory, wanted)]))
    most = max(LINES, LINES * int(settings.hook_inject) // TOKENS)
    return packed(store, [shortened(hit, question.wanted_stems) for hit in hits], injected, most)


def for_session(store: MemoryStore, request: Request) -> Pack | None:
    injected = Injected(store, request.session)
    if request.text("source") in LOST:
        injected.forget()
    now = store.now()
    where = Filter.where(id__not_in=injected.unchanged(), type__in=SESSION_TYPES) & valid_at_filter(now, now)
    strongest = partial(
        store.list_recent, MOST_AT_START, order="importance", min_trust=max(TRUSTED, store.settings.min_trust)
    )
    pinned = strongest(where=Filter.where(pinned=True) & where)
    about_user = strongest(where=Filter.where(type="feedback", space=store.personal_space) & where)
    important = strongest(where=where, min_importance=SESSION_IMPORTANCE)
    ordered = sorted((*about_user, *important), key=lambda memory: -memory.importance)
    memories = {memory.id: memory for memory in (*pinned, *ordered)}
    two = store.beside is not None
    hits = [Hit(store.clean(each), each.importance, space=each.space if two else "") for each in memories.values()]
    current = with_newer_first(with_newer_sides(store, hits))
    return packed(store, [shortened(hit, frozenset()) for hit in current], injected)


def with_newer_sides(store: MemoryStore, hits: Sequence[Hit]) -> list[Hit]:
    """With the newer side of every sure conflict just before the older one, also where it is a turn that is no hit
    itself: what has changed is not given as if it still held."""
    now, least = store.now(), max(TRUSTED, store.settings.min_trust)
    where = Filter.live(now) & valid_at_filter(now, now) & Filter.where(trust__ge=least)
    known = {hit.memory.id for hit in hits}
    ordered, added = list(hits), list(hits)
    while added:  # what is newer may have changed since, too
        newer_ones: dict[str, Hit] = {}
        others = [each for each in conflicting(store, [hit.memory for hit in added]) if where.admits(each)]
        by_id = {each.id: each for each in others}
        pairs = conflicting_pairs([*(hit.memory for hit in ordered), *others])
        for (newer, older), link in pairs.items():
            place = next((i for i, hit in enumerate(ordered) if hit.memory.id == older), None)
            if newer in known or place is None or not is_sure(link) or SUSPICION in by_id[newer].metadata:
                continue
            newer_ones[newer] = replace(ordered[place], memory=store.clean(by_id[newer]), was=None, conflicts=())
            ordered.insert(place, newer_ones[newer])
            known.add(newer)
        added = list(newer_ones.values())
    return ordered


def conflicting(store: MemoryStore, memories: Sequence[Memory]) -> list[Memory]:
    """The other sides of their noted conflicts, whichever side holds the link."""
    ids = {link.to for memory in memories for link in memory.links if link.rel == CONFLICTS}
    for space in {memory.space for memory in memories}:
        own = [memory.id for memory in memories if memory.space == space]
        ids |= {edge.source for edge in store.backend.edges(space, into=own, rels=[CONFLICTS])}
    return store.get_many(sorted(ids)) if ids else []


def is_sure(link: Link) -> bool:
    """A conflict that was linked by hand says nothing of it."""
    return link.kind != "duplicate" and link.data.get("sure") is not False


def packed(store: MemoryStore, hits: Iterable[Hit], injected: Injected, most: int | None = None) -> Pack | None:
    """None when nothing fits, or the session has all that does. Only packed memories count as used and as given.

    What was given takes its room first, so that a question that is repeated does not bring the next best ones.
    """
    budget = int(store.settings.hook_inject)
    distinct = without_copies(hits)
    chosen = distinct[:most]
    result = pack(Recollection(tuple(chosen)), budget, header=HEADER, fence=True, at=store.now())
    new = without_outdated(distinct, {*result.ids()}.difference(injected.unchanged()))
    if len(new) < len(result.items):
        left = tuple(hit for hit in chosen if hit.memory.id in new)
        result = pack(Recollection(left), budget, header=HEADER, fence=True, at=store.now())
    if not result.items:
        return None
    store.touch(*result.ids())
    injected.add(store.get_many(result.ids()), result.used_tokens)
    return result


def without_outdated(hits: Sequence[Hit], ids: Set[str]) -> set[str]:
    """Of these ids of hits, without the older side of a sure conflict whose newer side is not among them: it would
    stand there as if it still held."""
    pairs = conflicting_pairs([hit.memory for hit in hits])
    left = set(ids)
    for newer, older in reversed([pair for pair, link in pairs.items() if is_sure(link)]):  # the newest first
        if newer not in left:
            left.discard(older)
    return left


def shares(memory: Memory, wanted: frozenset[str]) -> bool:
    common = wanted.intersection(stems(f"{memory.title} {memory.text}"))
    return len(common) >= min(len(wanted), max(FEWEST_WORDS, WORDS_ALONE * len(wanted)))


def middle_out(prompt: str) -> str:
    """The beginning and the end of a long prompt."""
    half = LONGEST_PROMPT // 2
    return prompt if len(prompt) <= LONGEST_PROMPT else f"{prompt[:half]}\n{prompt[-half:]}"


def shortened(hit: Hit, wanted: frozenset[str]) -> Hit:
    """With the part of a long text that has most of the wanted words."""
    text = excerpt(hit.memory.text, wanted, LONGEST_TEXT)
    return hit if text == hit.memory.text else replace(hit, memory=replace(hit.memory, text=text))
