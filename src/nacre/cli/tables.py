"""Draws tables for people, as wide as their terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nacre.cli.output import Column
from nacre.cli.printable import printable

T = TypeVar("T")


def draw(items: Sequence[T], columns: Sequence[Column[T]]) -> None:
    console = Console(no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
    fitting = [column for column in columns if column.least_width <= console.width]
    table = Table(box=None, expand=any(column.wide for column in fitting), padding=(0, 2, 0, 0))
    for column in fitting:
        table.add_column(
            column.name,
            style=column.style,
            justify="right" if column.right else "left",
            ratio=1 if column.wide else None,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
        )
    for item in items:
        # Text, not a string: a stored "[red]" is to be read, not obeyed.
        table.add_row(*(Text(printable(column.brief(item))) for column in fitting if column.brief))
    # Captured, because rich would end the process with a code of its own when the reader of a pipe has gone.
    with console.capture() as drawn:
        console.print(table)
    sys.stdout.write(drawn.get())
