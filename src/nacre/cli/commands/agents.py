"""nacre mcp and nacre hook: what agent programs start."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import command, form_option
from nacre.cli.ui.columns import count_column
from nacre.cli.ui.output import DATA, Column, print_record, print_table, say
from nacre.errors import InvalidInput

if TYPE_CHECKING:
    from mcp.server import Server

    from nacre.hooks.status import HookStatus
    from nacre.mcp.server import Cost
    from nacre.mcp.store_provider import StoreProvider

PROFILES = ("core", "full", "houkai", "mnemosyne", "lessons")


@command("mcp")
@click.option("--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Which tools to show.")
@click.option("--http", metavar="HOST:PORT", help="Serve many clients over HTTP instead of one over stdin.")
@click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Holds the token.")
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="A further name of this machine; repeatable."
)
@click.option("--list", "listing", is_flag=True, help="Print the tools and what they cost an agent, and end.")
@form_option()
def mcp_command(
    cli: CliContext,
    profile: str,
    http: str | None,
    token_file: Path | None,
    names: tuple[str, ...],
    listing: bool,
    form: str | None,
) -> None:
    """Serve this memory to agents over the Model Context Protocol.

    \b
      nacre mcp                             over stdin and stdout, for one client
      nacre mcp --profile full              more tools
      nacre mcp --http 127.0.0.1:8765       for any number of clients
      nacre mcp --list                      the tools, and what they cost

    Over HTTP a client must show a token. Without --token-file one is made and shown once; a host that others can
    reach needs the file. NACRE_AGENT, NACRE_SESSION and NACRE_SCOPE narrow what the server shows.
    """
    if listing:
        list_tools(profile, form)
    elif http is None:
        serve_stdio(cli, profile)
    else:
        serve_http(cli, profile, http, token_file, names)


def serve_stdio(cli: CliContext, profile: str) -> None:
    parent = os.getppid()
    gc.disable()  # nothing that is imported is ever garbage: a tenth of the time until a client is answered
    from nacre.mcp.stdio import serve_stdio

    server, provider = make_server(cli, profile)
    gc.freeze()
    gc.enable()
    if sys.stdin.isatty():
        say("A client should start this and speak to it over stdin; Ctrl-C ends it. `nacre mcp --help` says more.")
    serve_stdio(server, provider, parent)


def serve_http(cli: CliContext, profile: str, http: str, token_file: Path | None, names: Sequence[str]) -> None:
    from nacre.mcp.http import Address, load_token, make_token, serve_http

    place = Address.of(http)
    if token_file is None and not place.local:
        raise InvalidInput(f"{place.host} can be reached by others; arrange a token with --token-file FILE.")
    token, made = (make_token(), True) if token_file is None else load_token(token_file)
    server, provider = make_server(cli, profile)
    if made:
        say(f"Token: {token}" if token_file is None else f"A token was made and written to {token_file}.")
    serve_http(server, provider, place, token, lambda url: say(f"Serving {profile} at {url}"), names)


def make_server(cli: CliContext, profile: str) -> tuple[Server[Any], StoreProvider]:
    import logging

    from nacre.mcp.profiles import profile_named
    from nacre.mcp.server import make_server
    from nacre.mcp.store_provider import StoreProvider

    # To stderr, as stdout belongs to the protocol.
    logging.basicConfig(level=logging.DEBUG if cli.debug else logging.WARNING, format="%(name)s: %(message)s")
    provider = StoreProvider(cli.settings())
    return make_server(profile_named(profile), provider), provider


def list_tools(profile: str, form: str | None) -> None:
    from nacre.mcp.profiles import profile_named
    from nacre.mcp.server import costs

    costs_of = {name: costs(profile_named(name)) for name in PROFILES}
    totals = {name: sum(each.tokens for each in tools) for name, tools in costs_of.items()}
    tools = [
        {"tool": cost.name, "tokens": cost.tokens, "result_tokens": cost.schema, "about": cost.about}
        for cost in costs_of[profile]
    ]
    columns: list[Column[Cost]] = [
        Column("tool", lambda cost: cost.name, style="cyan"),
        count_column("tokens", lambda cost: cost.tokens),
        Column("about", lambda cost: cost.about, wide=True, wraps=True),
    ]
    print_table(costs_of[profile], columns, {"profile": profile, "tools": tools, "totals": totals}, form)
    for name, costs_listed in costs_of.items() if form not in DATA else ():
        shapes = sum(each.schema for each in costs_listed)
        many = f"{len(costs_listed)} tools, about {totals[name]:,} tokens"
        say(f"{name}: {many}, {shapes:,} of them for the shapes of results")


@click.group("hook")
def hook_command() -> None:
    """Answer the hooks of a client such as Claude Code: put what is remembered before a prompt, and keep what is said.

    Each reads the client's JSON on stdin. Whatever goes wrong, it ends well, prints nothing and leaves a line in the
    log. The settings hook_inject and hook_capture switch it off; `nacre hook status` shows what it does.
    """


def add_event(name: str, help: str) -> None:
    @command(name, hook_command, help=help)
    def answer(cli: CliContext) -> None:
        from nacre.hooks.client import run

        answer_text = run(name, cli.flags)
        if answer_text:
            sys.stdout.write(answer_text + "\n")


add_event("session-start", "A session begins: give it what is pinned or important.")
add_event("prompt", "A prompt is sent: put before it what fits.")
add_event("pre-compact", "A conversation is condensed: keep what was said.")
add_event("stop", "An answer has ended: keep what was said.")
add_event("session-end", "A session ends: keep what was said.")


@command("status", hook_command)
@form_option("text", "json")
def status(cli: CliContext, form: str | None) -> None:
    """Show what is captured and injected, where it goes, and whether the helper runs."""
    from nacre.hooks.status import hook_status

    state = hook_status(cli.flags)
    print_record(asdict(state), status_lines(state), form)


@command("end", hook_command)
def end(cli: CliContext) -> None:
    """End the helper, which keeps the store open; the next hook starts another one."""
    from nacre.hooks.status import end_helper

    say("The helper ends." if end_helper(cli.flags) else "There is no helper at work.")


def status_lines(state: HookStatus) -> list[str]:
    from nacre.model.instants import iso

    model = "model loaded" if state.ready else "model not loaded"
    helper = f"process {state.helper}, {model}" if state.helper else "not running"
    injected = f"at most {state.budget:g} tokens, of relevance {state.min_relevance:g} and more"
    return [
        f"store     {state.store}",
        f"space     {state.space}",
        f"capture   {'on' if state.capture else 'off'} (hook_capture)",
        f"inject    {f'on, {injected}' if state.inject else 'off'} (hook_inject)",
        f"helper    {helper}",
        f"log       {state.log}",
        *(
            f"captured  {reached.turns:,} turns until {iso(reached.at)}: {path}"
            for path, reached in state.transcripts.items()
        ),
    ]
