"""Writes every answer of the server, without secrets that were stored before there was a guard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.engine.spaces import SpaceNote
from nacre.errors import ConflictError, NacreError
from nacre.model import (
    Changed,
    Conflict,
    Edge,
    Graph,
    History,
    Hit,
    JournalEntry,
    Link,
    Memory,
    Neighborhood,
    Pack,
    Transition,
)
from nacre.model.journal import MEMORY, SPACE_NAME
from nacre.model.memory import Json
from nacre.model.review import ReviewItem
from nacre.remember.guard import GUARDED
from nacre.rest.problems import problem
from nacre.rest.wire import record_values, to_json
from nacre.server.api import Me, NewToken, SpaceAbout
from nacre.server.drawing import Drawing
from nacre.server.upkeep import BackupNote, SettingLine
from nacre.server.users import Token, User

if TYPE_CHECKING:
    from nacre.remember.guard import Guard

# What connects records: the guard leaves it in a memory, too, since a changed id would lead nowhere.
CONNECTING = frozenset(
    "id ids memory_id memory_ids space spaces agent actor user session role batch cursor to type types status rel "
    "relations kind embedder".split()
)
# The same by record, where the name alone does not say it; and what is clean already.
KEPT: Mapping[type, tuple[str, ...]] = {
    Edge: ("source", "target"),
    Transition: ("old", "new"),
    Neighborhood: ("dangling",),
    Graph: ("dangling", "nodes"),
    Hit: ("collapsed",),
    SpaceNote: ("name",),
    SpaceAbout: ("name",),
    Pack: ("text",),  # of memories that recall has cleaned; side by side they may look like a secret
    Drawing: ("texts", "titles"),  # which are cleaned before they are cut: half a secret is not recognised
}
# Of no memory. A new token is a secret, and is shown once.
OF_THE_SERVER = (BackupNote, Me, NewToken, SettingLine, Token, User)
# Methods whose results are ids or names of spaces.
OF_NAMES = frozenset(("resolve_id", "resolve_operation", "spaces", "vectors", "types", "relations"))


class CleanWriting:
    """Values as the JSON of an answer. A memory is cleaned as recall cleans it, and every text outside of memories as
    well, but for names that connect them."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def result(self, method: str, result: object, values: Mapping[str, Any]) -> Json:
        """What a method returned that was called with these values."""
        of_names = method in OF_NAMES or (method == "tally" and values.get("field") not in GUARDED)
        return self.write(result, kept=of_names)

    def problem(self, error: NacreError) -> dict[str, Json]:
        """The sentence of a conflict quotes memories; other sentences say what the caller sent."""
        if isinstance(error, ConflictError):
            clean = [each.cleaned(self._guard.before_read) for each in error.conflicts if isinstance(each, Conflict)]
            error = ConflictError(clean, error.memory_id)
        return problem(error, self.write)

    def write(self, value: object, *, kept: bool = False) -> Json:
        """`kept` says that a text, or the keys of an object, stay as they are."""
        if isinstance(value, str):
            return value if kept else self._guard.words(value)
        if isinstance(value, Memory):
            return to_json(self._guard.before_read(value))
        if isinstance(value, JournalEntry):
            return self._entry(value)
        if isinstance(value, OF_THE_SERVER) or hasattr(value, "tolist"):  # vectors are numbers
            return to_json(value)
        record = record_values(self._without_quotes(value))
        if record is not None:
            names = KEPT.get(type(value), ())
            return {name: self.write(each, kept=name in CONNECTING or name in names) for name, each in record}
        if isinstance(value, Mapping):
            return {str(key) if kept else self._guard.words(str(key)): self.write(each) for key, each in value.items()}
        return [self.write(each, kept=kept) for each in value] if isinstance(value, Iterable) else to_json(value)

    def _without_quotes(self, value: object) -> object:
        """Where a secret is recognised only by what stands beside it in the text."""
        clean = self._guard.before_read
        if isinstance(value, Conflict | History | ReviewItem):
            return value.cleaned(clean)
        if isinstance(value, Link):
            return clean(Memory("", "", links=(value,))).links[0]
        if isinstance(value, Changed):
            fields = {
                name: (self._field(name, old), self._field(name, new)) for name, (old, new) in value.fields.items()
            }
            return replace(value, fields=fields)
        return value

    def _entry(self, entry: JournalEntry) -> Json:
        """Of a memory, the fields that changed; of a term its name, too, unless it is that of a space."""
        if entry.kind == SPACE_NAME:
            return to_json(entry)
        changed: dict[str, Json] = {"before": None, "after": None}
        for side, fields in (("before", entry.before), ("after", entry.after)):
            if fields is not None and entry.kind == MEMORY:
                changed[side] = {name: self._field(name, each) for name, each in fields.items()}
            elif fields is not None:
                changed |= {"memory_id": self.write(entry.memory_id), side: self.write(fields)}
        plain = to_json(replace(entry, before=None, after=None))
        assert isinstance(plain, dict)
        return {**plain, **changed, "operation": self.write(entry.operation)}

    def _field(self, name: str, value: Json) -> Json:
        """A field of a memory, as the journal has it."""
        if name == "metadata" and isinstance(value, Mapping):
            return to_json(self._guard.before_read(Memory("", "", metadata=value)).metadata)
        if name == "links" and isinstance(value, list | tuple):
            return [self._link(each) for each in value]
        return self.write(value) if name in GUARDED else to_json(value)

    def _link(self, link: Any) -> Json:
        known = isinstance(link, Mapping) and "data" in link
        return {**link, "data": self._field("metadata", link["data"])} if known else to_json(link)
