"""nacre doctor, nacre store reindex and nacre store models: check and repair the store, its index and its model."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from nacre.cli import remote
from nacre.cli.cli_context import CliContext, configure_logging
from nacre.cli.errors import StoreProblem
from nacre.cli.options import command, form_option, option, set_global_option
from nacre.cli.ui.output import DATA, Form, print_data, print_facts, print_record, printable, put, say
from nacre.cli.ui.prompts import count_of, progress_line
from nacre.errors import NacreError
from nacre.factory import has_file, is_database, store_file
from nacre.lifecycle.doctor import Finding, compute_missing, examine, repair
from nacre.settings import ADDRESS, IN_MEMORY

SALVAGED = "-salvaged.db"  # the end of the new store's name
ONE_LINE = 100_000  # the width of a line for a program: it is never broken
COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@command("doctor", form_option("text", "json"))
@option("--fix", "Repair a damaged file and index again, where that helps.")
@option(
    "--salvage FILE", "Copy what can be read of a damaged store, or of its log, into a new one; say what is missing."
)
@option("--into FILE", "With --salvage: the new store; beside the damaged one unless given.")
@option("--report", "Print what a bug report should say: versions, sizes, findings. No memory is in it.")
def doctor_command(
    cli: CliContext, fix: bool, salvage: Path | None, into: Path | None, report: bool, form: Form
) -> None:
    """Check the store, and say how to repair what is wrong. Ends with code 4 where there is a problem.

    \b
      nacre doctor --fix                 repair this store
      nacre doctor --salvage broken.db   rescue what another file still holds; it stays as it is
      nacre doctor --report              for a bug report

    Where only the text of a memory could be read, it has the tag `salvaged`. Where more than five records are missing,
    a file beside the store (its name with .missing.txt) lists their ids.
    """
    if into is not None and salvage is None:
        raise click.UsageError("--into names the new store of --salvage; give both.")
    if salvage is not None:
        salvage_file(cli, salvage, into or salvage.with_name(f"{salvage.stem}{SALVAGED}"))
        return
    if report:
        print_facts(bug_report(cli), form)
        return
    findings = examine_store(cli)
    if fix and any(finding.fixed_by for finding in findings):
        findings = apply_fixes(cli, findings)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else ONE_LINE
    records = [{"check": each.check, "level": each.level, "message": each.message} for each in findings]
    print_record(records, (finding_line(finding, width) for finding in findings), form)
    if any(finding.level == "problem" for finding in findings):
        raise click.exceptions.Exit(StoreProblem.exit_code)


def salvage_file(cli: CliContext, file: Path, target: Path) -> None:
    from nacre.factory import verify_copy
    from nacre.lifecycle.doctor import salvage

    configure_logging(debug=cli.debug)
    settings = cli.unlocked_settings()
    missing = salvage(settings, file, target, cli.now())
    copy = verify_copy(target, settings.key)
    put(str(target))
    say(f"Recovered {count_of(copy.memories)} in {count_of(len(copy.spaces), 'space', 'spaces')}; {file} is unchanged.")
    say(*missing or ["Nothing that the file had is known to be missing."])
    name = quote(str(target))
    say(f"`nacre --store {name} list` looks into it; `nacre config set store {name}` uses it from now on.")


def bug_report(cli: CliContext) -> dict[str, object]:
    """Values of settings, and names of files and spaces, are left out; names of changed settings are listed."""
    import platform

    import apsw

    from nacre import __version__
    from nacre.settings import DEFAULT, settings_with_sources

    settings = cli.unlocked_settings()
    changed = [each for each in settings_with_sources(cli.flags, notify=cli.notify) if each.source != DEFAULT]
    is_file = not ADDRESS.match(settings.store) and settings.store != IN_MEMORY
    file = store_file(settings.store) if is_file else None
    findings = examine_store(cli)
    counts: dict[str, object] = {}
    if file is None or file.exists():
        try:
            with cli.open(any_space=True) as store:
                spaces = store.spaces()
            counts = {"spaces": len(spaces), "memories": sum(spaces.values())}
        except NacreError as error:
            counts = {"cannot be opened": type(error).__name__}
    return {
        "nacre": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "sqlite": apsw.sqlite_lib_version(),
        "store": "file" if file is not None else settings.store.partition(":")[0] or "memory",
        "store_bytes": file.stat().st_size if file is not None and file.exists() else None,
        "encrypted": bool(settings.key),
        **counts,
        "embedder": settings.embedder.partition(":")[0],
        "settings_changed": sorted({each.key for each in changed if not each.key.startswith("spaces.")}),
        **{f"check {each.check}": each.level for each in findings},
    }


def examine_store(cli: CliContext) -> list[Finding]:
    """All checks, and whether the file is there, has content and can be written."""
    if remote.is_remote(cli):
        return remote.findings(cli)
    settings = cli.unlocked_settings()
    if is_database(settings.store):
        return examine(settings)
    file = store_file(settings.store).absolute()
    findings = examine(settings)
    if settings.store == IN_MEMORY:
        return findings
    if not has_file(settings.store) and not file.exists() and cli.names("store"):
        message = f"There is no store at {file}, which an option or NACRE_STORE names; check the path."
        return [Finding("store", "problem", message), *(each for each in findings if each.check != "store")]
    return [*findings, *access_findings(file)]


def access_findings(file: Path) -> list[Finding]:
    folder = next(each for each in file.parents if each.is_dir())
    closed = next((each for each in (file, folder) if each.exists() and not os.access(each, os.W_OK)), None)
    if closed is None:
        return []
    kind = "file" if closed == file else "folder"
    message = f"The {kind} {closed} is read-only, and nothing can be stored. Give yourself the right to write it."
    return [Finding("access", "problem", message)]


def finding_line(finding: Finding, width: int) -> str:
    head = f"{finding.level:<8} {finding.check:<10} "
    wrapped = click.wrap_text(printable(finding.message), width, head, " " * len(head))
    level = click.style(finding.level, fg=COLOURS[finding.level])
    return level + wrapped.removeprefix(finding.level)


def apply_fixes(cli: CliContext, findings: list[Finding]) -> list[Finding]:
    """What is found afterwards."""
    configure_logging(debug=cli.debug)
    if remote.is_remote(cli):
        with progress_line() as progress:
            say(f"The server indexed {count_of(remote.repair(cli, progress))} again.")
        return examine_store(cli)
    try:
        if said := repair(cli.unlocked_settings(), findings, cli.now()):
            say(*said)
            findings = examine_store(cli)
        if not any(finding.fixed_by in ("reindex", "catch_up") for finding in findings):
            return findings
        with cli.open() as store, progress_line() as progress:
            say(f"Indexed {count_of(compute_missing(store, findings, progress))} again.")
    except NacreError as error:
        say(f"Could not be repaired now: {error}")  # what is left is listed below, with the rest
    return examine_store(cli)


@command("reindex")
@option("--embedder NAME", "With this one instead of the settings'.", expose_value=False, callback=set_global_option)
@option("--restart", "Begin again instead of continuing an interrupted run.")
def reindex_command(cli: CliContext, restart: bool) -> None:
    """Compute words and vectors again, with the current model or another, in every space. No memory is changed.

    Stopped half-way, it goes on where it ended when it is called again; until then what waits is found by its words.
    """
    try:
        with cli.open() as store, progress_line() as progress:
            done = store.reindex(restart=restart, progress=progress)
            identity = "the server's model" if remote.is_remote(cli) else store.embedder.identity
    except KeyboardInterrupt as error:
        error.add_note("What is computed stays; `nacre store reindex` goes on where this ended.")
        raise
    say(f"Reindexed {count_of(done)} with {identity}.")
    wanted = cli.flags.pop("embedder", None)
    kept = cli.settings().embedder
    if wanted is not None and wanted != kept and not (kept == "auto" and wanted in ("multilingual", "english")):
        say(f"The settings name another embedder; `nacre config set embedder {wanted}` changes that.")


@command("models", form_option("text", "json"))
def models_command(_cli: CliContext, form: Form) -> None:
    """Show the models that come with Nacre: what for, how large, their licence, and whether their files are unchanged.

    Ends with code 4 where a file is damaged.
    """
    import json

    from nacre.models.shipped import DIGESTS, MODELS, WEIGHTS, faults

    try:
        digests = json.loads((WEIGHTS / DIGESTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        digests = {}
    rows = [
        {
            **model._asdict(),
            "bytes": sum((WEIGHTS / file).stat().st_size for file in model.files if (WEIGHTS / file).is_file()),
            "files": {file: digests.get(file, "unknown") for file in model.files},
            "faults": faults(model),
        }
        for model in MODELS
    ]
    damage = list(dict.fromkeys(fault for row in rows for fault in row["faults"]))
    if form in DATA:
        print_data(rows, form)
    else:
        for row in rows:
            put_model(row)
        put(f"Their files are in {WEIGHTS}{'' if damage else ', as they were made'}.")
    if damage:
        raise StoreProblem(" ".join(damage))


def put_model(row: Mapping[str, Any]) -> None:
    put(f"{row['name']}: {row['about']}")
    dimensions = f"{row['dimensions']} dimensions, " if row["dimensions"] else ""
    put(f"  {dimensions}{row['bytes'] / 1e6:.1f} MB, {row['licence']}")
    for file, digest in row["files"].items():
        put(f"  {file}  sha256 {digest}")
    for fault in row["faults"]:
        put(f"  damaged: {fault}")
