"""Fills a token budget with the best memories, in rank order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nacre.errors import InvalidInput
from nacre.model import Hit, Memory, Pack, PackedMemory, Recollection

TokenCounter: TypeAlias = Callable[[str], int]

HEADER = "## Relevant memory"
CHARACTERS_PER_TOKEN = 4  # English prose with the common tokenizers; a caller who must be exact gives a counter


def pack(
    recalled: Recollection, budget: int, *, header: str = HEADER, token_counter: TokenCounter | None = None
) -> Pack:
    """Greedy: what does not fit is passed over, and a smaller one after it may still come in.

    The budget covers the memory lines; the header is not counted.
    """
    if budget < 0:
        raise InvalidInput(f"The token budget is {budget}; give 0 or more.")
    count = token_counter or estimated_tokens
    items: list[PackedMemory] = []
    lines: list[str] = []
    used = 0
    for hit in recalled:
        line = written(hit.memory)
        tokens = count(line)
        if used + tokens <= budget:
            items.append(packed(hit, tokens))
            lines.append(line)
            used += tokens
    text = "\n".join(([header] if header else []) + lines) if lines else ""
    return Pack(tuple(items), text, used, budget, truncated=len(items) < len(recalled), notes=recalled.notes)


def packed(hit: Hit, tokens: int) -> PackedMemory:
    return PackedMemory(hit.memory, hit.score, tokens)


def written(memory: Memory) -> str:
    return f"- ({memory.type}) {memory.text}"


def estimated_tokens(line: str) -> int:
    return max(1, round(len(line) / CHARACTERS_PER_TOKEN))
