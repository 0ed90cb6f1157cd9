"""No address answers with a secret that was stored before there was a guard; ids and names stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import Link, MemoryStore
from nacre.errors import ConflictError
from nacre.factory import make_guard
from nacre.model import Conflict, Memory
from nacre.rest.endpoints import Endpoint
from nacre.rest.wire import to_json
from nacre.server.api import all_endpoints
from nacre.server.cleaning import CleanWriting
from nacre.settings import Settings
from tests.server.running import Caller, Served, serving, tokens
from tests.server.samples import filled, request, values_of

SPACE, SHED = "team", "shed"
# Made of parts, so that nothing here looks like one. The second is known only by the word before it.
TOKEN = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
WORD = "zw4" + "ktq9" + "vrx2"
OLDER_WORD = "hm7" + "pld3" + "sbn6"
SECRETS = (TOKEN, WORD, OLDER_WORD)
WIDER: Mapping[str, Mapping[str, Any]] = {
    "recall": {"query": "Which password does the ferry need at the gate?", "min_relevance": 0.0, "k": 20},
    "recall_pack": {"query": "Which password does the ferry need at the gate?", "token_budget": 2000},
    "history": {"id": "q2"},
    "journal": {"limit": 200},
    "changes": {"limit": 200},
    "tally": {"field": "tags"},
    "export": {"format": "jsonl"},
}
# What ends the space that the others are tried in comes last; others need what is not there.
LAST = ("delete_space", "rename_space", "forget", "purge", "redact")
LEFT_OUT = ("backup_to_restore", "start_import", "remove_user")


def with_secrets(store: MemoryStore) -> None:
    """Every memory of the samples has secrets in all fields that may hold one, and in its history."""
    filled(store)
    for id in (f"m{number}" for number in range(1, 10)):
        store.edit(id, text=f"The ferry {id} needs password: {OLDER_WORD} at the gate")
        store.edit(
            id, text=f"The ferry {id} needs password: {WORD} at the gate", title=f"token {TOKEN}",
            tags=[TOKEN, "ferry"], contexts=[TOKEN], anti_contexts=[TOKEN],
            entities=[TOKEN, "Harbour"], source=TOKEN, source_notes=TOKEN,
            metadata={"password": WORD, "note": TOKEN}, why="more",
        )  # fmt: skip
    store.remember(f"The quay needs password: {OLDER_WORD} at the gate", id="q1", on_conflict="ignore")
    store.remember(
        f"The quay needs password: {WORD} at the gate", id="q2", on_conflict="ignore", entities=[f"{TOKEN} x"]
    )
    store.supersede("q1", "q2")
    store.remember(f"The shed needs password: {OLDER_WORD} at the gate", id="s1", on_conflict="ignore", confidence=0.2)
    store.remember(f"The shed needs password: {WORD} at the gate", id="s2", on_conflict="note")
    store.link("m2", "m3", data={"password": WORD, "seen": TOKEN})
    newer, older = store.get_many(["s2", "s1"])
    store.note_conflicts([Conflict(newer, older, 0.9, "update", "value", (WORD, OLDER_WORD))])
    store.create_space(SPACE, f"opened by {TOKEN}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cleaning")


@pytest.fixture(scope="module")
def callers(place: Path) -> Iterator[tuple[Served, Caller, Caller, str]]:
    file = place / "s.db"
    without_guard = replace(Settings(), secrets="allow", conflict_judge="rules", rerank_ms=0.0)
    with MemoryStore(file, space=SPACE, embedder="hashing", settings=without_guard) as store:
        with_secrets(store)
        store.in_space(SHED).remember(f"The shed needs password: {OLDER_WORD} at the gate", id="s1", source=TOKEN)
        batch = store.journal("m9", limit=1)[0].operation.batch
    reader, admin = tokens(file, ("rea", "reader", (SPACE,)), ("root", "admin", ()))
    with serving(file, place, "--limit-requests", "0", "--limit-writes", "0") as served:
        yield served, served.caller(reader), served.caller(admin), batch


def secrets_in(answer: bytes) -> list[str]:
    text = answer.decode()
    return [each for each in SECRETS if each in text]


def turn(endpoint: Endpoint) -> tuple[bool, bool]:
    """What reads comes first, while everything is there."""
    return endpoint.method in LAST, not endpoint.reads


def test_no_address_answers_with_a_stored_secret(callers: tuple[Served, Caller, Caller, str]) -> None:
    _, reader, admin, batch = callers
    leaking, answered = [], 0
    for endpoint in sorted((each for each in all_endpoints() if each.method not in LEFT_OUT), key=turn):
        values = {**values_of(endpoint, SPACE, batch), **WIDER.get(endpoint.method, {})}
        reply = (reader if endpoint.reads else admin)(*request(endpoint, SPACE, values))
        if secrets_in(reply.body):
            leaking.append(endpoint.name)
        assert reply.status < 300 or not endpoint.reads or endpoint.method == "job", (endpoint.name, reply.body[:300])
        answered += reply.status < 300
    assert not leaking
    assert answered > 80


def test_the_stream_of_changes_and_a_refusal_are_clean_too(callers: tuple[Served, Caller, Caller, str]) -> None:
    served, _, admin, _ = callers
    refused = admin(
        "POST", f"/v1/spaces/{SHED}/memories",
        {"text": f"The shed needs password: {WORD} at the gate", "on_conflict": "raise"},
    )  # fmt: skip
    assert refused.status == 409 and refused.json["facts"]["conflicts"]
    assert not secrets_in(refused.body)
    first = next(events(served, admin.token))
    assert json.loads(first)["memory_id"] == "s1" and not secrets_in(first)


def events(served: Served, token: str) -> Iterator[bytes]:
    from urllib.request import Request, urlopen

    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {token}"}
    with urlopen(Request(f"{served.url}/v1/spaces/{SHED}/changes", headers=headers), timeout=60) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                yield line.removeprefix(b"data: ")


def test_ids_and_names_that_look_like_secrets_stay_and_lead_on() -> None:
    """They connect memories; the guard does not change them in a memory either."""
    guard = make_guard(Settings())
    assert guard.words(TOKEN) != TOKEN
    with MemoryStore(":memory:", space=TOKEN, embedder="hashing") as store:
        store.remember("The ferry leaves at nine", id=TOKEN, agent=TOKEN, session=TOKEN, links=[Link("b", "related")])
        store.remember("Gulls eat chips", id="b", links=[Link(TOKEN, "related")], session=TOKEN)
        store.supersede("b", TOKEN)
        writing, batch = CleanWriting(guard), store.journal(limit=1)[0].operation.batch
        for method, result in (
            ("get", store.get(TOKEN)),
            ("list_recent", store.list_recent()),
            ("history", store.history(TOKEN)),
            ("neighbors", store.neighbors(TOKEN, include_hidden=True)),
            ("subgraph", store.subgraph(["b"])),
            ("edges", store.edges()),
            ("journal", store.journal()),
            ("operations", store.operations()),
            ("operation", store.operation(batch)),
            ("spaces", store.spaces()),
            ("space_notes", store.space_notes()),
            ("stats", store.stats()),
            ("resolve_id", store.resolve_id(TOKEN[:10])),
            ("vectors", store.vectors([TOKEN])),
            ("recall", store.recall("When does the ferry leave?")),
        ):
            assert writing.result(method, result, {}) == to_json(result), method
            assert TOKEN in json.dumps(writing.result(method, result, {})), method


def test_the_sentence_of_a_conflict_does_not_quote_a_secret() -> None:
    older, newer = (Memory(id, f"password: {word}") for id, word in (("a", OLDER_WORD), ("b", WORD)))
    error = ConflictError([Conflict(newer, older, 0.9, "update", "value", (WORD, OLDER_WORD))], "b")
    about = CleanWriting(make_guard(Settings())).problem(error)
    assert OLDER_WORD in str(error)
    assert not secrets_in(json.dumps(about).encode()) and "b" in json.dumps(about["facts"])
    assert about["message"]


def test_a_store_that_allows_secrets_answers_with_them() -> None:
    writing = CleanWriting(make_guard(replace(Settings(), secrets="allow")))
    assert writing.result("get", Memory("a", TOKEN), {}) == to_json(Memory("a", TOKEN))
