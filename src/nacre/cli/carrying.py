"""Where an archive comes from: a file, or stdin by way of one, since it is read more than once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def archive_file(given: str) -> Iterator[Path]:
    """`-` is stdin; its copy goes when it is no longer needed."""
    if given != "-":
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield copy
