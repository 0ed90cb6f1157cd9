"""Writes docs/reference/cli.md from the commands themselves: `make docs`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from nacre.cli.catalogue import OLD_NAMES, SECTIONS
from nacre.cli.main import nacre

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
OPENING = """# The command line

Written by `make docs` from the commands themselves; change the commands, not this page.

Every command takes `--store FILE`, `--space NAME`, `--embedder NAME` and `--debug`, before its name or after it.
Lists are tables on a terminal and TSV in a pipe; `-f` chooses `table`, `tsv`, `json`, `jsonl`, `yaml` or `markdown`.
The TSV of memories has the time at which each happened, else at which it was stored; its last column is always their
space. A table has a column `space` where two spaces are read.
An ID may be given by its first characters. What is written can be taken back with `nacre undo`, unless a command says
that it is for good. Answers go to stdout, all other words to stderr.

| exit code | what it says |
|---|---|
| 0 | it went well |
| 1 | what was asked for is not there |
| 2 | it was called wrongly, or a question was answered with no |
| 3 | refused: a conflict, an operation that later operations depend on, an agent's limits |
| 4 | the store, the disk or a model has a problem |
| 130 | interrupted with Ctrl-C; the store is undamaged |
| 141 | the reader of a pipe went away |
"""
OLDER = """## Older names

Commands had these names before they were put into groups. Scripts that use them go on working.

| older name | name now |
|---|---|
"""


def page() -> str:
    root = click.Context(nacre, info_name="nacre")
    parts = [OPENING]
    for title, entries, _ in SECTIONS:
        parts.append(f"## {title}\n")
        for name, _, _ in entries:
            command = nacre.get_command(root, name)
            if command is not None:
                parts += command_section(command, f"nacre {name}", 3)
    parts.append(OLDER + "\n".join(f"| `nacre {old}` | `nacre {path}` |" for old, path in OLD_NAMES.items()) + "\n")
    return "\n".join(parts)


def command_section(command: click.Command, path: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} {path}\n"
    yield f"```\n{path} {usage(command)}\n```\n"
    yield f"{described(command)}\n"
    if rows := list(options(command)):
        yield "| option | what it does |\n|---|---|"
        yield "\n".join(rows) + "\n"
    for name, inner in subcommands(command):
        yield from command_section(inner, f"{path} {name}", level + 1)


def subcommands(command: click.Command) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return []
    ctx = click.Context(command)
    found = ((name, command.get_command(ctx, name)) for name in command.list_commands(ctx))
    return [(name, inner) for name, inner in found if inner is not None and not inner.hidden]


def usage(command: click.Command) -> str:
    words = ["[OPTIONS]"] if list(options(command)) else []
    words += (argument(each) for each in command.params if isinstance(each, click.Argument))
    if isinstance(command, click.Group):
        words.append("COMMAND" if not command.invoke_without_command else "[COMMAND]")
    return " ".join(words).strip()


def argument(param: click.Argument) -> str:
    if param.metavar:
        return param.metavar
    if isinstance(param.type, click.Choice):
        return "|".join(map(str, param.type.choices))
    name = str(param.name).upper() + ("..." if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def described(command: click.Command) -> str:
    """Paragraphs as they are; what a `\\b` keeps together becomes a block of its own."""
    blocks = []
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        if block.startswith("\b"):
            blocks.append("```\n" + inspect.cleandoc(block.removeprefix("\b").strip("\n")) + "\n```")
        else:
            blocks.append(block.replace("\n", " "))
    return "\n\n".join(blocks)


def options(command: click.Command) -> Iterator[str]:
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            yield f"| `{signature(param)}` | {cell(explained(param))} |"


def signature(option: click.Option) -> str:
    names = ", ".join(option.opts) + (f" / {', '.join(option.secondary_opts)}" if option.secondary_opts else "")
    if option.is_flag or option.count:
        return names
    return cell(f"{names} {value(option)}")


def value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.type.name.upper().replace(" RANGE", "")


def explained(option: click.Option) -> str:
    usual = f" [default: {option.default}]" if option.show_default and not option.is_flag else ""
    return f"{option.help or ''}{usual}"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE}: {len(page().splitlines()):,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
