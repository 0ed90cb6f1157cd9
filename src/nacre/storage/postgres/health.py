"""Examines the tables and says how to repair what is wrong; rebuilds what is derived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nacre.model.validate import RANGES
from nacre.protocols import Health
from nacre.storage.health_notes import OUT_OF_RANGE, WEIGHT_OUT_OF_RANGE, range_notes
from nacre.storage.postgres.connection import Session
from nacre.storage.postgres.migrations import newest
from nacre.storage.postgres.rows import JOIN_MEMORY, OPEN
from nacre.storage.postgres.transaction import frequencies
from nacre.storage.tables import TERM, unpacked_stems

REINDEX = "Run `nacre store reindex` to compute it again; no memory is lost."
BATCH = 5_000  # contents whose words are indexed again at once


def examine(session: Session, *, thorough: bool) -> Health:
    memories, chunks, vectors, pending, size = session.only_row(
        "SELECT (SELECT coalesce(sum(memories), 0)::bigint FROM spaces), (SELECT count(*) FROM chunk),"
        " (SELECT count(embedding) FROM chunk), (SELECT count(*) FROM content WHERE pending),"
        " (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
        " WHERE relnamespace = 'nacre'::regnamespace AND relkind = 'r')"
    )
    embedder = session.fetch("SELECT value FROM meta WHERE key = 'embedder'")
    problems = tuple(disagreements(session)) if thorough else ()
    notes = tuple(range_notes(out_of_range(session))) if thorough else ()
    name = embedder[0][0] if embedder else ""
    return Health(newest(), memories, chunks, vectors, pending, size, name, problems, notes=notes)


def disagreements(session: Session) -> Iterator[str]:
    for name, counted, there in session.fetch(
        "SELECT name, memories, (SELECT count(*) FROM version WHERE version.space_id = spaces.space_id"
        " AND seq_to = %(open)s) FROM spaces",
        {"open": OPEN},
    ):
        if counted != there:
            yield f"The counters of the space {name} say {counted} memories, and there are {there}. {REINDEX}"
    for name, worded, indexed in session.fetch(
        "SELECT name, (SELECT count(*) FROM content WHERE content.space_id = spaces.space_id AND words ~ '\\S'),"
        " (SELECT count(DISTINCT content) FROM posting WHERE posting.space_id = spaces.space_id) FROM spaces"
    ):
        if worded != indexed:
            yield f"The word index of the space {name} holds {indexed} of {worded} texts. {REINDEX}"


def out_of_range(session: Session) -> list[tuple[Any, ...]]:
    """What `range_notes` reads: memories with numbers that are none of theirs."""
    return session.fetch(
        f"SELECT spaces.name, memory.id, {', '.join(RANGES)} FROM version{JOIN_MEMORY}"
        " JOIN spaces ON spaces.space_id = version.space_id WHERE version.seq_to = %(open)s"
        f" AND ({OUT_OF_RANGE} OR (version.space_id, version.key) IN (SELECT link.space_id, link.key FROM link"
        f" WHERE link.seq_to = %(open)s AND {WEIGHT_OUT_OF_RANGE})) ORDER BY version.space_id, version.key",
        {"open": OPEN},
    )


def rebuild(session: Session) -> None:
    """The index of words and the counts of stems, from the stems that lie with the contents."""
    session.execute("DELETE FROM posting")
    after = (0, 0)
    while rows := session.fetch(
        "SELECT space_id, number, words FROM content WHERE (space_id, number) > (%(space)s, %(number)s)"
        " AND words IS NOT NULL ORDER BY space_id, number LIMIT %(limit)s",
        {"space": after[0], "number": after[1], "limit": BATCH},
    ):
        index(session, rows)
        after = rows[-1][:2]
    session.execute("DELETE FROM counter WHERE field = %(term)s", {"term": TERM})
    session.execute(
        "INSERT INTO counter(space_id, field, status, name, n) SELECT space_id, %(term)s, '', stem, count(*) FROM ("
        ' SELECT DISTINCT version.space_id, version.key, stem COLLATE "C" AS stem FROM version JOIN content'
        " ON content.space_id = version.space_id AND content.number = version.content,"
        " regexp_split_to_table(coalesce(content.words, '') || ' ' || version.stems, '\\s+') AS stem"
        " WHERE version.seq_to = %(open)s AND stem <> '') AS stems GROUP BY space_id, stem",
        {"term": TERM, "open": OPEN},
    )
    session.execute(
        "UPDATE spaces SET memories = (SELECT count(*) FROM version WHERE version.space_id = spaces.space_id"
        " AND seq_to = %(open)s), stems = (SELECT coalesce(sum(length), 0) FROM version"
        " WHERE version.space_id = spaces.space_id AND seq_to = %(open)s)",
        {"open": OPEN},
    )


def index(session: Session, contents: list[tuple[int, int, str]]) -> None:
    rows = [
        (space, term, number, frequency)
        for space, number, words in contents
        for term, frequency in frequencies(unpacked_stems(words, 3)).items()
    ]
    if rows:
        spaces, terms, numbers, weights = map(list, zip(*rows, strict=True))
        session.execute(
            "INSERT INTO posting(space_id, term, content, frequency)"
            " SELECT * FROM unnest(%(spaces)s::bigint[], %(terms)s::text[], %(numbers)s::bigint[],"
            " %(weights)s::real[])",
            {"spaces": spaces, "terms": terms, "numbers": numbers, "weights": weights},
        )
