"""nacre info"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.carrying import archive_file
from nacre.cli.cli_context import CliContext
from nacre.cli.commands.export import STREAM
from nacre.cli.errors import StoreProblem
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, Column, print_data, print_items
from nacre.cli.ui.prompts import progress_line

if TYPE_CHECKING:
    from nacre.transfer.archive import ArchiveInfo

Pair = tuple[str, str]


@click.command("info")
@click.argument("file", metavar="FILE|-")
@form_option()
@global_options
@click.pass_obj
def command(_door: CliContext, file: str, form: str | None) -> None:
    """Look into an archive without importing it: what it is, what it holds, and whether it is whole."""
    from nacre.transfer.read_archive import info

    with archive_file(file) as path, progress_line() as progress:
        found = info(path, progress=progress)
    shown = "stdin" if file == STREAM else file
    if form in DATA:
        print_data(record(found, shown), form)
    else:
        print_items(pairs(found, shown), COLUMNS, lambda pair: pair, form)
    if not found.whole:
        raise StoreProblem(f"{shown} is not whole: {found.problem}. It cannot be imported.")


def pairs(found: ArchiveInfo, shown: str) -> list[Pair]:
    header = found.header
    told = [
        ("file", shown),
        ("form", f"{header.form} {header.version}"),
        ("exported", header.exported_at),
        ("space", header.space),
        ("embedder", f"{header.embedder}, {header.dimensions} dimensions" if header.dimensions else header.embedder),
        ("memories", f"{found.count:,}"),
        ("with vectors", f"{found.vectors:,}"),
        ("words", f"{found.words:,}"),
        ("bad lines", f"{found.errors:,}"),
        ("bytes", f"{found.bytes:,}, unpacked {found.unpacked:,}"),
        ("whole", "yes" if found.whole else "no"),
    ]
    return [*told, *((f"type {name}", f"{count:,}") for name, count in found.types.items())]


COLUMNS: list[Column[Pair]] = [
    Column("what", lambda pair: pair[0], lambda pair: pair[0], style="cyan"),
    Column("value", lambda pair: pair[1], lambda pair: pair[1], wide=True, wraps=True),
]


def record(found: ArchiveInfo, shown: str) -> dict[str, object]:
    header = found.header
    source = {"space": header.space, "embedder": header.embedder, "dimensions": header.dimensions}
    return {
        "path": shown,
        "format": header.form,
        "version": header.version,
        "exported_at": header.exported_at,
        "source": {**source, "count": header.count},
        "options": dict(header.options),
        "count": found.count,
        "types": dict(found.types),
        "vectors": found.vectors,
        "words": found.words,
        "errors": found.errors,
        "bytes": found.bytes,
        "unpacked": found.unpacked,
        "whole": found.whole,
        "problem": found.problem,
    }
