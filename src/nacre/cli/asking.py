"""What a command asks of the person or reads from stdin."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nacre.cli.columns import excerpt, short
from nacre.cli.faults import Misused
from nacre.cli.output import say
from nacre.cli.printable import printable
from nacre.errors import InvalidInput
from nacre.model import Memory

LONGEST_LIST = 10  # a question that scrolls away is not read


def confirm(deed: str, memories: Sequence[Memory], consequence: str) -> None:
    """Ends the command unless the answer is yes."""
    for memory in memories[:LONGEST_LIST]:
        say(f"  {short(memory.id)}  {excerpt(memory)}")
    if len(memories) > LONGEST_LIST:
        say(f"  and {len(memories) - LONGEST_LIST} more")
    sure(f"{deed} {counted(len(memories))}? {consequence}")


def sure(question: str) -> None:
    """Ends the command unless the answer is yes."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if answer == "":
        raise Misused("nobody answered, and nothing was done; --yes answers ahead.")
    if answer.strip().lower() not in ("y", "yes"):
        raise Misused("nothing was done.")


def typed_name(warning: str, name: str) -> None:
    """Ends the command unless the name is typed: for what a hasty `y` should not do."""
    say(warning)
    sys.stderr.write(f"Type {printable(name)} to go on: ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if answer == "":
        raise Misused("nobody answered, and nothing was done; --yes answers ahead.")
    if answer.strip() != name:
        raise Misused("nothing was done.")


def counted(number: int, what: str = "memory", several: str = "memories") -> str:
    return f"{number:,} {what if number == 1 else several}"


def read_stdin() -> str:
    given = sys.stdin.buffer.read()
    try:
        return given.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"What came on stdin is not UTF-8 text (byte {error.start}); convert it first, with iconv for example."
        ) from error


def text_of(words: Sequence[str], *, stdin: bool) -> str:
    """Words from the command line as one text; `-` means stdin."""
    if stdin or tuple(words) == ("-",):
        return read_stdin()
    return " ".join(words)
