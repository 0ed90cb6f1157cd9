"""LessonBook: the Python API for lessons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from nacre.engine import Engine
from nacre.engine.engine import retry_while_changed
from nacre.errors import InvalidInput, LinkRefused, MemoryNotFound, UnknownName
from nacre.lessons.document import Out, Redaction, Source, export_document, format_of, read, warn_lost_links, write
from nacre.lessons.import_plan import ImportReport, parse_document, plan_import
from nacre.lessons.lesson import (
    AGENT_TAG,
    Answer,
    ContextInfo,
    Faded,
    Lesson,
    LessonHit,
    LessonStats,
    Related,
    ReviewDue,
    SourceInfo,
    TagInfo,
    agent_tag,
    normalize_title,
)
from nacre.lessons.recall import (
    DEFAULT_EXPANSION,
    OVERFETCH,
    RANK_OFFSET,
    STRATEGIES,
    LessonFilters,
    adjust_scores,
    expand_query,
    lesson_scope,
    likely_contexts,
)
from nacre.lessons.tag_review import MergeProposal, propose_merges
from nacre.lessons.vocabulary import (
    CHILD_OF,
    CONTEXT,
    DEFAULT_LEVEL,
    KINDS,
    LESSONS,
    RELATED,
    SOURCE,
    SYNONYM,
    TAG,
    Key,
    Reference,
    TermValidator,
    Vocabulary,
    add_reference,
    change_vocabulary,
    every_lesson,
    normalize,
    normalize_all,
    references,
    relation_name,
    table_name,
)
from nacre.lifecycle.decay import ConfidenceDecay
from nacre.memory_store import MemoryStore, StoreUser
from nacre.model import Direction, Filter, Link, Memory, RankFusion
from nacre.model.filter import is_under
from nacre.model.instants import DAY
from nacre.model.levels import LEVELS, NAMES, Level, confidence_range, level_named, level_of
from nacre.model.memory import ARCHIVED, CONTRADICTS, LESSON, SUPERSEDES, TRASHED, Json, json_list, positioned
from nacre.model.review import STALE_DAYS
from nacre.model.validate import checks_arguments
from nacre.protocols import Change, Derived, Progress, Reader
from nacre.remember.derive import chunk_memory, indexed_words, same_derived_input

Names = Iterable[str] | str | None
FADE = "fade"
LIMIT = 10  # lessons of a search; as many as a prompt has room for
CHECKED_FIELDS = ("title", "text", "confidence")  # a change of one of these means that somebody has read the lesson


class LessonFields(TypedDict, total=False):
    """The fields of a lesson besides title and content; `confidence` is a level or a number from 0 to 1."""

    tags: Iterable[str]
    contexts: Iterable[str]
    anti_contexts: Iterable[str]
    confidence: str | float | None
    source: str | None
    source_notes: str
    metadata: Mapping[str, Json]


class LessonChanges(LessonFields, total=False):
    title: str
    content: str


@checks_arguments
class LessonBook(StoreUser):
    """The lessons of one space. `path` as for a `MemoryStore`; a `store` that the caller passes in stays open after
    `close`. `agent` is recorded as the author of new lessons.

    Every method returns an `Answer`: the result in `data`, with `warnings` and `suggestions`.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        store: MemoryStore | None = None,
        space: str | None = None,
        agent: str | None = None,
    ) -> None:
        own = MemoryStore(path, space=space, agent=agent) if store is None else store
        super().__init__(own, lent=store is not None)
        self.agent = normalize(self.store.agent if agent is None else agent)

    # Lessons

    def learn(
        self, title: str, content: str, *, id: str | None = None, **fields: Unpack[LessonFields]
    ) -> Answer[Lesson]:
        """Stores a lesson. Tags are normalized and aliases resolved; a new source is created and waits for review.
        Without a confidence the lesson gets the typical one of its source."""
        validator = TermValidator(self.store)
        values = self._memory_fields(validator, {"title": title, "content": content, **fields}, new=True)
        if id is not None:
            values["id"] = id
        draft = self.store.draft(type=LESSON, **values)
        (memory,) = self.store.write("learn", new=[draft], terms=validator.new_terms())
        suggestions = dict(validator.suggestions)
        if not memory.contexts:
            text = f"{memory.title}\n{memory.text}"
            if contexts := likely_contexts(self.store, text, memory.tags, without=memory.id):
                suggestions["contexts"] = contexts
        return Answer(Lesson.of(memory), tuple(validator.warnings), suggestions)

    def get(self, id: str) -> Answer[Lesson | None]:
        try:
            return Answer(self._lesson(self._memory(id)))
        except MemoryNotFound:
            return Answer(None)

    def update(self, id: str, **changes: Unpack[LessonChanges]) -> Answer[Lesson]:
        """Changes the given fields; tags and contexts replace the current ones. Embeds again only when title or content
        changed. Raises `MemoryNotFound`."""
        memory = self._memory(id)
        validator = TermValidator(self.store)
        values = self._memory_fields(validator, dict(changes), new=False)
        if "tags" in values:  # the author's tag cannot be changed
            values["tags"] = (*values["tags"], *(tag for tag in memory.tags if tag.startswith(AGENT_TAG)))
        edits = {id: self.store.editing(**values)}
        (after,) = self.store.write("update", edits=edits, terms=validator.new_terms()) or [memory]
        return Answer(self._lesson(after), tuple(validator.warnings), validator.suggestions)

    def delete(self, id: str, *, why: str = "") -> Answer[bool]:
        """Moves a lesson to the trash; `restore` brings it back. False when there is no such lesson."""
        try:
            self._memory(id)
        except MemoryNotFound:
            return Answer(False)
        return Answer(self.store.forget(id, why=why))

    def restore(self, id: str) -> Answer[bool]:
        return Answer(self.store.restore(id))

    def _memory_fields(self, validator: TermValidator, fields: dict[str, Any], *, new: bool) -> dict[str, Any]:
        """Converts the fields of a lesson into fields of a memory."""
        known = LessonChanges.__annotations__
        for name in fields:
            UnknownName.check("field of a lesson", name, known)
        values: dict[str, Any] = {}
        typical = DEFAULT_LEVEL
        if "source" in fields:
            values["source"], typical = validator.source(fields["source"])
        if new or fields.get("confidence") is not None:
            values["confidence"] = validator.confidence(fields.get("confidence"), typical)
        converters: dict[str, Callable[[Any], object]] = {
            "contexts": validator.contexts,
            "anti_contexts": validator.contexts,
            "tags": validator.tags,
            "title": self._title,
            "metadata": validator.metadata,
        }
        values |= {name: convert(fields[name]) for name, convert in converters.items() if name in fields}
        for name, field in (("content", "text"), ("source_notes", "source_notes")):
            if name in fields:
                values[field] = fields[name]
        if new and self.agent:
            values["tags"] = (*values.get("tags", ()), agent_tag(self.agent))
            values["agent"] = self.agent
        return values

    def _title(self, title: str) -> str:
        return normalize_title(title)

    def _memory(self, id: str) -> Memory:
        """Raises `MemoryNotFound`, also for a memory that is not a lesson."""
        memory = self.store.get(id)
        if memory is None or memory.type != LESSON or memory.status == TRASHED:
            raise MemoryNotFound(id, self.store.space)
        return memory

    def _lesson(self, memory: Memory) -> Lesson:
        """Masks secrets that were stored before the guard existed."""
        return Lesson.of(self.store.clean(memory))

    # Search

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        strategy: str = "hybrid",
        freshness: bool = False,
        expand: str | None = None,
        **narrowing: Unpack[LessonFilters],
    ) -> Answer[tuple[LessonHit, ...]]:
        """The lessons that answer best, best first. Filters apply before ranking, so that no match is lost. `hybrid`
        fuses the ranks by meaning and by words; `expand` is vocabulary, language-model or none."""
        settings = self.store.settings
        wanted = LIMIT if limit is None else limit
        UnknownName.check("strategy", strategy, STRATEGIES)
        if wanted < 1:
            raise InvalidInput(f"A limit of {wanted} finds no lessons; give 1 or more.")
        validator = TermValidator(self.store)
        scope = lesson_scope(narrowing, validator)
        also, notes = expand_query(query, expand or DEFAULT_EXPANSION, validator)
        reorders = freshness or scope["include_superseded"]
        hits = self.store.recall(
            query,
            wanted * OVERFETCH if reorders else wanted,
            touch=not reorders,  # only the lessons that are returned count as used
            strategy="rrf" if strategy == "hybrid" else strategy,
            fusion=RankFusion(RANK_OFFSET, settings.lesson_semantic, 1 - settings.lesson_semantic),
            also=also,
            min_relevance=0.0,  # a lesson is asked for by what one is about to do, which it seldom answers
            **scope,
        )
        results = adjust_scores(hits, self.store.now(), freshness=freshness)[:wanted]
        if reorders:
            self.store.touch(*(each.lesson.id for each in results))
        return Answer(results, (*validator.warnings, *notes, *hits.notes), validator.suggestions)

    def list(self, limit: int = 50, **narrowing: Unpack[LessonFilters]) -> Answer[tuple[Lesson, ...]]:
        """Newest first."""
        validator = TermValidator(self.store)
        memories = self.store.list_recent(limit, **lesson_scope(narrowing, validator))
        return Answer(tuple(map(self._lesson, memories)), tuple(validator.warnings), validator.suggestions)

    # Links

    def related(
        self,
        id: str,
        *,
        depth: int = 1,
        relations: Iterable[str] | str | None = None,
        direction: Direction = "both",
        include_superseded: bool = False,
    ) -> Answer[tuple[Related, ...]]:
        """Linked lessons, nearest first. Superseded and archived ones are left out, unless `include_superseded` or the
        relation `supersedes` asks for them. Raises `MemoryNotFound`."""
        self._memory(id)
        names = [relations] if isinstance(relations, str) else [*(relations or ())]
        rels = [relation_name(name) for name in names] or None
        hidden = include_superseded or SUPERSEDES in (rels or ())
        neighbors = self.store.neighbors(id, rel=rels, direction=direction, depth=depth, include_hidden=hidden)
        return Answer(
            tuple(
                Related(self._lesson(each.memory), each.rel, each.direction, each.depth)
                for each in neighbors
                if each.memory.type == LESSON and each.memory.status != TRASHED
            )
        )

    def link(self, source: str, target: str, relation: str = RELATED, *, why: str = "") -> Answer[bool]:
        """True when the link is new. `contradicts` lowers the confidence of the target by a level; `supersedes` makes
        the source its successor. Raises `MemoryNotFound` and `LinkRefused`."""
        rel = relation_name(relation)
        for id in (source, target):
            self._memory(id)
        if rel == CONTRADICTS:
            return self._contradict(source, target, why)
        linked = self.store.link(source, target, rel, why=why)
        return Answer(linked.new, linked.notes)

    def unlink(self, source: str, target: str, relation: str | None = None, *, why: str = "") -> Answer[int]:
        """Removes links and returns how many. Confidence that a contradiction lowered stays as it is."""
        rel = None if relation is None else relation_name(relation)
        return Answer(self.store.unlink(source, target, rel, why=why))

    def _contradict(self, source: str, target: str, why: str) -> Answer[bool]:
        if source == target:
            raise LinkRefused(f"{source} cannot be linked to itself; give another lesson.")
        changed = retry_while_changed(lambda: self._write_contradiction(source, target, why))
        if changed is None:
            return Answer(False)
        if target not in changed:
            return Answer(True)
        level = level_of(changed[target].confidence).name
        return Answer(True, (f"The confidence of {target} is now {level}, since another lesson contradicts it.",))

    def _write_contradiction(self, source: str, target: str, why: str) -> dict[str, Memory] | None:
        """What it changes, by id; None where the link is there already. Raises `VersionMismatch` where the source was
        changed meanwhile, to which somebody may have added the link."""
        memory, new = self._memory(source), Link(target, CONTRADICTS)
        if any((link.to, link.rel) == (target, CONTRADICTS) for link in memory.links):
            return None
        edits = {source: lambda memory: replace(memory, links=(*memory.links, new)), target: lower_confidence}
        unchanged = self.store.expecting({source: memory.version}, check=False)
        return {memory.id: memory for memory in unchanged.write("contradict", edits=edits, why=why)}

    # Tags

    def tags(self, *, counts: bool = True) -> Answer[tuple[TagInfo, ...]]:
        """Most used first; without `counts` by name. An alias is listed with its target, and by itself only while
        lessons still have it."""
        vocabulary = Vocabulary(self.store, TAG)
        used, by_target = vocabulary.counts(), vocabulary.aliases()
        names = {name for name, term in vocabulary.terms.items() if not term.alias_of} | {*used}
        tags = [
            TagInfo(
                name,
                used.get(name, 0) if counts else 0,
                by_target.get(name, ()),
                vocabulary.listed(name, Key.SYNONYMS),
                vocabulary.parents(name),
                name in vocabulary.terms and bool(vocabulary.terms[name].data.get(Key.REVIEW)),
            )
            for name in names
        ]
        return Answer(tuple(sorted(tags, key=lambda each: (-each.count, each.name))))

    def know_tags(self, *names: str, why: str = "") -> Answer[tuple[str, ...]]:
        """Adds tags to the vocabulary, so that they give no warning; returns the new ones."""
        vocabulary = Vocabulary(self.store, TAG)
        new = [name for name in normalize_all(names) if vocabulary.term_name(name) not in vocabulary.terms]
        vocabulary.set_keys("know", {Key.REVIEW: False}, *new, why=why)
        return Answer(tuple(new))

    def alias_tag(self, alias: str, of: str, *, why: str = "") -> Answer[bool]:
        """From now on `alias` is stored and searched as `of`. False when that is already so."""
        return change_vocabulary(self.store, TAG, lambda vocabulary: self._alias_tag(vocabulary, alias, of, why))

    def _alias_tag(self, vocabulary: Vocabulary, alias: str, of: str, why: str) -> Answer[bool]:
        name, target = vocabulary.term_name(alias), vocabulary.term_name(of)
        vocabulary.check_alias(name, target)
        target = vocabulary.resolve(target)
        if name in vocabulary.terms and vocabulary.terms[name].alias_of == target:
            return Answer(False)
        vocabulary.alias(name, target, why)
        count = vocabulary.counts().get(name, 0)
        remaining = f"{count} lessons still have {name!r}; merge it into {target!r} to change them."
        return Answer(True, (remaining,) if count else ())

    def relate_tags(self, name: str, other: str, relation: str = SYNONYM, *, why: str = "") -> Answer[bool]:
        """A `synonym` is found by the other name, both ways; a `child_of` only by its parent's name. False when that is
        already so."""
        return Answer(change_vocabulary(self.store, TAG, lambda terms: terms.relate(name, other, relation, why)))

    def unrelate_tags(self, name: str, other: str, *, why: str = "") -> Answer[bool]:
        """Removes every relation between the two: alias, synonym, child, or distinct."""
        return Answer(change_vocabulary(self.store, TAG, lambda terms: terms.unrelate(name, other, why)))

    def keep_apart(self, kind: str, name: str, other: str, *, why: str = "") -> Answer[bool]:
        """Records that the two differ, so that no review proposes to merge them again."""
        UnknownName.check("kind of term", kind, KINDS)
        return Answer(change_vocabulary(self.store, kind, lambda terms: terms.keep_apart(name, other, why)))

    def review_tags(self) -> Answer[tuple[MergeProposal, ...]]:
        """Tags that seem to mean the same, surest first: aliases that lessons still have, other spellings, short forms,
        typing errors and, with an embedding model, similar meanings. Related and distinct tags are left out. Changes
        nothing."""
        proposals, warnings = propose_merges(Vocabulary(self.store, TAG), self.store.embedder)
        return Answer(proposals, warnings)

    # Contexts

    def contexts(self, *, counts: bool = True) -> Answer[tuple[ContextInfo, ...]]:
        """Most used first; without `counts` by name."""
        vocabulary = Vocabulary(self.store, CONTEXT)
        applies, by_target = vocabulary.counts(), vocabulary.aliases()
        excluded = self.store.tally("anti_contexts", where=LESSONS, include_archived=True, include_superseded=True)
        names = {name for name, term in vocabulary.terms.items() if not term.alias_of} | {*applies, *excluded}
        contexts = [
            ContextInfo(
                name,
                applies.get(name, 0) if counts else 0,
                excluded.get(name, 0) if counts else 0,
                by_target.get(name, ()),
                vocabulary.parents(name),
            )
            for name in names
        ]
        return Answer(tuple(sorted(contexts, key=lambda each: (-each.count - each.anti_count, each.name))))

    def relate_contexts(self, name: str, other: str, relation: str = CHILD_OF, *, why: str = "") -> Answer[bool]:
        """What applies in `other` then applies in `name` too; as a `synonym`, both ways. False when that is already
        so."""
        return Answer(change_vocabulary(self.store, CONTEXT, lambda terms: terms.relate(name, other, relation, why)))

    def unrelate_contexts(self, name: str, other: str, *, why: str = "") -> Answer[bool]:
        """Removes every relation between the two."""
        return Answer(change_vocabulary(self.store, CONTEXT, lambda terms: terms.unrelate(name, other, why)))

    def suggest_contexts(
        self, title: str, content: str = "", tags: Iterable[str] | str | None = None
    ) -> Answer[tuple[str, ...]]:
        """The contexts of similar lessons, or of lessons with these tags, likeliest first."""
        return Answer(likely_contexts(self.store, f"{title}\n{content}", normalize_all(tags)))

    # Sources

    def sources(self, *, review: bool = False) -> Answer[tuple[SourceInfo, ...]]:
        """Most used first; with `review` only those that wait for it."""
        vocabulary = Vocabulary(self.store, SOURCE)
        used = vocabulary.counts()
        names = {name for name, term in vocabulary.terms.items() if not term.alias_of} | {*used} - {""}
        sources = (source_info(vocabulary, name, used.get(name, 0)) for name in names)
        selected = (each for each in sources if each.review or not review)
        return Answer(tuple(sorted(selected, key=lambda each: (-each.count, each.name))))

    def add_source(
        self, name: str, description: str = "", typical_confidence: str = DEFAULT_LEVEL, *, why: str = ""
    ) -> Answer[SourceInfo]:
        """Describes a new or existing source; it no longer waits for review."""
        vocabulary = Vocabulary(self.store, SOURCE)
        added = vocabulary.term_name(name)
        if added in vocabulary.terms and vocabulary.terms[added].alias_of:
            raise InvalidInput(
                f"{added!r} is an alias of {vocabulary.resolve(added)!r}; describe that one, or choose another name."
            )
        level = level_named(typical_confidence).name
        described = {Key.DESCRIPTION: description.strip(), Key.TYPICAL: level, Key.REVIEW: None}
        vocabulary.set_keys("source", described, added, why=why)
        return self._source(added)

    def confirm_source(self, name: str, *, why: str = "") -> Answer[SourceInfo]:
        """Accepts a source that was added automatically."""
        vocabulary = Vocabulary(self.store, SOURCE)
        source = vocabulary.resolve(vocabulary.known_name(name))
        typical = str(vocabulary.inherited(source, Key.TYPICAL) or DEFAULT_LEVEL)
        vocabulary.set_keys("confirm_source", {Key.REVIEW: None, Key.TYPICAL: typical}, source, why=why)
        return self._source(source)

    def deprecate_source(self, name: str, deprecated: bool = True, *, why: str = "") -> Answer[SourceInfo]:
        """Lessons that name it stay as they are; a new use gets a warning."""
        vocabulary = Vocabulary(self.store, SOURCE)
        source = vocabulary.resolve(vocabulary.known_name(name))
        vocabulary.set_keys("deprecate_source", {Key.DEPRECATED: deprecated}, source, why=why)
        return self._source(source)

    def _source(self, name: str) -> Answer[SourceInfo]:
        vocabulary = Vocabulary(self.store, SOURCE)
        return Answer(source_info(vocabulary, name, vocabulary.counts().get(name, 0)))

    # Merging terms: each returns the number of changed lessons, archived, superseded and trashed ones included.
    # Terms under the old one follow: `old.x` becomes `into.x`. Raises `InvalidInput`.

    def merge_tags(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(TAG, old, into, why)

    def merge_contexts(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(CONTEXT, old, into, why)

    def merge_sources(self, old: str, into: str, *, why: str = "") -> Answer[int]:
        return self._merge(SOURCE, old, into, why)

    def _merge(self, kind: str, old: str, into: str, why: str) -> Answer[int]:
        changed, warnings = change_vocabulary(self.store, kind, lambda terms: terms.merge(old, into, why))
        return Answer(len(changed), warnings)

    # Reference tables

    def levels(self) -> Answer[tuple[Level, ...]]:
        """The levels of confidence, lowest first."""
        return Answer(tuple(LEVELS.values()))

    def relations(self) -> Answer[dict[str, str]]:
        """Every relation between lessons, with its meaning."""
        return Answer(self.store.relations())

    def add_reference(
        self, kind: str, name: str, ordinal: int | None = None, description: str = ""
    ) -> Answer[Reference]:
        """Adds a value to the table `kind`, or describes it again; the first value creates the table. Without an
        ordinal a new value comes last."""
        return Answer(add_reference(self.store, kind, name, ordinal, description))

    def references(self, kind: str) -> Answer[tuple[Reference, ...]]:
        """The values of a table in their order; empty when the table does not exist."""
        return Answer(references(self.store, table_name(kind)))

    # Keeping lessons up to date

    def audit(
        self, confidence: str | None = None, source: str | None = None, validated: bool | None = None
    ) -> Answer[tuple[Lesson, ...]]:
        """Lessons by confidence and source, surest first. `confidence` is a level, "high-" (and above), "-low" (and
        below), or a range such as "low-high" or "0.2-0.6"; a source includes those under it."""
        least, most = confidence_range(confidence or "0-1")
        where = LESSONS & Filter.where(
            confidence__ge=least,
            confidence__le=most,
            last_validated_at__unset=None if validated is None else not validated,
            source__under=None if source is None else Vocabulary(self.store, SOURCE).family(source),
        )
        memories = sorted(self.store.iterate(where=where), key=lambda memory: (-memory.confidence, memory.created_at))
        return Answer(tuple(map(self._lesson, memories)))

    def review(self, stale_days: float = STALE_DAYS) -> Answer[tuple[ReviewDue, ...]]:
        """Lessons that a person should check: first contradicted ones, then those that nobody wrote or validated for so
        many days, oldest first."""
        if not stale_days >= 0:
            raise InvalidInput(f"Lessons cannot be stale after {stale_days} days; give 0 or more.")
        due = {memory.id: ReviewDue(self._lesson(memory), why) for memory, why in contradicted_lessons(self.store)}
        for memory, why in stale_lessons(self.store, stale_days):
            due.setdefault(memory.id, ReviewDue(self._lesson(memory), why))
        return Answer(tuple(due.values()))

    def validate(self, id: str, confidence: str | float | None = None, *, why: str = "") -> Answer[Lesson]:
        """Records that a lesson still holds, and how sure that is. Raises `MemoryNotFound`."""
        self._memory(id)
        value = None if confidence is None else TermValidator(self.store).confidence(confidence)
        return Answer(self._lesson(self.store.validate(id, confidence=value, why=why)))

    def fade(self, now: float | None = None, *, dry_run: bool = True) -> Answer[tuple[Faded, ...]]:
        """Lowers the confidence of lessons that nobody has validated for long, or only says which, in a dry run."""
        at = self.store.now() if now is None else now
        decay = ConfidenceDecay(self.store)
        plan = [each for each in decay.plan(at) if each.memory.type == LESSON]
        if not dry_run:
            decay.apply(plan, at)
        changes = ((self._lesson(each.memory), each.confidence) for each in plan)
        return Answer(tuple(Faded(lesson, level_of(value).name, round(value, 4)) for lesson, value in changes))

    def archive(self, *ids: str, why: str = "") -> Answer[int]:
        """Hides lessons from searches that do not include archived ones; returns how many changed. Raises
        `MemoryNotFound`."""
        for id in ids:
            self._memory(id)
        return Answer(len(self.store.archive(*ids, why=why)))

    def unarchive(self, *ids: str, why: str = "") -> Answer[int]:
        for id in ids:
            self._memory(id)
        return Answer(len(self.store.unarchive(*ids, why=why)))

    # Maintenance

    def stats(self) -> Answer[LessonStats]:
        scope = every_lesson()
        sources = self.store.tally("source", **scope)
        contexts = self.store.tally("contexts", **scope).keys() | self.store.tally("anti_contexts", **scope).keys()
        levels = {
            name: Filter.where(confidence__ge=each.least, confidence__le=each.most) for name, each in LEVELS.items()
        }
        linked = self.store.iterate(**every_lesson(Filter.where(links__rel__unset=False)))
        return Answer(
            LessonStats(
                total=self.store.count(**scope),
                archived=self.store.count(**every_lesson(Filter.where(status=ARCHIVED))),
                by_confidence={name: self.store.count(**every_lesson(each)) for name, each in levels.items()},
                by_source={name: count for name, count in sources.items() if name},
                tags=len(self.store.tally("tags", **scope)),
                contexts=len(contexts),
                links=sum(len(memory.links) for memory in linked),
                embedder=self.store.embedder.identity,
            )
        )

    def reembed(self, id: str | None = None, *, progress: Progress | None = None) -> Answer[int]:
        """Computes vectors again with the current embedder, for one lesson or for the whole store, and returns for how
        many memories. Raises `MemoryNotFound`, `EmbeddingError` and, for one lesson, `EmbeddingMismatch` when the other
        vectors come from another model."""
        if id is None:
            return Answer(self.store.reindex(progress=progress))
        memory = self._memory(id)
        embed_again(self.store.acting_as("lib"), memory)
        if progress is not None:
            progress(1, 1, "embedding lessons")
        return Answer(1)

    # Import and export

    def export(
        self,
        out: Out,
        *,
        format: str | None = None,
        tags: Names = None,
        exclude_tags: Names = None,
        include_archived: bool = True,
        redact: bool = True,
    ) -> Answer[int]:
        """Writes lessons with all their fields, and their vocabulary, to a file or a stream; returns how many lessons.

        `tags` selects lessons with any of these tags or their children; `exclude_tags` leaves out likewise; names may
        be separated by commas. Links to lessons outside the export are left out. With `redact`, secrets and personal
        data are masked. The format follows the file name, else JSON."""
        chosen = format_of(out, format) or "json"
        validator = TermValidator(self.store)
        excluded = self._families(validator, exclude_tags)
        wanted = self._families(validator, tags)
        where = Filter.where(tags__under=sorted(wanted)) if wanted else Filter()
        memories = [
            memory
            for memory in self.store.iterate(**every_lesson(where) | {"include_archived": include_archived})
            if not any(is_under(tag, set(excluded)) for tag in memory.tags)
        ]
        redaction = Redaction.for_store(self.store) if redact else Redaction(None)
        all_terms = not wanted and include_archived
        write(export_document(self.store, memories, excluded, redaction, all_terms=all_terms), out, chosen)
        warnings = (*validator.warnings, *warn_lost_links(memories), *redaction.warnings())
        return Answer(len(memories), warnings, validator.suggestions)

    def import_(
        self, source: Source, *, format: str | None = None, on_existing: str = "skip", restore_deleted: bool = False,
        dry_run: bool = False,
    ) -> Answer[ImportReport]:  # fmt: skip
        """Imports what `export` wrote, in one operation. An existing lesson is left (`skip`), replaced (`overwrite`),
        replaced when the file's is newer (`newer`), or refused (`error`); so is one in the trash, unless
        `restore_deleted` brings it back. A redacted one stays redacted. Raises `InvalidInput` for any other file."""
        document = read(source, format)
        parsed = parse_document(self.store, document)
        plan = plan_import(self.store, parsed, on_existing, restore_deleted=restore_deleted)
        report = plan.report()
        if document.get("redacted") and report.changed:
            note = "The file was exported without secrets and personal data; the changed lessons lose theirs too."
            report = replace(report, notes=(*report.notes, note))
        if not dry_run and (plan.new or plan.replaced or plan.terms):
            self.store.write(
                "import", new=[*plan.new.values()], edits=plan.edits(), successors=plan.successors, terms=plan.terms
            )
        return Answer(report)

    def _families(self, validator: TermValidator, names: Names) -> frozenset[str]:
        separate = [part for name in normalize_all(names) for part in name.split(",")]
        vocabulary = Vocabulary(self.store, TAG)
        return frozenset(other for name in validator.tags(separate) for other in vocabulary.family(name))


def lower_confidence(memory: Memory) -> Memory:
    """By one level; the lowest stays."""
    ordinal = max(1, level_of(memory.confidence).ordinal - 1)
    return replace(memory, confidence=min(memory.confidence, LEVELS[NAMES[ordinal - 1]].value))


def source_info(vocabulary: Vocabulary, name: str, count: int) -> SourceInfo:
    data = vocabulary.terms[name].data if name in vocabulary.terms else {}
    described = any(is_under(name, {each}) for each in vocabulary.terms)
    return SourceInfo(
        name,
        str(data.get(Key.DESCRIPTION) or ""),
        str(vocabulary.inherited(name, Key.TYPICAL) or DEFAULT_LEVEL),
        count,
        bool(data.get(Key.REVIEW)) or not described,
        bool(vocabulary.inherited(name, Key.DEPRECATED)),
    )


def embed_again(engine: Engine, memory: Memory) -> None:
    """Not a journaled operation, since no record changes. Ignores cached vectors."""
    engine.embedder.renew()
    chunks, pieces = chunk_memory(memory, engine.embedder)
    derived = Derived(indexed_words(memory), chunks, engine.embedder.embed(pieces))

    def plan(reader: Reader) -> list[Change]:
        current = reader.get(memory.space, memory.id)
        fits = current is not None and same_derived_input(current, memory)
        return [Change(current, current, derived)] if fits else []

    engine.write(None, plan)


def stale_lessons(store: MemoryStore, days: float) -> Iterator[tuple[Memory, str]]:
    """Lessons that nobody wrote or validated for so many days, oldest first, each with a question."""
    now = store.now()
    before = now - days * DAY
    where = LESSONS & Filter.where(created_at__le=before, last_validated_at__le_or_unset=before)
    checked = [(last_checked(store, memory, before), memory) for memory in store.iterate(where=where)]
    for at, memory in sorted(checked, key=lambda each: (each[0], each[1].id)):
        if at <= before:
            level, age = level_of(memory.confidence).name, int((now - at) / DAY)
            yield memory, f"Held with {level} confidence, and {age} days old: is it still so?"


def last_checked(store: MemoryStore, memory: Memory, before: float) -> float:
    """When somebody last wrote or validated the lesson; renaming a tag does not count."""
    at = max(memory.created_at, memory.last_validated_at or 0.0)
    if memory.updated_at <= before:  # no change at all since then
        return at
    entries = (entry for entry in store.journal(memory.id, limit=None) if entry.operation.name != FADE)
    edits = (entry for entry in entries if entry.before and not {*CHECKED_FIELDS}.isdisjoint(entry.after or {}))
    return max(at, next((entry.operation.at for entry in edits), 0.0))


def contradicted_lessons(store: MemoryStore) -> Iterator[tuple[Memory, str]]:
    """Lessons that another one contradicts and nobody has validated since, each with a question."""
    edges = store.edges(rel=[CONTRADICTS])
    ids = list(dict.fromkeys(id for edge in edges for id in (edge.source, edge.target)))
    current = {
        memory.id: memory
        for memory in store.get_many(ids)
        if memory.type == LESSON and memory.status not in (TRASHED, ARCHIVED) and not memory.superseded_by
    }
    for edge in edges:
        target, against = current.get(edge.target), current.get(edge.source)
        if target and against and (target.last_validated_at or 0.0) <= contradicted_at(store, against, target.id):
            yield target, f"{store.clean(against).title!r} ({against.id}) contradicts it: is it still so?"


def contradicted_at(store: MemoryStore, against: Memory, target: str) -> float:
    """When the lesson was linked as a contradiction; when it was written, where the journal no longer says so."""
    for entry in store.journal(against.id, limit=None):
        before, after = (
            {(link.to, link.rel) for _, link in positioned(json_list((image or {}).get("links")))}
            for image in (entry.before, entry.after)
        )
        if (target, CONTRADICTS) in after - before:
            return entry.operation.at
    return against.created_at
