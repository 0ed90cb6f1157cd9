"""Archives: memories carried to a file and back, as AI-Houkai's tools name it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from nacre.errors import InvalidInput
from nacre.mcp.schema import NUMBER, TEXT, TRUTH, WHOLE, record
from nacre.mcp.tool import Tool
from nacre.mcp.visit import Visit
from nacre.model.memory import Json

SUFFIXES = (".nacre", ".ahkai")


def export(
    visit: Visit,
    path: str,
    include_vectors: bool = True,
    include_superseded: bool = False,
    type: str | None = None,
    tag: str | None = None,
    since: float | None = None,
) -> dict[str, Json]:
    from nacre.portability.exporting import Choice, export_archive

    choice = Choice(
        types=(type,) if type else (),
        tags=(tag,) if tag else (),
        since=since,
        include_superseded=include_superseded,
        vectors=include_vectors,
    )
    told = export_archive(visit.store, free_place(path), choice, progress=visit.progress)
    return {"path": str(told.path), "count": told.count, "bytes": told.bytes, "elapsed": told.elapsed}


def free_place(path: str) -> Path:
    """An agent may be talked into writing over a file that somebody needs."""
    place = Path(path).expanduser()
    if place.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"{path} is no name for an archive; let it end in .nacre or .ahkai.")
    if place.exists():
        raise InvalidInput(f"{path} is there already; choose another name.")
    return place


def import_(
    visit: Visit,
    path: str,
    on_conflict: Literal["skip", "overwrite", "rename", "error"] = "skip",
    regenerate_vectors: bool = False,
    dry_run: bool = False,
) -> dict[str, Json]:
    from nacre.portability.importing import import_archive

    told = import_archive(
        visit.store,
        path,
        on_conflict=on_conflict,
        regenerate_vectors=regenerate_vectors,
        dry_run=dry_run,
        progress=visit.progress,
    )
    return {
        "ok": True,
        "imported": told.imported,
        "skipped": told.skipped,
        "overwritten": told.overwritten,
        "renamed": told.renamed,
        "errors": told.errors,
        "vectors_regenerated": told.vectors_regenerated,
    }


CARRYING = (
    Tool("export", export, "Write memories to a new archive (.ahkai or .nacre).",
         record(path=TEXT, count=WHOLE, bytes=WHOLE, elapsed=NUMBER), "writes"),
    Tool("import", import_, "Read memories from an archive.",
         record(ok=TRUTH, imported=WHOLE, skipped=WHOLE, overwritten=WHOLE, renamed=WHOLE, errors=WHOLE,
                vectors_regenerated=WHOLE), "writes"),
)  # fmt: skip
