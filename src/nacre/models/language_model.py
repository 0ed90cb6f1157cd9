"""What every language model owes its caller: text, and some of it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

from nacre.errors import LanguageModelError, NacreError
from nacre.protocols import LanguageModel

# Local reasoning models write their thoughts before the answer; a thought is none.
THOUGHTS = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.DOTALL)


def answer_text(given: object, failure: Callable[[str], NacreError]) -> str:
    if not isinstance(given, str):
        raise failure(f"{type(given).__name__} instead of text")
    answer = THOUGHTS.sub("", given).strip()
    if not answer:
        raise failure("its answer is empty")
    return answer


log = logging.getLogger("nacre")

REST_SECONDS = 60.0  # many questions may come at once, and each would wait for the same silence
TOKENS = 256  # a line is enough, but some models think aloud first


class Asking:
    """For an opinion that can be done without: None when the model fails, and until it has rested."""

    def __init__(self, model: LanguageModel, about: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.identity = model.identity
        self._model = model
        self._about = about
        self._clock = clock
        self._rests_until = float("-inf")

    def answer(self, prompt: str, system: str) -> str | None:
        if self._clock() < self._rests_until:
            return None
        try:
            return self._model.complete(prompt, system=system, max_tokens=TOKENS)
        except LanguageModelError as error:
            self._rests_until = self._clock() + REST_SECONDS
            log.warning("No %s from a language model for the next %g s: %s", self._about, REST_SECONDS, error)
            return None


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
