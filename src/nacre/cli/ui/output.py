"""Prints an answer as a table, TSV, JSON, YAML or Markdown, and makes stored text safe to print."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import IO, TYPE_CHECKING, Generic, Literal, TypeVar
from unicodedata import east_asian_width

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

T = TypeVar("T")

DATA = ("json", "jsonl", "yaml")  # the whole record, for programs
FORMS = ("table", "tsv", *DATA, "markdown")
Form = str | None  # what `-f` names; None where it is not given
# JSON escapes the older control characters by itself; these a terminal would still obey.
# Delete and the later controls, marks that turn the direction of writing, characters that end a line in some programs.
UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """`text` is for programs, and for people too where there is no `brief` one; `only` leaves out all other forms.

    A `wide` column takes the room that is left, over several lines where it `wraps`. A terminal of fewer than
    `least_width` characters does without the column, unless enough room is left for the wide ones. In a stacked table
    a value that is `named`, or a number, has the column's name before it.
    """

    name: str
    text: Callable[[T], str]
    brief: Callable[[T], str] | None = None
    only: Literal["", "table", "tsv"] = ""
    style: str = ""
    wide: bool = False
    wraps: bool = False
    right: bool = False
    least_width: int = 0
    named: bool = False

    def brief_text(self, item: T) -> str:
        return printable((self.brief or self.text)(item))


def print_items(
    items: Sequence[T], columns: Sequence[Column[T]], record: Callable[[T], object], form: Form, empty: str = ""
) -> None:
    """`empty` is said when there are no items."""
    chosen = chosen_form(form)
    table = [column for column in columns if column.only != "tsv"]
    if chosen in DATA:
        print_data([record(item) for item in items], chosen)
    elif chosen == "markdown":
        print_markdown([column.name for column in table], ([each.brief_text(item) for each in table] for item in items))
    elif chosen == "tsv":
        print_rows([column.text(item) for column in columns if column.only != "table"] for item in items)
    elif items:
        draw_table(items, table)
    if empty and not items:
        say(empty)


def print_table(rows: Sequence[T], columns: Sequence[Column[T]], record: object, form: Form) -> None:
    """Rows for people and pipes; `record` is all of it for programs."""
    if form in DATA:
        print_data(record, form)
    else:
        print_items(rows, columns, repr, form)


def print_facts(facts: Mapping[str, object], form: Form, record: object = None) -> None:
    """Named values, one a row; those of a mapping inside are named by both names. What is empty is left out. For
    programs `record`, or the same facts."""
    rows = [
        (f"{name} {key}".rstrip().replace("_", " "), value)
        for name, inner in facts.items()
        for key, value in (inner.items() if isinstance(inner, Mapping) else [("", inner)])
        if value not in ("", None, [], ())
    ]
    columns: list[Column[tuple[str, object]]] = [
        Column("what", lambda row: row[0], style="cyan"),
        Column("value", lambda row: fact_text(row[1]), lambda row: fact_text(row[1], ","), wraps=True),
    ]
    print_table(rows, columns, record or facts, form)


def fact_text(value: object, thousands: str = "") -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:{thousands}}" if isinstance(value, int) else str(value)


def print_record(record: object, lines: Iterable[str], form: Form) -> None:
    """Lines for people and pipes; `record` for programs."""
    if form in DATA:
        print_data(record, form)
    else:
        put("\n".join(lines))


def chosen_form(form: Form) -> str:
    return form or ("table" if sys.stdout.isatty() else "tsv")


def print_rows(rows: Iterable[Sequence[str]]) -> None:
    for row in rows:
        sys.stdout.write("\t".join(map(one_field, row)) + "\n")


def print_data(value: object, form: Form) -> None:
    """One of `DATA`; of several records, JSONL writes each on a line of its own."""
    if form == "jsonl":
        for each in value if isinstance(value, list) else [value]:
            sys.stdout.write(json_line(each, universal=writes_unicode()))
    elif form == "yaml":
        print_yaml(value)
    else:
        sys.stdout.write(escape_unsafe(json.dumps(value, indent=2, ensure_ascii=not writes_unicode())) + "\n")


def print_yaml(value: object) -> None:
    import yaml

    class Quoting(yaml.SafeDumper):
        """Only within double quotes can YAML escape a character."""

    def quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if UNSAFE.search(text) else None)

    Quoting.add_representer(str, quoted)
    plain = json.loads(json.dumps(value))  # YAML would write a tuple, or a word of an enumeration, as what it is
    dumped = yaml.dump(plain, Dumper=Quoting, allow_unicode=writes_unicode(), sort_keys=False, width=120)
    sys.stdout.write(escape_unsafe(dumped))


def print_markdown(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for row in (names, ["---"] * len(names), *rows):
        cells = (BREAK.sub("<br>", cell).replace("|", r"\|") for cell in row)
        sys.stdout.write(f"| {' | '.join(cells)} |\n")


def writes_unicode() -> bool:
    """A backslash written for a character that the stream cannot hold would not be JSON: there JSON writes its own."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def json_line(value: object, *, universal: bool = True) -> str:
    return escape_unsafe(json.dumps(value, ensure_ascii=not universal)) + "\n"


def escape_unsafe(text: str) -> str:
    return UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def put(text: str) -> None:
    # Given the stream, click leaves its encoding alone; else it would send UTF-8 to one that takes only ASCII.
    click.echo(text, file=sys.stdout)


COMMAND = re.compile(r"`nacre (\S[^`]*)`")  # that a sentence advises
OF_NO_STORE = ("help", "config", "install")
WORD = re.compile(r"( *)([^ ]+)")  # with the blanks before it
LEAST_WIDTH = 20  # columns: on a narrower terminal every line would be one word


def say(*messages: str) -> None:
    """Sentences for the person, apart from the answer itself; each on a line."""
    for message in messages:
        click.echo(wrapped(printable(with_options(message)), sys.stderr), file=sys.stderr)


def wrapped(text: str, stream: IO[str], indent: str = "") -> str:
    """Wraps between words at the width of the terminal; unchanged where the stream is not a terminal. The lines that
    continue one get `indent`, or its own indentation where that is deeper. Colours do not count."""
    if not stream.isatty():
        return text
    width = max(LEAST_WIDTH, shutil.get_terminal_size().columns)
    return "\n".join(part for line in text.split("\n") for part in wrapped_line(line, width, indent))


def wrapped_line(line: str, width: int, indent: str) -> Iterator[str]:
    """Ids, paths and options stay whole; what is longer than the terminal is left to it."""
    if columns_of(line) <= width:
        yield line
        return
    plain = click.unstyle(line)
    own = " " * (len(plain) - len(plain.lstrip(" ")))
    below = max(own, indent, key=len)
    current = ""
    for blanks, word in WORD.findall(line):
        if current.strip() and columns_of(current + blanks + word) > width:
            yield current
            current = (below if columns_of(below + word) <= width else own) + word
        else:
            current += blanks + word
    yield current


def columns_of(text: str) -> int:
    """How many columns it takes, without its colours: most signs of East Asia, and emoji, take two."""
    plain = click.unstyle(text)
    return len(plain) if plain.isascii() else sum(1 + (east_asian_width(sign) in "WF") for sign in plain)


def with_options(sentence: str) -> str:
    """Each command that it advises with the store and the space that options of this command name: without them it
    would work on others."""
    context = click.get_current_context(silent=True)
    flags = getattr(context.find_root().obj if context else None, "flags", {})
    named = {f"--{name}": quote(flags[name]) for name in ("store", "space") if flags.get(name)}

    def complete(match: re.Match[str]) -> str:
        words = match[1].split()
        there = (*words, "--space") if words[0] == "space" else words  # its commands name spaces themselves
        own = words[0] in OF_NO_STORE or words[:2] == ["store", "migrate"]  # which names both stores itself
        left_out = {} if own else {each: named[each] for each in named if each not in there}
        return f"`nacre {''.join(f'{option} {value} ' for option, value in left_out.items())}{match[1]}`"

    return COMMAND.sub(complete, sentence) if named else sentence


ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles, hyperlinks, the clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device strings
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Whatever is left of an escape that did not end is harmless without its first character. The last two ranges turn the
# direction of writing, and could show a reader other words than those that are there.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LINE_END = re.compile("\r\n?")
BREAK = re.compile("[\t\n\u2028\u2029]")
BREAK_WITH_INDENT = re.compile(" *[\t\n\u2028\u2029][\t\n\u2028\u2029 ]*")


def printable(text: str) -> str:
    """Keeps line ends and tabs."""
    return CONTROL.sub("", ESCAPE_SEQUENCE.sub("", LINE_END.sub("\n", text)))


def one_field(text: str) -> str:
    """For one field of a TSV row."""
    return BREAK_WITH_INDENT.sub(" ", printable(text))


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def shortened(text: str, characters: int = 60) -> str:
    line = one_line(text)
    return line if len(line) <= characters else line[: characters - 1] + "…"


STACKED = 70  # columns of a terminal: on a narrower one a table that does not fit is stacked
CRAMPED = 24  # columns left for a text that does not fit: with fewer its table is stacked on any terminal
STACKED_LINES = 3  # of a text that a table would cut after one
READABLE = 32  # characters of a text that say what it is about
GAP = 2  # between two columns


def all_fit(items: Sequence[T], columns: Sequence[Column[T]], width: int) -> bool:
    """Whether no column is cut, except for the wide ones, of which enough stays to be read."""

    def needed(column: Column[T]) -> int:
        widest = widest_line(items, column)
        return GAP + (min(widest, READABLE) if column.wide else widest)

    return sum(map(needed, columns)) <= width


def is_cramped(items: Sequence[T], columns: Sequence[Column[T]], width: int) -> bool:
    """Whether the short columns leave too little room for the wide ones, as the long name of a space does."""
    wide = [column for column in columns if column.wide]
    short = sum(GAP + widest_line(items, column) for column in columns if not column.wide)
    return bool(wide) and (width - short) // len(wide) - GAP < CRAMPED


def widest_line(items: Sequence[T], column: Column[T]) -> int:
    return max(len(line) for item in items for line in [column.name, *column.brief_text(item).splitlines()])


def stacked(item: T, columns: Sequence[Column[T]], console: Console) -> Text:
    """Where a table has no room: the short columns on one line, the wide ones below it over the whole width."""
    from rich.text import Text

    def field(column: Column[T]) -> Text:
        is_named = column.name and (column.right or column.named)  # a bare number says nothing
        named = f"{column.name} " if is_named else ""
        return Text(named + column.brief_text(item).replace("\n", " "), style=column.style)

    short = [field(column) for column in columns if not column.wide and column.brief_text(item)]
    joined = Text(" " * GAP).join(short)
    fits = joined.cell_len <= console.width
    first, *rest = joined.wrap(console, console.width - (0 if fits else GAP)) or [Text()]
    lines = [first, *(Text(" " * GAP) + line for line in rest)]
    first.rstrip()
    for column in columns:
        text = Text(column.brief_text(item), style=column.style) if column.wide else Text()
        wrapped = list(text.wrap(console, console.width - GAP)) if text else list[Text]()
        most = len(wrapped) if column.wraps else STACKED_LINES
        lines += [Text(" " * GAP) + line for line in wrapped[:most]]
        if len(wrapped) > most:
            lines[-1].truncate(console.width - 1)
            lines[-1].append("…")
    return Text("\n").join([*lines, Text("")])


def draw_table(items: Sequence[T], columns: Sequence[Column[T]]) -> None:
    """As wide as the terminal."""
    from rich.console import Console  # slow to import
    from rich.table import Table
    from rich.text import Text

    console = Console(no_color=bool(os.environ.get("NO_COLOR")), highlight=False)
    fitting = (
        columns
        if all_fit(items, columns, console.width)
        else [column for column in columns if column.least_width <= console.width]
    )
    narrow = console.width < STACKED or is_cramped(items, fitting, console.width)
    if narrow and not all_fit(items, fitting, console.width):
        with console.capture() as drawn:
            for item in items:
                console.print(stacked(item, fitting, console), end="")
        sys.stdout.write(drawn.get())
        return
    table = Table(box=None, expand=any(column.wide for column in fitting), padding=(0, GAP, 0, 0))
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
        table.add_row(*(Text(column.brief_text(item)) for column in fitting))
    # Captured, because rich would end the process with a code of its own when the reader of a pipe has gone.
    with console.capture() as drawn:
        console.print(table)
    sys.stdout.write(drawn.get())
