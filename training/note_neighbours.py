"""Writes down which older notes lie nearest to each note, for `relation.py`, `relation_further.py` and
`export_relation.py` to learn from and to be measured on.

python training/note_neighbours.py OUT.jsonl.gz NOTES… [--incomplete NOTES…]

NOTES are as for `nacre bench recall --suite notes`, and in the order of time. A line is a note with the most alike
older ones of its project, the nearest first, by the shipped vectors; `versions` says which of them tell another state
of the same fact, whether near or not. Their chains must be complete, for what is no version is taken as unrelated; of
`--incomplete` ones, only the versions are written.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nacre.bench.notes import load_notes
from nacre.factory import make_embedder
from nacre.protocols import Embedder
from nacre.settings import settings

NEAREST = 12


def of_notes(path: Path, embedder: Embedder, nearest: int) -> Iterator[dict[str, Any]]:
    notes = load_notes(path)
    chains = notes.versions()
    for project in dict.fromkeys(note.project for note in notes.memories):
        own = [note for note in notes.memories if note.project == project]
        vectors = np.asarray(embedder.embed([note.text for note in own]))
        cosines = vectors @ vectors.T
        for at in range(1, len(own)):
            versions = chains.get((project, own[at].id), set())
            near = [int(place) for place in np.argsort(-cosines[at, :at])[:nearest]]
            near += [place for place in range(at) if own[place].id in versions and place not in near]
            if near:
                yield {
                    "set": path.name,
                    "newer": own[at].text,
                    "older": [own[place].text for place in near],
                    "cosines": [round(float(cosines[at, place]), 4) for place in near],
                    "versions": [int(own[place].id in versions) for place in near],
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("notes", type=Path, nargs="+")
    parser.add_argument("--incomplete", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    embedder, began = make_embedder(settings()), time.time()
    with gzip.open(given.out, "wt") as file:
        for path, nearest in (
            (path, 0 if path in given.incomplete else NEAREST) for path in given.notes + given.incomplete
        ):
            rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in of_notes(path, embedder, nearest)]
            file.writelines(rows)
            print(path.name, len(rows), f"{time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
