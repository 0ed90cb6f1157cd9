"""Options that several commands share, and what they mean to the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from nacre.cli.door import Door
from nacre.cli.output import DATA, FORMS

if TYPE_CHECKING:
    from nacre.model.memory import Json
    from nacre.recall_options import Scope

F = TypeVar("F", bound=Callable[..., Any])


class Narrowing(TypedDict):
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


def narrowing(command: F) -> F:
    return together(
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


def scope_of(given: Narrowing, now: float) -> Scope:
    from nacre.cli.times import since, until

    return {
        "type": given["types"] or None,
        "all_tags": given["tags"] or None,
        "session": given["session"],
        "min_importance": given["min_importance"],
        "min_trust": given["min_trust"],
        "since": since(given["since"], now) if given["since"] else None,
        "until": until(given["until"], now) if given["until"] else None,
        "include_superseded": given["include_superseded"],
        "include_archived": given["include_archived"],
        "as_of": given["as_of"],
        "valid_at": given["valid_at"],
    }


def as_of_option(command: F) -> F:
    help = "As it was known then: 2h, 7d, a time, or a date, which means the end of its day (UTC)."
    return click.option("--as-of", metavar="WHEN", callback=then_known, help=help)(command)


def valid_at_option(command: F) -> F:
    help = "What held then, whatever replaced it since: 7d, a time, or a date, which means its noon (UTC)."
    return click.option("--valid-at", metavar="WHEN", callback=then_held, help=help)(command)


def then_known(ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from nacre.cli.times import known_by

    return None if value is None else known_by(value, ctx.ensure_object(Door).now())


def then_held(ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from nacre.cli.times import held_on

    return None if value is None else held_on(value, ctx.ensure_object(Door).now())


def walking(command: F) -> F:
    """How ties are followed."""
    return together(
        click.option(
            "--rel", "rels", metavar="NAME", multiple=True, help="Along ties of this relation; repeat for others."
        ),
        click.option(
            "--direction",
            type=click.Choice(["both", "out", "in"]),
            default="both",
            show_default=True,
            help="Along ties from a memory, to it, or both.",
        ),
    )(command)


def hidden_option(command: F) -> F:
    return click.option("--hidden", is_flag=True, help="Also through what is trashed, superseded or expired.")(command)


def describing(command: F) -> F:
    """Named as the fields of a memory: what is given goes to the store as it is."""
    return together(
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
            "--polarity", type=click.Choice(["-1", "0", "1"]), help="Against, neither, or for.", callback=whole
        ),
        click.option("--metadata", metavar="JSON", callback=parsed, help="A JSON object to keep with it."),
    )(command)


def form_option(*forms: str) -> Callable[[F], F]:
    choices = tuple(other for form in forms for other in (DATA if form == "json" else (form,))) or FORMS
    shown = "A table on a terminal and TSV in a pipe, unless you choose." if choices == FORMS else "How to print it."
    return click.option("-f", "--format", "form", type=click.Choice(choices), help=shown)


def strategy_option(command: F) -> F:
    help = "auto, hybrid, rrf, semantic, keyword or graph."
    return click.option("--strategy", default="auto", show_default=True, metavar="NAME", help=help)(command)


def why_option(command: F) -> F:
    return click.option("--why", default="", metavar="TEXT", help="The reason, for the journal.")(command)


def yes_option(command: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)


def dry_run_option(command: F) -> F:
    return click.option("--dry-run", is_flag=True, help="Only say what would be done.")(command)


def door_options(command: F) -> F:
    """The options of `nacre` itself, taken after the command too, where many people write them."""
    return together(placing, click.option("--embedder", hidden=True, expose_value=False, callback=late))(command)


def placing(command: F) -> F:
    """Those of them that say where to work."""
    return together(
        click.option("--store", hidden=True, expose_value=False, callback=late),
        click.option("--space", hidden=True, expose_value=False, callback=late),
        click.option("--debug", hidden=True, expose_value=False, callback=late, is_flag=True, default=None),
    )(command)


def late(ctx: click.Context, option: click.Parameter, value: str | bool | None) -> None:
    door = ctx.find_object(Door)
    if value is None or door is None or option.name is None:
        return
    if isinstance(value, bool):
        door.debug = value
    else:
        door.flags[option.name] = value


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def whole(_ctx: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    return None if value is None else int(value)


def parsed(_ctx: click.Context, _option: click.Parameter, value: str | None) -> Json:
    if value is None:
        return None
    try:
        found: Json = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{error}. Write an object, such as '{{\"page\": 3}}'.") from error
    return found


def given_only(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
