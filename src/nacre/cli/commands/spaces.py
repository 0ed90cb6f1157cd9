"""nacre space: list, create, copy, rename and delete spaces."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import FirstByDefault, command, dry_run_option, form_option, option, why_option, yes_option
from nacre.cli.ui.output import Column, Form, print_items, say
from nacre.cli.ui.prompts import confirm_by_name, count_of
from nacre.cli.ui.records import count_column
from nacre.errors import InvalidInput, SpaceNotFound
from nacre.project import project_of
from nacre.settings import DEFAULT, PERSONAL

if TYPE_CHECKING:
    from nacre.engine.spaces import SpaceNote
    from nacre.memory_store import MemoryStore
    from nacre.project_store import ProjectStore
    from nacre.recall_options import Scope
    from nacre.settings import SpaceChoice


def rule(personal: str) -> str:
    """`personal` is the name of the personal space: on a server, each user has one of its own."""
    return (
        "The space is the one that you choose (--space, NACRE_SPACE or the setting space), else that of the project "
        f"(the repository of the folder, shared by its clones and worktrees), else {personal}. A project's memories "
        f"are searched together with those in {personal}."
    )


HOW_TO_STORE_THERE = "`nacre remember --personal` stores there."
EMPTY_STORE = "The store is empty; `nacre remember TEXT` stores a first memory."


@click.group("space", cls=FirstByDefault)
def space_command() -> None:
    """List, create, copy, rename or delete spaces.

    Each operation is in the journal of its space; `nacre --space NAME undo` takes it back.
    """


WHAT_SPACES_DOES = f"List the spaces, and say which this folder uses and why.\n\n{rule(PERSONAL)} {HOW_TO_STORE_THERE}"


@command("list", form_option(), group=space_command, help=WHAT_SPACES_DOES)
def spaces_command(cli: CliContext, form: Form) -> None:
    from nacre.project_store import known_spaces

    with cli.open(any_space=True, alone=False) as store:
        notes, known = store.space_notes(), known_spaces(store)
    choice = choice_on_server(store, cli.choose_space([*known, *(note.name for note in notes)]))
    uses = {choice.beside: "read", choice.space: "written and read"}
    columns: list[Column[SpaceNote]] = [
        Column("space", lambda note: note.name, style="cyan"),
        count_column("memories", lambda note: note.memories),
        Column("here", lambda note: uses.get(note.name, ""), only="table"),
        Column("description", lambda note: note.description, wide=True),
    ]

    def record(note: SpaceNote) -> dict[str, object]:
        fields = {"space": note.name, "memories": note.memories, "description": note.description}
        return {**fields, "here": uses.get(note.name, "")}

    print_items(notes, columns, record, form, EMPTY_STORE)
    say(
        *(["What is in the trash is counted, too."] if notes else []),
        rule(store.personal_space),
        f"Here: {choice.space}, because {choice.reason}{f'; {choice.beside} too' if choice.beside else ''}.",
    )
    say(*(how_to_copy(note, choice.space) for note in notes if is_unread_default(note, choice)))


def choice_on_server(store: ProjectStore, choice: SpaceChoice) -> SpaceChoice:
    """As the token changes it: see `RemoteProjectStore._in_chosen_space`. Unchanged for a store of this machine."""
    if store.personal_space == PERSONAL:
        return choice
    beside = store.beside.space if store.beside else ""
    if store.space == choice.space:
        return choice._replace(beside=beside)
    own = store.space == store.personal_space
    reason = f"{choice.reason}, and this is your own on this server" if own else "the token opens it alone"
    return choice._replace(space=store.space, reason=reason, beside=beside)


def is_unread_default(note: SpaceNote, choice: SpaceChoice) -> bool:
    return note.name == DEFAULT and note.memories > 0 and DEFAULT not in (choice.space, choice.beside)


def how_to_copy(note: SpaceNote, target: str) -> str:
    """It is never renamed: programs may use it."""
    return (
        f"{count_of(note.memories)} in {note.name}, the space of Python programs that name none; it is not read here. "
        f"`nacre space copy {quote(note.name)} {quote(target)}` copies what it has here (or name personal, for all "
        f"projects); `--space {quote(note.name)}` works there."
    )


@command("create NAME", why_option, group=space_command)
@option("-d --description TEXT", "What the space is for.", default="")
def create(cli: CliContext, name: str, description: str, why: str) -> None:
    """Create a space and say what it is for. One that nobody created begins with its first memory."""
    with cli.open_or_make() as store:
        made = store.create_space(name, description, why=why)
    say(
        f"Created the space {name}; --space {quote(name)} works in it." if made else f"The space {name} exists already."
    )


@command("copy SOURCE TARGET", dry_run_option, why_option, group=space_command)
def copy(cli: CliContext, source: str, target: str, dry_run: bool, why: str) -> None:
    """Bring the memories of SOURCE into TARGET too, with their fields, links and vectors; its trash stays behind.

    What TARGET has under the same id is left alone.
    """
    with open_space(cli, source) as store:
        copied = store.copy_space(target, dry_run=dry_run, why=why)
        left = store.count(**NOT_TRASHED) - len(copied)
    rest = f"; {left:,} were there already and stay as they are" if left > 0 else ""
    if dry_run:
        say(f"{count_of(len(copied))} would be copied from {source} to {target}{rest}; nothing was changed.")
    else:
        say(f"Copied {count_of(len(copied))} from {source} to {target}{rest}.")
        if copied:
            say(f"`nacre --space {quote(target)} undo` takes it back.")


@command("rename OLD NEW", dry_run_option, why_option, group=space_command)
def rename(cli: CliContext, old: str, new: str, dry_run: bool, why: str) -> None:
    """Rename the space OLD, with its journal and its vocabulary, to NEW.

    What the settings say of OLD stays as it is. A program that has OLD open begins an empty one if it writes. A project
    finds its space by the key at the end of its name (beta-7aa4e789), which has to stay.
    """
    usual = cli.settings()
    refuse_to_lose_memories(old, new)
    with open_space(cli, old) as store:
        if dry_run:
            say(f"{count_of(count_memories(store))} of {old} would be in {new}; nothing was changed.")
            return
        store.rename_space(new, why=why)
    say(f"The space {old} is now called {new}; `nacre --space {quote(new)} undo` takes it back.")
    if old and old in (usual.space, *usual.spaces):
        say(f"The settings still name {old}; `nacre config list --changed` shows where.")


def refuse_to_lose_memories(old: str, new: str) -> None:
    """Raises `InvalidInput` where commands, or the project of this folder, would no longer find these memories."""
    if old == PERSONAL and not new.startswith(f"{PERSONAL}@"):  # on a server it is each user's own
        raise InvalidInput(
            f"Commands read {PERSONAL} by its name, and would not find these memories under another; "
            f"`nacre space copy {PERSONAL} {quote(new)}` copies them."
        )
    project = project_of(Path.cwd())
    if project is None or not project.owns(old) or project.owns(new):
        return
    word, _, key = old.rpartition("-")
    raise InvalidInput(
        f"The project of this folder finds its space by the key {key} at the end of its name; "
        f"keep it and change the word before it, such as {word}2-{key}."
    )


@command("delete NAME", dry_run_option, yes_option, why_option, group=space_command)
@option("--purge", "Delete it for good, its trash too, instead of moving it to the trash.")
def delete(cli: CliContext, name: str, purge: bool, dry_run: bool, yes: bool, why: str) -> None:
    """Move all memories of a space to its trash, or with --purge delete them for good. Asks for the name again."""
    with open_space(cli, name) as store:
        total = count_memories(store) if purge else store.count(**NOT_TRASHED)
        action = "be deleted for good" if purge else "move to the trash"
        if dry_run:
            say(f"{count_of(total)} of {name} would {action}; nothing was changed.")
            return
        final = (
            "Not even `nacre undo` brings them back." if purge else f"`nacre --space {quote(name)} undo` takes it back."
        )
        confirm_by_name(f"{count_of(total)} of {name} will {action}. {final}", name, yes=yes)
        gone = store.delete_space(purge=purge, why=why)
    if purge:
        say(f"Deleted {count_of(gone)} of {name} for good.")
    else:
        say(f"Moved {count_of(gone)} of {name} to the trash; `nacre --space {quote(name)} undo` takes it back.")


NOT_TRASHED: Scope = {"include_superseded": True, "include_expired": True, "include_archived": True}


def open_space(cli: CliContext, name: str) -> MemoryStore:
    """The store in this space, which must be there: a mistyped name would silently mean an empty one."""
    cli.flags["space"] = name
    store = cli.open()
    notes = [note.name for note in store.space_notes()]
    if name not in notes and not store.journal(limit=1):
        store.close()
        raise SpaceNotFound(name, notes)
    return store


def count_memories(store: MemoryStore) -> int:
    return store.spaces().get(store.space, 0)
