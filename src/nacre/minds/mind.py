"""The base of the classes for agents: opens a store in the agent's space, or uses the store that is passed in."""

from __future__ import annotations

import re
from pathlib import Path

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore, StoreUser

AGENT_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")  # also a folder's name on every system


class Mind(StoreUser):
    """`close` leaves a store open that was passed in. The space of that store must be the agent's name."""

    def __init__(self, agent_name: str, path: Path | str | None = None, *, store: MemoryStore | None = None) -> None:
        self.agent_name = check_agent_name(agent_name)
        super().__init__(self._open_store(path) if store is None else store, lent=store is not None)
        if self.store.space != self.agent_name:
            raise InvalidInput(
                f"The store's space is {self.store.space!r}, and the agent is {self.agent_name!r}; "
                "open the store with the agent's name as its space."
            )

    def _open_store(self, path: Path | str | None) -> MemoryStore:
        return MemoryStore(path, space=self.agent_name, actor=self.agent_name)


def check_agent_name(name: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput("The agent's name (agent_name) cannot be empty; give one such as 'planner'.")
    if not AGENT_NAME.fullmatch(name):
        raise InvalidInput(
            f"The agent's name {name!r} must be alphanumeric, with - and _ after the first character, "
            "and at most 64 characters long; choose another."
        )
    return name
