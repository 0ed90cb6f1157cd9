"""Lessons are found: filters first, then words and meaning, then what makes one lesson better than another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from nacre.errors import InvalidInput, UnknownName
from nacre.lessons.answer import Answer
from nacre.lessons.expanding import Expansion
from nacre.lessons.kinship import above
from nacre.lessons.lesson import Found, Lesson, agent_tag
from nacre.lessons.shelf import Shelf, Wording
from nacre.lessons.vocabulary import CONTEXT, LESSONS, SOURCE, TAG, normals
from nacre.model import Filter, Hit, RankFusion, Reason
from nacre.model.filter import ancestors
from nacre.model.instants import DAY
from nacre.model.levels import level_named

STRATEGIES = ("hybrid", "semantic", "keyword", "graph")
MATCHING = ("any", "all")
FETCHED = 3  # for every lesson that is wanted, where age, agent or standing may still change the order
RANK_OFFSET = 60.0  # as published
FRESH_DAYS = 365.0  # a lesson that nobody touched for a year is worth half of what it could lose
LEAST_FRESH = 0.5
REPLACED = 0.5  # of its score is left to a lesson that another has replaced


class Narrowing(TypedDict, total=False):
    """`tags` any or all of (`match`), with what is under them; in `contexts`, what applies there; `confidence_min` by
    level; `agent` by whom."""

    tags: Iterable[str] | str
    match: str
    contexts: Iterable[str] | str
    confidence_min: str | None
    source: str | None
    agent: str | None
    include_archived: bool
    include_superseded: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """How hits become an order: `freshness` weighs age in, and each agent's lessons may count more or less."""

    now: float
    freshness: bool = False
    agents: Mapping[str, float] = field(default_factory=dict)

    def ranked(self, hits: Sequence[Hit], limit: int) -> tuple[Found, ...]:
        found = [self._weighed(hit) for hit in hits]
        return tuple(sorted(found, key=lambda each: -each.score)[:limit])

    def _weighed(self, hit: Hit) -> Found:
        memory = hit.memory
        factors = {
            "superseded": REPLACED if memory.superseded_by else 1.0,
            "freshness": self._fresh(max(memory.updated_at, memory.last_validated_at or 0.0)),
            "agent": self.agents.get(memory.agent, 1.0),
        }
        score, why = hit.score, list(hit.why)
        for name, factor in factors.items():
            if factor != 1.0:
                why.append(Reason(name, score * (factor - 1), f"times {factor:.2f}"))
                score *= factor
        return Found(Lesson.of(memory), score, tuple(why))

    def _fresh(self, at: float) -> float:
        if not self.freshness:
            return 1.0
        age = max(0.0, self.now - at) / DAY
        return LEAST_FRESH + (1 - LEAST_FRESH) * float(0.5 ** (age / FRESH_DAYS))


class Recalling(Shelf):
    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        strategy: str = "hybrid",
        freshness: bool = False,
        agent_weights: Mapping[str, float] | None = None,
        expand: str | None = None,
        **narrowing: Unpack[Narrowing],
    ) -> Answer[tuple[Found, ...]]:
        """The lessons that answer best, best first. Filters narrow before anything is compared, so that none is lost.
        `hybrid` fuses the ranks by meaning and by words; `expand` is vocabulary, language-model or none."""
        known = self.store.settings
        wanted = int(known.lesson_limit) if limit is None else limit
        if strategy not in STRATEGIES:
            raise UnknownName("strategy", strategy, STRATEGIES)
        if wanted < 1:
            raise InvalidInput(f"{wanted} lessons cannot be found; give a limit of 1 or more.")
        where, wording = self._filter(narrowing)
        also, notes = Expansion(self.store, known.lesson_expand if expand is None else expand, wording).of(query)
        ranking = Ranking(self.store.now(), freshness, agent_weights or {})
        moves = bool(freshness or ranking.agents or narrowing.get("include_superseded"))
        hits = self.store.recall(
            query,
            wanted * FETCHED if moves else wanted,
            touch=not moves,  # a lesson that is fetched and not told of is not used
            strategy="rrf" if strategy == "hybrid" else strategy,
            fusion=RankFusion(RANK_OFFSET, known.lesson_semantic, known.lesson_keyword),
            where=where,
            also=also,
            include_archived=bool(narrowing.get("include_archived")),
            include_superseded=bool(narrowing.get("include_superseded")),
        )
        found = ranking.ranked(hits, wanted)
        if moves:
            self.store.touch(*(each.lesson.id for each in found))
        return Answer(found, (*wording.warnings, *notes, *hits.notes), wording.suggestions)

    def list(self, limit: int = 50, **narrowing: Unpack[Narrowing]) -> Answer[tuple[Lesson, ...]]:
        """The newest first."""
        where, wording = self._filter(narrowing)
        found = self.store.list_recent(
            limit,
            where=where,
            include_archived=bool(narrowing.get("include_archived")),
            include_superseded=bool(narrowing.get("include_superseded")),
        )
        return Answer(tuple(map(self._shown, found)), tuple(wording.warnings), wording.suggestions)

    def _filter(self, narrowing: Narrowing) -> tuple[Filter, Wording]:
        for name in narrowing:
            if name not in Narrowing.__annotations__:
                raise UnknownName("filter", name, Narrowing.__annotations__)
        wording = Wording(self.store)
        where = LESSONS & self._with_tags(wording, narrowing) & self._in_contexts(wording, narrowing.get("contexts"))
        least, source, agent = (narrowing.get(name) for name in ("confidence_min", "source", "agent"))
        if least:
            where &= Filter.where(confidence__ge=level_named(str(least)).least)
        if source:
            where &= Filter.where(source__under=wording.words(SOURCE).family(str(source)))
        if agent:
            where &= Filter.where(tags=agent_tag(str(agent)))
        return where, wording

    def _with_tags(self, wording: Wording, narrowing: Narrowing) -> Filter:
        match = narrowing.get("match", "any")
        if match not in MATCHING:
            raise UnknownName("way to match tags", match, MATCHING)
        names = wording.tags(narrowing.get("tags"))
        families = [wording.words(TAG).family(name) for name in names]
        if not families:
            return Filter()
        if match == "any":
            families = [tuple(dict.fromkeys(name for family in families for name in family))]
        return Filter(tuple(each for family in families for each in Filter.where(tags__under=family).conditions))

    def _in_contexts(self, wording: Wording, given: Iterable[str] | str | None) -> Filter:
        """Whoever is in `team.shared` is in `team`: what applies, or does not apply, there does so here."""
        if not (wanted := normals(given)):
            return Filter()
        words = wording.words(CONTEXT)
        names = words.resolved(wanted)
        # Lying in another by what was said is lying there by one's path: `branch` in `team` is `team.branch`.
        paths = (f"{parent}.{name}" for name in names for parent in above(words, name))
        here = tuple(dict.fromkeys((*(other for name in names for other in words.family(name)), *paths)))
        ruled_out = (*here, *(other for name in here for other in ancestors(name)))
        return Filter.where(contexts__along=here, anti_contexts__none=ruled_out)
