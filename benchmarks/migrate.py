"""How fast a whole store moves: fills one with a history and vectors, migrates it, and writes MIGRATE.md.

The fill is that of `growth.py`; it is kept in --folder, and continued where an earlier run ended.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from growth_world import SumOfWords, fill
from nacre.settings import Settings
from nacre.transfer.migrate import Migrated, migrate_store
from results import machine
from work import peak_bytes

REPORT = Path(__file__).with_name("MIGRATE.md")
KEY = "0f" * 32
MEGABYTE = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "nacre-migrate")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--postgres", default="", help="the address of an empty database, to move to it and back")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    source = given.folder / f"{given.memories}.db"
    fill(source, given.memories, SumOfWords(), lambda done, total, what: print(what, done, total, file=sys.stderr))
    os.environ["NACRE_BENCHMARK_KEY"] = KEY
    rows = [measured(source, given.folder / "plain.db", "SQLite to SQLite")]
    rows.append(measured(source, given.folder / "secret.db", "SQLite to encrypted SQLite", "env:NACRE_BENCHMARK_KEY"))
    if given.postgres:
        rows.append(measured(source, given.postgres, "SQLite to PostgreSQL"))
        rows.append(measured(given.postgres, given.folder / "back.db", "PostgreSQL to SQLite"))
    given.report.write_text(REPORT_TEXT.format(date=datetime.now(UTC).date(), machine=machine(), rows="\n".join(rows)))
    print(given.report.read_text())


def measured(source: Path | str, target: Path | str, what: str, key: str = "") -> str:
    if isinstance(target, Path):
        for file in target.parent.glob(f"{target.name}*"):
            file.unlink()
    ended: dict[str, float] = {}
    begun = time.perf_counter()

    def watch(done: int, total: int, what: str) -> None:  # noqa: ARG001
        ended[what] = time.perf_counter()

    done = migrate_store(source, target, Settings(), target_key=key, progress=watch)
    copied = ended["Copying"] - begun
    return row(what, done, copied, done.elapsed)


def row(what: str, done: Migrated, copied: float, seconds: float) -> str:
    memories, versions, entries = (
        sum(getattr(space, name) for space in done.spaces) for name in ("memories", "versions", "entries")
    )
    counts = f"{memories:,} | {versions:,} | {entries:,}"
    times = f"{copied:.1f} | {seconds - copied:.1f} | {memories / seconds:,.0f} | {peak_bytes() / MEGABYTE:,.0f}"
    return f"| {what} | {counts} | {times} |"


REPORT_TEXT = """# How fast a whole store moves

`python benchmarks/migrate.py`, {date}: {machine}.

| what | memories | versions | journal entries | copy, s | compare, s | memories/s in all | peak RSS so far, MB |
|---|---|---|---|---|---|---|---|
{rows}

- The store is that of `growth.py`: three spaces, links, edits and successors, and one vector a memory. Vectors are
  copied and not computed.
- Copying reads the source and writes the target; comparing reads all of the target again and takes digests. The rate is
  of both together.
"""


if __name__ == "__main__":
    main()
