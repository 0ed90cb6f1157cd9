"""Reads the values of an import file, and decides what an import will change, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nacre.engine.engine import Edit
from nacre.engine.supersede import first_cycle, is_redacted
from nacre.engine.write_request import TermEdit
from nacre.errors import AccessDenied, InvalidInput, LinkRefused, UnknownName
from nacre.lessons.document import LESSON_FIELDS, import_error
from nacre.lessons.lesson import normalize_title
from nacre.lessons.vocabulary import (
    CONTEXT,
    DEFAULT_LEVEL,
    KINDS,
    REFERENCE,
    RELATED,
    RELATION_SPELLINGS,
    SOURCE,
    TAG,
    Key,
    Term,
    TermValidator,
    Vocabulary,
    normalize,
)
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.instants import iso
from nacre.model.levels import level_named, level_of
from nacre.model.memory import ARCHIVED, DEFAULTS, LESSON, SUPERSEDES, TRASHED, Json, by_target
from nacre.model.validate import CHECKS, boolean, instant, json_object, label, labels, link_tuple, storable_text
from nacre.transfer.import_plan import json_objects, written_over

FIELDS = ("id", "title", "content", "confidence", "certainty", "source", "source_notes", "tags", "contexts",
          "anti_contexts", "created_at", "updated_at", "last_validated_at", "agent", "archived", "superseded_by",
          "links", "metadata", "record")  # fmt: skip
TIMES = ("created_at", "updated_at", "last_validated_at")
# Fields of `record` that a draft accepts; the others are set on the finished draft.
RECORD_FIELDS = tuple(name for name in CHECKS if name not in (*LESSON_FIELDS, *TIMES))
LINK_FIELDS = ("to", "relation", "weight", "data")
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """`scrubbed` is the number of lessons from which the guard removed a secret."""

    lessons: dict[str, Memory]
    terms: dict[tuple[str, str], dict[str, Json]]
    scrubbed: int


def parse_document(store: MemoryStore, document: Values) -> ParsedDocument:
    """Raises `InvalidInput` for the first error."""
    values = list(json_objects(document.get("lessons"), "the list of lessons", damaged))
    counts = document.get("counts")
    if isinstance(counts, dict) and counts.get("lessons", len(values)) != len(values):
        raise damaged(f"the file says {counts['lessons']!r:.40} lessons but has {len(values)}")
    validator = TermValidator(store)
    lessons: dict[str, Memory] = {}
    scrubbed = 0
    for number, each in enumerate(values, 1):
        where = f"lesson {number}" + (f" ({each['id']!r:.60})" if each.get("id") else "")
        try:
            memory = parse_lesson(validator, each)
        except (InvalidInput, LinkRefused) as error:
            raise import_error(f"{where} is invalid ({str(error).rstrip('.')})") from error
        if memory.id in lessons:
            raise import_error(f"{where} has the same id as another one; remove one of them")
        lessons[memory.id] = memory
        scrubbed += memory.text != each["content"].strip()
    return ParsedDocument(lessons, dict(parse_terms(document.get("vocabulary", {}))), scrubbed)


def damaged(reason: str) -> InvalidInput:
    return import_error(f"{reason}; export them again")


def parse_lesson(validator: TermValidator, values: Values) -> Memory:
    """Aliases of this store are resolved, whatever they were where the lesson comes from."""
    for name in values:
        UnknownName.check("field of a lesson", name, FIELDS)
    record = json_object("record", values.get("record") or {})
    title = storable_text("title", values.get("title"))
    tags, contexts, sources = (validator.vocabulary(kind) for kind in (TAG, CONTEXT, SOURCE))
    source = sources.resolve(label("source", values.get("source")))
    fields: dict[str, Any] = {
        **({name: record.get(name, DEFAULTS[name]) for name in RECORD_FIELDS} if record else {}),
        "title": normalize_title(title) if title.strip() else "",
        "agent": values.get("agent") or "",
        "source": source,
        "source_notes": values.get("source_notes") or "",
        "tags": tags.resolve_all(labels("tags", values.get("tags") or ())),
        "contexts": contexts.resolve_all(labels("contexts", values.get("contexts") or ())),
        "anti_contexts": contexts.resolve_all(labels("anti_contexts", values.get("anti_contexts") or ())),
        "metadata": values.get("metadata") or {},
        "confidence": parse_certainty(validator, values, sources.terms.get(source)),
        "status": parse_status(values, record),
        **({"id": values["id"]} if values.get("id") is not None else {}),
        **{name: at for name in TIMES if name in CHECKS and (at := parse_time(values, record, name)) is not None},
    }
    ended = fields.pop("valid_until", None)  # by a successor that is dated before it began, which no new memory is
    draft = validator.store.draft(storable_text("content", values.get("content")), **fields)
    until = None if ended is None else instant("valid_until", ended)
    return complete(replace(draft, valid_until=until), values, record)


def complete(draft: Memory, values: Values, record: Values) -> Memory:
    """Sets the fields that a new memory cannot have, but an imported lesson can."""
    updated = parse_time(values, record, "updated_at")
    successor = label("superseded_by", values.get("superseded_by"))
    if successor == draft.id:
        raise InvalidInput("it supersedes itself")
    since = record.get("superseded_at", draft.updated_at) if successor else None
    return replace(
        draft,
        type=LESSON,
        updated_at=draft.updated_at if updated is None else updated,
        superseded_by=successor,
        superseded_at=None if since is None else instant("superseded_at", since),
        links=parse_links(draft.id, values),
    )


def parse_time(values: Values, record: Values, name: str) -> float | None:
    """The exact time of the record, unless the lesson's own time was edited."""
    if values.get(name) is None:
        return None
    at = instant(name, values[name])
    if record.get(name) is None:
        return at
    exact = instant(name, record[name])
    return exact if iso(exact) == iso(at) else at


def parse_certainty(validator: TermValidator, values: Values, source: Term | None) -> float:
    """The exact certainty, unless the level was edited."""
    level, exact = values.get("confidence"), values.get("certainty")
    if exact is None:
        typical = source.data.get(Key.TYPICAL) if source is not None else None
        return validator.confidence(level, str(typical or DEFAULT_LEVEL))
    certainty = float(CHECKS["confidence"]("certainty", exact))  # type: ignore[arg-type]
    if level is None or (isinstance(level, str) and level_of(certainty) == level_named(level)):
        return certainty
    return validator.confidence(level)


def parse_status(values: Values, record: Values) -> object:
    recorded = record.get("status", DEFAULTS["status"])
    if recorded == TRASHED:
        raise InvalidInput("it is in the trash")
    if "archived" not in values:
        return recorded
    if boolean("archived", values["archived"]):
        return ARCHIVED
    return DEFAULTS["status"] if recorded == ARCHIVED else recorded


def parse_links(id: str, values: Values) -> tuple[Link, ...]:
    links = []
    for each in json_objects(values.get("links") or [], "its list of links", damaged):
        for name in each:
            UnknownName.check("field of a link", name, LINK_FIELDS)
        rel = label("relation", each.get("relation", RELATED))
        target, data = label("to", each.get("to")), each.get("data") or {}
        links.append(Link(target, RELATION_SPELLINGS.get(rel, rel), each.get("weight", 1.0), data))
    if any(link.to == id for link in links):
        raise LinkRefused("it is linked to itself")
    return link_tuple("links", links)


def parse_terms(vocabulary: object) -> Iterator[tuple[tuple[str, str], dict[str, Json]]]:
    if not isinstance(vocabulary, dict) or not all(isinstance(terms, dict) for terms in vocabulary.values()):
        raise damaged("the vocabulary is not an object of objects")
    for kind, terms in vocabulary.items():
        UnknownName.check("kind of term", kind, (*KINDS, REFERENCE))
        for name, data in terms.items():
            try:
                term = normalize(label("term", name)) if kind in KINDS else label("term", name)
                if not term or not isinstance(data, dict):
                    raise InvalidInput("it has no name, or its data is not an object")
                yield (kind, term), check_term(dict(json_object("its data", data)))
            except InvalidInput as error:
                where = f"the {kind!s:.40} {name!r:.60}"
                raise import_error(f"{where} is invalid ({str(error).rstrip('.')})") from error


def check_term(data: dict[str, Json]) -> dict[str, Json]:
    for key in (Key.ALIAS_OF, Key.DESCRIPTION, Key.TYPICAL):
        storable_text(key, data.get(key) or "")
    for key in (Key.SYNONYMS, Key.PARENTS, Key.DISTINCT):
        labels(key, data.get(key) or ())
    if type(data.get(Key.ORDINAL, 0)) is not int:
        raise InvalidInput("its ordinal is not a whole number")
    if data.get(Key.TYPICAL):
        level_named(str(data[Key.TYPICAL]))
    return data


POLICIES = ("skip", "overwrite", "error", "newer")


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many lessons are new, changed and unchanged; in a dry run, how many would be."""

    new: int
    changed: int
    skipped: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class ImportPlan:
    """`new` lessons and those that are `replaced`, as the file has them; `successors` are set by the store."""

    store: MemoryStore
    document: ParsedDocument
    existing: Mapping[str, Memory]
    new: dict[str, Memory] = field(default_factory=dict)
    replaced: dict[str, Memory] = field(default_factory=dict)
    successors: dict[str, str] = field(default_factory=dict)
    terms: dict[tuple[str, str], TermEdit] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_in_trash: int = 0
    left_redacted: int = 0

    def choose_lessons(self, policy: str, *, restore_deleted: bool = False) -> None:
        for id, memory in self.document.lessons.items():
            existing = self.existing.get(id)
            if existing is None:
                self.new[id] = memory
            elif existing.type != LESSON:
                raise import_error(f"the id {id!r} belongs to a memory that is not a lesson; import into another space")
            elif restore_deleted and existing.status == TRASHED and not is_redacted(existing):
                self.replaced[id] = memory
            elif policy == "error" and is_redacted(existing):
                raise import_error(f"the lesson {id!r} was redacted; choose skip, which leaves it so")
            elif policy == "error":
                where = ", in the trash" if existing.status == TRASHED else ""
                raise import_error(f"the lesson {id!r} exists already{where}; choose skip or overwrite")
            elif is_redacted(existing):  # whatever the policy: its content was removed for good
                self.left_redacted += 1
            elif policy == "overwrite" or (policy == "newer" and memory.updated_at > existing.updated_at):
                self.replaced[id] = memory
            elif existing.status == TRASHED:
                self.left_in_trash += 1

    def choose_links(self) -> None:
        """Leaves out links to missing memories. A lesson that stays unchanged is not superseded by a link alone."""
        outside = {link.to for memory in self.written().values() for link in memory.links} - {*self.document.lessons}
        targets = {memory.id for memory in self.store.get_many(sorted(outside))} | {*self.document.lessons}
        lost = 0
        for group in (self.new, self.replaced):
            for id, memory in group.items():
                links = tuple(link for link in memory.links if link.to in targets and self._keeps_link(id, link))
                superseding = sum(self.successors.get(link.to) == id for link in memory.links if link.rel == SUPERSEDES)
                lost += len(memory.links) - len(links) - superseding
                group[id] = replace(memory, links=links)
        if lost:
            self.notes.append(f"Links left out, because their target is missing or stays as it is: {lost}.")

    def _keeps_link(self, id: str, link: Link) -> bool:
        if link.rel != SUPERSEDES:
            return True
        predecessor = self._final(link.to)
        if predecessor is not None and not self._unchanged(link.to) and not predecessor.superseded_by:
            self.successors[link.to] = id  # the store must update the record, not only add the link
            return False
        return predecessor is not None and predecessor.superseded_by == id

    def _unchanged(self, id: str) -> bool:
        return id not in self.new and id not in self.replaced

    def _final(self, id: str) -> Memory | None:
        """The memory after the import, except for its links."""
        return self.new.get(id) or self.replaced.get(id) or self.existing.get(id) or self.store.get(id)

    def check_cycles(self) -> None:
        def successor_of(id: str) -> str:
            memory = self._final(id)
            return self.successors.get(id) or (memory.superseded_by if memory is not None else "")

        if (id := first_cycle(self.written(), successor_of)) is not None:
            raise import_error(f"the lesson {id!r} supersedes itself in a cycle; remove one superseded_by")

    def choose_terms(self, policy: str) -> None:
        """Known terms stay unless the policy is "overwrite"; a new source waits for review."""
        kinds = {*KINDS, *(kind for kind, _ in self.document.terms)}
        vocabulary = {kind: dict(self.store.vocabulary(kind)) for kind in kinds}
        for (kind, name), data in self.document.terms.items():
            current = vocabulary[kind].get(name)
            if current is not None and (policy != "overwrite" or current == data):
                continue
            if first_cycle([name], partial(alias_target, {**vocabulary[kind], name: data})):
                self.notes.append(f"The {kind} {name!r} was left out: it would be an alias of itself.")
                continue
            vocabulary[kind][name] = data
            self.terms[kind, name] = set_term(data, overwrite=policy == "overwrite")
        known = {*Vocabulary(self.store, SOURCE).terms, *vocabulary[SOURCE]}
        for memory in self.written().values():
            if memory.source and not {memory.source, memory.source.partition(".")[0]} & known:
                self.terms[SOURCE, memory.source] = set_term({Key.REVIEW: True}, overwrite=False)
        if self.terms and not self.store.can_edit_vocabulary:
            raise AccessDenied("The file adds terms, and this agent may not add any; ask one that may.")

    def written(self) -> dict[str, Memory]:
        return {**self.new, **self.replaced}

    def edits(self) -> dict[str, Edit]:
        return {id: self._replace(memory) for id, memory in self.replaced.items()}

    def _replace(self, imported: Memory) -> Edit:
        """Keeps links and a successor that the file cannot know of."""

        def edit(current: Memory) -> Memory:
            if is_redacted(current):
                return current
            others = by_target(link for link in current.links if self._outside(link))
            links = {**others, **by_target(imported.links)}
            after = replace(imported, links=tuple(links.values()), trashed_from="")
            successor = current.superseded_by
            if successor and not imported.superseded_by and successor not in self.document.lessons:
                since = current.superseded_at
                after = replace(after, superseded_by=successor, superseded_at=since, valid_until=current.valid_until)
            return written_over(current, after)

        return edit

    def _outside(self, link: Link) -> bool:
        superseding = link.rel == SUPERSEDES and self._unchanged(link.to)
        return superseding or link.to not in self.document.lessons

    def report(self) -> ImportReport:
        restored = sum(self.existing[id].status == TRASHED for id in self.replaced)
        changed = sum(edit(self.existing[id]) != self.existing[id] for id, edit in self.edits().items())
        counts = {
            "Lessons restored from the trash": restored,
            "Lessons left in the trash (--restore-deleted brings them back)": self.left_in_trash,
            "Lessons that were redacted and stay so": self.left_redacted,
            "Lessons imported without what looked like a secret": self.document.scrubbed,
            "New terms in the vocabulary": len(self.terms),
        }
        notes = (*self.notes, *(f"{what}: {count}." for what, count in counts.items() if count))
        skipped = len(self.document.lessons) - len(self.new) - changed
        return ImportReport(len(self.new), changed, skipped, notes)


def plan_import(
    store: MemoryStore, document: ParsedDocument, policy: str, *, restore_deleted: bool = False
) -> ImportPlan:
    UnknownName.check("policy for existing lessons", policy, POLICIES)
    plan = ImportPlan(store, document, {memory.id: memory for memory in store.get_many(list(document.lessons))})
    plan.choose_lessons(policy, restore_deleted=restore_deleted)
    plan.choose_links()
    plan.check_cycles()
    plan.choose_terms(policy)
    return plan


def set_term(data: Mapping[str, Json], *, overwrite: bool) -> TermEdit:
    return lambda current: data if overwrite or current is None else current


def alias_target(terms: Mapping[str, Mapping[str, Json]], name: str) -> str:
    return str(terms.get(name, {}).get(Key.ALIAS_OF) or "")
