"""A group that imports a command when it is run, lists them by section, and says which one may have been meant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches

import click


class LazyGroup(click.Group, ABC):
    """`sections` holds each command's line of help under its heading, `called` is how the group itself is called."""

    called = "nacre"
    sections: Mapping[str, Mapping[str, str]] = {}

    @abstractmethod
    def load(self, name: str) -> click.Command: ...

    @property
    def lines(self) -> dict[str, str]:
        return {name: line for commands in self.sections.values() for name, line in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return self.load(cmd_name) if cmd_name in self.lines else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.lines and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, self.lines, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]!r}?" if near else f"`{self.called} --help` lists them all."
            raise click.UsageError(f"No such command {name!r}. {remedy}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, self.lines))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, line in commands.items()])
