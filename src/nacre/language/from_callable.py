"""Any function from a prompt to an answer as a language model."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nacre.errors import LanguageModelError
from nacre.language.answers import answer_text

REMEDY = "Return some text for every prompt."


class FromCallable:
    """Calls are made one at a time: a function that was not written for several threads need not be.

    What is said as `system` comes before the prompt; how long an answer gets is the function's own affair.
    """

    def __init__(self, function: Callable[[str], str], identity: str) -> None:
        self.identity = identity
        self._function = function
        self._lock = threading.Lock()

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:  # noqa: ARG002
        with self._lock:
            given = self._function(f"{system}\n\n{prompt}" if system else prompt)
        return answer_text(given, lambda reason: LanguageModelError(repr(self.identity), reason, REMEDY))
