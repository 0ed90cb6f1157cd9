"""Commands of `houkai` that keep a whole store: forgetting, reflection, archives, copies, counts."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from nacre.settings import STORE_FILE
from nacre.transfer.read_archive import info as look_into

from ..memory_system import DecayEngine, ReflectionEngine
from . import config
from .options import Apply, Fmt, Hidden, Tags, Yes, confirmed, store_of
from .output import chosen, show_json, show_memories, show_rows


def prune(
    ctx: typer.Context,
    decay_rate: float = 0.1,
    min_score: float = 0.05,
    protect_type: Annotated[list[str] | None, typer.Option("--protect-type")] = None,
    apply: Apply = False,
    yes: Yes = False,
) -> None:
    """Delete what has faded; only shows it unless --apply."""
    engine = DecayEngine(store_of(ctx), decay_rate, min_score, tuple(protect_type or ("procedural",)))
    faded = engine.prune(dry_run=True)
    show_memories(faded)
    if apply and faded:
        confirmed(f"Delete {len(faded)} memories?", yes)
        print(f"Deleted {len(engine.prune())} memories")


def reflect(
    ctx: typer.Context,
    threshold: float = 0.75,
    min_cluster_size: int = 3,
    consolidate: str = "none",
    apply: Apply = False,
    yes: Yes = False,
) -> None:
    """Condense similar episodes; only shows the summaries unless --apply."""
    if consolidate not in ("none", "soft", "hard"):
        raise ValueError(f"There is no way {consolidate!r} to consolidate; use none, soft or hard.")
    engine = ReflectionEngine(store_of(ctx), threshold, min_cluster_size)
    if apply and consolidate == "hard":
        confirmed("Delete the episodes that are condensed?", yes)
    ways: dict[str, Any] = {"none": False, "soft": True, "hard": "hard"}
    show_memories(engine.reflect(dry_run=not apply, consolidate=ways[consolidate]))


def export(
    ctx: typer.Context,
    path: str,
    type: Annotated[list[str] | None, typer.Option("--type", "-t")] = None,
    tag: Tags = None,
    include_superseded: Hidden = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors")] = False,
) -> None:
    """Write memories to an archive."""
    told = store_of(ctx).export(path, not no_vectors, include_superseded, type, tag)
    print(f"Exported {told.count} memories to {told.path} ({told.bytes} bytes)")


def import_(
    ctx: typer.Context,
    path: str,
    on_conflict: str = "skip",
    regenerate_vectors: Annotated[bool, typer.Option("--regenerate-vectors")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
    yes: Yes = False,
) -> None:
    """Take memories in from an archive."""
    confirmed(f"Import {path}?", yes or dry_run)
    done = store_of(ctx).import_(path, on_conflict, regenerate_vectors, dry_run)
    counts = f"imported={done.imported} skipped={done.skipped} overwritten={done.overwritten} renamed={done.renamed}"
    print(f"{counts} errors={len(done.errors)}")


def info(path: str) -> None:
    """Look into an archive without importing it."""
    told = look_into(path)
    print(f"{told.header.form} {told.header.version}: {told.count} memories of {told.header.space!r}")
    print(f"model {told.header.embedder}, {told.vectors} with vectors, {told.errors} bad lines, {told.bytes} bytes")


def backup(ctx: typer.Context) -> None:
    """Copy the store beside the others of ~/.ai_houkai/backups."""
    place = config._HOUKAI_DIR / "backups" / time.strftime("%Y%m%d-%H%M%S")
    place.mkdir(parents=True)
    print(store_of(ctx).native.backup(place / STORE_FILE).parent)


def stats(ctx: typer.Context, format: Fmt = "auto") -> None:
    """Count memories."""
    told = store_of(ctx).native.stats()
    whole: dict[str, Any] = {"total": told.total, "active": told.active, "superseded": told.superseded}
    whole |= {"by_type": dict(told.by_type), "top_tags": dict(told.top_tags), "store_size_bytes": told.bytes_on_disk}
    if chosen(format) == "json":
        show_json(whole)
    else:
        show_rows(("name", "value"), [(name, str(value)) for name, value in whole.items()], format)


COMMANDS = (prune, reflect, export, info, backup, stats)
