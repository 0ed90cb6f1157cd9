"""nacre completion, and what a shell completes: commands, spaces, types, tags and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from nacre.cli.catalogue import COMMANDS
from nacre.cli.cli_context import CliContext
from nacre.cli.options import command
from nacre.cli.ui.output import put, say
from nacre.cli.ui.records import excerpt
from nacre.errors import NacreError
from nacre.model import Filter

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

Completer: TypeAlias = "Callable[[MemoryStore, str], Iterable[CompletionItem]]"
VARIABLE = "_NACRE_COMPLETE"
MOST = 50  # ids: a list that fills the screen helps nobody


class QuotingBash(BashComplete):
    """Click's own, which leaves a name with a blank in it two words; the other shells quote by themselves."""

    source_template = BashComplete.source_template.replace("read type value", "read -r type value").replace(
        "COMPREPLY+=($value)", 'COMPREPLY+=("$(printf %%q "$value")")'
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": QuotingBash, "zsh": ZshComplete, "fish": FishComplete}
# Arguments and options, by command, that are the names of spaces.
SPACES = frozenset(
    ("space copy source", "space copy target", "space rename old", "space delete name", "memory move to")
)
NAMING_GROUPS = {"space", "entities"}  # an argument of their commands is a name, never an id
# Names of arguments and options of all other commands.
IDS = frozenset("id ids old new source target start end keep others about a b".split())


class CompletedType(click.ParamType):  # type: ignore[type-arg]
    """Checks values as the type `kind` does, and completes what the store knows."""

    def __init__(self, kind: click.ParamType, asked: Completer) -> None:  # type: ignore[type-arg]
        self.name = kind.name
        self.kind = kind
        self.asked = asked

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        return self.kind.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        with open_for_completion(ctx) as store:
            value = self.asked(store, incomplete) if store is not None else ()
            return [item for item in value if str(item.value).startswith(incomplete)]


@contextmanager
def open_for_completion(ctx: click.Context) -> Iterator[MemoryStore | None]:
    """None where there is no store to look into: a key that is pressed must neither make one nor complain."""
    from nacre.cli.cli_context import store_exists

    cli = ctx.find_object(CliContext) or CliContext()
    options = ctx.find_root().params
    cli.may_ask = False
    cli.flags |= {name: options[name] for name in ("store", "space") if options.get(name)}
    try:
        if store_exists(cli.settings()):
            with cli.open_with_personal() as store:
                yield store
                return
    except NacreError:
        pass
    yield None


def spaces(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(note.name, help=f"{note.memories:,} memories") for note in store.space_notes()]


def types(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in store.types()]


def tags(store: MemoryStore, _incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=f"{count:,} memories") for name, count in store.tally("tags").items()]


def ids(store: MemoryStore, incomplete: str) -> list[CompletionItem]:
    begins = Filter.where(id__ge=incomplete, id__lt=incomplete + "\U0010ffff") if incomplete else None
    return [CompletionItem(memory.id, help=excerpt(memory)) for memory in store.list_recent(MOST, where=begins)]


def add_completion(command: click.Command, group: str = "") -> click.Command:
    """The command with parameters that know what to offer, its subcommands too."""
    name = f"{group} {command.name}".strip()
    for param in command.params:
        if asked := completion_of(param, name):
            param.type = CompletedType(param.type, asked)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_completion(inner, name)
    return command


def completion_of(param: click.Parameter, command_name: str) -> Completer | None:
    """`command_name` begins with the name of its group."""
    if isinstance(param.type, click.Choice | click.Path | CompletedType):
        return None
    if param.name in ("space", "spaces") or f"{command_name} {param.name}" in SPACES:
        return spaces
    if "--type" in param.opts:
        return types
    if {"--tag", "--remove", "--remove-tag"} & set(param.opts):
        return tags
    if NAMING_GROUPS & set(command_name.split()):
        return None
    if param.name in IDS and (isinstance(param, click.Argument) or "--id" in param.opts):
        return ids
    return None


def commands(incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=entry.help) for name, entry in COMMANDS.items() if name.startswith(incomplete)]


def script(shell: str) -> str:
    """Click's own, without its question to the installed shell: it may be printed for another machine."""
    from nacre.cli.main import nacre

    completer = SHELLS[shell](nacre, {}, "nacre", VARIABLE)
    return completer.source_template % completer.source_vars()


INSTALL_COMMANDS = {
    "bash": "D=~/.local/share/bash-completion/completions; mkdir -p $D && nacre completion bash > $D/nacre",
    "zsh": 'mkdir -p "${fpath[1]}" && nacre completion zsh > "${fpath[1]}/_nacre"',
    "fish": "mkdir -p ~/.config/fish/completions && nacre completion fish > ~/.config/fish/completions/nacre.fish",
}


@command("completion")
@click.argument("shell", type=click.Choice(list(INSTALL_COMMANDS)))
def completion_command(_cli: CliContext, shell: str) -> None:
    """Let your shell complete commands, options, spaces, types and ids, with the script that this prints.

    \b
      D=~/.local/share/bash-completion/completions; mkdir -p $D && nacre completion bash > $D/nacre
      mkdir -p "${fpath[1]}" && nacre completion zsh > "${fpath[1]}/_nacre"
      mkdir -p ~/.config/fish/completions && nacre completion fish > ~/.config/fish/completions/nacre.fish

    A new shell completes from then on. For this one alone: eval "$(nacre completion bash)".
    """

    put(script(shell))
    say(f"To install it:  {INSTALL_COMMANDS[shell]}")
