"""A backend whose next transaction another writer overtakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacre.protocols import Backend, Committed, Outdated


class Overtaken:
    """A backend to which somebody else writes just before its next commit."""

    def __init__(self, below: Backend, meanwhile: Callable[[], object]) -> None:
        self._below = below
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def commit(self, *given: Any) -> Committed | Outdated:
        if self._meanwhile:
            self._meanwhile.pop()()
        return self._below.commit(*given)

    def __getattr__(self, name: str) -> object:
        return getattr(self._below, name)
