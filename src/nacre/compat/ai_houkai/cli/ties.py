"""Commands of `houkai` on ties, succession and conflicts."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from nacre.model import Direction

from ..memory_system import MemoryStore
from .options import Fmt, Ids, Rel, store_of
from .output import SHORT, chosen, resolve_id_prefix, show_json, show_rows


def link(ctx: typer.Context, src: str, dst: str, rel: Annotated[str, typer.Option("--rel")] = "related") -> None:
    """Tie a memory to another."""
    source, target = (resolve_id_prefix(store_of(ctx), id) for id in (src, dst))
    store_of(ctx).link(source, target, rel)
    print(f"{source[:SHORT]} -{rel}-> {target[:SHORT]}")


def unlink(ctx: typer.Context, src: str, dst: str, rel: Rel = None) -> None:
    """Remove ties."""
    source, target = (resolve_id_prefix(store_of(ctx), id) for id in (src, dst))
    print(f"Removed {store_of(ctx).unlink(source, target, rel)} ties")


def neighbors(
    ctx: typer.Context, id: str, rel: Rel = None, direction: str = "both", depth: int = 1, format: Fmt = "auto"
) -> None:
    """What ties lead to."""
    found = store_of(ctx).neighbors(resolve_id_prefix(store_of(ctx), id), rel, cast(Direction, direction), depth)
    if chosen(format) == "json":
        show_json([{**memory.to_dict(), "rel": rel} for memory, rel in found])
    else:
        show_rows(("id", "rel", "text"), [(memory.id[:SHORT], rel, memory.text) for memory, rel in found], format)


def graph(ctx: typer.Context, ids: Ids, depth: int = 1, format: Fmt = "ascii") -> None:
    """The ties around memories: ascii, dot or json."""
    store = store_of(ctx)
    found = store.subgraph([resolve_id_prefix(store, id) for id in ids], depth)
    if format == "json":
        show_json({"nodes": [node.to_dict() for node in found.nodes.values()], "edges": found.edges})
        return
    dot = format == "dot"
    edge = '  "{}" -> "{}" [label="{}"];' if dot else "{} -> {} ({})"
    lines = [edge.format(source[:SHORT], target[:SHORT], rel) for source, target, rel in found.edges]
    names = [f'  "{id[:SHORT]}";' if dot else f"{id[:SHORT]} {node.text}" for id, node in found.nodes.items()]
    print("\n".join(["digraph {", *names, *lines, "}"] if dot else [*names, *lines]))


def conflicts(
    ctx: typer.Context,
    id: Annotated[str | None, typer.Option("--id")] = None,
    threshold: float | None = None,
    resolve: Annotated[str | None, typer.Option("--resolve")] = None,
) -> None:
    """Memories that repeat or contradict each other; `--resolve interactive` asks about each pair."""
    store = store_of(ctx)
    for each in store.find_conflicts(id and resolve_id_prefix(store, id), threshold):
        if store.get(each.a.id) is None or store.get(each.b.id) is None:
            continue  # the answer to an earlier pair took one of them
        print(f"{each.kind} ({each.reason}, {each.similarity:.2f})")
        print(f"  A {each.a.id[:SHORT]} {each.a.text}\n  B {each.b.id[:SHORT]} {each.b.text}")
        if resolve == "interactive":
            said = typer.prompt("[k]eep, [a] supersede A, [b] supersede B, [da] delete A, [db] delete B, [s]kip", "s")
            settled(store, each.a.id, each.b.id, said.strip().lower())


def settled(store: MemoryStore, a: str, b: str, said: str) -> None:
    if said in ("a", "b"):
        store.supersede(*((a, b) if said == "a" else (b, a)))
    elif said in ("da", "db"):
        store.forget(a if said == "da" else b)


def supersede(ctx: typer.Context, old: str, new: str) -> None:
    """Let a memory take another's place."""
    gone, heir = (resolve_id_prefix(store_of(ctx), id) for id in (old, new))
    store_of(ctx).supersede(gone, heir)
    print(f"{gone[:SHORT]} superseded by {heir[:SHORT]}")


def restore(ctx: typer.Context, id: str) -> None:
    """Undo a supersede."""
    whole = resolve_id_prefix(store_of(ctx), id)
    print(f"{whole[:SHORT]} {'restored' if store_of(ctx).restore(whole) else 'was not superseded'}")


COMMANDS = (link, unlink, neighbors, graph, conflicts, supersede, restore)
