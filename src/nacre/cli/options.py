"""Options that several commands share: filters, fields, plans, and the types of their values."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar

import click
from click.core import ParameterSource

from nacre.cli.cli_context import SIMILAR_NAME, CliContext
from nacre.cli.ui.output import DATA, FORMS, Column, Form, chosen_form, print_items, say
from nacre.cli.ui.prompts import confirm
from nacre.cli.ui.times import held_on, known_by, since, until
from nacre.errors import InvalidInput
from nacre.model.instants import DAY, iso, parse_duration
from nacre.model.levels import confidence_range
from nacre.model.memory import Json

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

F = TypeVar("F", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Any], Any]  # adds a parameter to a command, or several


def filter_options(command: F) -> F:
    """Named as the fields of a `Scope`: what is given goes to the store as it is."""
    return combine(
        several_option("-t", "--type", metavar="TYPE", help="Of this type; repeat for others."),
        several_option("-g", "--tag", "all_tags", metavar="TAG", help="With this tag; repeat for all of them."),
        click.option("--session", metavar="NAME", help="From this session."),
        click.option("--min-importance", type=Number(0, 1), metavar="0-1", help="At least this important."),
        click.option(
            "--min-trust",
            type=Number(0, 1),
            metavar="0-1",
            help="At least this trusted: 0.5 leaves out suspicious ones.",
        ),
        created_options,
        click.option("--include-superseded", is_flag=True, help="Also those that newer ones replaced."),
        click.option("--include-archived", is_flag=True, help="Also those in the archive."),
        time_options,
    )(command)


NOT_FILTERS = ("form", "limit", "sort", "cursor")


def given_filters() -> str:
    """The filters of the command that runs, with moments written out; empty where there are none."""
    ctx = click.get_current_context()
    return "".join(
        f" {option_text(option, ctx.params[option.name])}"
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name in ctx.params and option.name not in NOT_FILTERS
        if ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    )


def option_text(option: click.Option, value: object) -> str:
    name = max(option.opts, key=len)
    if option.is_flag:
        return name
    if option.metavar == "WHEN" and isinstance(value, float):
        return f"{name} {iso(value)}"
    values = value if isinstance(value, tuple) else (value,)
    return " ".join(f"{name} {shlex.quote(str(each))}" for each in values)


def tag_suggestion(store: MemoryStore, tags: Iterable[str] | None) -> str:
    """A question about the first tag that no memory has but a similar one; empty where there is none."""
    known = store.tally("tags") if tags else {}
    for tag in tags or ():
        near = get_close_matches(tag, known, n=1, cutoff=SIMILAR_NAME) if tag not in known else []
        if near:
            return f" Did you mean the tag {near[0]!r}?"
    return ""


def several_option(*names: str, metavar: str, help: str) -> Callable[[F], F]:
    """None when it is not given."""

    def none_if_empty(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> object:
        return values or None

    return click.option(*names, metavar=metavar, multiple=True, callback=none_if_empty, help=help)


def moment_option(name: str, parse: Callable[[str, float], float], help: str) -> Callable[[F], F]:
    """`parse` gets the text and the present time."""

    def parse_moment(ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        at = parse(value, ctx.ensure_object(CliContext).now())
        since_after_until = name == "--since" and at > ctx.params.get("until", at)
        until_before_since = name == "--until" and at < ctx.params.get("since", at)
        if since_after_until or until_before_since:
            raise click.BadParameter("--since is later than --until, so nothing can match; swap them.")
        return at

    return click.option(name, metavar="WHEN", callback=parse_moment, help=help)


def created_options(command: F) -> F:
    return combine(
        moment_option("--since", since, "Created since: 30m, 2h, 7d, 4w, or a date (UTC)."),
        moment_option("--until", until, "Created until: 7d, or a date, whose whole day counts."),
    )(command)


class TimeOptions(TypedDict):
    as_of: float | None
    valid_at: float | None


def time_options(command: F) -> F:
    known = "As it was known then: 2h, 7d, a time, or a date, which means the end of its day (UTC)."
    held = "What held then, whatever replaced it since: 7d, a time, or a date, which means its noon (UTC)."
    return combine(moment_option("--as-of", known_by, known), moment_option("--valid-at", held_on, held))(command)


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
        click.option("--polarity", type=click.Choice([-1, 0, 1]), help="Against, neither, or for."),
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


ids_argument = click.argument("ids", nargs=-1, required=True, metavar="ID...")


def limit_option(default: int, help: str = "At most; 0 for all.") -> Callable[[F], F]:
    rows = click.IntRange(min=0)
    return click.option("-n", "limit", type=rows, metavar="N", default=default, show_default=True, help=help)


def command(
    name: str, *options: Decorator, group: click.Group | None = None, **settings: Any
) -> Callable[[F], click.Command]:
    """Registers a function as a command, of `nacre` itself or of a group of commands.

    It gets the `CliContext` as its first argument. `options` come after those that decorate it; the options of `nacre`
    are taken after its name too.
    """

    def register(function: F) -> click.Command:
        make = click.command if group is None else group.command
        made: click.Command = make(name, **settings)(click.pass_obj(function))
        made.params += parameters_of(*options, global_options)
        return made

    return register


def parameters_of(*options: Decorator) -> list[click.Parameter]:
    @click.command
    @combine(*options)
    def placeholder() -> None: ...

    parameters: list[click.Parameter] = placeholder.params
    return parameters


def global_options(command: F) -> F:
    """The options of `nacre` itself, taken after the command too, where many people write them."""
    return combine(
        location_options, click.option("--embedder", hidden=True, expose_value=False, callback=set_global_option)
    )(command)


def location_options(command: F) -> F:
    """--store, --space and --debug."""
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


class Number(click.FloatRange):
    """Neither infinite nor `nan`, which lie in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def parse_days(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A duration, as days. It needs a unit: a bare 30, meant as days, must not be taken for seconds."""
    if value is None:
        return None
    if not UNIT.search(value):
        raise click.BadParameter(f"{value!r} is not a duration; write 12h, 30d or 8w.")
    try:
        return parse_duration(value) / DAY
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from error


def parse_positive_days(ctx: click.Context, option: click.Parameter, value: str) -> float:
    result = parse_days(ctx, option, value)
    if not result:
        raise click.BadParameter(f"{value!r} must be longer than zero; write 12h, 30d or 8w.")
    return result


def parse_confidence(_ctx: click.Context, _option: click.Parameter, value: str) -> tuple[float, float]:
    try:
        return confidence_range(value)
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from error


T = TypeVar("T")

ROWS = 20


class RowOptions(TypedDict):
    limit: int
    form: Form


class PlanOptions(RowOptions):
    applied: bool
    yes: bool
    why: str


rows_option = limit_option(ROWS, "Rows of a table at most; 0 for all. TSV and JSON have them all.")


def plan_options(command: F) -> F:
    return combine(
        click.option("--apply", "applied", is_flag=True, help="Carry the plan out; without it nothing is changed."),
        yes_option,
        why_option,
        rows_option,
        form_option(),
    )(command)


def show_plan(
    items: Sequence[T],
    columns: Sequence[Column[T]],
    record: Callable[[T], object],
    options: RowOptions,
    empty: str = "",
) -> None:
    """The whole plan for programs; for people as much of it as they would read."""
    limit, form = options["limit"], options["form"]
    rows = items[:limit] if limit and chosen_form(form) == "table" else items
    print_items(rows, columns, record, form, empty)
    if len(rows) < len(items):
        say(f"and {len(items) - len(rows):,} more; -n 0 lists them all.")


def confirm_plan(asked: PlanOptions, would: str, question: str = "") -> bool:
    """Whether to act. Ends the command when the question is answered with no."""
    if not asked["applied"]:
        say(f"{would}; --apply carries it out.")
        return False
    if question:
        confirm(question, yes=asked["yes"])
    return True
