"""A function as a language model, for tests of what asks one."""

from __future__ import annotations

from collections.abc import Callable

from nacre.errors import LanguageModelError
from nacre.models.language_model import answer_text


class FunctionLanguageModel:
    """`system` is put before the prompt."""

    def __init__(self, function: Callable[[str], str], identity: str) -> None:
        self.identity = identity
        self._function = function

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:  # noqa: ARG002
        answer = self._function(f"{system}\n\n{prompt}" if system else prompt)
        return answer_text(answer, lambda reason: LanguageModelError(repr(self.identity), reason, "Ask another one."))
