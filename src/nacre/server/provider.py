"""Opens the store once for all users, and gives each request the view of who asks."""

from __future__ import annotations

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass

from nacre.errors import SpaceNotOpen
from nacre.files import ThreadLock
from nacre.mcp.store_provider import StoreProvider, loading_embedder
from nacre.memory_store import MemoryStore
from nacre.protocols import Backend
from nacre.server.sessions import PERSON
from nacre.server.users import Identity
from nacre.settings import DEFAULT, Settings, personal_space

ACTOR = "server"
MOST_VIEWS = 500  # that are kept: making one costs a millisecond


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and in which space."""

    identity: Identity
    space: str


asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


def open_for_users(settings: Settings) -> MemoryStore:
    space = settings.space or DEFAULT
    return MemoryStore(settings=settings, space=space, actor=ACTOR, embedder=loading_embedder(settings))


class UserStores(StoreProvider):
    """Safe to use from any number of threads."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, open_for_users)
        self._views: OrderedDict[Asker, MemoryStore] = OrderedDict()
        self._view_lock = ThreadLock()

    def store(self, client: str = "") -> MemoryStore:  # noqa: ARG002 (the user's name is in the journal)
        """That of the request which runs in this context."""
        wanted = asker.get()
        assert wanted is not None, "no request is being answered"
        return self.view(wanted)

    def view(self, wanted: Asker) -> MemoryStore:
        """Raises `SpaceNotOpen` for a space that is not open to the user, whether the store has it or not."""
        if not wanted.identity.reaches(wanted.space):
            raise SpaceNotOpen(wanted.space, wanted.identity.spaces)
        with self._view_lock:
            view = self._views.pop(wanted, None)
        if view is None or view.space != wanted.space:  # a space that was renamed
            identity = wanted.identity
            base = self.opened()
            view = base.in_space(wanted.space).as_user(identity.user, identity.capabilities)
            view.personal_space = personal_space(identity.user)
        with self._view_lock:
            self._views[wanted] = view
            if len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
        return view

    def agent_space(self, identity: Identity, named: str = "") -> str:
        """Where an agent names no space, that of the commands. Raises `SpaceNotOpen`."""
        space = named or self.own_space(identity)
        if not identity.reaches(space):
            raise SpaceNotOpen(space, identity.spaces, "with ?space=NAME at the end of the address")
        return space

    def usual_space(self, identity: Identity) -> str:
        """For what the page shows first, and for requests about no space: that of the commands where the token opens
        it, else the first that it does. The one person of `nacre web` gets the space that the command has chosen."""
        if identity.token == PERSON:
            return self.settings.space or DEFAULT
        own = self.own_space(identity)
        return own if identity.reaches(own) else identity.spaces[0]

    @staticmethod
    def own_space(identity: Identity) -> str:
        """The one of a token for one, else the user's own."""
        return identity.spaces[0] if len(identity.spaces) == 1 else personal_space(identity.user)

    def close(self) -> None:
        """The views, too, are of the store that was closed."""
        super().close()
        with self._view_lock:
            self._views.clear()

    def backend(self) -> Backend:
        return self.opened().backend
