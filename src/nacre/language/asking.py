"""How a model is asked about what somebody wrote: fenced as data, and not again for a while after it has failed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from nacre.errors import LanguageModelError
from nacre.ports import LanguageModel

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
