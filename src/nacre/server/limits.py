"""How much a token may ask for in a minute, and for how long it has to wait when that is spent."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

MINUTE = 60.0
MOST_TOKENS = 10_000  # whose use is remembered; the least recently used is forgotten, and so begins anew


@dataclass(frozen=True, slots=True)
class Limits:
    """A minute of each; 0 is no limit."""

    requests: float = 1_200
    writes: float = 600
    bytes: float = 100_000_000


@dataclass(slots=True)
class Use:
    """What is left of each limit, and when that was so."""

    left: list[float]
    at: float


class RateLimiter:
    """Fills up again steadily. For one thread: the one of the server's loop."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = (limits.requests, limits.writes, limits.bytes)
        self._clock = clock
        self._uses: OrderedDict[str, Use] = OrderedDict()

    def take(self, token: str, *, writes: int = 0, size: int = 0) -> float:
        """Takes one request; returns 0, or takes nothing and returns after how many seconds it would be possible."""
        now = self._clock()
        use = self._uses.pop(token, None) or Use(list(self._most), now)
        use.left = [
            min(most, left + (now - use.at) * most / MINUTE) for left, most in zip(use.left, self._most, strict=True)
        ]
        use.at = now
        self._uses[token] = use
        if len(self._uses) > MOST_TOKENS:
            self._uses.popitem(last=False)
        wanted = (1, writes, size)
        waits = [
            (min(amount, most) - left) * MINUTE / most
            for amount, left, most in zip(wanted, use.left, self._most, strict=True)
            if most and amount and left < min(amount, most)
        ]
        if waits:
            return max(waits)
        use.left = [left - amount for left, amount in zip(use.left, wanted, strict=True)]
        return 0.0

    def give_back(self, token: str) -> None:
        """One request that does not count after all."""
        if (use := self._uses.get(token)) is not None:
            use.left[0] = min(self._most[0], use.left[0] + 1)


def tool_writes(body: bytes, writing_tools: Collection[str]) -> int:
    """How many calls of tools that write an MCP request has; 0 where it cannot be read, and so does nothing. A tool
    that only sometimes writes counts each time."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return 0
    calls = [each for each in (sent if isinstance(sent, list) else [sent]) if isinstance(each, dict)]
    asked = [each.get("params") for each in calls if each.get("method") == "tools/call"]
    names = [each.get("name") for each in asked if isinstance(each, dict)]
    return sum(isinstance(name, str) and name in writing_tools for name in names)
