"""The `nacre` command: its options, and how the process begins."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import click

from nacre import __version__
from nacre.cli.cli_context import CliContext
from nacre.cli.group import CommandGroup


@click.command(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", metavar="FILE", help="The store's file, or a folder that holds one.")
@click.option("--space", metavar="NAME", help="The space of the store to work in.")
@click.option("--embedder", metavar="NAME", help="minilm, hashing, openai:MODEL or sentence-transformers:MODEL.")
@click.option("--debug", is_flag=True, help="Show the log, and where an error arose.")
@click.version_option(__version__, "-V", "--version", message="nacre %(version)s")
@click.pass_context
def nacre(ctx: click.Context, /, debug: bool, **flags: str | None) -> None:
    """Long-term memory for AI agents, in one file.

    Settings come from these options, from NACRE_STORE, NACRE_SPACE and NACRE_EMBEDDER, from the nearest .nacre.toml
    upwards (as far as you trust it: see `nacre trust`), or from your own config.toml; the first match wins.
    """
    ctx.obj = CliContext({name: value for name, value in flags.items() if value is not None}, debug)
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def run() -> None:
    prepare_streams()
    nacre.main(prog_name="nacre")


def prepare_streams() -> None:
    """A terminal that cannot show a character gets its number, not a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
