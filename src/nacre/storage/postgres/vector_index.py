"""Indexes of the vectors of large spaces: `nacre store reindex` builds them, and checks each against all vectors.

A small space is compared vector by vector, which is exact. Above `LARGE` an HNSW index takes over: a partial one on the
partition in which the space lies, for the vectors of this space alone. One index over all spaces would be filtered
afterwards and lose neighbours; one for each small space would fill the server's table of locks. It is built without
stopping writers, and dropped or missing it changes nothing but the time of a search: the same statement compares all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from nacre.storage.postgres.connection import CHOOSE, Connection, Connections, HalfVector, Session, chosen

log = logging.getLogger("nacre.storage")

LARGE = 50_000  # vectors in a space; comparing 60,000 took 85 ms at the least, on a busy machine
# Of a vector in the graph, and those that are looked at to choose them. With 16 and 100, no effort reached `REQUIRED`
# on 60,000 vectors of `benchmarks/growth_world.py`; with these, one of 800 does.
NEIGHBOURS, CANDIDATES = 24, 200
EFFORTS = (100, 200, 400, 800)  # tried in this order
MOST_INDEXED = 1_000  # chunks that a search may ask an index for: the largest effort that pgvector takes
SAMPLES, COMPARED = 40, 50  # stored vectors that are asked about, and how many neighbours of each must be found
REQUIRED = 0.99  # the share of them that the index must find; else all vectors are compared
BUILD_MEMORY = "1GB"  # 500,000 vectors of 384 dimensions alone are 400 MB; what does not fit is built far slower
LOCK = 0x6E61637666  # of the advisory lock under which indexes are built


def index_name(space: int, dimensions: int) -> str:
    return f"chunk_nearest_{space}_{dimensions}"


def nearest(space: int, dimensions: int, *, indexed: bool) -> str:
    """The nearest chunks of a space to `%(vector)s`, best first. The numbers are part of the statement where the index
    is to be used: the server must see that its condition holds."""
    if not indexed:
        return (
            "SELECT content, -distance, start, stop FROM (SELECT content, embedding <#> %(vector)s AS distance, start,"
            " stop FROM chunk WHERE space_id = %(space)s AND vector_dims(embedding) = %(dimensions)s{within}"
            " ORDER BY 2 LIMIT %(limit)s) AS nearest ORDER BY distance, content"
        )
    column = f"(embedding::halfvec({int(dimensions)}))"
    return (
        f"SELECT content, -distance, start, stop FROM (SELECT content, {column} <#> %(vector)s AS distance, start, stop"
        f" FROM chunk WHERE space_id = {int(space)} AND vector_dims(embedding) = {int(dimensions)}"
        f" ORDER BY {column} <#> %(vector)s LIMIT %(limit)s) AS nearest ORDER BY distance, content"
    )


def look_at(effort: int, limit: int) -> str:
    """For one transaction. An iterative scan goes on until there are enough rows, in nearly the right order; the outer
    query sorts them by their exact distance."""
    wide = min(max(effort, limit), MOST_INDEXED)
    return (
        f"SELECT set_config('hnsw.ef_search', '{wide}', true), set_config('hnsw.iterative_scan', 'relaxed_order', true)"
    )


def maintain(connections: Connections, dimensions: int) -> None:
    """Builds what is missing, drops what nothing uses. By one process at a time; another one leaves it to that."""
    with connections.use() as connection:
        session = Session(connection)
        if not dimensions or not session.only_row("SELECT pg_try_advisory_lock(%(lock)s)", {"lock": LOCK})[0]:
            return
        try:
            session.execute("SET statement_timeout = 0; SET lock_timeout = 0")
            session.execute(f"SET maintenance_work_mem = '{BUILD_MEMORY}'")
            large = large_spaces(session, dimensions)
            drop_unused(session, dimensions, [space for space, _ in large])
            for space, count in large:
                build(session, space, dimensions, count)
        finally:
            connection.close()  # with its settings and its lock


def large_spaces(session: Session, dimensions: int) -> list[tuple[int, int]]:
    with session.connection.transaction():
        session.execute(CHOOSE, chosen(None, ()))
        rows = session.fetch("SELECT space_id FROM spaces WHERE chunk_number > %(large)s", {"large": LARGE})
        counted = [
            (space, session.only_row(
                "SELECT count(*) FROM chunk WHERE space_id = %(space)s AND vector_dims(embedding) = %(dimensions)s",
                {"space": space, "dimensions": dimensions},
            )[0])
            for (space,) in rows
        ]  # fmt: skip
    return [(space, count) for space, count in counted if count > LARGE]


def existing(session: Session) -> Iterator[tuple[str, bool]]:
    """The names of such indexes, and whether each is complete."""
    yield from session.fetch(
        "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE relnamespace = 'nacre'::regnamespace AND starts_with(relname, 'chunk_nearest_')"
    )


def drop_unused(session: Session, dimensions: int, large: Sequence[int]) -> None:
    """Those that were not completed, of another model, or of a space that is no longer large."""
    with session.connection.transaction():
        session.execute(CHOOSE, chosen(None, ()))
        sql = "UPDATE spaces SET effort = 0 WHERE effort > 0 AND space_id <> ALL(%(large)s)"
        session.execute(sql, {"large": list(large)})
    wanted = {index_name(space, dimensions) for space in large}
    for name, complete in list(existing(session)):
        if not complete or name not in wanted:
            session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS nacre.{name}")


def build(session: Session, space: int, dimensions: int, count: int) -> None:
    name = index_name(space, dimensions)
    if name not in dict(existing(session)):
        with session.connection.transaction():
            session.execute(CHOOSE, chosen((space,), ()))
            sql = "SELECT tableoid::regclass::text FROM chunk WHERE space_id = %(space)s LIMIT 1"
            partition = session.only_row(sql, {"space": space})[0]
        session.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON {partition} USING hnsw"
            f" ((embedding::halfvec({dimensions})) halfvec_ip_ops) WITH (m = {NEIGHBOURS},"
            f" ef_construction = {CANDIDATES}) WHERE space_id = {space} AND vector_dims(embedding) = {dimensions}"
        )
    effort = sufficient_effort(session, space, dimensions)
    with session.connection.transaction():
        session.execute(CHOOSE, chosen(None, ()))
        sql = "UPDATE spaces SET effort = %(effort)s WHERE space_id = %(space)s"
        session.execute(sql, {"effort": effort, "space": space})
    if effort:
        log.info("The %s vectors of space %s are searched by an index.", f"{count:,}", space)
    else:
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS nacre.{name}")
        log.warning("An index of the vectors of space %s loses neighbours; all are compared.", space)


def sufficient_effort(session: Session, space: int, dimensions: int) -> int:
    """The least effort with which the index finds nearly all of the true neighbours; 0 where none does."""
    with session.connection.transaction():
        session.execute(CHOOSE, chosen((space,), ()))
        rows = session.fetch(
            "SELECT embedding FROM chunk WHERE space_id = %(space)s AND vector_dims(embedding) = %(dimensions)s"
            " AND hashint8(number) %% %(every)s = 0 LIMIT %(limit)s",
            {"space": space, "dimensions": dimensions, "every": LARGE // SAMPLES // 2, "limit": SAMPLES},
            binary=True,
        )
        stored = [row for (row,) in rows]
        # A question is not stored: what lies between two memories is as far from all of them as one may be.
        samples = [*stored, *((one + other) / 2 for one, other in pairwise(stored))]
        exact = [neighbours(session, space, vector, indexed=False) for vector in samples]
        for effort in EFFORTS:
            session.execute(look_at(effort, COMPARED))
            share = share_found(exact, [neighbours(session, space, vector, indexed=True) for vector in samples])
            log.info("With an effort of %s the index finds %.4f of the neighbours.", effort, share)
            if share >= REQUIRED:
                return effort
    return 0


def neighbours(session: Session, space: int, vector: Any, *, indexed: bool) -> list[tuple[int, float]]:
    """Contents with their cosines."""
    values = {"space": space, "vector": HalfVector(vector), "dimensions": len(vector), "limit": COMPARED}
    sql = nearest(space, len(vector), indexed=indexed).format(within="")
    return [(content, cosine) for content, cosine, _, _ in session.fetch(sql, values)]


def share_found(exact: Sequence[Sequence[tuple[int, float]]], indexed: Sequence[Sequence[tuple[int, float]]]) -> float:
    """How many of the true neighbours were found. One that is as near as the last of them is as good."""
    hits = total = 0
    for true, matches in zip(exact, indexed, strict=True):
        last = min((cosine for _, cosine in true), default=0.0)
        hits += sum(cosine >= last for _, cosine in matches)
        total += len(true)
    return hits / max(1, total)


def forget(connection: Connection) -> None:
    """Before all vectors are removed: filling an index vector by vector takes far longer than building it."""
    session = Session(connection)
    session.execute("UPDATE spaces SET effort = 0 WHERE effort > 0")
    for name, _ in list(existing(session)):
        session.execute(f"DROP INDEX IF EXISTS nacre.{name}")
