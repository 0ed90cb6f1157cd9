"""nacre ingest"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.cli_context import ACTOR, CliContext
from nacre.cli.errors import NotFound
from nacre.cli.options import command
from nacre.cli.ui.output import FORMS, Column, Form, print_items, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.errors import InvalidInput

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.transfer.ingest.formats import Format
    from nacre.transfer.ingest.ingest import Tally

NAMES = ("claude-code", "chatgpt", "claude", "jsonl", "markdown")
COUNTS = ("new", "unchanged", "changed", "gone")  # of a tally


@dataclass(frozen=True, slots=True)
class IngestedFile:
    path: Path
    format: str
    space: str
    tally: Tally


@command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@click.option("--format", "name", type=click.Choice(NAMES), help="The files' format; else it is detected for each.")
@click.option("--dry-run", is_flag=True, help="Say what would be stored, and store nothing.")
@click.option("--include-tools", "tools", is_flag=True, help="Also what tools were asked and answered, and thoughts.")
@click.option("-f", "form", type=click.Choice(FORMS), help="How to print what was done.")
def ingest_command(
    cli: CliContext, paths: tuple[Path, ...], name: str | None, dry_run: bool, tools: bool, form: Form
) -> None:
    """Store conversations and notes from files: transcripts of Claude Code, exports of ChatGPT and Claude, lines
    of JSON, Markdown. Folders are walked.

    What was ingested before is not stored twice, and an edited note changes its memory. Transcripts go into the space
    of the project where they took place, unless --space names one.

    \b
      nacre ingest ~/.claude/projects
      nacre ingest conversations.json --dry-run
      nacre ingest notes/ --space me
    """
    files = detect_formats(paths, name)
    done = []
    with cli.open_if_made() if dry_run else cli.open_or_make(model=True) as store, progress_line() as progress:
        from nacre.transfer.ingest.ingest import Ingest

        before = set(store.spaces())
        for path, format in files:
            space = space_for(cli, format, path, store)
            with open_in_space(cli, store, space) as there:
                tally = Ingest(there, format, path, dry_run).run(tools=tools, progress=progress)
            done.append(IngestedFile(path, format.name, space, tally))
        new = sorted(set(store.spaces()) - before - {store.space})
    print_items(done, columns(), record, form)
    say(*summary(done, dry_run=dry_run), *(f"Created the space {space!r}." for space in new))


def detect_formats(paths: tuple[Path, ...], name: str | None) -> list[tuple[Path, Format]]:
    from nacre.transfer.ingest.formats import detect, files, format_named

    result, others = [], 0
    for path, named in files(paths, lambda path, reason: say(f"{path} left out: {reason}.")):
        format = format_named(name) if name else detect(path)
        if format is not None:
            result.append((path, format))
        elif named:
            known = ", ".join(NAMES)
            raise InvalidInput(f"{path} is in no format that is known ({known}); --format says which one it is.")
        else:
            others += 1
    if others:
        say(f"{count_of(others, 'file', 'files')} in no known format left out.")
    if not result:
        raise NotFound("there is nothing to ingest; name transcripts, exports or notes.")
    return result


def space_for(cli: CliContext, format: Format, path: Path, store: MemoryStore) -> str:
    folder = format.folder_of(path) if format.folder_of is not None else None
    if "space" in cli.flags or folder is None:
        return store.space
    from nacre.settings import space_of

    return space_of(folder, store.spaces())


def open_in_space(cli: CliContext, store: MemoryStore, space: str) -> MemoryStore:
    from nacre.memory_store import MemoryStore

    return MemoryStore(
        settings=replace(cli.settings(), store=store.settings.store, space=space), actor=ACTOR, embedder=store.embedder
    )


def columns() -> list[Column[IngestedFile]]:
    def count(name: str) -> Column[IngestedFile]:
        def text(each: IngestedFile) -> str:
            return str(getattr(each.tally, name))

        return Column(name, text, right=True)

    return [
        Column("file", lambda each: str(each.path), lambda each: each.path.name, wide=True),
        Column("format", lambda each: each.format),
        Column("space", lambda each: each.space),
        *map(count, COUNTS),
        Column("skipped", lambda each: str(each.tally.skipped.total()), right=True),
        count("broken"),
    ]


def record(each: IngestedFile) -> dict[str, object]:
    counts = {name: getattr(each.tally, name) for name in COUNTS}
    rest = {"skipped": dict(each.tally.skipped), "broken": each.tally.broken, "faults": each.tally.faults}
    return {"file": str(each.path), "format": each.format, "space": each.space, **counts, **rest}


def summary(done: list[IngestedFile], *, dry_run: bool) -> list[str]:
    from nacre.remember.guard import guard_notes

    tallies = [each.tally for each in done]
    new, unchanged, changed, gone = (sum(getattr(tally, name) for tally in tallies) for name in COUNTS)
    lines = [f"{path.path}: {fault}" for path in done for fault in path.tally.faults]
    broken = sum(tally.broken for tally in tallies)
    if broken > len(lines):
        lines.append(f"and {broken - len(lines):,} more that cannot be read.")
    reasons = sum((tally.skipped for tally in tallies), Counter[str]())
    if reasons:
        lines.append(f"Left out: {', '.join(f'{reason} ({count:,})' for reason, count in sorted(reasons.items()))}.")
    secrets = {kind for tally in tallies for kind in tally.redacted}
    if secrets and (new or changed) and not dry_run:
        lines += guard_notes(tuple(sorted(secrets)))
    counts = f"{new:,} new, {unchanged:,} unchanged, {changed:,} changed"
    removed = f", {gone:,} gone from their notes (in the trash)" if gone else ""
    ending = "; nothing was stored (--dry-run)." if dry_run else "."
    return [*lines, f"{count_of(len(done), 'file', 'files')}: {counts}{removed}{ending}"]
