"""Examines a store's file and says how to mend what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw

from nacre.ports import Health
from nacre.storage.sqlite import schema
from nacre.storage.sqlite.rows import only_row

REINDEX = "Run `nacre reindex` to compute it again; no memory is lost."


def examine(connection: apsw.Connection, path: Path, *, thorough: bool) -> Health:
    with connection:  # one snapshot: counts from different moments would disagree while others write
        health = counted(connection, path)
    return replace(health, problems=(*health.problems, *damages(connection, path))) if thorough else health


def counted(connection: apsw.Connection, path: Path) -> Health:
    def number(sql: str) -> int:
        return int(only_row(connection, sql)[0] or 0)

    found = connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    counts = {
        "memories": number("SELECT count(*) FROM memory"),
        "words": number("SELECT count(*) FROM word_docsize"),
        "chunks": number("SELECT count(*) FROM chunk WHERE embedded"),
        "vectors": number("SELECT sum(count) FROM block"),
    }
    return Health(
        schema=schema.version(connection),
        memories=counts["memories"],
        chunks=number("SELECT count(*) FROM chunk"),
        vectors=counts["vectors"],
        pending=number(
            "SELECT count(*) FROM memory WHERE generation < (SELECT value FROM meta WHERE key = 'generation')"
        ),
        bytes_on_disk=sum(part.stat().st_size for part in parts(path)),
        embedder=str(found[0]) if found else "",
        problems=tuple(disagreements(counts)),
    )


def disagreements(counts: dict[str, int]) -> Iterator[str]:
    if counts["words"] != counts["memories"]:
        yield f"The word index holds {counts['words']} of {counts['memories']} memories. {REINDEX}"
    if counts["vectors"] != counts["chunks"]:
        yield f"The vector index holds {counts['vectors']} of {counts['chunks']} pieces of text. {REINDEX}"


def damages(connection: apsw.Connection, path: Path) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA quick_check(5)"):
        if line != "ok":
            yield f"{path} is damaged ({line}). Restore a backup; `nacre list -n 0 -f json` saves what can be read."
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
    except apsw.CorruptError as error:
        yield f"The word index is damaged ({error}). {REINDEX}"


def parts(path: Path) -> Iterator[Path]:
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            yield part
