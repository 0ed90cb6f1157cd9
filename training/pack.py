"""Packs starting weights and training data into a folder small enough to carry to a GPU machine.

python training/pack.py OUT --gte model.onnx --minilm model.safetensors --tokenizer tokenizer.json --hotpot FILE
    --snli FILE --memo FILE --longmemeval FILE --training FOLDER [--held-out author5 author12 author19 author29]

Of the notes, half of the wrong passages of a question are those that the shipped embedder takes for the likeliest.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import data
import weights

from nacre.factory import make_embedder
from nacre.settings import Settings

DISTILLED = 280_000  # texts that the student learns from: the passages, and short sentences of all kinds


def cosines(asked: Sequence[str], texts: Sequence[str]) -> data.Ranked:
    """By the shipped embedder."""
    embedder = make_embedder(Settings(embedder="multilingual"))
    rows = embedder.embed([*asked, *texts])
    return data.Ranked(rows[: len(asked)] @ rows[len(asked) :].T, rows[len(asked) :] @ rows[len(asked) :].T)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    for name in ("gte", "minilm", "tokenizer", "hotpot", "snli", "longmemeval", "memo", "training"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--held-out", nargs="*", default=[])
    given = parser.parse_args()
    here = Path(__file__).parent
    given.out.mkdir(parents=True, exist_ok=True)
    weights.pack(weights.from_onnx(given.gte), given.out / "gte.npz")
    weights.pack(weights.from_safetensors(given.minilm), given.out / "minilm.npz")
    (given.out / "tokenizer.json").write_bytes(given.tokenizer.read_bytes())
    examples = [
        *data.hotpot(given.hotpot),
        *data.longmemeval(given.longmemeval),
        *data.qmsum(given.training / "qmsum.jsonl.gz"),
        *data.entailed(given.snli, 10_000),
        *data.rephrased(given.memo, 6_000),
        *data.notes(here / "notes", given.held_out, near=cosines),
        *data.notes(here / "talks", given.held_out, near=cosines, name="talks"),
    ]
    with gzip.open(given.out / "examples.jsonl.gz", "wt") as file:
        file.writelines(each.to_json() + "\n" for each in examples)
    more = (given.training / name for name in ("stsb_multi.jsonl.gz", "tatoeba_en.jsonl.gz"))
    short = [*data.sentences([given.snli, *more])]
    kept = sorted(set(data.pair_texts(here / "pairs")))
    passages = {text for each in examples for text in (each.question, *each.positives, *each.negatives)}
    rest = sorted(set(short) - passages)
    random.Random(data.SEED).shuffle(rest)
    with gzip.open(given.out / "sentences.json.gz", "wt") as file:
        json.dump([*kept, *rest[: max(0, DISTILLED - len(passages) - len(kept))]], file, ensure_ascii=False)
    counts = {source: sum(each.source == source for each in examples) for source in data.SOURCES}
    print(counts, len(passages), len(rest))


if __name__ == "__main__":
    main()
