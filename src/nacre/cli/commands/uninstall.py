"""nacre uninstall"""

from __future__ import annotations

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.clients import client_argument, client_options, installer_of, named
from nacre.cli.errors import NotFound
from nacre.cli.options import global_options
from nacre.cli.ui.output import say


@click.command("uninstall")
@client_argument
@client_options
@global_options
@click.pass_obj
def command(cli: CliContext, client: str | None, project: bool, server_name: str) -> None:
    """Take this memory out of an agent's program again: the server, the hooks, the guidance, and nothing else.

    The memories themselves stay where they are. Ends with code 1 where there was nothing to take out.
    """
    from nacre.clients.claude_code import ClaudeCodeInstaller

    installer = installer_of(cli, named(client), project=project, server_name=server_name)
    removed = [("the server", installer.path)] if installer.uninstall() else []
    if isinstance(installer, ClaudeCodeInstaller) and installer.remove_hooks():
        removed.append(("the hooks", installer.hooks_path))
    if (place := installer.guidance_path()) is not None and installer.remove_guidance():
        removed.append(("the guidance", place))
    for what, file in removed:
        say(f"Took {what} out of {file}.")
    if not removed:
        raise NotFound(f"{installer.path} holds no server {server_name!r}; `nacre install --list` tells more.")
