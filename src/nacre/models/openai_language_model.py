"""Answers from any service that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio and others."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from nacre.errors import LanguageModelError
from nacre.models.http_json import TIMEOUT_SECONDS, JsonService
from nacre.models.language_model import answer_text

REMEDY = "Check that it runs, that the key and the model's name are right, and that max_tokens is not too small."
# Their newer models refuse `max_tokens`; other services know no other name.
RENAMED_LIMIT_HOSTS = ("openai.com", "openai.azure.com")


class OpenAICompatible:
    """`base_url` ends where `/chat/completions` is to follow, such as http://localhost:11434/v1 for Ollama."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        temperature: float | None = None,
        timeout: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.identity = f"openai:{model}"
        url = base_url.rstrip("/") + "/chat/completions"
        self._service = JsonService(
            url,
            lambda reason: LanguageModelError(f"{model} at {url}", reason, REMEDY),
            key=api_key,
            timeout=timeout,
            sleep=sleep,
        )
        self._limit_name = "max_completion_tokens" if _renamed_limit(url) else "max_tokens"
        self._always: dict[str, object] = {"model": model}
        # Several models refuse any but their own.
        if temperature is not None:
            self._always["temperature"] = temperature

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        answer = self._service.post({**self._always, "messages": messages, self._limit_name: max_tokens})
        try:
            content: object = answer["choices"][0]["message"]["content"]  # type: ignore[index]
        except (TypeError, KeyError, IndexError) as error:
            raise self._service.failed(f"its answer cannot be read: {error!r}") from error
        return answer_text(content, self._service.failed)


def _renamed_limit(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in RENAMED_LIMIT_HOSTS)
