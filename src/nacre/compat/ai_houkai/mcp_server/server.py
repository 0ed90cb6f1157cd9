"""The fifteen tools as functions over a store that the environment names, and the server that offers them."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from nacre.mcp.profiles.houkai import PROFILE
from nacre.mcp.visit import Visit

from ..memory_system.opening import model_of_environment, settings_for
from ..memory_system.store import MemoryStore

PATH, COLLECTION = "AI_HOUKAI_PATH", "AI_HOUKAI_COLLECTION"
TOOLS = {tool.name: tool.run for tool in PROFILE.tools}

_store: MemoryStore | None = None


def _place() -> tuple[str, str, str]:
    return os.environ.get(PATH) or "./.chroma", os.environ.get(COLLECTION) or "ai_houkai", model_of_environment()


def _get_store() -> MemoryStore:
    """Opened by the first call: to import this makes no directory."""
    global _store
    if _store is None:
        _store = MemoryStore(*_place(), actor="mcp")
    return _store


def _run(name: str, *given: Any, **arguments: Any) -> Any:
    return TOOLS[name](Visit(_get_store().native, unseen), *given, **arguments)


def unseen(done: int, total: int, what: str) -> None:
    """Progress of a call that nobody watches."""


remember, recall, recall_pack, forget, list_recent, stats, link, unlink, neighbors, find_conflicts, supersede = (
    partial(_run, name)
    for name in "remember recall recall_pack forget list_recent stats link unlink neighbors find_conflicts"
    " supersede".split()
)
maintenance_tick, journal_tail = partial(_run, "maintenance_tick"), partial(_run, "journal_tail")
export, import_ = partial(_run, "export"), partial(_run, "import")


def run() -> None:
    """Serves one client over stdin and stdout."""
    from nacre.mcp.desk import Desk
    from nacre.mcp.serving import make_server
    from nacre.mcp.stdio import serve_stdio

    parent = os.getppid()
    desk = Desk(settings_for(*_place()))
    serve_stdio(make_server(PROFILE, desk), desk, parent)


if __name__ == "__main__":
    run()
