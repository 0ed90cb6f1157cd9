"""Counts uses of memories and walks along links, and has grown tables analysed, in a thread that no"
" caller waits for."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from nacre.errors import StorageError
from nacre.model import Edge
from nacre.storage.postgres.connection import CHOOSE, NUMBER, Connections, Session, chosen
from nacre.storage.postgres.rows import OPEN
from nacre.storage.postgres.transaction import TABLES_OF_SPACE

log = logging.getLogger("nacre.storage")

MOST_USES = 1_000  # that wait until they can be counted; beyond that the oldest are lost
SETTLED_SECONDS = 5.0  # a reader waits so long, at most, to see what this process counted before
# A use does not wait for the disk, and for no writer: what a writer holds is counted later.
QUICKLY = "SET LOCAL synchronous_commit = off"
TOUCH = (
    "WITH known AS (SELECT key FROM memory WHERE space_id = %(space)s AND id = ANY(%(ids)s::text[]) AND gone = 0),"
    " free AS (SELECT memory.key FROM memory JOIN known USING (key) WHERE memory.space_id = %(space)s"
    " ORDER BY memory.key"
    " FOR UPDATE OF memory SKIP LOCKED),"
    " done AS (UPDATE memory SET last_accessed = greatest(last_accessed, %(at)s::double precision),"
    " access_count = access_count + 1 FROM free WHERE memory.space_id = %(space)s AND memory.key = free.key"
    " RETURNING memory.key)"
    " SELECT id FROM memory WHERE space_id = %(space)s AND key IN (SELECT key FROM known EXCEPT SELECT key FROM done)"
)
WALK = (
    "WITH walked AS (SELECT link.target, link.rel, link.key FROM unnest(%(sources)s::text[], %(targets)s::text[],"
    " %(rels)s::text[]) AS edge(source, target, rel) JOIN memory ON memory.space_id = %(space)s"
    ' AND memory.id = edge.source COLLATE "C" AND memory.gone = 0 JOIN link ON link.space_id = %(space)s'
    ' AND link.key = memory.key AND link.target = edge.target COLLATE "C" AND link.rel = edge.rel COLLATE "C"'
    f" AND link.seq_to = {OPEN} FOR UPDATE OF link SKIP LOCKED)"
    " UPDATE link SET walks = walks + 1 FROM walked WHERE link.space_id = %(space)s AND link.target = walked.target"
    f" AND link.rel = walked.rel AND link.key = walked.key AND link.seq_to = {OPEN}"
)


class Uses:
    """A queue, and a thread that exists as long as something is in it."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=MOST_USES)
        self._later: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=MOST_USES)  # what a writer held
        self._busy = False

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        self._add(space, {"ids": list(dict.fromkeys(ids)), "at": at})

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        sources, targets, rels = zip(*{edge[:3] for edge in edges}, strict=True) if edges else ((), (), ())
        self._add(space, {"sources": list(sources), "targets": list(targets), "rels": list(rels)})

    def analyse(self, space: str) -> None:
        """Tells the planner how large the space has become. Plans that were made for a few rows would be used for
        many."""
        self._add(space, {"analyse": True})

    def _add(self, space: str, values: Mapping[str, Any]) -> None:
        if self._process != os.getpid():
            self._begin()  # the thread is the parent's
        with self._changed:
            self._waiting.extend(self._later)
            self._later.clear()
            self._waiting.append((space, values))
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._work, name="nacre-uses", daemon=True).start()

    def settle(self) -> None:
        """Waits until this process has counted what it was asked to."""
        if self._busy and self._process == os.getpid() and threading.current_thread().name != "nacre-uses":
            with self._changed:
                self._changed.wait_for(lambda: not self._busy, SETTLED_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._busy = False
                    self._changed.notify_all()
                    return
                space, values = self._waiting.popleft()
            try:
                self._count(space, values)
            except StorageError as error:
                log.debug("A use was not counted: %s", error)

    def _count(self, space: str, values: Mapping[str, Any]) -> None:
        with self._connections.use() as connection, connection.transaction():
            session = Session(connection)
            session.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            session.execute(QUICKLY)
            session.execute(CHOOSE, chosen((), (space,)))
            for (number,) in session.fetch(NUMBER, {"name": space}):
                session.execute(CHOOSE, chosen((number,), (space,)))
                if "analyse" in values:
                    analyse(session, number)
                elif "ids" not in values:
                    session.execute(WALK, {**values, "space": number})
                elif held := [id for (id,) in session.fetch(TOUCH, {**values, "space": number})]:
                    with self._changed:
                        self._later.append((space, {**values, "ids": held}))


def analyse(session: Session, space: int) -> None:
    """The partitions in which the space lies. A role that does not own them only gets a warning."""
    for table in TABLES_OF_SPACE:
        sql = f"SELECT tableoid::regclass::text FROM {table} WHERE space_id = %(space)s LIMIT 1"
        for (partition,) in session.fetch(sql, {"space": space}):
            session.execute(f"ANALYZE {partition}")
