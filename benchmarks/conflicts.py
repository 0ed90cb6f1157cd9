"""How well memories that contradict or replace each other are told from those that only look alike."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from nacre.conflicts.judge import judge
from nacre.model.memory import Memory
from nacre.model.review import Verdict
from nacre.models.shipped_embedder import ShippedEmbedder

PAIRS = Path(__file__).parent / "conflict_pairs"
LABELS = ("paraphrase", "contradiction", "update", "unrelated")
KINDS = ("duplicate", "contradiction", "update", "none")
CONFLICTS = ("contradiction", "update")
TIMED_ROUNDS = 20
Alike = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Pair:
    old: Memory
    new: Memory
    label: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Judged:
    pair: Pair
    verdict: Verdict | None

    @property
    def kind(self) -> str:
        return self.verdict.kind if self.verdict else "none"

    @property
    def wrong(self) -> bool:
        return (self.pair.label in CONFLICTS) != (self.kind in CONFLICTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["development", "training_1", "training_2", "held_out"])
    parser.add_argument("--wrong", action="store_true", help="list the misjudged pairs, but for the held-out")
    parser.add_argument("--without-model", action="store_true", help="judge without the embedder's opinion on phrases")
    given = parser.parse_args()
    embedder = ShippedEmbedder()
    alike = None if given.without_model else phrase_similarity(embedder)
    for name in given.sets:
        pairs = read(PAIRS / f"{name}.jsonl", embedder)
        judged = [Judged(pair, judge(pair.new, pair.old, pair.similarity, alike=alike)) for pair in pairs]
        report(name, judged, microseconds(pairs))
        if given.wrong and name != "held_out":  # the held-out pairs stay unseen, or they would not be held out
            list_wrong(judged)


def phrase_similarity(embedder: ShippedEmbedder) -> Alike:
    @lru_cache(maxsize=4096)
    def alike(one: str, other: str) -> float:
        first, second = embedder.embed([one, other])
        return float(first @ second)

    return alike


def read(file: Path, embedder: ShippedEmbedder) -> list[Pair]:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    old, new = (embedder.embed([row[key] for row in rows]) for key in ("old", "new"))
    cosines = (old * new).sum(axis=1)
    return [
        Pair(Memory("old", row["old"]), Memory("new", row["new"]), row["label"], float(cosine))
        for row, cosine in zip(rows, cosines, strict=True)
    ]


def microseconds(pairs: list[Pair]) -> float:
    start = time.process_time()
    for _ in range(TIMED_ROUNDS):
        for pair in pairs:
            judge(pair.new, pair.old, pair.similarity)
    return 1e6 * (time.process_time() - start) / (TIMED_ROUNDS * len(pairs))


def report(name: str, judged: list[Judged], took: float) -> None:
    cells = Counter((each.pair.label, each.kind) for each in judged)
    print(f"## {name}: {len(judged)} pairs\n\n| label | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for label in LABELS:
        print(f"| {label} | {' | '.join(str(cells[label, kind]) for kind in KINDS)} |")
    print(f"\nnoted: {figures(judged, judged)}, {took:.0f} us each")
    print(f"sure: {figures([each for each in judged if each.verdict and each.verdict.sure], judged)}")
    reasons = Counter((each.verdict.reason, not each.wrong) for each in judged if each.verdict)
    for reason in sorted({reason for reason, _ in reasons}):
        print(f"- {reason}: {reasons[reason, True]} right, {reasons[reason, False]} wrong")
    print()


def figures(considered: list[Judged], judged: list[Judged]) -> str:
    """Of the verdicts considered, how many are right; and how many of all conflicts they find."""
    found = [each for each in considered if each.kind in CONFLICTS]
    true = [each for each in found if each.pair.label in CONFLICTS]
    wanted = sum(each.pair.label in CONFLICTS for each in judged)
    right_kind = sum(each.kind == each.pair.label for each in true) / max(1, len(true))
    wrong = sum(each.pair.label == "paraphrase" for each in found)
    precision, recall = len(true) / max(1, len(found)), len(true) / max(1, wanted)
    return f"precision {precision:.3f}, recall {recall:.3f}, kind right {right_kind:.3f}, paraphrases {wrong}"


def list_wrong(judged: list[Judged]) -> None:
    for each in sorted(judged, key=lambda each: (each.pair.label, each.kind)):
        if each.wrong:
            reason, words = (each.verdict.reason, each.verdict.words) if each.verdict else ("", ("", ""))
            print(f"{each.pair.label} -> {each.kind} {reason} {words} {each.pair.similarity:.2f}")
            print(f"    old: {each.pair.old.text}\n    new: {each.pair.new.text}")


if __name__ == "__main__":
    main()
