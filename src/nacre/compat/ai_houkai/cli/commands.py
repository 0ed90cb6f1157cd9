"""The commands of `houkai`: each calls one method of the store and shows the answer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nacre import __version__
from nacre.recall.pack import HEADER

from ..maintenance.durations import parse_duration
from ..memory_system import ConflictError, ImportConflictError, Memory, MemoryStore
from . import config, ties, upkeep
from .keeping import journal, maintenance
from .options import Fmt, Hidden, Ids, Kind, Least, Tag, Tags, Yes, confirmed, store_of
from .output import SHORT, resolve_id_prefix, show_json, show_memories

EXPECTED = (ValueError, KeyError, ImportError, OSError, ConflictError, ImportConflictError)
NEGATIVE = {"ignore_unknown_options": True}  # -0.1 is a number here, not a flag


class Doors(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EXPECTED as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(cls=Doors, no_args_is_help=True, add_completion=False)
app.add_typer(journal, name="journal")
app.add_typer(maintenance, name="maintenance")
for each in (*ties.COMMANDS, *upkeep.COMMANDS):
    app.command()(each)
app.command("import")(upkeep.import_)


@app.callback(invoke_without_command=True)
def opened(
    ctx: typer.Context,
    store: Annotated[str | None, typer.Option("--store", "-S")] = None,
    collection: Annotated[str | None, typer.Option("--collection", "-C")] = None,
    version: Annotated[bool, typer.Option("--version", "-V")] = False,
) -> None:
    """Long-term memory for agents."""
    if version:
        print(__version__)
        raise typer.Exit
    known = config.load()
    known.store_path, known.collection = store or known.store_path, collection or known.collection
    made = MemoryStore(known.store_path, known.collection, known.embedding_model, actor="cli")
    ctx.call_on_close(made.client.close)
    ctx.obj = {"store": made, "config": known}


@app.command()
def remember(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument()] = "-",
    stdin: Annotated[bool, typer.Option("--stdin")] = False,
    type: Kind = None,
    tag: Tags = None,
    importance: Annotated[float | None, typer.Option("--importance", "-i")] = None,
    source: Annotated[str | None, typer.Option("--source", "-s")] = None,
    on_conflict: Annotated[str | None, typer.Option("--on-conflict")] = None,
    polarity: Annotated[int, typer.Option("--polarity")] = 0,
) -> None:
    """Keep a text, given or from stdin; prints its id."""
    known = ctx.obj["config"]
    said = sys.stdin.read() if stdin or text == "-" else text
    worth = known.default_importance if importance is None else importance
    given: dict[str, Any] = {"on_conflict": on_conflict, "polarity": polarity}
    print(store_of(ctx).remember(said, type or known.default_type, tag or (), worth, source, **given).id)


@app.command()
def recall(
    ctx: typer.Context,
    query: str,
    k: Annotated[int, typer.Option("-k")] = 5,
    type: Kind = None,
    tag: Tag = None,
    min_importance: Least = None,
    mode: str = "semantic",
    include_superseded: Hidden = False,
    format: Fmt = "auto",
) -> None:
    """Find memories."""
    hits = store_of(ctx).recall(query, k, type, tag, min_importance, mode=mode, include_superseded=include_superseded)
    show_memories([memory for memory, _ in hits], format, [score for _, score in hits])


@app.command()
def pack(
    ctx: typer.Context,
    query: str,
    budget: Annotated[int, typer.Option("--budget", "-b")] = 800,
    type: Kind = None,
    tag: Tag = None,
    min_importance: Least = None,
    mode: str = "hybrid",
    max_items: int = 50,
    header: str = HEADER,
    format: Fmt = "text",
) -> None:
    """The best memories that fit a budget, as text."""
    scope: dict[str, Any] = {"type": type, "tag": tag, "min_importance": min_importance, "mode": mode}
    packed = store_of(ctx).recall_pack(query, token_budget=budget, max_items=max_items, header=header, **scope)
    if format == "json":
        items = [{**each.memory.to_dict(), "score": each.score, "tokens": each.tokens} for each in packed.items]
        told = {"used_tokens": packed.used_tokens, "budget": budget, "truncated": packed.truncated}
        show_json({"text": packed.text, **told, "items": items})
        return
    print(packed.text)
    typer.echo(f"{len(packed)} memories, {packed.used_tokens} of {budget} tokens", err=True)


@app.command("list")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("-n")] = 20,
    type: Kind = None,
    tag: Tag = None,
    since: str | None = None,
    sort: str = "created",
    include_superseded: Hidden = False,
    format: Fmt = "auto",
) -> None:
    """The newest memories."""
    store, first = store_of(ctx), 0.0 if since is None else moment(since)
    every = store.list_recent(store.count(), include_superseded)
    found = [m for m in every if type in (None, m.type) and (tag is None or tag in m.tags) and m.created_at >= first]
    if sort == "importance":
        found.sort(key=lambda memory: -memory.importance)
    show_memories(found[: max(0, limit)], format)


def moment(given: str) -> float:
    """7d and 2h are ago; else a date."""
    try:
        return time.time() - parse_duration(given)
    except ValueError:
        return datetime.fromisoformat(given).timestamp()


@app.command()
def show(ctx: typer.Context, id: str, format: Fmt = "auto") -> None:
    """All that is known of a memory, and what superseded it."""
    store = store_of(ctx)
    memory = found_by(store, id)
    if format == "json":
        show_json(memory.to_dict())
        return
    for name, value in memory.to_dict().items():
        print(f"{name}: {value}")
    while memory.superseded_by and (heir := store.get(memory.superseded_by)) is not None:
        print(f"superseded by {heir.id[:SHORT]}: {heir.text}")
        memory = heir


def found_by(store: MemoryStore, prefix: str) -> Memory:
    return store._existing(resolve_id_prefix(store, prefix))


@app.command()
def forget(ctx: typer.Context, ids: Ids, yes: Yes = False) -> None:
    """Delete memories."""
    store = store_of(ctx)
    whole = [resolve_id_prefix(store, id) for id in ids]
    confirmed(f"Delete {len(whole)} memories?", yes)
    for id in whole:
        store.forget(id)
        print(f"Deleted {id[:SHORT]}")


@app.command()
def edit(ctx: typer.Context, id: str) -> None:
    """Open a memory in the editor."""
    store, memory = store_of(ctx), found_by(store_of(ctx), id)
    head = f"type: {memory.type}\nimportance: {memory.importance}\ntags: {','.join(memory.tags)}\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.txt"
        file.write_text(f"{head}---\n{memory.text}\n", "utf-8")
        subprocess.run([*ctx.obj["config"].editor.split(), str(file)], check=True)
        written, _, text = file.read_text("utf-8").partition("---\n")
    given = dict(line.split(":", 1) for line in written.splitlines() if ":" in line)
    tags = [tag.strip() for tag in given.get("tags", "").split(",") if tag.strip()]
    changed: dict[str, Any] = {"type": given["type"].strip(), "importance": float(given["importance"]), "tags": tags}
    if text.strip() != memory.text:
        changed["text"] = text.strip()
    store.edit(memory.id, **changed)
    print(f"Saved {memory.id[:SHORT]}")


@app.command()
def tag(
    ctx: typer.Context,
    id: str,
    add: Annotated[list[str] | None, typer.Option("--add")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove")] = None,
) -> None:
    """Add and remove tags."""
    memory = found_by(store_of(ctx), id)
    tags = [each for each in dict.fromkeys([*memory.tags, *(add or ())]) if each not in (remove or ())]
    store_of(ctx).edit(memory.id, tags=tags)
    print(f"{memory.id[:SHORT]}: {','.join(tags)}")


@app.command(context_settings=NEGATIVE)
def bump(ctx: typer.Context, id: str, delta: str) -> None:
    """Change the importance: +0.2, -0.1, =0.9."""
    memory = found_by(store_of(ctx), id)
    wanted = float(delta[1:]) if delta.startswith("=") else memory.importance + float(delta)
    after = store_of(ctx).edit(memory.id, importance=wanted)
    print(f"{memory.id[:SHORT]}: {memory.importance:.2f} → {after.importance:.2f}")
