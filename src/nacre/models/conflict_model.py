"""The shipped cross-encoder as the judge of two memories: it reads both texts together.

The graph is opened when the first pair is read: many commands name the judge and never use it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nacre.errors import ConflictModelError
from nacre.models.cross_encoder import IDENTITY, TOKENS, constants, failure, graph
from nacre.models.wordpiece import Pair
from nacre.protocols import Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT = 4096  # relations of pairs read before: a scan after a remember reads none of them again
# Texts that are else the same have a head of their own beside the other: people who write pairs do not write such ones,
# and a head that never saw them takes every two texts of one form for two things.
LEAST_COMMON = 2  # words
MOST_UNKNOWN = 0.2  # of the pieces of a pair: what differs may be among them


def read_relations(pairs: Sequence[tuple[str, str]]) -> list[Relation]:
    """Of each pair of an older and a newer text. Raises what `graph` raises."""
    model = graph()
    encoded = [model.pair(older, newer) for older, newer in pairs]
    readable = [place for place, pair in enumerate(encoded) if tells_apart(pair, model.unknown)]
    relations = [UNREAD] * len(pairs)
    scores = model.scores([encoded[place] for place in readable], "relation", "one_place")
    for place, (by_reading, by_place) in zip(readable, scores, strict=True):
        relations[place] = probabilities(by_reading)
        if differ_in_one_place(*pairs[place]):
            relations[place] = max(relations[place], probabilities(by_place), key=conflict)
    return relations


def tells_apart(pair: Pair, unknown: int) -> bool:
    """False where both texts read the same up to the limit, or mostly signs that the model does not know."""
    border = pair.segments.index(1)
    older, newer = pair.ids[1 : border - 1], pair.ids[border:-1]
    if len(pair.ids) >= TOKENS:  # of one text, a piece more may be read
        least = min(len(older), len(newer))
        older, newer = older[:least], newer[:least]
    return older != newer and pair.ids.count(unknown) <= MOST_UNKNOWN * len(pair.ids)


UNREAD = Relation(0.0, 0.0, 0.0, 1.0)


def conflict(relation: Relation) -> float:
    return relation.contradiction + relation.update


def differ_in_one_place(older: str, newer: str) -> bool:
    """Whether another word, or another name, stands in one place of an else common text."""
    a, b = older.split(), newer.split()
    least = min(len(a), len(b))
    begin = next((at for at in range(least) if a[at].casefold() != b[at].casefold()), least)
    rest = least - begin
    end = next((at for at in range(rest) if a[-1 - at].casefold() != b[-1 - at].casefold()), rest)
    one, other = a[begin : len(a) - end], b[begin : len(b) - end]
    named = all(word[0].isupper() for word in (*one, *other))
    return begin + end >= LEAST_COMMON and 0 < min(len(one), len(other)) <= max(len(one), len(other)) <= 1 + named


class ShippedConflictModel:
    """Every instance shares one session and what it has read; both begin with the first pair."""

    identity = IDENTITY

    @property
    def noted(self) -> float:
        return self._point("noted")

    @property
    def sure(self) -> float:
        return self._point("sure")

    def _point(self, name: str) -> float:
        try:
            return constants("relation")[name]
        except ValueError as error:
            raise ConflictModelError(str(error)) from error

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        named = {digest(pair): pair for pair in pairs}
        known = {name: relation for name in named if (relation := _read_before.get(name)) is not None}
        unread = [name for name in named if name not in known]
        try:
            relations = read_relations([named[name] for name in unread]) if unread else []
        except Exception as error:  # onnxruntime's errors have no other root
            raise ConflictModelError(failure(error)) from error
        new = dict(zip(unread, relations, strict=True))
        if len(_read_before) + len(new) > KEPT:
            _read_before.clear()
        _read_before.update(new)
        known |= new
        return [known[digest(pair)] for pair in pairs]


def digest(pair: tuple[str, str]) -> bytes:
    """A name for a pair that does not keep its texts: what was purged must not stay in the process."""
    older, newer = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in pair)
    return older + newer


_read_before: dict[bytes, Relation] = {}


def probabilities(scores: NDArray[np.float32]) -> Relation:
    import numpy as np

    powers = np.exp(scores.astype(np.float64) - float(scores.max()))
    return Relation(*(powers / powers.sum()).tolist())
