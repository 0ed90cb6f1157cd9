"""The commands of `houkai`: each calls one method of the store and prints the result."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from nacre import __version__
from nacre.compat.ai_houkai.cli import config
from nacre.compat.ai_houkai.cli.config import load_maintenance
from nacre.compat.ai_houkai.cli.output import (
    SHORT,
    chosen,
    fmt_age,
    resolve_id_prefix,
    show_json,
    show_memories,
    show_rows,
)
from nacre.compat.ai_houkai.maintenance import daemon
from nacre.compat.ai_houkai.maintenance.durations import parse_duration
from nacre.compat.ai_houkai.maintenance.scheduler import make_scheduler
from nacre.compat.ai_houkai.maintenance.state import MaintenanceState
from nacre.compat.ai_houkai.memory_system import (
    ConflictError,
    DecayEngine,
    ImportConflictError,
    JournalEntry,
    Memory,
    MemoryStore,
    ReflectionEngine,
)
from nacre.lifecycle.daemon import logging_to, pid_file, stopping_on_signals
from nacre.model import Direction
from nacre.recall.pack import HEADER
from nacre.settings import STORE_FILE
from nacre.transfer.read_archive import info as look_into

Ids = Annotated[list[str], typer.Argument()]
Kind = Annotated[str | None, typer.Option("--type", "-t")]
Tag = Annotated[str | None, typer.Option("--tag", "-g")]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-g")]
Hidden = Annotated[bool, typer.Option("--include-superseded")]
Fmt = Annotated[str, typer.Option("--format", "-f")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]
Apply = Annotated[bool, typer.Option("--apply")]


def store_of(ctx: typer.Context) -> MemoryStore:
    return cast(MemoryStore, ctx.obj["store"])


def memory_of(ctx: typer.Context, prefix: str) -> Memory:
    return store_of(ctx)._existing(id_of(ctx, prefix))


def id_of(ctx: typer.Context, prefix: str) -> str:
    return resolve_id_prefix(store_of(ctx), prefix)


def confirm(question: str, yes: bool) -> None:
    """Ends the command if the answer is no."""
    if not yes and not typer.confirm(question):
        raise typer.Exit(1)


EXPECTED = (ValueError, KeyError, ImportError, OSError, ConflictError, ImportConflictError)
NEGATIVE = {"ignore_unknown_options": True}  # -0.1 is a number here, not a flag


class ErrorReportingGroup(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EXPECTED as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from error


journal = typer.Typer(help="List and undo journal entries.", no_args_is_help=True)
maintenance = typer.Typer(help="Run decay and reflection on a schedule.", no_args_is_help=True)
app = typer.Typer(cls=ErrorReportingGroup, no_args_is_help=True, add_completion=False)
app.add_typer(journal, name="journal")
app.add_typer(maintenance, name="maintenance")


@app.callback(invoke_without_command=True)
def open_store(
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
    ctx: typer.Context, text: Annotated[str, typer.Argument()] = "-",
    stdin: Annotated[bool, typer.Option("--stdin")] = False, type: Kind = None, tag: Tags = None,
    importance: Annotated[float | None, typer.Option("--importance", "-i")] = None,
    source: Annotated[str | None, typer.Option("--source", "-s")] = None, on_conflict: str | None = None,
    polarity: int = 0,
) -> None:  # fmt: skip
    """Store a text, given or from stdin, and print its id."""
    known = ctx.obj["config"]
    said = sys.stdin.read() if stdin or text == "-" else text
    worth = known.default_importance if importance is None else importance
    fields: dict[str, Any] = {"on_conflict": on_conflict, "polarity": polarity}
    print(store_of(ctx).remember(said, type or known.default_type, tag or (), worth, source, **fields).id)


@app.command()
def recall(
    ctx: typer.Context, query: str, k: Annotated[int, typer.Option("-k")] = 5, type: Kind = None, tag: Tag = None,
    min_importance: float | None = None, mode: str = "semantic", include_superseded: Hidden = False,
    format: Fmt = "auto",
) -> None:  # fmt: skip
    """Find memories."""
    hits = store_of(ctx).recall(query, k, type, tag, min_importance, mode=mode, include_superseded=include_superseded)
    show_memories([memory for memory, _ in hits], format, [score for _, score in hits])


@app.command()
def pack(
    ctx: typer.Context, query: str, budget: Annotated[int, typer.Option("--budget", "-b")] = 800, type: Kind = None,
    tag: Tag = None, min_importance: float | None = None, mode: str = "hybrid", max_items: int = 50,
    header: str = HEADER, format: Fmt = "text",
) -> None:  # fmt: skip
    """Print the best memories that fit a token budget."""
    scope: dict[str, Any] = {"type": type, "tag": tag, "min_importance": min_importance, "mode": mode}
    packed = store_of(ctx).recall_pack(query, token_budget=budget, max_items=max_items, header=header, **scope)
    if format == "json":
        items = [{**each.memory.to_dict(), "score": each.score, "tokens": each.tokens} for each in packed.items]
        data = {"used_tokens": packed.used_tokens, "budget": budget, "truncated": packed.truncated}
        show_json({"text": packed.text, **data, "items": items})
        return
    print(packed.text)
    typer.echo(f"{len(packed)} memories, {packed.used_tokens} of {budget} tokens", err=True)


@app.command("list")
def list_(
    ctx: typer.Context, limit: Annotated[int, typer.Option("-n")] = 20, type: Kind = None, tag: Tag = None,
    since: str | None = None, sort: str = "created", include_superseded: Hidden = False, format: Fmt = "auto",
) -> None:  # fmt: skip
    """List the newest memories."""
    store, first = store_of(ctx), 0.0 if since is None else moment(since)
    every = store.list_recent(store.count(), include_superseded)
    matches = [m for m in every if type in (None, m.type) and (tag is None or tag in m.tags) and m.created_at >= first]
    if sort == "importance":
        matches.sort(key=lambda memory: -memory.importance)
    show_memories(matches[: max(0, limit)], format)


def moment(text: str) -> float:
    """7d and 2h are ago; else a date."""
    try:
        return time.time() - parse_duration(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()


@app.command()
def show(ctx: typer.Context, id: str, format: Fmt = "auto") -> None:
    """Show a memory and its successors."""
    store, memory = store_of(ctx), memory_of(ctx, id)
    if format == "json":
        show_json(memory.to_dict())
        return
    for name, value in memory.to_dict().items():
        print(f"{name}: {value}")
    while memory.superseded_by and (successor := store.get(memory.superseded_by)) is not None:
        print(f"superseded by {successor.id[:SHORT]}: {successor.text}")
        memory = successor


@app.command()
def forget(ctx: typer.Context, ids: Ids, yes: Yes = False) -> None:
    """Delete memories."""
    records = [id_of(ctx, id) for id in ids]
    confirm(f"Delete {len(records)} memories?", yes)
    for id in records:
        store_of(ctx).forget(id)
        print(f"Deleted {id[:SHORT]}")


@app.command()
def edit(ctx: typer.Context, id: str) -> None:
    """Open a memory in the editor."""
    memory = memory_of(ctx, id)
    head = f"type: {memory.type}\nimportance: {memory.importance}\ntags: {','.join(memory.tags)}\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.txt"
        file.write_text(f"{head}---\n{memory.text}\n", "utf-8")
        subprocess.run([*ctx.obj["config"].editor.split(), str(file)], check=True)
        written = file.read_text("utf-8")
    fields_written, _, text = written.partition("---\n")
    fields = dict(line.split(":", 1) for line in fields_written.splitlines() if ":" in line)
    tags = [tag.strip() for tag in fields.get("tags", "").split(",") if tag.strip()]
    changed: dict[str, Any] = {"type": fields["type"].strip(), "importance": float(fields["importance"]), "tags": tags}
    if text.strip() != memory.text:
        changed["text"] = text.strip()

    def change(now: Memory) -> dict[str, Any]:
        if any(getattr(now, name) != getattr(memory, name) for name in ("text", "type", "importance", "tags")):
            opened, kept = tempfile.mkstemp(prefix="houkai-", suffix=".txt")  # for its owner alone
            with os.fdopen(opened, "w", encoding="utf-8") as out:
                out.write(written)
            raise ValueError(
                f"{memory.id[:SHORT]} was changed by somebody else meanwhile, and nothing was saved; what you wrote is "
                f"in {kept}."
            )
        return changed

    store_of(ctx).edit_with(memory.id, change)
    print(f"Saved {memory.id[:SHORT]}")


@app.command()
def tag(ctx: typer.Context, id: str, add: list[str] | None = None, remove: list[str] | None = None) -> None:
    """Add and remove tags."""

    def change(memory: Memory) -> dict[str, list[str]]:
        return {"tags": [each for each in dict.fromkeys([*memory.tags, *(add or ())]) if each not in (remove or ())]}

    _, after = store_of(ctx).edit_with(id_of(ctx, id), change)
    print(f"{after.id[:SHORT]}: {','.join(after.tags)}")


@app.command(context_settings=NEGATIVE)
def bump(ctx: typer.Context, id: str, delta: str) -> None:
    """Change the importance: +0.2, -0.1, =0.9."""
    fixed, step = (float(delta[1:]), 0.0) if delta.startswith("=") else (None, float(delta))

    def change(memory: Memory) -> dict[str, float]:
        return {"importance": memory.importance + step if fixed is None else fixed}

    before, after = store_of(ctx).edit_with(id_of(ctx, id), change)
    print(f"{after.id[:SHORT]}: {before.importance:.2f} → {after.importance:.2f}")


@app.command()
def link(ctx: typer.Context, src: str, dst: str, rel: str = "related") -> None:
    """Link a memory to another."""
    source, target = id_of(ctx, src), id_of(ctx, dst)
    store_of(ctx).link(source, target, rel)
    print(f"{source[:SHORT]} -{rel}-> {target[:SHORT]}")


@app.command()
def unlink(ctx: typer.Context, src: str, dst: str, rel: str | None = None) -> None:
    """Remove links."""
    source, target = id_of(ctx, src), id_of(ctx, dst)
    print(f"Removed {store_of(ctx).unlink(source, target, rel)} links")


@app.command()
def neighbors(
    ctx: typer.Context, id: str, rel: str | None = None, direction: str = "both", depth: int = 1, format: Fmt = "auto"
) -> None:
    """List linked memories."""
    result = store_of(ctx).neighbors(id_of(ctx, id), rel, cast(Direction, direction), depth)
    if chosen(format) == "json":
        show_json([{**memory.to_dict(), "rel": rel} for memory, rel in result])
    else:
        show_rows(("id", "rel", "text"), [(memory.id[:SHORT], rel, memory.text) for memory, rel in result], format)


@app.command()
def graph(ctx: typer.Context, ids: Ids, depth: int = 1, format: Fmt = "ascii") -> None:
    """Print the links around memories: ascii, dot or json."""
    result = store_of(ctx).subgraph([id_of(ctx, id) for id in ids], depth)
    if format == "json":
        show_json({"nodes": [node.to_dict() for node in result.nodes.values()], "edges": result.edges})
        return
    dot = format == "dot"
    edge = '  "{}" -> "{}" [label="{}"];' if dot else "{} -> {} ({})"
    lines = [edge.format(source[:SHORT], target[:SHORT], rel) for source, target, rel in result.edges]
    names = [f'  "{id[:SHORT]}";' if dot else f"{id[:SHORT]} {node.text}" for id, node in result.nodes.items()]
    print("\n".join(["digraph {", *names, *lines, "}"] if dot else [*names, *lines]))


@app.command()
def conflicts(
    ctx: typer.Context, id: str | None = None, threshold: float | None = None, resolve: str | None = None
) -> None:
    """List memories that repeat or contradict each other; `--resolve interactive` asks about each pair."""
    store = store_of(ctx)
    for each in store.find_conflicts(id and id_of(ctx, id), threshold):
        if store.get(each.a.id) is None or store.get(each.b.id) is None:
            continue  # an earlier answer removed one of them
        print(f"{each.kind} ({each.reason}, {each.similarity:.2f})")
        print(f"  A {each.a.id[:SHORT]} {each.a.text}\n  B {each.b.id[:SHORT]} {each.b.text}")
        if resolve == "interactive":
            ways = "[k]eep, [a] supersede A, [b] supersede B, [da] delete A, [db] delete B, [s]kip"
            said = typer.prompt(ways, "s").strip().lower()
            a, b = (each.a.id, each.b.id) if said in ("a", "da") else (each.b.id, each.a.id)
            if said in ("a", "b"):
                store.supersede(a, b)
            elif said in ("da", "db"):
                store.forget(a)


@app.command()
def supersede(ctx: typer.Context, old: str, new: str) -> None:
    """Replace a memory with another."""
    gone, successor = id_of(ctx, old), id_of(ctx, new)
    store_of(ctx).supersede(gone, successor)
    print(f"{gone[:SHORT]} superseded by {successor[:SHORT]}")


@app.command()
def restore(ctx: typer.Context, id: str) -> None:
    """Undo a supersede."""
    full = id_of(ctx, id)
    print(f"{full[:SHORT]} {'restored' if store_of(ctx).restore(full) else 'was not superseded'}")


@app.command()
def prune(
    ctx: typer.Context, decay_rate: float = 0.1, min_score: float = 0.05, protect_type: list[str] | None = None,
    apply: Apply = False, yes: Yes = False,
) -> None:  # fmt: skip
    """Delete faded memories; only lists them unless --apply."""
    engine = DecayEngine(store_of(ctx), decay_rate, min_score, tuple(protect_type or ("procedural",)))
    faded = engine.prune(dry_run=True)
    show_memories(faded)
    if apply and faded:
        confirm(f"Delete {len(faded)} memories?", yes)
        print(f"Deleted {len(engine.prune())} memories")


@app.command()
def reflect(
    ctx: typer.Context, threshold: float = 0.75, min_cluster_size: int = 3, consolidate: str = "none",
    apply: Apply = False, yes: Yes = False,
) -> None:  # fmt: skip
    """Summarize similar episodes; only lists the summaries unless --apply."""
    if consolidate not in ("none", "soft", "hard"):
        raise ValueError(f"Unknown mode {consolidate!r}; use none, soft or hard.")
    engine = ReflectionEngine(store_of(ctx), threshold, min_cluster_size)
    if apply and consolidate == "hard":
        confirm("Delete the summarized episodes?", yes)
    ways: dict[str, Any] = {"none": False, "soft": True, "hard": "hard"}
    show_memories(engine.reflect(dry_run=not apply, consolidate=ways[consolidate]))


@app.command()
def export(
    ctx: typer.Context, path: str, type: Annotated[list[str] | None, typer.Option("--type", "-t")] = None,
    tag: Tags = None, include_superseded: Hidden = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors")] = False,
) -> None:  # fmt: skip
    """Write memories to an archive."""
    data = store_of(ctx).export(path, not no_vectors, include_superseded, type, tag)
    print(f"Exported {data.count} memories to {data.path} ({data.bytes} bytes)")


@app.command("import")
def import_(
    ctx: typer.Context, path: str, on_conflict: str = "skip",
    regenerate_vectors: Annotated[bool, typer.Option("--regenerate-vectors")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False, yes: Yes = False,
) -> None:  # fmt: skip
    """Import memories from an archive."""
    confirm(f"Import {path}?", yes or dry_run)
    done = store_of(ctx).import_(path, on_conflict, regenerate_vectors, dry_run)
    counts = f"imported={done.imported} skipped={done.skipped} overwritten={done.overwritten} renamed={done.renamed}"
    print(f"{counts} errors={len(done.errors)}")


@app.command()
def info(path: str) -> None:
    """Describe an archive without importing it."""
    data = look_into(path)
    print(f"{data.header.form} {data.header.version}: {data.count} memories of {data.header.space!r}")
    print(f"model {data.header.embedder}, {data.vectors} with vectors, {data.errors} bad lines, {data.bytes} bytes")


@app.command()
def backup(ctx: typer.Context) -> None:
    """Copy the store to ~/.ai_houkai/backups."""
    place = config._HOUKAI_DIR / "backups" / time.strftime("%Y%m%d-%H%M%S")
    place.mkdir(parents=True)
    print(store_of(ctx).native.backup(place / STORE_FILE).parent)


@app.command()
def stats(ctx: typer.Context, format: Fmt = "auto") -> None:
    """Count memories."""
    data = store_of(ctx).native.stats()
    document: dict[str, Any] = {"total": data.total, "active": data.active, "superseded": data.superseded}
    document |= {"by_type": dict(data.by_type), "top_tags": dict(data.top_tags), "store_size_bytes": data.bytes_on_disk}
    if chosen(format) == "json":
        show_json(document)
    else:
        show_rows(("name", "value"), [(name, str(value)) for name, value in document.items()], format)


@journal.command()
def tail(
    ctx: typer.Context, n: Annotated[int, typer.Option("-n")] = 20, op: str | None = None, actor: str | None = None,
    id: str | None = None, all: Annotated[bool, typer.Option("--all")] = False,
) -> None:  # fmt: skip
    """List the latest entries; with --all from the archives too."""
    matches = list(store_of(ctx).journal.read(op=op, actor=actor, memory_id=id, include_archives=all))
    latest = matches[-n:] if n > 0 else []
    rows = [(f"{each.ts:.3f}", each.op, each.actor, each.id[:SHORT], each.summary()) for each in latest]
    show_rows(("ts", "op", "actor", "id", "summary"), rows)


@journal.command("show")
def show_entry(ctx: typer.Context, ts: float) -> None:
    """Show one entry."""
    show_json(asdict(entry_at(store_of(ctx), ts)))


@journal.command()
def undo(ctx: typer.Context, ts: float, yes: Yes = False) -> None:
    """Undo one entry."""
    entry = entry_at(store_of(ctx), ts)
    confirm(f"Undo {entry.summary()}?", yes)
    if not store_of(ctx).undo(entry):
        raise ValueError(f"{entry.op} cannot be undone: it has no undo, or the memory has changed since.")
    print(f"Undone: {entry.summary()}")


def entry_at(store: MemoryStore, ts: float) -> JournalEntry:
    result = store.journal.find_by_ts(ts)
    if result is None:
        raise ValueError(f"The journal has no entry at {ts:.3f}; `houkai journal tail` lists them.")
    return result


@maintenance.command()
def tick(ctx: typer.Context) -> None:
    """Run the jobs that are due, once."""
    print(make_scheduler(store_of(ctx), load_maintenance()).tick().summary())


@maintenance.command()
def run(ctx: typer.Context) -> None:
    """Run the jobs when they are due, until stopped."""
    known = load_maintenance()
    with pid_file(known.pid_path), logging_to(known.log_path), stopping_on_signals() as stop:
        make_scheduler(store_of(ctx), known).run_forever(stop)


@maintenance.command()
def start(ctx: typer.Context) -> None:
    """Run in the background."""
    known, place = load_maintenance(), ctx.obj["config"]
    if daemon.is_alive(known.pid_path):
        raise ValueError("Maintenance is running already; `houkai maintenance stop` ends it.")
    pid = daemon.spawn_detached(place.store_path, place.collection, known.log_path, known.pid_path)
    print(f"Started as process {pid}")


@maintenance.command()
def stop() -> None:
    """Stop the background process."""
    print("Stopped" if daemon.stop_daemon(load_maintenance().pid_path) else "Nothing was running")


@maintenance.command()
def status() -> None:
    """Show whether it runs, and when each job last ran."""
    known = load_maintenance()
    state = MaintenanceState.load(known.state_path)
    print("running" if daemon.is_alive(known.pid_path) else "not running")
    for job, last, total in (
        ("decay", state.last_decay_at, state.total_decayed),
        ("reflect", state.last_reflect_at, state.total_reflected),
    ):
        print(f"{job}: {'never' if last is None else fmt_age(last)}, {total} in all")
