"""nacre install"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.clients import client_argument, client_options, installer_of, named
from nacre.cli.commands.mcp import PROFILES
from nacre.cli.errors import UsageProblem
from nacre.cli.options import form_option, global_options, yes_option
from nacre.cli.ui.output import Column, print_items, put, say
from nacre.cli.ui.prompts import confirm
from nacre.errors import ConfigError

if TYPE_CHECKING:
    from nacre.clients.claude_code import ClaudeCodeInstaller
    from nacre.clients.files import FileChange
    from nacre.clients.installer import Installer


@dataclass(frozen=True, slots=True)
class Row:
    client: str
    title: str
    found: bool
    installed: str
    file: str


@click.command("install")
@client_argument
@click.option("--list", "listing", is_flag=True, help="Tell which clients are on this machine, and end.")
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
@global_options
@click.pass_obj
def command(
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
    installer = installer_of(cli, named(client), project=project, server_name=server_name, profile=profile or "")
    if hooks:
        hooked(installer)
    if guidance:
        put(installer.guidance().rstrip("\n"))
    elif printing:
        show(installer, hooks=hooks)
    else:
        write(installer, hooks=hooks, write_guidance=write_guidance, force=force, yes=yes)
        if verify:
            try_server(installer)


def write(installer: Installer, *, hooks: bool, write_guidance: bool, force: bool, yes: bool) -> None:
    installer = agreed(installer, force=force, yes=yes)
    if write_guidance and installer.guidance_path() is None:
        raise UsageProblem(
            f"{installer.title} has no file of instructions here; paste what --guidance prints, or try --project."
        )
    if hooks:  # first: their file is the one that nobody has looked at yet
        tell(hooked(installer).write_hooks(), "the hooks")
    tell(installer.write_settings(), f"the server {installer.server_name!r}")
    told = installer.write_guidance() if write_guidance else None
    if told is not None:
        tell(told, "the guidance")
    say(f"Memories are kept in {installer.environment().get('NACRE_STORE')}. Restart {installer.title} to use them.")


def agreed(installer: Installer, *, force: bool, yes: bool) -> Installer:
    try:
        standing = installer.entry()
    except ConfigError:
        if not force:
            if not sys.stdin.isatty():
                raise
            confirm(f"{installer.path} cannot be read. Replace it? What it holds is kept beside it.")
        return replace(installer, overwrite_unparseable=True)
    if standing not in (None, installer.build_mcp_block()) and not yes:
        confirm(f"{installer.path} has a server {installer.server_name!r} that is set up otherwise. Replace it?")
    return replace(installer, overwrite_unparseable=force)


def tell(done: FileChange, what: str) -> None:
    if not done.changed:
        say(f"{done.file} holds {what} already.")
    else:
        kept = f" The old file is kept as {done.backup.name}." if done.backup else ""
        say(f"Wrote {what} to {done.file}.{kept}")


def show(installer: Installer, *, hooks: bool) -> None:
    say(f"For {installer.path}:")
    put(installer.config_text())
    if hooks:
        say(f"For {hooked(installer).hooks_path}:")
        put(hooked(installer).hooks_text())


def try_server(installer: Installer) -> None:
    from nacre.clients.probe import probe

    answer = probe(installer.launch_of(installer.entry() or {}))
    say(f"The server answered in {answer.seconds:.1f} s with {len(answer.tools)} tools: {', '.join(answer.tools)}.")


def hooked(installer: Installer) -> ClaudeCodeInstaller:
    from nacre.clients.claude_code import ClaudeCodeInstaller

    if not isinstance(installer, ClaudeCodeInstaller):
        raise UsageProblem(f"hooks are only known of claude-code; leave out --hooks for {installer.client}.")
    return installer


def list_clients(cli: CliContext, server_name: str, form: str | None) -> None:
    from nacre.clients.registry import INSTALLERS

    rows = [row_of(installer_of(cli, client, project=False, server_name=server_name)) for client in INSTALLERS]
    print_items(rows, columns(), record, form)


def row_of(installer: Installer) -> Row:
    try:
        installed = "yes" if installer.entry() is not None else "no"
    except ConfigError:
        installed = "unreadable"
    return Row(installer.client, installer.title, installer.found(), installed, str(installer.path))


def columns() -> list[Column[Row]]:
    return [
        Column("client", lambda row: row.client, lambda row: row.client, style="cyan"),
        Column("here", lambda row: "yes" if row.found else "no", lambda row: "yes" if row.found else "no"),
        Column("set up", lambda row: row.installed, lambda row: row.installed),
        Column("file", lambda row: row.file, lambda row: row.file, wide=True, wraps=True),
    ]


def record(row: Row) -> dict[str, object]:
    return {
        "client": row.client,
        "title": row.title,
        "found": row.found,
        "installed": row.installed,
        "file": row.file,
    }
