"""One line on a terminal's stderr that tells how far a long work is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.protocols import Progress

BACK_AND_ERASE = "\r\x1b[K"


@contextmanager
def progress_line() -> Iterator[Progress | None]:
    """None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return

    def tell(done: int, total: int, what: str) -> None:
        count = f": {done:,} of {total:,}, {100 * done // total} %" if total > 1 else " …"
        sys.stderr.write(f"{BACK_AND_ERASE}{what}{count}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(BACK_AND_ERASE)
        sys.stderr.flush()
