"""Trains the quick look at the words of a text that may give orders to a model, and chooses from when on it does.

python training/order_words.py WEIGHTS_FOLDER [--held-out author3] [--choose-on FILE.jsonl]
python training/digests.py WEIGHTS_FOLDER

The quick look is a linear model over digests of words. The orders are those of `orders/` and of
`benchmarks/injection_texts`. The harmless side holds, besides their look-alikes, the notes and pairs of this folder;
every fifth of these is kept apart. The installed cross-encoder reads what the quick look passes. The points are
chosen on the texts of an author whom nothing was trained on (by default the held-out ones) and on what was kept apart,
and written beside the weights. The figures are those of each half of these texts with a point that was chosen on the
other half. To be run again for new weights.
"""

from __future__ import annotations

import argparse
import json
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nacre.safety import injection
from nacre.safety.injection import BIAS, BUCKETS, SCALE, WORDS, features, order_scores, parts, quick_look, words_of

HERE = Path(__file__).parent
INJECTIONS = HERE.parent / "benchmarks" / "injection_texts"
STEPS = 400
RATE = 0.03
SHRINK = 2e-4  # keeps the weights of rare words small
ORDER_WEIGHT = 3.0  # an order that is not looked at is worse than a harmless text that is
LOOKED_AT = 0.03  # of ordinary notes: so many are read by the cross-encoder
BY_WORDS = 1.0  # the weight of the quick look beside the cross-encoder's score; 0.5 to 2 are as good
# More for a text that names a model, or what a model does. Of a further author's look-alikes that are as likely to be
# orders by their score alone, half of those without such a word are harmless, and a tenth of those with one.
NAMES_MODEL, NAMES_WORK = 2.0, 1.0
UNREAD = -99.0
# Of look-alikes and of ordinary notes that may be marked; the rules mark a few more of the look-alikes.
MOST_ALIKE, MOST_ORDINARY = 0.011, 0.001
# Below this score a mark is lifted that a rule has set on a quotation. Of authors 1, 2, 4 and a further one, 20 of 24
# harmless texts with such a mark lie there, and none of 3 orders.
HARMLESS = -1.0


def rows_of(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.fromiter(features(words_of(next(parts(text)))), np.int64) for text in texts]


def train(rows: Sequence[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Logistic regression by Adam."""
    flat = np.concatenate(rows)
    lengths = np.array([len(row) for row in rows])
    owner, roots = np.repeat(np.arange(len(rows)), lengths), np.sqrt(np.maximum(1, lengths))
    cost = np.where(labels, ORDER_WEIGHT, 1.0) / len(rows)
    weights, first, second = (np.zeros(BUCKETS) for _ in range(3))
    for step in range(1, STEPS + 1):
        values = BIAS + np.bincount(owner, weights[flat], len(rows)) / roots
        error = cost * (1 / (1 + np.exp(-values)) - labels) / roots
        slope = np.bincount(flat, error[owner], BUCKETS) + SHRINK * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def read(path: Path, name: str) -> list[str]:
    return [json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines()]


def trained(held_out: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The weights as they are stored, and the ordinary texts that were kept apart."""
    training = [path for path in sorted((HERE / "orders").glob("*.jsonl")) if path.stem not in held_out]
    plain = [text for path in sorted((HERE / "notes").glob("*.notes.jsonl")) for text in read(path, "text")]
    plain += [text for path in sorted((HERE / "pairs").glob("*.jsonl")) for text in read(path, "new")]
    ordinary, plain = plain[::5], [text for place, text in enumerate(plain) if place % 5]
    texts = [text for path in training for text in read(path, "text")]
    labels = [bool(label) for path in training for label in read(path, "orders")]
    older = {name: (INJECTIONS / f"{name}.txt").read_text().splitlines() for name in ("attacks", "harmless")}
    known = [line.split(": ", 1)[-1] for line in older["attacks"]]
    texts += [*known, *older["harmless"], *plain]
    labels += [True] * len(known) + [False] * (len(texts) - len(known) - len(labels))
    weights = train(rows_of(texts), np.array(labels))
    return np.clip(np.round(weights / SCALE), -127, 127).astype(np.int8), ordinary


def read_by_both(texts: Sequence[str], looks_like: float) -> np.ndarray:
    fitted = {"by_words": BY_WORDS, "names_model": NAMES_MODEL, "names_work": NAMES_WORK, "orders": np.inf}
    return np.array([max(order_scores(text, looks_like, fitted), default=UNREAD) for text in texts])


def limit_for(alike: np.ndarray, usual: np.ndarray) -> float:
    return float(max(np.quantile(alike, 1 - MOST_ALIKE), np.quantile(usual, 1 - MOST_ORDINARY)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", nargs="*", default=["author3"])
    parser.add_argument("--choose-on", type=Path, nargs="*")
    given = parser.parse_args()
    stored, ordinary = trained(given.held_out)
    (given.folder / WORDS).write_bytes(stored.tobytes())
    weights = array("b", stored.tobytes())
    injection.word_weights = lambda: weights  # type: ignore[assignment]  # not the shipped ones
    looks_like = float(np.quantile([max(map(quick_look, parts(text))) for text in ordinary], 1 - LOOKED_AT))
    held = given.choose_on or [HERE / "orders" / f"{name}.jsonl" for name in given.held_out]
    truth = np.array([bool(label) for path in held for label in read(path, "orders")])
    found = read_by_both([text for path in held for text in read(path, "text")], looks_like)
    usual = read_by_both(ordinary, looks_like)
    limit = limit_for(found[~truth], usual)
    constants = {"looks_like": looks_like, "by_words": BY_WORDS, "names_model": NAMES_MODEL, "names_work": NAMES_WORK,
                 "orders": limit, "harmless": HARMLESS}  # fmt: skip
    file = given.folder / "cross_encoder.json"
    values = json.loads(file.read_text(encoding="utf-8")) | {"orders": {k: round(v, 2) for k, v in constants.items()}}
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    print(constants)
    for half in (0, 1):  # each by the limit of the other
        limit = limit_for(found[half::2][~truth[half::2]], usual[half::2])
        marked, orders_there, others = found[1 - half :: 2] > limit, truth[1 - half :: 2], usual[1 - half :: 2] > limit
        print(f"noticed of the orders {marked[orders_there].mean():.1%}, marked of the look-alikes "
              f"{marked[~orders_there].mean():.1%}, of ordinary texts {others.mean():.2%}")  # fmt: skip


if __name__ == "__main__":
    main()
