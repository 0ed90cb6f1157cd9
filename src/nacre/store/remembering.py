"""Remembering and changing: the part of the face that writes memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack, cast
from uuid import uuid4

from nacre.engine import merging, remembering
from nacre.engine.composing import Composed, Edit, Word, WordEdit, compose
from nacre.engine.linking import check as check_links
from nacre.engine.remembering import Handling
from nacre.engine.reviewing import trashed, validated
from nacre.errors import AccessDenied, InvalidInput
from nacre.model import TYPES, Filter, Link, Memory, RememberResult
from nacre.ports import Progress
from nacre.remember.check import Changes, Editable, Fields, checked, label, share
from nacre.remember.compare import ConflictFn
from nacre.remember.guard import marked, trusted_again, untrusted
from nacre.remember.guard import told as found
from nacre.store.space import Space

BATCH = 256  # memories per transaction in bulk: long enough to fill a block of vectors, short enough for other writers
IGNORE = "ignore"


class Remembering(Space):
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
            written = self.write("remember", new=[draft], heirs={replaces: draft.id})
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
        act: str,
        *,
        new: Sequence[Memory] = (),
        edits: Mapping[str, Edit] | None = None,
        heirs: Mapping[str, str] | None = None,
        words: Mapping[tuple[str, str], WordEdit] | None = None,
        why: str = "",
    ) -> list[Memory]:
        """New memories (made by `draft`), edits of standing ones by id, successions (old id to new) and edits of the
        space's vocabulary by kind and name, as one act that the journal names: all or nothing. Secrets go, whoever made
        the memories. Returns those that are new or have changed. Raises `MemoryNotFound` and `SecretRefused`."""
        kept = [self._guard.kept(memory, None) for memory in new]
        guarded = {id: partial(self._edited, edit) for id, edit in (edits or {}).items()}
        spoken = {(self._kind(kind), name): partial(self._worded, edit) for (kind, name), edit in (words or {}).items()}
        return compose(self._engine, self.space, act, Composed(kept, guarded, heirs or {}, spoken), why=why)

    def _edited(self, edit: Edit, memory: Memory) -> Memory:
        return self._guard.kept(edit(memory), memory)

    def _worded(self, edit: WordEdit, word: Word) -> Word:
        after = edit(word)
        return self._guard.data(after) if after else after

    def editing(self, **fields: Unpack[Changes]) -> Edit:
        """An edit for `write`: checked, and as `edit` would make it."""
        return self._changing(self._checked(fields))

    def _checked(self, given: Mapping[str, object]) -> dict[str, object]:
        return self._guard.fields(checked(given, self.types()))[0]

    def _changing(self, changes: Mapping[str, object]) -> Edit:
        doubts = self._guard.doubts(changes)

        def edit(memory: Memory) -> Memory:
            return marked(edited(memory, changes), doubts, trust_given="trust" in changes)

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
        given, _ = self._guard.fields(checked({"text": text} if text else {}, ()))
        doubts = self._guard.doubts(given)

        def said(memory: Memory) -> Memory:
            return marked(edited(memory, given), doubts, trust_given=False)

        return merging.merge(self._engine, self.space, keep, others, said, why=why)

    def restore(self, *ids: str, why: str = "") -> bool:
        """Undoes a `forget` or a `supersede`, of several memories in one act; False when there is neither."""
        return self._engine.restore(self.space, ids, why=why)

    def validate(self, id: str, *, confidence: float | None = None, why: str = "") -> Memory:
        """Says that it still holds, and how sure that is now."""
        sure = None if confidence is None else share("confidence", confidence)
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
        fields, kinds = self._guard.fields(checked(wanted, TYPES if wanted["type"] in TYPES else self.types()))
        doubts = self._guard.doubts(fields)
        suggested = self._suggesting.fields(fields) if suggesting else {"importance": known.default_importance}
        now = self._clock()
        times = {"created_at": now, "updated_at": fields.get("created_at", now), "last_accessed": now}
        draft = {"id": f"{prefix}{uuid4()}", **times, **suggested, **fields, "space": self.space}
        self._check_links(str(draft["id"]), draft)
        memory = marked(Memory(**draft), doubts, trust_given="trust" in given)  # type: ignore[arg-type]
        return memory, found(kinds, doubts.reasons)

    def _signed(self) -> dict[str, object]:
        """By whom and where, as far as the store was told."""
        told = {"agent": self.agent, "session": self.session}
        return {name: value for name, value in told.items() if value}

    def _check_links(self, id: str, fields: Mapping[str, object]) -> None:
        links = cast("tuple[Link, ...]", fields.get("links", ()))
        if links:
            check_links(self._store, self.space, id, links, strict=self._strict_links)


def edited(memory: Memory, changes: Mapping[str, object]) -> Memory:
    """Whoever edits a memory into the trash can restore it to where it was."""
    if "text" in changes and untrusted(memory):
        memory = trusted_again(memory)
    after = replace(memory, **changes)  # type: ignore[arg-type]
    if "status" not in changes or after.status == memory.status:
        return after
    return replace(after, trashed_from=memory.status if after.status == "trashed" else "")
