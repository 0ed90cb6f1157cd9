"""`RemoteStore` over a real server does what `MemoryStore` does; what it cannot do is named."""

from __future__ import annotations

import inspect
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
import pytest

from nacre import AsyncMemoryStore, Conflict, Filter, Link, Memory, MemoryStore, client
from nacre.client import LOCAL_METHODS, RemoteProjectStore, RemoteStore
from nacre.errors import (
    AccessDenied,
    ConfigError,
    ConflictError,
    InvalidInput,
    LinkRefused,
    MemoryNotFound,
    NacreError,
    SpaceNotOpen,
    StorageError,
    StoreUnreachable,
    SupersedeCycle,
    UndoBlocked,
    UnknownName,
    VersionMismatch,
)
from nacre.integrations.records import add_turns
from nacre.model import ExpandSpec
from nacre.rest.endpoints import LOCAL_ONLY
from nacre.rest.wire import to_json
from nacre.settings import Settings
from tests.cli.terminal import conversation
from tests.command_line import CommandLine
from tests.former_model import TEXTS, fill
from tests.loopback import running
from tests.server.running import Served, serving, tokens
from tests.waiting import wait_for

OWN = (
    "in_space",
    "as_actor",
    "expecting",
    "close",
    "clean",
    "remember",
    "edit",
    "iterate",
    "iterate_journal",
    "reindex",
    "now",
)
RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b|\b[0-9a-f]{8}\b|\d{10}\.\d+|\d+\.\d{3,}(e-\d+)?")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.fixture(scope="module")
def token(place: Path) -> str:
    return tokens(place / "s.db", ("lib", "admin", ()))[0]


@pytest.fixture(scope="module")
def served(place: Path, token: str) -> Iterator[Served]:
    assert token  # is made before it starts
    with serving(place / "s.db", place) as started:
        yield started


@pytest.fixture
def remote(served: Served, token: str) -> Iterator[RemoteStore]:
    with RemoteStore(served.url, token=token, space="default") as store:
        yield store


@contextmanager
def local() -> Iterator[MemoryStore]:
    quick = Settings(conflict_judge="rules", rerank_ms=0.0)
    with MemoryStore(":memory:", space="story", embedder="hashing", settings=quick) as store:
        yield store


def test_every_method_is_there_or_named_with_a_reason() -> None:
    methods = {name for name, _ in inspect.getmembers(MemoryStore, inspect.isfunction) if not name.startswith("_")}
    own = {name for name in methods if name in vars(RemoteStore)}
    assert methods - own == {"now"}
    for name in own - {*OWN, *LOCAL_METHODS}:
        shapes = [list(inspect.signature(getattr(each, name)).parameters) for each in (RemoteStore, MemoryStore)]
        assert shapes[0] == shapes[1], name
    assert LOCAL_METHODS.keys() <= methods and all(LOCAL_METHODS.values())


def outcome(work: Callable[[], Any]) -> Any:
    try:
        result = work()
    except NacreError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, Iterator):
        result = list(result)
    return to_json(result) if not isinstance(result, dict) else {key: to_json(each) for key, each in result.items()}


def noted(newer: Memory, older: Memory) -> Conflict:
    return Conflict(newer, older, 0.9, "update", "other times")


def story(store: MemoryStore) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What somebody does with a store, step by step, and everything that can be asked about it."""
    say = store.remember
    yield "remember", lambda: say("The ferry to Inis leaves at nine", id="a", tags=["ferry"], entities=["Inis"])
    yield "fields", lambda: say(
        "Ticket prices rise in June", id="b", type="episodic", links=[Link("a", "related", 0.5, {"kind": "x"})],
        metadata={"page": [1, None]}, valid_from="2026-06-01", importance=0.9, occurred_at=1_780_000_000,
    )  # fmt: skip
    yield "result", lambda: store.remember_result("The ferry to Inis leaves at ten", id="c", on_conflict="note")
    yield "known", lambda: store.remember_result("The ferry to Inis leaves at nine")
    yield "many", lambda: store.remember_many(["A gull on the mast", {"text": "A seal by the pier", "id": "d"}])
    yield "raise", lambda: say("The ferry to Inis leaves at nine", on_conflict="raise")
    yield "taken", lambda: say("Another text", id="a")
    yield "wrong field", lambda: say("x", importnce=1)  # type: ignore[call-arg]
    yield "empty", lambda: say("")
    yield "draft", lambda: store.draft("Only a draft", id="z")
    yield "edit", lambda: store.edit("a", text="The ferry to Inis leaves at half past nine", why="new timetable")
    yield "edit nothing", lambda: store.edit("nobody", title="x")
    yield "get", lambda: store.get("a")
    yield "get none", lambda: store.get("nobody")
    yield "get many", lambda: store.get_many(["b", "nobody", "a"])
    yield "resolve", lambda: store.resolve_id("d")
    yield "resolve none", lambda: store.resolve_id("zz")
    yield "recall", lambda: store.recall("When does the ferry leave?", 3, with_context=1, expand=ExpandSpec(depth=1))
    yield "recall in", lambda: store.recall("ferry", tags=["ferry"], strategy="keyword", min_relevance=0.0)
    yield "pack", lambda: store.recall_pack("ferry", token_budget=50, fence=True)
    yield "where", lambda: store.list_recent(where=Filter.where(importance__ge=0.8))
    yield "list", lambda: [*store.list_recent(2, order="oldest"), bool(store.list_recent(2, order="oldest").cursor)]
    yield "cursor", lambda: store.list_recent(9, order="oldest", cursor=store.list_recent(2, order="oldest").cursor)
    yield "bad cursor", lambda: store.list_recent(2, cursor="damaged")
    yield "iterate", lambda: store.iterate(include_archived=True)
    yield "count", lambda: (store.count(), store.count(type="episodic"), store.count(status=["trashed"]))
    yield "tally", lambda: store.tally("tags")
    yield "types", lambda: store.types()
    yield "link", lambda: store.link("a", "d", "refines", weight=0.1, data={"kind": "y"})
    yield "link again", lambda: store.link("a", "d", "refines", weight=0.1)
    yield "link itself", lambda: store.link("a", "a")
    yield "edges", lambda: (store.edges(), store.edges(into=["a"]), store.edges(out_of=[]), store.edges(rel="refines"))
    yield "neighbors", lambda: store.neighbors("a", depth=2)
    yield "graph", lambda: store.subgraph(["a"], depth=1, rel=["refines"])
    yield "path", lambda: store.path("b", "d")
    yield "no path", lambda: store.path("b", "nobody")
    yield "weak", lambda: store.weak_links(below=0.2)
    yield "prune", lambda: store.prune_links(store.weak_links(below=0.2))
    yield "unlink", lambda: store.unlink("b", "a")
    yield "relations", lambda: store.relations()
    yield "register", lambda: [call("ferries") for call in (store.register_relation, store.register_type)]
    yield "marks", lambda: (store.pin("a", "b"), store.unpin("b"), store.tag("a", add=["sea"], remove=["ferry"]))
    yield "bump", lambda: (store.bump("a", by=0.2), store.archive("d"), store.unarchive("d"))
    yield "bump wrong", lambda: store.bump("a")
    yield "validate", lambda: store.validate("a", confidence=0.7)
    yield "supersede", lambda: store.supersede("a", "c", why="newer")
    yield "circle", lambda: store.supersede("c", "a")
    yield "history", lambda: store.history("a")
    yield "restore", lambda: (store.restore("a"), store.restore("a"))
    yield "forget", lambda: (store.forget("d"), store.forget("d"), store.forget("nobody"))
    yield "undo", lambda: store.undo()
    yield "undo none", lambda: store.undo("f" * 32)
    yield "undo both", lambda: store.undo("f" * 32, last=2)
    yield "blocked", lambda: store.undo(store.journal("b", operation="remember")[0])
    yield "journal", lambda: (store.journal(), store.journal("a", limit=None), store.journal(actor="nobody"))
    yield "all entries", lambda: [entry.seq for entry in store.iterate_journal()]
    yield "some entries", lambda: [entry.seq for entry in store.iterate_journal("a", operation="edit")]
    yield "changes", lambda: [entry.seq for entry in store.changes(3, limit=4)]
    yield "operations", lambda: store.operations(limit=3)
    yield "operation", lambda: store.operation(store.journal("a", operation="remember")[0].operation.batch[:9])
    yield "diff", lambda: store.diff("yesterday")
    yield "timeline", lambda: [bucket.created for bucket in store.timeline(bucket="week")]
    yield "conflicts", lambda: store.find_conflicts("a")
    yield "all conflicts", lambda: store.find_conflicts()
    yield "note", lambda: store.note_conflicts([noted(*store.get_many(["c", "a"]))])
    yield "review", lambda: store.review(kinds=["conflict", "word"])
    yield "review pages", lambda: [store.review(limit=2, offset=at) for at in (0, 1, 99)]
    yield "review wrong", lambda: store.review(limit=2, offset=-1)
    yield "suggestions", lambda: store.entity_suggestions(2, offset=1)
    yield "decide", lambda: store.decide(store.review(kinds="conflict")[0], "keep_both")
    yield "decide none", lambda: store.decide("nobody", "trash")
    yield "decide early", lambda: store.decide(store.review(kinds="stale", stale_days=0.0)[0], "validate")
    yield "entities", lambda: (store.entities(), store.entity_suggestions(), store.resolve_entity("inis"))
    yield "merge names", lambda: (store.merge_entities("Inis", "Inis Island"), store.unalias("Inis Island"))
    yield "about", lambda: store.memories_about("Inis")
    yield "merge", lambda: store.merge("a", "c", text="The ferry leaves twice")
    yield "merge itself", lambda: store.merge("a", "a")
    yield "vocabulary", lambda: store.vocabulary("entity")
    yield "as of", lambda: store.count(as_of="yesterday")
    yield "valid at", lambda: [memory.id for memory in store.list_recent(valid_at="2026-05-01")]
    yield "stats", lambda: {**to_json(store.stats()), "bytes_on_disk": 0}  # type: ignore[dict-item]
    yield "purge", lambda: (store.purge("d"), store.redact("b"), store.purge("nobody"))
    yield "copy", lambda: (store.copy_space("story two"), store.in_space("story two").count())
    yield "version", lambda: store.expecting({"a": 999})
    yield "compact", lambda: store.compact(older_than_days=9)
    yield "catch up", lambda: store.catch_up()
    yield "rename", lambda: [store.rename_space("story three") or (store.space, store.count())]  # type: ignore[func-returns-value]
    yield "spaces", lambda: {k: v for k, v in store.spaces().items() if "story" in k}
    yield "delete", lambda: (store.delete_space(), store.delete_space(purge=True))
    yield "local only", lambda: store.remember("x", contradiction_fn=None)


@pytest.mark.slow
def test_the_same_story_has_the_same_outcome_on_either_side(remote: RemoteStore) -> None:
    far = remote.in_space("story")
    with local() as near:
        outcomes = [
            (name, *(RANDOM.sub("#", repr(outcome(each))) for each in (work, other)))
            for (name, work), (_, other) in zip(story(near), story(far), strict=True)
        ]
    differing = [(name, here, there) for name, here, there in outcomes if here != there]
    assert differing == []


def test_a_queue_longer_than_an_answer_is_read_to_its_end(remote: RemoteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"leads to{number}" for number in range(5)]
    remote.remember("The lighthouse", id="light")
    for number, word in enumerate(words):
        remote.remember(f"Lamp {number}", id=f"lamp{number}", links=[Link("light", word)])
    expected = remote.review(kinds="word", limit=None)
    assert len(expected) >= len(words)
    asked: list[int] = []
    call = remote._call

    def counted(name: str, values: dict[str, Any]) -> Any:
        asked.append(values["limit"])
        return call(name, values)

    monkeypatch.setattr(remote, "_call", counted)
    monkeypatch.setattr(client, "MOST_LISTED", 2)
    assert remote.review(kinds="word", limit=None) == expected and max(asked) == 2 and len(asked) > 2
    assert remote.review(kinds="word", limit=3, offset=1) == expected[1:4] and asked[-2:] == [2, 1]
    assert remote.review(kinds="word", limit=0) == []


def test_errors_are_those_of_a_local_store(remote: RemoteStore) -> None:
    store = remote.in_space("errors")
    id = store.remember("The pump is red").id
    store.pin(id)
    for error, work in (
        (MemoryNotFound, lambda: store.edit("nobody", title="x")),
        (InvalidInput, lambda: store.remember("")),
        (UnknownName, lambda: store.remember("x", type="sematic")),
        (LinkRefused, lambda: store.link(id, id)),
        (SupersedeCycle, lambda: store.supersede(id, id)),
        (ConflictError, lambda: store.remember("The pump is red", on_conflict="raise")),
        (UndoBlocked, lambda: store.undo(store.journal(id, operation="remember")[0])),
    ):  # fmt: skip
        with pytest.raises(error):
            work()
    with pytest.raises(UndoBlocked) as blocked:
        store.undo(store.journal(id, operation="remember")[0])
    assert [each.name for each in blocked.value.later] == ["pin"]  # type: ignore[attr-defined]


def test_many_memories_take_the_fields_that_one_takes(remote: RemoteStore) -> None:
    store = remote.in_space("many")
    item = {
        "text": "The mole has a lamp", "id": "m", "links": [Link("c", "lights", 0.5, {"kind": "x"})], "tags": ("sea",),
        "metadata": {"page": 1}, "valid_from": "2026-06-01", "position": 3,
    }  # fmt: skip
    with local() as near:
        (here,), (there,) = (each.remember_many([item]) for each in (near, store))
    assert there.links == (Link("c", "lights", 0.5, {"kind": "x"}),)
    names = ("text", "id", "links", "tags", "metadata", "valid_from", "position")
    assert [getattr(here, name) for name in names] == [getattr(there, name) for name in names]
    with pytest.raises(InvalidInput, match="needs a text"):
        store.remember_many([{"id": "n"}])


def writing(store: MemoryStore, data: Any) -> list[Callable[[], Any]]:
    return [
        lambda: store.remember("A measured value", metadata=data),
        lambda: store.edit("a", metadata=data),
        lambda: store.draft("A measured value", metadata=data),
        lambda: store.remember_many([{"text": "A measured value", "metadata": data}]),
        lambda: store.remember("A measured value", links=[Link("a", data=data)]),
        lambda: store.link("a", "b", data=data),
    ]


def refusals(store: MemoryStore) -> list[str]:
    """What the store says to values that JSON does not have, or turns into others."""
    store.remember("A buoy", id="a")
    values = (float("nan"), float("inf"), datetime(2026, 5, 1), b"abc", {1, 2}, "half \ud800")
    said = [outcome(call) for value in values for call in writing(store, {"value": value})]
    assert store.count() == 1 and store.edges() == [] and existing(store, "a").metadata == {}
    return said


def existing(store: MemoryStore, id: str) -> Memory:
    memory = store.get(id)
    assert memory is not None
    return memory


def test_what_json_does_not_have_is_refused_as_by_a_local_store(remote: RemoteStore) -> None:
    with local() as near:
        here = refusals(near)
    there = refusals(remote.in_space("values"))
    assert here == there and all(each.startswith("InvalidInput: ") for each in here)


def without_value(store: MemoryStore, name: str) -> list[Callable[[], Any]]:
    nothing: Any = {name: None}
    return [
        lambda: getattr(store.remember("The buoys", id=f"of {name}", **nothing), name),
        lambda: getattr(store.edit("c", **nothing), name),
    ]


def odd_calls(store: MemoryStore) -> Iterator[Callable[[], Any]]:
    """What programs give by mistake, or from other libraries."""
    one, two, half = cast("tuple[int, int, float]", (np.int64(1), np.int64(2), np.float32(0.5)))
    yield lambda: [store.remember(f"Buoy {each}", id=f"b{each}", importance=half).importance for each in range(3)]
    yield lambda: [memory.id for memory in store.list_recent(two, offset=one, min_importance=half)]
    yield lambda: len(store.journal(limit=two))
    yield lambda: len(store.recall("buoy", k=two))
    yield lambda: len(store.recall("buoy", touch=None, rerank=np.bool_(False)))  # type: ignore[arg-type]
    yield lambda: store.remember_many([{"text": "Another buoy", "id": "c", "position": two, "title": None}])[0].position
    yield lambda: store.remember_many("abc")
    yield lambda: store.remember_many({"text": "One buoy"})
    for name in ("agent", "title", "source", "source_notes", "session", "role"):
        yield from without_value(store, name)
    yield lambda: store.edit("c", type=None)  # type: ignore[arg-type]
    yield lambda: store.edit("c", importance="0.5")  # type: ignore[arg-type]
    yield lambda: store.remember("x", tags=[1])  # type: ignore[list-item]
    yield lambda: store.remember("x", pinned="yes")  # type: ignore[arg-type]
    yield lambda: store.count(min_importance="high")  # type: ignore[arg-type]
    yield lambda: store.count(where=3)  # type: ignore[arg-type]
    yield lambda: store.count(status=["lost"])
    yield lambda: store.count(tags=iter(["a"]))
    yield lambda: store.iterate(bogus=1)  # type: ignore[call-arg]
    yield lambda: store.recall("buoy", bogus=1)  # type: ignore[call-arg]
    yield lambda: store.list_recent(-1)
    yield lambda: store.list_recent(offset=-1)
    yield lambda: store.journal(limit=-1)
    yield lambda: store.operations(limit=-1)
    yield lambda: store.memories_about("buoy", limit=-1)


def test_a_mistake_is_answered_as_by_a_local_store(remote: RemoteStore) -> None:
    with local() as near:
        pairs = zip(odd_calls(near), odd_calls(remote.in_space("mistakes")), strict=True)
        outcomes = [tuple(RANDOM.sub("#", repr(outcome(call))) for call in pair) for pair in pairs]
    assert [pair for pair in outcomes if pair[0] != pair[1]] == []
    assert not any("StorageError" in here for here, _ in outcomes)


def test_a_version_that_is_expected_is_compared_by_the_server(remote: RemoteStore) -> None:
    store = remote.in_space("versions")
    memory = store.remember("The valve is open")
    first = store.expecting({memory.id: memory.version})
    assert first.edit(memory.id, text="The valve is shut").version == memory.version + 1
    for work in (lambda: first.edit(memory.id, title="x"), lambda: first.forget(memory.id)):
        with pytest.raises(VersionMismatch):
            work()
    with pytest.raises(MemoryNotFound):
        store.expecting({"nobody": 1})


def test_an_expected_version_counts_wherever_the_memory_is_named(remote: RemoteStore) -> None:
    """In a list, as the end of a link, as what is replaced, or only by what is undone."""
    with local() as near:
        for number, store in enumerate((near, remote)):
            for name, work in EXPECTING.items():
                team = store.in_space(f"expecting {number} {name}")
                for id in ("m1", "m2", "m3"):
                    team.remember(f"The rope {id} hangs in the shed", id=id, on_conflict="ignore")
                team.link("m1", "m3")
                first = team.expecting({"m1": team.get_many(["m1"])[0].version})
                team.edit("m1", title="By somebody else")
                with pytest.raises(VersionMismatch):
                    work(first)
                assert first.edit("m2", title="Not expected").title == "Not expected"
                assert team.get_many(["m1"])[0].title == "By somebody else"


EXPECTING: dict[str, Callable[[MemoryStore], object]] = {
    "tag": lambda store: store.tag("m1", "m2", add=["x"]),
    "pin": lambda store: store.pin("m1", "m2"),
    "forget": lambda store: store.forget("m1"),
    "purge": lambda store: store.purge("m1", "m2"),
    "unlink": lambda store: store.unlink("m1", "m3"),
    "link": lambda store: store.link("m1", "m2"),
    "supersede": lambda store: store.supersede("m2", "m1"),
    "merge": lambda store: store.merge("m2", "m1"),
    "replace": lambda store: store.remember("Another rope", replaces="m1"),
    "undo": lambda store: store.undo(),
    "delete": lambda store: store.delete_space(),
}


def test_a_store_follows_its_space_when_a_new_name_is_taken_back(remote: RemoteStore) -> None:
    with local() as near:
        for store in (near, remote.in_space("quay")):
            space = store.space
            store.remember("A buoy by the quay")
            store.rename_space("  quay two ")
            assert store.space == "quay two" and store.count() == 1
            entries = store.undo()
            assert store.space == space and store.count() == 1
            assert "quay two" not in store.spaces()
            store.undo(entries[0])
            assert store.space == "quay two" and store.count() == 1
            store.delete_space(purge=True)


def test_all_entities_are_listed_however_many_there_are(remote: RemoteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote.in_space("names")
    store.remember_many([{"text": f"Ada met friend {n}", "entities": [f"Friend {n}", "Ada"]} for n in range(6)])
    every = store.entities()
    assert len(every) == 7 and every[0].name == "Ada"
    monkeypatch.setattr(client, "MOST_LISTED", 3)
    assert store.entities() == every and store.entities(5) == every[:5] and store.entities(5, offset=2) == every[2:7]
    assert store.entities(0) == []
    wanted = ["friends"]
    store.tag(*(memory.id for memory in store.list_recent(9)), add=wanted)
    for count in (2, 5, 9):
        assert len(store.list_recent(count, tags=iter(wanted))) == min(count, 6)
    assert len(list(store.iterate(tags=iter(wanted)))) == 6


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            b"HTTP/1.1 301 Moved\r\nLocation: https://ada:pw@elsewhere/\r\nContent-Length: 0\r\n\r\n",
            "leads to https://",
        ),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "answers 304"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>", "not JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "not JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", "answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "answer"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}', "answer"),
    ],
)
def test_what_is_no_server_of_ours_is_named(answer: bytes, said: str) -> None:
    calls: tuple[Callable[[RemoteStore], object], ...] = (
        lambda store: store.remember("x"), lambda store: store.count(), lambda store: store.list_recent(),
        lambda store: store.get("x"), lambda store: store.me(), lambda store: store.journal(),
    )  # fmt: skip
    with answering(answer) as url, RemoteStore(url, token="t") as store:
        for call in calls:
            with pytest.raises(StoreUnreachable, match="no Nacre server") as refused:
                call(store)
            assert said in str(refused.value) and "pw@" not in str(refused.value)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Whatever is asked gets this answer."""

    class Page(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(100_000)
            self.request.sendall(answer)

    with ThreadingTCPServer(("127.0.0.1", 0), Page) as page:
        serving = threading.Thread(target=page.serve_forever, daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{page.server_address[1]}"
        finally:
            page.shutdown()
            serving.join()


def test_a_list_that_is_too_long_for_an_address_is_sent_all_the_same(remote: RemoteStore) -> None:
    store = remote.in_space("long")
    for id in ("a", "b"):
        store.remember(f"Mast {id}", id=id, on_conflict="ignore")
    store.link("a", "b")
    others = [f"{number:036d}" for number in range(3_000)]
    assert [each.target for each in store.edges(out_of=[*others, "a"])] == ["b"]
    assert store.edges(out_of=others) == [] and store.count(tags=others) == 0


def test_functions_of_the_program_and_parts_of_the_store_are_refused(remote: RemoteStore) -> None:
    assert "contradiction_fn" in LOCAL_ONLY
    with pytest.raises(InvalidInput, match="function of your program"):
        remote.remember("x", contradiction_fn=lambda *_: None)
    for name in LOCAL_METHODS:
        with pytest.raises(InvalidInput, match="not work through a server"):
            getattr(remote, name)("x")
    with pytest.raises(InvalidInput, match="where the server runs"):
        remote.embedder  # noqa: B018


def test_turns_get_the_time_of_the_server_whatever_our_clock_says(
    remote: RemoteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_clock", lambda: time.time() - 3600)
    for text in ("one", "two"):
        add_turns(remote, "s", [{"text": text}])
    first, second = remote.list_recent(order="oldest", session="s")
    assert (first.text, first.position, second.text, second.position) == ("one", 0, "two", 1)
    assert first.occurred_at is second.occurred_at is None
    assert first.created_at < second.created_at


def test_a_closed_store_says_so_as_a_local_one_does(served: Served, token: str) -> None:
    store = RemoteStore(served.url, token=token, space="default")
    view = store.in_space("other")
    assert view.count() == 0
    store.close()
    for closed in (store, view):
        with pytest.raises(StorageError, match=rf"The store {served.url} is closed; open it again"):
            closed.count()
    store.close()


def test_a_wrong_token_and_a_space_that_is_not_open(served: Served, place: Path) -> None:
    for wrong, sentence in (("wrong", "not known here; ask an admin"), ("", "needs a token; set NACRE_TOKEN")):
        with RemoteStore(served.url, token=wrong) as store, pytest.raises(AccessDenied, match=sentence) as refused:
            store.count()
        assert "`nacre config set token file:PATH`" in str(refused.value) and "Bearer" not in str(refused.value)
    (limited,) = tokens(place / "s.db", ("ben", "reader", ("open",)))
    with RemoteStore(served.url, token=limited) as store:  # the one space that the token opens
        assert store.count() == 0 and store.space == "open"
    with RemoteStore(served.url, token=limited, space="open") as store:
        assert store.count() == 0 and store.me() == {"user": "ben", "role": "reader", "spaces": ["open"]}
        with pytest.raises(SpaceNotOpen, match="does not open the space 'closed'; it opens open"):
            store.in_space("closed").count()
        with pytest.raises(AccessDenied, match="writer"):
            store.remember("x")


def test_what_cannot_be_reached_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.client.PAUSES", (0.0,))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(StoreUnreachable, match="does not answer"):
        RemoteStore(f"http://127.0.0.1:{port}", token="x").count()
    for url in ("ftp://x", "http://", "memory.example.org"):
        with pytest.raises(ConfigError):
            RemoteStore(url, token="x")


class HangsUp(BaseHTTPRequestHandler):
    """Takes a request, and ends before it answers."""

    def do_GET(self) -> None:
        self.close_connection = True

    def do_POST(self) -> None:
        self.close_connection = True


def test_a_write_that_was_sent_and_not_answered_may_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.client.PAUSES", (0.0,))
    with running(HangsUp) as url:
        store = RemoteStore(url, token="x", space="team")
        with pytest.raises(StoreUnreachable, match="carried out, a long one in part; look at the journal"):
            store.remember_many(["A gull", "A seal"])
        with pytest.raises(StoreUnreachable) as unread:
            store.count()
    with pytest.raises(StoreUnreachable) as unsent:  # nobody listens there anymore
        store.remember_many(["A gull", "A seal"])
    assert not any("carried out" in str(error.value) for error in (unread, unsent))


@contextmanager
def busy_at_first() -> Iterator[str]:
    """The address of what wants the first request again later, and knows nobody."""
    busy = {"type": "urn:nacre:error:TooMany", "detail": "This token has used up its share of this minute."}
    answers = [(429, busy)]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, about = answers.pop() if answers else (403, {"type": "urn:nacre:error:AccessDenied"})
            body = json.dumps(about).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(body)

    with running(Handler) as url:
        yield url


AGAIN = "This token has used up its share of this minute. The request is sent again in 0 s."


def test_what_a_request_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with busy_at_first() as url, RemoteStore(url, token="x") as store, pytest.raises(AccessDenied):
        store.me()
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [("WARNING", AGAIN)]


def test_who_waits_at_a_terminal_reads_why_and_a_pipe_has_the_answer_alone(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_TOKEN", "x")
    with busy_at_first() as url:
        seen, _ = conversation("--store", url, "list")
    assert f"nacre: {AGAIN}" in " ".join(seen.split())
    with busy_at_first() as url:
        assert "sent again" not in nacre("--store", url, "list").output


class LosingAnswers:
    """Stands between a client and the server, and cuts the connection instead of passing the first answers on."""

    def __init__(self, url: str, lost: int) -> None:
        place = urlsplit(url)
        self.target, self.lost = (place.hostname or "", place.port or 0), lost
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def _pass(self, near: socket.socket) -> None:
        with near, socket.create_connection(self.target) as far:
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            with suppress(OSError):
                while answer := far.recv(1_000_000):
                    if self.lost:
                        self.lost -= 1
                        near.shutdown(socket.SHUT_RDWR)
                        return
                    near.sendall(answer)

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while request := near.recv(1_000_000):
                far.sendall(request)
            far.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listening.close()


def test_a_write_whose_answer_is_lost_is_carried_out_once(
    served: Served, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.client.PAUSES", (0.01,))
    between = LosingAnswers(served.url, lost=2)
    store = RemoteStore(between.url, token=token, space="lost")
    memory = store.remember("Said once", on_conflict="ignore", source="proxy")
    assert between.lost == 0
    with RemoteStore(served.url, token=token, space="lost") as direct:
        assert [entry.memory_id for entry in direct.journal()] == [memory.id]
    store.close()
    between.close()


def test_an_asynchronous_program_uses_it_too(remote: RemoteStore) -> None:
    import asyncio

    async def life() -> int:
        store = AsyncMemoryStore(remote.in_space("async"))
        await store.remember("The loop turns")
        return await store.count() + len([memory async for memory in store.iterate()])

    assert asyncio.run(life()) == 2


@pytest.mark.slow
def test_the_command_line_works_over_a_server(
    served: Served, token: str, nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_STORE", served.url)
    monkeypatch.setenv("NACRE_TOKEN", token)
    monkeypatch.setenv("NACRE_SPACE", "shell")
    nacre.ok("remember", "The kettle whistles at noon", "-g", "kitchen")
    hits = nacre.json("recall", "When does the kettle whistle?")
    (memory,) = nacre.json("list")
    assert memory["text"] == "The kettle whistles at noon" and "kettle" in str(hits)
    id = memory["id"]
    nacre.ok("edit", id[:8], "--title", "Kettle")
    assert "Kettle" in nacre.ok("show", id[:8])
    assert "edit" in nacre.ok("journal")
    nacre.ok("pin", id)
    nacre.ok("undo")
    assert nacre.json("stats")["total"] == 1
    nacre.ok("forget", id, "-y")
    assert nacre.json("list") == []
    nacre.ok("undo")
    assert "shell" in nacre.ok("spaces")
    nacre.ok("space", "rename", "shell", "conch")
    said = nacre("--space", "conch", "undo").stderr
    assert "Undid rename_space" in said and "--space shell undo" in said
    assert nacre.json("stats")["total"] == 1 and "conch" not in nacre.ok("spaces")
    result = nacre("prune")
    assert result.exit_code != 0 and "server" in result.stderr
    monkeypatch.setenv("NACRE_TOKEN", "env:NOT_SET_ANYWHERE")
    assert "NOT_SET_ANYWHERE" in nacre("list").stderr


@pytest.mark.slow
def test_a_project_looks_into_personal_too(served: Served, token: str) -> None:
    from nacre.settings import SpaceChoice

    known = Settings(store=served.url, token=token)
    store = RemoteProjectStore.open(known, lambda _: SpaceChoice("proj", "", "personal"), actor="x")
    assert store.beside is not None
    mine = store.beside.remember("My bicycle is blue")
    own = store.remember("The project compiles with make")
    hits = store.recall("What colour is my bicycle?", 5, min_relevance=0.0)
    assert {(hit.memory.id, hit.space) for hit in hits} == {(mine.id, "personal@lib"), (own.id, "proj")}
    assert [memory.id for memory in store.iterate()] == [own.id]
    assert {entry.memory_id for entry in store.iterate_journal()} == {mine.id, own.id}
    with pytest.raises(InvalidInput, match="two spaces"):
        store.undo(last=2)
    store.edit(mine.id, title="Bicycle")
    assert store.count() == 2 and {memory.id for memory in store.list_recent()} == {mine.id, own.id}
    assert store.undo()[0].space == "personal@lib"
    assert store.undo()[0].space == "proj"
    assert store.get(own.id) is None
    store.close()


@pytest.mark.slow
def test_a_server_renews_its_store_after_an_update_with_another_model(tmp_path: Path) -> None:
    fill(tmp_path / "s.db")
    (reading,) = tokens(tmp_path / "s.db", ("ada", "reader", ()))
    with (
        serving(tmp_path / "s.db", tmp_path, NACRE_EMBEDDER="auto") as started,
        RemoteStore(started.url, token=reading, space="default") as store,
    ):
        first = store.recall("kettle")
        assert first[0].memory.text == TEXTS[0] and "model has changed with an update" in first.notes[0]
        assert wait_for(lambda: not store.recall("kettle").notes)
        assert store.recall("kettle")[0].memory.text == TEXTS[0]
        assert (store.stats().embedder, store.stats().waiting_for_model) == ("nacre-multilingual-3", 0)
