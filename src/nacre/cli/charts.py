"""Small pictures of numbers, made of characters that the terminal has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from nacre.cli.output import writes_unicode
from nacre.cli.printable import shortened

WIDEST = 30  # of a bar
LONGEST_LABEL = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇█", "_.:-=+*#"  # for a terminal that has no others


def bars(counts: Mapping[str, int]) -> Iterator[str]:
    """A line each: the name, its bar, its number."""
    most = max(counts.values(), default=0)
    names = {name: shortened(name, LONGEST_LABEL) for name in counts}
    wide = max(map(len, names.values()), default=0)
    for name, count in counts.items():
        yield f"  {click.style(names[name].ljust(wide), fg='cyan')}  {bar(count, most)} {count:,}"


def bar(count: int, most: int) -> str:
    eighths = round(8 * WIDEST * count / most) if most else 0
    if not writes_unicode():
        return "#" * max(1, round(eighths / 8)) if count else ""
    whole, rest = divmod(max(1, eighths) if count else 0, 8)
    return EIGHTHS[8] * whole + (EIGHTHS[rest] if rest else "")


def sparkline(counts: Sequence[int]) -> str:
    """What is there at all is seen: only nothing has the lowest step."""
    steps, most = STEPS if writes_unicode() else PLAIN_STEPS, max(counts, default=0)
    last = len(steps) - 1
    return "".join(steps[max(1, round(last * count / most)) if count else 0] for count in counts)
