"""Whether work grows in proportion to its input: by the processor time of two sizes in one run, so that neither the
speed of a machine nor what else runs on it decides."""

from __future__ import annotations

import time
from collections.abc import Callable

# Eight times the text may cost eight times the time, of which a machine's speed may change threefold meanwhile; what
# grows with the square costs 64 times.
SMALL, LARGER, REPEATS, GROWTH = 20_000, 8, 3, 24.0
NOTICEABLE = 0.004  # seconds below which a ratio says nothing


def grows_in_proportion(work: Callable[[str], object], part: str, end: str = "") -> bool:
    """Of a text that repeats the part: a hostile one, which a bad pattern tries in every combination."""
    text = part * (SMALL // len(part))
    return spent(work, text * LARGER + end) < GROWTH * max(NOTICEABLE, spent(work, text + end))


def spent(work: Callable[[str], object], text: str) -> float:
    return min(timed(work, text) for _ in range(REPEATS))


def timed(work: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    work(text)
    return time.process_time() - started
