"""Recall on PostgreSQL beside SQLite, suite by suite: the same questions, the same settings, RECALL_BACKENDS.md.

Reading is not timed here: either nothing is read, or everything that would be read in time on a quick machine. So the
two stores can differ by what they find, and not by how long they take.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from nacre.bench.metrics import Summary
from nacre.bench.notes import load_notes, run_notes
from nacre.bench.run import DEFAULT, Place, load, run, temporary_file
from nacre.factory import make_embedder
from nacre.settings import Settings
from postgres import new_database, running
from results import machine

REPORT = Path(__file__).with_name("RECALL_BACKENDS.md")
MEASURES = ("any@1", "any@5", "any@10", "mrr")
WANTED = 0.3  # points that they may differ
ENOUGH_MS = 60_000  # to read all that a recall reads
Scores = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the chat suites and notes_dev")
    parser.add_argument("--server", default="", help="the address of a server that runs already, with its superuser")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args()
    quiet, reading = (replace(Settings(), rerank_ms=limit) for limit in (0, ENOUGH_MS))
    suites: dict[str, Callable[[Place], Scores]] = {
        "notes, everything read": partial(notes, given.data / "notes_dev", reading),
        "notes, nothing read": partial(notes, given.data / "notes_dev", quiet),
        "LoCoMo": partial(chat, "locomo", given.data / "locomo_dev.json.gz", quiet),
        "BEAM": partial(chat, "beam", given.data / "beam_100k_dev.json.gz", quiet),
        "LongMemEval, pooled": partial(chat, "longmemeval", given.data / "longmemeval_oracle_dev.json.gz", quiet),
    }
    lines, farthest = list[str](), 0.0
    with tempfile.TemporaryDirectory() as folder, running(given.server, Path(folder)) as server:
        for name, measured in suites.items():
            here, there = measured(temporary_file), measured(partial(new_database, server))
            for measure in MEASURES:
                lines.append(f"| {name} | {measure} | {here[measure]:.2f} | {there[measure]:.2f} |")
                print(lines[-1], file=sys.stderr)
                farthest = max(farthest, abs(here[measure] - there[measure]))
    text = REPORT_TEXT.format(
        date=datetime.now(UTC).date(), machine=machine(), rows="\n".join(lines), farthest=farthest, wanted=WANTED,
        verdict="met" if farthest <= WANTED else "missed",
    )  # fmt: skip
    given.report.write_text(text)
    print(text)


def notes(folder: Path, settings: Settings, place: Place) -> Scores:
    report = run_notes(load_notes(folder), make_embedder(settings), settings=settings, only=(), place=place)
    return scores(report["metrics"][DEFAULT])


def chat(suite: str, file: Path, settings: Settings, place: Place) -> Scores:
    report = run(load(suite, file), make_embedder(settings), settings=settings, only=(), place=place)
    return scores(report["metrics"][DEFAULT])


def scores(summary: Summary) -> Scores:
    return {measure: float(summary[measure]) for measure in MEASURES}  # type: ignore[arg-type]


REPORT_TEXT = """# Recall on PostgreSQL beside SQLite

`python benchmarks/recall_backends.py --data FOLDER`, {date}: {machine}.

Development data, the questions with an answer; all figures are per cent, `mrr`, too. In chat suites nothing is read.
In the notes reading is not limited by time, so that only what is found counts.

| suite | measure | SQLite | PostgreSQL |
|---|---|---:|---:|
{rows}

They differ by at most {farthest:.2f} points; {wanted} were allowed: {verdict}.
"""


if __name__ == "__main__":
    main()
