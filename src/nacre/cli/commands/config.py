"""nacre config"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, UsageProblem
from nacre.cli.options import form_option, global_options
from nacre.cli.settings_values import plain, shown_value
from nacre.cli.ui.output import DATA, Column, print_data, print_items, put, say
from nacre.clients.settings_file import is_plain_key
from nacre.errors import ConfigError
from nacre.files import atomic_write, private_folder
from nacre.settings import PROJECT_FILE, TABLES, Setting, explained, from_file, project_file, user_config

if TYPE_CHECKING:
    from nacre.settings import Settings

SHARED = 0o644  # of a project's file, which others may read
project_option = click.option(
    "--project", is_flag=True, help=f"In the nearest {PROJECT_FILE} upwards, or a new one here, not in your own file."
)


@click.group("config")
def command() -> None:
    """See and change the settings, and where each comes from.

    An option wins over the environment (NACRE_STORE, …), this over the nearest .nacre.toml upwards, this over your own
    config.toml, and that over the default. Settings of one space alone are called spaces.NAME.KEY. A project's
    .nacre.toml may only choose a space of that project (or `personal`) and turn the hooks off, until you run
    `nacre trust` there.
    """


@command.command("list")
@click.option("--changed", is_flag=True, help="Only those that are not as the program has them by default.")
@form_option()
@global_options
@click.pass_obj
def list_command(cli: CliContext, changed: bool, form: str | None) -> None:
    """List every setting with its value and its source. Keys of services are not shown."""
    found = [each for each in explained(cli.flags, notify=cli.notify) if not changed or each.source != "default"]
    columns: list[Column[Setting]] = [
        Column("key", lambda each: each.key, lambda each: each.key, style="cyan"),
        Column("value", shown, shown, wide=True, wraps=True),
        Column("source", source_of, source_of, style="magenta"),
    ]
    print_items(found, columns, record, form)
    if not found:
        say("Everything is as the program has it by default; `nacre config set KEY VALUE` changes that.")


@command.command("get")
@click.argument("key")
@form_option("text", "json")
@global_options
@click.pass_obj
def get(cli: CliContext, key: str, form: str | None) -> None:
    """Print one setting, and on stderr where it comes from."""
    known = effective(cli)
    if key not in known:
        if key.partition(".")[0] in TABLES:
            raise NotFound(f"no file sets {key}; `nacre config set {key} VALUE` does.")
        raise unknown(key, list(known))
    found = known[key]
    if form in DATA:
        print_data({"key": key, "value": found.value, "source": found.source}, form)
    else:
        put(plain(found.value))
        say(f"from {found.source}")


@command.command("set")
@click.argument("key")
@click.argument("value")
@project_option
@global_options
@click.pass_obj
def set_command(cli: CliContext, key: str, value: str, project: bool) -> None:
    """Write one setting to your own file, or with --project to that of this folder. All else in it stays as it is."""
    from nacre.cli.settings_values import check_value
    from nacre.clients.settings_file import set_value

    file = chosen_file(project)
    check_key(key)
    check_value(key.rpartition(".")[2], value)
    check_together(cli, key.rpartition(".")[2], value)
    set_value(file, key, value)
    say(f"{file} now sets {key}.")
    if is_plain_key(key, value):
        say(f"The key lies in it as plain text; {key} can also be env:VARIABLE, file:PATH or keyring:NAME.")
    tell_overruled(cli, key, file)


def check_together(cli: CliContext, name: str, value: str) -> None:
    """A key and a journal mirror exclude each other; the store would refuse to open with both."""
    if name in ("key", "journal_mirror") and value:
        from dataclasses import replace

        from nacre.factory import check_mirror

        check_mirror(replace(cli.settings(), **{name: value}), "")  # type: ignore[arg-type]


@command.command("unset")
@click.argument("key")
@project_option
@global_options
@click.pass_obj
def unset_command(cli: CliContext, key: str, project: bool) -> None:
    """Take one setting out of your own file, or with --project out of that of this folder."""
    from nacre.clients.settings_file import unset

    file = chosen_file(project)
    check_key(key)
    if not unset(file, key):
        raise NotFound(f"{file} does not set {key}.")
    now = effective(cli).get(key)
    say(f"{file} no longer sets {key}." + (f" It is {shown(now) or 'empty'} now, from {now.source}." if now else ""))


@command.command("path")
@form_option("text", "json")
@global_options
@click.pass_obj
def path(cli: CliContext, form: str | None) -> None:  # noqa: ARG001 (every command takes the cli)
    """Print where the settings are: your own file, and this folder's where there is one."""
    own, nearest = user_config(), project_file(Path.cwd())
    if form in DATA:
        print_data({"user": str(own), "user_exists": own.is_file(), "project": str(nearest) if nearest else None}, form)
        return
    put(str(own))
    if nearest is not None:
        put(str(nearest))
    if not own.is_file():
        say("Your own file is not there yet; `nacre config set KEY VALUE` makes it.")


@command.command("edit")
@project_option
@global_options
@click.pass_obj
def edit(cli: CliContext, project: bool) -> None:
    """Open the file in your editor. What cannot be read as settings afterwards is not taken."""
    from nacre.cli.commands.edit import in_editor

    file = chosen_file(project)
    before = file.read_text("utf-8") if file.is_file() else ""
    after = in_editor(before, editor_of(cli), extension=".toml")
    if after is None or after == before:
        say("Nothing changed.")
        return
    take_over(file, after)
    say(f"Changed {file}.")


def editor_of(cli: CliContext) -> str:
    try:
        settings: Settings = cli.settings()
    except ConfigError:  # the very file that is to be mended
        return ""
    return settings.editor


def take_over(file: Path, text: str) -> None:
    """Read first under another name, which stays when it cannot be read: nobody types it twice."""
    from nacre.clients.settings_file import mode_for

    private_folder(file.parent)
    draft = file.with_name(f".{file.name}.draft")
    atomic_write(draft, text)  # for its owner alone: it may hold a key
    try:
        from_file(draft)
    except ConfigError as error:
        raise UsageProblem(f"{file} is as it was: {error} What you wrote is in {draft}.") from error
    usual = file.stat().st_mode & 0o777 if file.exists() else SHARED
    draft.chmod(mode_for(file, text) or usual)
    draft.replace(file.resolve())


def chosen_file(project: bool) -> Path:
    return (project_file(Path.cwd()) or Path.cwd() / PROJECT_FILE) if project else user_config()


def check_key(key: str) -> None:
    from nacre.clients.settings_file import keys, split_key

    if split_key(key)[-1] not in keys():
        raise unknown(key, list(keys()))


def unknown(key: str, known: list[str]) -> UsageProblem:
    near = get_close_matches(key.rpartition(".")[2].lower().replace("-", "_"), known, n=1, cutoff=0.5)
    remedy = f"did you mean {near[0]!r}?" if near else "`nacre config list` has them all."
    return UsageProblem(f"there is no setting {key!r}; {remedy}")


def effective(cli: CliContext) -> dict[str, Setting]:
    return {each.key: each for each in explained(cli.flags, notify=cli.notify) if not each.ignored}


def tell_overruled(cli: CliContext, key: str, file: Path) -> None:
    if any(each.ignored and each.key == key for each in explained(cli.flags, notify=cli.notify)):
        return  # the notice about the project's file says so
    found = effective(cli).get(key)
    if found is not None and Path(found.source).absolute() != file.absolute():
        say(f"It is {shown(found)} all the same: {found.source} wins over this file.")


def shown(setting: Setting) -> str:
    return shown_value(setting.key, setting.value)


def source_of(setting: Setting) -> str:
    return f"{setting.source} (ignored; see `nacre trust`)" if setting.ignored else setting.source


def record(setting: Setting) -> dict[str, object]:
    value = None if is_plain_key(setting.key, setting.value) else setting.value
    ignored = {"ignored": True} if setting.ignored else {}
    return {"key": setting.key, "value": value, "source": setting.source, **ignored}
