"""Stores new memories, and handles their conflicts with stored ones as the policy says.

What "the same" means, from the weakest to the strictest:

- `Comparison.echoes`: they say about the same in other words, as the conflict model reads them.
- A conflict of the kind duplicate: the judge found that neither text adds to the other.
- `is_repetition`: a duplicate with the same words in the same order, but for articles, capitals and punctuation.
- `same_words` (model/memory.py): the same text but for case, blanks and how accents are encoded.
- `says_the_same`: the same words, and `same_but_for_text`: the same kind, times, agent and trust. A copy.
- `is_known_of_type`: also the same session, no id is asked for, and no given field differs (`same_as_given`); the type
  counts only where it was given.
- `is_known`: the same, and of the same type: the new one need not be stored.
- An equal text that is known: what `replaces` names has this very text, and nothing is replaced.
- `is_unchanged`: one stored memory at two times, whose text, status and successor are equal.

`explicit` holds the names of the fields that the caller gave; others are defaults or suggestions. `known` is the stored
memory that a new one repeats. `near` is what `Comparison.similar` gave: stored memories that are alike, each with its
cosine. `meanwhile` is what others have stored since this operation first looked.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.engine.engine import Edit, Engine, insertions, retry_while_none
from nacre.engine.operation_parts import OperationParts
from nacre.engine.supersede import all_superseded, with_start_moved
from nacre.engine.write_request import WriteRequest, apply_decided
from nacre.errors import ConflictError, ConflictWarning, InvalidInput, UnknownName
from nacre.model import Conflict, Filter, Link, Memory, RememberResult
from nacre.model.instants import day
from nacre.model.memory import (
    COMPARED_TEXTS,
    CONFLICTS,
    LISTS,
    MAY_REPLACE,
    TRASHED,
    digest_of_texts,
    same_words,
)
from nacre.model.review import newer_first
from nacre.model.validate import LARGEST_NUMBER
from nacre.protocols import AnyChange, Change, Committed, ConflictModel, Derived, Reader, Vectors
from nacre.remember.derive import same_derived_input

if TYPE_CHECKING:
    from nacre.conflicts.candidates import Comparison
    from nacre.conflicts.judge import ConflictFn, Judge

POLICIES = ("note", "ignore", "warn", "supersede", "raise")
NOTING = ("note", "supersede")  # under which links note what a comparison said
VERSION = "version"  # the kind of a `may_replace` link that a comparison made
SAME_COSINE = 0.95  # texts that are this similar may say the same, and need not be stored twice
PUNCTUATION = ".,;:!?'\"’“”«»()-–—"
ARTICLES = frozenset(("an", "the"))  # that a repetition may have or leave out; «a» is also a name: vitamin A, server A
MINUS = re.compile(r"(?<!\w)[-–−](?=\d)")
WORDINGS = "other_wordings"  # of one that was merged, in its metadata
SAME_FIELDS = ("polarity", "type", "occurred_at", "valid_until", "expires_at")
SAME_ORIGIN = ("title", "agent", "trust", "status")
SAME_IF_GIVEN = frozenset(("created_at", "confidence", "valence", "arousal"))  # to a text that may be known
SOURCES = "other_sources"  # of one that was remembered again, in its metadata
KNOWN = "known"
REPLACED = "replaced"  # the reason of a conflict with what says about the same as what was replaced
SAME_TEXT = "The memory to replace has this very text; nothing was replaced."
MERGED_FIELDS = (*LISTS, "source", "links", "importance", "pinned", "metadata")  # what a repetition may add to
ID_FIELDS = frozenset(("id", "id_prefix"))  # who gives one of these gets a memory of that name, also of a known text
REPETITION_BONUS = 0.05  # added to a memory's importance when it is remembered again, under the policy supersede


@dataclass(frozen=True, slots=True)
class ConflictHandling:
    """What to do about conflicts, and how to find them."""

    policy: str
    comparison: Comparison
    writable: Filter = field(default_factory=Filter)  # what may be replaced or merged into

    def __post_init__(self) -> None:
        check_policy(self.policy)

    def writable_near(self, memory: Memory, vector: Vectors | None) -> list[Memory]:
        """What is like the memory and may be changed."""
        own = replace(self.comparison, where=self.comparison.where & self.writable)
        return [other for other, _ in own.similar(memory, vector)]


def make_comparison(
    engine: Engine,
    model: ConflictModel | None,
    threshold: float,
    contradiction_fn: ConflictFn | None,
    second_judge: Judge | None,
) -> Comparison:
    """With what the engine's store shows now."""
    from nacre.conflicts.candidates import Comparison  # only writing compares
    from nacre.conflicts.judge import PairJudge

    judge = PairJudge(model, threshold, contradiction_fn, second_judge)
    return Comparison(engine.store, Filter.live(engine.clock()), judge, engine.embedder.identity)


def check_policy(name: str) -> str:
    if name not in POLICIES:
        raise UnknownName("conflict policy", name, POLICIES)
    return name


def store_all(
    engine: Engine,
    memories: Sequence[Memory],
    operation: OperationParts,
    comparison: Comparison,
    explicit: Mapping[str, Collection[str]],
) -> list[RememberResult]:
    """Stores all of them as a part of the operation, or none, without looking for conflicts. What is known already, or
    comes twice, is not added, except where its id is asked for. `explicit` has the caller's fields, by id."""
    drafts, first = without_repeats(memories, explicit)
    space, seq = memories[0].space, engine.store.seq_at(memories[0].space, inf)
    derived, notes = engine.derive(drafts)
    copies = stored_copies(engine, drafts, derived, comparison, explicit)
    known: dict[str, str] = {}
    stored_drafts: dict[str, Memory] = {}
    edited: list[Change] = []
    now = engine.clock()

    def plan(reader: Reader) -> list[AnyChange]:
        meanwhile = copies_since(reader, seq, drafts, comparison.where, explicit)
        stored = {memory.id: memory for memory in reader.get_many(space, sorted(set(copies.values())))}
        known.clear()
        known.update({id: memory.id for id, memory in meanwhile.items()})
        for draft in drafts:  # another process may have changed or removed the copy
            copy = stored.get(copies.get(draft.id, ""))
            if copy is not None and is_known(draft, copy, explicit.get(draft.id, ())):
                known[draft.id] = copy.id
        edits: dict[str, list[Memory]] = {}
        for draft in drafts:
            if draft.id in known:
                edits.setdefault(known[draft.id], []).append(draft)
        wanted = {id: partial(all_repeated, drafts=tuple(each), now=now) for id, each in edits.items()}
        edited[:] = map(without_time_of_use, engine.make_edits(reader, space, wanted) if wanted else [])
        new = [(draft, each) for draft, each in zip(drafts, derived, strict=True) if draft.id not in known]
        placed = with_positions(reader, seq, [draft for draft, _ in new])
        stored_drafts.update({draft.id: each for (draft, _), each in zip(new, placed, strict=True)})
        added = (change for change in edited if not is_use(change))
        return [*insertions(placed, [each for _, each in new]), *added]

    committed = operation.write(engine, plan) if drafts else Committed()
    count_uses(engine, space, edited, now)
    merged = {memory.id: memory for memory in committed.with_versions(each.subject for each in edited)}
    before = {each.subject.id: each.before for each in edited if each.before is not None}
    results = {
        draft.id: RememberResult(stored_drafts[draft.id], notes=notes) for draft in drafts if draft.id not in known
    }
    for draft in drafts:
        if draft.id in known:
            old, after = before[known[draft.id]], merged[known[draft.id]]
            more = *kept_importance(draft, old, explicit.get(draft.id, ())), *notes_of_known(old, after)
            results[draft.id] = RememberResult(after, (), KNOWN, notes + more)
    return [results[first[memory.id]] for memory in memories]


def store_one(
    engine: Engine, memory: Memory, handling: ConflictHandling, *, why: str = "", explicit: Collection[str] = ()
) -> RememberResult:
    """One operation, whatever the policy does. Of two with the same text that are written at the same moment, the
    second one is known already; other conflicts between them are not seen. `explicit` has the names of the caller's
    fields."""
    if handling.policy == "ignore":
        operation = OperationParts(memory.space, engine.operation("remember", why))
        return store_all(engine, [memory], operation, handling.comparison, {memory.id: explicit})[0]
    return retry_while_none(partial(attempt_to_store, engine, memory, handling, why, explicit))


def attempt_to_store(
    engine: Engine, memory: Memory, handling: ConflictHandling, why: str, explicit: Collection[str]
) -> RememberResult | None:
    """None where another process has changed or removed meanwhile what was known: then everything is decided again."""
    seq = engine.store.seq_at(memory.space, inf)
    (derived,), notes = engine.derive([memory])
    near = handling.comparison.similar(memory, vector_of(derived)) if is_compared(memory) else []
    known = known_among([other for other, _ in near], memory, explicit)
    if known is not None and handling.policy != "raise":
        more = (*notes, *kept_importance(memory, known, explicit))
        return remember_again(engine, known, memory, handling.policy, explicit, more, why)
    decision = judge_conflicts(memory, vector_of(derived), near, handling, duplicates=False)
    conflicts, replaced, notes = decision.conflicts, decision.replaced, (*notes, *decision.notes)
    draft = with_link(with_conflict_links(memory, decision.noted), decision.version)
    known_sides = (each.other(memory.id) for each in conflicts if is_repetition(each))
    mergeable = (each for each in known_sides if same_as_given(memory, each, explicit))
    same = next((each for each in mergeable if handling.writable.admits(each)), None)
    if handling.policy == "supersede" and same is not None and not decision.noted and not replaced:
        unchanged = partial(is_unchanged, same)
        merge = only_where(unchanged, partial(merge_repetition, new=memory, now=engine.clock()))
        merged = engine.change(memory.space, [same.id], "merge", merge, why=why, missing_ok=True)
        if not merged:
            return None
        more = (*notes, *kept_importance(memory, same, explicit), *notes_of_known(same, merged[0]))
        return RememberResult(merged[0], conflicts, "merged", more)
    stored: list[Memory] = []
    meanwhile: dict[str, Memory] = {}

    def plan(reader: Reader) -> list[AnyChange]:
        meanwhile.clear()
        meanwhile.update(copies_since(reader, seq, [memory], handling.comparison.where, {memory.id: explicit}))
        if meanwhile:
            return []
        placed = with_positions(reader, seq, [draft])
        (new,) = insertions(placed, [derived])
        successor, changes = replacing(engine, reader, placed[0], replaced)
        stored[:] = [successor]
        return [new._replace(after=successor), *changes]

    engine.write_named("remember", plan, why)
    known = next(iter(meanwhile.values()), None)
    if known is not None:
        if handling.policy == "raise":
            raise ConflictError((Conflict(memory, known, 1.0, "duplicate", "identical text"),), memory.id)
        return remember_again(engine, known, memory, handling.policy, explicit, notes, why)
    return stored_result(stored[0], decision, handling.policy, notes)


class ConflictDecision(NamedTuple):
    """What a new text means for the memories that it conflicts with: those that it replaces (ids), the conflicts that
    are noted for review, and the link to what it may be a newer version of. `notes` say what could not be compared."""

    conflicts: tuple[Conflict, ...]
    replaced: list[str]
    noted: list[Conflict]
    version: Link | None
    notes: tuple[str, ...]


def judge_conflicts(
    memory: Memory, vector: Vectors | None, near: Sequence[tuple[Memory, float]], handling: ConflictHandling, *,
    duplicates: bool,
) -> ConflictDecision:  # fmt: skip
    """As the policy says; `near` is what `similar` gave. Raises `ConflictError` under the policy raise."""
    compared, notes = handling.comparison.compare(memory, vector, may_be_compared_with, near) if near else ([], ())
    conflicts = tuple(each for each in compared if differs_from_turn(each, memory))
    if conflicts and handling.policy == "raise":
        raise ConflictError(conflicts, memory.id)
    replaced = replaceable(memory, conflicts, handling) if handling.policy == "supersede" else []
    noted = conflicts_to_note(memory, conflicts, replaced, handling.policy, duplicates=duplicates)
    version = version_link(memory, near, conflicts, handling.comparison) if handling.policy in NOTING else None
    return ConflictDecision(conflicts, replaced, noted, version, notes)


def may_be_compared_with(other: Memory) -> bool:
    """Whether a new text is compared with this stored one: of the turns of a conversation only with what the user
    states."""
    from nacre.recall.turns import is_users_statement

    return not other.role or is_users_statement(other)


def differs_from_turn(conflict: Conflict, memory: Memory) -> bool:
    """False for the turn that a note was made of, which says the same."""
    return conflict.kind != "duplicate" or not conflict.other(memory.id).role


def stored_result(memory: Memory, decision: ConflictDecision, policy: str, notes: tuple[str, ...]) -> RememberResult:
    """Warns of the conflicts where the policy says so."""
    if decision.conflicts and policy == "warn":
        warnings.warn(ConflictWarning(decision.conflicts, memory.id), stacklevel=caller_level())
    return RememberResult(memory, decision.conflicts, "superseded" if decision.replaced else "stored", notes)


def replacing(engine: Engine, reader: Reader, memory: Memory, replaced: Sequence[str]) -> tuple[Memory, list[Change]]:
    """The memory that replaces these, and their changes."""
    if not replaced:
        return memory, []
    return all_superseded(reader, reader.get_many(memory.space, replaced), memory, engine.clock())


def replaceable(new: Memory, conflicts: Sequence[Conflict], handling: ConflictHandling) -> list[str]:
    """The ids of those that the new memory may replace without review; none where nobody sees it."""
    if not handling.comparison.where.admits(new):
        return []
    return [each.b.id for each in conflicts if each.a.id == new.id and replaces_unreviewed(each, handling.writable)]


def conflicts_to_note(
    new: Memory, conflicts: Sequence[Conflict], replaced: Collection[str], policy: str, *, duplicates: bool
) -> list[Conflict]:
    """Under the policy supersede, what a new memory repeats is not worth a note, and what an edited one repeats is
    (`duplicates`): it is merged into nothing."""
    if policy not in NOTING:
        return []
    noted = [each for each in conflicts if each.other(new.id).id not in replaced]
    return noted if duplicates or policy == "note" else [each for each in noted if each.kind != "duplicate"]


def edit_one(
    engine: Engine, space: str, id: str, edit: Edit, handling: ConflictHandling, *, why: str = ""
) -> RememberResult:
    """One operation. Where the text changes, conflicts are handled as those of a new memory; what the edited one may
    replace is superseded, what is uncertain is noted, and nothing is merged into another."""
    (before,) = engine.get_existing(engine.store, space, [id])
    after = edit(before)
    unread = after.text == before.text or after.superseded_by or after.status == TRASHED
    if handling.policy == "ignore" or unread:
        request = WriteRequest(edits={id: edit})
        changed = apply_decided(engine, space, "edit", (), lambda _: request, why=why)
        return RememberResult(changed[0] if changed else before)
    (derived,), notes = engine.derive([after])
    near = handling.comparison.similar(after, vector_of(derived)) if is_compared(after) else []
    decision = judge_conflicts(after, vector_of(derived), near, handling, duplicates=True)
    replaced, noted = decision.replaced, decision.noted
    conflicting = {each.other(id).id for each in noted}
    compared_all = vector_of(derived) is not None and not decision.notes
    stored: list[Memory] = []

    def plan(reader: Reader) -> list[AnyChange]:
        current = engine.get_required(reader, space, id)
        edited, moved = with_start_moved(reader, current, edit(current), engine.clock())
        others = []
        linking = {edge.source for edge in reader.edges(space, into=[id], rels=[CONFLICTS])}
        if compared_all:  # what was noted of the former text and is not found of the new one no longer holds
            edited = without_notes(edited, {link.to for link in current.links})
            outdated = linking - conflicting - set(replaced)
            sources = reader.get_many(space, sorted(outdated))
            others = [(each, without_notes(each, [id])) for each in sources if handling.writable.admits(each)]
        known = linking | {link.to for link in edited.links if link.rel == CONFLICTS}
        edited = with_conflict_links(edited, [each for each in noted if each.other(id).id not in known])
        edited = with_link(edited, decision.version)
        own = derived if same_derived_input(after, edited) else engine.prepare([(current, edited)]).get(id)
        successor, changes = replacing(engine, reader, edited, replaced)
        stored[:] = [replace(successor, updated_at=engine.clock())]
        freed = [Change(one, replace(other, updated_at=engine.clock())) for one, other in others]
        return [Change(current, stored[0], own), *moved, *changes, *freed]

    (memory,) = engine.write(engine.operation("edit", why), plan).with_versions(stored)
    return stored_result(memory, decision, handling.policy, (*notes, *decision.notes))


def without_notes(memory: Memory, others: Collection[str]) -> Memory:
    """Without the links in which a comparison noted how it relates to these; what a user linked by hand stays."""
    links = tuple(link for link in memory.links if link.to not in others or not is_note(link))
    return memory if links == memory.links else replace(memory, links=links)


def is_note(link: Link) -> bool:
    """Whether a comparison made it: see `with_conflict_links` and `version_link`."""
    return link.rel in (CONFLICTS, MAY_REPLACE) and "kind" in link.data


def caller_level() -> int:
    """How far up the stack the first caller outside of this package is, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "nacre":
        level, frame = level + 1, frame.f_back
    return level


def vector_of(derived: Derived) -> Vectors | None:
    return derived.vectors[0] if derived.vectors is not None and len(derived.vectors) else None


def without_repeats(
    memories: Sequence[Memory], explicit: Mapping[str, Collection[str]]
) -> tuple[list[Memory], dict[str, str]]:
    """Each text once, with what the later ones add to the first, and for every id that of the first."""
    drafts: dict[str, Memory] = {}
    first: dict[str, str] = {}
    by_text: dict[str, list[str]] = {}
    for memory in memories:
        earlier = by_text.setdefault(same_words(memory.text), [])
        own = explicit.get(memory.id, ())
        same = next((id for id in earlier if is_known(memory, drafts[id], own)), None)
        if same is None or memory.id in drafts:
            # An id that is given twice is refused when it is written.
            drafts[memory.id if memory.id not in drafts else f"{memory.id} again"] = memory
            first[memory.id] = memory.id
            earlier += [memory.id] if ID_FIELDS.isdisjoint(own) else []
        else:
            drafts[same], first[memory.id] = repeated(drafts[same], memory), same
    return list(drafts.values()), first


def with_positions(reader: Reader, seq: int, memories: Sequence[Memory]) -> list[Memory]:
    """Each turn of a conversation that has no position comes after the last one of its session. `seq` is the last
    journal entry before anything was read."""
    sessions = sorted({each.session for each in memories if each.session and each.role and each.position is None})
    if not sessions:
        return list(memories)
    last = dict(reader.last_positions(memories[0].space, seq, sessions))
    placed = []
    for memory in memories:
        if memory.session and memory.role and memory.position is None:
            memory = replace(memory, position=min(last.get(memory.session, -1) + 1, LARGEST_NUMBER))
        if memory.position is not None:
            last[memory.session] = max(last.get(memory.session, 0), memory.position)
        placed.append(memory)
    return placed


def stored_copies(
    engine: Engine,
    drafts: Sequence[Memory],
    derived: Sequence[Derived],
    comparison: Comparison,
    explicit: Mapping[str, Collection[str]],
) -> dict[str, str]:
    """The drafts that are stored already, each with the id of the stored one. Only identical texts are recognised, by
    the digest of their first chunk: comparing every text would make imports slow."""
    asked: dict[bytes, list[tuple[Memory, Vectors | None]]] = {}
    for draft, each in zip(drafts, derived, strict=True):
        if each.chunks and each.vectors is not None and is_compared(draft):
            asked.setdefault(each.chunks[0].digest, []).append((draft, vector_of(each)))
    if not asked:
        return {}
    _, stored = engine.store.vectors_for(list(asked))
    copies: dict[str, str] = {}
    for draft, vector in (pair for digest in stored for pair in asked[digest]):
        own = explicit.get(draft.id, ())
        near = comparison.similar(draft, vector) if ID_FIELDS.isdisjoint(own) else []
        known = known_among([other for other, _ in near], draft, own)
        if known is not None:
            copies[draft.id] = known.id
    return copies


def copies_since(
    reader: Reader, seq: int, drafts: Sequence[Memory], where: Filter, explicit: Mapping[str, Collection[str]]
) -> dict[str, Memory]:
    """The drafts that others have stored since this journal entry, each with what they stored. For a plan: two that
    store one text at the same moment must not both add it."""
    lasting = [each for each in drafts if is_lasting(each) and ID_FIELDS.isdisjoint(explicit.get(each.id, ()))]
    if not lasting:
        return {}
    texts = {same_words(each.text) for each in lasting}
    written = [each for each in reader.written_since(lasting[0].space, seq, sorted(texts)) if where.admits(each)]
    pairs = ((each, known_among(written, each, explicit.get(each.id, ()))) for each in lasting)
    return {each.id: known for each, known in pairs if known is not None}


def with_copies(engine: Engine, space: str, old: str, new: str, handling: ConflictHandling) -> dict[str, str]:
    """The successor of a memory and of the others that say the same, of any session: a copy would outlive its
    correction. A copy that is pinned, not writable or a later version of the successor stays."""
    memory = engine.store.get(space, old)
    if memory is None or not is_lasting(memory):
        return {old: new}
    (derived,), _ = engine.derive([memory])
    later, step = {new}, engine.store.get(space, new)
    while step is not None and step.superseded_by and step.superseded_by not in later:
        later.add(step.superseded_by)
        step = engine.store.get(space, step.superseded_by)
    near = handling.writable_near(memory, vector_of(derived))
    copies = [each.id for each in near if says_the_same(memory, each) and not each.pinned and each.id not in later]
    return dict.fromkeys((old, *copies), new)


def with_conflicts_of(engine: Engine, memory: Memory, replaced: Collection[str]) -> Memory:
    """The memory with the noted conflicts of those that it replaces, whichever side has the link, except with what
    says the same as it. They were not compared with it, so that none is sure."""
    noted: dict[str, Link] = {}
    sources = [edge.source for edge in engine.store.edges(memory.space, into=list(replaced), rels=[CONFLICTS])]
    for old in engine.store.get_many(memory.space, [*sources, *replaced]):
        for link in old.links:
            to = link.to if old.id in replaced else old.id
            outside = (old.id in replaced) != (link.to in replaced)
            if link.rel == CONFLICTS and link.kind != "duplicate" and outside:
                noted[to] = replace(link, to=to, data={**link.data, "sure": False})
    others = engine.store.get_many(memory.space, list(noted))
    carried = (noted[each.id] for each in others if same_words(each.text) != same_words(memory.text))
    links = {(link.to, link.rel): link for link in (*carried, *memory.links)}
    return replace(memory, links=tuple(links.values()))


def conflicts_of_successor(
    engine: Engine, memory: Memory, before: Memory, replaced: Collection[str], handling: ConflictHandling
) -> list[Conflict]:
    """What the text conflicts with that replaces another, as far as conflicts are noted; also what says about the same
    as the other in other words, such as the turn in which the user said it: that is outdated with it."""
    if handling.policy not in NOTING or not is_compared(memory):
        return []
    (new, old), _ = engine.derive([memory, before])
    comparison = handling.comparison
    others = replace(comparison, where=comparison.where & Filter.where(id__not_in=[*replaced, memory.id]))
    of_text = others.conflicts(memory, vector_of(new), may_be_compared_with)
    echoes = [pair for pair in others.echoes(before, vector_of(old)) if may_be_compared_with(pair[0])]
    agree = comparison.judge.say_the_same(memory, echoes)
    outdated = [
        Conflict(memory, other, likeness, "update", REPLACED)
        for (other, likeness), same in zip(echoes, agree, strict=True)
        if not same and newer_first(memory, other)[0] is memory
    ]
    known = {each.b.id for each in outdated}
    return [
        *outdated,
        *(each for each in of_text if each.kind != "duplicate" and each.other(memory.id).id not in known),
    ]


def known_copy(
    engine: Engine, memory: Memory, handling: ConflictHandling, explicit: Collection[str], replaced: Collection[str]
) -> Memory | None:
    """The stored memory that says what the new one would say in place of these; of any type, unless one was given."""
    if not is_lasting(memory):
        return None
    (derived,), _ = engine.derive([memory])
    others = (each for each in handling.writable_near(memory, vector_of(derived)) if each.id not in replaced)
    return next((other for other in others if is_known_of_type(memory, other, explicit)), None)


def is_known_of_type(new: Memory, old: Memory, explicit: Collection[str]) -> bool:
    """As `is_known`, of any type unless one was given."""
    return is_known(new if "type" in explicit else replace(new, type=old.type), old, explicit)


def known_among(others: Sequence[Memory], memory: Memory, explicit: Collection[str]) -> Memory | None:
    return next((other for other in others if is_known(memory, other, explicit)), None)


def is_known(new: Memory, old: Memory, explicit: Collection[str]) -> bool:
    """Whether the new one need not be stored: the old one has its words, and nothing else differs."""
    return same_words(new.text) == same_words(old.text) and same_as_given(new, old, explicit)


def says_the_same(new: Memory, old: Memory) -> bool:
    """Whether remembering the one adds nothing to the other: the same words but for case and blanks, said of the
    same."""
    return same_words(new.text) == same_words(old.text) and same_but_for_text(new, old)


def same_as_given(new: Memory, old: Memory, explicit: Collection[str]) -> bool:
    """As `same_but_for_text`, in the same session, and nothing that was given differs."""
    differs = any(getattr(new, name) != getattr(old, name) for name in SAME_IF_GIVEN.intersection(explicit))
    return ID_FIELDS.isdisjoint(explicit) and new.session == old.session and not differs and same_but_for_text(new, old)


def same_but_for_text(new: Memory, old: Memory) -> bool:
    """Whether they are of the same kind, time, agent and trust. What happened without a date happened when it was
    written, each time anew, and a turn of a conversation was said each time."""
    if not all(map(is_lasting, (new, old))):
        return False
    same = all(getattr(new, name) == getattr(old, name) for name in (*SAME_FIELDS, *SAME_ORIGIN))
    begins = new.valid_from is None or new.valid_from == old.valid_from  # a successor got its beginning from us
    known = all(old.metadata.get(key, value) == value for key, value in new.metadata.items())
    applies = set(new.anti_contexts) == set(old.anti_contexts)
    return same and begins and known and applies and not old.superseded_by


def is_lasting(memory: Memory) -> bool:
    """Whether the same text, remembered again, adds nothing: not a turn of a conversation, which is said each time, nor
    what happened without a date, each time anew, nor what is not compared at all."""
    turn = memory.role or memory.is_turn
    happened = memory.type == "episodic" and memory.occurred_at is None
    return is_compared(memory) and not turn and not happened


def remember_again(
    engine: Engine, known: Memory, memory: Memory, policy: str, explicit: Collection[str], notes: tuple[str, ...],
    why: str,
) -> RememberResult | None:  # fmt: skip
    """Counts a use of what is known, and gives it what the new one adds, which is an operation that can be undone. A
    use alone is none, as everywhere: an undo after it takes back what was done before. None where another process has
    changed or removed it meanwhile, so that the new one is no longer known."""
    space, now, merges = memory.space, engine.clock(), policy == "supersede"
    edit = partial(merge_repetition if merges else repeated, new=memory, now=now)
    edited: list[Change] = []

    def plan(reader: Reader) -> list[Change]:
        current = reader.get(space, known.id)
        there = current is not None and is_known(memory, current, explicit)
        edited[:] = map(without_time_of_use, engine.make_edits(reader, space, {known.id: edit}) if there else [])
        return [change for change in edited if not is_use(change)]

    committed = engine.write(engine.operation("remember", why), plan)
    if not edited:
        return None
    count_uses(engine, space, edited, now)
    (after,) = committed.with_versions(change.subject for change in edited)
    return RememberResult(after, (), "merged" if merges else KNOWN, (*notes, *notes_of_known(known, after)))


def without_time_of_use(change: Change) -> Change:
    """A use is no change, and leaves the time of the last one as it is."""
    before, after = change.before, change.after
    if before is None or after is None or not is_use(change):
        return change
    return change._replace(after=replace(after, updated_at=before.updated_at))


def is_use(change: Change) -> bool:
    """Whether nothing else changes than how often and when the memory was used."""
    before, after = change.before, change.after
    if before is None or after is None:
        return False
    uses = {name: getattr(before, name) for name in ("last_accessed", "access_count", "updated_at")}
    return replace(after, **uses) == before


def count_uses(engine: Engine, space: str, changes: Iterable[Change], now: float) -> None:
    used = [change.subject.id for change in changes if is_use(change)]
    if used:
        engine.store.touch(space, used, now)


def only_where(holds: Callable[[Memory], bool], edit: Edit) -> Edit:
    """The edit, which leaves a memory as it is unless this holds of it when it is written."""
    return lambda memory: edit(memory) if holds(memory) else memory


def store_replacement(
    engine: Engine, memory: Memory, old: str, handling: ConflictHandling, *, explicit: Collection[str]
) -> RememberResult:
    """One operation: the new memory replaces the old one and its copies, with their noted conflicts and those of its
    own text. Where its text is stored already, that memory replaces them, whatever its time, and nothing is added;
    where the old one has this very text, nothing is replaced."""
    return retry_while_none(partial(attempt_to_replace, engine, memory, old, handling, explicit))


def attempt_to_replace(
    engine: Engine, memory: Memory, old: str, handling: ConflictHandling, explicit: Collection[str]
) -> RememberResult | None:
    """None as of `attempt_to_store`."""
    space, seq = memory.space, engine.store.seq_at(memory.space, inf)
    besides_time = [name for name in explicit if name != "created_at"]
    before = engine.store.get(space, old)
    if before is not None and before.text == memory.text and is_known(memory, before, besides_time):
        notes = SAME_TEXT, *kept_importance(memory, before, explicit), *kept_time(memory, before, explicit)
        return remember_again(engine, before, memory, "note", besides_time, notes, "")
    replaced = with_copies(engine, space, old, memory.id, handling)
    known = known_copy(engine, memory, handling, besides_time, replaced)
    if known is None and before is not None:
        refuse_earlier(memory, before, explicit)
    (derived, notes) = engine.derive([memory]) if known is None else ([], ())
    successor = memory if known is None else replace(memory, id=known.id)
    conflicts = [] if before is None else conflicts_of_successor(engine, successor, before, replaced, handling)
    successor = with_conflicts_of(engine, with_conflict_links(successor, conflicts), replaced)
    successors = dict.fromkeys(replaced, successor.id)

    def repeat(stored: Memory) -> Memory:
        return without_notes(repeated(stored, successor, engine.clock()), replaced)

    def decide(reader: Reader) -> WriteRequest | None:
        if known is None:
            meanwhile = copies_since(reader, seq, [memory], handling.comparison.where, {memory.id: besides_time})
            return None if meanwhile else WriteRequest(with_positions(reader, seq, [successor]), successors=successors)
        current = reader.get(space, known.id)
        if current is None or not is_known_of_type(memory, current, besides_time):
            return None
        freed = dict.fromkeys(replaced, partial(without_notes, others=[known.id]))
        return WriteRequest(edits={**freed, known.id: repeat}, successors=successors)

    after = {each.id: each for each in apply_decided(engine, space, "remember", derived, decide)}
    if not after:
        return None
    kept = after[successor.id]
    if known is not None:
        kept_values = *kept_importance(memory, known, explicit), *kept_time(memory, known, explicit)
        notes = *kept_values, *notes_of_known(known, repeated(known, successor))
    reported = tuple(each for each in conflicts if each.reason != REPLACED) if known is None else ()
    return RememberResult(kept, reported, "superseded", notes, stored_before=known is not None)


def refuse_earlier(new: Memory, old: Memory, explicit: Collection[str]) -> None:
    """Raises `InvalidInput` where the new one would replace what was written down after it: since when it holds would
    contradict its own date."""
    only_created = {"occurred_at", "valid_from"}.isdisjoint(explicit) and "created_at" in explicit
    if only_created and new.created_at < old.happened_at:
        raise InvalidInput(
            f"What was written down on {day(new.created_at)} cannot replace {old.id}, which is of "
            f"{day(old.happened_at)}; leave its time out, or also say since when it holds (valid_from)."
        )


def is_unchanged(one: Memory, other: Memory) -> bool:
    """Whether a stored memory still says what it said, and still counts; the two are its states at two times."""
    return (one.text, one.status, one.superseded_by) == (other.text, other.status, other.superseded_by)


def notes_of_known(before: Memory, after: Memory) -> tuple[str, ...]:
    """What a known memory got from its repetition."""
    names = [name for name in MERGED_FIELDS if getattr(before, name) != getattr(after, name)]
    return (f"Added to it: {', '.join(names)}; `undo` takes that back.",) if names else ()


def kept_importance(new: Memory, known: Memory, explicit: Collection[str]) -> tuple[str, ...]:
    lower = "importance" in explicit and new.importance < known.importance
    return (f"It keeps its importance of {known.importance:g}, which is higher than the given one.",) if lower else ()


def kept_time(new: Memory, known: Memory, explicit: Collection[str]) -> tuple[str, ...]:
    differs = "created_at" in explicit and new.created_at != known.created_at
    return (f"It keeps the time at which it was created, {day(known.created_at)}.",) if differs else ()


def all_repeated(old: Memory, drafts: tuple[Memory, ...], now: float) -> Memory:
    return reduce(lambda memory, draft: repeated(memory, draft, now), drafts, old)


def repeated(old: Memory, new: Memory, now: float | None = None) -> Memory:
    """The old memory with the names, links and the source of the new one; with a time, it was used then."""
    lists: dict[str, Any] = {name: tuple(dict.fromkeys((*getattr(old, name), *getattr(new, name)))) for name in LISTS}
    ends = {(link.to, link.rel) for link in old.links}
    metadata = {**new.metadata, **old.metadata}
    if new.source and old.source and new.source != old.source:
        others = metadata.get(SOURCES)
        metadata[SOURCES] = list(dict.fromkeys([*(others if isinstance(others, list) else []), new.source]))
    after = replace(
        old, **lists, metadata=metadata, source=old.source or new.source,
        links=(*old.links, *(link for link in new.links if (link.to, link.rel) not in ends and link.to != old.id)),
        importance=max(old.importance, new.importance), pinned=old.pinned or new.pinned,
    )  # fmt: skip
    return after if now is None else replace(after, last_accessed=now, access_count=old.access_count + 1)


def is_compared(memory: Memory) -> bool:
    """Whether it is compared when it is stored: not a turn of a conversation (of those, hooks compare what announces a
    change), nor a passing impression."""
    return memory.type not in ("sensory", "working") and not (memory.session and memory.role)


def with_conflict_links(memory: Memory, conflicts: Sequence[Conflict]) -> Memory:
    """Adds a `conflicts` link to the other side of each; which is newer is in their times, not in the link. The words
    that decided are not stored with it: they can be found again, and a redaction would miss them. What is linked so
    already stays as it is."""
    linked = {link.to for link in memory.links if link.rel == CONFLICTS}
    links = [
        Link(
            each.other(memory.id).id,
            CONFLICTS,
            data={"kind": each.kind, "reason": each.reason, "similarity": round(each.similarity, 3), "sure": each.sure},
        )
        for each in conflicts
        if each.other(memory.id).id not in linked
    ]
    return replace(memory, links=(*memory.links, *links)) if links else memory


def version_link(
    memory: Memory, near: Sequence[tuple[Memory, float]], conflicts: Sequence[Conflict], comparison: Comparison
) -> Link | None:
    """A link to what it may be a newer version of, unless the two conflict: a recall that finds the older one shows the
    newer as well."""
    older, probability = comparison.older_version(memory, near) or (None, 0.0)
    if older is None or older.id in {each.other(memory.id).id for each in conflicts if each.kind != "duplicate"}:
        return None
    data = {"kind": VERSION, COMPARED_TEXTS: digest_of_texts(memory, older)}
    return Link(older.id, MAY_REPLACE, round(probability, 2), data)


def with_link(memory: Memory, link: Link | None) -> Memory:
    """In the place of one that a comparison of earlier texts made; not beside one that was made by hand."""
    if link is None or link in memory.links:
        return memory
    same = [each for each in memory.links if (each.to, each.rel) == (link.to, link.rel)]
    if any(not is_note(each) for each in same):
        return memory
    return replace(memory, links=(*(each for each in memory.links if each not in same), link))


def replaces_unreviewed(conflict: Conflict, writable: Filter) -> bool:
    """Whether the newer memory may replace the older one without review. A pinned memory, one of more trust, a turn of
    a conversation, one that was written later or is true later, and one that says more than the newer, of which that
    may change a part, are only noted."""
    new, old = conflict.a, conflict.b
    if conflict.kind == "duplicate" or not writable.admits(old) or says_more(old.text, new.text):
        return False
    earlier = new.created_at < old.created_at or new.ends_before(old)
    return conflict.sure and not old.pinned and new.trust >= old.trust and is_compared(old) and not earlier


def says_more(older: str, newer: str) -> bool:
    """Whether the older text has more words of its own than the newer: what it says beside what has changed would be
    lost."""
    from nacre.text.tokens import content_stems

    old, new = set(content_stems(older)), set(content_stems(newer))
    return len(old - new) > len(new - old)


def is_repetition(conflict: Conflict) -> bool:
    """Whether one text adds nothing to the other: the same words in the same order but for articles, capitals and
    punctuation. Also the commonest words count: «above», «under» and «he» decide."""
    if conflict.kind != "duplicate" or conflict.similarity < SAME_COSINE:
        return False
    return words_and_symbols(conflict.a.text) == words_and_symbols(conflict.b.text)


def words_and_symbols(text: str) -> tuple[list[str], list[str]]:
    from nacre.text.tokens import words

    symbols = [each for each in text if not each.isalnum() and not each.isspace() and each not in PUNCTUATION]
    symbols += MINUS.findall(text)
    return [word for word in words(text) if word not in ARTICLES], symbols


def merge_repetition(old: Memory, new: Memory, now: float) -> Memory:
    """As `repeated`, with more importance and, if it differs, the wording of the new one: no text is lost."""
    after = repeated(old, new, now)
    after = replace(after, importance=min(1.0, after.importance + REPETITION_BONUS))
    if same_words(new.text) == same_words(old.text):
        return after
    wordings = after.metadata.get(WORDINGS)
    earlier = wordings if isinstance(wordings, list) else []
    return replace(after, metadata={**after.metadata, WORDINGS: list(dict.fromkeys([*earlier, new.text]))})
