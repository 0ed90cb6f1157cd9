"""A request to write new memories, edits, successions and terms as one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from nacre.engine.engine import Edit, Engine, PendingChanges, insertions
from nacre.engine.supersede import TIMES_GIVEN, superseded, with_start_moved
from nacre.errors import WrongType
from nacre.model import Memory
from nacre.model.memory import TRASHED, Json
from nacre.model.validate import check_period
from nacre.protocols import AnyChange, Change, Derived, Reader, TermChange, TermSet
from nacre.remember.guard import Guard

Term: TypeAlias = Mapping[str, Json] | None
TermEdit: TypeAlias = Callable[[Term], Term]
PERIOD = frozenset(("valid_from", "valid_until"))


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """`edits` are by id; `successors` maps the id of a replaced memory to its successor's; `terms` are edits of the
    vocabulary by kind and name, which get None where there is no such term;
    `unjournaled` are such edits that the journal does not record, so that an undo does not revert them."""

    new: Sequence[Memory] = ()
    edits: Mapping[str, Edit] = field(default_factory=dict)
    successors: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[tuple[str, str], TermEdit] = field(default_factory=dict)
    unjournaled: Mapping[tuple[str, str], TermEdit] = field(default_factory=dict)

    def check(self) -> None:
        """Raises `WrongType`."""
        for edit in (*self.edits.values(), *self.terms.values(), *self.unjournaled.values()):
            if not callable(edit):
                raise WrongType("each edit", "a function", edit)
        for id in self.successors.values():
            if not isinstance(id, str):
                raise WrongType("each successor", "an id", id)

    def guarded(self, guard: Guard) -> WriteRequest:
        """Without secrets in what it writes. Raises `SecretRefused`."""
        return WriteRequest(
            [guard.before_write(memory, None) for memory in self.new],
            {id: partial(guarded_edit, guard, edit) for id, edit in self.edits.items()},
            self.successors,
            {key: partial(guarded_term, guard, edit) for key, edit in self.terms.items()},
            {key: partial(guarded_term, guard, edit) for key, edit in self.unjournaled.items()},
        )


def guarded_edit(guard: Guard, edit: Edit, memory: Memory) -> Memory:
    after = edit(memory)
    if not isinstance(after, Memory):
        raise WrongType("what an edit returns", "a Memory", after)
    return guard.before_write(after, memory)


def guarded_term(guard: Guard, edit: TermEdit, term: Term) -> Term:
    after = edit(term)
    return guard.data(after) if after else after


def with_fields(memory: Memory, fields: Mapping[str, object]) -> Memory:
    """A memory that is edited into the trash remembers its status, and one that was rejected the times that were given,
    for `restore`. Raises `InvalidInput`."""
    after = replace(memory, **fields)  # type: ignore[arg-type]
    if memory.superseded_by and isinstance(memory.metadata.get(TIMES_GIVEN), Mapping):
        after = replace(after, metadata={TIMES_GIVEN: memory.metadata[TIMES_GIVEN], **after.metadata})
    if not PERIOD.isdisjoint(fields):
        check_period(after)
    if "status" not in fields or after.status == memory.status:
        return after
    return replace(after, trashed_from=memory.status if after.status == TRASHED else "")


def apply(
    engine: Engine,
    space: str,
    operation: str,
    request: WriteRequest,
    *,
    why: str = "",
    only_if: Callable[[Reader], bool] | None = None,
) -> list[Memory]:
    """All or nothing; returns the memories that are new or changed. Nothing where `only_if` does not hold of what it
    reads when it is written. Raises `MemoryNotFound`."""
    derived, _ = engine.derive(request.new) if request.new else ([], ())

    def decide(reader: Reader) -> WriteRequest | None:
        return request if only_if is None or only_if(reader) else None

    return apply_decided(engine, space, operation, derived, decide, why=why)


def apply_decided(
    engine: Engine,
    space: str,
    operation: str,
    derived: Sequence[Derived],
    decide: Callable[[Reader], WriteRequest | None],
    *,
    why: str = "",
) -> list[Memory]:
    """As `apply`, with what `decide` makes of what it reads; None changes nothing. `derived` is of its new memories, as
    many of them as it returns."""
    memories: list[Change] = []

    def plan(reader: Reader) -> list[AnyChange]:
        request = decide(reader) or WriteRequest()
        memories[:] = memory_changes(engine, space, request, derived if request.new else (), reader)
        unjournaled = [TermSet(*key, edit(reader.term(*key))) for key, edit in request.unjournaled.items()]
        return [*memories, *term_changes(space, request, reader), *unjournaled]

    committed = engine.write(engine.operation(operation, why), plan)
    return committed.with_versions(change.subject for change in memories)


def memory_changes(
    engine: Engine, space: str, request: WriteRequest, derived: Sequence[Derived], reader: Reader
) -> list[Change]:
    """Raises `SupersedeCycle`, also for a ring that the request's own successions would close."""
    pending = PendingChanges(reader, insertions(request.new, derived))
    edited = [each for each in engine.make_edits(reader, space, request.edits) if each.after != each.before]
    pending.add(edited)
    for change in edited:
        if change.before is not None:
            after, moved = with_start_moved(pending, change.before, change.subject, engine.clock())
            pending.add([change._replace(after=after), *moved])
    for old, successor in request.successors.items():
        pair = engine.get_required(pending, space, old), engine.get_required(pending, space, successor)
        pending.add(superseded(pending, *pair, engine.clock()))
    return list(pending)


def term_changes(space: str, request: WriteRequest, reader: Reader) -> list[TermChange]:
    changes = []
    for (kind, name), edit in request.terms.items():
        before = reader.term(kind, name)
        after = edit(before)
        if after != before:
            changes.append(TermChange(space, kind, name, before, after))
    return changes
