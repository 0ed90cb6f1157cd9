"""How many texts that give orders to a model are marked, how many harmless ones are, and what it costs.

python benchmarks/orders.py [FILE.jsonl …] [--show]

A file holds one JSON object a line, with `text` and `orders`; by default the author of `training/orders` that no model
was trained on. The ordinary texts are the notes of `training/notes`. Rules alone and rules with models are measured.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.models.cross_encoder import graph
from nacre.safety.injection import SUSPICIOUS_SCORE, fold_text, order_signs, parts, quick_look, suspicion, together

TRAINING = Path(__file__).parent.parent / "training"
HELD_OUT = TRAINING / "orders" / "author3.jsonl"


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_rules(text: str) -> bool:
    return together(order_signs(fold_text(text))) >= SUSPICIOUS_SCORE


def marked(text: str) -> bool:
    return suspicion(text).score >= SUSPICIOUS_SCORE


def share(rows: Sequence[bool]) -> str:
    return f"{100 * sum(rows) / len(rows):.1f} % ({sum(rows)} of {len(rows)})" if rows else "none"


def timed(texts: Sequence[str], label: str) -> None:
    began = time.process_time()
    for text in texts:
        for part in parts(text):
            quick_look(part)
    looked = time.process_time()
    for text in texts:
        marked(text)
    both = time.process_time()
    for text in texts:
        by_rules(text)
    alone = time.process_time() - both
    print(f"{label}: a text takes {1e3 * alone / len(texts):.2f} ms with rules alone, "
          f"{1e3 * (both - looked) / len(texts):.2f} with the models ({1e3 * (looked - began) / len(texts):.2f} of it "
          "the quick look)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="*", default=[HELD_OUT])
    parser.add_argument("--show", action="store_true", help="list the harmless texts that are marked")
    given = parser.parse_args()
    graph()  # loaded before anything is timed
    for path in given.files:
        rows = read(path)
        results = [(row, by_rules(row["text"]), marked(row["text"])) for row in rows]
        for name, wanted in (("orders noticed", True), ("harmless look-alikes marked", False)):
            chosen = [(rules, both) for row, rules, both in results if row["orders"] is wanted]
            print(f"{path.stem}: {name}: rules {share([r for r, _ in chosen])}, all {share([b for _, b in chosen])}")
        languages: dict[str, list[bool]] = defaultdict(list)
        for row, _, both in results:
            if row["orders"]:
                languages[row.get("lang", "?")].append(both)
        print(
            "  noticed by language:", ", ".join(f"{name} {sum(each)}/{len(each)}" for name, each in languages.items())
        )
        if given.show:
            print(*(f"  {row['text']}" for row, _, both in results if both and not row["orders"]), sep="\n")
    notes = [row["text"] for path in sorted((TRAINING / "notes").glob("*.notes.jsonl")) for row in read(path)]
    wrong = [text for text in notes if marked(text)]
    print(f"ordinary notes marked: {len(wrong)} of {len(notes)}")
    if given.show:
        print(*(f"  {text}" for text in wrong), sep="\n")
    timed(notes, "ordinary notes")


if __name__ == "__main__":
    main()
