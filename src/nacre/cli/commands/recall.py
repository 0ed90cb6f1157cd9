"""nacre recall"""

from __future__ import annotations

from typing import Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.options import FilterOptions, filter_options, form_option, global_options, scope_of, strategy_option
from nacre.cli.ui.columns import hit_columns
from nacre.cli.ui.output import print_items, say
from nacre.cli.ui.records import hit_record


@click.command("recall")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
@strategy_option
@click.option("--by-session", is_flag=True, help="Rank whole conversations, and show the turns that decided.")
@click.option(
    "--with-context", type=click.IntRange(min=0), default=0, metavar="N", help="Also N turns before and after."
)
@click.option(
    "--min-relevance", type=click.FloatRange(0, 1), default=0.0, metavar="0-1", help="Rather nothing than less."
)
@click.option("--asked-at", metavar="TIME", help="What 'yesterday' is counted from; now, unless given.")
@filter_options
@click.option("--no-touch", is_flag=True, help="Do not count this as a use of what is found.")
@click.option("--explain", is_flag=True, help="Say why each one came up.")
@form_option()
@global_options
@click.pass_obj
def command(
    cli: CliContext,
    words: tuple[str, ...],
    k: int,
    strategy: str,
    by_session: bool,
    with_context: int,
    min_relevance: float,
    asked_at: str | None,
    no_touch: bool,
    explain: bool,
    form: str | None,
    **narrowed: Unpack[FilterOptions],
) -> None:
    """Find the memories that answer a question, best first."""
    now = cli.now()
    with cli.open_with_model() as store:
        found = store.recall(
            " ".join(words),
            k,
            strategy=strategy,
            group_by="session" if by_session else None,
            with_context=with_context,
            min_relevance=min_relevance,
            asked_at=asked_at,
            touch=not no_touch,
            **scope_of(narrowed, now),
        )
    for note in found.notes:
        say(note)
    print_items(found, hit_columns(now, explain=explain), hit_record, form)
    if not found:
        raise NotFound("nothing found.")
