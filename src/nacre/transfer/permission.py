"""Who may import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.errors import AccessDenied

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore


def demand_import(store: MemoryStore) -> None:
    """An import, of an archive or of conversations and notes, chooses ids and teaches terms. Raises `AccessDenied`."""
    if store.can_edit_vocabulary:
        return
    if store.agent:
        raise AccessDenied(
            f"The agent {store.agent!r} may not import anything, because an import chooses ids and teaches terms. "
            "Import it without restricting the agent."
        )
    raise AccessDenied(
        "Importing needs the role admin in all spaces, because an import chooses ids and teaches terms. Ask an admin "
        "of the server."
    )
