"""Answers from Anthropic's models."""

from __future__ import annotations

import time
from collections.abc import Callable

from nacre.errors import InvalidInput, LanguageModelError
from nacre.models.http_json import TIMEOUT_SECONDS, JsonService
from nacre.models.language_model import answer_text

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"  # of the protocol; the service keeps every version it has published
REMEDY = "Check the key, the model's name and the network, and that max_tokens is not too small."


class Anthropic:
    def __init__(
        self,
        model: str,
        api_key: str,
        base_url: str = BASE_URL,
        *,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not api_key.strip():
            raise InvalidInput("Anthropic's models need a key; set NACRE_LANGUAGE_MODEL_KEY.")
        self.identity = f"anthropic:{model}"
        self._model = model
        self._service = JsonService(
            base_url.rstrip("/") + "/v1/messages",
            lambda reason: LanguageModelError(model, reason, REMEDY),
            key=api_key,
            key_header=("x-api-key", ""),
            headers={"anthropic-version": VERSION},
            timeout=timeout,
            sleep=sleep,
        )

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        asked: dict[str, object] = {
            "model": self._model,
            "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": prompt}],
        }
        if system:
            asked["system"] = system
        answer = self._service.post(asked)
        try:
            blocks = [block["text"] for block in answer["content"] if block["type"] == "text"]  # type: ignore[index]
            written = "".join(blocks)
        except (TypeError, KeyError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error
        return answer_text(written, self._service.failed)
