"""Who may import, and what the others are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, Role, ScopeLevel, user_capabilities
from nacre.client import RemoteStore
from nacre.errors import AccessDenied
from nacre.hooks.capture import capture
from nacre.settings import Settings
from nacre.transfer.import_archive import import_archive
from nacre.transfer.ingest.formats import FORMATS
from nacre.transfer.ingest.ingest import Ingest
from nacre.transfer.permission import demand_import

NEEDS_ADMIN = "Importing needs the role admin in all spaces, .* Ask an admin of the server"
WAYS: dict[str, Callable[[MemoryStore, Path], object]] = {
    "archive": import_archive,
    "notes": lambda store, path: Ingest(store, FORMATS["markdown"], path).run(),
    "hook": capture,
}


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("# Pier\n\nThe pier is closed.\n")
    return path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("role", "spaces"), [(Role.WRITER, ()), (Role.ADMIN, ("default",))])
def test_a_user_is_told_which_role_it_needs(way: str, role: Role, spaces: tuple[str, ...], note: Path) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        user = store.as_user("ann", user_capabilities(role, spaces))
        with pytest.raises(AccessDenied, match=NEEDS_ADMIN):
            WAYS[way](user, note)
        assert store.count() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_restricted_agent_is_told_to_let_others_import(way: str, note: Path) -> None:
    can = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with MemoryStore(":memory:", embedder="hashing", agent="ann", capabilities=can) as store:
        with pytest.raises(AccessDenied, match="The agent 'ann' may not import anything, because an import"):
            WAYS[way](store, note)
        assert store.count() == 0


def test_an_admin_of_all_spaces_and_who_opens_the_store_itself_may_import() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        demand_import(store)
        demand_import(store.as_user("ann", user_capabilities(Role.ADMIN)))


def test_nothing_is_imported_past_a_server() -> None:
    with (
        RemoteStore("http://127.0.0.1:9", token="none", settings=Settings()) as store,
        pytest.raises(AccessDenied, match=NEEDS_ADMIN),
    ):
        demand_import(store)
