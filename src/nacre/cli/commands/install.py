"""nacre install and uninstall: set this memory up in an agent program."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.commands.agents import PROFILES
from nacre.cli.errors import NotFound, UsageProblem
from nacre.cli.options import F, combine, command, form_option, yes_option
from nacre.cli.ui.output import Column, print_items, put, say
from nacre.cli.ui.prompts import confirm
from nacre.errors import ConfigError

if TYPE_CHECKING:
    from nacre.clients.claude_code import ClaudeCodeInstaller
    from nacre.clients.files import FileChange
    from nacre.clients.installer import Installer

SERVER = "nacre"
STORE_SETTINGS = ("key", "embedder", "embedder_url")  # without these a server might not open it, or not find in it


client_argument = click.argument("client", metavar="CLIENT", required=False)


def client_options(command: F) -> F:
    return combine(
        click.option("--project", is_flag=True, help="For the project in this folder alone, not for you everywhere."),
        click.option("--server-name", default=SERVER, show_default=True, metavar="NAME", help="The server's name."),
    )(command)


def make_installer(
    cli: CliContext, client: str | None, *, project: bool, server_name: str, profile: str = ""
) -> Installer:
    from nacre.clients.registry import INSTALLERS, installer_for
    from nacre.settings import settings

    if client is None:
        raise UsageProblem(f"name a client: {', '.join(INSTALLERS)}; `nacre install --list` shows which are here.")
    kind = installer_for(client)
    folder = Path.cwd() if project else None
    if folder is not None and kind.project_path(folder) is None:
        raise UsageProblem(f"{kind.title} knows no settings of a project; leave out --project.")
    # A server for all projects must not take the store of the one that this command happens to be called in.
    known = settings(cli.flags, folder=folder or Path(Path.cwd().anchor), notify=cli.notify)
    return kind(
        store=known.store,
        space="" if known.space == "default" else known.space,
        settings_path="",
        server_name=server_name,
        extra_env=shell_environment(cli),
        profile=profile,
        folder=folder,
        overwrite_unparseable=False,
    )


def shell_environment(cli: CliContext) -> Mapping[str, str]:
    """What only this shell knows, and a client that is started elsewhere would not."""
    from nacre.settings import ENVIRONMENT

    names = {ENVIRONMENT + name.upper(): name for name in STORE_SETTINGS}
    values = {variable: cli.flags.get(name) or os.environ.get(variable, "") for variable, name in names.items()}
    return {variable: value for variable, value in values.items() if value.strip()}


@command("install")
@client_argument
@click.option("--list", "listing", is_flag=True, help="List the clients on this machine, and end.")
@client_options
@click.option("--profile", type=click.Choice(PROFILES), help="Which tools the server shows.")
@click.option("--hooks", is_flag=True, help="Also recall before prompts and keep what is said (claude-code).")
@click.option("--print", "printing", is_flag=True, help="Print what would be written, and write nothing.")
@click.option("--guidance", is_flag=True, help="Print what to tell the agent about its memory, and end.")
@click.option("--write-guidance", is_flag=True, help="Also write that into the client's file of instructions.")
@click.option("--verify", is_flag=True, help="Start the server as the client would, and list its tools.")
@click.option("--force", is_flag=True, help="Replace settings that cannot be read; the old file is kept.")
@yes_option
@form_option()
def install_command(
    cli: CliContext, client: str | None, listing: bool, project: bool, server_name: str, profile: str | None,
    hooks: bool, printing: bool, guidance: bool, write_guidance: bool, verify: bool, force: bool, yes: bool,
    form: str | None,
) -> None:  # fmt: skip
    """Set this memory up in an agent's program: claude-code, claude-desktop, cursor, vscode, windsurf, codex,
    gemini-cli or opencode.

    \b
      nacre install --list
      nacre install claude-code --hooks --write-guidance
      nacre install cursor --project

    Only the entry of this server is written; all else in the file stays as it is, and the old file is kept beside it.
    The store and the space are those that the settings name now; --store and --space choose others.
    """
    if listing:
        list_clients(cli, server_name, form)
        return
    installer = make_installer(cli, client, project=project, server_name=server_name, profile=profile or "")
    if hooks:
        require_hooks(installer)
    if guidance:
        put(installer.guidance().rstrip("\n"))
    elif printing:
        show_settings(installer, hooks=hooks)
    else:
        write_settings(installer, hooks=hooks, write_guidance=write_guidance, force=force, yes=yes)
        if verify:
            from nacre.clients.probe import probe

            answer = probe(installer.launch_of(installer.entry() or {}))
            tools = ", ".join(answer.tools)
            say(f"The server answered in {answer.seconds:.1f} s with {len(answer.tools)} tools: {tools}.")


def write_settings(installer: Installer, *, hooks: bool, write_guidance: bool, force: bool, yes: bool) -> None:
    installer = confirm_replacement(installer, force=force, yes=yes)
    if write_guidance and installer.guidance_path() is None:
        raise UsageProblem(
            f"{installer.title} has no file of instructions here; paste what --guidance prints, or try --project."
        )
    if hooks:  # first: their file is the one that nobody has looked at yet
        report_written(require_hooks(installer).write_hooks(), "the hooks")
    report_written(installer.write_settings(), f"the server {installer.server_name!r}")
    guidance = installer.write_guidance() if write_guidance else None
    if guidance is not None:
        report_written(guidance, "the guidance")
    say(f"Memories are kept in {installer.environment().get('NACRE_STORE')}. Restart {installer.title} to use them.")


def confirm_replacement(installer: Installer, *, force: bool, yes: bool) -> Installer:
    try:
        current = installer.entry()
    except ConfigError:
        if not force:
            if not sys.stdin.isatty():
                raise
            confirm(f"{installer.path} cannot be read. Replace it? What it holds is kept beside it.")
        return replace(installer, overwrite_unparseable=True)
    if current not in (None, installer.build_mcp_block()):
        name = installer.server_name
        confirm(f"{installer.path} has a server {name!r} that is set up otherwise. Replace it?", yes=yes)
    return replace(installer, overwrite_unparseable=force)


def report_written(done: FileChange, what: str) -> None:
    if not done.changed:
        say(f"{done.file} holds {what} already.")
    else:
        backup = f" The old file is kept as {done.backup.name}." if done.backup else ""
        say(f"Wrote {what} to {done.file}.{backup}")


def show_settings(installer: Installer, *, hooks: bool) -> None:
    say(f"For {installer.path}:")
    put(installer.config_text())
    if hooks:
        say(f"For {require_hooks(installer).hooks_path}:")
        put(require_hooks(installer).hooks_text())


def require_hooks(installer: Installer) -> ClaudeCodeInstaller:
    from nacre.clients.claude_code import ClaudeCodeInstaller

    if not isinstance(installer, ClaudeCodeInstaller):
        raise UsageProblem(f"hooks are only known of claude-code; leave out --hooks for {installer.client}.")
    return installer


def list_clients(cli: CliContext, server_name: str, form: str | None) -> None:
    from nacre.clients.registry import INSTALLERS

    installers = [make_installer(cli, client, project=False, server_name=server_name) for client in INSTALLERS]
    columns: list[Column[Installer]] = [
        Column("client", lambda each: each.client, style="cyan"),
        Column("here", lambda each: "yes" if each.is_present() else "no"),
        Column("set up", set_up),
        Column("file", lambda each: str(each.path), wide=True, wraps=True),
    ]
    print_items(installers, columns, client_record, form)


def set_up(installer: Installer) -> str:
    try:
        return "yes" if installer.entry() is not None else "no"
    except ConfigError:
        return "unreadable"


def client_record(installer: Installer) -> dict[str, object]:
    return {
        "client": installer.client,
        "title": installer.title,
        "found": installer.is_present(),
        "installed": set_up(installer),
        "file": str(installer.path),
    }


@command("uninstall")
@client_argument
@client_options
def uninstall_command(cli: CliContext, client: str | None, project: bool, server_name: str) -> None:
    """Remove this memory from an agent's program: the server, the hooks, the guidance, and nothing else.

    The memories themselves stay where they are. Ends with code 1 where there was nothing to take out.
    """
    from nacre.clients.claude_code import ClaudeCodeInstaller

    installer = make_installer(cli, client, project=project, server_name=server_name)
    removed = [("the server", installer.path)] if installer.uninstall() else []
    if isinstance(installer, ClaudeCodeInstaller) and installer.remove_hooks():
        removed.append(("the hooks", installer.hooks_path))
    if (place := installer.guidance_path()) is not None and installer.remove_guidance():
        removed.append(("the guidance", place))
    say(*(f"Took {what} out of {file}." for what, file in removed))
    if not removed:
        raise NotFound(f"{installer.path} holds no server {server_name!r}; `nacre install --list` shows more.")
