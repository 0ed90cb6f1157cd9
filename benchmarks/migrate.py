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
from postgres import database, server_seconds
from results import machine
from work import peak_bytes

REPORT = Path(__file__).with_name("MIGRATE.md")
KEY = "0f" * 32
KEY_NAME = "BENCHMARK_KEY"
MEGABYTE = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "nacre-migrate")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--postgres", default="", help="a server's superuser, or `own` for one that is started here")
    parser.add_argument("--files", action=argparse.BooleanOptionalAction, default=True, help="files to files, too")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    source = given.folder / f"{given.memories}.db"
    fill(source, given.memories, SumOfWords(), lambda done, total, what: print(what, done, total, file=sys.stderr))
    os.environ[KEY_NAME] = KEY
    rows: list[str] = []
    if given.files:
        rows.append(measured(source, given.folder / "plain.db", "SQLite to SQLite")[0])
        rows.append(measured(source, given.folder / "secret.db", "SQLite to encrypted SQLite", f"env:{KEY_NAME}")[0])
    if given.postgres:
        there = given.folder / "postgres"
        there.mkdir(exist_ok=True)
        with database("" if given.postgres == "own" else given.postgres, there) as address:
            line, sent = measured(source, address, "SQLite to PostgreSQL", server=there)
            rows.append(line)
            line, back = measured(address, given.folder / "back.db", "PostgreSQL to SQLite", server=there)
            rows.append(line)
        equal = [space.digest for space in sent.spaces] == [space.digest for space in back.spaces]
        print("The digests of both ways are", "equal." if equal else "DIFFERENT.")
    given.report.write_text(
        REPORT_TEXT.format(
            date=datetime.now(UTC).date(), machine=machine(), load=os.getloadavg()[0], rows="\n".join(rows)
        )
    )
    print(given.report.read_text())


def measured(
    source: Path | str, target: Path | str, what: str, key: str = "", server: Path | None = None
) -> tuple[str, Migrated]:
    if isinstance(target, Path):
        for file in target.parent.glob(f"{target.name}*"):
            file.unlink()
    ended: dict[str, float] = {}
    begun, used, used_there = time.perf_counter(), time.process_time(), server_seconds(server)

    def watch(done: int, total: int, what: str) -> None:  # noqa: ARG001
        ended[what] = time.perf_counter()

    done = migrate_store(source, target, Settings(), target_key=key, progress=watch)
    copied = ended["Copying"] - begun
    used, used_there = time.process_time() - used, server_seconds(server) - used_there
    return row(what, done, copied, used, used_there), done


def row(what: str, done: Migrated, copied: float, used: float, used_there: float) -> str:
    memories, versions, entries = (
        sum(getattr(space, name) for space in done.spaces) for name in ("memories", "versions", "entries")
    )
    counts = f"{memories:,} | {versions:,} | {entries:,}"
    rates = f"{memories / done.elapsed:,.0f} | {memories / used:,.0f} | {memories / (used + used_there):,.0f}"
    return (
        f"| {what} | {counts} | {copied:.1f} | {done.elapsed - copied:.1f} | {rates} | {peak_bytes() / MEGABYTE:,.0f} |"
    )


REPORT_TEXT = """# How fast a whole store moves

`python benchmarks/migrate.py`, {date}: {machine}; load at the end {load:.1f}.

| what | memories | versions | entries | copy, s | compare, s | /s | /s of this process | with the server | peak MB |
|---|---|---|---|---|---|---|---|---|---|
{rows}

- The store is that of `growth.py`: three spaces, links, edits and successors, and one vector a memory. Vectors are
  copied and not computed.
- Copying reads the source and writes the target; comparing reads all of the target again and takes digests. The rate is
  of both together. "Of this process" and "with the server" count seconds of processor time, which other work on the
  machine does not lengthen.
"""


if __name__ == "__main__":
    main()
