"""The examples of the adapters, run as they are with the real packages, each on a store of its own."""

from __future__ import annotations

import asyncio
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripted_model import Call, ScriptedModel, serving

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = {
    "langgraph_store": ("langgraph", "['My sister Eva lives in Ghent.']"),
    "langchain_store": ("langchain_core", "['goats']\n['The goats are fed at dawn.']\n[{'rain': True}, None]"),
    "openai_agents_session": ("agents", "['My goat Berta eats thistles.']"),
    "llama_index_memory": ("llama_index.core", "True True"),
    "google_adk_memory": ("google.adk", "My goat Berta eats thistles."),
    "pydantic_ai_memory": ("pydantic_ai", "remembered: a"),
    "crewai_memory": ("crewai", "The goats are fed at dawn."),
    "autogen_memory": ("autogen_core", "True"),
    "haystack_store": ("haystack", "The goats are fed at dawn."),
}
MOST_LINES = 40


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_promises(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package, printed = PRINTED[name]
    pytest.importorskip(package, reason=f"{package} is not installed; `make test-integrations` installs it")
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](str(tmp_path / "s.db"))
    assert printed in capsys.readouterr().out


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()) <= MOST_LINES


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    with serving(ScriptedModel()) as served:
        variables = {"OPENAI_BASE_URL": f"{served.url}/v1", "OPENAI_API_KEY": "-".join(("no", "key")),
                     "NO_PROXY": "127.0.0.1", "OPENAI_AGENTS_DISABLE_TRACING": "1",
                     "NACRE_EMBEDDER": "hashing"}  # fmt: skip
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield served


def test_an_agent_of_openai_gets_what_was_said_before_inside_the_fence(
    model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("agents", reason="agents is not installed; `make test-integrations` installs it")
    lines = iter(("My goat Berta eats thistles.", "What does Berta eat?", ""))
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    asyncio.run(runpy.run_path(str(EXAMPLES / "openai_agents_session.py"))["chat"](str(tmp_path / "s.db")))
    first, second = (asked.body for asked in model.asked)
    assert "thistles" not in first["instructions"]
    assert "thistles" in second["instructions"].partition("<memories>")[2].partition("</memories>")[0]


def test_an_agent_of_pydantic_ai_remembers_what_its_model_says(
    model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pydantic_ai.models.openai", reason="pydantic-ai is not installed with openai")
    monkeypatch.setenv("AGENT_MODEL", "openai-responses:gpt-5")
    model.script(Call("remember", {"text": "The user drinks green tea."}), "I will keep that in mind.")
    runpy.run_path(str(EXAMPLES / "pydantic_ai_memory.py"))["main"](str(tmp_path / "s.db"))
    assert capsys.readouterr().out == "remembered: The user drinks green tea.\n"
