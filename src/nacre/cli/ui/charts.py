"""Bar charts and sparklines made of characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

from nacre.cli.ui.output import shortened, writes_unicode

WIDEST_BAR = 30
LONGEST_LABEL = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇█", "_.:-=+*#"  # without Unicode


def bars(counts: Mapping[str, int]) -> Iterator[str]:
    """One line for each name: the name, its bar, its number."""
    most = max(counts.values(), default=0)
    names = {name: shortened(name, LONGEST_LABEL) for name in counts}
    wide = max(map(len, names.values()), default=0)
    for name, count in counts.items():
        yield f"  {click.style(names[name].ljust(wide), fg='cyan')}  {bar(count, most)} {count:,}"


def bar(count: int, most: int) -> str:
    eighths = round(8 * WIDEST_BAR * count / most) if most else 0
    if not writes_unicode():
        return "#" * max(1, round(eighths / 8)) if count else ""
    full, rest = divmod(max(1, eighths) if count else 0, 8)
    return EIGHTHS[8] * full + (EIGHTHS[rest] if rest else "")


def sparkline(values: Sequence[float], most: float | None = None) -> str:
    """One character a value; only zero has the lowest step. The highest is for `most`, else for the largest value."""
    steps, highest = STEPS if writes_unicode() else PLAIN_STEPS, max(values, default=0) if most is None else most
    last = len(steps) - 1
    return "".join(steps[max(1, round(last * value / highest)) if value else 0] for value in values)
