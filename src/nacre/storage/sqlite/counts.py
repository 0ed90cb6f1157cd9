"""What is counted of the present state of a space, kept in the transaction that changes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from nacre.model import Condition, Filter, Memory
from nacre.model.instants import week_of
from nacre.protocols import Tallied
from nacre.storage.sqlite.rows import SQLValue, State, as_json, clause, fetch

TOTAL = ""  # the field under which memories themselves are counted
LISTS: tuple[Tallied, ...] = ("tags", "contexts", "anti_contexts", "entities")
# What each field is called in a query. The week is that of `week_of`.
COLUMNS: Mapping[str, str] = {
    TOTAL: "version.row", "type": "version.type", "status": "version.status", "source": "version.source",
    "week": "date(floor(version.created_at), 'unixepoch', 'weekday 0', '-6 days')",
    **dict.fromkeys(LISTS, "label.name"),
}  # fmt: skip
SUPERSEDED = "*"  # after the status of a superseded memory
Counts = Counter[tuple[SQLValue, ...]]


def counted(space: int, memory: Memory) -> Iterator[tuple[SQLValue, ...]]:
    """The rows of `counter` in which the memory counts; one that expires counts in none."""
    if memory.expires_at is not None:
        return
    status = memory.status + (SUPERSEDED if memory.superseded_by else "")
    yield space, TOTAL, status, ""
    yield space, "type", status, memory.type
    yield space, "source", status, memory.source
    yield space, "week", status, week_of(memory.created_at)
    for field in LISTS:
        for name in dict.fromkeys(getattr(memory, field)):
            yield space, field, status, name


def write(connection: apsw.Connection, counter: Counts, terms: Counts) -> None:
    for table, columns, counts in (
        ("counter", "space, field, status, name", counter),
        ("term_count", "space, term", terms),
    ):
        rows = [(*key, n) for key, n in sorted(counts.items(), key=str) if n]
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            connection.executemany(
                f"INSERT INTO {table}({columns}, n) VALUES ({marks}) ON CONFLICT DO UPDATE SET n = n + excluded.n", rows
            )
        if any(n < 0 for n in counts.values()):
            gone = " AND ".join(f"{column} = ?" for column in columns.split(", "))
            connection.executemany(
                f"DELETE FROM {table} WHERE {gone} AND n <= 0", [key for key, n in counts.items() if n < 0]
            )


def tally(connection: apsw.Connection, state: State, field: str, where: Filter) -> dict[str, int] | None:
    """How many memories have each value, or how many there are by status; None where no counter says it."""
    if state.seq is not None or not all(answered(condition) for condition in where.conditions):
        return None
    column = TOTAL if field == "status" else field
    counts: Counter[str] = Counter()
    for status, name, n in connection.execute(
        "SELECT status, name, n FROM counter WHERE space = ? AND field = ?", (state.space, column)
    ).fetchall():
        if has_status(str(status), where.conditions):
            counts[str(status).removesuffix(SUPERSEDED) if field == "status" else str(name)] += int(n)  # type: ignore[arg-type]
    counts.update(expiring(connection, state, field, where))
    return {name: n for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if n}


def holding(connection: apsw.Connection, state: State, terms: Sequence[str]) -> dict[str, int]:
    """On how many memories each term is, at most: a phrase is at least as rare as its rarest word."""
    sql = "SELECT term, n FROM term_count WHERE space = ? AND term IN (SELECT value FROM json_each(?))"
    asked = as_json(list(dict.fromkeys(stem for term in terms for stem in term.split())))
    counts = dict(fetch(connection, sql, (state.space, asked)))
    past = int(state.seq is not None)  # a word may be only in what has changed since
    return {term: min((counts.get(stem, past) for stem in term.split()), default=0) for term in terms}


def answered(condition: Condition) -> bool:
    """Whether the counted status says if a memory meets it."""
    if condition.field == "superseded_by":
        return (condition.op in ("eq", "ne") and condition.value == "") or condition.op == "unset"
    if condition.field == "expires_at":
        return condition.op == "gt_or_unset"
    return condition.field == "status"


def has_status(counted_as: str, conditions: Sequence[Condition]) -> bool:
    superseded = "x" if counted_as.endswith(SUPERSEDED) else ""
    example = Memory(id="", text="", status=counted_as.removesuffix(SUPERSEDED), superseded_by=superseded)
    return all(condition.admits(example) for condition in conditions)


def expiring(connection: apsw.Connection, state: State, field: str, where: Filter) -> Iterable[str]:
    """The values of the memories that have a time of expiry; these are few."""
    made = clause(state, where)
    labels = f" CROSS JOIN label ON label.key = version.key AND label.field = '{field}' AND label.seq_to IS NULL"
    rows = connection.execute(
        f"SELECT {COLUMNS[field]} FROM {made.joined()}{labels if field in LISTS else ''}"
        f" WHERE version.expires_at IS NOT NULL AND {made.sql}",
        made.values,
    ).fetchall()
    return ["" if field == TOTAL else str(name) for (name,) in rows]


def rebuild(connection: apsw.Connection, memories: Iterable[tuple[int, Memory, frozenset[str], int]]) -> None:
    """Counts everything again: the space's number, the memory, its stems and their total, of each present one."""
    connection.execute("DELETE FROM counter; DELETE FROM term_count; UPDATE space SET memories = 0, stems = 0")
    counter: Counts = Counter()
    terms: Counts = Counter()
    totals: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for space, memory, stems, length in memories:
        counter.update(counted(space, memory))
        terms.update((space, stem) for stem in stems)
        totals[space] += 1
        lengths[space] += length
    write(connection, counter, terms)
    connection.execute(
        "UPDATE space SET worded = (SELECT count(*) FROM content WHERE words IS NOT NULL AND number IN"
        " (SELECT content FROM main.version WHERE version.space = space.number))"
    )
    connection.executemany(
        "UPDATE space SET memories = ?, stems = ? WHERE number = ?",
        [(n, lengths[space], space) for space, n in totals.items()],
    )
