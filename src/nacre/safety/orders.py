"""Tells whether a text gives orders to a model, also in words that no rule knows.

Every part of a text gets a quick look at its words, by a linear model that takes a fraction of a millisecond. What
looks like an order, three ordinary notes in a hundred, is read by the shipped cross-encoder; without it, none is.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import sqrt
from zlib import crc32

from nacre.models.cross_encoder import constants, graph
from nacre.models.shipped import shipped

WORDS = "order_words.bin"
BUCKETS = 1 << 15  # for the digests of words and of pairs of words
SCALE = 1 / 32  # of a stored weight
BIAS = -2.5
WORD = re.compile(r"\w+")  # no signs: attacks in JSON or Markdown would make all JSON suspicious
IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
STEM = 5  # letters that words of one family share, in most languages
PART, PART_OF_IDEOGRAPHS = 700, 240  # characters that the cross-encoder can read at once
OVERLAP = 100  # characters: an order on a border is whole in one of two parts
MOST_READ = 3  # parts of one text, those that look most like orders: a long text must not take seconds
# Addresses, paths and code stand in many ordinary notes, so that the quick look leaves them out.
NO_WORDS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)\S+|\S{1,80}@[\w-]+(?:\.[\w-]+)+\S*|(?:~|\.{1,2})?(?:/[\w.@%+-]+){2,}/?"
    r"|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|md|py|js|ts|rs|toml|json|ya?ml|txt|log|sh|db|html?)\b(?:/\S*)?|`[^`\n]{1,200}`"
)
# Names that nobody can own stand in many invented attacks and in few real notes: no model must go by them.
RESERVED = re.compile(r"\b(?:[\w-]+\.)*example\.(?:com|org|net)\b|(?<=\w)\.(?:example|test|invalid)\b")
FEWEST_WORDS = 6  # of an order that is not a known phrase; an ideograph counts as half a word


def features(lowered: str) -> set[int]:
    """Buckets of its words, their beginnings and pairs of neighbours; of ideographs, two and three in a row."""
    pieces = WORD.findall(lowered)
    names = {f"w{piece}" for piece in pieces}
    names |= {f"b{one} {other}" for one, other in pairwise(pieces)}
    names |= {f"p{piece[:STEM]}" for piece in pieces if len(piece) >= STEM}
    if IDEOGRAPHS.search(lowered):
        names |= {f"c{lowered[at : at + size]}" for size in (2, 3) for at in range(len(lowered) - size + 1)}
    return {crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS for name in names}


@cache
def word_weights() -> array[int]:
    return array("b", shipped(WORDS).read_bytes())


def quick_look(part: str) -> float:
    """Higher the more the words are those of orders; `BIAS` where there are too few of them."""
    lowered = words_of(part)
    if len(WORD.findall(lowered)) + len(IDEOGRAPHS.findall(lowered)) // 2 < FEWEST_WORDS:
        return BIAS
    weights, buckets = word_weights(), features(lowered)
    return BIAS + SCALE * sum(weights[bucket] for bucket in buckets) / sqrt(len(buckets) or 1)


def words_of(part: str) -> str:
    return NO_WORDS.sub(" ", part.lower())


def parts(text: str) -> Iterator[str]:
    """Each can be read at once."""
    plain = RESERVED.sub(lambda name: ".com" if name[0][0] == "." else "site.com", text)
    size = PART_OF_IDEOGRAPHS if IDEOGRAPHS.search(plain) else PART
    for start in range(0, max(1, len(plain) - OVERLAP), size - OVERLAP):
        yield plain[start : start + size]


def order_scores(text: str, looks_like: float, by_words: float) -> list[float]:
    """How much each part that is worth reading reads like orders; none where the quick look sees none.

    Raises `ValueError`, `ImportError` and what onnxruntime raises when the model cannot be run.
    """
    looks = sorted(((quick_look(part), part) for part in parts(text)), reverse=True)
    worth = [(look, part) for look, part in looks[:MOST_READ] if look > looks_like]
    if not worth:
        return []
    model = graph()
    scores = model.scores([model.single(part) for _, part in worth], "orders")
    return [by_words * look + float(score[0]) for (look, _), (score,) in zip(worth, scores, strict=True)]


def reads_like_orders(text: str) -> bool:
    """False also where the model is not there: the rules stand alone then, and `nacre doctor` says why."""
    try:
        fitted = constants("orders")
        return any(each > fitted["orders"] for each in order_scores(text, fitted["looks_like"], fitted["by_words"]))
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no other root
        return False
