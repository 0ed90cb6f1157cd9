"""The language models that are reached over HTTP, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacre.errors import InvalidInput, LanguageModelError
from nacre.models.anthropic import VERSION, Anthropic
from nacre.models.openai_language_model import OpenAICompatible, _renamed_limit
from nacre.protocols import LanguageModel
from tests.loopback import KEY, Loopback, serving


def choice(content: object) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def blocks(*texts: str) -> dict[str, object]:
    return {"content": [{"type": "thinking", "thinking": "hm"}, *({"type": "text", "text": text} for text in texts)]}


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving(Loopback(lambda _: {})) as service:
        yield service


def openai(loopback: Loopback, **options: object) -> OpenAICompatible:
    return OpenAICompatible(f"{loopback.url}/v1/", "tiny", sleep=loopback.pauses.append, **options)  # type: ignore[arg-type]


def anthropic(loopback: Loopback) -> Anthropic:
    return Anthropic("small", KEY, loopback.url, sleep=loopback.pauses.append)


def test_a_chat_service_completes_a_prompt(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice(" Paris.\n")
    model: LanguageModel = openai(loopback)
    assert model.identity == "openai:tiny"
    assert model.complete("Capital of France?") == "Paris."
    asked = loopback.asked[0]
    assert (asked.path, asked.headers.get("authorization")) == ("/v1/chat/completions", None)
    assert asked.body == {
        "model": "tiny", "max_tokens": 512, "messages": [{"role": "user", "content": "Capital of France?"}],
    }  # fmt: skip


def test_system_limit_temperature_and_key_are_sent(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice("ok")
    openai(loopback, api_key=KEY, temperature=0.0).complete("p", system="s", max_tokens=7)
    asked = loopback.asked[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (asked.body["max_tokens"], asked.body["temperature"]) == (7, 0.0)
    assert asked.body["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "p"}]


def test_the_limit_has_another_name_at_openai_itself() -> None:
    assert _renamed_limit("https://api.openai.com/v1")
    assert not _renamed_limit("http://localhost:11434/v1")
    assert not _renamed_limit("https://notopenai.com/v1")


def test_the_thoughts_of_a_local_model_are_no_answer(loopback: Loopback) -> None:
    loopback.reply = lambda _: choice("<think>\nParis? [1]\n</think>\n\nParis.")
    assert openai(loopback).complete("p") == "Paris."
    loopback.reply = lambda _: choice("<think>Paris? Or")
    with pytest.raises(LanguageModelError, match="its answer is empty"):
        openai(loopback).complete("p")


@pytest.mark.parametrize("content", [None, "", " \n", 3])
def test_no_text_is_an_error_with_its_remedy(loopback: Loopback, content: object) -> None:
    loopback.reply = lambda _: choice(content)
    with pytest.raises(LanguageModelError, match="max_tokens is not too small"):
        openai(loopback).complete("p")


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"3", b'{"choices": []}', b'{"content": [{}]}', b'{"content": 3}'])
def test_an_answer_of_another_shape_is_refused(loopback: Loopback, answer: bytes) -> None:
    loopback.answer = answer
    for model in (openai(loopback), anthropic(loopback)):
        with pytest.raises(LanguageModelError, match="cannot be read"):
            model.complete("p")


def test_anthropic_gets_its_headers_and_its_text_is_joined(loopback: Loopback) -> None:
    loopback.reply = lambda _: blocks("Par", "is.")
    model: LanguageModel = anthropic(loopback)
    assert model.identity == "anthropic:small"
    assert model.complete("p", system="s", max_tokens=9) == "Paris."
    asked = loopback.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, VERSION)
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "small", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "p"}],
    }  # fmt: skip


def test_anthropic_without_a_key_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="need a key"):
        Anthropic("small", " ")


def test_an_overloaded_service_is_tried_again_and_a_refused_key_is_never_shown(loopback: Loopback) -> None:
    loopback.reply = lambda _: blocks("ok") | choice("ok")
    for model in (openai(loopback, api_key=KEY), anthropic(loopback)):
        loopback.failures = [(529, {}), (429, {})]
        assert model.complete("p") == "ok"
        loopback.failures = [(401, {})]
        with pytest.raises(LanguageModelError, match=r"HTTP 401: refused the key \[key\]") as caught:
            model.complete("p")
        assert KEY not in str(caught.value)
