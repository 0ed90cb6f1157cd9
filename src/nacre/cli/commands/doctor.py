"""nacre doctor"""

from __future__ import annotations

import shutil
import sys

import click

from nacre.cli.cli_context import CliContext, configure_logging
from nacre.cli.errors import StoreProblem
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, print_data, printable, put, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.errors import NacreError
from nacre.lifecycle.doctor import Finding, examine, mend, repair

UNBROKEN = 100_000  # a line for a program to read stays one line
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Repair a damaged file and index again, where that helps.")
@form_option("text", "json")
@global_options
@click.pass_context
def command(ctx: click.Context, fix: bool, form: str | None) -> None:
    """Examine the store and say how to mend what is wrong. Ends with code 4 where there is a problem."""
    cli: CliContext = ctx.obj
    findings = examine(cli.settings())
    if fix and any(finding.mended_by for finding in findings):
        findings = mended(cli, findings)
    if form in DATA:
        print_data([{"check": each.check, "level": each.level, "says": each.says} for each in findings], form)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else UNBROKEN
        for finding in findings:
            put(line(finding, width))
    if any(finding.level == "problem" for finding in findings):
        ctx.exit(StoreProblem.exit_code)


def line(finding: Finding, width: int) -> str:
    head = f"{finding.level:<8} {finding.check:<10} "
    whole = click.wrap_text(printable(finding.says), width, head, " " * len(head))
    level = click.style(finding.level, fg=COLOURS[finding.level])
    return level + whole.removeprefix(finding.level)


def mended(cli: CliContext, findings: list[Finding]) -> list[Finding]:
    """What is found afterwards."""
    configure_logging(debug=cli.debug)
    try:
        if said := repair(cli.settings(), findings, cli.now()):
            for sentence in said:
                say(sentence)
            findings = examine(cli.settings())
        if not any(finding.mended_by in ("reindex", "catch_up") for finding in findings):
            return findings
        with cli.open_with_model() as store, progress_line() as progress:
            say(f"Indexed {count_of(mend(store, findings, progress))} again.")
    except NacreError as error:
        say(f"Could not be mended now: {error}")  # what is left is told below, with the rest
    return examine(cli.settings())
