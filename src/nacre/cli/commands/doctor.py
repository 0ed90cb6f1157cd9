"""nacre doctor"""

from __future__ import annotations

import shutil
import sys

import click

from nacre.cli.asking import counted
from nacre.cli.door import Door, quiet_log
from nacre.cli.faults import StoreProblem
from nacre.cli.options import door_options, form_option
from nacre.cli.output import DATA, print_data, put, say
from nacre.cli.printable import printable
from nacre.cli.progress import progress_line
from nacre.errors import NacreError
from nacre.lifecycle.doctor import Finding, examine, mend, repair

UNBROKEN = 100_000  # a line for a program to read stays one line
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Repair a damaged file and index again, where that helps.")
@form_option("text", "json")
@door_options
@click.pass_context
def command(ctx: click.Context, fix: bool, form: str | None) -> None:
    """Examine the store and say how to mend what is wrong. Ends with code 4 where there is a problem."""
    door: Door = ctx.obj
    findings = examine(door.settings())
    if fix and any(finding.mended_by for finding in findings):
        findings = mended(door, findings)
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


def mended(door: Door, findings: list[Finding]) -> list[Finding]:
    """What is found afterwards."""
    quiet_log(debug=door.debug)
    try:
        if said := repair(door.settings(), findings, door.now()):
            for sentence in said:
                say(sentence)
            findings = examine(door.settings())
        if not any(finding.mended_by in ("reindex", "catch_up") for finding in findings):
            return findings
        with door.open_with_model() as store, progress_line() as progress:
            say(f"Indexed {counted(mend(store, findings, progress))} again.")
    except NacreError as error:
        say(f"Could not be mended now: {error}")  # what is left is told below, with the rest
    return examine(door.settings())
