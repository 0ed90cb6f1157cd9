"""What is ingested is kept once, in its place, without secrets, and can be taken back."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied, InvalidInput
from nacre.transfer.import_archive import import_path
from nacre.transfer.ingest import ingest as ingesting
from nacre.transfer.ingest.formats import detect
from nacre.transfer.ingest.ingest import Ingest, Tally
from tests.transcripts import SESSION, chatgpt, claude, secret, turn, write_lines


def ingest(store: MemoryStore, path: Path, *, tools: bool = False, dry_run: bool = False) -> Tally:
    format = detect(path)
    assert format is not None
    return Ingest(store, format, path, dry_run).run(tools=tools)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing")


def test_a_turn_has_its_session_place_speaker_time_and_source(store: MemoryStore, tmp_path: Path) -> None:
    ingest(store, write_lines(tmp_path / "x.jsonl", [turn(1, "one"), turn(2, "two", "assistant")]))
    one, two = sorted(store.list_recent(), key=lambda memory: memory.position or 0)
    assert (one.session, one.position, one.role, one.source) == (SESSION, 0, "user", "claude-code")
    assert (two.position, two.role, two.type) == (1, "assistant", "episodic")
    assert one.occurred_at is not None and one.occurred_at < (two.occurred_at or 0)


@pytest.mark.parametrize("file", ["conversations.json", "session-2025-01-01.json"])
def test_json_that_is_nested_without_end_is_named_as_broken(store: MemoryStore, tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    path.write_text('[{"mapping": {}, "messages": ' + "[" * 100_000)
    form = detect(path)
    assert form is not None and Ingest(store, form, path, False).run().broken == 1


def test_a_secret_in_the_name_of_a_file_is_not_kept(store: MemoryStore, tmp_path: Path) -> None:
    first, second = tmp_path / f"{secret()}.md", tmp_path / f"{secret()[:-1]}x.md"
    first.write_text("# Tea\n\nThe kettle is in the cellar.\n")
    second.write_text("# Tea\n\nThe cups are in the attic.\n")
    for path in (first, second, first):
        ingest(store, path)
    cellar, attic = store.list_recent(order="oldest")
    assert {cellar.text, attic.text} == {"The kettle is in the cellar.", "The cups are in the attic."}
    for memory in (cellar, attic):
        assert secret()[:-1] not in f"{memory.session} {memory.source}" and "[REDACTED:" in memory.session
    assert cellar.session != attic.session, "they stay two notes"
    assert store.count() == 2, "and each is known again"
    talk = tmp_path / f"{secret()}.jsonl"
    write_lines(talk, [{"role": "user", "content": "The ladder is in the shed."}])
    ingest(store, talk)
    (said,) = (memory for memory in store.list_recent() if "ladder" in memory.text)
    assert secret() not in said.session and "[REDACTED:" in said.session


def test_an_import_names_the_session_of_such_a_file_as_ingest_does(store: MemoryStore, tmp_path: Path) -> None:
    note, talk = tmp_path / f"{secret()}.md", tmp_path / f"{secret()}.jsonl"
    note.write_text("The boat is red.\n")
    write_lines(talk, [{"role": "user", "content": "The ladder is in the shed."}])
    import_path(store, note)
    import_path(store, talk, source="conversations")
    assert (ingest(store, note).new, ingest(store, talk).new, store.count()) == (0, 0, 2)
    assert all(secret() not in f"{memory.session} {memory.source}" for memory in store.iterate())


@pytest.mark.parametrize(
    "output", [[chatgpt(("user", "a"), ("assistant", "b"))], [claude(("human", "a"), ("human", "b"))]]
)
def test_an_export_read_twice_changes_nothing(store: MemoryStore, tmp_path: Path, output: object) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(output))
    assert (ingest(store, path).new, ingest(store, path).unchanged, store.count()) == (2, 2, 2)
    assert len({entry.operation.batch for entry in store.journal(limit=None)}) == 1


def test_a_transcript_that_grew_gives_only_what_is_new(store: MemoryStore, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "one")])
    ingest(store, path)
    write_lines(path, [turn(1, "one"), turn(2, "two")])
    tally = ingest(store, path)
    assert (tally.new, tally.unchanged) == (1, 1)
    assert {memory.text: memory.position for memory in store.list_recent()} == {"one": 0, "two": 1}


def test_tools_that_come_later_do_not_double_what_was_said(store: MemoryStore, tmp_path: Path) -> None:
    content = [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Grep", "input": {}}]
    path = write_lines(tmp_path / "x.jsonl", [turn(1, content, "assistant")])
    ingest(store, path)
    tally = ingest(store, path, tools=True)
    assert (tally.new, tally.unchanged) == (1, 1)


def test_what_was_forgotten_is_not_kept_again(store: MemoryStore, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "one")])
    ingest(store, path)
    store.forget(*(memory.id for memory in store.list_recent()))
    assert ingest(store, path).unchanged == 1
    assert store.count() == 0


def test_an_ingest_is_an_act_that_can_be_taken_back(store: MemoryStore, tmp_path: Path) -> None:
    ingest(store, write_lines(tmp_path / "x.jsonl", [turn(number, f"turn {number}") for number in range(30)]))
    assert {(entry.operation.name, entry.operation.why) for entry in store.journal(limit=None)} == {
        ("ingest", "claude-code: x.jsonl")
    }
    store.undo()
    assert store.count() == 0


def test_many_turns_are_kept_in_batches_without_reading_all_first(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "BATCH", 10)
    path = write_lines(tmp_path / "x.jsonl", [turn(number, f"turn {number}") for number in range(25)])
    result: list[tuple[int, int]] = []
    format = detect(path)
    assert format is not None
    Ingest(store, format, path).run(progress=lambda done, total, _what: result.append((done, total)))
    assert len({entry.operation.batch for entry in store.journal(limit=None)}) == 3
    assert len(result) == 3 and result[-1] == (path.stat().st_size,) * 2
    assert sorted(memory.position or 0 for memory in store.list_recent(50)) == list(range(25))


def test_no_secret_is_kept(store: MemoryStore, tmp_path: Path) -> None:
    ingest(store, write_lines(tmp_path / "x.jsonl", [turn(1, f"use {secret()} for it")]))
    (memory,) = store.list_recent()
    assert secret() not in memory.text and memory.text.startswith("use ")


def test_a_text_that_cannot_be_kept_is_named_and_the_rest_is_kept(store: MemoryStore, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "x" * 1_000_001), turn(2, "a\ud800b\x00c"), turn(3, "three")])
    tally = ingest(store, path)
    assert (tally.new, tally.broken) == (2, 1)
    assert "1,000,001" in tally.faults[0]
    assert {memory.text for memory in store.list_recent()} == {"a\ufffdb\ufffdc", "three"}


def test_a_line_told_twice_is_kept_once(store: MemoryStore, tmp_path: Path) -> None:
    tally = ingest(store, write_lines(tmp_path / "x.jsonl", [turn(1, "one"), turn(1, "one")]))
    assert (tally.new, tally.skipped["repeated"], store.count()) == (1, 1, 1)


def test_many_faults_are_counted_and_the_first_are_named(store: MemoryStore, tmp_path: Path) -> None:
    tally = ingest(store, write_lines(tmp_path / "x.jsonl", [turn(1, "one"), *["{"] * 50]))
    assert (tally.broken, len(tally.faults), tally.new) == (50, ingesting.NAMED_FAULTS, 1)


@pytest.mark.slow
def test_two_who_ingest_the_same_at_once_keep_it_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(number, f"turn {number}") for number in range(40)])
    faults: list[BaseException] = []

    def work() -> None:
        try:
            with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
                ingest(store, path)
        except BaseException as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert store.count() == 40


def test_a_fault_that_is_nobody_elses_is_told(store: MemoryStore) -> None:
    draft = store.draft("one", id="same")
    with pytest.raises(InvalidInput):
        ingesting.store_new(store, "ingest", [draft, draft])


def test_a_narrowed_agent_cannot_bring_ids_along(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "one")])
    narrow = AgentCapabilities(ScopeLevel.SESSION_ONLY)
    with MemoryStore(
        tmp_path / "s.db", embedder="hashing", agent="a", session="s", capabilities=narrow
    ) as store, pytest.raises(AccessDenied):  # fmt: skip
        ingest(store, path)
