"""nacre hook"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, print_data, put, say

if TYPE_CHECKING:
    from nacre.hooks.status import HookStatus


@click.group("hook")
def command() -> None:
    """Answer the hooks of a client such as Claude Code: put what is remembered before a prompt, and keep what is said.

    Each reads the client's JSON on stdin. Whatever goes wrong, it ends well, prints nothing and leaves a line in the
    log. The settings hook_inject and hook_capture switch it off; `nacre hook status` tells what it does.
    """


def event(name: str, help: str) -> None:
    @command.command(name, help=help)
    @global_options
    @click.pass_obj
    def answer(cli: CliContext) -> None:
        from nacre.hooks.client import run

        told = run(name, cli.flags)
        if told:
            sys.stdout.write(told + "\n")


event("session-start", "A session begins: give it what is pinned or important.")
event("prompt", "A prompt is sent: put before it what fits.")
event("pre-compact", "A conversation is condensed: keep what was said.")
event("stop", "An answer has ended: keep what was said.")
event("session-end", "A session ends: keep what was said.")


@command.command("status")
@form_option("text", "json")
@global_options
@click.pass_obj
def status(cli: CliContext, form: str | None) -> None:
    """Tell what is captured and injected, where it goes, and whether the helper runs."""
    from nacre.hooks.status import hook_status

    told = hook_status(cli.flags)
    if form in DATA:
        print_data(told.record(), form)
        return
    for line in lines(told):
        put(line)


@command.command("end")
@global_options
@click.pass_obj
def end(cli: CliContext) -> None:
    """End the helper, which keeps the store open; the next hook starts another one."""
    from nacre.hooks.status import end_helper

    say("The helper ends." if end_helper(cli.flags) else "There is no helper at work.")


def lines(told: HookStatus) -> list[str]:
    from nacre.model.instants import iso

    helper = (
        f"process {told.helper}, model {'loaded' if told.ready else 'not loaded'}" if told.helper else "not running"
    )
    injected = f"at most {told.budget:g} tokens, of relevance {told.min_relevance:g} and more"
    found = [
        f"store     {told.store}",
        f"space     {told.space}",
        f"capture   {'on' if told.capture else 'off'} (hook_capture)",
        f"inject    {f'on, {injected}' if told.inject else 'off'} (hook_inject)",
        f"helper    {helper}",
        f"log       {told.log}",
    ]
    for path, reached in told.transcripts.items():
        found.append(f"captured  {reached.turns:,} turns until {iso(reached.at)}: {path}")
    return found
