"""How a command ends when it cannot do what was asked: one sentence on stderr, and a code that scripts can read."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

from nacre.cli.door import Door
from nacre.cli.printable import printable
from nacre.errors import (
    AccessDenied,
    ConflictError,
    HistoryLost,
    InvalidInput,
    LinkRefused,
    MemoryNotFound,
    NacreError,
    SpaceNotFound,
    SupersedeCycle,
    UndoRefused,
)

CLOSED_PIPE = 141  # what a shell reports for a program whose reader went away


class Fault(click.ClickException):
    """Each kind has the exit code that scripts know it by."""

    debug = False

    def show(self, file: IO[str] | None = None) -> None:
        if self.debug and self.__cause__ is not None:
            click.echo("".join(traceback.format_exception(self.__cause__)), file or sys.stderr)
        click.echo(f"nacre: {printable(self.message)}", file or sys.stderr)


class NothingFound(Fault):
    exit_code = 1


class Misused(Fault):
    exit_code = 2


class Refused(Fault):
    exit_code = 3


class StoreProblem(Fault):
    exit_code = 4


class Interrupted(Fault):
    exit_code = 130  # what a shell reports for a program that Ctrl-C ended


KINDS: tuple[tuple[type[NacreError], type[Fault]], ...] = (
    (MemoryNotFound, NothingFound),
    (HistoryLost, NothingFound),
    (SpaceNotFound, NothingFound),
    (InvalidInput, Misused),
    (AccessDenied, Refused),
    (SupersedeCycle, Refused),
    (LinkRefused, Refused),
    (ConflictError, Refused),
    (UndoRefused, Refused),
    (NacreError, StoreProblem),
)


@contextmanager
def told(ctx: click.Context) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except NacreError as error:
        raise debugged(ctx, kind_of(error)(str(error))) from error
    except KeyboardInterrupt as error:
        raise debugged(ctx, Interrupted("stopped.")) from error
    except BrokenPipeError:
        let_output_go()
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except OSError as error:
        let_output_go()
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        raise debugged(ctx, StoreProblem(reason)) from error


def kind_of(error: NacreError) -> type[Fault]:
    return next(fault for kind, fault in KINDS if isinstance(error, kind))


def debugged(ctx: click.Context, fault: Fault) -> Fault:
    door = ctx.find_object(Door)
    fault.debug = door is not None and door.debug
    return fault


def let_output_go() -> None:
    """What is still buffered for a stdout that takes no more would raise again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
