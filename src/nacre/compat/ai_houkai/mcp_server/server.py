"""The fifteen tools as functions over a store that the environment names, and the server that offers them."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from nacre.compat.ai_houkai.memory_system.store import (
    Conflict,
    ConflictError,
    ImportConflictError,
    MemoryStore,
    model_of_environment,
    settings_for,
)
from nacre.errors import InvalidInput, NacreError
from nacre.mcp.profiles import houkai as profile
from nacre.mcp.profiles.maintenance import new_archive_path
from nacre.mcp.store_provider import ACTOR, StoreProvider
from nacre.mcp.tool import ToolResult, ToolSession
from nacre.memory_store import MemoryStore as NativeStore
from nacre.model import Conflict as NativeConflict
from nacre.model.memory import Json
from nacre.protocols import Embedder
from nacre.settings import Settings

PATH, COLLECTION = "AI_HOUKAI_PATH", "AI_HOUKAI_COLLECTION"

_store: MemoryStore | None = None


def _place() -> tuple[str, str, str]:
    return os.environ.get(PATH) or "./.chroma", os.environ.get(COLLECTION) or "ai_houkai", model_of_environment()


def _get_store(embedder: Embedder | None = None) -> MemoryStore:
    """Opened by the first call: importing this module creates no directory."""
    global _store
    if _store is None:
        _store = MemoryStore(*_place(), actor=ACTOR, embedding_fn=embedder)
    return _store


def _store_of(session: ToolSession) -> MemoryStore:
    """A copy for each call, so that a call under another actor's name does not affect the others."""
    mine = copy(_get_store())
    mine.native = session.store
    return mine


def _remember(
    session: ToolSession, text: str, type: str = "semantic", tags: list[str] | None = None, importance: float = 0.5,
    source: str | None = None, on_conflict: Literal["ignore", "warn", "supersede", "raise"] = "ignore",
    polarity: int = 0,
) -> dict[str, Json]:  # fmt: skip
    handling: dict[str, Any] = {"on_conflict": on_conflict, "polarity": polarity}
    try:
        kept = _store_of(session).remember_result(text, type, tags or [], importance, source, **handling)
    except ConflictError as error:
        return {"stored": False, "conflicts": _conflict_records(session, error.conflicts)}
    answer: dict[str, Json] = {"id": kept.memory.id, "stored": True}
    return {**answer, "conflicts": _conflict_records(session, kept.conflicts)} if kept.conflicts else answer


def _forget(session: ToolSession, memory_id: str) -> dict[str, Json]:
    return {"deleted": _store_of(session).forget(memory_id)}


def _link(session: ToolSession, src_id: str, dst_id: str, rel: str = "related") -> dict[str, Json]:
    try:
        _store_of(session).link(src_id, dst_id, rel)
    except NacreError as error:
        return {"ok": False, "error": str(error)}
    return {"ok": True, "src_id": src_id, "dst_id": dst_id, "rel": rel}


def _unlink(session: ToolSession, src_id: str, dst_id: str, rel: str | None = None) -> dict[str, Json]:
    return {"removed": _store_of(session).unlink(src_id, dst_id, rel)}


def _find_conflicts(session: ToolSession, memory_id: str | None = None, threshold: float | None = None) -> list[Json]:
    return _conflict_records(session, _store_of(session).find_conflicts(memory_id, threshold))


def _supersede(session: ToolSession, old_id: str, new_id: str) -> dict[str, Json]:
    try:
        _store_of(session).supersede(old_id, new_id)
    except (NacreError, ValueError) as error:
        return {"ok": False, "error": str(error)}
    return {"ok": True, "old_id": old_id, "new_id": new_id}


def _maintenance_tick(session: ToolSession, reflect_apply: bool = False) -> dict[str, Json]:
    from ..cli.config import load_maintenance
    from ..maintenance.scheduler import make_scheduler

    known = load_maintenance()
    known.reflect_apply = reflect_apply or known.reflect_apply
    done = make_scheduler(_store_of(session), known).tick()
    return {"summary": done.summary(), **asdict(done)}


def _journal_tail(
    session: ToolSession, n: int = 20, op: str | None = None, since_seconds: float | None = None
) -> list[Json]:
    since = None if since_seconds is None else session.store.now() - since_seconds
    latest = list(_get_store().journal.read(since=since, op=op))[::-1][: max(0, n)]
    return [
        {"ts": each.ts, "op": each.op, "actor": each.actor, "id": each.id,
         "summary": session.clean_text(each.summary()), "meta": each.meta}
        for each in latest
    ]  # fmt: skip


def _export(
    session: ToolSession, path: str, include_vectors: bool = True, include_superseded: bool = False,
    type: str | None = None, tag: str | None = None, since: float | None = None,
) -> dict[str, Json]:  # fmt: skip
    types, tags = [type] if type else None, [tag] if tag else None
    data = _store_of(session).export(new_archive_path(path), include_vectors, include_superseded, types, tags, since)
    return {"path": str(data.path), "count": data.count, "bytes": data.bytes, "elapsed": data.elapsed}


def _import(
    session: ToolSession, path: str, on_conflict: Literal["skip", "overwrite", "rename", "error"] = "skip",
    regenerate_vectors: bool = False, dry_run: bool = False,
) -> dict[str, Json]:  # fmt: skip
    try:
        data = _store_of(session).import_(path, on_conflict, regenerate_vectors, dry_run)
    except (ImportError, ImportConflictError) as error:
        raise InvalidInput(str(error)) from error
    counts = {"errors": len(data.errors), "vectors_regenerated": int(data.vectors_regenerated)}
    return {"ok": True, **asdict(data), **counts}


def _conflict_records(session: ToolSession, matches: list[Conflict]) -> list[Json]:
    space = session.store.space
    native = (NativeConflict(c.a.native(space), c.b.native(space), c.similarity, c.kind, c.reason) for c in matches)
    return [profile.conflict_record(session.clean(each)) for each in native]


OVERRIDES: dict[str, Callable[..., ToolResult]] = {
    "remember": _remember, "forget": _forget, "link": _link, "unlink": _unlink, "find_conflicts": _find_conflicts,
    "supersede": _supersede, "maintenance_tick": _maintenance_tick, "journal_tail": _journal_tail, "export": _export,
    "import": _import,
}  # fmt: skip
# Tools that only read are the profile's; the others use AI-Houkai's store with its rules and journal.
PROFILE = profile.PROFILE.running(OVERRIDES)
TOOLS = {tool.name: tool.run for tool in PROFILE.tools}


def _run(name: str, *values: Any, **arguments: Any) -> Any:
    session = ToolSession(_get_store().native, lambda *_: None)  # progress is not reported
    return TOOLS[name](session, *values, **arguments)


remember, recall, recall_pack, forget, list_recent, stats, link, unlink, neighbors, find_conflicts, supersede = (
    partial(_run, name)
    for name in "remember recall recall_pack forget list_recent stats link unlink neighbors find_conflicts"
    " supersede".split()
)
maintenance_tick, journal_tail = partial(_run, "maintenance_tick"), partial(_run, "journal_tail")
export, import_ = partial(_run, "export"), partial(_run, "import")


def _open(settings: Settings) -> NativeStore:
    from nacre.factory import make_embedder
    from nacre.models.background import BackgroundEmbedder

    return _get_store(BackgroundEmbedder(make_embedder(settings))).native


def run() -> None:
    """Serves one client over stdin and stdout."""
    from nacre.mcp.server import make_server
    from nacre.mcp.stdio import serve_stdio

    parent = os.getppid()
    provider = StoreProvider(settings_for(*_place()), _open)
    serve_stdio(make_server(PROFILE, provider), provider, parent)


if __name__ == "__main__":
    run()
