"""One driver for each memory; `peers.worker` loads the one it is asked for in that memory's own environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Item:
    """A text to store. `session` is empty for a note, which stands alone; times are UTC seconds."""

    id: str
    text: str
    at: float | None = None
    role: str = ""
    session: str = ""
    position: int = 0

    @property
    def spoken(self) -> str:
        """The text with its speaker, for memories that have no field for one."""
        return f"{self.role}: {self.text}" if self.role else self.text


class Driver:
    """What the benchmark needs of a memory. `CHANGES` says how it is set up, and what differs from its defaults."""

    CHANGES: ClassVar[str] = ""

    def __init__(self, folder: Path) -> None:
        raise NotImplementedError

    def add(self, item: Item) -> str:
        """Stores one text durably. Returns the id of the item that stands for it: another's if it was a duplicate."""
        raise NotImplementedError

    def add_many(self, items: Sequence[Item]) -> list[str]:
        """The way for many texts, where the memory has one."""
        return [self.add(item) for item in items]

    def search(self, question: str, k: int, asked_at: float | None) -> list[str]:
        """Ids of the items found, best first."""
        raise NotImplementedError

    def lean(self) -> None:
        """Embeds without padding texts to the model's full length, where the memory does that: the same vectors,
        several times sooner. For the parts that are not timed."""

    def close(self) -> None:
        pass


def embed_unpadded(function: Any) -> None:
    """For Chroma's ONNX function: it pads each text by itself, so without padding a batch must hold one text."""
    function.tokenizer.no_padding()
    function._forward = lambda documents, batch_size=1: type(function)._forward(function, documents, 1)  # noqa: ARG005
