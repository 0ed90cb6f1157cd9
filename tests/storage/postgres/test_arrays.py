"""Lists arrive at the server as they were sent, whatever they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest

TEXT, BIG, DOUBLE, REAL, BOOLEAN, BYTES = "text", "bigint", "double precision", "real", "boolean", "bytea"
Echo = Callable[[str, Sequence[Any]], list[Any]]


@pytest.fixture
def echo(address: str) -> Iterator[Echo]:
    """What the server gives back of a list."""
    from nacre.storage.postgres.arrays import column
    from nacre.storage.postgres.connection import Connections

    with closing(Connections(address)) as connections, connections.use() as connection:

        def echoed(kind: str, values: Sequence[Any]) -> list[Any]:
            sql = f"SELECT * FROM unnest(%(sent)s::{kind}[])"
            return [row for (row,) in connection.execute(sql, {"sent": column(kind, values)}, binary=True)]

        yield echoed


SENT: list[tuple[str, list[Any]]] = [
    (TEXT, []),
    (TEXT, ["plain", "NULL", "null", "", " ", "{}", "a,b"]),
    (TEXT, ['"', '","', "\\", '\\"', "\n\t", "Zürich 日本 🐚"]),
    (TEXT, ['one","two', "three"]),
    (TEXT, ["a", None, 'b"', None]),
    (BIG, []),
    (BIG, [0, -1, 2**63 - 1, -(2**63)]),
    (BIG, [1, None, 2]),
    (DOUBLE, [0.1, 3, -1e300]),
    (DOUBLE, [None, 2.5]),
    (REAL, [1.5, 2.0]),
    (BOOLEAN, [True, False, None]),
    (BYTES, [b"", b"\0\xff", None]),
]


@pytest.mark.parametrize(("kind", "values"), SENT)
def test_a_list_arrives_as_it_was_sent(echo: Echo, kind: str, values: Sequence[Any]) -> None:
    assert echo(kind, values) == list(values)


@pytest.mark.parametrize("lengths", [(3, 3, 3), (2, 3), (2, None, 2)])
def test_vectors_arrive_as_they_were_sent(echo: Echo, lengths: Sequence[int | None]) -> None:
    rows = [None if n is None else np.arange(n, dtype=np.float32) / 4 - 0.5 for n in lengths]
    received = [None if row is None else row.tolist() for row in echo("halfvec", rows)]
    assert received == [None if row is None else row.tolist() for row in rows]


def test_a_text_that_would_be_cut_off_is_refused(echo: Echo) -> None:
    import psycopg

    with pytest.raises(psycopg.DataError, match="cannot store"):
        echo(TEXT, ["before\0after"])
