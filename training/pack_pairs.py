"""Packs the pairs for `cross_encoder.py`.

python training/pack_pairs.py OUT --snli FILE --memo FILE --patha FOLDER --training FOLDER --own FILE… --checks FILE…
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import relation_data as r
from data import SEED

SNLI_PAIRS = 60_000


def write(path: Path, pairs: Sequence[r.Pair]) -> None:
    with gzip.open(path, "wt") as file:
        file.writelines(each.to_json() + "\n" for each in pairs)
    print(path.name, len(pairs), Counter(each.source for each in pairs))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    for name in ("snli", "memo", "patha", "training"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--own", type=Path, nargs="+", required=True)
    parser.add_argument("--checks", type=Path, nargs="+", default=[])
    given = parser.parse_args()
    entailments = random.Random(SEED).sample(list(r.snli(given.snli)), SNLI_PAIRS)
    stsb = [*r.stsb(given.training / "stsb_multi.jsonl.gz")]
    general = [*entailments, *r.semanticmemo(given.memo), *stsb, *(4 * [*r.patha(given.patha)])]
    write(given.out / "pairs_general.jsonl.gz", general)
    write(given.out / "pairs_own.jsonl.gz", [each for path in given.own for each in r.written(path)])
    write(given.out / "pairs_checks.jsonl.gz", [each for path in given.checks for each in r.written(path)])


if __name__ == "__main__":
    main()
