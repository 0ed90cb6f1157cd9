"""What each role may do, at every endpoint, decided beneath the endpoints; and that tenants do not see each other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.errors import AccessDenied, NacreError
from nacre.rest.endpoints import Endpoint, arguments_of
from nacre.rest.wire import Reading, to_json
from nacre.server.api import ServerApi, all_endpoints
from nacre.server.jobs import Job, Jobs, Work
from nacre.server.users import Identity, Registry
from nacre.settings import Settings
from tests.server.samples import WHOLE_STORE, filled, values_of

SPACE = "team"
READING = Reading(strict=True)
# tests/server/test_files.py; and the job of a scan is refused only when it notes what it found.
NOT_CALLED = ("start_import", "export", "start_scan")


class UnstartedJobs(Jobs):
    """Says who may start a job, and starts none: tests/server/test_jobs.py tests what they do."""

    def start(self, kind: str, space: str, user: str, work: Work) -> Job:  # noqa: ARG002
        return Job("0" * 16, kind, space, user, "running", 0.0, 0.0)


@contextmanager
def tenant(role: Role, spaces: tuple[str, ...] = (SPACE, f"{SPACE} two"), *, others: bool = False) -> Iterator[Any]:
    """A store in memory with the samples, and the calls of a user with this role."""
    now = 1_800_000_000.0
    quick = replace(Settings(), conflict_judge="rules", rerank_ms=0.0)  # without loading a model
    with MemoryStore(":memory:", space=SPACE, embedder="hashing", clock=lambda: now, settings=quick) as store:
        registry = Registry(store.acting_as("server").store, lambda: now)
        registry.add_user("ada")
        if others:
            other = store.in_space("space of others").as_actor("eve")
            filled(other)
            other.remember("Harbour ferries of others leave at midnight", tags=["foreign"], entities=["Stranger"])
            other.link("m2", "m3", "smuggles")
            other.create_space("space of others", "Nobody else's")
            registry.add_user("eve")
            registry.create_token("eve", "admin", ["space of others"])
        filled(store.as_actor("ada"))
        identity = Identity("ada", role, spaces, "0")
        view = store.as_user("ada", identity.capabilities)
        jobs = UnstartedJobs(store.acting_as("server").store, lambda: now)
        yield lambda endpoint: call(endpoint, view, ServerApi(identity, view, registry, jobs))
        jobs.close()


def call(endpoint: Endpoint, view: MemoryStore, api: ServerApi) -> Any:
    batch = view.journal("m3", limit=1)[0].operation.batch
    given = values_of(endpoint, SPACE, batch)
    hints = {each.name: each.hint for each in endpoint.parameters}
    values = {name: READING.read(name, hints[name], value) for name, value in given.items()}
    arguments, options = arguments_of(endpoint, values)
    options.pop("wait", None)
    return getattr(api if endpoint.owner is ServerApi else view, endpoint.method)(*arguments, **options)


def refused(calling: Any, endpoint: Endpoint) -> bool:
    try:
        calling(endpoint)
    except AccessDenied:
        return True
    except NacreError:
        return False
    return False


CALLED = [each for each in all_endpoints() if each.method not in NOT_CALLED]
READS = [each for each in CALLED if each.reads]
WRITES = [each for each in CALLED if not each.reads]


@pytest.fixture(scope="module")
def as_reader() -> Iterator[Any]:
    with tenant(Role.READER) as calling:
        yield calling


@pytest.fixture(scope="module")
def refusing() -> Iterator[Callable[[Role, tuple[str, ...]], Any]]:
    """The calls of a user who may not do what is called: that changes nothing, so they share a store."""
    with ExitStack() as stack:
        yield cache(lambda role, spaces: stack.enter_context(tenant(role, spaces)))


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.verb} {endpoint.name}"


@pytest.mark.parametrize("endpoint", READS, ids=named)
def test_a_reader_may_read_everything(endpoint: Endpoint, as_reader: Any) -> None:
    assert not refused(as_reader, endpoint)


@pytest.mark.parametrize("endpoint", [each for each in WRITES if each.method != "draft"], ids=named)
def test_each_role_may_do_what_the_table_says_and_no_more(
    endpoint: Endpoint, refusing: Callable[[Role, tuple[str, ...]], Any]
) -> None:
    """Without the check of the table itself: the view and the API decide. A draft writes nothing."""
    spaces = () if endpoint.method in WHOLE_STORE else (SPACE, f"{SPACE} two")
    roles = list(Role)
    assert refused(refusing(roles[roles.index(endpoint.role) - 1], spaces), endpoint)
    with tenant(endpoint.role, spaces) as calling:
        assert not refused(calling, endpoint)


@pytest.mark.parametrize("method", WHOLE_STORE)
def test_what_concerns_the_whole_store_needs_an_admin_of_all_spaces(method: str) -> None:
    endpoint = next(each for each in all_endpoints() if each.method == method)
    with tenant(Role.ADMIN) as calling:
        assert refused(calling, endpoint)


@pytest.mark.parametrize("spaces", [(SPACE,), ()], ids=["of one space", "of all spaces"])
def test_work_on_the_whole_store_is_refused_beneath_the_server_too(spaces: tuple[str, ...]) -> None:
    """By the store itself, so that no other interface has to remember it."""
    role = Role.ADMIN if spaces else Role.WRITER
    with MemoryStore(":memory:", space=SPACE, embedder="hashing") as store:
        view = store.as_user("ada", Identity("ada", role, spaces, "0").capabilities)
        for work, said in ((view.reindex, "reindex the store"), (view.catch_up, "embed what waits")):
            with pytest.raises(AccessDenied, match=said):
                work()


def outcome(calling: Any, endpoint: Endpoint) -> Any:
    try:
        return to_json(calling(endpoint))
    except NacreError as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module")
def two_worlds() -> Iterator[tuple[Any, Any]]:
    """What reads changes nothing that it answers: all of them can use the same two."""
    with tenant(Role.ADMIN) as alone, tenant(Role.ADMIN, others=True) as beside:
        yield alone, beside


@pytest.mark.parametrize("endpoint", READS, ids=named)
def test_a_tenant_cannot_read_whether_others_are_there(endpoint: Endpoint, two_worlds: tuple[Any, Any]) -> None:
    compare(endpoint, *two_worlds)


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", WRITES, ids=named)
def test_a_tenant_cannot_tell_by_writing_whether_others_are_there(endpoint: Endpoint) -> None:
    with tenant(Role.ADMIN) as alone, tenant(Role.ADMIN, others=True) as beside:
        compare(endpoint, alone, beside)


def compare(endpoint: Endpoint, *worlds: Any) -> None:
    alone, beside = (repr(outcome(each, endpoint)) for each in worlds)
    assert made_ids(alone, beside)
    assert not any(word in beside for word in ("others", "Stranger", "'eve'"))


def made_ids(one: str, other: str) -> bool:
    """Equal but for ids that are made at random."""
    ids = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|nacre_\S+|\b[0-9a-f]{12,32}\b|0x[0-9a-f]+")
    return ids.sub("ID", one) == ids.sub("ID", other)


@pytest.mark.slow
def test_the_comparison_would_notice_what_is_not_hidden() -> None:
    differing = set()
    for method in ("space_notes", "spaces", "tokens", "users", "health", "relations"):
        endpoint = next(each for each in all_endpoints() if each.method == method)
        answers = []
        for others in (False, True):
            with tenant(Role.ADMIN, (), others=others) as calling:
                answers.append(repr(outcome(calling, endpoint)))
        if not made_ids(*answers):
            differing.add(method)
    assert differing == {"space_notes", "spaces", "tokens", "users", "health", "relations"}


def test_what_a_server_keeps_of_its_users_is_in_no_view_and_no_archive(tmp_path: Path) -> None:
    from nacre.access.view import PRIVATE_KINDS
    from nacre.protocols import TermSet
    from nacre.transfer.export import export_archive

    with MemoryStore(tmp_path / "s.db", space=SPACE, embedder="hashing") as store:
        registry = Registry(store.acting_as("server").store, time.time)
        registry.add_user("ada")
        _, secret = registry.create_token("ada", "admin")
        store.remember("Something to export")
        view = store.as_user("ada", registry.identify(secret).capabilities)
        backend = view.acting_as("x").store
        for kind in PRIVATE_KINDS:
            assert backend.terms(kind) == {} and view.vocabulary(kind) == {}
            assert all(backend.term(kind, name) is None for name in store.acting_as("x").store.terms(kind))
            with pytest.raises(AccessDenied):
                backend.commit([TermSet(kind, "mine", {})])
        export_archive(store, tmp_path / "out.nacre")
    content = (tmp_path / "out.nacre").read_bytes()
    for left in secret.split("_", 2)[1:]:
        assert left.encode() not in content
