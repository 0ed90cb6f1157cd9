"""How a command ends with an error: one sentence on stderr, and an exit code for scripts."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.ui.output import printable, with_options, wrapped
from nacre.errors import (
    AccessDenied,
    ConflictError,
    HistoryLost,
    InvalidInput,
    LinkRefused,
    MemoryNotFound,
    MigrationRefused,
    NacreError,
    SpaceNotFound,
    SupersedeCycle,
    UndoRefused,
    VersionMismatch,
    nearest_name,
)

CLOSED_PIPE = 141  # what a shell reports for a program whose reader went away


class CliError(click.ClickException):
    """Each kind has the exit code that scripts know it by."""

    debug = False

    def __init__(self, message: str) -> None:
        super().__init__(with_options(message))

    def show(self, file: IO[str] | None = None) -> None:
        if self.debug and self.__cause__ is not None:
            click.echo("".join(traceback.format_exception(self.__cause__)), file or sys.stderr)
        out = file or sys.stderr
        click.echo(wrapped(f"nacre: {printable(self.message)}", out), out)


class NotFound(CliError):
    exit_code = 1


class UsageProblem(CliError):
    exit_code = 2


class Refused(CliError):
    exit_code = 3


class StoreProblem(CliError):
    exit_code = 4


class Interrupted(CliError):
    exit_code = 130  # what a shell reports for a program that Ctrl-C ended


EXIT_CODES: tuple[tuple[type[CliError], tuple[type[NacreError], ...]], ...] = (  # the first match wins
    (NotFound, (MemoryNotFound, HistoryLost, SpaceNotFound)),
    (UsageProblem, (InvalidInput,)),
    (
        Refused,
        (AccessDenied, SupersedeCycle, LinkRefused, ConflictError, UndoRefused, MigrationRefused, VersionMismatch),
    ),
    (StoreProblem, (NacreError,)),
)


@contextmanager
def errors_as_exit_codes(ctx: click.Context) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except click.NoSuchOption as error:
        raise no_such_option(error) from None
    except NacreError as error:
        kind = next(kind for kind, raised in EXIT_CODES if isinstance(error, raised))
        raise with_debug(ctx, kind(str(error))) from error
    except KeyboardInterrupt as error:
        raise with_debug(ctx, Interrupted(" ".join(["stopped.", *getattr(error, "__notes__", ())]))) from error
    except BrokenPipeError:
        discard_stdout()
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except OSError as error:
        discard_stdout()
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        raise with_debug(ctx, StoreProblem(reason)) from error


def no_such_option(error: click.NoSuchOption) -> click.UsageError:
    """The same with the option that was most likely meant, if there is one."""
    ctx, typed = error.ctx, error.option_name.lstrip("-")
    listed = [each for each in ctx.command.get_params(ctx) if isinstance(each, click.Option)] if ctx else []
    known = {name.lstrip("-"): name for each in listed for name in each.opts if name.startswith("--")}
    choosing = [each for each in listed if isinstance(each.type, click.Choice) and typed in each.type.choices]
    near = nearest_name(typed, known)
    if choosing:
        remedy = f"Write `{choosing[0].opts[0]} {typed}`."
    elif near:
        remedy = f"Did you mean {known[near]!r}?"
    else:
        remedy = f"`{ctx.command_path} --help` lists them all." if ctx else ""
    return click.UsageError(f"{error.message} {remedy}".strip(), ctx)


def with_debug(ctx: click.Context, fault: CliError) -> CliError:
    cli = ctx.find_object(CliContext)
    fault.debug = cli is not None and cli.debug
    return fault


def discard_stdout() -> None:
    """What is still buffered for a stdout that takes no more would raise again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
