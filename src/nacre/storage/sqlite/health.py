"""Examines a store's file and says how to repair what is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from nacre.model.memory import embedded_head, piece_digest
from nacre.model.validate import RANGES
from nacre.protocols import Health
from nacre.storage import tables
from nacre.storage.health_notes import OUT_OF_RANGE, WEIGHT_OUT_OF_RANGE, altered_notes, range_notes
from nacre.storage.sqlite import damage, schema
from nacre.storage.sqlite.connection import LEFT_IN_LOG, LEFT_IN_LOG_NOTE
from nacre.storage.sqlite.rows import Row, only_row, plain_text, present_versions

REINDEX = "Run `nacre store reindex` to compute it again; no memory is lost."
NAMED = 5  # spaces in a message
FIX = "Run `nacre doctor --fix`, which keeps everything that can be read, or `nacre store backup restore`."


def examine(connection: apsw.Connection, path: Path, *, thorough: bool) -> Health:
    with damage.one_snapshot(connection):  # counts from different moments would disagree while others write
        health = counted(connection, path)
        if not thorough:
            return health
        faults = tuple(damages(connection))
        counters = () if faults else (*miscounted(connection), *miscounted_names(connection), *misnamed(connection))
        vectors = tuple(vector_damages(connection))
        notes = health.notes
        if missing := damage.missing_entries(connection):
            notes = (*notes, f"Entries that the journal lacks: {missing}. Earlier states may not be shown any more.")
        if not faults:
            altered = altered_notes(altered_texts(connection))
            notes = (*notes, *range_notes(out_of_range(connection)), *altered)
    derived = (*word_damages(connection), *vectors)
    return replace(health, problems=(*health.problems, *counters, *derived, *faults), damage=faults, notes=notes)


def counted(connection: apsw.Connection, path: Path) -> Health:
    def number(sql: str) -> int:
        return int(only_row(connection, sql)[0] or 0)

    embedder = connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    left = connection.execute(f"SELECT 1 FROM meta WHERE key = '{LEFT_IN_LOG}'").fetchall()
    counts = {
        "memories": number("SELECT sum(memories) FROM present"),
        "contents": number("SELECT sum(worded) FROM space"),
        "words": number("SELECT count(*) FROM word_docsize"),
        "chunks": number("SELECT count(*) - (SELECT count(*) FROM chunk WHERE NOT embedded) FROM chunk"),
        "vectors": number("SELECT count(*) FROM vector"),
    }
    return Health(
        schema=schema.version(connection),
        memories=counts["memories"],
        chunks=number("SELECT count(*) FROM chunk"),
        vectors=counts["vectors"],
        pending=number("SELECT count(*) FROM content WHERE pending"),
        bytes_on_disk=sum(part.stat().st_size for part in parts(path)),
        embedder=str(embedder[0]) if embedder else "",
        problems=tuple(disagreements(counts)),
        notes=(LEFT_IN_LOG_NOTE,) if left else (),
    )


def disagreements(counts: dict[str, int]) -> Iterator[str]:
    if counts["words"] != counts["contents"]:
        yield f"The word index holds {counts['words']} of {counts['contents']} texts. {REINDEX}"
    if counts["vectors"] != counts["chunks"]:
        yield f"The vector index holds {counts['vectors']} of {counts['chunks']} pieces of text. {REINDEX}"


def miscounted(connection: apsw.Connection) -> Iterator[str]:
    counted, total, memories, expiring = only_row(
        connection,
        "SELECT coalesce(sum(memories), 0), (SELECT coalesce(sum(n), 0) FROM counter WHERE field = ''),"
        " (SELECT count(*) FROM main.version NOT INDEXED WHERE seq_to IS NULL),"
        " (SELECT count(*) FROM main.version WHERE seq_to IS NULL AND expires_at IS NOT NULL) FROM present",
    )
    if not counted == memories == total + expiring:
        yield f"The counters say {counted} memories, and there are {memories}. {REINDEX}"
    hidden = only_row(
        connection,
        "SELECT count(*) FROM main.version WHERE anchor <> seq_from AND NOT EXISTS (SELECT 1 FROM main.version AS lead"
        " WHERE lead.key = version.key AND lead.seq_from = version.anchor AND lead.anchor = lead.seq_from)",
    )[0]
    if hidden:
        yield f"No list shows {hidden} versions of memories, because they are in no index. {REINDEX}"
    worded, contents = only_row(
        connection,
        "SELECT coalesce(sum(worded), 0), (SELECT count(*) FROM content WHERE words IS NOT NULL) FROM space",
    )
    if worded != contents:
        yield f"The counters say {worded} texts with words, and there are {contents}. {REINDEX}"


def miscounted_names(connection: apsw.Connection) -> Iterator[str]:
    """Counters that say of a space, of a stem, or of a name that memories have, another number than counting says."""
    try:
        kept = counters_kept(connection)
    except damage.UNREADABLE as error:
        yield f"The counters of words and names cannot be read ({damage.reason(error)}). {REINDEX}"
        return
    present, rows = counters_of_memories(connection), connection.execute("SELECT number, name FROM space").fetchall()
    wrong = sorted(str(name) for space, name in rows if kept[int(space)] != present[int(space)])  # type: ignore[arg-type]
    if wrong:
        more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        spaces = f"space {wrong[0]}" if len(wrong) == 1 else f"spaces {', '.join(wrong[:NAMED])}{more}"
        yield f"The counters of words and names do not fit the memories of the {spaces}. {REINDEX}"


class Counted(NamedTuple):
    """What is counted in a space: memories, the lengths of their versions, and of each further counter its number times
    the hash of its names, summed. All stems of a large store are too many to be counted one by one in memory; two sums
    are hardly ever equal where one counter differs."""

    memories: int = 0
    stems: int = 0
    counters: int = 0


def counters_kept(connection: apsw.Connection) -> defaultdict[int, Counted]:
    hashed = Counter[int]()
    rows: Iterable[tuple[Any, ...]] = connection.execute(
        "SELECT space, CAST(n AS INTEGER), field, status, name FROM counter"
    )
    for space, n, *key in rows:
        hashed[space] += n * hash(tuple(key))
    result: defaultdict[int, Counted] = defaultdict(Counted)
    spaces: Iterable[tuple[Any, ...]] = connection.execute("SELECT number, memories, stems FROM present")
    for space, memories, stems in spaces:
        result[space] = Counted(memories, stems, hashed[space])
    return result


def counters_of_memories(connection: apsw.Connection) -> defaultdict[int, Counted]:
    result: defaultdict[int, Counted] = defaultdict(Counted)
    for space, length, stems, memory in present_versions(connection):
        hashed = sum(hash((tables.TERM, "", stem)) for stem in stems)
        for (_, *key), n in tables.counts_of(space, memory).items():
            hashed += n * hash(tuple(key))
        counted = result[space]
        result[space] = Counted(counted.memories + 1, counted.stems + length, counted.counters + hashed)
    return result


def misnamed(connection: apsw.Connection) -> Iterator[str]:
    """A name or a link that is lost: a filter does not find its memory, though the memory itself has it."""
    for table, (there, expected) in damage.counted_names(connection).items():
        if there != expected:
            kind = {"label": "tags and other names", "link": "links"}[table]
            yield f"The index of {kind} holds {there} of {expected}. {REINDEX}"


def out_of_range(connection: apsw.Connection) -> Sequence[Row]:
    """What `range_notes` reads: memories with numbers that are none of theirs."""
    return connection.execute(
        f"SELECT (SELECT name FROM space WHERE number = version.space), memory.id, {', '.join(RANGES)}"
        " FROM main.version NOT INDEXED CROSS JOIN memory ON memory.key = version.key WHERE version.seq_to IS NULL"
        f" AND ({OUT_OF_RANGE} OR version.key IN (SELECT key FROM link WHERE seq_to IS NULL AND {WEIGHT_OUT_OF_RANGE}))"
        " ORDER BY version.row"
    ).fetchall()


def altered_texts(connection: apsw.Connection) -> list[tuple[str, str]]:
    """The space and id of each memory whose text is not the one that was cut into chunks: a changed byte that leaves
    the text legible is nowhere else to be seen."""
    rows = connection.execute(
        "SELECT (SELECT name FROM space WHERE number = version.space), memory.id, content.title, content.role,"
        " content.text, chunk.start, chunk.stop, chunk.digest FROM main.version NOT INDEXED"
        " CROSS JOIN memory ON memory.key = version.key CROSS JOIN content ON content.number = version.content"
        " CROSS JOIN chunk ON chunk.content = content.number WHERE version.seq_to IS NULL ORDER BY version.row"
    )
    altered = ((str(space), str(id)) for space, id, *columns in rows if not has_digest(*columns))
    return list(dict.fromkeys(altered))


def has_digest(title: Any, role: Any, text: Any, start: Any, stop: Any, digest: Any) -> bool:
    """Whether the chunk is of this text. Of a long title, a model reads the beginning alone."""
    if not isinstance(start, int) or not isinstance(stop, int):
        return False
    title, piece = plain_text(title) or "", plain_text(text)[start:stop]
    if piece_digest(embedded_head(title, role or "") + piece) == digest:
        return True
    starts = (title[:end].rstrip() for end in range(len(title) - 1, 0, -1))
    return any(piece_digest(embedded_head(start, role or "") + piece) == digest for start in starts)


def damages(connection: apsw.Connection) -> Iterator[str]:
    """What computing the indexes again does not repair."""
    try:
        for row, why in damage.damaged_rows(connection).items():
            space, id = damage.name(connection, row)
            yield f"The record {id} (space {space}) is damaged and left out everywhere: {why}. {FIX}"
        if unreached := damage.out_of_reach(connection):
            yield f"{unreached} memories cannot be written, because a row of theirs is damaged. {FIX}"
        yield from wrong_rows(connection)
    except apsw.CorruptError as error:
        yield f"The memories cannot all be read ({error}). {FIX}"
    for foreign in schema.foreign_definitions(connection):
        yield f"Nacre did not make {foreign} in the file, which may change or keep what you store. {FIX}"
    for fault in damage.unreadable_tables(connection):
        yield f"The file is damaged: {fault}. {FIX}"
    for line in damage.broken_structure(connection):
        yield f"The file is damaged ({line}). {FIX}"


def wrong_rows(connection: apsw.Connection) -> Iterator[str]:
    """Rows that can be read and do not fit the others."""
    if unled := damage.without_first(connection):
        yield f"Texts that no search finds, because the row that leads to them is lost: {unled}. {FIX}"
    if ended := len(damage.without_present(connection)):
        yield f"Memories whose present version is lost: {ended}. {FIX}"
    if overlapping := damage.overlapping(connection):
        yield f"Versions that do not end where the next one of their memory begins: {overlapping}. {FIX}"
    if damage.numbers_to_raise(connection):
        yield f"Memories have row numbers that would be given again. {FIX}"
    if damage.beyond_journal(connection):
        yield f"Memories have journal numbers that would be given again, and edits would fail. {FIX}"


def word_damages(connection: apsw.Connection) -> Iterator[str]:
    try:
        connection.execute("INSERT INTO word(word) VALUES ('integrity-check')")
    except apsw.ReadOnlyError:
        return  # the check is said as a write
    except apsw.CorruptError as error:
        yield f"The word index is damaged ({error}). {REINDEX}"


def vector_damages(connection: apsw.Connection) -> Iterator[str]:
    from nacre.storage.sqlite import signs

    try:
        for fault in signs.faults(connection):
            yield f"The vector index is damaged: {fault}. {REINDEX}"
    except apsw.CorruptError as error:
        yield f"The vector index is damaged ({error}). {REINDEX}"


def parts(path: Path) -> Iterator[Path]:
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            yield part
