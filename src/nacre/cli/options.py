"""Options that several commands share: filters, fields, plans, and the types of their values."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast

import click
from click.core import ParameterSource

from nacre.cli.catalogue import GroupWithMembers, suggested
from nacre.cli.cli_context import SIMILAR_NAME, CliContext
from nacre.cli.ui.output import DATA, FORMS, Column, Form, chosen_form, print_items, say
from nacre.cli.ui.prompts import confirm
from nacre.errors import AmbiguousId, InvalidInput, MemoryNotFound, NacreError
from nacre.model.instants import DAY, iso, parse_duration
from nacre.model.memory import Json

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from nacre.memory_store import MemoryStore

Decorator: TypeAlias = Callable[[Any], Any]  # adds a parameter to a command, or several


class Number(click.FloatRange):
    """Neither infinite nor `nan`, which lie in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Share(click.types.FloatParamType):
    name = "number; give one from 0 to 1"  # a message says that a value is not one


class WholeNumber(click.IntRange):
    name = "whole number"  # a message says that a value is not one


class Length(click.ParamType):  # type: ignore[type-arg]
    """A duration, as days. It needs a unit: a bare 30, meant as days, must not be taken for seconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            if UNIT.search(value):
                return parse_duration(value) / DAY
        except InvalidInput:
            pass  # its advice names bare numbers too
        raise click.BadParameter(f"{value!r} is not a duration; write 12h, 30d or 8w.", ctx, param)


UNIT = re.compile(r"[a-z]", re.IGNORECASE)
FILE, PATH = click.Path(dir_okay=False, path_type=Path), click.Path(path_type=Path)
AT_LEAST_ZERO = dict.fromkeys(("DAYS", "RATE", "SECONDS"), Number(min=0))
VALUE_TYPES = {"0-1": Number(0, 1), "FILE": FILE, "LENGTH": Length(), **AT_LEAST_ZERO}


class RenamedOption(click.Option):
    """Also understands the names that it had before, which no help shows, so that scripts go on working."""

    def __init__(self, *arguments: Any, old_names: Sequence[str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.old_names = tuple(old_names)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        listed, self.opts = self.opts, [*self.opts, *self.old_names]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = listed


def option(
    names: str,
    help: str,
    *,
    to: str = "",
    old: str = "",
    choices: Iterable[object] = (),
    least: int | None = None,
    **settings: Any,
) -> Decorator:
    """A parameter; `names` are as in a usage line: `-o --output FILE`. `to` is the name of the argument, if another.

    Without a word for its value, choices and a type it is a flag. `least` makes it a whole number. A default is shown
    in the help. `old` are names that it had before.
    """
    if old:
        settings |= {"cls": RenamedOption, "old_names": old.split()}
    options = [name for name in names.split() if name.startswith("-")]
    value = " ".join(names.split()[len(options) :])
    if choices:
        settings["type"] = click.Choice(list(choices))
    elif least is not None:
        settings["type"] = WholeNumber(min=least)
    elif value in VALUE_TYPES:
        settings.setdefault("type", VALUE_TYPES[value])
    if value or "type" in settings:
        settings.setdefault("show_default", settings.get("default") not in (None, ""))
    elif "flag_value" not in settings:
        settings["is_flag"] = True
    return click.option(*options, *filter(None, [to]), metavar=value or None, help=help, **settings)


def several_option(names: str, help: str, *, to: str = "", old: str = "") -> Decorator:
    """None when it is not given."""

    def none_if_empty(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> object:
        return values or None

    return option(names, help, to=to, old=old, multiple=True, callback=none_if_empty)


def combine(*options: Decorator) -> Decorator:
    def decorate(command: Any) -> Any:
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


created_options = combine(
    option("--since WHEN", "Created since: 30m, 2h, 7d, 4w, a date, or words such as 'last week'; UTC."),
    option("--until WHEN", "Created until: 7d, a date, whose whole day counts, or words such as yesterday; UTC."),
)


class TimeOptions(TypedDict):
    as_of: str | None
    valid_at: str | None


KNOWN_THEN = "As it was known then: 2h, 7d, a time, yesterday, or a date, which means the end of its day (UTC)."
HELD_THEN = "What held then, whatever replaced it since: 7d, a time, yesterday, or a date, meaning its noon (UTC)."
time_options = combine(option("--as-of WHEN", KNOWN_THEN), option("--valid-at WHEN", HELD_THEN))
# Named as the fields of a `Scope`: what is given goes to the store as it is.
selection_options = combine(
    several_option("-t --type TYPE", "Of this type; repeat for others."),
    several_option("-g --tag TAG", "With this tag; repeat for all of them.", to="all_tags"),
    option("--entity NAME", "That mention this person or thing, by any of its names, in any spelling."),
    option("--source TEXT", "From exactly this source."),
    option("--session NAME", "From this session."),
    option("--min-importance 0-1", "At least this important."),
    option("--min-trust 0-1", "At least this trusted: 0.5 leaves out suspicious ones."),
    created_options,
    option("--include-superseded", "Also those that newer ones replaced."),
    option("--include-archived", "Also those in the archive."),
)
filter_options = combine(selection_options, time_options)


def tag_suggestion(store: MemoryStore, tags: Iterable[str] | None) -> str:
    """A question about the first tag that no memory has but a similar one; empty where there is none."""
    known = store.tally("tags") if tags else {}
    folded = {each.casefold(): each for each in known}
    for tag in tags or ():
        near = get_close_matches(tag.casefold(), folded, n=1, cutoff=SIMILAR_NAME) if tag not in known else []
        if near:
            return f" Did you mean the tag {folded[near[0]]!r}?"
    return ""


SIDES = {"since": "start", "valid_at": "middle"}  # the part of a time these options mean; all others mean its end


def given_options(*, only: Collection[str] = (), leave_out: Collection[str] = ()) -> str:
    """The options that were typed for the running command, each after a blank, with words for a time replaced by that
    time; empty where there are none. `only` and `leave_out` are names of parameters."""
    ctx = click.get_current_context()
    return "".join(
        f" {option_text(option, ctx.params[option.name])}"
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.name in ctx.params
        if (option.name in only if only else option.name not in leave_out)
        if ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    )


def option_text(option: click.Option, value: object) -> str:
    from nacre.text.dates import moment

    name = max(option.opts, key=len)
    if option.is_flag:
        return name
    if option.metavar == "WHEN" and not str(value)[:1].isdigit():  # words such as "last week" as their time
        now = click.get_current_context().ensure_object(CliContext).now()
        value = iso(moment(str(value), now, SIDES.get(option.name or "", "end")))
    values = value if isinstance(value, tuple) else (value,)
    return " ".join(f"{name} {shlex.quote(str(each))}" for each in values)


def without_match(store: MemoryStore, options: Mapping[str, Any]) -> str:
    """Says that no memory passes the filters that were typed, and what may be meant instead; empty where some memory
    passes them, or where there are no filters."""
    from nacre.recall_options import Scope

    names = frozenset(Scope.__annotations__)
    scope = cast(Scope, {name: value for name, value in options.items() if name in names and value is not None})
    if not (filters := given_options(only=names)) or store.count(**scope):
        return ""
    held = "; `--valid-at` asks for what held then, whenever it was stored" if scope.get("as_of") else ""
    return f"nothing matches{filters}{held}.{tag_suggestion(store, scope.get('all_tags'))}"


# Named as the fields of a memory: what is given goes to the store as it is.
field_options = combine(
    option("-t --type TYPE", "episodic, semantic, procedural, feedback, …"),
    option("-i --importance 0-1", "How much it matters.", type=Share()),
    option("-s --source TEXT", "Where it comes from."),
    option("--title TEXT", "A line that says what it is about."),
    option("--session NAME", "The conversation it belongs to."),
    option("--role NAME", "Who said it: user, assistant, …"),
    option("--agent NAME", "The agent it belongs to."),
    option(
        "--occurred-at TIME", "When it took place: 2026-03-31, 2026-03-31T09:00:00Z, or words. Days and hours are UTC."
    ),
    option("--valid-from TIME", "Since when it is true: a time as above."),
    option(
        "--valid-until TIME",
        "Until when it is true; of a date, until its end. friday is the next one, 2w in two weeks.",
    ),
    option(
        "--expires-at TIME",
        "When it stops being recalled; of a date, after its end. friday is the next one, 2w in two weeks.",
    ),
    option("--polarity", "Against, neither, or for.", choices=[-1, 0, 1]),
    option("--metadata JSON", "A JSON object to keep with it.", callback=as_json),
)
why_option = option("--reason TEXT", "The reason, for the journal.", to="why", old="--why", default="")
yes_option = option("-y --yes", "Do not ask.")
dry_run_option = option("--dry-run", "Only say what would be done.")


def form_option(*forms: str) -> Decorator:
    choices = tuple(other for form in forms for other in (DATA if form == "json" else (form,))) or FORMS
    help = "A table on a terminal and TSV in a pipe, unless you choose." if choices == FORMS else "How to print it."
    return option("-f --format", help, to="form", choices=choices)


ALL = 2**53  # what a limit of 0 means


def limit_option(default: int, help: str = "At most; 0 for all.") -> Decorator:
    return option("-n --limit N", help, to="limit", least=0, default=default)


def set_global_option(ctx: click.Context, option: click.Parameter, value: str | bool | None) -> None:
    cli = ctx.find_object(CliContext)
    if value is None or cli is None or option.name is None:
        return
    if isinstance(value, bool):
        cli.debug = value
    else:
        cli.flags[option.name] = value


def global_option(name: str, **settings: Any) -> Decorator:
    """An option of `nacre` itself, taken after the command too, where many people write it."""
    return click.option(name, hidden=True, expose_value=False, callback=set_global_option, **settings)


global_options = combine(
    global_option("--store"),
    global_option("--space"),
    global_option("--debug", is_flag=True, default=None),
    global_option("--embedder"),
)


class FirstByDefault(GroupWithMembers):
    """What names none of its commands is for the first one: `nacre journal ID` and `nacre journal -n 5` mean its tail.
    A word is so only where that one takes arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name, first = next(iter(self.commands.items()))
        own = {*self.list_commands(ctx), *ctx.help_option_names}
        words = any(isinstance(each, click.Argument) for each in first.params)
        bare = not args or (args[0] not in own and (words or args[0].startswith("-")))
        if not args and ctx.resilient_parsing:  # a shell asks what could come next
            bare = False
        if bare and args and not args[0].startswith("-") and not HEXADECIMAL.fullmatch(args[0]):
            ctx.meta[FIRST_WORD] = args[0]
        return super().parse_args(ctx, [name, *args] if bare else args)

    def invoke(self, ctx: click.Context) -> object:
        """Takes a word for a mistyped command where it is the id of no memory."""
        try:
            return super().invoke(ctx)
        except (click.UsageError, MemoryNotFound, AmbiguousId) as error:
            word = ctx.meta.get(FIRST_WORD, "")
            near = suggested(word, self.list_commands(ctx))
            if near is None or names_memory(ctx, word):
                raise
            raise click.UsageError(f"No such command {word!r}. Did you mean {near!r}?", ctx) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Also what the first command takes."""
        name, first = next(iter(self.commands.items()))
        with first.make_context(name, [], parent=ctx, resilient_parsing=True) as inner:
            argument = next((each for each in first.params if isinstance(each, click.Argument)), None)
            asked = argument if argument and not incomplete.startswith("-") else first
            items = [*super().shell_complete(ctx, incomplete), *asked.shell_complete(inner, incomplete)]
        return list({item.value: item for item in items}.values())


FIRST_WORD = "nacre.first_word"  # of what was typed, where it names no command of a group
HEXADECIMAL = re.compile(r"[0-9a-fA-F-]+")  # how an id begins that Nacre made


def names_memory(ctx: click.Context, word: str) -> bool:
    try:
        with ctx.ensure_object(CliContext).open_with_personal() as store:
            store.resolve_id(word)
    except NacreError as error:
        return isinstance(error, AmbiguousId)
    return True


TEXT_WITH_DASH = re.compile(r"-[^\s]*\s")  # "- buy milk": no option has a blank in its name
NO_OPTION = "\0"  # no argument of a process can hold it


class TextCommand(click.Command):
    """Takes a text that begins with a dash, as lines of a list do, for a text and not for an option."""

    text = TEXT_WITH_DASH

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        marked = [NO_OPTION + word if self.text.match(word) else word for word in args]
        rest = super().parse_args(ctx, marked)
        ctx.params = {name: without_mark(value) for name, value in ctx.params.items()}
        return rest


class ValueCommand(TextCommand):
    """Takes a negative number for a value, too."""

    text = re.compile(rf"{TEXT_WITH_DASH.pattern}|-\.?\d")


def without_mark(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(without_mark, value))
    return value.removeprefix(NO_OPTION) if isinstance(value, str) else value


def argument(word: str) -> Decorator:
    """`ID`, `[ID]`, `ID...`, `[ID]...` or `FILE|-`, as in a usage line; several of them are called `ids`."""
    name, required = word.strip("[.]").removesuffix("|-").lower(), not word.startswith("[")
    if word.endswith("..."):
        return click.argument(f"{name}s", nargs=-1, required=required, metavar=word)
    return click.argument(name, required=required, metavar=word)


def command(
    usage: str, *options: Decorator, group: click.Group | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Registers a function as a command, of `nacre` itself or of a group of commands.

    `usage` is its name, and its arguments as in a usage line: `merge KEEP OTHER...`. It gets the `CliContext` as its
    first argument. `options` come after those that decorate it; the options of `nacre` are taken after its name too,
    where the command has none of the same name.
    """
    name, *arguments = usage.split()

    def register(function: Callable[..., Any]) -> click.Command:
        make = click.command if group is None else group.command
        made: click.Command = make(name, **settings)(click.pass_obj(naming_options(function)))
        made.params[:0] = parameters_of(*map(argument, arguments))
        made.params += parameters_of(*options)
        own = {name for each in made.params for name in each.opts}
        made.params += [each for each in parameters_of(global_options) if own.isdisjoint(each.opts)]
        return made

    return register


def naming_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, whose errors call a parameter by the option that was typed: "--occurred-at", not "occurred_at"."""

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except InvalidInput as error:
            error.args = (with_option_names(str(error), click.get_current_context()), *error.args[1:])
            raise

    return run


def with_option_names(message: str, ctx: click.Context) -> str:
    """The first clause of a message says what is wrong. A word there is the name of a parameter where it is the first
    one, is compared with, or has an underscore, as no other word has. Of a message that begins with a value, the option
    is put before it, where only one has that value."""
    typed = {option.name: option for option in typed_options(ctx)}
    values = {name: tuple(map(repr, texts_in(ctx.params.get(str(name))))) for name in typed}
    of_value = [typed[name] for name, texts in values.items() if message.startswith(texts)]
    if of_value:
        return f"{longest_name(of_value[0])}: {message}" if len(of_value) == 1 else message
    end = CLAUSE_END.search(message)
    clause, rest = (message[: end.start()], message[end.start() :]) if end else (message, "")

    def as_typed(word: re.Match[str]) -> str:
        is_name = not word.start() or "_" in word[0] or clause[: word.start()].endswith(COMPARED)
        return longest_name(typed[word[0]]) if is_name and word[0] in typed else word[0]

    return PARAMETER.sub(as_typed, clause) + rest


def typed_options(ctx: click.Context) -> Iterator[click.Option]:
    for each in ctx.command.params:
        source = ctx.get_parameter_source(each.name or "")
        if isinstance(each, click.Option) and not each.is_flag and source is ParameterSource.COMMANDLINE:
            yield each


def texts_in(value: object) -> Iterator[str]:
    """Those of an option that was given once, or several times."""
    yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str))


def longest_name(option: click.Option) -> str:
    return max(option.opts, key=len)


CLAUSE_END = re.compile(r"[,;:](?= )")
COMPARED = (" than ", " before ")
PARAMETER = re.compile(r"(?<![\w'`-])[a-z_]+(?![\w'`-])")


def parameters_of(*options: Decorator) -> list[click.Parameter]:
    @click.command
    @combine(*options)
    def placeholder() -> None: ...

    parameters: list[click.Parameter] = placeholder.params
    return parameters


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
apply_option = option("--apply", "Carry the plan out; without it nothing is changed.", to="applied")
plan_options = combine(apply_option, yes_option, why_option, rows_option, form_option())


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
