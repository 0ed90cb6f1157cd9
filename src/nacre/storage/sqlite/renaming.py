"""What belongs to a space as a whole: lets it go by another name, or takes its words away."""

from __future__ import annotations

import apsw

TABLES = ("memory", "block", "removed", "journal")
# A kind of words that is one space's own is called KIND/SPACE; only the first slash is no part of the space's name.
OWN_KIND = "instr(kind, '/') > 0 AND substr(kind, instr(kind, '/') + 1) = :old"
RENAMED_KIND = "substr(kind, 1, instr(kind, '/')) || :new"


def rename(connection: apsw.Connection, old: str, new: str) -> None:
    names = {"old": old, "new": new}
    for table in TABLES:
        connection.execute(f"UPDATE main.{table} SET space = :new WHERE space = :old", names)
    connection.execute("UPDATE OR REPLACE dropped SET space = :new WHERE space = :old", names)
    for table in ("vocabulary", "journal"):
        connection.execute(f"UPDATE OR REPLACE {table} SET kind = {RENAMED_KIND} WHERE {OWN_KIND}", names)
    connection.execute("UPDATE OR REPLACE vocabulary SET name = :new WHERE kind = 'space' AND name = :old", names)
    # Every process reads its vectors again: those in memory are known by the space's name.
    connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'vector_epoch'")


def forget_words(connection: apsw.Connection, space: str) -> None:
    own = f"({OWN_KIND}) OR (kind = 'space' AND name = :old)"
    connection.execute(f"DELETE FROM vocabulary WHERE {own}", {"old": space})
