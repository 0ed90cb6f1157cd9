"""Lets unused memories fade: scores how strong each one is or will be, and lowers confidence that nobody renews."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import exp, log1p
from pathlib import Path
from typing import NamedTuple, Protocol

from nacre.engine.engine import PendingChanges
from nacre.engine.history import changed_at, last_meant_change_at
from nacre.engine.links import LASTING
from nacre.engine.review import trashed
from nacre.engine.supersede import restored
from nacre.errors import InvalidInput, MissingExtra, UnknownName
from nacre.files import create_private
from nacre.lifecycle.reflection import TAG
from nacre.memory_store import MemoryStore
from nacre.model import Filter, JournalEntry, JournalFilter, Memory
from nacre.model.instants import DAY
from nacre.model.journal import DECAY, FADE
from nacre.model.memory import DERIVED_FROM, LESSON, TRASHED
from nacre.protocols import Change, Reader

# What each adds to the lifetime of a memory, in units of the lifetime of an unused one.
USED = 1.0  # times the logarithm of its uses: the tenth recall proves less than the first (Ebbinghaus' savings)
VALIDATED = 2.0  # somebody confirmed that it is still true
LINKED = 0.25  # for each incoming link, up to MOST_LINKS
MOST_LINKS = 8
# The height of a curve hardly decides when it ends: at 0.02 a day a remark (0.2) would last 69 days and a standing
# order (0.95) 147. So what is worth more than anything that is said in passing, as the appraisal has it, lasts longer
# too: unused, a fact (0.55) three years and a standing order ten. With a quarter of this facts are lost after a year
# and a half that somebody would still have asked for (benchmarks/YEAR.md); it is junk that must go, and junk does.
PASSING = 0.35
WORTH = 40.0


class Fading(NamedTuple):
    """What a plan needs to know of a memory, read without the rest of its record."""

    id: str
    type: str
    importance: float
    pinned: bool
    updated_at: float
    last_accessed: float
    access_count: int
    last_validated_at: float | None
    valid_from: float | None
    occurred_at: float | None
    version: int


class Model(Protocol):
    def __call__(self, memory: Memory | Fading, now: float, decay_rate: float, support: int = 0) -> float:
        """The score of a memory; `support` counts the incoming links."""


def simple(memory: Memory | Fading, now: float, decay_rate: float, support: int = 0) -> float:  # noqa: ARG001
    """importance · exp(−rate · days since its last use): AI-Houkai's formula. What begins later fades from then on."""
    return memory.importance * exp(-decay_rate * days_since(max(memory.last_accessed, begins_at(memory)), now))


def strength(memory: Memory | Fading, now: float, decay_rate: float, support: int = 0) -> float:
    """The same curve, made longer by importance, uses, a validation and incoming links.

    A pinned memory never fades.
    """
    if memory.pinned:
        return 1.0
    proven = USED * log1p(memory.access_count) + LINKED * min(support, MOST_LINKS)
    worth = WORTH * max(0.0, memory.importance - PASSING)
    confirmed = VALIDATED if memory.last_validated_at is not None else 0.0
    last = max(memory.last_accessed, memory.last_validated_at or 0.0, begins_at(memory))
    return memory.importance * exp(-decay_rate * days_since(last, now) / (1 + worth + proven + confirmed))


def begins_at(memory: Memory | Fading) -> float:
    """When it begins to hold or happens, as far as somebody said so: until then nobody needs it."""
    return max(memory.valid_from or 0.0, memory.occurred_at or 0.0)


def days_since(at: float, now: float) -> float:
    """At least 0, even if a clock ran ahead."""
    return max(0.0, (now - at) / DAY)


MODELS: Mapping[str, Model] = {"simple": simple, "strength": strength}


ACTOR = "decay"
PAGE = 500
# Links that do not support their target: conflicts, replacements, and summaries.
NO_SUPPORT = LASTING


@dataclass(frozen=True, slots=True)
class Faded:
    memory: Fading
    score: float


@dataclass(frozen=True, slots=True)
class DecayEngine:
    """`model` is `simple` or `strength`. Pinned memories, protected types and those `excluded` are never trashed, nor,
    with `protect_linked`, memories with incoming links. What somebody changed or brought back counts as used then."""

    store: MemoryStore
    decay_rate: float = 0.1
    min_score: float = 0.05
    protect_types: tuple[str, ...] = ("procedural",)
    model: str = "simple"
    protect_linked: bool = True
    excluded: Collection[str] = ()

    def __post_init__(self) -> None:
        UnknownName.check("decay model", self.model, MODELS)
        if not (math.isfinite(self.decay_rate) and self.decay_rate >= 0):
            raise InvalidInput(f"The decay rate {self.decay_rate} is not a number from 0; use 0.02, for example.")
        if not math.isfinite(self.min_score):
            raise InvalidInput(
                f"The minimum score {self.min_score} is not a number; use one from 0 to 1, such as 0.05."
            )

    def score(self, memory: Memory, now: float | None = None) -> float:
        return self._score(with_handling(self.store, memory), self._now(now), self._support([memory.id]))

    def score_all(self, now: float | None = None) -> Iterator[tuple[Memory, float]]:
        """Every live memory, the strongest first. Only the scores are held; records are read page by page."""
        at, support = self._now(now), self._support()
        scores = {each.memory.id: each.score for each in self._faded(list(self._live(Filter())), at, support)}
        ranked = sorted(scores, key=lambda id: -scores[id])
        for start in range(0, len(ranked), PAGE):
            for memory in self.store.get_many(ranked[start : start + PAGE]):
                yield memory, scores[memory.id]

    def plan(self, now: float | None = None) -> tuple[Faded, ...]:
        """What would be trashed, the weakest first. Changes nothing."""
        at, support = self._now(now), self._support()

        def is_protected(each: Fading) -> bool:
            linked = self.protect_linked and support.get(each.id, 0) > 0
            return linked or each.type in self.protect_types or each.id in self.excluded

        model = MODELS[self.model]
        weak = [  # the journal is only asked about those that are weak without it
            each
            for each in self._live(Filter.where(pinned=False))
            if model(each, at, self.decay_rate, support.get(each.id, 0)) < self.min_score and not is_protected(each)
        ]
        faded = (each for each in self._faded(weak, at, support) if each.score < self.min_score)
        return tuple(sorted(faded, key=lambda each: each.score))

    def apply(self, plan: Sequence[Faded], *, why: str = "") -> list[Memory]:
        """Trashes the planned memories in one operation, except those used, changed, pinned or linked since. The
        episodes that a reflection has replaced come back: they fade, or stay, each on its own."""
        planned = {each.memory.id: each.memory for each in plan}
        if not planned:
            return []
        engine = self.store.acting_as(ACTOR)
        done: list[Memory] = []

        def stays(memory: Memory) -> bool:
            then, gone = planned[memory.id], memory.status == TRASHED
            used = (memory.last_accessed, memory.version) != (then.last_accessed, then.version)
            return used or gone or memory.pinned

        def carry_out(reader: Reader) -> list[Change]:
            weak = [memory for memory in reader.get_many(self.store.space, list(planned)) if not stays(memory)]
            # Read here, since a link changes the memory where it begins, and not the one that would go.
            linked = self._support([memory.id for memory in weak], reader) if self.protect_linked else Counter()
            done[:] = [memory for memory in weak if not linked[memory.id]]
            pending, now = PendingChanges(reader), engine.clock()
            for memory in done:
                pending.add([Change(memory, replace(trashed(memory), updated_at=now))])
                for source in condensed_in(memory, reader):
                    pending.add(change._replace(optional=True) for change in restored(pending, source, now))
            return list(pending)

        engine.write_named(DECAY, carry_out, why)
        return list(done)

    def prune(self, dry_run: bool = False, now: float | None = None) -> list[Memory]:
        """What was trashed, or would be."""
        plan = self.plan(now)
        return self.store.get_many([each.memory.id for each in plan]) if dry_run else self.apply(plan)

    def _live(self, where: Filter) -> Iterator[Fading]:
        reader = self.store.backend
        live = Filter.live(self.store.now()) & where
        return map(Fading._make, reader.values(self.store.space, live, Fading._fields))  # type: ignore[arg-type]

    def _faded(self, memories: Sequence[Fading], now: float, support: Counter[str]) -> Iterator[Faded]:
        handled = last_handled(self.store, memories)
        for memory in memories:
            last = handled.get(memory.id)
            scored = memory if last is None else memory._replace(last_accessed=last)
            yield Faded(memory, self._score(scored, now, support))

    def _score(self, memory: Memory | Fading, now: float, support: Counter[str]) -> float:
        return MODELS[self.model](memory, now, self.decay_rate, support.get(memory.id, 0))

    def _support(self, ids: Sequence[str] | None = None, reader: Reader | None = None) -> Counter[str]:
        store = self.store if reader is None else self.store.reading(reader)
        edges = store.edges(into=ids)
        return Counter(edge.target for edge in edges if edge.rel not in NO_SUPPORT)

    def _now(self, now: float | None) -> float:
        return self.store.now() if now is None else now


def condensed_in(memory: Memory, reader: Reader) -> list[Memory]:
    """The episodes that it has replaced as their summary, and that nobody trashed."""
    if TAG not in memory.tags:
        return []
    sources = {link.to for link in memory.links if link.rel == DERIVED_FROM}
    replaced = reader.replaced_by(memory.space, memory.id) if sources else []
    return [source for source in replaced if source.id in sources and source.status != TRASHED]


def with_handling(store: MemoryStore, memory: Memory) -> Memory:
    """As if it had been used then, too: see `last_handled`. Works through a server as well."""
    if memory.version <= 1:
        return memory
    handled = last_meant_change_at(store.journal(memory.id, limit=None), memory.updated_at)
    return replace(memory, last_accessed=max(memory.last_accessed, handled))


def last_handled(store: MemoryStore, memories: Sequence[Memory | Fading]) -> dict[str, float]:
    """Of those that were changed since they were stored: when each was last used, or somebody changed it or brought it
    back, which proves as much."""
    changed = {memory.id: memory for memory in memories if memory.version > 1}
    entries: dict[str, list[JournalEntry]] = {id: [] for id in changed}
    reader = store.backend
    for start in range(0, len(changed), PAGE):
        ids = tuple(islice(changed, start, start + PAGE))
        for entry in reader.journal(store.space, JournalFilter(memory_ids=ids)):
            entries[entry.memory_id].append(entry)
    handled = {id: last_meant_change_at(entries[id], memory.updated_at) for id, memory in changed.items()}
    return {id: max(memory.last_accessed, handled[id]) for id, memory in changed.items()}


CONFIDENCE_ACTOR = "confidence"
FADED_AT = "confidence_faded_at"  # the key in a memory's metadata
HALF_LIFE_DAYS = 365.0
CONFIDENCE_FLOOR = 0.1  # old is not the same as wrong
NOTICEABLE = 0.05  # a smaller loss is not worth an operation
# Events do not become less certain; beliefs do.
BELIEF_TYPES = ("semantic", "procedural", "feedback", LESSON)
CHECKED_FIELDS = ("confidence", "last_validated_at", "status", "updated_at")  # a change of one keeps the confidence


@dataclass(frozen=True, slots=True)
class FadedConfidence:
    memory: Memory
    confidence: float


@dataclass(frozen=True, slots=True)
class ConfidenceDecay:
    """Halves the confidence of beliefs every `half_life_days` after their last validation."""

    store: MemoryStore
    half_life_days: float = HALF_LIFE_DAYS
    floor: float = CONFIDENCE_FLOOR

    def current_confidence(self, memory: Memory, now: float) -> float:
        """Computed from the last validation, or from the last change of the confidence or the text."""
        faded = memory.metadata.get(FADED_AT)
        faded_at = float(faded) if isinstance(faded, int | float) else 0.0
        since = max(memory.last_validated_at or 0.0, faded_at, memory.created_at)
        worth = self._faded(memory.confidence, now - since)
        if not noticeable(memory, worth):
            return worth
        said_at = changed_at(self.store.journal(memory.id, limit=None), "confidence", "text")
        return self._faded(memory.confidence, now - max(since, said_at))

    def _faded(self, confidence: float, seconds: float) -> float:
        faded = confidence * float(0.5 ** (max(0.0, seconds) / DAY / self.half_life_days))
        return max(min(self.floor, confidence), faded)

    def plan(self, now: float | None = None) -> tuple[FadedConfidence, ...]:
        at = self.store.now() if now is None else now
        held = self.store.iterate(where=Filter.where(pinned=False, type__in=BELIEF_TYPES))
        fading = (FadedConfidence(memory, self.current_confidence(memory, at)) for memory in held)
        return tuple(each for each in fading if noticeable(each.memory, each.confidence))

    def apply(self, plan: Sequence[FadedConfidence], now: float | None = None, *, why: str = "") -> int:
        """One operation; memories validated or changed since the plan keep their confidence."""
        at = self.store.now() if now is None else now
        planned = {each.memory.id: each for each in plan}
        if not planned:
            return 0

        def edit(memory: Memory) -> Memory:
            each = planned[memory.id]
            same = all(getattr(memory, name) == getattr(each.memory, name) for name in CHECKED_FIELDS)
            if memory.pinned or not same:
                return memory
            metadata = {**memory.metadata, FADED_AT: at}
            return replace(memory, confidence=round(each.confidence, 4), metadata=metadata)

        engine = self.store.acting_as(CONFIDENCE_ACTOR)
        return len(engine.change(self.store.space, list(planned), FADE, edit, why=why, missing_ok=True))


def noticeable(memory: Memory, worth: float) -> bool:
    return memory.confidence - worth >= NOTICEABLE


def audit(
    store: MemoryStore, *, min_confidence: float = 0.0, max_confidence: float = 1.0, source: str | None = None,
    validated: bool | None = None,
) -> Iterator[Memory]:  # fmt: skip
    """Memories by confidence and evidence: `audit(store, min_confidence=0.8, source="inferred")`."""
    where = Filter.where(
        confidence__le=max_confidence, last_validated_at__unset=None if validated is None else not validated
    )
    return store.iterate(min_confidence=min_confidence, source=source, where=where)


POINTS = 120
PLOT_FORMATS = (".svg", ".png")
SIZE, DOTS_PER_INCH = (7.2, 4.0), 150  # inches
LONGEST_LABEL = 60  # characters


@dataclass(frozen=True, slots=True)
class Curve:
    label: str
    points: tuple[tuple[float, float], ...]  # days from now, score


def curve(
    memory: Memory, now: float, *, days: float, model: str, decay_rate: float, support: int = 0, label: str = ""
) -> Curve:
    """The future score of the memory if nobody uses it."""
    scored = UnknownName.get("decay model", model, MODELS)
    at = [days * step / (POINTS - 1) for step in range(POINTS)]
    points = tuple((day, scored(memory, now + day * DAY, decay_rate, support)) for day in at)
    return Curve(label or memory.text, points)


def write_plot(curves: Sequence[Curve], file: Path, *, floor: float | None = None) -> None:
    """As .svg or .png, with the extra `plot`."""
    if file.suffix not in PLOT_FORMATS:
        ending = file.suffix or "a file without an extension"
        raise InvalidInput(f"A plot is written as .svg or .png, not as {ending!r}.")
    if not curves:
        raise InvalidInput("There is nothing to plot; name a memory.")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot in a file", "plot", "leave out the file to see it as a table") from error
    create_private(file)
    figure = Figure(figsize=SIZE)
    axes = figure.subplots()
    for each in curves:
        axes.plot([day for day, _ in each.points], [score for _, score in each.points], label=legend(each.label))
    if floor is not None:
        axes.axhline(floor, linestyle=":", color="gray")
    axes.set_xlabel("days")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
    with rc_context({"svg.fonttype": "none"}):  # text that can be searched, not its outlines
        figure.savefig(file, dpi=DOTS_PER_INCH)


def legend(label: str) -> str:
    """Without terminal controls; text between two dollar signs would be read as a formula."""
    printed = (sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in label[:LONGEST_LABEL])
    return "".join(printed).replace("$", r"\$")
