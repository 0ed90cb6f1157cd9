"""nacre compat"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.options import option
from nacre.cli.ui.output import put, say

# The commands that the older systems installed, and where each begins.
PROGRAMS = {
    "houkai": "ai_houkai.cli.main:_main",
    "ai-houkai-mcp": "ai_houkai.mcp_server.server:run",
    "ai-houkai-install-claude-code": "ai_houkai.installers.claude_code:_main",
    "mnemosyne-server": "mnemosyne.cli:main",
    "ai-lessons": "ai_lessons.cli:main",
    "ai-lessons-mcp": "ai_lessons.mcp_server:run",
}


@click.group("compat", cls=HelpGroup)
def compat_command() -> None:
    """Run programs that were written for an older system: AI-Houkai, Mnemosyne, amplihack-memory-lib or ai-lessons.

    \b
      nacre compat alias                    what such a program needs to begin with
      nacre compat run houkai list          the older commands themselves
    """


@compat_command.command("alias")
@click.argument("systems", nargs=-1, metavar="[SYSTEM]...")
@option("--python", "Lines for the program itself (default).", to="way", default="python", flag_value="python")
@option("--site", "A line for a .pth file, where the program cannot be changed.", to="way", flag_value="site")
@option("--force", "Also in the place of a package that is really installed.")
def alias(systems: tuple[str, ...], way: str, force: bool) -> None:
    """Print what lets a program import the older packages, all four unless you name some.

    \b
      nacre compat alias ai_houkai
      nacre compat alias --site > "$(python -c 'import site; print(site.getsitepackages()[0])')/nacre-compat.pth"
    """
    from nacre.compat.aliases import named

    words = [repr(named(system)) for system in systems] + ["force=True"] * force
    call = f"nacre.compat.install({', '.join(words)})"
    if way == "python":
        put(f"import nacre.compat\n\n{call}")
        return
    put(f"import nacre.compat; {call}")
    say("Put this line into a file nacre-compat.pth in the site-packages of the program's Python.")


@compat_command.command("run", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("program", type=click.Choice(list(PROGRAMS)))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def run(program: str, words: tuple[str, ...]) -> None:
    """Run a command of an older system with the words that follow it: houkai, ai-lessons, mnemosyne-server, …"""
    place, _, function = PROGRAMS[program].partition(":")
    sys.argv = [program, *words]
    sys.exit(getattr(import_module(f"nacre.compat.{place}"), function)())
