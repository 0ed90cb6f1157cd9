"""What the judge says of two memories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kind` is duplicate, contradiction or update; `words` are what decided, in the newer and in the older text.

    One that is not `sure` is worth a look, and no more: nothing should be overwritten for its sake.
    """

    kind: str
    reason: str
    words: tuple[str, str] = ("", "")
    sure: bool = True
