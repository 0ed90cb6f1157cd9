"""What a shell completes beside commands and options: spaces, types, tags and ids that are in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from nacre.cli.catalogue import HELP
from nacre.cli.cli_context import CliContext
from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

Asked: TypeAlias = "Callable[[MemoryStore, str], Iterable[CompletionItem]]"
VARIABLE = "_NACRE_COMPLETE"
MOST = 50  # ids: a list that fills the screen helps nobody
SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
# Names of arguments and options, as the commands have them.
IDS = frozenset("id ids old new source target start end keep others about".split())


class Completed(click.ParamType):  # type: ignore[type-arg]
    """Checks as the type that it stands for, and completes what the store knows."""

    def __init__(self, kind: click.ParamType, asked: Asked) -> None:  # type: ignore[type-arg]
        self.name = kind.name
        self.kind = kind
        self.asked = asked

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        return self.kind.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        with looking(ctx) as store:
            found = self.asked(store, incomplete) if store is not None else ()
            return [item for item in found if str(item.value).startswith(incomplete)]


@contextmanager
def looking(ctx: click.Context) -> Iterator[MemoryStore | None]:
    """None where there is no store to look into: a key that is pressed must neither make one nor complain."""
    from nacre.factory import store_file

    cli = ctx.find_object(CliContext) or CliContext()
    cli.flags |= {name: value for name in ("store", "space") if (value := given(ctx, name))}
    try:
        if store_file(cli.settings().store).is_file():
            with cli.open() as store:
                yield store
                return
    except NacreError:
        pass
    yield None


def given(ctx: click.Context, name: str) -> str:
    found = ctx.find_root().params.get(name)
    return found if isinstance(found, str) else ""


def spaces(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(note.name, help=f"{note.memories:,} memories") for note in store.space_notes()]


def types(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in store.types()]


def tags(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=f"{count:,} memories") for name, count in store.tally("tags").items()]


def ids(store: MemoryStore, incomplete: str) -> list[CompletionItem]:
    from nacre.cli.ui.columns import excerpt
    from nacre.model import Filter

    begins = Filter.where(id__ge=incomplete, id__lt=incomplete + "\U0010ffff") if incomplete else None
    return [CompletionItem(memory.id, help=excerpt(memory)) for memory in store.list_recent(MOST, where=begins)]


def completing(command: click.Command) -> click.Command:
    """The command with parameters that know what to offer, its subcommands too."""
    for param in command.params:
        if asked := offered(param):
            param.type = Completed(param.type, asked)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            completing(inner)
    return command


def offered(param: click.Parameter) -> Asked | None:
    if isinstance(param.type, click.Choice | click.Path | Completed):
        return None
    if param.name in ("space", "spaces"):
        return spaces
    if "--type" in param.opts:
        return types
    if {"--tag", "--remove", "--remove-tag"} & set(param.opts):
        return tags
    if param.name in IDS and (isinstance(param, click.Argument) or "--id" in param.opts):
        return ids
    return None


def commands(incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=line) for name, line in HELP.items() if name.startswith(incomplete)]


def script(shell: str) -> str:
    """Click's own, without its question to the installed shell: it may be printed for another machine."""
    from nacre.cli.main import nacre

    shown = SHELLS[shell](nacre, {}, "nacre", VARIABLE)
    return shown.source_template % shown.source_vars()
