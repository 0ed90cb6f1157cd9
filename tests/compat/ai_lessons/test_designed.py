"""What ai-lessons was designed to withstand: many agents, poor rankings, secrets, words that drift apart."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.compat.ai_lessons import core, db, mcp_server
from nacre.compat.ai_lessons.config import Config
from nacre.compat.ai_lessons.search import SearchResult
from nacre.lessons import LessonBook
from nacre.models.language_model import LanguageModelReranker
from nacre.settings import Settings
from tests.compat.ai_lessons.test_cli import lessons, ran
from tests.compat.ai_lessons.test_mcp_server import called
from tests.function_model import FunctionLanguageModel

__all__ = ["lessons"]  # a fixture
CONFIGURATION = "config"


def asked_for(tool: str) -> dict[str, Any]:
    (results,) = (each for each in asyncio.run(mcp_server.list_tools()) if each.name == tool)
    properties: dict[str, Any] = results.input_schema["properties"]
    return properties


def named(function: Any) -> set[str]:
    return {*inspect.signature(function).parameters} - {CONFIGURATION}


@pytest.mark.accepts("L1.1", "L8.13")
def test_command_tools_and_functions_write_into_one_book_with_one_vocabulary(
    lessons: Path, configured: Config
) -> None:  # fmt: skip
    configured.db_path, configured.tag_aliases = lessons / "knowledge.db", {"ovens": "kiln"}
    typed = ran(
        "add", "-t", "Cool slowly", "-c", "Draughts crack.", "--tags", "ovens", "--source", "chart"
    ).stdout.strip()
    rendered = called("learn", title="Load loosely", content="Pots stick.", tags=["kilm"], source="chart")
    coded = core.add_lesson("Vent early", "Steam must leave.", ["ovens"], source="chart")
    assert rendered["warnings"] == ["tag 'kilm' not recognized, did you mean 'kiln'?"], "the command taught the tag"
    called("update", lesson_id=rendered["data"]["lesson_id"], tags=["kiln"])
    assert [(tag.name, tag.count) for tag in core.list_tags(True)] == [("kiln", 3)]
    ids = {typed, rendered["data"]["lesson_id"], coded}
    assert {each["id"] for each in called("recall", query="kiln", tags=["ovens"])["data"]} == ids
    assert {each.id for each in core.recall("kiln", tags=["ovens"])} == ids
    listed = json.loads(ran("search", "kiln", "--tags", "ovens", "--format", "json").stdout)["data"]
    assert {each["id"] for each in listed} == ids
    assert called("get", lesson_id=typed)["data"]["source"] == "chart"


@pytest.mark.accepts("L8.8")
def test_a_language_model_reads_twenty_and_its_choice_is_among_the_five() -> None:
    read: list[str] = []

    def model(prompt: str) -> str:
        passages = [line for line in prompt.splitlines() if line.startswith('{"number": ')]
        read.extend(passages)
        return json.dumps([10 if "bisque" in passage else 0 for passage in passages])

    reranker = LanguageModelReranker(FunctionLanguageModel(model, "reader"))
    with MemoryStore(":memory:", embedder="hashing", reranker=reranker) as store:
        book = LessonBook(store=store)
        for number in range(19):
            book.learn(f"Kiln shelf {number}", "Wash the kiln shelf before the firing.")
        wanted = book.learn("Ware", "A kiln full of bisque needs no wash between the pots, whatever is said.").data.id
        read.clear()
        results = book.recall("wash the kiln shelf", limit=5).data
        assert len(read) == 20 and len(results) == 5
        assert results[0].lesson.id == wanted
        assert "reranker" in {reason.signal for reason in results[0].why}


@pytest.mark.accepts("L8.14")
def test_the_tool_descriptions_explain_how_to_write_a_lesson() -> None:
    (learn,) = (each for each in asyncio.run(mcp_server.list_tools()) if each.name == "learn")
    assert learn.description is not None and "one insight" in learn.description
    rendered = {name: str(asked) for name, asked in asked_for("learn").items()}
    assert "few words" in rendered["title"] and "what to do" in rendered["content"]
    assert "where it applies" in rendered["contexts"] and "where it does not" in rendered["anti_contexts"]
    assert "very-low, low, medium" in rendered["confidence"] and "inferred, tested" in rendered["source"]


@pytest.mark.slow
@pytest.mark.accepts("L8.20")
def test_lessons_can_lie_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_KEY", "walnut under the snow")
    for key in ("", "env:LESSON_KEY"):
        file = tmp_path / f"{key or 'plain'}.db".replace(":", "-")
        with MemoryStore(file, settings=Settings(embedder="hashing", key=key)) as store:
            LessonBook(store=store).learn("Heliotrope", "Heliotrope wants shade.", tags=["heliotrope"])
            assert len(LessonBook(store=store).recall("heliotrope").data) == 1
        written = b"".join(each.read_bytes() for each in tmp_path.glob(f"{file.name}*"))
        assert (b"eliotrope" in written) is not bool(key)


@pytest.mark.accepts("L8.20")
def test_keys_and_addresses_do_not_leave_with_an_export(config: Config) -> None:
    key, address = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8", "@".join(("olga", "example.org"))
    settings = Settings(store=str(config.db_path), embedder="hashing", secrets="allow")
    config.db_path.parent.mkdir(parents=True)
    with MemoryStore(settings=settings) as store:
        LessonBook(store=store).learn("Deploy by hand", f"The token is {key}; ask {address}.", tags=["deploy"])
    out = io.StringIO()
    db.book_of(config).export(out)
    rendered = out.getvalue()
    assert "The token is" in rendered and key not in rendered and address not in rendered


@pytest.mark.accepts("L9.6")
def test_functions_tools_and_tables_use_the_same_words(config: Config) -> None:
    assert named(core.add_lesson) == {*asked_for("learn")}
    assert named(core.update_lesson) == {*asked_for("update")}
    assert named(core.recall) - {"strategy"} == {*asked_for("recall")}
    assert named(core.get_related) == {*asked_for("related")}
    assert named(core.link_lessons) == {*asked_for("link")}
    columns = {row["name"] for row in db.execute_query("SELECT name FROM pragma_table_info('lessons')", config=config)}
    assert {each.name for each in fields(core.Lesson)} == columns | {"tags", "contexts", "anti_contexts"}
    assert {each.name for each in fields(SearchResult)} == columns - {"created_at", "updated_at"} | {
        "score", "tags", "contexts", "anti_contexts",
    }  # fmt: skip
    edge = {row["name"] for row in db.execute_query("SELECT name FROM pragma_table_info('edges')", config=config)}
    assert edge == named(core.link_lessons)
    assert core.STRATEGIES["hybrid"] is core.hybrid_search
