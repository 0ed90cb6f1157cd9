"""nacre trust"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.errors import NotFound, Refused, UsageProblem
from nacre.cli.options import form_option, yes_option
from nacre.cli.settings_values import shown_value
from nacre.cli.ui.output import Column, print_items, say
from nacre.cli.ui.prompts import confirm
from nacre.settings import HARMLESS, PROJECT_FILE, flat, parsed, project_file

if TYPE_CHECKING:
    from nacre.trust import Consent, ProjectFile


@click.command("trust")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--list", "listing", is_flag=True, help="List the files that you trust.")
@click.option("--remove", is_flag=True, help="Withdraw your consent for this folder.")
@yes_option
@form_option()
def command(folder: Path | None, listing: bool, remove: bool, yes: bool, form: str | None) -> None:
    """Allow what the .nacre.toml of a project sets, after showing it.

    Without this a project's file may only choose a space of that project (or `personal`) and turn the hooks off. Your
    consent holds for this file in this folder as it is now; once the file changes, it is ignored again.

    \b
      nacre trust                  the nearest .nacre.toml of this folder or above
      nacre trust ~/work/shop      that of another folder
      nacre trust --list
      nacre trust --remove
    """
    if listing and (remove or folder is not None):
        raise UsageProblem("--list shows every file that you trust; give it alone.")
    if listing:
        list_consents(form)
    elif remove:
        withdraw_consent(folder or Path.cwd())
    else:
        give_consent(folder or Path.cwd(), yes=yes, form=form)


def give_consent(folder: Path, *, yes: bool, form: str | None) -> None:
    from nacre.trust import agree, read_project_file

    if not folder.exists():
        raise NotFound(f"there is no folder {folder}.")
    file = project_file(folder.absolute())
    if file is None:
        raise NotFound(f"there is no {PROJECT_FILE} in {folder} or above it.")
    read = read_project_file(file)
    if read.fault:
        raise Refused(read.fault)
    if read.trusted:
        say(f"You trust {file} already.")
        return
    show(read, form)
    if not yes:
        confirm(f"Let {file} set this? Check every URL, path and program in it.")
    agree(read)
    say(f"{file} is trusted until it changes; `nacre trust --remove` withdraws that.")


def show(read: ProjectFile, form: str | None) -> None:
    values = flat(parsed(read.content, read.file))
    columns: list[Column[tuple[str, object]]] = [
        Column("key", lambda each: each[0], lambda each: each[0], style="cyan"),
        Column("value", lambda each: shown_value(*each), lambda each: shown_value(*each), wide=True, wraps=True),
        Column("needs consent", needs_consent(read), needs_consent(read), style="magenta"),
    ]
    print_items(values, columns, lambda each: {"key": each[0], "value": shown_value(*each)}, form)
    if not values:
        say(f"{read.file} sets nothing.")


def needs_consent(read: ProjectFile) -> Callable[[tuple[str, object]], str]:
    def answer(each: tuple[str, object]) -> str:
        key, value = each
        return "no" if key in HARMLESS and HARMLESS[key](value, read.file) else "yes"

    return answer


def withdraw_consent(folder: Path) -> None:
    """The folder may be gone, or its file: the consent is found by its path."""
    from nacre.trust import withdraw

    start = folder.absolute()
    for at in (start, *start.parents):
        if withdraw(at / PROJECT_FILE):
            say(f"{at / PROJECT_FILE} is no longer trusted.")
            return
    raise NotFound(f"you trust no {PROJECT_FILE} in {folder} or above it; `nacre trust --list` shows which.")


def list_consents(form: str | None) -> None:
    from nacre.model.instants import iso
    from nacre.trust import consents, state_of

    found = consents()
    columns: list[Column[Consent]] = [
        Column("file", lambda each: each.file, lambda each: each.file, style="cyan", wide=True, wraps=True),
        Column("state", state_of, state_of),
        Column("since", lambda each: iso(each.at), lambda each: iso(each.at)[:10]),
    ]
    print_items(found, columns, lambda each: {"file": each.file, "state": state_of(each), "since": iso(each.at)}, form)
    if not found:
        say("You trust no project's settings; `nacre trust` in a folder allows what its file sets.")
