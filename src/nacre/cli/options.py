"""Options that several commands share: filters, fields, plans, and the types of their values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.ui.output import DATA, FORMS, Column, chosen_form, print_items, say
from nacre.cli.ui.prompts import confirm
from nacre.errors import InvalidInput
from nacre.model.instants import DAY
from nacre.model.levels import LEVELS

if TYPE_CHECKING:
    from nacre.model.memory import Json
    from nacre.recall_options import Scope

F = TypeVar("F", bound=Callable[..., Any])


class FilterOptions(TypedDict):
    types: tuple[str, ...]
    tags: tuple[str, ...]
    session: str | None
    min_importance: float | None
    min_trust: float | None
    since: str | None
    until: str | None
    include_superseded: bool
    include_archived: bool
    as_of: float | None
    valid_at: float | None


def filter_options(command: F) -> F:
    return combine(
        click.option("-t", "--type", "types", metavar="TYPE", multiple=True, help="Of this type; repeat for others."),
        click.option(
            "-g", "--tag", "tags", metavar="TAG", multiple=True, help="With this tag; repeat for all of them."
        ),
        click.option("--session", metavar="NAME", help="From this session."),
        click.option("--min-importance", type=float, metavar="0-1", help="At least this important."),
        click.option(
            "--min-trust", type=float, metavar="0-1", help="At least this trusted: 0.5 leaves out suspicious ones."
        ),
        click.option("--since", metavar="WHEN", help="Created since: 30m, 2h, 7d, 4w, or a date (UTC)."),
        click.option("--until", metavar="WHEN", help="Created until: 7d, or a date, whose whole day counts."),
        click.option("--include-superseded", is_flag=True, help="Also those that newer ones replaced."),
        click.option("--include-archived", is_flag=True, help="Also those in the archive."),
        as_of_option,
        valid_at_option,
    )(command)


def scope_of(options: FilterOptions, now: float) -> Scope:
    from nacre.cli.ui.times import since, until

    return {
        "type": options["types"] or None,
        "all_tags": options["tags"] or None,
        "session": options["session"],
        "min_importance": options["min_importance"],
        "min_trust": options["min_trust"],
        "since": since(options["since"], now) if options["since"] else None,
        "until": until(options["until"], now) if options["until"] else None,
        "include_superseded": options["include_superseded"],
        "include_archived": options["include_archived"],
        "as_of": options["as_of"],
        "valid_at": options["valid_at"],
    }


def as_of_option(command: F) -> F:
    help = "As it was known then: 2h, 7d, a time, or a date, which means the end of its day (UTC)."
    return click.option("--as-of", metavar="WHEN", callback=as_of_moment, help=help)(command)


def valid_at_option(command: F) -> F:
    help = "What held then, whatever replaced it since: 7d, a time, or a date, which means its noon (UTC)."
    return click.option("--valid-at", metavar="WHEN", callback=valid_at_moment, help=help)(command)


def as_of_moment(ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from nacre.cli.ui.times import known_by

    return None if value is None else known_by(value, ctx.ensure_object(CliContext).now())


def valid_at_moment(ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from nacre.cli.ui.times import held_on

    return None if value is None else held_on(value, ctx.ensure_object(CliContext).now())


def traversal_options(command: F) -> F:
    """How links are followed."""
    return combine(
        click.option(
            "--rel", "rels", metavar="NAME", multiple=True, help="Along links of this relation; repeat for others."
        ),
        click.option(
            "--direction",
            type=click.Choice(["both", "out", "in"]),
            default="both",
            show_default=True,
            help="Along links from a memory, to it, or both.",
        ),
    )(command)


def hidden_option(command: F) -> F:
    return click.option("--hidden", is_flag=True, help="Also through what is trashed, superseded or expired.")(command)


def field_options(command: F) -> F:
    """Named as the fields of a memory: what is given goes to the store as it is."""
    return combine(
        click.option("-t", "--type", metavar="TYPE", help="episodic, semantic, procedural, feedback, …"),
        click.option("-i", "--importance", type=float, metavar="0-1", help="How much it matters."),
        click.option("-s", "--source", metavar="TEXT", help="Where it comes from."),
        click.option("--title", metavar="TEXT", help="A line that says what it is about."),
        click.option("--session", metavar="NAME", help="The conversation it belongs to."),
        click.option("--role", metavar="NAME", help="Who said it: user, assistant, …"),
        click.option("--agent", metavar="NAME", help="The agent it belongs to."),
        click.option("--occurred-at", metavar="TIME", help="When it took place: 2026-03-31T09:00:00Z."),
        click.option("--expires-at", metavar="TIME", help="When it stops being recalled."),
        click.option(
            "--polarity", type=click.Choice(["-1", "0", "1"]), help="Against, neither, or for.", callback=as_integer
        ),
        click.option("--metadata", metavar="JSON", callback=as_json, help="A JSON object to keep with it."),
    )(command)


def form_option(*forms: str) -> Callable[[F], F]:
    choices = tuple(other for form in forms for other in (DATA if form == "json" else (form,))) or FORMS
    help = "A table on a terminal and TSV in a pipe, unless you choose." if choices == FORMS else "How to print it."
    return click.option("-f", "--format", "form", type=click.Choice(choices), help=help)


def strategy_option(command: F) -> F:
    help = "auto, hybrid, rrf, semantic, keyword or graph."
    return click.option("--strategy", default="auto", show_default=True, metavar="NAME", help=help)(command)


def why_option(command: F) -> F:
    return click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")(command)


def yes_option(command: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)


def dry_run_option(command: F) -> F:
    return click.option("--dry-run", is_flag=True, help="Only say what would be done.")(command)


def command(name: str, group: click.Group | None = None, **settings: Any) -> Callable[[F], click.Command]:
    """Registers a function as a command, of `nacre` itself or of a group of commands.

    It gets the `CliContext` as its first argument, and takes the options of `nacre` after its name too.
    """

    def register(function: F) -> click.Command:
        make = click.command if group is None else group.command
        made: click.Command = make(name, **settings)(global_options(click.pass_obj(function)))
        return made

    return register


def global_options(command: F) -> F:
    """The options of `nacre` itself, taken after the command too, where many people write them."""
    return combine(
        location_options, click.option("--embedder", hidden=True, expose_value=False, callback=set_global_option)
    )(command)


def location_options(command: F) -> F:
    """Those of them that say where to work."""
    return combine(
        click.option("--store", hidden=True, expose_value=False, callback=set_global_option),
        click.option("--space", hidden=True, expose_value=False, callback=set_global_option),
        click.option(
            "--debug", hidden=True, expose_value=False, callback=set_global_option, is_flag=True, default=None
        ),
    )(command)


def set_global_option(ctx: click.Context, option: click.Parameter, value: str | bool | None) -> None:
    cli = ctx.find_object(CliContext)
    if value is None or cli is None or option.name is None:
        return
    if isinstance(value, bool):
        cli.debug = value
    else:
        cli.flags[option.name] = value


def combine(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def as_integer(_ctx: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    return None if value is None else int(value)


def as_json(_ctx: click.Context, _option: click.Parameter, value: str | None) -> Json:
    if value is None:
        return None
    try:
        result: Json = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{error}. Write an object, such as '{{\"page\": 3}}'.") from error
    return result


def without_none(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


UNIT = re.compile(r"[a-z]", re.IGNORECASE)
RANGE_END = rf"(\d*\.?\d+|{'|'.join(LEVELS)})?"
RANGE = re.compile(rf"{RANGE_END}\s*-\s*{RANGE_END}\Z", re.ASCII)


class Number(click.FloatRange):
    """Neither infinite nor `nan`, which lie in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number that can be counted with.", param, ctx)
        return number


def days_option(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A length of time, as days. It needs a unit: a bare 30, meant as days, must not be taken for seconds."""
    if value is None:
        return None
    from nacre.model.instants import parse_duration

    if not UNIT.search(value):
        raise click.BadParameter(f"{value!r} is no length of time; write 12h, 30d or 8w.")
    try:
        return parse_duration(value) / DAY
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from error


def positive_days_option(ctx: click.Context, option: click.Parameter, value: str) -> float:
    result = days_option(ctx, option, value)
    if not result:
        raise click.BadParameter(f"{value!r} is no time at all; write 12h, 30d or 8w.")
    return result


def shares_option(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[float, ...]:
    """Numbers from 0 to 1, given one by one or with commas between them."""
    parts = [part for value in values for part in value.split(",")]
    numbers = tuple(parse_number(part) for part in parts)
    if not all(0 <= each <= 1 for each in numbers):
        raise click.BadParameter(f"{','.join(parts)!r} cannot be plotted; write numbers from 0 to 1: 0.9,0.5,0.1.")
    return numbers


def parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def confidence_range(_ctx: click.Context, _option: click.Parameter, value: str) -> tuple[float, float]:
    """A level, or two numbers or levels; both ends belong to it."""
    text = value.strip().lower()
    ends = (LEVELS[text].least, LEVELS[text].most) if text in LEVELS else parse_range(text)
    if ends is None or not 0 <= ends[0] <= ends[1] <= 1:
        raise click.BadParameter(
            f"{value!r} is no range; write very-low, low, medium, high, very-high, high-, 0.2-0.6, 0.8- or -0.3."
        )
    return ends


def parse_range(text: str) -> tuple[float, float] | None:
    value = RANGE.match(text)
    if not value or text == "-":
        return None
    least, most = value[1] or "0", value[2] or "1"
    return (
        LEVELS[least].least if least in LEVELS else float(least),
        LEVELS[most].most if most in LEVELS else float(most),
    )


T = TypeVar("T")

ROWS = 20


class PlanOptions(TypedDict):
    applied: bool
    yes: bool
    why: str
    limit: int
    form: str | None


def plan_options(command: F) -> F:
    return combine(
        click.option("--apply", "applied", is_flag=True, help="Carry the plan out; without it nothing is changed."),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        why_option,
        rows_option,
        form_option(),
    )(command)


def rows_option(command: F) -> F:
    help = "Rows of a table at most; 0 for all. TSV and JSON have them all."
    limit = click.option(
        "-n", "limit", type=click.IntRange(min=0), metavar="N", default=ROWS, show_default=True, help=help
    )
    return limit(command)


def show_plan(
    items: Sequence[T], columns: Sequence[Column[T]], record: Callable[[T], object], limit: int, form: str | None
) -> None:
    """The whole plan for programs; for people as much of it as they would read."""
    rows = items[:limit] if limit and chosen_form(form) == "table" else items
    print_items(rows, columns, record, form)
    if len(rows) < len(items):
        say(f"and {len(items) - len(rows):,} more; -n 0 lists them all.")


def confirm_plan(asked: PlanOptions, would: str, question: str = "") -> bool:
    """Whether to act. Ends the command when the question is answered with no."""
    if not asked["applied"]:
        say(f"{would}; --apply carries it out.")
        return False
    if question and not asked["yes"]:
        confirm(question)
    return True
