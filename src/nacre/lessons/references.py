"""Tables of values: the levels of confidence, the relations, and those that a book is taught, such as priorities."""

from __future__ import annotations

from nacre.errors import InvalidInput
from nacre.lessons.answer import Answer
from nacre.lessons.tables import ORDINAL, PARTED, REFERENCE, Reference, references
from nacre.lessons.teaching import Teaching
from nacre.lessons.vocabulary import DESCRIPTION, KINDS, normal
from nacre.lessons.word_edits import told
from nacre.model.levels import LEVELS, Level

TAKEN = (*KINDS, "confidence", "relation", "type")  # tables that have a method or a field of their own


class References(Teaching):
    def levels(self) -> Answer[tuple[Level, ...]]:
        """From the least sure to the surest."""
        return Answer(tuple(LEVELS.values()))

    def relations(self) -> Answer[dict[str, str]]:
        """Every relation between lessons with what it means."""
        return Answer(self.store.relations())

    def add_reference(
        self, kind: str, name: str, ordinal: int | None = None, description: str = ""
    ) -> Answer[Reference]:
        """Puts a value into the table `kind`, which is made with its first, or describes it anew. Without an ordinal
        it comes last."""
        table, added = table_named(kind), normal(name)
        if not added:
            raise InvalidInput(f"A {table} needs a name; give a word.")
        stand = references(self.store, table)
        last = max((each.ordinal or 0 for each in stand), default=0)
        kept = next((each.ordinal for each in stand if each.name == added), None)
        place = ordinal if ordinal is not None else kept if kept is not None else last + 1
        edit = told({ORDINAL: place, DESCRIPTION: description.strip()})
        self._teach("reference", {(REFERENCE, f"{table}{PARTED}{added}"): edit})
        return Answer(Reference(added, place, description.strip()))

    def references(self, kind: str) -> Answer[tuple[Reference, ...]]:
        """The values of a table in their order; empty when nobody has made it."""
        return Answer(references(self.store, table_named(kind)))


def table_named(kind: str) -> str:
    table = normal(kind)
    if not table or PARTED in table or table in TAKEN:
        raise InvalidInput(f"{kind!r} cannot be a table of values; choose a name such as 'priority'.")
    return table
