"""What a session was given already, so that it gets nothing twice; kept in the store, and no act of anybody's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from nacre.hooks.request import Request
from nacre.model import Filter, Hit, Memory, Pack, Query, Recollection
from nacre.model.instants import DAY
from nacre.model.memory import Json
from nacre.protocols import Backend
from nacre.recall.pack import pack
from nacre.recall.understand import understand
from nacre.text.tokens import sentence_spans, stems

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

KIND = "injected"
ACTOR = "hook"
KEPT_DAYS = 14.0  # a session that nobody has gone on with for so long begins anew
MOST = 1_000  # memories of a session; a longer one may see its first ones again
DIGEST_BYTES = 6


@dataclass(frozen=True, slots=True)
class Injected:
    store: MemoryStore
    session: str

    def unchanged(self) -> tuple[str, ...]:
        """The ids of what was given and still says the same."""
        given = self._given()
        found = self.store.get_many(list(given))
        return tuple(memory.id for memory in found if given[memory.id] == digest(memory))

    def add(self, memories: Iterable[Memory]) -> None:
        new = {memory.id: digest(memory) for memory in memories}
        if not new or not self.session or not self.store.may_teach:
            return
        with self._backend().transaction() as transaction:
            whole: dict[str, Json] = {**ids_of(transaction.term(self._kind(), self.session)), **new}
            kept = dict(list(whole.items())[-MOST:])
            transaction.put_term(self._kind(), self.session, {"at": self.store.now(), "ids": kept})

    def forget(self) -> None:
        """The client has lost what it was given, by a summary or a fresh start; old sessions go on the way."""
        known = self._backend().terms(self._kind())
        before = self.store.now() - KEPT_DAYS * DAY
        gone = [name for name, told in known.items() if name == self.session or at(told) < before]
        if gone and self.store.may_teach:
            with self._backend().transaction() as transaction:
                for name in gone:
                    transaction.put_term(self._kind(), name, None)

    def _given(self) -> Mapping[str, str]:
        return ids_of(self._backend().terms(self._kind()).get(self.session)) if self.session else {}

    def _kind(self) -> str:
        return f"{KIND}/{self.store.space}"

    def _backend(self) -> Backend:
        return self.store.acting_as(ACTOR).store


def ids_of(told: Mapping[str, Json] | None) -> dict[str, str]:
    ids = told.get("ids") if told else None
    return {id: str(mark) for id, mark in ids.items()} if isinstance(ids, dict) else {}


def at(told: Mapping[str, Json]) -> float:
    value = told.get("at")
    return float(value) if isinstance(value, int | float) else 0.0


def digest(memory: Memory) -> str:
    parts: Sequence[str] = (memory.title, memory.text)
    return blake2b("\0".join(parts).encode(), digest_size=DIGEST_BYTES).hexdigest()


HEADER = "## From this project's memory"
RELEVANT = 12  # memories looked at; the budget holds fewer
FEWEST_WORDS = 2  # "yes" and "go on" ask nothing
LONGEST_PROMPT = 2_000  # characters: what is asked stands at the beginning or at the end of a long paste
# Without a model, so much of the prompt's words must stand in the memory itself: less than half is chance.
WORDS_ALONE = 0.5
# What gives orders to its reader is not pushed at one that did not ask.
TRUSTED = 0.5
STANDING_IMPORTANCE = 0.7  # what a session begins with: pinned, or so important
STANDING_TYPES = ("semantic", "procedural", "feedback", "prospective", "lesson")
MOST_STANDING = 50
LONGEST_TEXT = 600  # characters of one memory: a long turn must not take the room of four others
LOST = ("clear", "compact")  # how a session may begin whose client has lost what it was given


def for_prompt(store: MemoryStore, request: Request) -> Pack | None:
    prompt = middle_out(request.said("prompt"))
    wanted = asked_words(store, prompt)
    if prompt.lstrip().startswith("/") or len(wanted) < FEWEST_WORDS:
        return None
    by_meaning = store.embedder.ready  # now: it may be loaded meanwhile, and relevance then means something else
    given = Injected(store, request.session)
    settings = store.settings
    found = store.recall(
        prompt,
        RELEVANT,
        touch=False,
        min_relevance=settings.hook_min_relevance,
        min_trust=max(TRUSTED, settings.min_trust),
        # Its own turns are before the client's eyes already.
        where=Filter.where(id__not_in=given.unchanged(), session__ne=request.session or None),
    )
    hits = [shortened(hit, wanted) for hit in found if by_meaning or shares(hit.memory, wanted)]
    return packed(store, hits, given)


def for_session(store: MemoryStore, request: Request) -> Pack | None:
    given = Injected(store, request.session)
    if request.said("source") in LOST:
        given.forget()
    where = Filter.where(id__not_in=given.unchanged(), type__in=STANDING_TYPES)
    trust = max(TRUSTED, store.settings.min_trust)
    pinned = store.list_recent(
        MOST_STANDING, order="importance", min_trust=trust, where=Filter.where(pinned=True) & where
    )
    important = store.list_recent(
        MOST_STANDING, order="importance", min_trust=trust, min_importance=STANDING_IMPORTANCE, where=where
    )
    memories = {memory.id: memory for memory in (*pinned, *important)}
    hits = [Hit(store.shown(memory), memory.importance) for memory in memories.values()]
    return packed(store, [shortened(hit, frozenset()) for hit in hits], given)


def packed(store: MemoryStore, hits: Iterable[Hit], given: Injected) -> Pack | None:
    """None when nothing fits; only what is packed counts as used and as given."""
    whole = pack(Recollection(tuple(hits)), int(store.settings.hook_budget), header=HEADER, fence=True)
    if not whole.items:
        return None
    store.acting_as(ACTOR).store.touch(store.space, whole.ids(), store.now())
    given.add(store.get_many(whole.ids()))
    return whole


def asked_words(store: MemoryStore, prompt: str) -> frozenset[str]:
    return frozenset(understand(Query(prompt, asked_at=store.now())).terms)


def shares(memory: Memory, wanted: frozenset[str]) -> bool:
    common = wanted.intersection(stems(f"{memory.title} {memory.text}"))
    return len(common) >= max(FEWEST_WORDS, WORDS_ALONE * len(wanted))


def middle_out(prompt: str) -> str:
    if len(prompt) <= LONGEST_PROMPT:
        return prompt
    half = LONGEST_PROMPT // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"


def shortened(hit: Hit, wanted: frozenset[str]) -> Hit:
    """The sentences around the one that has most of the wanted words."""
    text = hit.memory.text
    if len(text) <= LONGEST_TEXT:
        return hit
    parts = [text[start:end] for start, end in sentence_spans(text)]
    best = max(range(len(parts)), key=lambda at: len(wanted.intersection(stems(parts[at]))))
    first, last = best, best + 1
    while last < len(parts) and sum(map(len, parts[first : last + 1])) <= LONGEST_TEXT:
        last += 1
    while first > 0 and sum(map(len, parts[first - 1 : last])) <= LONGEST_TEXT:
        first -= 1
    told = " ".join(part.strip() for part in parts[first:last])[:LONGEST_TEXT]
    whole = f"{'… ' if first else ''}{told}{' …' if last < len(parts) or len(told) == LONGEST_TEXT else ''}"
    return replace(hit, memory=replace(hit.memory, text=whole))
