"""Questions to the person, single keys, stdin, and a progress line."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nacre.cli.errors import UsageProblem
from nacre.cli.ui.output import printable, say, with_options, wrapped
from nacre.cli.ui.records import excerpt
from nacre.errors import InvalidInput
from nacre.model import Memory
from nacre.model.memory import short_id

if TYPE_CHECKING:
    from nacre.protocols import Progress

LONGEST_LIST = 10  # a question that scrolls away is not read


def confirm_memories(verb: str, memories: Sequence[Memory], consequence: str, *, yes: bool) -> None:
    """Lists the memories and asks. Ends the command unless the answer is yes; with `yes` nobody is asked."""
    if yes:
        return
    list_memories(memories)
    confirm(f"{verb} {count_of(len(memories))}? {consequence}")


def list_memories(memories: Sequence[Memory]) -> None:
    """The first of them, and how many more there are."""
    say(*(f"  {short_id(memory.id)}  {excerpt(memory)}" for memory in memories[:LONGEST_LIST]))
    if len(memories) > LONGEST_LIST:
        say(f"  and {len(memories) - LONGEST_LIST:,} more")


def confirm(question: str, *, yes: bool = False) -> None:
    """Ends the command unless the answer is yes; with `yes` nobody is asked."""
    if not yes and read_answer(f"{question} [y/N] ").lower() not in ("y", "yes"):
        raise UsageProblem("nothing was done.")


def confirm_by_name(warning: str, name: str, *, yes: bool) -> None:
    """As `confirm`, but the name must be typed: for what a hasty `y` should not do."""
    if not yes:
        say(warning)
        if read_answer(f"Type {name} to go on: ") != name:
            raise UsageProblem("nothing was done.")


def read_answer(question: str) -> str:
    sys.stderr.write(wrapped(printable(with_options(question)).rstrip(" "), sys.stderr) + " ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if answer == "":
        raise UsageProblem("nobody answered, and nothing was done; --yes answers ahead.")
    return answer.strip()


TRIES = 3  # at a passphrase, as at a login


def read_hidden(question: str) -> str:
    """What is typed is not shown. Raises `UsageProblem` where the input ends."""
    from getpass import getpass

    try:
        return getpass(printable(question), sys.stderr)
    except EOFError:
        raise UsageProblem("no passphrase was typed, and nothing was done.") from None


def read_new_passphrase(of: str) -> str:
    """Typed twice. Raises `UsageProblem` where the two differ three times."""
    for _ in range(TRIES):
        typed = read_hidden(f"New passphrase for {of}: ")
        if typed and typed == read_hidden("The same again: "):
            return typed
        say("The two differ; try again." if typed else "It is empty; try again.")
    raise UsageProblem("no passphrase was chosen, and nothing was done.")


def count_of(number: int, what: str = "memory", several: str = "memories") -> str:
    return f"{number:,} {what if number == 1 else several}"


def read_stdin() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"What came on stdin is not UTF-8 text (byte {error.start}); convert it first, with iconv for example."
        ) from error


def text_argument(words: Sequence[str], *, stdin: bool) -> str:
    """Words from the command line as one text; `-` means stdin."""
    if stdin or tuple(words) == ("-",):
        return read_stdin()
    return " ".join(words)


END = "\x04"  # Ctrl-D
PATIENCE = 0.2  # seconds between two looks at whether somebody wants to stop
ESCAPE, SEQUENCES = b"\x1b", (b"[", b"O")  # of the keys that send several, each ends with a letter or "~"


@contextmanager
def key_reader() -> Iterator[Callable[[], str]]:
    """While it lasts keys are neither echoed nor held back until the end of a line. Ask inside it."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import click

        yield click.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield lambda: read_key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def read_key(terminal: int) -> str:
    """One character; empty for a key that sends several, such as an arrow, which must not be taken for its letters."""
    while not input_ready(terminal, PATIENCE):
        pass  # a Ctrl-C that comes just before the reading would otherwise wait for the next key
    typed = os.read(terminal, 1)
    if typed != ESCAPE:
        return typed.decode("latin-1") if typed else END
    if input_ready(terminal) and os.read(terminal, 1) in SEQUENCES:
        while input_ready(terminal) and not b"@" <= os.read(terminal, 1) <= b"~":
            pass
    return ""


def input_ready(terminal: int, seconds: float = 0.01) -> bool:
    return bool(select.select([terminal], [], [], seconds)[0])


SHOWN_EVERY = 0.1  # seconds between two lines of progress
SETTLED = 1.0  # seconds after which a rate says something
BAR = 20  # characters
ROOM_FOR_BAR = 70  # columns of a terminal that has place for the bar


def progress_text(what: str, done: int, total: int, seconds: float, columns: int | None = None) -> str:
    """One line that fits the terminal: how much is done, and after a second how fast and how long it still takes."""
    if total <= 1:
        return f"{what} …"
    columns = columns or shutil.get_terminal_size().columns
    full = BAR * done // total
    bar = f"[{'#' * full}{'-' * (BAR - full)}] " if columns >= ROOM_FOR_BAR else ""
    counted = f"{what}: {bar}{done:,} of {total:,}, {100 * done // total} %"
    if seconds >= SETTLED and done:
        rate = done / seconds
        counted += f", {rate:,.0f} a second" if rate >= 1 else f", {60 * rate:,.1f} a minute"
        counted += f", {duration((total - done) / rate)} left" if done < total else ""
    return counted[: columns - 1]


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


BACK_AND_ERASE = "\r\x1b[K"


@contextmanager
def progress_line() -> Iterator[Progress | None]:
    """None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return

    step, begun, printed = "", 0.0, 0.0

    def show(done: int, total: int, what: str) -> None:
        nonlocal step, begun, printed
        now = time.monotonic()
        if what != step:
            step, begun, printed = what, now, 0.0
        if now - printed >= SHOWN_EVERY or done == total:
            printed = now
            sys.stderr.write(BACK_AND_ERASE + progress_text(what, done, total, now - begun))
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(BACK_AND_ERASE)
        sys.stderr.flush()
