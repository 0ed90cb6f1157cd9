"""What every command of `houkai` takes and asks for: its options, its store, a yes."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from ..memory_system import MemoryStore

Ids = Annotated[list[str], typer.Argument()]
Kind = Annotated[str | None, typer.Option("--type", "-t")]
Tag = Annotated[str | None, typer.Option("--tag", "-g")]
Tags = Annotated[list[str] | None, typer.Option("--tag", "-g")]
Least = Annotated[float | None, typer.Option("--min-importance")]
Hidden = Annotated[bool, typer.Option("--include-superseded")]
Fmt = Annotated[str, typer.Option("--format", "-f")]
Yes = Annotated[bool, typer.Option("--yes", "-y")]
Apply = Annotated[bool, typer.Option("--apply")]
Rel = Annotated[str | None, typer.Option("--rel")]


def store_of(ctx: typer.Context) -> MemoryStore:
    return cast(MemoryStore, ctx.obj["store"])


def confirmed(question: str, yes: bool) -> None:
    """Ends the command where the answer is no."""
    if not yes and not typer.confirm(question):
        raise typer.Exit(1)
