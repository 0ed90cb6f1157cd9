"""Decides what an import will change, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from nacre.engine.change_set import TermEdit
from nacre.engine.engine import Edit
from nacre.engine.supersede import first_cycle
from nacre.errors import AccessDenied, UnknownName
from nacre.lessons.document import import_error
from nacre.lessons.parse import ParsedDocument
from nacre.lessons.vocabulary import KINDS, SOURCE, SUPERSEDES, Key, Vocabulary
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.model.memory import LESSON, Json, by_target
from nacre.transfer.import_plan import written_over

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

    def choose_lessons(self, policy: str) -> None:
        for id, memory in self.document.lessons.items():
            existing = self.existing.get(id)
            if existing is None:
                self.new[id] = memory
            elif existing.type != LESSON:
                raise import_error(f"the id {id!r} belongs to a memory that is not a lesson; import into another space")
            elif existing.status == "trashed" or policy == "overwrite":
                self.replaced[id] = memory
            elif policy == "error":
                raise import_error(f"the lesson {id!r} exists already; choose skip or overwrite")
            elif policy == "newer" and memory.updated_at > existing.updated_at:
                self.replaced[id] = memory

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
        if self.terms and not self.store.may_teach:
            raise AccessDenied("The file adds terms, and this agent may not add any; ask one that may.")

    def written(self) -> dict[str, Memory]:
        return {**self.new, **self.replaced}

    def edits(self) -> dict[str, Edit]:
        return {id: self._replace(memory) for id, memory in self.replaced.items()}

    def _replace(self, imported: Memory) -> Edit:
        """Keeps links and a successor that the file cannot know of."""

        def edit(current: Memory) -> Memory:
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
        restored = sum(self.existing[id].status == "trashed" for id in self.replaced)
        changed = sum(edit(self.existing[id]) != self.existing[id] for id, edit in self.edits().items())
        counts = {
            "Lessons restored from the trash": restored,
            "Lessons imported without what looked like a secret": self.document.scrubbed,
            "New terms in the vocabulary": len(self.terms),
        }
        notes = (*self.notes, *(f"{what}: {count}." for what, count in counts.items() if count))
        skipped = len(self.document.lessons) - len(self.new) - changed
        return ImportReport(len(self.new), changed, skipped, notes)


def plan_import(store: MemoryStore, document: ParsedDocument, policy: str) -> ImportPlan:
    if policy not in POLICIES:
        raise UnknownName("policy for existing lessons", policy, POLICIES)
    plan = ImportPlan(store, document, {memory.id: memory for memory in store.get_many(list(document.lessons))})
    plan.choose_lessons(policy)
    plan.choose_links()
    plan.check_cycles()
    plan.choose_terms(policy)
    return plan


def set_term(data: Mapping[str, Json], *, overwrite: bool) -> TermEdit:
    return lambda current: data if overwrite or current is None else current


def alias_target(terms: Mapping[str, Mapping[str, Json]], name: str) -> str:
    return str(terms.get(name, {}).get(Key.ALIAS_OF) or "")
