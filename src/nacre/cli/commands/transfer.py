"""nacre export, import, info and ingest: archives, the data of other programs, conversations and notes."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import remote
from nacre.cli.cli_context import CliContext, store_exists
from nacre.cli.errors import NotFound, Refused, StoreProblem
from nacre.cli.options import (
    PATH,
    Decorator,
    combine,
    command,
    created_options,
    form_option,
    option,
    why_option,
    yes_option,
)
from nacre.cli.ui.output import DATA, FORMS, Column, Form, print_data, print_facts, print_items, say
from nacre.cli.ui.prompts import confirm, count_of, progress_line
from nacre.errors import ArchiveRefused, ImportConflict, InvalidInput
from nacre.model.journal import PERSON
from nacre.settings import PERSONAL
from nacre.transfer.names import INGEST_FORMATS, SOURCES

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.transfer.archive import ArchiveInfo, ImportSummary
    from nacre.transfer.export import Choice
    from nacre.transfer.ingest.formats import Format
    from nacre.transfer.ingest.ingest import Tally


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


def include_option(what: str, help: str, *, default: bool = True) -> Decorator:
    return option(f"--{what}/--no-{what}", help, to=f"include_{what}", default=default)


FORMAT_NAMES = {"archive": "an archive", "jsonl": "JSON lines", "csv": "CSV", "markdown": "Markdown notes"}
EXPORT_FORMATS = tuple(FORMAT_NAMES)
PRINTED = ("text", *DATA)


class Formats(click.Choice[str]):
    """Also takes what the other one of two options is for: some write `-f csv` and mean `--to csv`, and `--format`,
    here the old name of `--to` and `--from`, is how to print in all other commands. `file_and_print_formats` tells them
    apart."""

    def __init__(self, listed: Sequence[str], also: Sequence[str]) -> None:
        super().__init__(listed)
        self.also = tuple(each for each in also if each not in listed)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) if value in self.also else super().convert(value, param, ctx)


def format_options(name: str, help: str, files: Sequence[str], printed: Sequence[str]) -> Decorator:
    """`-f`, how to print what was done, and the option of this name, which says the format of the files."""
    return combine(
        option(name, help, to="file_format", old="--format", type=Formats(files, printed)),
        option("-f", "How to print what was done.", to="form", type=Formats(printed, files)),
    )


def file_and_print_formats(format: str | None, form: Form, printed: Sequence[str]) -> tuple[str | None, Form]:
    """The format of the file, and how to print, whichever option each was given with. Raises `click.UsageError` where
    both options say the same one of the two."""
    form_is_of_file = form is not None and form not in printed
    format_is_of_print = format in printed and format not in FILE_FORMATS
    if form_is_of_file == format_is_of_print:
        return (form, format) if form_is_of_file else (format, form)
    if form is not None and format is not None:
        what = "the format of the file" if form_is_of_file else "how to print"
        raise click.UsageError(f"{form} and {format} both say {what}; give one of them.")
    return (form, None) if form_is_of_file else (None, format)


FILE_FORMATS = (*EXPORT_FORMATS, *INGEST_FORMATS)
export_formats = format_options(
    "--to", "The format of the file; else its name says: .nacre, .jsonl, .csv, or a folder.", EXPORT_FORMATS, PRINTED
)
ingest_formats = format_options("--from", "The files' format; else it is detected for each.", INGEST_FORMATS, FORMS)


@command("export FILE|-", export_formats)
@option("--all-spaces", "Every space of the store, in one .zip that `nacre import` reads back.")
@option("--per", "Of markdown: a note for each memory or each day.", choices=("memory", "day"), default="memory")
@option("--watch", "Of markdown: keep the folder up to date until Ctrl-C.")
@option(
    "--force",
    "Replace a file that exists. Of a folder: bring its notes up to date, or write beside other files; notes of "
    "memories that the other options leave out are removed, edited ones never.",
)
@option("-t --type TYPE", "Of this type; repeat for others.", to="types", multiple=True)
@option("-g --tag TAG", "With this tag; repeat for all of them.", to="tags", multiple=True)
@option("--status NAME", "Of this status: long_term, archived, …; repeat.", multiple=True)
@created_options
@include_option("superseded", "Also what newer ones replaced (the default).")
@include_option("archived", "Also what is in the archive (the default).")
@include_option("trashed", "Also what is in the trash (not by default).", default=False)
@option("--vectors/--no-vectors", "With vectors, or smaller, to be computed again.", default=True)
@option("--redact/--no-redact", "Without what looks like a secret, or as it is kept.", default=True)
def export_command(
    cli: CliContext, file: str, form: Form, file_format: str | None, all_spaces: bool, per: str, watch: bool,
    force: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Write memories to a file, oldest first: everything in the space but the trash, unless you narrow it.

    The name says the format: .nacre is an archive, which keeps all that a memory has and its vectors; .jsonl and .csv
    are tables with all fields; a folder gets Markdown notes, which Obsidian opens. `nacre import` reads each of them
    back, and of notes what was edited. A file is written whole or not at all; `-` is stdout. A name that ends in
    .ahkai gets AI-Houkai's form.

    \b
      nacre export all.nacre
      nacre export lately.csv --since 7d -t episodic
      nacre export notes/ --to markdown --watch
      nacre export everything.zip --all-spaces
      nacre export - | ssh other nacre import - --yes
    """
    from nacre.recall_options import between
    from nacre.transfer.export import Choice
    from nacre.transfer.export_files import export_file

    format, form = file_and_print_formats(file_format, form, PRINTED)
    if all_spaces:
        check_all_spaces(cli, file, format, alone=watch or per != "memory")
    else:
        format = checked_format(file, format, form, notes_alone=watch or per != "memory")
    # Relative times are resolved once, here: in a watched folder "7d" must not move on.
    chosen["since"], chosen["until"] = between(chosen["since"], chosen["until"], cli.now())
    if all_spaces:
        export_spaces(cli, Path(file), Choice(**chosen), form, force=force)
        return
    if watch:
        watch_folder(cli, Path(file), Choice(**chosen), per, force=force)
        return
    out = sys.stdout.buffer if file == STREAM else Path(file)
    if remote.is_remote(cli):
        with remote.open_server(cli) as server:
            size = remote.export_space(server, out, Choice(**chosen), format, force)
        say(f"Wrote the space {server.space!r} to {'stdout' if file == STREAM else file}, {size:,} bytes.")
        return
    with cli.open() as store, progress_line() as progress:
        done = export_file(store, out, Choice(**chosen), format=format, per=per, overwrite=force, progress=progress)
        space, others = store.space, [each for each in store.spaces() if each != store.space]
    if form in DATA:
        print_data({**asdict(done), "path": str(done.path), "elapsed": round(done.elapsed, 3)}, form)
    else:
        written = f"Wrote {count_of(done.count)} of {space!r} to {'stdout' if done.path is None else done.path}"
        say(f"{written} as {FORMAT_NAMES[format or 'archive']}, {done.bytes:,} bytes.", *done.notes)
        say(*left_out_spaces(others))


def checked_format(file: str, format: str | None, form: Form, *, notes_alone: bool) -> str | None:
    """That of the file; None is an archive to stdout. `notes_alone` says that an option of a folder of notes is given.
    Raises `click.UsageError`."""
    from nacre.transfer.export_files import MARKDOWN, format_of

    if file == STREAM and sys.stdout.isatty() and format in (None, "archive"):
        raise click.UsageError("A terminal cannot show what is packed; name a FILE.")
    if file == STREAM and form:
        raise click.UsageError("The export itself goes to stdout; name a FILE, or leave out -f.")
    if file == STREAM and format == MARKDOWN:
        raise click.UsageError("Markdown is a folder of notes; name a folder.")
    if file.endswith(".zip") and format is None and not Path(file).is_dir():
        raise click.UsageError("A .zip is for all spaces; add --all-spaces, or name it FILE.nacre.")
    if file != STREAM and file.endswith("/") and format is None:
        format = MARKDOWN
    if file != STREAM:
        format = format_of(Path(file), format)
    if format != MARKDOWN and notes_alone:
        raise click.UsageError("--watch and --per are for a folder of notes; add --to markdown.")
    return format


def check_all_spaces(cli: CliContext, file: str, format: str | None, *, alone: bool) -> None:
    """Raises `click.UsageError` for what is about one space. `alone` says that another option is so."""
    if format not in (None, "archive") or alone or not file.endswith(".zip"):
        raise click.UsageError("--all-spaces writes an archive of each space into one file; name it FILE.zip.")
    if "space" in cli.flags:
        raise click.UsageError("--all-spaces and --space exclude each other; give one of them.")
    if remote.is_remote(cli):
        raise click.UsageError("A server exports one space at a time; leave --all-spaces out.")


def export_spaces(cli: CliContext, file: Path, choice: Choice, form: Form, *, force: bool) -> None:
    from nacre.transfer.all_spaces import export_all_spaces

    with cli.open(any_space=True) as store, progress_line() as progress:
        done = export_all_spaces(store, file.expanduser(), choice, overwrite=force, progress=progress)
    if form in DATA:
        print_data([{"space": space, **asdict(each), "path": str(file)} for space, each in done.items()], form)
        return
    say(*(f"{space}: {count_of(each.count)}" for space, each in done.items()))
    total = count_of(sum(each.count for each in done.values()))
    spaces = count_of(len(done), "space", "spaces")
    say(f"Wrote {total} of {spaces} to {file}; `nacre import {shlex.quote(str(file))}` reads each into its space.")
    say(*dict.fromkeys(note for each in done.values() for note in each.notes))


def import_spaces(
    cli: CliContext, path: Path, file: str, form: Form, *, dry_run: bool, yes: bool, why: str, **how: Any
) -> None:
    """Each archive into the space of its name, as an operation of that space. All are read through before anything is
    written."""
    from nacre.transfer.all_spaces import unpacked_spaces

    if "space" in cli.flags:
        raise click.UsageError(f"{file} says the space of each archive; leave --space out.")
    with unpacked_spaces(path) as files:
        say(f"{file} is an export of {count_of(len(files), 'space', 'spaces')}.")
        with cli.open_if_it_exists() as store:
            for each in files:
                would = run_import(store.in_space(each.space), "archive", each.file, dry_run=True, **how)
                say(f"{each.space}:")
                report_import(would, form if dry_run else None, "Would import" if dry_run else ANNOUNCED, "line", file)
        if dry_run:
            return
        confirm(f"Import {file} into {count_of(len(files), 'space', 'spaces')}?", yes=yes)
        with cli.open_or_make() as store:
            for each in files:
                done = run_import(store.in_space(each.space), "archive", each.file, why=why, **how)
                say(f"{each.space}:")
                report_import(done, form, DONE, "line", file)
    say("Each space has an operation of its own; `nacre --space NAME undo` takes that of one back.")


def left_out_spaces(others: Sequence[str]) -> list[str]:
    """`personal` first, which a project's commands read too."""
    if not others:
        return []
    first = PERSONAL if PERSONAL in others else others[0]
    rest = len(others) - 1
    more = f" and {count_of(rest, 'other space', 'other spaces')}" if rest else ""
    one = f"`--space {shlex.quote(first)}` exports that one, `--all-spaces` all of them"
    return [f"{first!r}{more} {'are' if rest else 'is'} not in it; {one}."]


def watch_folder(cli: CliContext, folder: Path, choice: Choice, per: str, *, force: bool) -> None:
    from nacre.transfer.note_folder import Changes, NoteFolder, edited_note, watch

    def report(changes: Changes) -> None:
        counts = f"{count_of(changes.written, 'note', 'notes')} written, {changes.removed:,} removed"
        say(f"{folder}: {counts}.", *edited_note(changes.edited))

    with cli.open() as store:
        notes = NoteFolder(store, folder, choice, per=per, force=force)
        try:
            watch(notes, report)
        except KeyboardInterrupt as stop:
            left = notes.edited()
            state = " has edits that the store does not have" if left else " is as the store was"
            stop.add_note(" ".join([f"{folder}{state}; the same command continues.", *edited_note(left)]))
            raise


POLICIES = ("skip", "overwrite", "rename", "error", "newer")
DONE = "Imported"
ANNOUNCED = "Will import"  # said before the question, so that what is asked is known
MOST_FAULTS = 10  # faults that a person reads; JSON has more of them


LINE_FORMATS = ("archive", "server-memory", "jsonl", "csv")  # they are read line by line
MOST_WRITTEN_FAULTS = 100_000  # in the file of --errors; they are held in memory


def as_columns(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    columns = {}
    for value in values:
        column, separator, field = value.rpartition("=")
        if not (column and separator and field):
            raise click.BadParameter(f"{value!r} is not COLUMN=FIELD, such as Note=text.")
        columns[column] = field
    return columns


@command("import", form_option("text", "json"), yes_option, why_option)
@click.argument("words", nargs=-1, required=True, metavar="[SOURCE] PATH|-")
@option("--from NAME", f"What it is, where that is not recognised: {', '.join(SOURCES)}.", to="named", choices=SOURCES)
@option(
    "--on-conflict",
    "What becomes of ids that are here already; newer takes what was changed later.",
    choices=POLICIES,
    default="skip",
)
@option(
    "--map COLUMN=FIELD",
    "Of jsonl and csv: the field for a column; repeat.",
    to="columns",
    multiple=True,
    callback=as_columns,
)
@option("--errors FILE", "Write the lines that cannot be taken, and why, to FILE.")
@option("--include-tools", "Of conversations: also what tools were asked and answered.", to="tools")
@option("--regenerate-vectors", "Compute all vectors again, whatever the file has.")
@option("--collection NAME", "Of chroma: this collection; may be repeated.", to="collections", multiple=True)
@option("--dry-run", "Say what would come, and change nothing.")
def import_command(
    cli: CliContext, words: tuple[str, ...], named: str | None, dry_run: bool, form: Form, yes: bool, why: str,
    errors: Path | None, **how: Any,
) -> None:  # fmt: skip
    """Import memories from a file, or from another program.

    The path may be a folder, or `-` for stdin. All comes into the space as one operation, or nothing is changed; an
    export of all spaces comes into each of them, as an operation of its own.

    What it is, is recognised: an archive, exported notes with what was edited in them, JSON lines, CSV, Markdown,
    conversations (Claude Code, Codex, Gemini CLI, ChatGPT, Claude), or the memory of another program (mem0,
    basic-memory, claude-mem, MemPalace, mcp-memory-service, server-memory, Letta, LangGraph, Obsidian, engram,
    ai-lessons, amplihack, AI-Houkai, Mnemosyne). --from says it where that fails.

    It is read through before anything is written. Lines that cannot be kept, and the rest of a table that is cut short,
    are counted and named; an archive that is damaged or cut short is not taken at all. A second time nothing comes
    twice. An import is exact: a text that is here already under another id is added as well. `nacre undo` takes an
    import back. Others can write meanwhile; an import that was killed continues when it is run again. Nothing is
    changed where it comes from.

    \b
      nacre import all.nacre
      nacre import notes.csv --map Note=text --map Labels=tags --dry-run
      nacre import ~/.claude-mem
      nacre import conversations.json --errors left-out.jsonl
      nacre import --from chroma ./.chroma --collection notes
    """
    forced, file = source_and_path(words, named)
    if how["collections"] and forced not in (None, "chroma"):
        raise click.UsageError("Only chroma has collections; leave --collection out.")
    if file == STREAM and not (yes or dry_run):
        raise click.UsageError("Stdin brings the file, and nobody can be asked; add --yes or --dry-run.")
    if errors is not None:
        how["named_faults"] = MOST_WRITTEN_FAULTS
    with archive_file(file) as path:
        if forced in (None, "archive") and is_export_of_spaces(path):
            how.pop("named_faults", None)  # archives have no lines to be mended
            import_spaces(cli, path, file, form, dry_run=dry_run, yes=yes, why=why, **how)
            return
        source, what = recognised(path, forced)
        unit = unit_of(source, path)
        if forced is None and source != "archive":
            say(f"{file} is {what}.")
        if dry_run or not yes:
            with cli.open_if_it_exists() as store:
                would = run_import(store, source, path, dry_run=True, **how)
                report_import(would, form, "Would import" if dry_run else ANNOUNCED, unit, file)
            if dry_run:
                finish_import(would, source, unit, path, errors)
                return
            confirm(f"Import {file} into the space {store.space!r}? `nacre undo` takes it back.")
        elif not store_exists(cli.settings()):
            read_through(cli, source, path, **how)
        with cli.open_or_make() as store:
            done = run_import(store, source, path, why=why, **how)
        report_import(done, form, DONE, unit, file)
        finish_import(done, source, unit, path, errors)


def is_export_of_spaces(path: Path) -> bool:
    from nacre.transfer.all_spaces import is_all_spaces

    return is_all_spaces(path.expanduser())  # whatever it is called: it may come from stdin


def source_and_path(words: tuple[str, ...], named: str | None) -> tuple[str | None, str]:
    """The source, None where it is to be recognised, and the path. A single word is a path if something lies there."""
    if len(words) == 1 and (named or words[0] not in SOURCES or Path(words[0]).exists()):
        return named, words[0]
    if named or words[0] not in SOURCES:
        if named or Path(words[0]).expanduser().exists():
            raise click.UsageError("One file or folder is imported at a time; repeat the command for the others.")
        raise click.UsageError(f"{words[0]!r} is none of {', '.join(SOURCES)}; name one of them, or a single file.")
    if len(words) != len(("source", "path")):
        raise click.UsageError(
            f"{words[0]!r} is no file or folder here, and names what is imported; say where it lies: "
            f"nacre import {words[0]} PATH."
        )
    return words[0], words[1]


def recognised(path: Path, forced: str | None) -> tuple[str, str]:
    from nacre.errors import ArchiveRefused
    from nacre.transfer.sources import kind_of

    if not path.expanduser().exists():
        raise ArchiveRefused(path, "there is no such file", "Check the path.")
    kind = kind_of(path.expanduser(), forced)
    return kind.name, kind.what


def read_through(cli: CliContext, source: str, path: Path, **how: Any) -> None:
    """Before a store is made for it, so that a file that cannot be imported leaves no empty store behind."""
    from nacre.transfer.import_archive import check_path

    reading = {name: how[name] for name in ("collections", "columns", "tools")}
    with progress_line() as progress:
        check_path(path, cli.settings(), source=source, progress=progress, **reading)


def finish_import(done: ImportSummary, source: str, unit: str, path: Path, errors: Path | None) -> None:
    """Writes the file of --errors. Raises `Refused` when there were lines and none of them was taken."""
    write_faults(done, errors, source, unit, path)
    if done.errors and not (done.imported or done.renamed or done.overwritten or done.skipped or done.terms):
        raise Refused(f"nothing was imported: not one {unit} of {path.name} can be taken.")


def write_faults(done: ImportSummary, file: Path | None, source: str, unit: str, path: Path) -> None:
    """As JSON lines: each line as it was, with its number and why it was not taken, to be mended and imported."""
    if file is None:
        return
    import json

    from nacre.files import atomic_write
    from nacre.transfer.rejected import rejected

    lines = (json.dumps(each, ensure_ascii=False) for each in rejected(path.expanduser(), source, done.faults))
    # Half of a surrogate pair is no UTF-8, and is written as JSON escapes it.
    atomic_write(file, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    more = f"; {done.errors - len(done.faults):,} more are not listed" if done.errors > len(done.faults) else ""
    say(f"Wrote {count_of(len(done.faults), unit, f'{unit}s')} that cannot be taken to {file}{more}.")


def run_import(store: MemoryStore, source: str, path: Path, **how: Any) -> ImportSummary:
    from nacre.factory import is_server
    from nacre.transfer.import_archive import import_path

    with progress_line() as progress:
        if is_server(store.settings.store):
            from nacre.client import RemoteProjectStore

            assert isinstance(store, RemoteProjectStore)
            return remote.import_file(store, path, "" if source == "archive" else source, {**how, "progress": progress})
        try:
            return import_path(store, path, source=source, progress=progress, **how)
        except ImportConflict as error:
            raise Refused(str(error)) from error


def unit_of(source: str, path: Path) -> str:
    """What the numbers of faults count."""
    from nacre.transfer.rejected import is_listed

    if is_listed(path.expanduser(), source):
        return "item"
    return "line" if source in LINE_FORMATS else "row"


def report_import(done: ImportSummary, form: Form, verb: str, unit: str, file: str) -> None:
    if form in DATA and verb != ANNOUNCED:
        print_data(asdict(done), form)
        return
    parts = {
        "of them under another id": done.renamed,
        "overwritten": done.overwritten,
        "known already": done.skipped - done.different,
        f"{'term' if done.terms == 1 else 'terms'} of the vocabulary": done.terms,
        "embedded" if verb == DONE else "to be embedded": done.vectors_regenerated,
        f"{unit if done.errors == 1 else f'{unit}s'} passed over": done.errors,
    }
    rest = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
    say(f"{verb} {count_of(done.imported + done.renamed)}{'; ' if rest else ''}{rest}.")
    faults = done.faults[:MOST_FAULTS]
    say(*(f"  {unit} {fault.line}: {fault.why}" for fault in faults))
    if done.errors > len(faults):
        say(f"  and {done.errors - len(faults):,} more")
    say(*done.notes)
    say(*advice(done, file))
    if verb == DONE and not done.batch:
        say("No memory was changed, so there is nothing of it to undo.")


def advice(done: ImportSummary, file: str) -> Iterator[str]:
    """What the command line offers for notes and ids that the store has otherwise, and tables with other names of
    columns."""
    from nacre.transfer.import_archive import DIFFERENT, OTHERWISE, OUTDATED
    from nacre.transfer.tables import LEFT_OUT_COLUMNS, NO_TEXT

    if any(OUTDATED in note for note in done.notes):
        name = shlex.quote(file)
        anew = f"; `nacre export {name} --force` writes them anew" if Path(file).expanduser().is_dir() else ""
        yield f"`nacre import --on-conflict overwrite {name}` takes what the notes say{anew}."
    if any(DIFFERENT in note for note in done.notes):
        yield "`--on-conflict overwrite` takes them in place of what is here, `--on-conflict rename` under new ids."
    if any(OTHERWISE in note for note in done.notes):
        yield "`--on-conflict overwrite` takes what the file says of them."
    if any(note.startswith(LEFT_OUT_COLUMNS) for note in done.notes):
        yield "--map COLUMN=FIELD takes a column that was left out."
    if not (done.imported or done.skipped) and any(fault.why.startswith(NO_TEXT) for fault in done.faults):
        yield "--map COLUMN=text says which column has the text."


@command("info FILE|-", form_option())
def info_command(_cli: CliContext, file: str, form: Form) -> None:
    """Describe an archive without importing it: what it is, what it holds, and whether it is complete."""
    from nacre.transfer.read_archive import info

    name = "stdin" if file == STREAM else file
    with archive_file(file) as path, progress_line() as progress:
        refuse_other_kinds(path, file, name)
        archive = info(path, progress=progress)
    print_facts(info_facts(archive, name), form, info_record(archive, name))
    if not archive.intact:
        raise StoreProblem(f"{name} is incomplete or damaged: {archive.problem}. It cannot be imported.")


def refuse_other_kinds(path: Path, file: str, name: str) -> None:
    """Raises `ArchiveRefused` for what `nacre import` reads and is not an archive. `file` is as it was typed, `name` as
    it is called in messages."""
    from nacre.transfer.archive import ARCHIVE
    from nacre.transfer.sources import UnknownForm, recognise

    try:
        kind = recognise(path)
    except UnknownForm:
        return  # reading it as an archive says what is wrong with it
    if kind.name != ARCHIVE:
        remedy = f"`nacre import --dry-run {shlex.quote(file)}` says what an import of it would bring."
        raise ArchiveRefused(name, f"it is {kind.what}, and only archives are described", remedy)


def info_facts(archive: ArchiveInfo, name: str) -> dict[str, object]:
    header = archive.header
    dimensions = f", {header.dimensions} dimensions" if header.dimensions else ""
    return {
        "file": name,
        "form": f"{header.form} {header.version}",
        "exported": header.exported_at,
        "space": header.space,
        "embedder": f"{header.embedder}{dimensions}",
        "memories": archive.count,
        "with vectors": archive.vectors,
        "terms": archive.terms,
        "bad lines": archive.errors,
        "bytes": f"{archive.bytes:,}, unpacked {archive.unpacked:,}",
        "intact": archive.intact,
        "type": archive.types,
    }


def info_record(archive: ArchiveInfo, name: str) -> dict[str, object]:
    header = archive.header
    source = {each: getattr(header, each) for each in ("space", "embedder", "dimensions", "count")}
    form = {"format": header.form, "version": header.version, "exported_at": header.exported_at}
    return {
        "path": name,
        **form,
        "source": source,
        "options": dict(header.options),
        **{
            each: getattr(archive, each)
            for each in ("count", "types", "vectors", "terms", "errors", "bytes", "unpacked")
        },
        "intact": archive.intact,
        "problem": archive.problem,
    }


COUNTS = ("new", "unchanged", "changed", "gone")  # of a tally


@dataclass(frozen=True, slots=True)
class IngestedFile:
    path: Path
    format: str
    space: str
    tally: Tally


@command("ingest", ingest_formats)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=PATH)
@option("--dry-run", "Say what would be stored, and store nothing.")
@option("--include-tools", "Also what tools were asked and answered, and thoughts.", to="tools")
def ingest_command(
    cli: CliContext, paths: tuple[Path, ...], file_format: str | None, dry_run: bool, tools: bool, form: Form
) -> None:
    """Store conversations and notes from files: transcripts of Claude Code, Codex and Gemini CLI, exports of ChatGPT
    and Claude, lines of JSON, Markdown. Folders are walked.

    What was ingested before is not stored twice, and an edited note changes its memory. Transcripts go into the space
    of the project where they took place, unless --space names one.

    \b
      nacre ingest ~/.claude/projects
      nacre ingest conversations.json --dry-run
      nacre ingest notes/ --space me
    """
    name, form = file_and_print_formats(file_format, form, FORMS)
    files = detect_formats(paths, name)
    done = []
    with cli.open_if_it_exists() if dry_run else cli.open_or_make() as store, progress_line() as progress:
        from nacre.memory_store import MemoryStore
        from nacre.transfer.ingest.ingest import Ingest, notes_gone, renamed_notes

        before = set(store.spaces())
        notes = [Ingest(store, format, path) for path, format in files if format.edited]
        names = {note.name_of_session() for note in notes}
        gone = {name for folder in folders_of(paths) for name in notes_gone(store, folder, names)}
        renamed = renamed_notes(store, gone, notes)
        for path, format in files:
            space = space_for(cli, format, path, store)
            own = replace(cli.settings(), store=store.settings.store, space=space)
            with MemoryStore(settings=own, actor=PERSON, embedder=store.embedder) as there:
                ingest = Ingest(there, format, path, dry_run)
                former = renamed.get(ingest.name_of_session(), "") if format.edited else ""
                tally = replace(ingest, former=former).run(tools=tools, progress=progress)
            done.append(IngestedFile(path, format.name, space, tally))
        new = sorted(set(store.spaces()) - before - {store.space})
        left = Counter[str]()
        for path in filter(Path.is_dir, paths):
            left |= notes_gone(store, path, names | {*renamed.values()})

    def tally_column(name: str) -> Column[IngestedFile]:
        return Column(name, lambda each: str(getattr(each.tally, name)), right=True)

    columns: list[Column[IngestedFile]] = [
        Column("file", lambda each: str(each.path), lambda each: each.path.name, wide=True),
        Column("format", lambda each: each.format),
        Column("space", lambda each: each.space),
        *map(tally_column, COUNTS),
        Column("skipped", lambda each: str(each.tally.skipped.total()), right=True),
        tally_column("broken"),
    ]
    print_items(done, columns, ingest_record, form)
    say(*ingest_summary(done, dry_run=dry_run), *(f"Created the space {space!r}." for space in new))
    say(*renamed_lines(renamed, dry_run=dry_run), *ways_to_undo(done, store.space), *gone_note(left))


def detect_formats(paths: tuple[Path, ...], name: str | None) -> list[tuple[Path, Format]]:
    from nacre.transfer.ingest.formats import FORMATS, detect, files, with_one_date_order

    result, others = [], 0
    for path, named in files(paths, lambda path, reason: say(f"{path} left out: {reason}.")):
        format = FORMATS[name] if name else detect(path)
        if format is not None:
            result.append((path, format))
        elif named:
            known = ", ".join(INGEST_FORMATS)
            raise InvalidInput(
                f"{path} is in no format that is known ({known}); --from says which one it is. "
                "`nacre import` reads tables and the memories of other programs."
            )
        else:
            others += 1
    if others:
        say(f"{count_of(others, 'file', 'files')} in no known format left out.")
    if not result:
        raise NotFound("there is nothing to ingest; name transcripts, exports or notes.")
    result, date_order = with_one_date_order(result)
    if date_order:
        say(date_order)
    return result


def space_for(cli: CliContext, format: Format, path: Path, store: MemoryStore) -> str:
    folder = format.folder_of(path) if format.folder_of is not None else None
    if "space" in cli.flags or folder is None:
        return store.space
    from nacre.project_store import known_spaces
    from nacre.settings import choose_space

    return choose_space(folder, known_spaces(store)).space


def folders_of(paths: Iterable[Path]) -> set[Path]:
    return {path if path.is_dir() else path.parent for path in paths}


def renamed_lines(renamed: Mapping[str, str], *, dry_run: bool) -> Iterator[str]:
    for name, former in sorted(renamed.items()):
        yield f"{name} is {former} under another name: its memories {'would move' if dry_run else 'moved'} with it."


def gone_note(gone: Counter[str]) -> Iterator[str]:
    """A note may have been moved elsewhere, so that its memories are not forgotten with it."""
    if not gone:
        return
    one = len(gone) == 1
    are = "1 note that was ingested before is" if one else f"{len(gone):,} notes that were ingested before are"
    stay = f"{'its' if one else 'their'} {count_of(gone.total())} {'stays' if gone.total() == 1 else 'stay'}"
    whose = "them" if one else "those of the first"
    listing = f"`nacre list --session {shlex.quote(min(gone))}` lists {whose}"
    yield f"{are} gone from the folder; {stay}. {listing}, and `nacre forget` removes them by their ids."


def ways_to_undo(done: list[IngestedFile], space: str) -> Iterator[str]:
    """Each file is an operation of its own, or several where it is long, and an undo takes back one of them."""
    operations: Counter[str] = Counter()
    for each in done:
        operations[each.space] += each.tally.operations
    for name, count in operations.items():
        command = "nacre undo" if name == space else f"nacre --space {shlex.quote(name)} undo"
        if count == 1:
            yield f"`{command}` takes it back."
        elif count:
            yield f"These are {count:,} operations; `{command} --last {count}` takes them all back."


def ingest_record(each: IngestedFile) -> dict[str, object]:
    counts = {name: getattr(each.tally, name) for name in COUNTS}
    rest = {"skipped": dict(each.tally.skipped), "broken": each.tally.broken}
    rest["faults"] = [*each.tally.faults, *each.tally.remarks]
    return {"file": str(each.path), "format": each.format, "space": each.space, **counts, **rest}


def ingest_summary(done: list[IngestedFile], *, dry_run: bool) -> list[str]:
    from nacre.remember.guard import guard_notes

    tallies = [each.tally for each in done]
    new, unchanged, changed, gone = (sum(getattr(tally, name) for tally in tallies) for name in COUNTS)
    lines = [f"{path.path}: {fault}" for path in done for fault in path.tally.faults]
    broken = sum(tally.broken for tally in tallies)
    if broken > len(lines):
        lines.append(f"and {broken - len(lines):,} more that cannot be read.")
    lines += [f"{path.path}: {remark}" for path in done for remark in path.tally.remarks]
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
