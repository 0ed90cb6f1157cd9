"""nacre config and nacre config trust: settings, their sources, and which project files you trust."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, Refused, UsageProblem
from nacre.cli.options import PATH, ValueCommand, command, form_option, option, yes_option
from nacre.cli.ui.output import DATA, Column, Form, print_data, print_items, put, say
from nacre.cli.ui.prompts import confirm
from nacre.clients.settings_file import is_plain_key
from nacre.errors import UnknownName, nearest_name
from nacre.settings import (
    DEFAULT,
    HARMLESS,
    KEY_FILE,
    KEY_PLACES,
    PROJECT_FILE,
    TABLES,
    Setting,
    Settings,
    converted,
    descriptions,
    flat,
    harmless_value,
    loaded,
    parsed,
    project_file,
    public_value,
    settings_with_sources,
    user_config,
    with_full_paths,
)

if TYPE_CHECKING:
    from nacre.trust import Consent, ProjectFile


def check_value(key: str, value: str) -> None:
    """Raises the error that the first use of the setting would raise."""
    if key == "key" and value and not value.startswith(KEY_PLACES):
        raise UsageProblem(
            "the setting `key` says where the key is: env:VARIABLE, file:PATH or keyring:NAME. Nothing was written; "
            "the key itself never belongs into a settings file."
        )
    if key == "space":
        from nacre.model.validate import space_name

        space_name(value)
    converted(key, value, "The command line")
    values = descriptions()[key].values
    if values and value not in (*values, getattr(Settings(), key)):
        raise UnknownName(f"value of {key}", value, values)
    if key.endswith("_every"):
        from dataclasses import replace

        from nacre.lifecycle.scheduler import intervals

        intervals(replace(Settings(), **{key: value}))  # type: ignore[arg-type]
    if key == "embedder":
        from nacre.factory import EMBEDDERS

        kind, _, model = value.partition(":")
        if (value not in EMBEDDERS or ":" in value) and not (kind in ("openai", "sentence-transformers") and model):
            raise UnknownName("embedder", value, EMBEDDERS)


def value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def masked_value(key: str, value: object) -> str:
    return "(set, not shown)" if is_plain_key(key, value) else value_text(public_value(key, value))


project_option = option("--project", f"In the nearest {PROJECT_FILE} upwards, or a new one here, not in your own file.")


@click.group("config", cls=HelpGroup)
def config_command() -> None:
    """Show and change the settings, and where each comes from.

    An option wins over the environment (NACRE_STORE, …), this over the nearest .nacre.toml upwards, this over your own
    config.toml, and that over the default. Settings of one space alone are called spaces.NAME.KEY: in that space they
    win over the environment and the files; an argument of the call (--on-conflict) wins over them. A project's
    .nacre.toml may only choose a space of that project and turn the hooks off, until you run `nacre config trust`
    there.
    """


@command("list", form_option(), group=config_command)
@option("--changed", "Only those that are not as the program has them by default.")
def list_command(cli: CliContext, changed: bool, form: Form) -> None:
    """List every setting with its value and its source. Keys of services are not shown."""
    known = settings_with_sources(cli.flags, notify=cli.notify)
    settings = [each for each in known if not changed or each.source != "default"]
    columns: list[Column[Setting]] = [
        Column("key", lambda each: each.key, style="cyan"),
        Column("value", lambda each: masked_value(each.key, each.value), wide=True, wraps=True),
        Column("source", source_of, style="magenta"),
    ]
    empty = "Everything is as the program has it by default; `nacre config set KEY VALUE` changes that."
    print_items(settings, columns, setting_record, form, empty)


@command("get KEY", form_option("text", "json"), group=config_command)
def get(cli: CliContext, key: str, form: Form) -> None:
    """Print one setting as it is in this space, and on stderr where it comes from."""
    known = effective_settings(cli)
    if key not in known:
        if key.partition(".")[0] in TABLES:
            raise NotFound(f"no file sets {key}; `nacre config set {key} VALUE` does.")
        raise unknown_setting(key, list(known))
    space = cli.choose_space().space
    of_space = known.get(f"spaces.{space}.{key}")
    setting = of_space or known[key]
    if form in DATA:
        print_data({"key": setting.key, "value": setting.value, "source": setting.source}, form)
    else:
        put(value_text(setting.value))
        say(f"from {setting.source}" + (f", for the space {space!r} alone" if of_space else ""))


@command("describe [KEY]", form_option(), group=config_command)
def describe(_cli: CliContext, key: str | None, form: Form) -> None:
    """Say what each setting means, or the one of this name, with its type, its default and an example."""
    if key is not None:
        check_key(key)

    def default(name: str) -> str:
        return value_text(getattr(Settings(), name))

    def meaning(name: str) -> str:
        known = descriptions()[name]
        kind = f"One of: {', '.join(known.values)}." if known.values else f"Type: {known.type}."
        return f"{known.about} {kind} Example: {known.example}"

    columns: list[Column[str]] = [
        Column("key", lambda name: name, style="cyan"),
        Column("default", default, style="magenta"),
        Column("meaning", meaning, wide=True, wraps=True),
    ]

    def record(name: str) -> dict[str, object]:
        return {"key": name, **descriptions()[name]._asdict(), "default": getattr(Settings(), name)}

    print_items([key] if key else list(descriptions()), columns, record, form)


@command("set KEY VALUE", project_option, group=config_command, cls=ValueCommand)
def set_command(cli: CliContext, key: str, value: str, project: bool) -> None:
    """Write one setting to your own file, or with --project to that of this folder. All else in it stays as it is.

    A relative path starts from the current folder and is written in full; with --project it stays, and starts from the
    folder of that file, which stays trusted if it was, or is new.
    """
    from nacre.clients.settings_file import set_value

    file = chosen_file(project)
    check_key(key)
    value = value if project else with_full_path(key.rpartition(".")[2], value)
    check_value(key.rpartition(".")[2], value)
    check_together(cli, key.rpartition(".")[2], value)
    before = effective_settings(cli).get(key)
    own = own_content(file) if project else None
    if project and own is None:
        refuse_ignored(file, key, value)
    set_value(file, key, value)
    if own is not None:
        consent_to_change(file, own, key)
    say(f"{file} now sets {key}{change_text(key, before, value)}.")
    if is_plain_key(key, value):
        say(f"The file holds the key as plain text; {key} can also be env:VARIABLE, file:PATH or keyring:NAME.")
    report_overridden(cli, key, file)


def own_content(file: Path) -> bytes | None:
    """Of a project's file that is all the user's own doing, so that a change needs no further consent: it is not there
    yet, or it is trusted as it is. None of any other."""
    from nacre.trust import read_project_file

    if not os.path.lexists(file):
        return b""
    read = read_project_file(file)
    return read.content if read.trusted else None


def consent_to_change(file: Path, before: bytes, key: str) -> None:
    """For what a command has just written, if nothing but this key differs: somebody else may write the file at the
    same time. A file that may not be used at all stays so, and every command says why."""
    from nacre.trust import agree, read_project_file

    def others(content: bytes) -> dict[str, object]:
        return {name: value for name, value in flat(loaded(content, file)) if name != key}

    read = read_project_file(file)
    if not read.fault and others(read.content) == others(before):
        agree(read)


def refuse_ignored(file: Path, key: str, value: str) -> None:
    """Raises `Refused` for what a file that the user does not trust may not set."""
    if key in HARMLESS and harmless_value(key, {key: value}, file) is not None:
        return
    raise Refused(
        f"{file} is not trusted, so that it may not set {key} to this; run `nacre config trust` there first, or leave "
        "out --project to write to your own file."
    )


def with_full_path(name: str, value: str) -> str:
    """A path from the home folder stays as it is typed: every settings file means the same by it."""
    if value.removeprefix(KEY_FILE).startswith("~"):
        return value
    return str(with_full_paths({name: value}, Path.cwd(), "The command line")[name])


def check_together(cli: CliContext, name: str, value: str) -> None:
    """A type is one that the store has. A key and a journal mirror exclude each other; the store would refuse to open
    with both."""
    if name == "default_type":
        from nacre.model.validate import check_type

        with cli.open_if_it_exists() as store:
            check_type(value, store.types())
    if name in ("key", "journal_mirror") and value:
        from dataclasses import replace

        from nacre.factory import check_mirror

        check_mirror(replace(cli.settings(), **{name: value}), "")  # type: ignore[arg-type]


@command("unset KEY", group=config_command)
@option("--project", f"From the nearest {PROJECT_FILE} upwards, not from your own file.")
def unset_command(cli: CliContext, key: str, project: bool) -> None:
    """Remove one setting from your own file, or with --project from that of this folder."""
    from nacre.clients.settings_file import unset

    file = chosen_file(project)
    check_key(key)
    own = own_content(file) if project else None
    if not unset(file, key):
        raise NotFound(f"{file} does not set {key}.")
    if own is not None:
        consent_to_change(file, own, key)
    now = effective_settings(cli).get(key)
    value = ""
    if now is not None:
        source = "the default" if now.source == DEFAULT else f"from {now.source}"
        value = f" It is {masked_value(key, now.value) or 'empty'} now, {source}."
    say(f"{file} no longer sets {key}.{value}")


@command("path", form_option("text", "json"), group=config_command)
def path(cli: CliContext, form: Form) -> None:  # noqa: ARG001 (every command takes the cli)
    """Print where the settings are: your own file, and this folder's where there is one."""
    own, nearest = user_config(), project_file(Path.cwd())
    if form in DATA:
        print_data({"user": str(own), "user_exists": own.is_file(), "project": str(nearest) if nearest else None}, form)
        return
    put("\n".join(map(str, filter(None, (own, nearest)))))
    if not own.is_file():
        say("Your own file is not there yet; `nacre config set KEY VALUE` makes it.")


def chosen_file(project: bool) -> Path:
    return (project_file(Path.cwd()) or Path.cwd() / PROJECT_FILE) if project else user_config()


def check_key(key: str) -> None:
    from nacre.clients.settings_file import keys, split_key

    if split_key(key)[-1] not in keys():
        raise unknown_setting(key, list(keys()))


def unknown_setting(key: str, known: list[str]) -> UsageProblem:
    near = nearest_name(key.rpartition(".")[2].lower().replace("-", "_"), known)
    remedy = f"did you mean {near!r}?" if near else "`nacre config list` has them all."
    return UsageProblem(f"there is no setting {key!r}; {remedy}")


def effective_settings(cli: CliContext) -> dict[str, Setting]:
    return {each.key: each for each in settings_with_sources(cli.flags, notify=cli.notify) if not each.ignored}


def change_text(key: str, before: Setting | None, value: str) -> str:
    """The new value and what it was; nothing of a value that is a secret."""
    if is_plain_key(key, value):
        return ""
    old = "" if before is None else masked_value(key, before.value)
    new = masked_value(key, value)
    return f" to {new}" + (f"; it was {old or 'empty'}" if before is not None and old != new else "")


def report_overridden(cli: CliContext, key: str, file: Path) -> None:
    if any(each.ignored and each.key == key for each in settings_with_sources(cli.flags, notify=cli.notify)):
        return  # the notice about the project's file says so
    setting = effective_settings(cli).get(key)
    if setting is not None and Path(setting.source).absolute() != file.absolute():
        say(f"It is {masked_value(key, setting.value)} all the same: {setting.source} wins over this file.")


def source_of(setting: Setting) -> str:
    return f"{setting.source} (ignored; see `nacre config trust`)" if setting.ignored else setting.source


def setting_record(setting: Setting) -> dict[str, object]:
    value = None if is_plain_key(setting.key, setting.value) else public_value(setting.key, setting.value)
    ignored = {"ignored": True} if setting.ignored else {}
    return {"key": setting.key, "value": value, "source": setting.source, **ignored}


@command("trust", yes_option, form_option(), group=config_command)
@click.argument("folder", type=PATH, required=False)
@option("--list", "List the files that you trust.", to="listing")
@option("--remove", "Withdraw your consent for this folder.")
def trust_command(_cli: CliContext, folder: Path | None, listing: bool, remove: bool, yes: bool, form: Form) -> None:
    """Allow what the .nacre.toml of a project sets, after showing it.

    Without this a project's file may only choose a space of that project and turn the hooks off. Your
    consent holds for this file in this folder as it is now; once the file changes, it is ignored again.

    \b
      nacre config trust                  the nearest .nacre.toml of this folder or above
      nacre config trust ~/projects/shop  that of another folder
      nacre config trust --list
      nacre config trust --remove
    """
    if listing and (remove or folder is not None):
        raise UsageProblem("--list shows every file that you trust; give it alone.")
    if listing:
        list_consents(form)
    elif remove:
        withdraw_consent(folder or Path.cwd())
    else:
        give_consent(folder or Path.cwd(), yes=yes, form=form)


def give_consent(folder: Path, *, yes: bool, form: Form) -> None:
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
    show_project_file(read, form)
    confirm(f"Let {file} set this? Check every URL, path and program in it.", yes=yes)
    agree(read)
    say(f"{file} is trusted until it changes; `nacre config trust --remove` withdraws that.")


def show_project_file(read: ProjectFile, form: Form) -> None:
    def needs_consent(each: tuple[str, object]) -> str:
        key, value = each
        return "no" if key in HARMLESS and HARMLESS[key](value, read.file) else "yes"

    values = flat(parsed(read.content, read.file))
    columns: list[Column[tuple[str, object]]] = [
        Column("key", lambda each: each[0], style="cyan"),
        Column("value", lambda each: masked_value(*each), wide=True, wraps=True),
        Column("needs consent", needs_consent, style="magenta"),
    ]
    empty = f"{read.file} sets nothing."
    print_items(values, columns, lambda each: {"key": each[0], "value": masked_value(*each)}, form, empty)


def withdraw_consent(folder: Path) -> None:
    """The folder may be gone, or its file: the consent is found by its path."""
    from nacre.trust import withdraw

    start = folder.absolute()
    for at in (start, *start.parents):
        if withdraw(at / PROJECT_FILE):
            say(f"{at / PROJECT_FILE} is no longer trusted.")
            return
    raise NotFound(f"you trust no {PROJECT_FILE} in {folder} or above it; `nacre config trust --list` shows which.")


def list_consents(form: Form) -> None:
    from nacre.model.instants import iso
    from nacre.trust import consents, state_of

    trusted = consents()
    columns: list[Column[Consent]] = [
        Column("file", lambda each: each.file, style="cyan", wide=True, wraps=True),
        Column("state", state_of),
        Column("since", lambda each: iso(each.at), lambda each: iso(each.at)[:10]),
    ]

    def record(each: Consent) -> dict[str, object]:
        return {"file": each.file, "state": state_of(each), "since": iso(each.at)}

    empty = "You trust no project's settings; `nacre config trust` in a folder allows what its file sets."
    print_items(trusted, columns, record, form, empty)
