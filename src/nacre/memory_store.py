"""The Python API: `MemoryStore`, one class whose methods stand in reading order."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack, cast
from uuid import uuid4

from nacre.access.unlimited import Unlimited
from nacre.engine import Engine, history, links, merge, removal, review, spaces, supersede, undo, write_request
from nacre.engine.engine import RELATION, Edit
from nacre.engine.history import Bucket
from nacre.engine.indexing import catch_up_all, embedder_for_questions, reindex
from nacre.engine.operation_parts import PART, OperationParts
from nacre.engine.remember import (
    ConflictHandling,
    edit_one,
    make_comparison,
    store_all,
    store_one,
    store_replacement,
    with_copies,
)
from nacre.engine.spaces import SpaceNote, Stats
from nacre.engine.write_request import TermEdit, WriteRequest
from nacre.errors import (
    AccessDenied,
    AmbiguousId,
    HistoryLost,
    InvalidInput,
    MemoryNotFound,
    StorageError,
    VersionMismatch,
)
from nacre.factory import EmbedFunction, StoreOptions, StoreParts, open_parts
from nacre.model import (
    TYPES,
    Conflict,
    Difference,
    Direction,
    Edge,
    Filter,
    Graph,
    History,
    Hit,
    JournalEntry,
    JournalFilter,
    Link,
    Linked,
    Listing,
    Memory,
    Neighborhood,
    Pack,
    Recollection,
    RememberResult,
)
from nacre.model import Path as LinkPath
from nacre.model.graph import Entity, EntityPair
from nacre.model.instants import DAY, Instant, stamp
from nacre.model.journal import PERSON, OperationNote, OperationStatus, TimelineBucket, renamed_to
from nacre.model.memory import ARCHIVED, SUSPICION, TRASHED, Json, clamp, json_list
from nacre.model.review import KINDS, STALE_DAYS, ReviewItem
from nacre.model.validate import (
    Changes,
    Editable,
    Fields,
    check_period,
    checks_arguments,
    fraction,
    json_object,
    label,
    labels,
    natural_number,
    number,
    refuse_single,
    required_label,
    space_name,
    storable_text,
    validate_fields,
    with_moments,
)
from nacre.protocols import (
    Backend,
    Clock,
    Embedder,
    Health,
    Order,
    Progress,
    Reader,
    Reranker,
    Tallied,
    Vectors,
)
from nacre.recall import walk
from nacre.recall.gather import NACRE_STRATEGIES
from nacre.recall.pack import HEADER, TokenCounter, pack, without_padding
from nacre.recall.turns import informative, is_no_statement, with_repeated_notes
from nacre.recall.walk import Walk, relation_list
from nacre.recall_options import (
    RecallOptions,
    Scope,
    between,
    entity_asked,
    make_filter,
    make_query,
    split_options,
    time_asked,
    valid_at_filter,
)
from nacre.remember.guard import JUDGED, SPEAKERS, guard_notes, mark_suspicious
from nacre.remember.suggest import with_names, with_names_of_text
from nacre.settings import DEFAULT, PERSONAL, Settings
from nacre.settings import settings as read_settings
from nacre.storage.pages import check_page
from nacre.text.dates import moment, named_span

if TYPE_CHECKING:
    from nacre.access.capabilities import Access, AgentCapabilities
    from nacre.conflicts.candidates import Comparison
    from nacre.conflicts.judge import ConflictFn
    from nacre.safety.injection import BulkReading, Suspicion  # only writing needs its rules

IGNORE = "ignore"
NOTES_LIKE_ANSWER = 5  # how many notes are compared with an answer, to find the one that it repeats
MANY = 50  # hits from which a pack is made, as some of them may be left out
DECIMALS = 6  # of an importance: three steps of 0.1 are 0.3, not 0.30000000000000004

Relations = str | Iterable[str] | None


class Closing(ABC):
    """Closes itself at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StoreUser(Closing):
    """An API over a `MemoryStore`, which it closes unless the store was lent to it."""

    def __init__(self, store: MemoryStore, *, lent: bool) -> None:
        self.store = store
        self.lent = lent

    def close(self) -> None:
        if not self.lent:
            self.store.close()


def used_hits(recalled: Recollection, strategy: str) -> tuple[Hit, ...]:
    """Those that count as used, which keeps a memory from fading: not the weak ones, which only fill the list. The
    strategies of other systems count all."""
    return recalled.likely if strategy in NACRE_STRATEGIES else recalled.hits


@checks_arguments
class MemoryStore(Closing):
    """A space of a store. Safe to use from any number of threads and processes at once.

    `path` is a file, a directory (which gets `nacre.db` inside) or `:memory:`; without one, and without a `space`,
    the settings decide. `embedder` is a name, an `Embedder`, or any function from texts to rows of numbers.
    """

    personal_space = PERSONAL  # what `personal` is called here; on a server, each user has one
    beside: MemoryStore | None = None  # another space that is looked into as well; see `ProjectStore`

    # Opening, views and closing

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        space: str | None = None,
        embedder: Embedder | EmbedFunction | str | None = None,
        reranker: Reranker | None = None,
        actor: str = "lib",
        clock: Clock = time.time,
        on_conflict: str | None = None,
        conflict_threshold: float = 0.8,  # `judge.THRESHOLD`, which only writing loads
        contradiction_fn: ConflictFn | None = None,
        strict_links: bool | None = None,
        agent: str | None = None,
        session: str | None = None,
        capabilities: AgentCapabilities | None = None,
        settings: Settings | None = None,
    ) -> None:
        common = settings or read_settings()
        name = label("space", common.space if space is None else space) or DEFAULT
        options = StoreOptions(
            settings=common,
            clock=clock,
            actor=actor,
            agent=agent,
            session=session,
            capabilities=capabilities,
            reranker=reranker,
            on_conflict=on_conflict,
            conflict_threshold=conflict_threshold,
            contradiction_fn=contradiction_fn,
            strict_links=strict_links,
        )
        self._bind(open_parts(path, embedder, options, name))

    def _bind(self, parts: StoreParts) -> None:
        """Takes over everything that depends on the space, its settings and the actor."""
        self._parts = parts
        self.space, self.agent, self.session = parts.space, parts.agent, parts.session
        self._backend, self._engine, self._clock = parts.backend, parts.engine, parts.options.clock
        self._settings, self._access, self._guard = parts.settings, parts.access, parts.guard

    def in_space(self, name: str) -> Self:
        """The same open store in another space, under the settings of that space; nothing is opened twice, and closing
        either closes both. Raises `AccessDenied` when the agent may not use that space."""
        return self._view(self._parts.rebuilt(space=required_label("space", name)))

    def as_actor(self, name: str) -> Self:
        """The same open store, whose operations the journal records under another name; a restricted agent keeps its
        own. Closing either closes both."""
        return self._view(self._parts.rebuilt(actor=name))

    def as_user(self, name: str, capabilities: AgentCapabilities) -> Self:
        """The same open store as a user of a server sees it: bound to its name in the journal, its role and its spaces.
        Closing either closes both. Raises `AccessDenied` when this space is not open to the user."""
        self._access.demand("act as a user")
        if getattr(capabilities, "role", None) is None:  # the type forbids others, a caller may not know
            raise InvalidInput("A user needs a role; make its capabilities with `user_capabilities`.")
        return self._view(self._parts.rebuilt(actor=name, capabilities=capabilities))

    def expecting(self, versions: Mapping[str, int], *, check: bool = True) -> Self:
        """The same open store, which changes these memories only while they have these versions. Raises
        `MemoryNotFound`, and `VersionMismatch`, which every later write raises too where one was changed meanwhile.
        Without `check`, only later writes compare them."""
        for memory in self._engine.get_existing(self._backend, self.space, list(versions)) if check else ():
            if memory.version != versions[memory.id]:
                raise VersionMismatch(memory.id, versions[memory.id], memory.version)
        engine = replace(self._engine, versions=dict(versions))
        return self._view(replace(self._parts, engine=engine))

    def _view(self, parts: StoreParts) -> Self:
        view = type(self).__new__(type(self))
        view._bind(parts)
        return view

    def reading(self, reader: Reader) -> Self:
        """The same store for a plan: all that it is asked is read from there, and nothing can be written."""
        backend = cast("Backend", reader)
        return self._view(replace(self._parts, backend=backend, engine=replace(self._engine, store=backend)))

    def acting_as(self, actor: str) -> Engine:
        """The engine with another name in the journal: for maintenance and for the APIs above this one. A restricted
        agent and a person at the command line keep their own."""
        keeps = not isinstance(self._access, Unlimited) or self._engine.actor == PERSON
        return self._engine if keeps else self._engine.named(actor)

    @property
    def backend(self) -> Backend:
        """For this package's own code: where the memories are stored, as far as this agent may see and change them.
        What is written there directly is neither checked nor journaled."""
        return self._backend

    @property
    def access(self) -> Access | Unlimited:
        """For this package's own code: what whoever works with this store may do."""
        return self._access

    @property
    def unrestricted_backend(self) -> Backend:
        """For this package's own code about the store itself, such as its copies; never for what an agent asks."""
        return self._parts.opened

    def close(self) -> None:
        self._parts.catch_up.close()

    @property
    def embedder(self) -> Embedder:
        return self._engine.embedder.inner

    @property
    def settings(self) -> Settings:
        """With those of the space."""
        return self._settings

    @property
    def can_edit_vocabulary(self) -> bool:
        """Whether the vocabulary, which everybody shares, may be changed through this store."""
        return self._access.unrestricted

    @property
    def user_rights(self) -> tuple[str, tuple[str, ...]] | None:
        """The role of the server's user who works with this store, and the spaces that are open to it; none means all.
        None where the store is no server's."""
        can = self._access.capabilities
        return None if can is None or can.role is None else (str(can.role), tuple(can.allowed_spaces))

    def now(self) -> float:
        return self._clock()

    def clean(self, memory: Memory) -> Memory:
        """The memory without secrets that were stored before there was a guard."""
        return self._guard.before_read(memory)

    # Remembering

    def remember(
        self,
        text: str,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        replaces: str | None = None,
        **fields: Unpack[Fields],
    ) -> Memory:
        """Stores a text. Conflicts are handled as `on_conflict` says; `remember_result` returns them.

        `fields` are `id` or `id_prefix`, and those of a `Memory`: `title`, `type`, `tags`, `contexts`, `anti_contexts`,
        `entities`, `links`, `source`, `source_notes`, `metadata`, `importance`, `salience`, `confidence`, `polarity`,
        `trust`, `pinned`, `valence`, `arousal`, `agent`, `session`, `position`, `role`, `status`, `created_at`,
        `occurred_at`, `valid_from`, `valid_until`, `expires_at`, `last_accessed`, `access_count`, `last_validated_at`.
        A date without a clock is its midnight, but of `valid_until` and `expires_at` the end of its day; of these two,
        words such as `friday` and `2w` mean what is to come. Days and hours are UTC.
        """
        return self.remember_result(
            text, on_conflict=on_conflict, contradiction_fn=contradiction_fn, replaces=replaces, **fields
        ).memory

    def remember_result(
        self,
        text: str,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        replaces: str | None = None,
        **fields: Unpack[Fields],
    ) -> RememberResult:
        """As `remember`, and returns the conflicts and what was done about them.

        `note` (the default) keeps both and puts the conflict into the review queue; `ignore` does not look; `warn`
        gives a Python warning; `supersede` replaces what it surely contradicts or updates, notes what is uncertain, and
        merges it into what says the same; `raise` stores nothing and raises `ConflictError`. What it `replaces` is
        superseded with its copies, and gives it its noted conflicts and the type and tags that are not given; under
        `note` and `supersede` its other conflicts are noted, and what says about the same as the old one is outdated. A
        text that is stored already is not stored again: the stored memory counts a use and gets the new tags and
        source. A text that is given with `id` or `id_prefix` is always stored."""
        handling = self._handling(on_conflict, contradiction_fn)
        old = None if replaces is None else self.get(replaces)
        kept = {} if old is None else {"type": old.type, "tags": old.tags}
        validated = self._check_fields({**kept, **fields, "text": text})
        guarded, suspicion, notes = self._guarded(validated)
        suggested = self._parts.suggester.fields(guarded)
        memory = mark_suspicious(self._build({**suggested, **guarded}), suspicion, trust_given="trust" in fields)
        if replaces is not None:
            result = store_replacement(self._engine, memory, replaces, handling, explicit=fields)
        else:
            result = store_one(self._engine, memory, handling, explicit=fields)
        self._parts.catch_up.start()
        return replace(result, notes=notes + result.notes)

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, object]],
        *,
        on_conflict: str = IGNORE,
        progress: Progress | None = None,
    ) -> list[Memory]:
        """Texts, or mappings with `text` and any other field. All are one operation, in parts that let others write in
        between: after an error, complete parts are stored and the rest is not. With another policy than `ignore` each
        memory is an operation of its own. Importance is not suggested: one that is missing is the default."""
        from nacre.safety.injection import BulkReading

        refuse_single(items)
        bulk = BulkReading()
        wanted = [{"text": item} if isinstance(item, str) else item for item in items]
        drafts = [self._draft(item, bulk) for item in wanted]
        explicit = {draft.id: item.keys() for item, draft in zip(wanted, drafts, strict=True)}
        handling = self._handling(on_conflict)
        operation = OperationParts(self.space, self._engine.operation("remember", ""))
        step = PART if on_conflict == IGNORE else 1
        stored: list[Memory] = []
        for start in range(0, len(drafts), step):
            part = drafts[start : start + step]
            if on_conflict == IGNORE:
                results = store_all(self._engine, part, operation, handling.comparison, explicit)
                stored += (result.memory for result in results)
            else:
                stored.append(store_one(self._engine, part[0], handling, explicit=explicit[part[0].id]).memory)
            if progress is not None:
                progress(len(stored), len(drafts), "remembering")
        return stored

    def draft(self, text: str, **fields: Unpack[Fields]) -> Memory:
        """A memory as `remember` would store it, checked and without its secrets; nothing is written."""
        return self._draft({**fields, "text": text})

    def _draft(self, values: Mapping[str, object], bulk: BulkReading | None = None) -> Memory:
        fields, suspicion, _ = self._guarded(self._check_fields(values), bulk)
        memory = self._build({"importance": self._settings.default_importance, **fields})
        return mark_suspicious(memory, suspicion, trust_given="trust" in values)

    def _check_fields(self, values: Mapping[str, object]) -> dict[str, object]:
        if not isinstance(values, Mapping) or "text" not in values:
            raise InvalidInput("A memory needs a text; give it under 'text'.")
        if "id" in values and self._access.is_agent:
            raise AccessDenied(f"The agent {self.agent!r} may not choose an id; leave it out, and one is made.")
        origin = {name: value for name, value in (("agent", self.agent), ("session", self.session)) if value}
        fields = {"type": self._settings.default_type, **origin, **with_moments(values, self._clock, named_span)}
        prefix = label("id_prefix", fields.pop("id_prefix", ""))
        checked = validate_fields(fields, TYPES if fields["type"] in TYPES else self.types())
        return checked if "id" in checked else {"id": f"{prefix}{uuid4()}", **checked}

    def _guarded(
        self, fields: dict[str, object], bulk: BulkReading | None = None
    ) -> tuple[dict[str, object], Suspicion, tuple[str, ...]]:
        """Without secrets; with what is suspicious, and sentences about both."""
        clean, secrets = self._guard.fields(fields)
        suspicion = self._guard.suspicion(clean, bulk, rules_alone=clean.get("role") in SPEAKERS)
        return clean, suspicion, guard_notes(secrets, suspicion.reasons)

    def _build(self, fields: Mapping[str, object]) -> Memory:
        now = self._clock()
        times = {"created_at": now, "updated_at": fields.get("created_at", now), "last_accessed": now}
        own = {"space": self.space, "version": 1}  # the version that its first writing gives it
        memory = Memory.from_fields({**times, **with_names(fields), **own})
        self._check_links(memory.id, memory.links)
        return check_period(memory)

    def _check_links(self, id: str, values: tuple[Link, ...]) -> None:
        if values:
            links.check_links(self._backend, self.space, id, values, strict=self._parts.strict_links)

    def _handling(self, on_conflict: str | None, contradiction_fn: ConflictFn | None = None) -> ConflictHandling:
        policy = self._parts.policy if on_conflict is None else on_conflict
        comparison = self._comparison(contradiction_fn=contradiction_fn)
        return ConflictHandling(policy, comparison, self._access.writable)

    def _comparison(self, threshold: float | None = None, contradiction_fn: ConflictFn | None = None) -> Comparison:
        if contradiction_fn is not None and not callable(contradiction_fn):
            raise InvalidInput("contradiction_fn must be a function of two memories that returns True or False.")
        options = self._parts.options
        return make_comparison(
            self._engine,
            self._parts.conflict_model,
            options.conflict_threshold if threshold is None else threshold,
            contradiction_fn or options.contradiction_fn,
            self._parts.second_judge,
        )

    # Changing what is stored

    def write(
        self,
        operation: str,
        *,
        new: Sequence[Memory] = (),
        edits: Mapping[str, Edit] | None = None,
        successors: Mapping[str, str] | None = None,
        terms: Mapping[tuple[str, str], TermEdit] | None = None,
        unjournaled: Mapping[tuple[str, str], TermEdit] | None = None,
        only_if: Callable[[Self], bool] | None = None,
        why: str = "",
    ) -> list[Memory]:
        """New memories (made by `draft`), edits of stored ones by id, successions (old id to new) and edits of the
        space's terms by kind and name, as one operation of this name: all or nothing. `unjournaled` are edits of
        terms that the journal does not record, so that no undo reverts them. Secrets are removed from all of it.
        Copies of what is replaced stay as they are; `supersede` takes them along. `only_if` decides by what it reads in
        the store that is passed to it whether anything is written, and decides again where others change that before
        it is written. Returns the memories that are new or changed. Raises `MemoryNotFound`, `SecretRefused` and
        `WrongType`."""
        recorded, others = (
            {(self._kind(kind), name): edit for (kind, name), edit in (each or {}).items()}
            for each in (terms, unjournaled)
        )
        wanted = WriteRequest(new, edits or {}, successors or {}, recorded, others)
        wanted.check()
        holds = None if only_if is None else lambda reader: only_if(self.reading(reader))
        guarded = wanted.guarded(self._guard)
        return write_request.apply(self._engine, self.space, operation, guarded, why=why, only_if=holds)

    def edit(self, id: str, *, text: str | None = None, why: str = "", **fields: Unpack[Editable]) -> Memory:
        """Changes the text or other fields of a memory; what is not named stays. Embeds again only what changed;
        conflicts of a new text are handled as the store's `on_conflict` says, and `edit_result` returns them. Raises
        `MemoryNotFound`, and `InvalidInput` for what was redacted."""
        return self.edit_result(id, text=text, why=why, **fields).memory

    def edit_result(
        self, id: str, *, text: str | None = None, why: str = "", **fields: Unpack[Editable]
    ) -> RememberResult:
        """As `edit`, and returns the conflicts of a new text, what was done about them, and sentences on what was left
        out or marked."""
        changes, secrets = self._guarded_changes({**fields} if text is None else {**fields, "text": text})
        self._check_links(id, cast("tuple[Link, ...]", changes.get("links", ())))
        result = edit_one(self._engine, self.space, id, self._edit_of(changes), self._handling(None), why=why)
        judged = JUDGED & changes.keys()
        reasons = tuple(map(str, json_list(result.memory.metadata.get(SUSPICION)))) if judged else ()
        return replace(result, notes=guard_notes(secrets, reasons) + result.notes)

    def editing(self, **fields: Unpack[Changes]) -> Edit:
        """An edit for `write`, checked as `edit` would check it; also refuses what was redacted."""
        return self._edit_of(self._guarded_changes(fields)[0])

    def _guarded_changes(self, fields: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """Without secrets, and the kinds of those."""
        return self._guard.fields(validate_fields(with_moments(fields, self._clock, named_span), self.types()))

    def _edit_of(self, changes: Mapping[str, object]) -> Edit:
        def edit(memory: Memory) -> Memory:
            supersede.refuse_redacted(memory)
            after = with_names_of_text(write_request.with_fields(memory, changes), memory, changes)
            return self._guard.edited(after, memory, trust_given="trust" in changes)

        return edit

    def _edit_of_merged(self, text: str) -> Edit:
        """Gives merged memories their text, by default the one they have; a mark that one of them had stays."""
        changes = self._guarded_changes({"text": text})[0] if text else {}

        def edit(memory: Memory) -> Memory:
            return self._guard.marked(write_request.with_fields(memory, changes)) if changes else memory

        return edit

    def forget(self, *ids: str, why: str = "") -> bool:
        """Moves to the trash, from which `restore` brings it back; False when nothing was moved. Ids that are not in
        the space are left out, without an error."""
        return bool(self._engine.change(self.space, ids, "forget", review.trashed, why=why, missing_ok=True))

    def purge(self, *ids: str, why: str = "") -> int:
        """Deletes for good, from the journal too; returns how many. For a memory that was removed earlier, deletes what
        the journal still has. Ids that the space never had are left out, without an error."""
        return removal.purge(self._engine, self.space, ids, why=why)

    def redact(self, *ids: str, why: str = "") -> int:
        """Removes the content for good, from the record, the indexes, the journal and its mirror, and leaves a mark
        that something was there, also of a memory that is no longer here but was; returns how many. Copies made before,
        such as backups, keep what they have. Raises `MemoryNotFound`."""
        return removal.redact(self._engine, self.space, ids, why=why)

    def supersede(self, old: str, new: str, *, why: str = "") -> None:
        """`new` replaces `old` and its copies, which stay but are no longer recalled. Raises `SupersedeCycle`, and
        `InvalidInput` where `new` is in the trash or the archive or has expired."""
        replaced = with_copies(self._engine, self.space, old, new, self._handling(None))
        write_request.apply(self._engine, self.space, "supersede", WriteRequest(successors=replaced), why=why)

    def merge(self, keep: str, *others: str, text: str = "", why: str = "") -> Memory:
        """Lets `keep` replace the others, with their tags, links and what else only they had, in one operation;
        `text` is its new text, by default its own. It lasts and holds for as long as any of them, links to them lead to
        it, and it is trusted as little as the least trusted. Raises `MemoryNotFound` and `InvalidInput`."""
        self._access.demand_role("reviewer", "merge memories")
        return merge.merge(self._engine, self.space, keep, others, self._edit_of_merged(text), why=why)

    def restore(self, *ids: str, why: str = "") -> bool:
        """Reverses a `forget` or a `supersede` of several memories in one operation; False when there was neither. What
        has expired meanwhile no longer expires. Raises `MemoryNotFound`, and `InvalidInput` for what was redacted."""
        return supersede.restore(self._engine, self.space, ids, why=why)

    def validate(self, id: str, *, confidence: float | None = None, why: str = "") -> Memory:
        """Records that it still holds, and how certain that is now."""
        sure = None if confidence is None else fraction("confidence", confidence)
        return self._engine.change(self.space, [id], "validate", review.validated(self._clock(), sure), why=why)[0]

    # Recalling

    def recall(
        self, query: str, k: int = 5, *, touch: bool = True, rerank: bool = True, **options: Unpack[RecallOptions]
    ) -> Recollection:
        """The memories that answer best, each with its reasons. A hit that is not weak counts as a use unless
        `touch` is False. Beside a hit that answers, weak ones fill the list up to `k`; `min_relevance` leaves them out.
        With `as_of` it answers as the store would have then, which never counts as a use; with `valid_at`, from what
        held at that time.

        The configured reranker reads the best ones unless `rerank` is False. Where none is configured, the shipped
        model reads them within `rerank_ms`, under the strategy `auto` alone and only where relevance is calibrated for
        the embedder (`Recollection.calibrated`).
        """
        from nacre.recall.recall import clean_recollection, recall  # slow to import, and not every command recalls

        ranking, scope = split_options(options)
        if self._settings.min_trust and scope.get("min_trust") is None:
            scope["min_trust"] = self._settings.min_trust
        stored = self._engine.embedder.check()
        as_of = scope.get("as_of")
        now, reader = self._state(as_of)
        wanted = make_query(query, k, ranking, self._filter(scope, now, reader), now)
        recollection = recall(
            wanted,
            space=self.space,
            reader=reader,
            embedder=embedder_for_questions(self._engine, stored),
            measured=stored.measured,
            reranker=self._parts.reranker if rerank else None,
            answer_model=self._parts.answer_model if rerank else None,
        )
        if touch and as_of is None:
            self._count_uses(used_hits(recollection, wanted.strategy))
        self._parts.catch_up.start()
        return clean_recollection(recollection, self._guard.before_read)

    def recall_pack(
        self,
        query: str,
        *,
        token_budget: int = 800,
        max_items: int = 50,
        header: str = HEADER,
        token_counter: TokenCounter | None = None,
        fence: bool = True,
        ids: bool = False,
        **options: Unpack[RecallOptions],
    ) -> Pack:
        """The best memories that fit the budget, as text for a model's context. Only what is packed counts as used.
        With `ids` each begins with its short id, for a model that may forget or correct it.
        The text says, around the memories, that they are data and not instructions; `fence=False` leaves that out, for
        what no model reads. Weak hits are left out beside others, unless `min_relevance` or the strategy of another
        system is given. Turns of a conversation that state nothing, such as questions, are left out unless a `role` or
        `session` is given, and a note takes the place of an answer that only repeats it."""
        only_statements = not options.get("role") and not options.get("session")
        wide = only_statements and not options.get("expand")  # what links lead to comes on top of `max_items`
        recalled = self.recall(query, max(max_items, MANY) if wide else max_items, touch=False, **options)
        if only_statements:
            stated = tuple(informative(recalled.hits, is_no_statement))
            recalled = replace(recalled, hits=stated[:max_items] if wide else stated)
        all_hits, is_nacre = recalled.hits, (options.get("strategy") or "auto") in NACRE_STRATEGIES
        if options.get("min_relevance") is None and is_nacre:
            recalled = without_padding(recalled)
        if only_statements and is_nacre:
            with_notes = with_repeated_notes(recalled.hits, all_hits, partial(self._notes_like, options=options))
            recalled = replace(recalled, hits=tuple(with_notes))
        packed = pack(
            recalled, token_budget, header=header, token_counter=token_counter, fence=fence, ids=ids, at=self.now()
        )
        if options.get("as_of") is None:
            used = set(packed.ids())
            self._count_uses(hit for hit in recalled if hit.memory.id in used)
        return packed

    def _notes_like(self, answer: Memory, options: RecallOptions) -> Recollection:
        """The notes that share the most words with an answer, among those that the filters of these options admit."""
        admitted = {
            name: value for name, value in options.items() if name == "contexts" or name in Scope.__annotations__
        }
        where = (options.get("where") or Filter()) & Filter.where(role="")
        asked = cast("RecallOptions", {**admitted, "where": where, "strategy": "keyword", "min_relevance": 0.0})
        return self.recall(answer.text, NOTES_LIKE_ANSWER, touch=False, rerank=False, **asked)

    def _count_uses(self, hits: Iterable[Hit]) -> None:
        """Of the hits of this space, and of the links that led to some of them."""
        own = [hit for hit in hits if hit.memory.space == self.space]
        followed = [hit.via for hit in own if hit.via is not None]
        if own:
            self._backend.touch(self.space, [hit.memory.id for hit in own], self._clock())
        if followed:
            self._backend.walked(self.space, followed)

    def touch(self, *ids: str) -> None:
        """Counts a use of each, as a recall does by itself. Not journaled."""
        self._backend.touch(self.space, ids, self._clock())

    def _state(self, as_of: Instant | None) -> tuple[float, Reader]:
        """What "yesterday", ages and expiry count from, and the store as it is, or as it was at that time. Raises
        `InvalidInput` for what nobody knows yet, and `HistoryLost`."""
        at = time_asked(as_of, self._clock())
        return at.now, self._backend if as_of is None else history.state_at(self._backend, self.space, at.known_at)

    def _selected(self, scope: Scope) -> tuple[Reader, Filter]:
        """What a list is read from, and which memories it has."""
        now, reader = self._state(scope.get("as_of"))
        return reader, self._filter(scope, now, reader)

    def _filter(self, scope: Scope, now: float, reader: Reader) -> Filter:
        """Of an entity, the spellings are looked up in what the reader has, and its names are those known today."""
        types, entity, names = self.types() if scope.get("type") else (), entity_asked(scope), list[str]()
        if entity is not None:
            from nacre.engine import entities  # slow to import

            names = entities.spellings(reader, self.space, entity)
        return make_filter(scope, now=now, types=types, spellings=names)

    # Reading and listing

    def get(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> Memory | None:
        """With `as_of`, as the store knew it then; with `valid_at`, the version that held then."""
        now, reader = self._state(as_of)
        memory = next(iter(reader.get_many(self.space, [id])), None)
        if memory is None or valid_at is None:
            return memory
        held, versions = valid_at_filter(valid_at, now), history.history(reader, self.space, id).versions
        return next((each for each in reversed(versions) if held.admits(each)), None)

    def get_many(self, ids: Sequence[str]) -> list[Memory]:
        """In the order asked for, each once; unknown ids are left out."""
        return self._backend.get_many(self.space, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The stored vectors of each memory that has some, a row for each chunk of its text."""
        return self._backend.vectors(self.space, ids)

    def resolve_id(self, prefix: str) -> str:
        """The only id that starts with `prefix`. Raises `MemoryNotFound` or `AmbiguousId`."""
        ids = self._backend.ids_like(self.space, prefix, limit=6) if prefix else []
        if not ids:
            raise MemoryNotFound(prefix, self.space)
        if len(ids) > 1 and prefix not in ids:
            raise AmbiguousId(prefix, ids)
        return ids[0]

    def list_recent(
        self, limit: int = 20, *, order: Order = "newest", offset: int = 0, cursor: str = "", **scope: Unpack[Scope]
    ) -> Listing:
        """A list of memories whose `cursor` continues it in the next call; it is empty at the end. A walk by cursors
        meets each memory once, also while others write. Raises `InvalidInput` for a damaged cursor."""
        reader, where = self._selected(scope)
        page = reader.page(self.space, where, order=order, limit=limit, cursor=cursor, offset=offset)
        return Listing(page.memories, page.cursor)

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        """Oldest first, however many there are, in bounded memory."""
        reader, where = self._selected(scope)
        return reader.iterate(self.space, where)

    def count(self, **scope: Unpack[Scope]) -> int:
        reader, where = self._selected(scope)
        return reader.count(self.space, where)

    def tally(self, field: Tallied, **scope: Unpack[Scope]) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name."""
        reader, where = self._selected(scope)
        return reader.tally(self.space, field, where)

    def stats(self) -> Stats:
        return spaces.gather_stats(self._backend, self.space, self._clock())

    # Links

    def link(
        self,
        source: str,
        target: str,
        rel: str = "related",
        *,
        weight: float = 1.0,
        data: Mapping[str, Json] | None = None,
        why: str = "",
    ) -> Linked:
        """Links one memory to another. Repeating it changes nothing; the target need not exist, unless the store has
        `strict_links`. A link of the relation `supersedes` lets the source replace the target, but not the target's
        copies, which `supersede` takes along. Raises `MemoryNotFound`, `LinkRefused` and, as `supersede` does,
        `SupersedeCycle` and `InvalidInput`."""
        wanted = self._guard.link(Link(target, rel, weight, json_object("data", data) if data else {}))
        return links.link(self._engine, self.space, source, wanted, strict=self._parts.strict_links, why=why)

    def unlink(self, source: str, target: str, rel: str | None = None, *, why: str = "") -> int:
        """Removes the link of this relation, or all from the source to the target; returns how many. Without its
        `supersedes` link a target that was replaced is recalled again. Raises `MemoryNotFound`."""
        return links.unlink(self._engine, self.space, source, target, rel, why=why)

    def neighbors(
        self,
        id: str,
        *,
        rel: Relations = None,
        direction: Direction = "both",
        depth: int = 1,
        include_hidden: bool = False,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> Neighborhood:
        """What links lead to, each memory once, nearest first; what is trashed, superseded or expired is not returned
        and not followed unless asked for. With `valid_at` only what held then is followed, whatever replaced it since.
        Followed links are counted."""
        start = self._walk(rel, direction, include_hidden, as_of, valid_at)
        neighborhood, followed = walk.neighbors(start, id, natural_number("depth", depth))
        if followed and as_of is None:
            self._backend.walked(self.space, followed)
        return neighborhood

    def subgraph(
        self,
        ids: Iterable[str],
        *,
        depth: int = 1,
        rel: Relations = None,
        direction: Direction = "both",
        include_hidden: bool = True,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> Graph:
        """These memories, those within `depth` of them, and every link between all of them; at depth 0 these alone.
        Unlike `neighbors` and `path`, it shows and follows what is trashed, superseded or expired, unless
        `include_hidden` is False. Raises `MemoryNotFound`."""
        start = self._walk(rel, direction, include_hidden, as_of, valid_at)
        return walk.subgraph(start, list(dict.fromkeys(ids)), natural_number("depth", depth))

    def path(
        self,
        start: str,
        end: str,
        *,
        rel: Relations = None,
        direction: Direction = "both",
        include_hidden: bool = False,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> LinkPath | None:
        """A shortest way along links from one memory to another; None when there is none."""
        walked = self._walk(rel, direction, include_hidden, as_of, valid_at)
        path = walk.path(walked, start, end)
        if path is not None and path.edges and as_of is None:
            self._backend.walked(self.space, path.edges)
        return path

    def _walk(
        self,
        rel: Relations,
        direction: Direction,
        include_hidden: bool,
        as_of: Instant | None,
        valid_at: Instant | None,
    ) -> Walk:
        now, reader = self._state(as_of)
        if not include_hidden:
            where = self._filter({"valid_at": valid_at}, now, reader)
        else:
            where = Filter() if valid_at is None else valid_at_filter(valid_at, now)
        return Walk(reader, self.space, direction, relation_list(rel), where)

    def edges(
        self, *, out_of: Sequence[str] | None = None, into: Sequence[str] | None = None, rel: Relations = None
    ) -> list[Edge]:
        """The links themselves, from or to these memories; all of the space when neither is given."""
        sources, targets = ([ids] if isinstance(ids, str) else ids for ids in (out_of, into))
        return self._backend.edges(self.space, out_of=sources, into=targets, rels=relation_list(rel))

    def relations(self) -> dict[str, str]:
        """Every known relation with its description. A restricted agent sees those of the links that it sees."""
        return links.relations(self._backend)

    def register_relation(self, name: str, description: str = "") -> None:
        """Adds a relation to the vocabulary, or confirms one that was learned from a link."""
        about = self._guard.words(storable_text("description", description).strip())
        relation = self._guard.name("relation", required_label("relation", name))
        self._engine.register(RELATION, relation, {"description": about}, self.space)

    def weak_links(self, *, below: float = links.WEAK, walks: int = 0) -> list[Edge]:
        """The plan of `prune_links`: links with less weight than `below` that were followed at most `walks` times."""
        return links.prunable(self._backend, self.space, below=below, walks=walks)

    def prune_links(self, edges: Iterable[Edge], *, why: str = "") -> int:
        """Removes these links in one operation; one that was followed since it was planned stays. Returns how many."""
        return links.prune(self._engine, self.space, edges, why=why)

    # Marks

    def pin(self, *ids: str, why: str = "") -> list[Memory]:
        """Protects them from decay and retention."""
        return self._mark("pin", ids, lambda memory: replace(memory, pinned=True), why)

    def unpin(self, *ids: str, why: str = "") -> list[Memory]:
        return self._mark("unpin", ids, lambda memory: replace(memory, pinned=False), why)

    def archive(self, *ids: str, why: str = "") -> list[Memory]:
        """Hides them; `include_archived` includes them."""
        return self._mark("archive", ids, lambda memory: replace(memory, status=ARCHIVED), why)

    def unarchive(self, *ids: str, why: str = "") -> list[Memory]:
        """Takes them out of the archive, back to the status that the journal says they had. What has expired meanwhile
        no longer expires."""
        earlier = {id: history.status_before_archive(self._backend, self.space, id) for id in ids}

        def edit(memory: Memory) -> Memory:
            if memory.status != ARCHIVED:
                return memory
            return supersede.without_passed_expiry(replace(memory, status=earlier[memory.id]), self._clock())

        return self._mark("unarchive", ids, edit, why)

    def tag(self, *ids: str, add: Iterable[str] = (), remove: Iterable[str] = (), why: str = "") -> list[Memory]:
        """Adds and removes tags. The searched words follow; no vector is computed again."""
        guarded, _ = self._guard.fields(validate_fields({"tags": add if isinstance(add, str) else tuple(add)}, ()))
        added = cast("tuple[str, ...]", guarded["tags"])
        removed = labels("tags", remove if isinstance(remove, str) else tuple(remove))
        if not added and not removed:
            raise InvalidInput("No tag was named; give tags to add or to remove.")

        def edit(memory: Memory) -> Memory:
            tags = dict.fromkeys((*memory.tags, *added))
            return replace(memory, tags=tuple(tag for tag in tags if tag not in removed))

        return self._mark("tag", ids, edit, why)

    def bump(self, *ids: str, by: float | None = None, to: float | None = None, why: str = "") -> list[Memory]:
        """Changes the importance: `by` adds to it, within 0 and 1, `to` sets it."""
        if (by is None) == (to is None):
            raise InvalidInput("Give either by how much the importance changes, or to what; not both.")
        fixed, step = None if to is None else fraction("importance", to), 0.0 if by is None else number("by", by, -1, 1)

        def edit(memory: Memory) -> Memory:
            bumped = clamp(round(memory.importance + step, DECIMALS)) if fixed is None else fixed
            return replace(memory, importance=bumped)

        return self._mark("bump", ids, edit, why)

    def _mark(self, operation: str, ids: Sequence[str], edit: Edit, why: str) -> list[Memory]:
        """Leaves alone what is in the trash, also what gets there while we wait for our turn to write."""

        def mark(memory: Memory) -> Memory:
            return memory if memory.status == TRASHED else edit(memory)

        changing = [
            memory.id for memory in self._engine.get_existing(self._backend, self.space, ids) if mark(memory) != memory
        ]
        marked = self._engine.change(self.space, changing, operation, mark, why=why) if changing else []
        return [memory for memory in marked if memory.status != TRASHED]

    # History and undo

    def history(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> History:
        """Every version of the fact that this memory belongs to, oldest first, and each change of its value.

        With `as_of` as it was known then; with `valid_at` only the versions that held then. Raises `MemoryNotFound`.
        """
        now, reader = self._state(as_of)
        every = history.history(reader, self.space, id)
        return every if valid_at is None else history.only_versions(every, valid_at_filter(valid_at, now))

    def diff(self, earlier: Instant, later: Instant | None = None) -> Difference:
        """What the store knew at the later time, by default now, and not at the earlier one, and what changed."""
        now = self._clock()
        begin, end = moment(earlier, now), time_asked(later, now).known_at
        return history.difference_between(self._backend, self.space, begin, end)

    def journal(
        self,
        id: str | None = None,
        *,
        operation: str | None = None,
        actor: str | None = None,
        batch: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int | None = 20,
        newest_first: bool = True,
    ) -> list[JournalEntry]:
        """What was done; `batch` may be the first characters of one. A row that cannot be read is marked `damaged`."""
        where = JournalFilter(id, batch, operation, actor, *between(since, until, self._clock()))
        check_page(limit, 0)
        entries = self._backend.journal(self.space, where, newest_first=newest_first, limit=limit)
        return list(map(self._visible_entry, entries))

    def iterate_journal(
        self,
        id: str | None = None,
        *,
        operation: str | None = None,
        actor: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> Iterator[JournalEntry]:
        """Oldest first, however many there are, in bounded memory; what is written meanwhile is left out."""
        where = JournalFilter(id, None, operation, actor, *between(since, until, self._clock()))
        return map(self._visible_entry, history.iterate_entries(self._backend, self.space, where))

    def changes(self, since: int = 0, *, limit: int = 100) -> list[JournalEntry]:
        """The journal entries after the one with the number `since`, oldest first: what a copy elsewhere has to follow.
        Raises `HistoryLost` when the journal no longer has all of them, or not the one with this number."""
        self._access.demand_numbers("follow the journal by its numbers")
        begins, _ = self._backend.journal_begins(self.space)
        if since < begins:
            raise HistoryLost(
                f"The journal of {self.space!r} begins after entry {begins}, and entry {since} was asked for; read "
                f"everything anew, and continue after {begins}."
            )
        where = JournalFilter(after=max(0, since))
        check_page(limit, 0)
        entries = self._backend.journal(self.space, where, newest_first=False, limit=limit)
        if not entries and since > begins and since > self._last_seq():
            raise HistoryLost(
                f"The journal of {self.space!r} has no entry {since}: the space was deleted for good, or an older copy "
                "of the store took its place. Read everything anew, and continue after the last entry."
            )
        return list(map(self._visible_entry, entries))

    def _last_seq(self) -> int:
        last = self._backend.journal(self.space, limit=1)
        return last[0].seq if last else 0

    def operations(
        self,
        *,
        operation: str | None = None,
        actor: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> list[OperationNote]:
        """The operations that the journal has, newest first; `before` is the `seq` of the last one of an earlier
        call."""
        self._access.demand_numbers("list operations")
        upto = None if before is None else before - 1
        since, until = between(since, until, self._clock())
        where = JournalFilter(operation=operation, actor=actor, since=since, until=until, upto=upto)
        check_page(limit, 0)
        return history.operations(self._backend, self.space, where, limit)

    def operation(self, batch: str) -> OperationStatus:
        """An operation, whether it can be undone, and what blocks that. Raises `OperationNotFound`."""
        status = undo.status(self._engine, self.space, self.resolve_operation(batch))
        return replace(status, entries=tuple(map(self._visible_entry, status.entries)))

    def _visible_entry(self, entry: JournalEntry) -> JournalEntry:
        """Gaps between the numbers would tell a restricted agent how much others have written."""
        return replace(entry, seq=0) if self._access.is_agent else entry

    def undo(
        self,
        batch: str | JournalEntry | None = None,
        *,
        last: int | None = None,
        any_actor: bool = False,
        cascade: bool = False,
        why: str = "",
    ) -> list[JournalEntry]:
        """Takes back an operation: the one named, or the `last` ones of this actor, by default one; with `any_actor`
        the last ones of anybody. An undo can be undone. One that was killed half-way is finished first, with a warning
        in the log; without a name nothing else is then taken back.

        Raises `UndoRefused` when there is no such operation or no way back, and `UndoBlocked`, which names them, when
        later operations depend on it; with `cascade` those are taken back too. Either way nothing was changed.
        """
        if batch is not None and last is not None:
            raise InvalidInput("Name an operation, or say how many to undo; not both.")
        if batch is not None:
            batches = [batch.operation.batch if isinstance(batch, JournalEntry) else self.resolve_operation(batch)]
        else:
            count = 1 if last is None else last
            batches = undo.last_batches(self._engine, self.space, count, any_actor=any_actor)
        entries = undo.undo(self._engine, self.space, batches, cascade=cascade, why=why)
        renamed = renamed_to(entries)
        if renamed is not None and renamed != self.space:
            self._bind(self._parts.rebuilt(space=renamed))
        return list(map(self._visible_entry, entries))

    def timeline(
        self, *, bucket: Bucket = "day", since: Instant | None = None, until: Instant | None = None
    ) -> list[TimelineBucket]:
        """How much was created, changed and forgotten by day, week or month, oldest first; by default the last 30 of
        them. Times are UTC. Raises `InvalidInput` for more than 400."""
        self._access.demand_numbers("see a timeline")
        start, end = between(since, until, self._clock())
        return history.timeline(self._backend, self.space, bucket, start, self._clock() if end is None else end)

    def resolve_operation(self, prefix: str) -> str:
        """The only batch that begins so. Raises `OperationNotFound` or `InvalidInput`."""
        return undo.resolve_batch(self._backend, self.space, prefix)

    def compact(self, *, older_than_days: float | None = None, why: str = "") -> int:
        """Drops journal entries older than this, by default than the setting `journal_days`; returns how many. Their
        operations can no longer be undone, and earlier states no longer be read."""
        days = self._settings.journal_days if older_than_days is None else older_than_days
        if days <= 0 and older_than_days is None:
            return 0
        if days < 0:
            raise InvalidInput(f"A journal cannot be compacted to {days:g} days; give 0 or more.")
        return removal.compact(self._engine, self.space, self._clock() - days * DAY, why=why)

    # Conflicts and review

    def find_conflicts(
        self,
        memory_id: str | None = None,
        *,
        threshold: float | None = None,
        contradiction_fn: ConflictFn | None = None,
        progress: Progress | None = None,
    ) -> list[Conflict]:
        """What one memory conflicts with, or every pair of the space that does; worst first. Nothing is changed.

        Candidates come from the word and vector indexes, so that a scan does not compare all pairs. Pairs that were
        decided before are left out.
        """
        comparison = self._comparison(threshold, contradiction_fn)
        if memory_id is None:
            return review.scan(comparison, self.space, progress)
        (memory,) = self._engine.get_existing(self._backend, self.space, [memory_id])
        vectors = self._backend.vectors(self.space, [memory_id]).get(memory_id)
        return comparison.conflicts(memory, None if vectors is None else vectors[0])

    def note_conflicts(self, conflicts: Iterable[Conflict], *, why: str = "") -> int:
        """Puts conflicts into the review queue, in one operation; returns how many were not there yet."""
        return review.note_conflicts(self._engine, self.space, list(conflicts), why=why)

    def review(
        self,
        *,
        kinds: Iterable[str] | str = KINDS,
        stale_days: float = STALE_DAYS,
        limit: int | None = 50,
        offset: int = 0,
    ) -> list[ReviewItem]:
        """What waits for a decision: noted conflicts, memories that nobody confirmed or that are outdated, relations
        that were learned from links, and names that may be one entity."""
        wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        return review.ReviewQueue(self._engine, self.space, stale_days).items(wanted, limit, offset)

    def decide(
        self,
        item: ReviewItem | str,
        decision: str,
        *,
        into: str = "",
        text: str = "",
        why: str = "",
        stale_days: float = STALE_DAYS,
    ) -> bool:
        """Settles an item of the queue, given itself or its id, in one operation that `undo` takes back; False for
        `skip`.

        `item.decisions` lists the possible decisions. `into` names the relation that a term is merged with, or the name
        of merged entities; `text` is the text of merged memories, by default the newer one.
        """
        self._access.demand_role("reviewer", "decide on review items")
        queue = review.ReviewQueue(self._engine, self.space, stale_days)
        known = queue.item(item, decision) if isinstance(item, str) else item
        edit = self._edit_of_merged(text)
        return review.decide(self._engine, self.space, known, decision, into=into, edit=edit, why=why)

    # Entities and vocabulary

    def entities(self, limit: int | None = None, *, offset: int = 0) -> list[Entity]:
        """Who and what live memories mention, the most mentioned first; all the names of one together."""
        from nacre.engine import entities  # slow to import

        check_page(limit, offset)
        every = entities.entities(self._backend, self.space, Filter.live(self._clock()))
        return every[offset:] if limit is None else every[offset : offset + limit]

    def resolve_entity(self, name: str) -> str:
        """The name of the entity that has this name or alias, in any spelling; without an entity, the name itself."""
        from nacre.engine import entities  # slow to import

        return entities.EntityIndex.read(self._backend, self.space).name(name)

    def memories_about(self, name: str, limit: int = 20, **scope: Unpack[Scope]) -> list[Memory]:
        """The memories that mention the entity by any of its names, in any spelling, newest first. With `as_of` too,
        its names are those that are known today."""
        check_page(limit, 0)
        reader, where = self._selected({**scope, "entity": name})
        return reader.page(self.space, where, limit=limit).memories

    def merge_entities(self, into: str, *others: str, why: str = "") -> bool:
        """Makes the others aliases of `into`, with all their own aliases, in one operation that `undo` takes back; the
        texts of memories stay as written. False when it was so already."""
        from nacre.engine import entities  # slow to import

        self._access.demand_role("reviewer", "merge entities")
        for name in (into, *others):
            self._guard.name("name of an entity", name)
        return entities.merge(self._engine, self.space, into, others, why=why)

    def unalias(self, name: str, *, why: str = "") -> bool:
        """Lets an alias be a name of its own again; False when it is nobody's alias."""
        from nacre.engine import entities  # slow to import

        self._access.demand_role("reviewer", "take entities apart")
        return entities.unalias(self._engine, self.space, name, why=why)

    def entity_suggestions(self, limit: int | None = 20, *, offset: int = 0) -> list[EntityPair]:
        """Names that may be one and are neither merged nor judged to be two, the most probable first, each with its
        reason."""
        from nacre.engine import entities  # slow to import

        check_page(limit, offset)
        pairs = entities.suggestions(self._backend, self.space, Filter.live(self._clock()))
        return pairs[offset:][:limit]

    def types(self) -> tuple[str, ...]:
        return (*TYPES, *(name for name in self._backend.terms("type") if name not in TYPES))

    def register_type(self, name: str) -> None:
        """Adds a memory type to this store, in all its spaces; one that it has stays as it is."""
        type = self._guard.name("type", required_label("type", name)).lower()
        if type not in TYPES:
            self._engine.register("type", type, {}, self.space, replace_known=False)

    def vocabulary(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The terms of a kind that this space was taught (tags, sources, names), with their data."""
        return self._backend.terms(self._kind(kind))

    def _kind(self, kind: str) -> str:
        return f"{kind}/{self.space}"

    # Spaces

    def spaces(self) -> dict[str, int]:
        """Each space that has memories, with their number; `space_notes` also lists those that were created and are
        empty."""
        return self._backend.spaces()

    def space_notes(self) -> list[SpaceNote]:
        """Every space that holds a memory or was created, by name, with the number of its memories and what it is
        for."""
        return spaces.space_notes(self._backend)

    def create_space(self, name: str, description: str = "", *, why: str = "") -> bool:
        """Lists a space and what it is for; without that, a space begins with its first memory. False when it was
        listed so already."""
        self._access.demand_for_space("create a space")
        about = self._guard.words(storable_text("description", description).strip())
        return spaces.create(self._engine, space_name(name), about, why=why)

    def copy_space(self, target: str, *, dry_run: bool = False, why: str = "") -> list[Memory]:
        """Copies what this space holds, except its trash, into another with all fields, links and vectors, as one
        operation there; returns the copies. What has the same id there is left alone."""
        self._access.demand_for_space("copy a space")
        into = space_name(target)
        copies = spaces.to_copy(self._engine, self.space, into)
        return copies if dry_run else spaces.copy(self._engine, self.space, into, why=why)

    def move(self, *ids: str, to: str, why: str = "") -> list[Memory]:
        """Moves memories to another space with all fields and vectors, and with what they replaced or what replaced
        them, in one operation that `undo` takes back in either space. Links to and from what stays lead nowhere until
        then, and what the journal says of the past stays where it was. Returns all that was moved. Raises
        `MemoryNotFound`, and `InvalidInput` where an id is taken there."""
        self._access.demand_for_space("move memories to another space")
        return spaces.move(self._engine, self.space, ids, space_name(to), why=why)

    def rename_space(self, new: str, *, why: str = "") -> None:
        """Renames this space with its journal and its terms to a name that is free; this store follows. Programs that
        have the space open under its old name begin an empty one if they write."""
        if self._access.is_agent:
            raise AccessDenied(
                f"The agent {self.agent!r} is bound to its space, and may not rename it; let others do so."
            )
        name = space_name(new)
        spaces.rename(self._engine, self.space, name, why=why)
        self._bind(self._parts.rebuilt(space=name))

    def delete_space(self, *, purge: bool = False, why: str = "") -> int:
        """Moves all that this space holds to the trash in one operation, or with `purge` deletes it for good, its trash
        too; returns how many memories."""
        self._access.demand_for_space("delete a space")
        return (spaces.purge if purge else spaces.empty)(self._engine, self.space, why=why)

    # Upkeep

    def reindex(self, *, restart: bool = False, progress: Progress | None = None) -> int:
        """Computes all words and vectors again with the present embedder; returns how many memories.

        An interrupted one continues where it ended, unless `restart` begins anew.
        """
        if not self._access.is_agent:  # an agent is refused by its restricted view
            self._access.demand("reindex the store")
        return reindex(self._engine, restart=restart, progress=progress)

    def catch_up(self, *, progress: Progress | None = None) -> int:
        """Embeds what was stored while the model was away, and notes its conflicts; returns how many memories."""
        if not self._access.is_agent:  # an agent embeds what its restricted view lets it write
            self._access.demand("embed what waits in the store")
        return catch_up_all(self._engine, progress=progress, on_embedded=self._parts.catch_up.on_embedded)

    def backup(self, path: Path | str) -> Path:
        """Copies the store with all its spaces while others write; a folder gets a file named after the time.

        The copy is verified before it gets its name, and never replaces anything. Returns the copy's path.
        """
        target = Path(path).expanduser()
        if target.is_dir() or str(path).endswith(("/", "\\")):
            target = target / f"nacre-{stamp(self._clock())}.db"
        if self._backend.files is None:
            raise StorageError(
                f"This store is not in a file, and cannot be copied to {target}. Of a database, pg_dump makes a "
                "backup, and of a store in memory, `export` writes an archive."
            )
        self._backend.files.copy_to(target)
        return target

    def check_records(self) -> None:
        """Raises `StoreDamaged` when a walk over all memories would miss some."""
        if self._backend.files is not None:
            self._backend.files.check_records()

    def health(self, *, thorough: bool = False) -> Health:
        return self._backend.health(thorough=thorough)
