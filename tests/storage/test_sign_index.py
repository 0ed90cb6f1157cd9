"""What another thread appends in the middle of a search does not disturb it."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.storage.sqlite.vectors import SignIndex

DRAWN = np.random.default_rng(1).standard_normal((500, 16))
ROWS = (DRAWN / np.linalg.norm(DRAWN, axis=1, keepdims=True)).astype(np.float16)


class GrowingMidway(SignIndex):
    """Appends a row at the very moment that a search has looked at the size: the worst that a thread can do."""

    armed = False
    _size = 0

    @property
    def size(self) -> int:
        seen = self._size
        if self.armed:
            self.armed = False
            self.append(np.array([seen]), np.array([seen]), ROWS[seen : seen + 1])
        return seen

    @size.setter
    def size(self, value: int) -> None:
        self._size = value


@pytest.mark.parametrize("count", [5, 450])
@pytest.mark.parametrize("allowed", [None, np.arange(500)])
def test_a_search_sees_one_size_from_beginning_to_end(
    count: int, allowed: np.ndarray[tuple[int], np.dtype[np.int64]] | None
) -> None:
    index = GrowingMidway(16)
    index.append(np.arange(count), np.arange(count), ROWS[:count])
    index.armed = True
    chunks, owners, cosines = index.nearest(ROWS[0].astype(np.float32), 3, allowed)
    assert (chunks[0], owners[0], len(cosines)) == (0, 0, 3)
    assert index.size == count + 1
