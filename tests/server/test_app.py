"""Requests to a real server: memories, recall, versions, problems, spaces that are not open, limits."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import nacre
from nacre.errors import InvalidInput, StoreBusy
from nacre.lifecycle.backups import restore
from nacre.lifecycle.jobs import backups_of
from nacre.server import app as app_module
from nacre.server import users as users_module
from nacre.server.app import Application, ServerOptions
from nacre.server.provider import UserStores
from nacre.settings import Settings
from tests.server.running import Caller, Served, registry, serving, tokens
from tests.waiting import PATIENCE, wait_for

ROLES = ("reader", "writer", "reviewer", "admin")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def by_role(place: Path) -> dict[str, str]:
    made = tokens(place / "s.db", *((f"{role}-user", role, ("team", "a/b c")) for role in ROLES), ("root", "admin", ()))
    return dict(zip((*ROLES, "root"), made, strict=True))


@pytest.fixture(scope="module")
def served(place: Path, by_role: dict[str, str]) -> Iterator[Served]:
    assert by_role  # are made before it starts
    with serving(place / "s.db", place) as running:
        yield running


@pytest.fixture(scope="module")
def writer(served: Served, by_role: dict[str, str]) -> Caller:
    return served.caller(by_role["writer"])


@pytest.fixture(scope="module")
def reader(served: Served, by_role: dict[str, str]) -> Caller:
    return served.caller(by_role["reader"])


@pytest.fixture(scope="module")
def root(served: Served, by_role: dict[str, str]) -> Caller:
    return served.caller(by_role["root"])


def test_what_is_remembered_is_recalled_with_reasons_and_listed_by_cursors(writer: Caller, reader: Caller) -> None:
    ids = [writer.remember(f"Barge {number} carries gravel to lock {number}")["id"] for number in range(5)]
    hits = reader("POST", "/v1/spaces/team/recall", {"query": "Which barge goes to lock 3?", "k": 2}).json["hits"]
    assert hits[0]["memory"]["id"] == ids[3] and hits[0]["why"] and "relevance" in hits[0] and "was" in hits[0]
    listed, cursor = [], ""
    while True:
        page = reader("GET", "/v1/spaces/team/memories", query={"limit": 2, "cursor": cursor, "order": "oldest"}).json
        listed += [each["id"] for each in page["memories"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert [id for id in listed if id in ids] == ids
    packed = reader("POST", "/v1/spaces/team/pack", {"query": "gravel", "token_budget": 60}).json
    assert "gravel" in packed["text"] and packed["used_tokens"] <= 60


def test_a_memory_is_changed_only_while_it_has_the_version_that_was_read(writer: Caller) -> None:
    made = writer("POST", "/v1/spaces/team/memories", {"text": "The sluice opens at six"})
    path, etag = f"/v1/spaces/team/memories/{made.json['memory']['id']}", made.headers["etag"]
    assert writer("GET", path).headers["etag"] == etag == '"1"'
    changed = writer("PATCH", path, {"text": "The sluice opens at seven"}, If_Match=etag)
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    stale = writer("PATCH", path, {"text": "The sluice opens at eight"}, If_Match=etag)
    assert stale.status == 412 and stale.json["facts"] == {"expected": 1, "actual": 2}
    assert "Read it again" in stale.json["remedy"]
    assert writer("DELETE", path, If_Match=etag).status == 412
    assert writer("GET", path).json["text"] == "The sluice opens at seven"
    assert writer("DELETE", path, If_Match='"2"').result is True
    assert writer("POST", f"{path}/pin", {}, If_Match="two").status == 400
    assert writer("POST", f"{path}/pin", {}, If_Match='W/"2"').status == 412  # as a proxy that compresses sends it


def test_one_of_several_versions_suffices(writer: Caller) -> None:
    path = f"/v1/spaces/team/memories/{writer.remember('The lock keeper sleeps at ten')['id']}"
    assert writer("PATCH", path, {"title": "Sleep"}, If_Match='"7", "1" ,W/"9"').status == 200
    assert writer("PATCH", path, {"title": "Rest"}, If_Match='"1","3"').json["facts"] == {"expected": 3, "actual": 2}
    assert writer("PATCH", path, {"title": "Rest"}, If_Match='"2", three').status == 400
    assert writer("PATCH", path, {"title": "Rest"}, If_Match='"2", "99999999999999999999"').status == 400
    assert writer("GET", path).json["title"] == "Sleep"
    assert writer("PATCH", path, {"title": "Rest"}, If_Match="*").status == 200


def test_an_answer_goes_only_to_tokens_that_may_do_the_same(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        users.add_user("twice")
        rights: list[tuple[str, list[str]]] = [("writer", ["team", "elsewhere"]), ("writer", ["elsewhere", "team"])]
        rights += [("writer", ["elsewhere"]), ("writer", []), ("admin", ["team", "elsewhere"])]
        first, same, narrow, wide, admin = (
            served.caller(users.create_token("twice", role, spaces or None)[1]) for role, spaces in rights
        )
    path, key = "/v1/spaces/team/memories", str(uuid.uuid4())
    said = {"text": "The tide table hangs by the door", "on_conflict": "ignore"}
    made = first("POST", path, said, Idempotency_Key=key)
    again = same("POST", path, said, Idempotency_Key=key)
    assert (made.status, again.status) == (201, 201) and again.body == made.body
    refused = narrow("POST", path, said, Idempotency_Key=key)
    assert refused.status == 404 and b"tide table" not in refused.body
    for other in (wide, admin):  # carried out with their own rights
        assert other("POST", path, said, Idempotency_Key=key).body != made.body


def test_a_change_that_is_sent_again_gets_its_answer_though_the_version_is_another_by_now(writer: Caller) -> None:
    path = f"/v1/spaces/team/memories/{writer.remember('The winch is oiled in May')['id']}"
    key = str(uuid.uuid4())
    replies = [writer("PATCH", path, {"title": "Oil"}, Idempotency_Key=key, If_Match='"1"') for _ in range(2)]
    assert [each.status for each in replies] == [200, 200] and replies[0].body == replies[1].body


@pytest.mark.slow
def test_a_renaming_that_is_sent_again_gets_its_answer_though_the_space_has_another_name(
    served: Served, root: Caller
) -> None:
    root.remember("The sluice is old", "sluice")
    with registry(served.store) as users:
        users.add_user("renamer")
        own, other = (
            served.caller(users.create_token("renamer", "admin", spaces)[1]) for spaces in (["sluice", "lock"], ["x"])
        )
    key, path = str(uuid.uuid4()), "/v1/spaces/sluice/rename"
    replies = [own("POST", path, {"new": "lock"}, Idempotency_Key=key) for _ in range(2)]
    assert [each.status for each in replies] == [200, 200] and replies[0].body == replies[1].body
    assert other("POST", path, {"new": "lock"}, Idempotency_Key=key).status == 404
    assert own("POST", path, {"new": "lock"}, Idempotency_Key=str(uuid.uuid4())).status == 404
    assert own("GET", "/v1/spaces/lock/count").result == 1


def test_each_token_has_a_share_of_its_own(place: Path) -> None:
    with registry(place / "s.db") as users:
        users.add_user("busy")
        one, other = (users.create_token("busy", "writer", ["team"])[1] for _ in range(2))
    with serving(place / "s.db", place, "--limit-requests", "3", "--limit-bytes", "100") as limited:
        spent = [limited.caller(one)("GET", "/v1/me") for _ in range(4)]
        assert [each.status for each in spent] == [200, 200, 200, 429]
        assert 1 <= int(spent[-1].headers["retry-after"]) <= 21 and "share of this minute" in spent[-1].json["detail"]
        assert limited.caller(other)("GET", "/v1/me").status == 200
        long = limited.caller(other)("POST", "/v1/spaces/team/memories", {"text": "long " * 30})
        assert long.status == 201  # once in a minute
        assert limited.caller(other)("POST", "/v1/spaces/team/memories", {"text": "short"}).status == 429


def test_a_request_with_the_same_key_is_carried_out_once(writer: Caller, reader: Caller) -> None:
    key, body = str(uuid.uuid4()), {"text": "Ropes are counted twice", "on_conflict": "ignore", "id": str(uuid.uuid4())}
    first = writer("POST", "/v1/spaces/team/memories", body, Idempotency_Key=key)
    again = writer("POST", "/v1/spaces/team/memories", body, Idempotency_Key=key)
    assert (first.status, again.status) == (201, 201)
    named = [{name: value for name, value in each.headers.items() if name != "date"} for each in (first, again)]
    assert again.body == first.body and named[0] == named[1] and {"etag", "nacre-operation"} <= named[1].keys()
    other = writer("POST", "/v1/spaces/team/memories", {"text": "Something else"}, Idempotency_Key=key)
    assert other.status == 409 and "another request" in other.json["detail"]
    refused = writer("POST", "/v1/spaces/team/memories", {"text": ""}, Idempotency_Key=(failed := str(uuid.uuid4())))
    assert refused.status == 400  # nothing was written, so that the key is free
    assert writer("POST", "/v1/spaces/team/memories", {"text": "Full now"}, Idempotency_Key=failed).status == 201
    assert writer("POST", "/v1/spaces/team/memories", {"text": "x"}, Idempotency_Key="short").status == 400
    journal = reader("GET", "/v1/spaces/team/journal", query={"id": first.json["memory"]["id"]}).result
    assert len(journal) == 1


def test_what_is_not_understood_is_refused_with_a_suggestion(writer: Caller, reader: Caller, root: Caller) -> None:
    cases = [
        (writer("POST", "/v1/spaces/team/memories", {"text": "x", "importnce": 1}), "'importance'"),
        (reader("GET", "/v1/spaces/team/memories", query={"odrer": "newest"}), "'order'"),
        (reader("GET", "/v1/spaces/team/memories", query={"order": "newset"}), "newest"),
        (reader("GET", "/v1/spaces/team/memories", query={"limit": "many"}), "limit"),
        (writer("POST", "/v1/spaces/team/memories", {}), "text"),
        (writer("POST", "/v1/spaces/team/memories", b"{"), "JSON"),
        (writer("POST", "/v1/spaces/team/memories", b"[1]"), "object"),
        (writer("POST", "/v1/spaces/team/recall", {"query": "x", "where": [{"field": "typo", "op": "eq", "value": 1}]}),
         "typ"),
        (reader("GET", "/v1/spaces/team/memories", query={"limit": 5000}), "1,000"),
        (reader("GET", "/v1/spaces/team/journal", query={"limit": "null"}), "1,000"),
        (root("POST", "/v1/tokens", {"user": "root", "role": "reader", "expires": "99999999w"}), "100 years"),
        (root("POST", "/v1/tokens", {"user": "root", "role": "reader", "spaces": []}), "leave it out"),
        (root("POST", "/v1/tokens", {"user": "root", "role": "reader", "spaces": ["Personal@root"]}), "small letters"),
        (root("POST", "/v1/spaces/PERSONAL%40root/memories", {"text": "x"}), "small letters"),
        (root("GET", "/v1/spaces/team/vocabulary/tags"), "mean 'tag'"),
    ]  # fmt: skip
    for reply, hint in cases:
        assert reply.status == 400 and reply.headers["content-type"] == "application/problem+json"
        assert hint in reply.json["message"] and reply.json["title"] and reply.json["detail"], reply.body
    assert reader("GET", "/v1/nothing").status == 404
    wrong = reader("PUT", "/v1/spaces/team/memories")
    assert wrong.status == 405 and wrong.headers["allow"] == "GET, POST"
    assert writer("POST", "/v1/spaces/team/memories", b" " * 10_000_001).status == 413


def test_names_with_slashes_and_blanks_reach_their_space(writer: Caller) -> None:
    made = writer.remember("A name may hold anything", "a/b c")
    assert made["space"] == "a/b c"
    path = f"/v1/spaces/{quote('a/b c', safe='')}/memories/{made['id']}"
    assert writer("GET", path).json["text"] == made["text"]


def test_without_a_token_nothing_is_told_but_that_the_server_is_there(served: Served) -> None:
    nobody = served.caller()
    assert nobody("GET", "/health").json == {"status": "ok", "version": nacre.__version__}
    assert nobody("GET", "/v1/openapi.json").status == 200
    for path in ("/v1/spaces", "/v1/me", "/metrics", "/mcp", "/v1/spaces/team/memories", "/v1/nothing"):
        for token in ("", "wrong", "nacre_000000000000_" + "x" * 43):
            reply = served.caller(token)("GET", path)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer"), path


def test_a_page_of_another_site_is_turned_away(writer: Caller) -> None:
    assert writer("GET", "/v1/me", Host="evil.example").status == 421
    assert writer("GET", "/v1/me", Origin="http://evil.example").status == 403
    assert writer("GET", "/v1/me", Origin="http://localhost:1").status == 200


def test_a_space_that_is_not_open_answers_like_one_that_is_not_there(root: Caller, by_role: dict[str, str],
                                                                      served: Served) -> None:  # fmt: skip
    id = root.remember("A secret of others", "foreign")["id"]
    root.remember("The harbour opens at six")  # else there is nothing to copy
    admin = served.caller(by_role["admin"])
    for path in ("memories", "stats", "journal", f"memories/{id}", "changes", "operations"):
        answers = [admin("GET", f"/v1/spaces/{space}/{path}") for space in ("foreign", "missing")]
        assert [each.status for each in answers] == [404, 404]
        assert answers[0].body.replace(b"foreign", b"missing") == answers[1].body
    assert admin("POST", "/v1/spaces/foreign/memories", {"text": "x"}).status == 404
    assert admin("POST", "/v1/spaces", {"name": "foreign"}).status == 403
    assert admin("POST", "/v1/spaces/team/copy", {"target": "foreign"}).status == 403
    assert admin("POST", "/v1/spaces/team/rename", {"new": "mine"}).status == 403
    assert {each["name"] for each in admin("GET", "/v1/spaces").result} <= {"team", "a/b c"}
    assert "foreign" not in admin("GET", "/v1/counts").json


def test_undo_of_what_others_did_needs_a_reviewer(served: Served, by_role: dict[str, str], root: Caller) -> None:
    writer, reviewer = (served.caller(by_role[role]) for role in ("writer", "reviewer"))
    id = root.remember("The bell rings at noon")["id"]
    batch = writer("GET", "/v1/spaces/team/journal", query={"id": id}).result[0]["operation"]["batch"]
    about = writer("GET", f"/v1/spaces/team/operations/{batch}").json
    assert about["undoable"] and about["operation"]["actor"] == "root" and about["count"] == 1
    refused = writer("POST", f"/v1/spaces/team/operations/{batch}/undo", {})
    assert refused.status == 403 and "reviewer" in refused.json["message"]
    pinned = writer("POST", f"/v1/spaces/team/memories/{id}/pin", {}).result[0]
    assert pinned["pinned"]
    blocked = writer("GET", f"/v1/spaces/team/operations/{batch}").json
    assert not blocked["undoable"] and [each["name"] for each in blocked["blocked_by"]] == ["pin"]
    conflict = reviewer("POST", f"/v1/spaces/team/operations/{batch}/undo", {})
    assert conflict.status == 409 and conflict.json["facts"]["later"][0]["actor"] == "writer-user"
    assert writer("POST", "/v1/spaces/team/undo", {}).result[0]["operation"]["name"] == "undo"  # its own: the pin
    # With `cascade` nothing of others is taken back by a writer either.
    mine = writer.remember("The bell is made of bronze")["id"]
    root("POST", f"/v1/spaces/team/memories/{mine}/pin", {})
    own = writer("GET", "/v1/spaces/team/journal", query={"id": mine, "operation": "remember"}).result[0]
    path = f"/v1/spaces/team/operations/{own['operation']['batch']}/undo"
    assert writer("POST", path, {"cascade": True}).status == 403
    assert reviewer("POST", path, {"cascade": True}).status == 200
    assert reviewer("POST", f"/v1/spaces/team/operations/{batch}/undo", {}).status == 200
    assert writer("GET", f"/v1/spaces/team/memories/{id}").status == 404


def test_a_review_item_has_the_newer_memory_first_whichever_was_written_first(
    served: Served, by_role: dict[str, str], writer: Caller
) -> None:
    reviewer = served.caller(by_role["reviewer"])
    newer = writer.remember("The lighthouse blinks 4 times")["id"]
    fields = {"text": "The lighthouse blinks 7 times", "created_at": "2019-05-01"}
    older = writer("POST", "/v1/spaces/team/memories", fields).json["memory"]["id"]
    items = reviewer("GET", "/v1/spaces/team/review", query={"kinds": "conflict"}).result
    (item,) = (each for each in items if newer in each["id"])
    assert (item["id"], item["conflict"]["words"]) == (f"{newer}:{older}", ["4", "7"])
    assert reviewer("POST", f"/v1/spaces/team/review/{item['id']}/decide", {"decision": "newer"}).status == 200
    assert reviewer("GET", f"/v1/spaces/team/memories/{older}").json["superseded_by"] == newer


def test_the_log_has_a_line_for_each_request_and_nothing_that_was_said(served: Served, writer: Caller) -> None:
    writer.remember("Confidential walnut inventory")
    writer("POST", "/v1/spaces/team/recall", {"query": "walnut question"})
    writer("GET", "/v1/spaces/team/memories", query={"tag": "walnut"})
    text = served.log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert {"POST /v1/spaces/{space}/recall", "GET /v1/spaces/{space}/memories"} <= {each["route"] for each in lines}
    assert {"method", "status", "ms", "user", "token", "space"} <= lines[-1].keys()
    assert "walnut" not in text and writer.token not in text


def test_metrics_are_for_admins(served: Served, by_role: dict[str, str], root: Caller) -> None:
    assert served.caller(by_role["reviewer"])("GET", "/metrics").status == 403
    assert root("GET", "/health").status == 200
    text = root("GET", "/metrics").body.decode()
    assert 'nacre_requests_total{method="GET",route="/health",status="200"}' in text
    assert "nacre_request_seconds_bucket" in text and "nacre_requests_running " in text  # others may still be ending


def test_a_revoked_token_ends_at_once(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        users.add_user("guest")
        token, secret = users.create_token("guest", "reader")
        guest = served.caller(secret)
        assert guest("GET", "/v1/me").json == {"user": "guest", "role": "reader", "spaces": []}
        users.revoke(token.id)
        assert guest("GET", "/v1/me").status == 401


def test_a_token_that_is_revoked_while_it_waits_for_changes_gets_none(
    served: Served, place: Path, root: Caller
) -> None:
    with registry(place / "s.db") as users, ThreadPoolExecutor(1) as waiting:
        users.add_user("poller")
        token, secret = users.create_token("poller", "reader")
        root.remember("The space is there")
        last = root("GET", "/v1/spaces/team").json["seq"]
        poll = partial(served.caller(secret), "GET", "/v1/spaces/team/changes", query={"since": last, "wait": 50})
        reply = waiting.submit(poll)
        running = re.compile(rb"^nacre_requests_running (\S+)", re.MULTILINE)
        wait_for(lambda: float(running.findall(root("GET", "/metrics").body)[0]) > 1)
        users.revoke(token.id)
        assert reply.result(PATIENCE).status == 401


@pytest.mark.slow
def test_an_admin_of_one_space_makes_no_token_for_somebody_of_another(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        for name in ("local", "outsider", "newcomer"):
            users.add_user(name)
        _, secret = users.create_token("local", "admin", ["team"])
        users.create_token("outsider", "writer", ["elsewhere"])
    local = served.caller(secret)
    asked = {"role": "writer", "spaces": ["team"]}
    assert local("POST", "/v1/tokens", {"user": "outsider", **asked}).status == 403
    assert local("POST", "/v1/tokens", {"user": "newcomer", **asked}).status == 201


# Restoring a backup while the server runs


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    stores = UserStores(Settings(store=str(tmp_path / "s.db"), embedder="hashing", space="team"))
    made = Application(stores, ServerOptions())
    yield made
    made.jobs.close()
    stores.close()


def backup(application: Application, text: str) -> str:
    store = application.stores.opened()
    store.remember(text)
    return str(backups_of(store.settings).make(store, store.now()))


def test_two_restores_follow_each_other(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = [backup(application, "The quay is closed"), backup(application, "The crane is idle")]
    both, together = threading.Barrier(2), []

    def watched(*args: Any, **options: Any) -> Path | None:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # only another restore lets it pass
            together.append(args)
        return restore(*args, **options)

    monkeypatch.setattr(users_module, "restore", watched)

    async def at_once() -> None:
        await asyncio.gather(*map(application.restore, copies))

    asyncio.run(at_once())
    assert not together
    assert application.stores.opened().count() == 2


def test_a_restore_where_nobody_was_admitted_brings_the_users_of_the_copy(application: Application) -> None:
    """As at the command line."""
    application.registry.add_user("ada")
    copy = backup(application, "The quay is closed")
    application.registry.remove_user("ada")
    asyncio.run(application.restore(copy))
    assert [user.name for user in application.registry.users()] == ["ada"]
    application.registry.add_user("ben")
    asyncio.run(application.restore(copy))
    assert [user.name for user in application.registry.users()] == ["ada", "ben"]


def test_a_job_that_begins_before_a_restore_keeps_its_store(application: Application) -> None:
    copy, hold = backup(application, "The quay is closed"), threading.Event()
    store = application.stores.opened()
    store.remember("The crane is idle")

    async def begin() -> None:
        async with application.using():
            restoring = asyncio.create_task(application.restore(copy))
            await asyncio.sleep(0)  # it waits for this request
            application.jobs.start("scan", "team", "ada", lambda _: hold.wait(PATIENCE))
        with pytest.raises(InvalidInput, match="no job may run, and there is scan"):
            await restoring

    asyncio.run(begin())
    hold.set()
    assert application.stores.opened() is store and store.count() == 2


def test_a_request_that_does_not_end_holds_up_nobody_but_the_restore(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backup(application, "The quay is closed")
    monkeypatch.setattr(app_module, "RESTORE_SECONDS", 0.05)

    async def attempt() -> int:
        async with application.using():
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(StoreBusy, match="Another request has held"):
                    await application.restore(copy)
            return await application.in_thread(application.stores.opened().count)

    assert asyncio.run(attempt()) == 1


def finished(call: Caller, job: Any) -> Any:
    return wait_for(lambda: call("GET", f"/v1/jobs/{job['id']}").json["result"])


def waiting(call: Caller) -> int:
    """How many requests the server is answering besides this one."""
    lines = call("GET", "/metrics").body.decode().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("nacre_requests_running ")) - 1


@pytest.mark.slow
def test_a_request_that_waits_for_changes_sees_those_of_a_restored_store(tmp_path: Path) -> None:
    (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    with serving(tmp_path / "s.db", tmp_path) as served, ThreadPoolExecutor(1) as pool:
        call = served.caller(token)
        call.remember("The tug is at berth two")
        copy = finished(call, call("POST", "/v1/jobs/backup", {}).json)["name"]
        wait_for(lambda: not waiting(call))
        polled = pool.submit(call, "GET", "/v1/spaces/team/changes", query={"since": 1, "wait": 50})
        wait_for(lambda: waiting(call))
        assert call("POST", f"/v1/backups/{copy}/restore", {}).status == 200
        call.remember("The tug is at berth three")
        (change,) = polled.result(PATIENCE).result
        assert change["after"]["text"] == "The tug is at berth three"


def test_what_a_path_names_and_is_not_there_is_not_found(root: Caller, writer: Caller) -> None:
    writer.remember("The weir was painted")
    job = writer("POST", "/v1/spaces/team/jobs/scan", {}).json["id"]
    wait_for(lambda: writer("GET", f"/v1/jobs/{job}").json["state"] == "done", "the scan")
    for verb, path, sentence in (
        ("GET", "/v1/jobs/nosuch", "There is no job 'nosuch'; /v1/jobs lists them."),
        ("GET", "/v1/spaces/team/operations/zz", "as 'zz'; `nacre journal` lists them."),
        ("GET", f"/v1/spaces/team/operations/{uuid.uuid4()}", "`nacre journal` lists them."),
        ("GET", "/v1/spaces/team/operations/resolve/zz", "`nacre journal` lists them."),
        ("POST", "/v1/spaces/team/operations/zz/undo", "`nacre journal` lists them."),
        ("DELETE", "/v1/tokens/nosuch", "There is no token 'nosuch'; `nacre token list` lists them."),
        ("DELETE", "/v1/users/nosuch", "There is no user 'nosuch'; `nacre user list` lists them."),
    ):
        refused = root(verb, path, {} if verb == "POST" else None)
        assert refused.status == 404 and refused.json["message"].endswith(sentence), (path, refused.body)


def test_an_admin_of_one_space_learns_no_names_of_users_whom_it_cannot_see(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        for name in ("fay", "gil", "new"):
            users.add_user(name)
        ops = served.caller(users.create_token("fay", "admin", ["ops"])[1])
        users.create_token("gil", "admin", ["harbour"])
    sentences = []
    for name in ("newguy", "gil"):  # one that is not there, and one that is hidden
        refused = ops("POST", "/v1/tokens", {"user": name, "role": "writer", "spaces": ["ops"]})
        assert refused.status == 403
        sentences.append(refused.json["message"].replace(name, "X"))
    assert (
        sentences
        == ["You see no user 'X' (you see fay); ask an admin of all spaces to add the user, or to make this token."] * 2
    )
    assert ops("POST", "/v1/tokens", {"user": "new", "role": "writer", "spaces": ["ops"]}).status == 201


def test_what_a_token_may_not_know_of_the_store_is_null_and_not_nothing(writer: Caller, root: Caller) -> None:
    writer.remember("The dredger works at night")
    hidden, seen = (caller("GET", "/v1/health").json for caller in (writer, root))
    assert (hidden["chunks"], hidden["vectors"]) == (None, None) and hidden["memories"] > 0
    assert seen["chunks"] > 0 and seen["vectors"] > 0


def test_health_counts_the_memories_of_all_spaces_that_a_token_opens(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        users.add_user("ira")
        caller = served.caller(users.create_token("ira", "writer", ["quay 1", "quay 2"])[1])
    caller.remember("The crane is repaired", "quay 1")
    caller.remember("The rails are new", "quay 2")
    assert caller("GET", "/v1/health").json["memories"] == 2


def test_what_is_refused_outside_of_its_spaces_is_said_without_terms_of_the_code(served: Served, place: Path) -> None:
    with registry(place / "s.db") as users:
        users.add_user("hal")
        ops = served.caller(users.create_token("hal", "admin", ["dock"])[1])
    ops.remember("The dock is dry", "dock")
    copied = ops("POST", "/v1/spaces/dock/copy", {"target": "elsewhere"})
    assert copied.status == 403 and copied.json["message"] == (
        "This token does not open the space 'elsewhere'; nothing was written. Choose another space, or "
        "ask an admin for a token."
    )
    made = ops("POST", "/v1/spaces", {"name": "elsewhere"})
    assert made.status == 403 and made.json["message"].startswith(
        "The user 'hal' may not create or describe the space 'elsewhere': that concerns the store as a whole"
    )
    typed = ops("POST", "/v1/spaces/dock/types", {"name": "buoy"})
    assert typed.status == 403 and "may not change the memory type 'buoy'" in typed.json["message"], typed.body
