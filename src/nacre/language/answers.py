"""What every language model owes its caller: text, and some of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from nacre.errors import NacreError

# Local reasoning models write their thoughts before the answer; a thought is none.
THOUGHTS = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.DOTALL)


def answer_text(given: object, failure: Callable[[str], NacreError]) -> str:
    if not isinstance(given, str):
        raise failure(f"{type(given).__name__} instead of text")
    answer = THOUGHTS.sub("", given).strip()
    if not answer:
        raise failure("its answer is empty")
    return answer
