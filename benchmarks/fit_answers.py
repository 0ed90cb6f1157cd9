"""Fits what depends on the cross-encoder's answers head: its weight in the score, the curves of relevance, the floors.

python benchmarks/fit_answers.py WEIGHTS_FOLDER --stores FOLDER --notes NOTES… [--restated NOTES…] [--locomo FILE]
    [--beam FILE]
python training/digests.py WEIGHTS_FOLDER

To be run again for new weights, or for a new embedder. Written are `cross_encoder.json` in the folder (the weight) and
`src/nacre/models/calibration.txt` (curves and floors). NOTES are as for `nacre bench recall`, with `NAME.silent.jsonl`
beside them (questions that nothing answers), and must not have been trained on. Questions in the words of their notes
(`training/notes/author5.restated`) are given as `--restated`, and count where hits were read: without reading they only
say that the words are the same. Of a store with more than MOST questions about as many are asked.

The installed models find and read the best hits of each question, with vectors and by words alone. A curve is a
logistic regression: does this hit answer? Notes that were read are then weighed together: a second regression on the
log odds of each hit and the logarithm of the probability that any answers. Each set counts the same. The printed
figures are of worlds, conversations and chats that their curve has not seen. The floor of the best hit is as high as it
can be when at most LOST_NOTES of the questions of each set of notes get nothing, LOST_UNREAD where nothing was read,
and LOST_TURNS of those about each set of conversations; the floor of each hit, when it costs at most LOST_EACH. Turns
have none: questions about conversations have several answers. By words alone LOST_WORDS may be lost: what is found by
chance is no answer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fit_recall import Asked, asked_of_notes, asked_of_suite
from nacre.bench.metrics import area, calibration_error
from nacre.bench.run import CachingEmbedder, load
from nacre.errors import EmbeddingError
from nacre.factory import make_embedder
from nacre.model import Query
from nacre.models.calibration import FITTED_HITS, READ_NOTES, SHIPPED, Closeness, logistic
from nacre.models.cross_encoder import MOST_READ, graph
from nacre.protocols import Backend, Vectors
from nacre.recall.gather import understand
from nacre.recall.recall import load_hits, reranked_text
from nacre.recall.signals import adjust
from nacre.recall.strategies import STRATEGIES, Sources
from nacre.settings import Settings

CALIBRATION = Path(__file__).parent.parent / "src/nacre/models/calibration.txt"
DEPTH, SHOWN = 10, 5
CASES = tuple(  # those of `calibration.case_of`
    f"{known}{read}{kind}"
    for kind in (" of notes", " of turns")
    for read in ("", ", read")
    for known in ("vectors", "words")
)
MOST = {"notes": 400, "locomo": 50, "beam": 20}
WEIGHTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
LOST_NOTES, LOST_UNREAD, LOST_TURNS, LOST_EACH, LOST_WORDS = 0.012, 0.005, 0.003, 0.002, 0.1
ANY = 1.5  # weight of the logarithm of the probability that any hit answers, against the log odds of one
HELD = 1e-3  # how strongly the regression holds its numbers at 0
COLUMNS = {
    "vectors": ("cosine", "coverage"),
    "words": ("coverage",),
    "vectors, read": ("cosine", "coverage", "cosine_gap", "reading", "reading_gap"),
    "words, read": ("coverage", "reading", "reading_gap"),
}
NUMBERS = ("constant", "cosine", "coverage", "cosine_gap", "reading", "reading_gap")
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits of one question, best first, by meaning or by words alone; the first of them were read."""

    group: str
    fold: str
    answerable: bool
    by_words: bool
    scores: Sequence[float]
    closeness: Sequence[Closeness]
    right: Sequence[bool]
    read: Sequence[float]

    def order(self, weight: float) -> list[int]:
        best = max(self.scores, default=0.0)
        moved = [score + weight * best * logistic(each) for score, each in zip(self.scores, self.read, strict=False)]
        order: list[int] = np.argsort([-each for each in moved], kind="stable").tolist()
        return [*order, *range(len(moved), len(self.scores))]

    def first(self, weight: float, depth: int) -> bool:
        return any(self.right[place] for place in self.order(weight)[:depth])

    def rows(self, case: str) -> Matrix:
        """A row of NUMBERS for each hit that this case is about."""
        read = np.array(self.read if ", read" in case else [0.0] * len(self.scores))
        gaps = read.max(initial=-99) - read
        return np.array([
            (1.0, max(each.cosine or 0.0, 0.0), each.coverage, each.cosine_gap, score, less)
            for each, score, less in zip(self.closeness, read, gaps, strict=False)
        ]).reshape(-1, len(NUMBERS))  # fmt: skip


class WithoutVectors(CachingEmbedder):
    """Is not there, so that words alone decide."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingError(f"{len(texts)} texts are not embedded")


class Reader:
    """Reads each pair once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}

    def read(self, question: str, texts: Sequence[str]) -> list[float]:
        model, new = graph(), [text for text in texts if (question, text) not in self._known]
        scores = model.scores([model.pair(question, text) for text in new], "answers") if new else []
        self._known |= {(question, text): float(score[0]) for text, (score,) in zip(new, scores, strict=True)}
        return [self._known[question, text] for text in texts]


def ranked(
    group: str, stores: Iterator[tuple[Backend, list[Asked]]], embedder: CachingEmbedder, reader: Reader, most: int
) -> Iterator[Ranked]:
    for number, (store, questions) in enumerate(stores):
        for asked in questions[:: -(-len(questions) // most)]:
            for by_words in (False, True):
                used = WithoutVectors(embedder) if by_words else embedder
                query = Query(asked.text, DEPTH, asked_at=asked.asked_at)
                question = understand(query)
                sources = Sources(asked.space, store, used, SHIPPED, True)
                ranking = STRATEGIES["auto"](question, sources, query.k)
                hits = adjust(load_hits(ranking.scored, question, sources), question)[:DEPTH]
                near = {each.id: each.closeness for each in ranking.scored}
                if hits:
                    yield Ranked(
                        group,
                        f"{group} {number} {asked.space}",
                        bool(asked.gold),
                        by_words,
                        [hit.score for hit in hits],
                        [near[hit.memory.id] or Closeness(None, 0.0) for hit in hits],
                        [hit.memory.id in asked.gold for hit in hits],
                        reader.read(question.text, [reranked_text(hit.memory, question) for hit in hits[:MOST_READ]]),
                    )
        store.close()


def regression(table: Matrix, truth: Matrix, share: Matrix, case: str) -> Matrix:
    """Newton's method. A number that would speak against an answer, such as more of the question's words, is left out:
    that is how the authors of these questions wrote, and not how people ask."""
    used = [NUMBERS.index(name) for name in ("constant", *COLUMNS[case.partition(" of ")[0]])]
    while True:
        found = newton(table[:, used], truth, share)
        wrong = [at for at, value in zip(used, found, strict=True) if NUMBERS[at] in RISING and value < 0]
        if not wrong:
            result = np.zeros(len(NUMBERS))
            result[used] = found
            return result
        used = [at for at in used if at not in wrong]


RISING = ("cosine", "coverage", "reading")


def newton(table: Matrix, truth: Matrix, share: Matrix) -> Matrix:
    found = np.zeros(table.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-table @ found))
        curve = (table * (share * likely * (1 - likely))[:, None]).T @ table
        found += np.linalg.solve(curve + HELD * np.eye(len(found)), table.T @ (share * (truth - likely)) - HELD * found)
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """All hits of one case, with what belongs to the question of each."""

    case: str
    asked: Sequence[Ranked]
    table: Matrix
    truth: Matrix
    share: Matrix
    place: NDArray[np.int64]

    @classmethod
    def of(cls, case: str, everything: Sequence[Ranked], when_read: Container[str]) -> Sample:
        """Without the groups that count only `when_read`, where nothing was."""
        turns = case.endswith("turns")
        asked = [
            each
            for each in everything
            if each.by_words == case.startswith("words") and each.closeness[0].turn == turns
            if ", read" in case or each.group not in when_read
        ]
        rows = [each.rows(case) for each in asked]
        counts = {group: sum(each.group == group for each in asked) for group in {each.group for each in asked}}
        truth = [np.array(each.right[: len(some)], float) for each, some in zip(asked, rows, strict=True)]
        share = [np.full(len(some), 1 / counts[each.group]) for each, some in zip(asked, rows, strict=True)]
        place = [np.full(len(some), at) for at, some in enumerate(rows)]
        return cls(case, asked, *map(np.concatenate, (rows, truth, share, place)))

    def fit(self, without: str = "") -> Matrix:
        kept = np.array([self.asked[at].fold != without for at in self.place])
        return regression(self.table[kept], self.truth[kept], self.share[kept], self.case)

    def together(self, alone: Matrix, without: str = "") -> Matrix:
        """The numbers of `Together`."""
        kept, rows = np.array([self.asked[at].fold != without for at in self.place]), self.with_any(alone)
        constant, own = newton(rows[kept], self.truth[kept], self.share[kept])
        return np.array([constant, own, ANY * own])

    def with_any(self, alone: Matrix) -> Matrix:
        """For each hit 1, and what stands for its own log odds and for the probability that any hit answers."""
        counts = np.bincount(self.place)
        mean = np.bincount(self.place, np.log1p(-alone), len(counts)) / np.maximum(counts, 1)
        any_answers = np.log(-np.expm1(FITTED_HITS * mean))[self.place]
        return np.stack([np.ones(len(alone)), np.log(alone / (1 - alone)) + ANY * any_answers], 1)

    def unseen(self) -> Matrix:
        """The relevance of each hit, by a curve that was fitted without its world, conversation or chat."""
        folds = np.array([self.asked[at].fold for at in self.place])
        values = np.zeros(len(folds))
        for fold in dict.fromkeys(folds.tolist()):
            alone = relevance(self.table, self.fit(without=fold))
            if self.case == READ_NOTES:
                alone = relevance(self.with_any(alone), self.together(alone, without=fold)[:2])
            values[folds == fold] = alone[folds == fold]
        return values


def relevance(table: Matrix, curve: Matrix) -> Matrix:
    values: Matrix = 1 / (1 + np.exp(-table @ curve))
    return values


def shown(sample: Sample, values: Matrix, weight: float, group: str) -> Iterator[tuple[Ranked, Matrix, list[bool]]]:
    """Of each question of a group: the relevance of the first five hits, and which of them answer."""
    for at, asked in enumerate(sample.asked):
        if asked.group == group:
            own, read = values[sample.place == at], ", read" in sample.case
            order = [place for place in asked.order(weight if read else 0.0) if place < len(own)][:SHOWN]
            yield asked, own[order], [asked.right[place] for place in order]


def figures(sample: Sample, values: Matrix, weight: float, group: str) -> str:
    questions = list(shown(sample, values, weight, group))
    best = [(asked.answerable, float(own.max())) for asked, own, _ in questions]
    hits = [pair for _, own, right in questions for pair in zip(own.tolist(), right, strict=True)]
    curve = area([value for answerable, value in best if answerable], [value for a, value in best if not a])
    return f"area {curve}, calibration error {calibration_error(hits)}"


def floors(sample: Sample, values: Matrix, weight: float) -> list[float]:
    """That of the best hit, and that of each."""
    turns = sample.case.endswith("turns")
    unread = {"words of notes": LOST_WORDS, "vectors of notes": LOST_UNREAD}
    lost = LOST_TURNS if turns else unread.get(sample.case, LOST_NOTES)
    best, each = [1.0], [1.0]
    for group in {asked.group for asked in sample.asked}:
        questions = [asked for asked in shown(sample, values, weight, group) if asked[0].answerable]
        answered = [(own, np.array(right)) for _, own, right in questions if any(right)]
        best.append(least([float(own.max()) for own, _ in answered], lost * len(questions)))
        each.append(least([float(own[right].max()) for own, right in answered], LOST_EACH * len(questions)))
    return [min(best), 0.0 if turns else min(each)]


def least(values: Sequence[float], may_lose: float) -> float:
    """The highest floor below which at most so many lie, rounded down."""
    ranked = sorted(values)
    return float(np.floor(1000 * ranked[min(int(may_lose), len(ranked) - 1)]) / 1000) if ranked else 0.0


def best_weight(everything: Sequence[Ranked]) -> float:
    totals = dict.fromkeys(WEIGHTS, 0.0)
    for group in dict.fromkeys(each.group for each in everything):
        rows = [each for each in everything if each.group == group and each.answerable and not each.by_words]
        for weight in WEIGHTS:
            shares = [float(np.mean([row.first(weight, depth) for row in rows])) for depth in (1, SHOWN)]
            totals[weight] += sum(shares)
            print(f"{group}: weight {weight}: first {shares[0]:.1%}, among five {shares[1]:.1%}")
    return max(totals, key=totals.__getitem__)


def write(curves: Mapping[str, Matrix], together: Matrix, found: Mapping[str, Sequence[float]]) -> None:
    def table(rows: Mapping[str, Sequence[float]], digits: int) -> list[str]:
        return [" | ".join([name, *(f"{value:.{digits}f}" for value in values)]) for name, values in rows.items()]

    lines = [
        "# Written by benchmarks/fit_answers.py. For each case, what adds up to the log odds that a memory answers:",
        f"# case | {' | '.join(NUMBERS)}",
        "[curves]",
        *table({name: curve.tolist() for name, curve in curves.items()}, 2),
        "# What adds up to the log odds of a hit, once it is known how likely any of the hits answers:",
        "# case | constant | own log odds | logarithm of the probability that any answers",
        "[together]",
        *table({READ_NOTES: together.tolist()}, 2),
        "# The least relevance of the best hit of a question, and of each hit:",
        "# case | best | each",
        "[floors]",
        *table(found, 3),
    ]
    CALIBRATION.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=Path, nargs="+", required=True)
    parser.add_argument("--restated", type=Path, nargs="*", default=[])
    parser.add_argument("--stores", type=Path, required=True, help="a folder where the filled stores are kept")
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--beam", type=Path)
    given = parser.parse_args()
    given.stores.mkdir(parents=True, exist_ok=True)
    embedder, reader = CachingEmbedder(make_embedder(Settings(embedder="multilingual"))), Reader()
    everything: list[Ranked] = []
    for path in (*given.notes, *given.restated):
        everything += ranked(path.name, asked_of_notes([path], given.stores, embedder), embedder, reader, MOST["notes"])
    for suite in ("locomo", "beam"):
        if file := getattr(given, suite):
            stores = asked_of_suite(load(suite, file), given.stores, embedder)
            everything += ranked(suite, stores, embedder, reader, MOST[suite])
    weight = best_weight(everything)
    print("weight", weight)
    curves, found, together = {}, {}, np.zeros(3)
    for case in CASES:
        sample = Sample.of(case, everything, {path.name for path in given.restated})
        curves[case], values = sample.fit(), sample.unseen()
        for group in dict.fromkeys(each.group for each in sample.asked):
            print(f"{case}: {group}: {figures(sample, values, weight, group)}")
        if case == READ_NOTES:
            together = sample.together(relevance(sample.table, curves[case]))
        found[case] = floors(sample, values, weight)
        print(case, dict(zip(NUMBERS, np.round(curves[case], 2).tolist(), strict=True)), found[case], flush=True)
    write(curves, together, found)
    file = given.folder / "cross_encoder.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"answers": {"weight": weight}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
