"""A recall as values: the query and its tuning, hits with their reasons, recollections and packs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

from nacre.errors import InvalidInput
from nacre.model.filter import Filter
from nacre.model.graph import Edge
from nacre.model.instants import DAY, day, last_day
from nacre.model.memory import CONFLICTS, MAY_REPLACE, SUSPICION, Link, Memory, short_id

RECENCY_BASES = ("created", "accessed")
WORDLESS = "The question has no word; say what to look for."  # the note of a recall that looked for nothing


@dataclass(frozen=True, slots=True)
class HybridWeights:
    """For `strategy="hybrid"`: shares of cosine, pool-local BM25, recency (`decay_rate` a day) and importance."""

    cosine: float = 0.55
    lexical: float = 0.20
    recency: float = 0.15
    importance: float = 0.10
    decay_rate: float = 0.1

    def __post_init__(self) -> None:
        shares = (self.cosine, self.lexical, self.recency, self.importance)
        if not any(shares):
            raise InvalidInput("All hybrid weights are 0, so nothing could be ranked; give at least one.")


@dataclass(frozen=True, slots=True)
class RankFusion:
    """For `strategy="rrf"`: each channel gives weight / (k + rank), ranks from 1."""

    k: float = 60.0
    meaning: float = 0.5
    words: float = 0.5

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidInput(f"The k of rank fusion is {self.k}; give 0 or more.")


@dataclass(frozen=True, slots=True)
class ExpandSpec:
    """Which links are walked from the hits, how far, how many memories they may add, and with which score."""

    rels: tuple[str, ...] = ("refines", "example_of")
    depth: int = 1
    cap: int = 5
    score: float = 0.70


@dataclass(frozen=True, slots=True)
class Query:
    """`emotion` is (valence, arousal); `contexts` are those that hold where the question is asked, `also` are further
    words to look for beside those of the question."""

    text: str
    k: int = 5
    where: Filter = field(default_factory=Filter)
    strategy: str = "auto"
    asked_at: float = 0.0
    group_by: str = ""
    with_context: int = 0
    min_relevance: float | None = None  # None: the floor of the calibration
    contexts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    emotion: tuple[float, float] | None = None
    emotion_weight: float = 0.3
    expand: ExpandSpec | None = None
    weights: HybridWeights = field(default_factory=HybridWeights)
    overfetch: int = 4
    recency_basis: str = "created"
    fusion: RankFusion = field(default_factory=RankFusion)
    collapse: bool = True  # notes of the same words stand once


@dataclass(frozen=True, slots=True)
class Reason:
    """What one signal gave to a hit: `signal` names it, `score` is its share, `detail` is for people."""

    signal: str
    score: float
    detail: str = ""

    def __str__(self) -> str:
        share = f"{self.score:.2f}" if abs(self.score) >= 0.095 else f"{self.score:.2g}"  # ranks give hundredths
        return f"{self.signal} {share}" + (f" ({self.detail})" if self.detail else "")


# Relevance from which a hit is called so: more likely right than wrong; right in one of five cases.
STRONG, FAIR = 0.5, 0.2


# By the kind of a conflict, how the older side names the newer, and how that one names the older.
REPLACING = {"update": ("newer:", "updates"), "version": ("perhaps newer:", "perhaps updates")}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The other side of a noted conflict that nobody has settled, and since when it stands.

    `kind` is update where it replaces this one, or is replaced by it, and version where it perhaps does. Where it is no
    hit itself (`is_hit`), the mark says what it says.
    """

    id: str
    at: float
    newer: bool
    kind: str = ""
    text: str = ""
    is_hit: bool = True

    def __str__(self) -> str:
        return self.named(short_id(self.id)) + ("" if self.is_hit or not self.text else f": {self.quoted()}")

    def by_words(self) -> str:
        """For a reader who sees no ids; of what is not quoted there is nothing else."""
        return self.named(self.quoted() if self.text else short_id(self.id))

    def quoted(self) -> str:
        return f'"{shortened(self.text, LONGEST_NAME if self.is_hit else LONGEST_FORMER)}"'

    def named(self, name: str) -> str:
        verb = REPLACING[self.kind][not self.newer] if self.kind in REPLACING else "conflicts with"
        return f"{verb} {name} of {day(self.at)}"


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` ranks the hits of one recall; `relevance`, from 0 to 1, is the probability that the memory answers, and
    can be compared between recalls.

    `context` holds the turns around it, if asked for, and `collapsed` the ids of near-equal memories it stands for.
    `was` is the memory before it in its chain that matches the question best: what held until it was superseded.
    `conflicts` names the other hits of this recall that it may not be true beside, and what may replace it and is no
    hit. `space` is set where several spaces were looked into. `via` is the link that led to what no search found; such
    hits come last, and have no relevance.
    """

    memory: Memory
    score: float
    why: tuple[Reason, ...] = ()
    relevance: float = 0.0
    context: tuple[Memory, ...] = ()
    collapsed: tuple[str, ...] = ()
    was: Memory | None = None
    conflicts: tuple[Counterpart, ...] = ()
    space: str = ""
    via: Edge | None = None

    @property
    def marks(self) -> tuple[str, ...]:
        """What it replaced and what it conflicts with; others are named by their ids."""
        return (*map(str, self.conflicts), *([] if self.was is None else [former(self.was, self.memory)]))

    @property
    def marks_by_words(self) -> tuple[str, ...]:
        """The same, and others are named by their first words."""
        return tuple(each.by_words() for each in self.conflicts) + self.marks[len(self.conflicts) :]

    @property
    def strength(self) -> str:
        """The relevance in a word: strong, fair or weak. A question answers none strongly."""
        if self.relevance >= STRONG and not self.memory.asks:
            return "strong"
        return "fair" if self.relevance >= FAIR else "weak"


LIKELY_VERSION = 0.6  # the probability from which on what may be a newer version is named beside the older one
LONGEST_NAME = 40  # characters that tell one memory of a pack from the others
# Characters of a superseded text, which says what changed and does not compete with what holds, and of what is newer
# and not there itself.
LONGEST_FORMER = 80


def former(memory: Memory, successor: Memory) -> str:
    """What held before, and until when; of what was to change later, what may still hold."""
    text = f'"{shortened(memory.text, LONGEST_FORMER)}"'
    if memory.held_until is None:
        return f"was: {text}"
    until = f"until {last_day(memory.held_until)}"
    return f"{until}: {text}" if successor.was_written_ahead else f"was: {text}, {until}"


def shortened(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def with_conflicts(hits: Sequence[Hit], at: float | None = None) -> list[Hit]:
    """Each with those of the others that it conflicts with, or of which one may be a newer version of the other. What
    it named before and is not among them is still named where it may replace this: nothing outdated shall look as
    if it held. With a time, what is trusted less or does not hold then, though the other does, replaces nothing."""
    by_id = {hit.memory.id: hit.memory for hit in hits}
    named: dict[str, dict[str, Counterpart]] = {
        hit.memory.id: {
            each.id: replace(each, is_hit=False)
            for each in hit.conflicts
            if each.newer and each.kind in REPLACING and each.id not in by_id
        }
        for hit in hits
    }
    for (newer, older), link in (likely_versions(by_id) | conflicting_pairs(list(by_id.values()))).items():
        is_newer = began(by_id[newer]) > began(by_id[older])
        outdates = is_newer and (at is None or may_outdate(by_id[newer], by_id[older], at))
        if link.rel == MAY_REPLACE and not outdates:
            continue
        kind = ("version" if link.rel == MAY_REPLACE else link.kind) if outdates else ""
        named[newer][older] = counterpart(by_id[older], kind, newer=False)
        named[older][newer] = counterpart(by_id[newer], kind, newer=is_newer)
    marked = {id: tuple(others.values()) for id, others in named.items()}
    return [
        hit if hit.conflicts == marked[hit.memory.id] else replace(hit, conflicts=marked[hit.memory.id]) for hit in hits
    ]


def may_outdate(newer: Memory, older: Memory, at: float) -> bool:
    return newer.trust >= older.trust and (newer.holds_at(at) or not older.holds_at(at))


def counterpart(memory: Memory, kind: str, *, newer: bool) -> Counterpart:
    """What gives orders to a model is named without its words."""
    text = "" if SUSPICION in memory.metadata else memory.text
    return Counterpart(memory.id, effective_from(memory), newer, kind, text)


def likely_versions(memories: Mapping[str, Memory]) -> dict[tuple[str, str], Link]:
    """The ids of the newer and the older of two that are likely versions of one fact, and are not settled."""
    links = (
        (memory, older, memory.version_link(older))
        for memory in memories.values()
        for older in (memories.get(link.to) for link in memory.links if link.rel == MAY_REPLACE)
        if older and not memory.is_settled_with(older) and began(memory) > began(older) and memory.trust >= older.trust
    )
    return {(newer.id, older.id): link for newer, older, link in links if link and link.weight >= LIKELY_VERSION}


def conflicting_pairs(memories: Sequence[Memory]) -> dict[tuple[str, str], Link]:
    """The ids of the newer and the older of two memories with a noted conflict, whichever holds the link; those of the
    oldest newer side first. A duplicate is no conflict here, since both say the same, nor is a succession, nor what
    held at other times."""
    by_id = {memory.id: memory for memory in memories}
    pairs: dict[tuple[str, str], Link] = {}
    for memory in memories:
        for link in memory.links:
            other = by_id.get(link.to)
            if link.rel != CONFLICTS or link.kind == "duplicate" or other is None or other.id == memory.id:
                continue
            if memory.ends_before(other) or other.ends_before(memory):
                continue
            if memory.superseded_by != other.id and other.superseded_by != memory.id:
                newer, older = sorted((memory, other), key=age_order, reverse=True)
                pairs[newer.id, older.id] = link
    return {pair: pairs[pair] for pair in sorted(pairs, key=lambda pair: age_order(by_id[pair[0]]))}


def age_order(memory: Memory) -> tuple[float, float, str]:
    """Sorts the older of two before the newer."""
    return began(memory), memory.created_at, memory.id


def began(memory: Memory) -> float:
    """As `effective_from`, to be compared: of what began on a day, without a clock, the later was written later. Of
    plans the one that was made later is the newer, though it may be for an earlier day."""
    start = effective_from(memory)
    if memory.valid_from is None and start > memory.created_at:
        return memory.created_at
    dated = memory.occurred_at if memory.valid_from is None else memory.valid_from
    is_day = start == dated and start % DAY == 0
    return max(start, min(memory.created_at, start + DAY - 1)) if is_day else start


def effective_from(memory: Memory) -> float:
    """When it began to hold, as far as is known: not after it ceased to."""
    if memory.valid_from is not None:
        return memory.valid_from
    return memory.happened_at if memory.valid_until is None else min(memory.happened_at, memory.valid_until)


def linked_from(some: Iterable[Hit], hits: Iterable[Hit]) -> list[Hit]:
    """Those of the hits that links from some of them led to, in one hop or several."""
    ids, linked = {hit.memory.id for hit in some}, []
    for hit in hits:
        if hit.via is not None and hit.via.source in ids:
            ids.add(hit.memory.id)
            linked.append(hit)
    return linked


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A whole conversation, with the turns that decided."""

    session: str
    score: float
    hits: tuple[Hit, ...]
    why: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection(Sequence[Hit]):
    """The hits, best first; `notes` says what a reader should know of how they were found.

    `sessions` is filled when they were asked for by session; the hits are then the turns that decided. Unless
    `calibrated`, the relevance of the hits is no probability: nobody has measured what cosines of this embedder mean.
    Where all were held back, because none is likely to answer, `nearest` is the most relevant of them.
    """

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    sessions: tuple[SessionHit, ...] = ()
    calibrated: bool = True
    nearest: Hit | None = None

    @property
    def likely(self) -> tuple[Hit, ...]:
        """Those that are not weak, and what links from them lead to; all, unless `calibrated`."""
        if not self.calibrated:
            return self.hits
        likely = tuple(hit for hit in self.hits if hit.strength != "weak")
        return (*likely, *linked_from(likely, self.hits))

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True)
class PackedMemory:
    memory: Memory
    score: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Pack:
    """The best memories that fit a token budget, ready to be put before a model."""

    items: tuple[PackedMemory, ...]
    text: str
    used_tokens: int
    budget: int
    truncated: bool
    notes: tuple[str, ...] = ()
    nearest: Memory | None = None  # where nothing fits

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[str]:
        return [item.memory.id for item in self.items]
