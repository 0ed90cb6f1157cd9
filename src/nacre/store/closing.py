"""What is closed at the end of a `with`; and a face that closes its store only where it opened it itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from nacre.store.store import MemoryStore


class Closing(ABC):
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Face(Closing):
    def __init__(self, store: MemoryStore, *, lent: bool) -> None:
        self.store = store
        self.lent = lent

    def close(self) -> None:
        if not self.lent:
            self.store.close()
