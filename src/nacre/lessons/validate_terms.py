"""Checks the terms and values of a request against the vocabulary and the reference tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nacre.engine.write_request import TermEdit
from nacre.errors import AccessDenied, InvalidInput
from nacre.lessons.vocabulary import (
    CONTEXT,
    DEFAULT_LEVEL,
    KINDS,
    SOURCE,
    TAG,
    Key,
    Vocabulary,
    check_known,
    nearest,
    normalize,
    normalize_all,
)
from nacre.memory_store import MemoryStore
from nacre.model.filter import ancestors
from nacre.model.levels import level_named
from nacre.model.memory import Json

REFERENCE = "reference"  # the kind of term that holds table values, named by table and value: "priority:high"
TABLE_SEPARATOR = ":"
RESERVED_TABLES = (*KINDS, "confidence", "relation", "type")  # these have a method or a field of their own


class TermValidator:
    """Turns the values of one request into those that are stored, and collects warnings and suggestions."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.warnings: list[str] = []
        self.suggestions: dict[str, tuple[str, ...]] = {}
        self.new_sources: list[str] = []
        self._vocabularies: dict[str, Vocabulary] = {}

    def vocabulary(self, kind: str) -> Vocabulary:
        """Read once, whatever the number of terms."""
        if kind not in self._vocabularies:
            self._vocabularies[kind] = Vocabulary(self.store, kind)
        return self._vocabularies[kind]

    def tags(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        if not (wanted := normalize_all(names)):
            return ()
        vocabulary = self.vocabulary(TAG)
        resolved = vocabulary.resolve_all(wanted)
        self._warn_unknown(vocabulary, resolved)
        return resolved

    def contexts(self, names: Iterable[str] | str | None) -> tuple[str, ...]:
        """A new context gives no warning: situations are free text."""
        return self.vocabulary(CONTEXT).resolve_all(names)

    def source(self, name: str | None) -> tuple[str, str]:
        """The source and its typical confidence. A new source is stored together with the lesson."""
        if not name or not normalize(name):
            return "", DEFAULT_LEVEL
        vocabulary = self.vocabulary(SOURCE)
        source = vocabulary.resolve(name)
        if not any(each in vocabulary.terms for each in (source, *ancestors(source))):
            if not self._warn_unknown(vocabulary, [source]):
                self.warnings.append(f"source {source!r} is used by lessons but has no description.")
            self.warnings[-1] += " It was created, and waits for review."
            self.new_sources.append(source)
        elif vocabulary.inherited(source, Key.DEPRECATED):
            self.warnings.append(f"source {source!r} is deprecated; choose another")
        return source, str(vocabulary.inherited(source, Key.TYPICAL) or DEFAULT_LEVEL)

    def metadata(self, metadata: Mapping[str, Json]) -> Mapping[str, Json]:
        """Spells values as their reference table does. A value that its table lacks is stored with a warning."""
        if not isinstance(metadata, Mapping):
            return metadata  # the store refuses it with its own message
        checked = dict(metadata)
        for key, value in metadata.items():
            known = [each.name for each in references(self.store, key)] if isinstance(value, str) else []
            if not known:
                continue
            checked[key] = name = normalize(str(value))
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near[0]!r}?" if near else "use one of: " + ", ".join(known) + "."
                self.warnings.append(f"{key} {name!r} not recognized, {hint}")
                self.suggestions |= {name: near} if near else {}
        return checked

    def confidence(self, value: str | float | None, typical: str = DEFAULT_LEVEL) -> float:
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise InvalidInput(f"A confidence is a level such as 'high', or a number from 0 to 1, not {value!r}.")
        return float(value) if isinstance(value, int | float) else level_named(value or typical).value

    def new_terms(self) -> Mapping[tuple[str, str], TermEdit]:
        """Edits that add the new sources, to be committed with the lesson that names them."""
        if self.new_sources and not self.store.may_teach:
            new = self.new_sources[0]
            raise AccessDenied(f"The source {new!r} is new, and this agent may not add terms; use a known one.")
        return {(SOURCE, name): lambda data: data or {Key.REVIEW: True} for name in self.new_sources}

    def _warn_unknown(self, vocabulary: Vocabulary, names: Iterable[str]) -> bool:
        warnings, suggestions = check_known(vocabulary, names)
        self.warnings += warnings
        self.suggestions |= suggestions
        return bool(warnings)


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that a lesson may name in its metadata, under the name of its table."""

    name: str
    ordinal: int | None = None
    description: str = ""


def references(store: MemoryStore, table: str) -> tuple[Reference, ...]:
    """The values of a table in their order; empty when the table does not exist."""
    values = []
    for full_name, data in store.vocabulary(REFERENCE).items():
        kind, _, name = full_name.partition(TABLE_SEPARATOR)
        if kind == table:
            ordinal = data.get(Key.ORDINAL)
            place = ordinal if isinstance(ordinal, int) else None
            values.append(Reference(name, place, str(data.get(Key.DESCRIPTION) or "")))
    return tuple(sorted(values, key=lambda each: (each.ordinal is None, each.ordinal, each.name)))


def table_name(name: str) -> str:
    table = normalize(name)
    if not table or TABLE_SEPARATOR in table or table in RESERVED_TABLES:
        raise InvalidInput(f"{name!r} cannot be a table of values; choose a name such as 'priority'.")
    return table
