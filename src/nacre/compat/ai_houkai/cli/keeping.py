"""The groups `journal` and `maintenance` of `houkai`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from nacre.lifecycle.daemon import logging_to, stopping_on_signals, told_by

from ..maintenance import daemon
from ..maintenance.scheduler import configured
from ..maintenance.state import MaintenanceState
from ..memory_system import JournalEntry, MemoryStore
from .config import load_maintenance
from .options import confirmed, store_of
from .output import SHORT, fmt_age, show_json, show_rows

journal = typer.Typer(help="What was done, and how to take it back.", no_args_is_help=True)
maintenance = typer.Typer(help="Decay and reflection by the clock.", no_args_is_help=True)


@journal.command()
def tail(
    ctx: typer.Context,
    n: Annotated[int, typer.Option("-n")] = 20,
    op: str | None = None,
    actor: str | None = None,
    id: Annotated[str | None, typer.Option("--id")] = None,
    all: Annotated[bool, typer.Option("--all")] = False,
) -> None:
    """The latest entries; with --all from the archives too."""
    found = list(store_of(ctx).journal.read(op=op, actor=actor, memory_id=id, include_archives=all))
    latest = found[-n:] if n > 0 else []
    rows = [(f"{each.ts:.3f}", each.op, each.actor, each.id[:SHORT], each.summary()) for each in latest]
    show_rows(("ts", "op", "actor", "id", "summary"), rows)


@journal.command()
def show(ctx: typer.Context, ts: float) -> None:
    """One entry, whole."""
    show_json(asdict(entry_at(store_of(ctx), ts)))


@journal.command()
def undo(ctx: typer.Context, ts: float, yes: Annotated[bool, typer.Option("--yes", "-y")] = False) -> None:
    """Take one entry back."""
    entry = entry_at(store_of(ctx), ts)
    confirmed(f"Undo {entry.summary()}?", yes)
    if not store_of(ctx).undo(entry):
        raise ValueError(f"{entry.op} cannot be taken back; it is not undoable, or no longer stands.")
    print(f"Undone: {entry.summary()}")


def entry_at(store: MemoryStore, ts: float) -> JournalEntry:
    found = store.journal.find_by_ts(ts)
    if found is None:
        raise ValueError(f"The journal has no entry at {ts:.3f}; `houkai journal tail` lists them.")
    return found


@maintenance.command()
def tick(ctx: typer.Context) -> None:
    """Do once what is due."""
    print(configured(store_of(ctx), load_maintenance()).tick().summary())


@maintenance.command()
def run(ctx: typer.Context) -> None:
    """Do what is due, until stopped."""
    known = load_maintenance()
    with told_by(known.pid_path), logging_to(known.log_path), stopping_on_signals() as stop:
        configured(store_of(ctx), known).run_forever(stop)


@maintenance.command()
def start(ctx: typer.Context) -> None:
    """Run in the background."""
    known, place = load_maintenance(), ctx.obj["config"]
    if daemon.is_alive(known.pid_path):
        raise ValueError("It is running already; `houkai maintenance stop` ends it.")
    pid = daemon.spawn_detached(place.store_path, place.collection, known.log_path, known.pid_path)
    print(f"Started as process {pid}")


@maintenance.command()
def stop() -> None:
    """End what runs in the background."""
    print("Stopped" if daemon.stop_daemon(load_maintenance().pid_path) else "Nothing was running")


@maintenance.command()
def status() -> None:
    """Whether it runs, and when each job last did."""
    known = load_maintenance()
    state = MaintenanceState.load(known.state_path)
    print("running" if daemon.is_alive(known.pid_path) else "not running")
    for job, last, total in (
        ("decay", state.last_decay_at, state.total_decayed),
        ("reflect", state.last_reflect_at, state.total_reflected),
    ):
        print(f"{job}: {'never' if last is None else fmt_age(last)}, {total} in all")
