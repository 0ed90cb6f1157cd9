"""Reads the elements of one great JSON array one at a time; an export of years need not fit into memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError
from pathlib import Path
from typing import BinaryIO

from nacre.files import open_regular
from nacre.model.memory import Json

STEP = 1_000_000  # bytes read at once; doubled while an element does not end, so that none is parsed often
SPACE = " \t\r\n\ufeff"


@dataclass(slots=True)
class Stream:
    file: BinaryIO
    text: str = ""
    read: int = 0
    ended: bool = False
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")())

    def more(self) -> bool:
        raw = self.file.read(max(STEP, len(self.text)))
        self.read += len(raw)
        self.text += self.decoder.decode(raw, final=not raw)
        self.ended = not raw
        return bool(raw)

    def skip(self, characters: str) -> str:
        """Passes over these, and tells the first other one; empty at the end of the file."""
        while True:
            self.text = self.text.lstrip(characters)
            if self.text or not self.more():
                return self.text[:1]

    def element(self) -> Json:
        """Raises `ValueError` when what is left is no JSON."""
        decoder = json.JSONDecoder()
        while True:
            try:
                found, end = decoder.raw_decode(self.text)
            except JSONDecodeError:
                if not self.more():
                    raise
                continue
            if end == len(self.text) and self.more():
                continue  # a number may go on
            self.text = self.text[end:]
            element: Json = found
            return element


def elements(path: Path) -> Iterator[tuple[Json, int]]:
    """Each with the bytes read until then; a file that is one object is its only element. Raises `ValueError`."""
    with open_regular(path) as file:
        stream = Stream(file)
        if stream.skip(SPACE) != "[":
            yield stream.element(), stream.read
            return
        stream.text = stream.text[1:]
        while (first := stream.skip(SPACE + ",")) and first != "]":
            yield stream.element(), stream.read
        if not first:
            raise ValueError("the array does not end")
