"""What `install` and `uninstall` share: the installer of a client, made from the options and the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import UsageProblem
from nacre.cli.options import F, combine

if TYPE_CHECKING:
    from nacre.clients.installer import Installer
    from nacre.settings import Settings

SERVER = "nacre"
OF_THE_STORE = ("key", "embedder", "embedder_url")  # without these a server might not open it, or not find in it


def client_options(command: F) -> F:
    return combine(
        click.option("--project", is_flag=True, help="For the project in this folder alone, not for you everywhere."),
        click.option("--server-name", default=SERVER, show_default=True, metavar="NAME", help="The server's name."),
    )(command)


def client_argument(command: F) -> F:
    return click.argument("client", metavar="CLIENT", required=False)(command)


def installer_of(cli: CliContext, client: str, *, project: bool, server_name: str, profile: str = "") -> Installer:
    from nacre.clients.registry import installer_for

    kind = installer_for(client)
    folder = Path.cwd() if project else None
    if folder is not None and kind.project_path(folder) is None:
        raise UsageProblem(f"{kind.title} knows no settings of a project; leave out --project.")
    found = settings_for(cli, folder)
    return kind(
        store=found.store,
        space="" if found.space == "default" else found.space,
        settings_path="",
        server_name=server_name,
        extra_env=environment_of(cli),
        profile=profile,
        folder=folder,
        overwrite_unparseable=False,
    )


def settings_for(cli: CliContext, folder: Path | None) -> Settings:
    """A server for all projects must not take the store of the one that this command happens to be called in."""
    from nacre.settings import settings

    return settings(cli.flags, folder=folder or Path(Path.cwd().anchor), notify=cli.notify)


def environment_of(cli: CliContext) -> Mapping[str, str]:
    """What only this shell knows, and a client that is started elsewhere would not."""
    from nacre.settings import ENVIRONMENT

    names = {ENVIRONMENT + name.upper(): name for name in OF_THE_STORE}
    given = {variable: cli.flags.get(name) or os.environ.get(variable, "") for variable, name in names.items()}
    return {variable: value for variable, value in given.items() if value.strip()}


def named(client: str | None) -> str:
    from nacre.clients.registry import INSTALLERS

    if client is None:
        raise UsageProblem(f"name a client: {', '.join(INSTALLERS)}; `nacre install --list` tells which are here.")
    return client
