"""Calls one method of a store for a request, and makes its answer; one with an Idempotency-Key is carried out once."""

from __future__ import annotations

import contextvars
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nacre.access.view import marker, performed
from nacre.errors import MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.model import Memory, RememberResult
from nacre.rest.endpoints import arguments_of
from nacre.rest.wire import is_object
from nacre.server.answers import Answer, Reservation
from nacre.server.api import ServerApi
from nacre.server.provider import Asker
from nacre.server.requests import Route

if TYPE_CHECKING:
    from nacre.server.app import Application


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method, in a thread of its own."""

    app: Application
    who: Asker
    route: Route
    values: Mapping[str, Any]
    versions: tuple[str, tuple[int, ...]] | None  # a memory, and those of which it must have one
    expected: Mapping[str, int] = field(default_factory=dict)
    upload: Path | None = None

    def answer(self, key: str, request: bytes) -> Answer:
        if not key:
            return self._run()
        identity = self.who.identity
        if self.route.endpoint.method == "rename_space":
            # A renaming changes the spaces of its own token. A repetition then has other rights, and finds no space of
            # the old name, so that it is recognised by the token.
            owner = json.dumps([identity.user, identity.token])
        else:
            self.app.stores.view(self.who)  # a space that is not open ends here
            owner = identity.rights
        reserved = self.app.answers.begin(owner, key, request)
        if isinstance(reserved, Answer):
            return reserved
        return contextvars.copy_context().run(self._run_once, reserved)

    def _run_once(self, reservation: Reservation) -> Answer:
        marker.set(reservation.marker)
        try:
            answer = self._run()
        except BaseException:
            self.app.answers.abandon(reservation)
            raise
        self.app.answers.finish(reservation, answer)
        return answer

    def run(self) -> Any:
        """Calls the method, and returns what it does."""
        return self._result(self._store())

    def _store(self) -> MemoryStore:
        store = self.app.stores.view(self.who)
        if self.expected:
            store = store.expecting(self.expected, check=False)
        if self.versions is None:
            return store
        id, wanted = self.versions
        present = store.get(id) if len(wanted) > 1 else None
        expected = present.version if present is not None and present.version in wanted else wanted[-1]
        return store.expecting({**self.expected, id: expected})

    def _result(self, store: MemoryStore) -> Any:
        endpoint, owner = self.route.endpoint, cast("object", store)
        if endpoint.owner is ServerApi:
            owner = ServerApi(self.who.identity, store, self.app.registry, self.app.jobs, self.upload)
        arguments, options = arguments_of(endpoint, self.values)
        return getattr(owner, endpoint.method)(*arguments, **options)

    def _run(self) -> Answer:
        endpoint, store, operations = self.route.endpoint, self._store(), list[str]()
        performed.set(operations)
        result = self._result(store)
        if result is None and endpoint.method == "get":
            raise MemoryNotFound(str(self.values["id"]), self.who.space)
        body = self.app.writing(self.who.space).result(endpoint.method, result, self.values)
        sent = body if is_object(endpoint.returns) else {"result": body}
        written = operations[-1] if operations else ""
        return Answer(endpoint.status, json.dumps(sent, separators=(",", ":")).encode(), etag_of(result), written)


def etag_of(result: object) -> str:
    memory = result.memory if isinstance(result, RememberResult) else result
    return f'"{memory.version}"' if isinstance(memory, Memory) else ""
