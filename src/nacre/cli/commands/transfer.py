"""nacre export, import and info: archives, and the data of other programs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused, StoreProblem
from nacre.cli.options import command, form_option, why_option, yes_option
from nacre.cli.ui.output import DATA, Column, print_data, print_items, say
from nacre.cli.ui.prompts import confirm, count_of, progress_line
from nacre.errors import ImportConflict

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.memory_store import MemoryStore
    from nacre.transfer.archive import ArchiveInfo, Fault, ImportSummary
    from nacre.transfer.export import Choice


@contextmanager
def archive_file(source: str) -> Iterator[Path]:
    """`-` is stdin; its copy goes when it is no longer needed."""
    if source != "-":
        yield Path(source)
        return
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield copy


STREAM = "-"


class ExportOptions(TypedDict):
    types: tuple[str, ...]
    tags: tuple[str, ...]
    status: tuple[str, ...]
    since: str | None
    until: str | None
    superseded: bool
    archived: bool
    trashed: bool
    vectors: bool
    redact: bool


@command("export")
@click.argument("file", metavar="FILE|-")
@click.option("-t", "--type", "types", metavar="TYPE", multiple=True, help="Of this type; repeat for others.")
@click.option("-g", "--tag", "tags", metavar="TAG", multiple=True, help="With this tag; repeat for all of them.")
@click.option("--status", metavar="NAME", multiple=True, help="Of this status: long_term, archived, …; repeat.")
@click.option("--since", metavar="WHEN", help="Created since: 30m, 2h, 7d, 4w, or a date (UTC).")
@click.option("--until", metavar="WHEN", help="Created until: 7d, or a date, whose whole day counts.")
@click.option("--superseded/--no-superseded", default=True, help="Also what newer ones replaced (the default).")
@click.option("--archived/--no-archived", default=True, help="Also what is in the archive (the default).")
@click.option("--trashed/--no-trashed", default=False, help="Also what is in the trash (not by default).")
@click.option("--vectors/--no-vectors", default=True, help="With vectors, or smaller, to be computed again.")
@click.option("--redact/--no-redact", default=True, help="Without what looks like a secret, or as it is kept.")
@form_option("text", "json")
def export_command(cli: CliContext, file: str, form: str | None, **chosen: Unpack[ExportOptions]) -> None:
    """Write memories to FILE, oldest first: everything in the space but the trash, unless you narrow it.

    A name that ends in .ahkai gets AI-Houkai's form, every other our own, which keeps all that a memory has. To a file
    it is written whole or not at all; `-` is stdout.

    \b
      nacre export all.nacre
      nacre export lately.nacre --since 7d -t episodic --no-vectors
      nacre export - | ssh other nacre import - --yes
    """
    from nacre.transfer.export import export_archive

    if file == STREAM and sys.stdout.isatty():
        raise click.UsageError("A terminal cannot show what is packed; name a FILE.")
    if file == STREAM and form:
        raise click.UsageError("What was written cannot be told on stdout as well; name a FILE.")
    choice = choice_of(chosen, cli.now())
    with cli.open() as store, progress_line() as progress:
        out = sys.stdout.buffer if file == STREAM else Path(file)
        done = export_archive(store, out, choice, progress=progress)
    if form in DATA:
        print_data({**asdict(done), "path": str(done.path), "elapsed": round(done.elapsed, 3)}, form)
        return
    say(f"Wrote {count_of(done.count)} to {'stdout' if done.path is None else done.path}, {done.bytes:,} bytes.")
    for note in done.notes:
        say(note)


def choice_of(chosen: ExportOptions, now: float) -> Choice:
    from nacre.cli.ui.times import since, until
    from nacre.transfer.export import Choice

    return Choice(
        types=chosen["types"],
        tags=chosen["tags"],
        status=chosen["status"],
        since=since(chosen["since"], now) if chosen["since"] else None,
        until=until(chosen["until"], now) if chosen["until"] else None,
        include_superseded=chosen["superseded"],
        include_archived=chosen["archived"],
        include_trashed=chosen["trashed"],
        vectors=chosen["vectors"],
        redact=chosen["redact"],
    )


POLICIES = ("skip", "overwrite", "rename", "error", "newer")
ANNOUNCED = "Will import"  # said before the question, so that what is asked is known
MOST_FAULTS = 10  # faults that a person reads; JSON has more of them


# The words that choose another program's memory; `portability.foreign` has them too, and is slow to load.
SOURCES = ("chroma", "ai-lessons", "amplihack", "server-memory")
LINE_FORMATS = ("", "server-memory")  # an archive and that are read line by line


class ImportOptions(TypedDict):
    on_conflict: str
    regenerate_vectors: bool
    collections: tuple[str, ...]


@command("import")
@click.argument("words", nargs=-1, required=True, metavar="[SOURCE] PATH|-")
@click.option(
    "--on-conflict",
    type=click.Choice(POLICIES),
    default="skip",
    show_default=True,
    help="What becomes of ids that are here already; newer takes what was changed later.",
)
@click.option("--regenerate-vectors", is_flag=True, help="Compute all vectors anew, whatever the file brings.")
@click.option(
    "--collection", "collections", multiple=True, metavar="NAME", help="Of chroma: this collection; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Say what would come, and change nothing.")
@form_option("text", "json")
@yes_option
@why_option
def import_command(
    cli: CliContext,
    words: tuple[str, ...],
    dry_run: bool,
    form: str | None,
    yes: bool,
    why: str,
    **how: Unpack[ImportOptions],
) -> None:
    """Import the memories of a file, or of stdin for `-`, into the space in one operation, or change nothing.

    The file is read through before anything is written. Lines that cannot be kept are counted and named; a file that
    is damaged or cut short is not taken at all. `nacre undo` takes an import back. Other writers wait while it lasts.

    A first word that names another program brings what that one remembers, under its own ids and with its dates, links
    and successors; nothing of it is changed, and a second time nothing comes twice.

    \b
      nacre import all.nacre
      nacre import chroma ./.chroma --dry-run
      nacre import ai-lessons ~/.ai/lessons/knowledge.db
      nacre import amplihack ~/.amplihack/memory/scout --space scout
      nacre import server-memory memory.jsonl
    """
    source, file = source_and_path(words)
    if how["collections"] and source != SOURCES[0]:
        raise click.UsageError("Only chroma has collections; leave --collection out.")
    if file == STREAM and not (yes or dry_run):
        raise click.UsageError("Stdin brings the file, and nobody can be asked; add --yes or --dry-run.")
    with archive_file(file) as path, cli.open_if_made() if dry_run else cli.open_or_make(model=True) as store:
        if dry_run or not yes:
            would = run_import(store, source, path, how, dry_run=True)
            report_import(would, form, "Would import" if dry_run else ANNOUNCED, source)
            if dry_run:
                return
            confirm(f"Import {file} into the space {store.space!r}? `nacre undo` takes it back.")
        report_import(run_import(store, source, path, how, dry_run=False, why=why), form, "Imported", source)


def source_and_path(words: tuple[str, ...]) -> tuple[str, str]:
    """The source, empty for an archive, and the path. A file that is named as a source is reached as ./chroma."""
    if len(words) == 1 and words[0] not in SOURCES:
        return "", words[0]
    if words[0] not in SOURCES:
        raise click.UsageError(f"{words[0]!r} is none of {', '.join(SOURCES)}; name one of them, or a single file.")
    if len(words) != len(("source", "path")):
        raise click.UsageError(f"Say where it lies: nacre import {words[0]} PATH.")
    return words[0], words[1]


def run_import(
    store: MemoryStore, source: str, path: Path, how: ImportOptions, *, dry_run: bool, why: str = ""
) -> ImportSummary:
    from nacre.transfer.import_archive import import_archive, import_foreign

    policy, anew = how["on_conflict"], how["regenerate_vectors"]
    with progress_line() as progress:
        try:
            if not source:
                return import_archive(
                    store, path, on_conflict=policy, regenerate_vectors=anew, dry_run=dry_run, why=why,
                    progress=progress,
                )  # fmt: skip
            return import_foreign(
                store, source, path, collections=how["collections"], on_conflict=policy, regenerate_vectors=anew,
                dry_run=dry_run, why=why, progress=progress,
            )  # fmt: skip
        except ImportConflict as error:
            raise Refused(str(error)) from error


def report_import(done: ImportSummary, form: str | None, deed: str, source: str = "") -> None:
    if form in DATA and deed != ANNOUNCED:
        print_data(asdict(done), form)
        return
    unit = "line" if source in LINE_FORMATS else "row"
    rest = import_counts(done, unit)
    say(f"{deed} {count_of(done.imported + done.renamed)}{'; ' if rest else ''}{rest}.")
    report_faults(done.faults, done.errors, unit)
    for note in done.notes:
        say(note)


def import_counts(done: ImportSummary, unit: str = "line") -> str:
    parts = {
        "of them under another id": done.renamed,
        "overwritten": done.overwritten,
        "skipped": done.skipped,
        "words of the vocabulary": done.words,
        "to be embedded" if not done.batch else "embedded": done.vectors_regenerated,
        f"{unit}s passed over": done.errors,
    }
    return ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)


def report_faults(faults: Sequence[Fault], errors: int, unit: str) -> None:
    for fault in faults[:MOST_FAULTS]:
        say(f"  {unit} {fault.line}: {fault.why}")
    if errors > min(len(faults), MOST_FAULTS):
        say(f"  and {errors - min(len(faults), MOST_FAULTS):,} more")


Pair = tuple[str, str]


@command("info")
@click.argument("file", metavar="FILE|-")
@form_option()
def info_command(_cli: CliContext, file: str, form: str | None) -> None:
    """Describe an archive without importing it: what it is, what it holds, and whether it is complete."""
    from nacre.transfer.read_archive import info

    with archive_file(file) as path, progress_line() as progress:
        info_found = info(path, progress=progress)
    name = "stdin" if file == STREAM else file
    if form in DATA:
        print_data(info_record(info_found, name), form)
    else:
        print_items(info_pairs(info_found, name), INFO_COLUMNS, lambda pair: pair, form)
    if not info_found.intact:
        raise StoreProblem(f"{name} is not whole: {info_found.problem}. It cannot be imported.")


def info_pairs(info_found: ArchiveInfo, rendered: str) -> list[Pair]:
    header = info_found.header
    pairs = [
        ("file", rendered),
        ("form", f"{header.form} {header.version}"),
        ("exported", header.exported_at),
        ("space", header.space),
        ("embedder", f"{header.embedder}, {header.dimensions} dimensions" if header.dimensions else header.embedder),
        ("memories", f"{info_found.count:,}"),
        ("with vectors", f"{info_found.vectors:,}"),
        ("words", f"{info_found.words:,}"),
        ("bad lines", f"{info_found.errors:,}"),
        ("bytes", f"{info_found.bytes:,}, unpacked {info_found.unpacked:,}"),
        ("whole", "yes" if info_found.intact else "no"),
    ]
    return [*pairs, *((f"type {name}", f"{count:,}") for name, count in info_found.types.items())]


INFO_COLUMNS: list[Column[Pair]] = [
    Column("what", lambda pair: pair[0], lambda pair: pair[0], style="cyan"),
    Column("value", lambda pair: pair[1], lambda pair: pair[1], wide=True, wraps=True),
]


def info_record(info_found: ArchiveInfo, name: str) -> dict[str, object]:
    header = info_found.header
    source = {"space": header.space, "embedder": header.embedder, "dimensions": header.dimensions}
    return {
        "path": name,
        "format": header.form,
        "version": header.version,
        "exported_at": header.exported_at,
        "source": {**source, "count": header.count},
        "options": dict(header.options),
        "count": info_found.count,
        "types": dict(info_found.types),
        "vectors": info_found.vectors,
        "words": info_found.words,
        "errors": info_found.errors,
        "bytes": info_found.bytes,
        "unpacked": info_found.unpacked,
        "whole": info_found.intact,
        "problem": info_found.problem,
    }
