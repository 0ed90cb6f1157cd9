"""What is closed at the end of a `with`; and a face that closes its store only where it opened it itself."""

from __future__ import annotations

import gzip
import io
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, TextIO, Unpack, cast
from uuid import uuid4

from nacre import files
from nacre.conflicts.candidates import Alike, Comparison, ConflictFn, Judge, alike_by
from nacre.engine import Engine, indexing, spaces
from nacre.engine import links as linking
from nacre.engine import merge as merging
from nacre.engine import remember as remembering
from nacre.engine import review as reviewing
from nacre.engine import undo as undoing
from nacre.engine.changes import SPACE, SPACE_NAME, AnyChange, TermChange
from nacre.engine.engine import ChangeSet, Edit, Term, TermEdit, compose
from nacre.engine.history import Past, difference_between, history, past
from nacre.engine.links import WEAK
from nacre.engine.links import check as check_links
from nacre.engine.remember import Handling, known_policy
from nacre.engine.review import STALE_DAYS, Queue, noted_conflicts, scan, trashed, validated
from nacre.engine.spaces import DESCRIPTION
from nacre.engine.stats import Stats, gather_stats
from nacre.errors import (
    AccessDenied,
    AmbiguousId,
    EmbeddingError,
    HistoryLost,
    InvalidInput,
    MemoryNotFound,
    StorageError,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    UndoRefused,
)
from nacre.factory import (
    EmbedFunction,
    as_known,
    check_mirror,
    embedder_from,
    make_access,
    make_conflict_judge,
    make_guard,
    make_journal_mirror,
    make_reranker,
    make_suggesting,
    narrowed,
    open_store,
)
from nacre.model import (
    TYPES,
    Conflict,
    Difference,
    Direction,
    Edge,
    Filter,
    Graph,
    History,
    JournalEntry,
    JournalExport,
    JournalFilter,
    Link,
    Linked,
    Memory,
    Neighborhood,
    Pack,
    Recollection,
    RememberResult,
)
from nacre.model import Path as LinkPath
from nacre.model.arguments import checks_arguments
from nacre.model.graph import Entity, EntityPair
from nacre.model.instants import DAY, Instant, iso, seconds
from nacre.model.journal import to_line
from nacre.model.memory import Json
from nacre.model.review import KINDS, ReviewItem
from nacre.protocols import (
    Backend,
    Clock,
    Embedder,
    Health,
    JournalSink,
    Order,
    Progress,
    Reranker,
    Tallied,
    Transaction,
    Vectors,
)
from nacre.recall import walk
from nacre.recall.pack import HEADER, TokenCounter, pack
from nacre.recall.recall import clean_recollection
from nacre.recall.walk import Walk, relation_list
from nacre.recall_options import Asking, Scope, filter_of, held_at, instant, parted, query_of
from nacre.remember.derive import derive_or_defer
from nacre.remember.guard import guard_notes as found
from nacre.remember.guard import is_suspicious, mark_suspicious, restore_trust
from nacre.remember.validate import (
    Changes,
    Editable,
    Fields,
    fraction,
    label,
    labels,
    natural_number,
    number,
    required_label,
    storable_text,
    validate_fields,
)
from nacre.settings import Settings
from nacre.settings import settings as read_settings

if TYPE_CHECKING:
    from nacre.access.capabilities import AgentCapabilities


class Closing(ABC):
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Face(Closing):
    def __init__(self, store: MemoryStore, *, lent: bool) -> None:
        self.store = store
        self.lent = lent

    def close(self) -> None:
        if not self.lent:
            self.store.close()


CATCH_UP = 32  # waiting memories that a call embeds on its way; some 50 ms


BATCH = 256  # memories per transaction in bulk: long enough to fill a block of vectors, short enough for other writers
IGNORE = "ignore"


def edited(memory: Memory, changes: Mapping[str, object]) -> Memory:
    """Whoever edits a memory into the trash can restore it to where it was."""
    if "text" in changes and is_suspicious(memory):
        memory = restore_trust(memory)
    after = replace(memory, **changes)  # type: ignore[arg-type]
    if "status" not in changes or after.status == memory.status:
        return after
    return replace(after, trashed_from=memory.status if after.status == "trashed" else "")


Relations = str | Iterable[str] | None


ARCHIVED = "archived"
PLACES = 6  # of an importance: three steps of 0.1 are 0.3, not 0.30000000000000004
UNTOLD = "long_term"  # where the journal no longer says: somebody wants it, so that it should last


def status_before(entry: JournalEntry) -> str:
    """Empty unless this entry put it into the archive, from elsewhere than the trash."""
    before, after = entry.before or {}, entry.after or {}
    told = str(before.get("status", "")) if after.get("status") == ARCHIVED else ""
    return "" if told == "trashed" else told


LOOKED_BACK = (32, 1024, None)  # entries read to find the last act; hardly ever more than the first few
WHOLE_BATCH = 32  # characters
PAGE = 1_000  # entries that an export reads at once


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A file under another name, which takes the place of `path` when all went well."""
    try:
        with files.atomic_writer(path) as raw, ExitStack() as held:
            out = held.enter_context(gzip.GzipFile("", "wb", fileobj=raw)) if path.suffix == ".gz" else raw
            lines = io.TextIOWrapper(cast(BinaryIO, out), encoding="utf-8", newline="\n")
            yield lines
            lines.flush()
            lines.detach()
    except StorageError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"The journal cannot be written to {path} ({reason}); choose another place.") from error


@dataclass(frozen=True, slots=True)
class SpaceNote:
    """`memories` counts all, in the trash too."""

    name: str
    memories: int
    description: str = ""


STAMP = "%Y%m%dT%H%M%SZ"  # in UTC: sorts by time, and any file system takes it


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(STAMP)


@checks_arguments
class MemoryStore(Closing):
    """A space of a store. Safe to use from any number of threads and processes at once.

    `path` is a file, a directory (which gets `nacre.db` inside) or `:memory:`; without one, and without a `space`,
    the settings decide. `embedder` is a name, an `Embedder`, or any function from texts to rows of numbers.
    """

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
        conflict_threshold: float | None = None,
        contradiction_fn: ConflictFn | None = None,
        strict_links: bool | None = None,
        agent: str | None = None,
        session: str | None = None,
        capabilities: AgentCapabilities | None = None,
        settings: Settings | None = None,
    ) -> None:
        found = settings or read_settings()
        self.space = label("space", found.space if space is None else space) or "default"
        known = self._settings = found.for_space(self.space)
        self.agent = label("agent", known.agent if agent is None else agent)
        self.session = label("session", known.session if session is None else session)
        self._access = make_access(known, self.space, self.agent, self.session, capabilities)
        actor = actor if self._access is None else self.agent  # nobody narrowed acts under another's name
        place = known.store if path is None else path
        check_mirror(known, place)
        self._store = narrowed(open_store(place, known), self._access)
        sink: JournalSink | None = make_journal_mirror(known)
        self._guard = make_guard(known)
        self._engine = Engine(self._store, embedder_from(embedder, known), clock, actor, sink, self._guard.words)
        self._reranker = make_reranker(known) if reranker is None else reranker
        self._clock = clock
        self._policy = known_policy(known.on_conflict if on_conflict is None else on_conflict)
        self._threshold = known.conflict_threshold if conflict_threshold is None else conflict_threshold
        self._contradiction_fn = contradiction_fn
        self._strict_links = known.strict_links if strict_links is None else strict_links
        self._alike: Alike = alike_by(self._engine.embedder)
        self._suggesting = make_suggesting(known)
        self._second: Judge | None = make_conflict_judge(known)

    @property
    def embedder(self) -> Embedder:
        return self._engine.embedder

    @property
    def settings(self) -> Settings:
        return self._settings

    def types(self) -> tuple[str, ...]:
        return (*TYPES, *(name for name in self._store.terms("type") if name not in TYPES))

    def vocabulary(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """The words of a kind that this space was taught (tags, sources, names), and what is told of each."""
        return self._store.terms(self._kind(kind))

    def _kind(self, kind: str) -> str:
        return f"{kind}/{self.space}"

    @property
    def may_teach(self) -> bool:
        """Whether the vocabulary, which is everybody's, may be changed through this store."""
        return self._access is None or self._access.unrestricted

    def shown(self, memory: Memory) -> Memory:
        """As it may leave the store: without secrets that were kept before there was a guard."""
        return self._guard.before_read(memory)

    def now(self) -> float:
        return self._clock()

    def acting_as(self, actor: str) -> Engine:
        """The engine with another name in the journal: for what acts on the store of its own accord."""
        return self._engine if self._access is not None else replace(self._engine, actor=actor)

    def as_actor(self, actor: str) -> Self:
        """The same store, nothing opened twice, whose acts the journal tells under another name; a narrowed one keeps
        its own."""
        other = copy(self)
        other._engine = self.acting_as(actor)
        return other

    def close(self) -> None:
        self._store.close()

    def _filter(self, scope: Scope) -> Filter:
        at = scope.get("as_of")
        now = self._clock() if at is None else seconds(at)
        return filter_of(scope, now=now, types=self.types() if scope.get("type") else ())

    def _past(self, at: Instant) -> Past:
        return past(self._store, self.space, seconds(at))

    def _known(self, at: Instant | None, *, searched: bool = False) -> Backend:
        """What to read from: the store as it is, or as it was known then; words and vectors only when `searched`."""
        if at is None:
            return self._store
        then = self._past(at)
        if not searched:
            return as_known(self._store, self.space, then.stood, {})
        memories = [memory for memory in then.stood.values() if memory is not None]
        derived, _ = derive_or_defer(memories, self.embedder, self._store)
        searchable = dict(zip((memory.id for memory in memories), derived, strict=True))
        return as_known(self._store, self.space, then.stood, searchable)

    def _comparison(
        self, where: Filter, threshold: float | None = None, contradiction_fn: ConflictFn | None = None
    ) -> Comparison:
        return Comparison(
            self._store,
            where,
            self._alike if self.embedder.ready else None,
            self._threshold if threshold is None else threshold,
            contradiction_fn or self._contradiction_fn,
            self._second,
        )

    def _catch_up(self) -> None:
        if self.embedder.ready and self._store.pending(1):
            try:
                indexing.catch_up(self._engine, CATCH_UP)
            except (EmbeddingError, StoreBusy, StoreFull, StoreReadOnly):
                return  # the call itself says what is wrong, if it is in its way

    def remember(
        self,
        text: str,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        replaces: str | None = None,
        **fields: Unpack[Fields],
    ) -> Memory:
        """Keeps a text. What it conflicts with is handled as `on_conflict` says; `remember_result` tells what."""
        return self._remember({**fields, "text": text}, on_conflict, contradiction_fn, replaces).memory

    def remember_result(
        self,
        text: str,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        replaces: str | None = None,
        **fields: Unpack[Fields],
    ) -> RememberResult:
        """As `remember`, and tells what it conflicts with and what became of that.

        `note` (the default) keeps both and puts the conflict into the review queue; `ignore` does not look; `warn`
        gives a Python warning; `supersede` lets it take the place of what it surely contradicts or updates, notes what
        is doubtful, and merges it into what says the same; `raise` stores nothing and raises `ConflictError`. A memory
        that it `replaces` is superseded in the same act, and nothing is compared.
        """
        return self._remember({**fields, "text": text}, on_conflict, contradiction_fn, replaces)

    def _remember(
        self,
        given: Mapping[str, object],
        on_conflict: str | None,
        contradiction_fn: ConflictFn | None,
        replaces: str | None,
    ) -> RememberResult:
        self._catch_up()
        draft, notes = self._draft(given, suggesting=True)
        if replaces is not None:
            written = self.write("remember", new=[draft], successors={replaces: draft.id})
            heir = next(memory for memory in written if memory.id == draft.id)
            return RememberResult(heir, (), "superseded", notes)
        result = remembering.remember(self._engine, draft, self._handling(on_conflict, contradiction_fn))
        return replace(result, notes=notes + result.notes) if notes else result

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, object]],
        *,
        on_conflict: str = IGNORE,
        progress: Progress | None = None,
    ) -> list[Memory]:
        """Texts, or mappings with `text` and any other field. One transaction a batch: after a fault, whole batches
        are kept and the rest is not. With another policy than `ignore` each memory is an act of its own. An importance
        that is not given is the usual one: nothing is read into what comes in bulk."""
        drafts = [self._draft({"text": item} if isinstance(item, str) else item)[0] for item in items]
        handling = self._handling(on_conflict)
        step = BATCH if on_conflict == IGNORE else 1
        kept: list[Memory] = []
        for start in range(0, len(drafts), step):
            batch = drafts[start : start + step]
            if on_conflict == IGNORE:
                kept += (result.memory for result in remembering.keep(self._engine, batch))
            else:
                kept.append(remembering.remember(self._engine, batch[0], handling).memory)
            if progress is not None:
                progress(len(kept), len(drafts), "remembering")
        return kept

    def draft(self, text: str, **fields: Unpack[Fields]) -> Memory:
        """A memory as `remember` would keep it, checked and without its secrets; nothing is written."""
        return self._draft({**fields, "text": text})[0]

    def write(
        self,
        operation: str,
        *,
        new: Sequence[Memory] = (),
        edits: Mapping[str, Edit] | None = None,
        successors: Mapping[str, str] | None = None,
        terms: Mapping[tuple[str, str], TermEdit] | None = None,
        why: str = "",
    ) -> list[Memory]:
        """New memories (made by `draft`), edits of standing ones by id, successions (old id to new) and edits of the
        space's vocabulary by kind and name, as one act that the journal names: all or nothing. Secrets go, whoever made
        the memories. Returns those that are new or have changed. Raises `MemoryNotFound` and `SecretRefused`."""
        kept = [self._guard.before_write(memory, None) for memory in new]
        guarded = {id: partial(self._edited, edit) for id, edit in (edits or {}).items()}
        spoken = {(self._kind(kind), name): partial(self._worded, edit) for (kind, name), edit in (terms or {}).items()}
        return compose(self._engine, self.space, operation, ChangeSet(kept, guarded, successors or {}, spoken), why=why)

    def _edited(self, edit: Edit, memory: Memory) -> Memory:
        return self._guard.before_write(edit(memory), memory)

    def _worded(self, edit: TermEdit, word: Term) -> Term:
        after = edit(word)
        return self._guard.data(after) if after else after

    def editing(self, **fields: Unpack[Changes]) -> Edit:
        """An edit for `write`: checked, and as `edit` would make it."""
        return self._changing(self._checked(fields))

    def _checked(self, given: Mapping[str, object]) -> dict[str, object]:
        return self._guard.fields(validate_fields(given, self.types()))[0]

    def _changing(self, changes: Mapping[str, object]) -> Edit:
        doubts = self._guard.doubts(changes)

        def edit(memory: Memory) -> Memory:
            return mark_suspicious(edited(memory, changes), doubts, trust_given="trust" in changes)

        return edit

    def edit(self, id: str, *, text: str | None = None, why: str = "", **fields: Unpack[Editable]) -> Memory:
        """Embeds again only when the text or title changed."""
        changes = self._checked({**fields} if text is None else {**fields, "text": text})
        self._check_links(id, changes)
        return self._engine.change(self.space, [id], "edit", self._changing(changes), why=why)[0]

    def forget(self, *ids: str, why: str = "") -> bool:
        """Moves to the trash, from which `restore` brings it back; False when nothing was moved."""
        present = [memory.id for memory in self._store.get(self.space, ids) if memory.status != "trashed"]
        return bool(present and self._engine.change(self.space, present, "forget", trashed, why=why))

    def purge(self, *ids: str, why: str = "") -> int:
        """Deletes for good, in the journal too; returns how many there were."""
        return self._engine.purge(self.space, ids, why=why)

    def redact(self, *ids: str, why: str = "") -> int:
        """Removes the content for good, from the record, the indexes, the journal and its mirror, and leaves a mark
        that something was there; returns how many. Copies that were made before, such as backups, keep what they have
        until they are made anew. Raises `MemoryNotFound`."""
        return self._engine.redact(self.space, ids, why=why)

    def supersede(self, old: str, new: str, *, why: str = "") -> None:
        """`new` replaces `old`, which stays but is no longer recalled. Raises `SupersedeCycle`."""
        self._engine.supersede(self.space, old, new, why=why)

    def merge(self, keep: str, *others: str, text: str = "", why: str = "") -> Memory:
        """Lets `keep` take the place of the others, with their tags, ties and what else only they knew, in one act;
        `text` is what it says from now on, by default what it says. Raises `MemoryNotFound` and `InvalidInput`."""
        given, _ = self._guard.fields(validate_fields({"text": text} if text else {}, ()))
        doubts = self._guard.doubts(given)

        def said(memory: Memory) -> Memory:
            return mark_suspicious(edited(memory, given), doubts, trust_given=False)

        return merging.merge(self._engine, self.space, keep, others, said, why=why)

    def restore(self, *ids: str, why: str = "") -> bool:
        """Undoes a `forget` or a `supersede`, of several memories in one act; False when there is neither."""
        return self._engine.restore(self.space, ids, why=why)

    def validate(self, id: str, *, confidence: float | None = None, why: str = "") -> Memory:
        """Says that it still holds, and how sure that is now."""
        sure = None if confidence is None else fraction("confidence", confidence)
        return self._engine.change(self.space, [id], "validate", validated(self._clock(), sure), why=why)[0]

    def _handling(self, on_conflict: str | None, contradiction_fn: ConflictFn | None = None) -> Handling:
        policy = self._policy if on_conflict is None else on_conflict
        comparison = self._comparison(Filter.live(self._clock()), contradiction_fn=contradiction_fn)
        return Handling(policy, comparison)

    def _draft(self, given: Mapping[str, object], *, suggesting: bool = False) -> tuple[Memory, tuple[str, ...]]:
        """A memory that can be kept, and what is to be said about it."""
        if not isinstance(given, Mapping) or "text" not in given:
            raise InvalidInput("A memory needs a text; give it under 'text'.")
        known = self._settings
        if "id" in given and self._access is not None:
            raise AccessDenied(f"The agent {self.agent!r} may not choose an id; leave it out, and one is made.")
        wanted = {"type": known.default_type, **self._signed(), **given}
        prefix = label("id_prefix", wanted.pop("id_prefix", ""))
        fields, kinds = self._guard.fields(validate_fields(wanted, TYPES if wanted["type"] in TYPES else self.types()))
        doubts = self._guard.doubts(fields)
        suggested = self._suggesting.fields(fields) if suggesting else {"importance": known.default_importance}
        now = self._clock()
        times = {"created_at": now, "updated_at": fields.get("created_at", now), "last_accessed": now}
        draft = {"id": f"{prefix}{uuid4()}", **times, **suggested, **fields, "space": self.space}
        self._check_links(str(draft["id"]), draft)
        memory = mark_suspicious(Memory(**draft), doubts, trust_given="trust" in given)  # type: ignore[arg-type]
        return memory, found(kinds, doubts.reasons)

    def _signed(self) -> dict[str, object]:
        """By whom and where, as far as the store was told."""
        told = {"agent": self.agent, "session": self.session}
        return {name: value for name, value in told.items() if value}

    def _check_links(self, id: str, fields: Mapping[str, object]) -> None:
        links = cast("tuple[Link, ...]", fields.get("links", ()))
        if links:
            check_links(self._store, self.space, id, links, strict=self._strict_links)

    def get(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> Memory | None:
        """With `as_of`, as the store knew it then; with `valid_at`, the version of this truth that held then."""
        if valid_at is not None:
            return self._held(id, seconds(valid_at), as_of)
        if as_of is None:
            return next(iter(self._store.get(self.space, [id])), None)
        then = past(self._store, self.space, seconds(as_of), [id])
        if id in then.illegible:
            raise HistoryLost(f"What the journal tells of {id} since {iso(seconds(as_of))} is damaged.")
        return then.stood[id] if id in then.stood else self.get(id)

    def get_many(self, ids: Sequence[str]) -> list[Memory]:
        """In the order asked for, each once; unknown ids are left out."""
        return self._store.get(self.space, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The stored vectors of each memory that has some, a row for each piece of its text."""
        return self._store.vectors(self.space, ids)

    def _held(self, id: str, at: float, as_of: Instant | None) -> Memory | None:
        known = self._known(as_of)
        if not known.get(self.space, [id]):
            return None
        versions = history(known, self.space, id).versions
        return next((each for each in reversed(versions) if held_at(at).admits(each)), None)

    def resolve_id(self, prefix: str) -> str:
        """The one id that begins so. Raises `MemoryNotFound` or `AmbiguousId`."""
        found = self._store.ids_like(self.space, prefix, limit=6) if prefix else []
        if not found:
            raise MemoryNotFound(prefix, self.space)
        if len(found) > 1 and prefix not in found:
            raise AmbiguousId(prefix, found)
        return found[0]

    def list_recent(
        self, limit: int = 20, *, order: Order = "newest", offset: int = 0, **scope: Unpack[Scope]
    ) -> list[Memory]:
        known = self._known(scope.get("as_of"))
        return known.select(self.space, self._filter(scope), order=order, limit=max(0, limit), offset=offset)

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        """Oldest first, however many there are, in bounded memory; with `as_of`, what changed since comes last."""
        return self._known(scope.get("as_of")).iterate(self.space, self._filter(scope))

    def count(self, **scope: Unpack[Scope]) -> int:
        return self._known(scope.get("as_of")).count(self.space, self._filter(scope))

    def tally(self, field: Tallied, **scope: Unpack[Scope]) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name."""
        return self._known(scope.get("as_of")).tally(self.space, field, self._filter(scope))

    def stats(self) -> Stats:
        return gather_stats(self._store, self.space, self._clock())

    def recall(
        self,
        query: str,
        k: int = 5,
        *,
        touch: bool = True,
        rerank: bool = True,
        **asking: Unpack[Asking],
    ) -> Recollection:
        """The memories that answer best, each with why. A hit counts as a use unless `touch` is False; the configured
        reranker, if any, reads the best ones unless `rerank` is.

        With `as_of` it answers as the store would have then, which never counts as a use; with `valid_at`, from what
        held at that time.
        """
        from nacre.recall.recall import recall  # a command that only lists need not wait for it

        own, scope = parted(asking)
        if self._settings.min_trust and scope.get("min_trust") is None:
            scope["min_trust"] = self._settings.min_trust
        self._engine.check_embedder()
        self._catch_up()
        now = self._clock()
        asked = query_of(query, k, own, self._filter(scope), now)
        known = self._known(scope.get("as_of"), searched=True)
        reranker = self._reranker if rerank else None
        found = recall(asked, space=self.space, store=known, embedder=self.embedder, reranker=reranker)
        if touch and found:
            ids = [hit.memory.id for hit in found]
            known.touch(self.space, ids, now)
            if asked.expand is not None:
                known.walked(self.space, known.edges(self.space, out_of=ids, into=ids, rels=asked.expand.rels))
        return clean_recollection(found, self._guard.before_read)

    def touch(self, *ids: str) -> None:
        """Counts a use of each, as a recall does by itself. No act, and not journaled."""
        self._store.touch(self.space, ids, self._clock())

    def recall_pack(
        self,
        query: str,
        *,
        token_budget: int = 800,
        max_items: int = 50,
        header: str = HEADER,
        token_counter: TokenCounter | None = None,
        fence: bool = False,
        **asking: Unpack[Asking],
    ) -> Pack:
        """The best memories that fit the budget, as text for a model's context. Only what is packed counts as used.

        With `fence` the text says, around the memories, that they are data and no instructions.
        """
        found = self.recall(query, max_items, touch=False, **asking)
        packed = pack(found, token_budget, header=header, token_counter=token_counter, fence=fence)
        if packed.items and asking.get("as_of") is None:
            self._store.touch(self.space, packed.ids(), self._clock())
        return packed

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
        """Ties one memory to another. Repeating it changes nothing; the target need not be there, unless the store has
        `strict_links`. Raises `MemoryNotFound` and `LinkRefused`."""
        tie = Link(target, rel, weight, self._guard.data(data) if data else {})
        return linking.link(self._engine, self.space, source, tie, strict=self._strict_links, why=why)

    def unlink(self, source: str, target: str, rel: str | None = None, *, why: str = "") -> int:
        """Takes the tie of this relation away, or all between the two; returns how many."""
        return linking.unlink(self._engine, self.space, source, target, rel, why=why)

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
        """What ties lead to, each memory once, nearest first; what is trashed, superseded or expired stays hidden and
        leads nowhere unless it is asked for. With `valid_at` only what held then is walked, whatever replaced it since.
        The ties that are walked are counted."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        found, led = walk.neighbors(going, id, natural_number("depth", depth))
        if led:
            going.store.walked(self.space, led)
        return found

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
        """The seeds, what lies within `depth` of them, and every tie between these; at depth 0 the seeds alone."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        return walk.subgraph(going, list(dict.fromkeys(ids)), natural_number("depth", depth))

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
        """A shortest way along ties from one memory to another; None when there is none."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        found = walk.path(going, start, end)
        if found is not None and found.edges:
            going.store.walked(self.space, found.edges)
        return found

    def edges(
        self, *, out_of: Sequence[str] | None = None, into: Sequence[str] | None = None, rel: Relations = None
    ) -> list[Edge]:
        """The ties themselves, from or to these memories; all of the space when neither is given."""
        return self._store.edges(self.space, out_of=out_of, into=into, rels=relation_list(rel))

    def relations(self) -> dict[str, str]:
        """Every relation that the store knows, with what it means."""
        return linking.relations(self._store)

    def register_relation(self, name: str, description: str = "") -> None:
        """Teaches the store a relation, or confirms one that it learned by itself."""
        told = storable_text("description", description).strip()
        linking.register(self._engine, self.space, required_label("relation", name), told)

    def weak_links(self, *, below: float = WEAK, walks: int = 0) -> list[Edge]:
        """The plan of `prune_links`: ties lighter than `below` that were walked at most so often."""
        return linking.prunable(self._store, self.space, below=below, walks=walks)

    def prune_links(self, edges: Iterable[Edge], *, why: str = "") -> int:
        """Takes these ties away in one act; one that was walked since it was planned stays. Returns how many went."""
        return linking.prune(self._engine, self.space, edges, why=why)

    def _walk(
        self,
        rel: Relations,
        direction: Direction,
        include_hidden: bool,
        as_of: Instant | None,
        valid_at: Instant | None,
    ) -> Walk:
        where = Filter() if include_hidden else self._filter({"as_of": as_of, "valid_at": valid_at})
        if valid_at is not None:
            where &= held_at(seconds(valid_at))
        return Walk(self._known(as_of), self.space, direction, relation_list(rel), where)

    def pin(self, *ids: str, why: str = "") -> list[Memory]:
        """Keeps them from fading: neither decay nor a bound takes them."""
        return self._mark("pin", ids, lambda memory: replace(memory, pinned=True), why)

    def unpin(self, *ids: str, why: str = "") -> list[Memory]:
        return self._mark("unpin", ids, lambda memory: replace(memory, pinned=False), why)

    def archive(self, *ids: str, why: str = "") -> list[Memory]:
        """Puts them out of sight; they are found where `include_archived` asks for them."""
        return self._mark("archive", ids, lambda memory: replace(memory, status=ARCHIVED), why)

    def unarchive(self, *ids: str, why: str = "") -> list[Memory]:
        """Takes them out of the archive, back to the status that the journal says they had."""
        former = {id: self._status_before(id) for id in ids}

        def edit(memory: Memory) -> Memory:
            return replace(memory, status=former[memory.id]) if memory.status == ARCHIVED else memory

        return self._mark("unarchive", ids, edit, why)

    def tag(self, *ids: str, add: Iterable[str] = (), remove: Iterable[str] = (), why: str = "") -> list[Memory]:
        """Adds tags and takes others away. The words that are searched follow; no vector is computed again."""
        given, _ = self._guard.fields(validate_fields({"tags": tuple(add)}, ()))
        more, less = cast("tuple[str, ...]", given["tags"]), labels("tags", tuple(remove))
        if not more and not less:
            raise InvalidInput("No tag was named; say which to add or to remove.")

        def edit(memory: Memory) -> Memory:
            return replace(memory, tags=tuple(tag for tag in dict.fromkeys((*memory.tags, *more)) if tag not in less))

        return self._mark("tag", ids, edit, why)

    def bump(self, *ids: str, by: float | None = None, to: float | None = None, why: str = "") -> list[Memory]:
        """Lets them matter more or less: `by` adds to the importance, which stays within 0 and 1, `to` sets it."""
        if (by is None) == (to is None):
            raise InvalidInput("Say either by how much the importance changes, or to what; not both.")
        fixed, step = None if to is None else fraction("importance", to), 0.0 if by is None else number("by", by, -1, 1)

        def edit(memory: Memory) -> Memory:
            bumped = min(1.0, max(0.0, round(memory.importance + step, PLACES))) if fixed is None else fixed
            return replace(memory, importance=bumped)

        return self._mark("bump", ids, edit, why)

    def _mark(self, operation: str, ids: Sequence[str], edit: Callable[[Memory], Memory], why: str) -> list[Memory]:
        present = [memory for memory in self._engine.existing(self.space, ids) if memory.status != "trashed"]
        changing = [memory.id for memory in present if edit(memory) != memory]
        return self._engine.change(self.space, changing, operation, edit, why=why) if changing else []

    def _status_before(self, id: str) -> str:
        told = map(status_before, self._store.journal(self.space, JournalFilter(memory_id=id)))
        return next((status for status in told if status), UNTOLD)

    def history(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> History:
        """Every version of the truth that this memory is one of, oldest first, and each change of value.

        With `as_of` as it was known then; with `valid_at` only the versions that held then. Raises `MemoryNotFound`.
        """
        upto = None if as_of is None else self._store.written_by(self.space, seconds(as_of))
        told = history(self._known(as_of), self.space, id, upto=upto)
        if valid_at is None:
            return told
        held = held_at(seconds(valid_at))
        versions = tuple(each for each in told.versions if held.admits(each))
        if not versions:
            raise MemoryNotFound(id, self.space)
        kept = {each.id for each in versions}
        return History(versions, tuple(each for each in told.transitions if {each.old, each.new} & kept))

    def diff(self, earlier: Instant, later: Instant | None = None) -> Difference:
        """What the store knew at the later time, by default now, and not at the earlier one, and what changed."""
        end = self._clock() if later is None else seconds(later)
        return difference_between(self._store, self.space, seconds(earlier), end)

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
        told = JournalFilter(id, batch, operation, actor, instant(since), instant(until))
        found = self._store.journal(self.space, told, newest_first=newest_first, limit=limit)
        return list(map(self._numbered, found))

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
        return map(
            self._numbered, self._entries(JournalFilter(id, None, operation, actor, instant(since), instant(until)))
        )

    def export_journal(
        self,
        out: TextIO | Path | str,
        *,
        operation: str | None = None,
        actor: str | None = None,
        id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> JournalExport:
        """Writes what was done until now as lines of JSON, oldest first; to a path whole or not at all, and packed
        where its name ends in `.gz`. Raises `StorageError` when the path cannot be written."""
        told = JournalFilter(id, None, operation, actor, instant(since), instant(until))
        if isinstance(out, str | Path):
            with replacing(Path(out).expanduser()) as file:
                return self._write_journal(file, told)
        return self._write_journal(out, told)

    def _write_journal(self, out: TextIO, told: JournalFilter) -> JournalExport:
        count = damaged = 0
        for entry in self._entries(told):
            out.write(json.dumps(to_line(entry), ensure_ascii=False) + "\n")
            count, damaged = count + 1, damaged + entry.damaged
        return JournalExport(count, damaged)

    def _entries(self, told: JournalFilter) -> Iterator[JournalEntry]:
        """A page at a time; what is written meanwhile is left out, or a busy store would never come to an end."""
        last = self._store.journal(self.space, limit=1)
        told = replace(told, upto=last[0].seq if last else 0)
        while page := self._store.journal(self.space, told, newest_first=False, limit=PAGE):
            yield from page
            told = replace(told, after=page[-1].seq)

    def undo(
        self, batch: str | JournalEntry | None = None, *, last: int | None = None, why: str = ""
    ) -> list[JournalEntry]:
        """Takes back an act, whole: the one named, or the `last` ones, by default one. An undo can be undone.

        Raises `UndoRefused` when there is no such act or no way back, and `UndoBlocked`, which names them, when later
        acts stand on it. Either way nothing was changed.
        """
        if batch is not None and last is not None:
            raise InvalidInput("Name an act, or say how many to take back; not both.")
        if batch is not None:
            meant = [batch.operation.batch if isinstance(batch, JournalEntry) else self.resolve_operation(batch)]
        else:
            meant = self._last_acts(1 if last is None else last)
        done = self._engine.undo(self.space, meant, why=why)
        # Where the name of the space is taken back, this store goes with it.
        self.space = next((entry.space for entry in done if entry.kind == SPACE_NAME), self.space)
        return list(map(self._numbered, done))

    def resolve_operation(self, prefix: str) -> str:
        """The one act whose batch begins so. Raises `UndoRefused` or `InvalidInput`."""
        if len(prefix) >= WHOLE_BATCH:
            return prefix
        entries = self._store.journal(self.space, JournalFilter(batch=prefix)) if prefix else []
        acts = dict.fromkeys(entry.operation.batch for entry in entries)
        if not acts:
            raise UndoRefused(f"There is no such act in the journal as {prefix!r}; `nacre journal` lists them.")
        if len(acts) > 1:
            raise InvalidInput(f"{len(acts)} acts begin with {prefix!r}; give more characters.")
        return next(iter(acts))

    def compact(self, *, older_than_days: float | None = None, why: str = "") -> int:
        """Drops what the journal tells of acts older than this, by default than the setting `journal_days`; returns how
        many entries. They can no longer be undone, nor the times before them be asked about."""
        days = self._settings.journal_days if older_than_days is None else older_than_days
        if days <= 0 and older_than_days is None:
            return 0
        if days < 0:
            raise InvalidInput(f"A journal cannot be compacted to {days:g} days; give 0 or more.")
        return self._engine.compact(self.space, self._clock() - days * DAY, why=why)

    def _numbered(self, entry: JournalEntry) -> JournalEntry:
        """Gaps between the numbers would tell a narrowed agent how much others have written."""
        return entry if self._access is None else replace(entry, seq=0)

    def _last_acts(self, wanted: int) -> list[str]:
        if wanted < 1:
            raise InvalidInput(f"{wanted} acts cannot be taken back; give 1 or more.")
        mine = JournalFilter() if self._access is None else JournalFilter(actor=self.agent)
        for limit in LOOKED_BACK:
            entries = self._store.journal(self.space, mine, limit=limit)
            found = undoing.last_standing(entries, wanted)
            if len(found) == wanted or limit is None or len(entries) < limit:
                break
        if not found:
            raise UndoRefused("There is no such act in the journal; `nacre journal` shows what can be undone.")
        if len(found) < wanted:
            raise UndoRefused(f"Only {len(found)} acts can be taken back; `nacre journal` lists them.")
        return found

    def find_conflicts(
        self,
        memory_id: str | None = None,
        *,
        threshold: float | None = None,
        contradiction_fn: ConflictFn | None = None,
        progress: Progress | None = None,
    ) -> list[Conflict]:
        """What one memory conflicts with, or every pair of the space that does; worst first. Nothing is changed.

        Candidates come from the word and vector indexes, so that the whole space is scanned without comparing all
        pairs. Pairs that were decided before are passed over.
        """
        comparison = self._comparison(Filter.live(self._clock()), threshold, contradiction_fn)
        if memory_id is None:
            return scan(comparison, self.space, progress)
        asked = self._store.get(self.space, [memory_id])
        if not asked:
            raise MemoryNotFound(memory_id, self.space)
        vectors = self._store.vectors(self.space, [memory_id]).get(memory_id)
        return comparison.conflicts(asked[0], None if vectors is None else vectors[0])

    def note_conflicts(self, conflicts: Iterable[Conflict], *, why: str = "") -> int:
        """Puts found conflicts into the review queue, in one act; returns how many were not there yet."""
        return noted_conflicts(self._engine, self.space, list(conflicts), why=why)

    def review(
        self, *, kinds: Iterable[str] | str = KINDS, stale_days: float = STALE_DAYS, limit: int | None = 50
    ) -> list[ReviewItem]:
        """What waits for a decision: noted conflicts, memories that nobody confirmed or that have grown stale,
        words that came up by themselves, and names that may be one."""
        wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        return Queue(self._engine, self.space, stale_days).items(wanted, limit)

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
        """Settles an item of the queue, by itself or by its id, in one act that `undo` takes back; False for `skip`.

        `item.decisions` lists what can be decided. `into` names the relation that a word is merged with, or what merged
        entities go by; `text` is what merged memories say together, by default the newer text.
        """
        known = Queue(self._engine, self.space, stale_days).found(item) if isinstance(item, str) else item
        said = str(self._guard.fields({"text": text})[0]["text"]) if text else ""
        return reviewing.decide(self._engine, self.space, known, decision, into=into, text=said, why=why)

    def entities(self, limit: int | None = None) -> list[Entity]:
        """Whom and what live memories name, the most mentioned first; all the names of one together."""
        from nacre.engine.entities import entities

        found = entities(self._store, self.space, Filter.live(self._clock()))
        return found if limit is None else found[: max(0, limit)]

    def resolve_entity(self, name: str) -> str:
        """What the entity with this name or alias goes by, in whatever spelling; a name nobody merged is its own."""
        from nacre.engine.entities import Resolved

        return Resolved.of(self._store, self.space).name(name)

    def memories_about(self, name: str, limit: int = 20, **scope: Unpack[Scope]) -> list[Memory]:
        """The memories that name the entity by any of its names, spelled in any way, newest first."""
        from nacre.engine.entities import spellings

        known, where = self._known(scope.get("as_of")), self._filter(scope)
        names = spellings(known, self.space, name, where)
        if not names:
            return []
        return known.select(self.space, where & Filter.where(entities__any=tuple(names)), limit=max(0, limit))

    def merge_entities(self, into: str, *others: str, why: str = "") -> bool:
        """Lets the others be aliases of `into`, with all that they were merged with before, in one act that `undo`
        takes back; the memories' own words stay as written. False when it was so already."""
        from nacre.engine.entities import merge

        return merge(self._engine, self.space, into, others, why=why)

    def unalias(self, name: str, *, why: str = "") -> bool:
        """Lets an alias be a name of its own again; False when it is nobody's alias."""
        from nacre.engine.entities import unalias

        return unalias(self._engine, self.space, name, why=why)

    def entity_suggestions(self, limit: int | None = 20) -> list[EntityPair]:
        """Names that may be one and are neither merged nor judged to be two, the surest first, each with its reason."""
        from nacre.engine.entities import suggestions

        found = suggestions(self._store, self.space, Filter.live(self._clock()))
        return found if limit is None else found[: max(0, limit)]

    def space_notes(self) -> list[SpaceNote]:
        """Every space that holds a memory or was created, by name."""
        counts, told = self._store.spaces(), self._store.terms(SPACE)
        names = sorted({*counts, *told})
        return [SpaceNote(name, counts.get(name, 0), str(told.get(name, {}).get(DESCRIPTION, ""))) for name in names]

    def create_space(self, name: str, description: str = "", *, why: str = "") -> bool:
        """Notes a space and what it is for; without that, a space begins with its first memory. False when it was
        noted so already."""
        self._demand("create a space")
        about = self._guard.words(storable_text("description", description).strip())
        return spaces.create(self._engine, required_label("space", name), about, why=why)

    def copy_space(self, target: str, *, dry_run: bool = False, why: str = "") -> list[Memory]:
        """Brings what this space holds, except its trash, into another with all fields, ties and vectors, as one act
        there; returns the copies. What is there under the same id is left alone."""
        self._demand("copy a space")
        into = required_label("space", target)
        copied = spaces.copied(self._engine, self.space, into)
        return copied if dry_run else spaces.copy(self._engine, self.space, into, why=why)

    def rename_space(self, new: str, *, why: str = "") -> None:
        """Lets this space, its journal and its words go by another name, which nobody has yet; this store follows.
        Programs that have the space open under its old name begin an empty one if they write."""
        if self._access is not None:
            raise AccessDenied(
                f"The agent {self.agent!r} is bound to its space, and may not rename it; let others do so."
            )
        name = required_label("space", new)
        spaces.rename(self._engine, self.space, name, why=why)
        self.space = name

    def delete_space(self, *, purge: bool = False, why: str = "") -> int:
        """Moves all that this space holds to the trash in one act, or with `purge` deletes it for good, its trash too;
        returns how many memories."""
        self._demand("delete a space")
        return (spaces.purge if purge else spaces.empty)(self._engine, self.space, why=why)

    def _demand(self, what: str) -> None:
        if self._access is not None:
            self._access.demand(what)

    def register_type(self, name: str) -> None:
        """Opens this store, in all its spaces, to another memory type."""
        word = required_label("type", name).lower()

        def plan(transaction: Transaction) -> list[AnyChange]:
            known = transaction.term("type", word) is not None
            return [] if known else [TermChange(self.space, "type", word, None, {})]

        self._engine.commit("register", plan, "")

    def spaces(self) -> dict[str, int]:
        return self._store.spaces()

    def reindex(self, *, restart: bool = False, progress: Progress | None = None) -> int:
        """Computes everything derived again with the present embedder; returns how many memories.

        One that was interrupted is gone on with where it ended, unless `restart` begins anew.
        """
        return indexing.reindex(self._engine, restart=restart, progress=progress)

    def catch_up(self, *, progress: Progress | None = None) -> int:
        """Embeds what was kept while the model was away; returns how many memories."""
        return indexing.catch_up_all(self._engine, progress=progress)

    def backup(self, path: Path | str) -> Path:
        """Copies the whole store, all its spaces, while others write; a folder gets a file named after the time.

        The copy is verified before it gets its name, and never replaces anything. Returns the copy's path.
        """
        target = Path(path).expanduser()
        if target.is_dir() or str(path).endswith(("/", "\\")):
            target = target / f"nacre-{stamp(self._clock())}.db"
        self._store.copy_to(target)
        return target

    def check_records(self) -> None:
        """Raises `StoreDamaged` when a walk over all memories would miss some."""
        self._store.check_records()

    def health(self, *, thorough: bool = False) -> Health:
        return self._store.health(thorough=thorough)
