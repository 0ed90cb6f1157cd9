"""nacre recall, and context, which is also called pack."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, Unpack

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound, UsageProblem
from nacre.cli.options import TextCommand, command, filter_options, form_option, option, without_match
from nacre.cli.ui.output import DATA, Column, Form, print_data, print_items, printable, put, say, wrapped
from nacre.cli.ui.prompts import count_of, read_stdin
from nacre.cli.ui.records import headline, marked_text, memory_columns, memory_record
from nacre.model import Hit, Memory, Recollection
from nacre.model.instants import iso
from nacre.model.memory import Json, short_id
from nacre.model.recollection import WORDLESS

if TYPE_CHECKING:
    from nacre.recall_options import RecallOptions

strategy_option = option("--strategy NAME", "auto, hybrid, rrf, semantic, keyword or graph.", default="auto")


@command("recall", form_option(), cls=TextCommand)
@click.argument("words", nargs=-1, required=True, metavar="QUERY|-")
@option("-k -n --limit N", "How many at most.", to="k", least=1, default=5)
@strategy_option
@option("--by-session", "Rank conversations, and show the turns that decided.", to="group_by", flag_value="session")
@option("--with-context N", "Also N turns before and after.", least=0, default=0)
@option("--min-relevance 0-1", "Leave out hits that are less likely to answer.", type=float)
@option("--all", "Also hits that are unlikely to answer.", to="everything")
@option("--asked-at TIME", "What 'yesterday' is counted from; now, unless given.")
@filter_options
@option("--no-touch", "Do not count this as a use of what is found.", to="touch", default=True, flag_value=False)
@option("--explain", "Say why each one came up.")
def recall_command(
    cli: CliContext, words: tuple[str, ...], k: int, touch: bool, everything: bool, explain: bool, form: Form,
    **options: Unpack[RecallOptions],
) -> None:  # fmt: skip
    """Find the memories that answer a question, best first. Where none is likely to, the nearest is named,
    if any resembles the question at all.

    Beside one that answers, weak ones fill the list up to -n; --min-relevance 0.2 leaves them out. They do not count as
    used. A question that is - is read from stdin. In a pipe, --by-session adds a column with the session, and
    --with-context one with the turns before and after, to the left of the space.
    """
    question = asked_question(words)
    if everything and options.get("min_relevance") is not None:
        raise UsageProblem("--all and --min-relevance exclude each other; give one of them.")
    if everything:
        options["min_relevance"] = 0.0
    with cli.open_with_personal() as store:
        hits = store.recall(question, k, touch=touch, **options)
        unmatched = "" if hits else without_match(store, options)
    if WORDLESS in hits.notes:
        raise NotFound("the question has no word; say what to look for, or see everything with `nacre list`.")
    say(*(note for note in hits.notes if note not in cli.notified))
    if not hits.calibrated and (explain or options.get("min_relevance")):
        say("Relevance is uncalibrated for this embedder: no probability, good only to compare hits of one question.")
    by_session, with_turns = bool(options.get("group_by")), bool(options.get("with_context"))
    columns = hit_columns(
        hits, two_spaces=store.beside is not None, explain=explain, by_session=by_session, with_turns=with_turns
    )
    print_items(hits, columns, lambda hit: {**hit_record(hit), "calibrated": hits.calibrated}, form)
    if not hits and cli.reported_empty:
        raise click.exceptions.Exit(NotFound.exit_code)
    if not hits:
        raise NotFound(nothing_fits(hits.nearest.memory) if hits.nearest else unmatched or "nothing found.")


def nothing_fits(nearest: Memory) -> str:
    return f"nothing fits; nearest: {short_id(nearest.id)} {headline(nearest)} (--all shows such hits)"


def asked_question(words: Sequence[str]) -> str:
    question = (read_stdin() if tuple(words) == ("-",) else " ".join(words)).strip()
    if not question.strip():
        raise UsageProblem("the question is empty; say what to look for, or see everything with `nacre list`.")
    return question


@command("context", strategy_option, filter_options, form_option("text", "json"), cls=TextCommand)
@click.argument("words", nargs=-1, required=True, metavar="QUERY|-")
@option("-b --budget N", "Tokens that the memories may take.", type=int, default=800)
@option("--max-items N", "Memories at most.", least=1, default=50)
@option("--header TEXT", "The line above them; empty for none.")
@option("--fence/--no-fence", "Say around them that they are data.", show_default=True, default=True)
def context_command(
    cli: CliContext, words: tuple[str, ...], budget: int, max_items: int, header: str | None, fence: bool, form: Form,
    **options: Unpack[RecallOptions],
) -> None:  # fmt: skip
    """Fit the best memories for a task into a token budget, ready for a prompt.

    `nacre context` and `nacre pack` do the same. This is what the tool `context` gives to an agent.
    """
    from nacre.recall.pack import HEADER

    header, question = HEADER if header is None else header, asked_question(words)
    with cli.open_with_personal() as store:
        packed = store.recall_pack(
            question, token_budget=budget, max_items=max_items, header=header, fence=fence, **options
        )
        unmatched = "" if packed.items else without_match(store, options)
    if form in DATA:
        items = [{**memory_record(item.memory), "score": item.score, "tokens": item.tokens} for item in packed.items]
        size = {"used_tokens": packed.used_tokens, "budget": packed.budget, "truncated": packed.truncated}
        print_data({"text": packed.text, "items": items, **size, "notes": list(packed.notes)}, form)
    elif packed.text:
        put(wrapped(printable(packed.text), sys.stdout))
    if packed.nearest is not None:
        say(nothing_fits(packed.nearest))
    elif unmatched:
        say(unmatched[0].upper() + unmatched[1:])
    more = "; more did not fit." if packed.truncated else "."
    say(
        *(note for note in packed.notes if note not in cli.notified),
        f"{count_of(len(packed))}, {packed.used_tokens} of {packed.budget} tokens{more}",
    )


def hit_columns(
    hits: Recollection, *, two_spaces: bool, explain: bool, by_session: bool, with_turns: bool
) -> list[Column[Hit]]:
    columns: list[Column[Hit]] = memory_columns(lambda hit: hit.memory, hits, two_spaces=two_spaces, wraps=True)
    id, *others, text, space = columns
    # A score only ranks the hits of one question; people would read it as how sure they may be.
    only: Literal["", "tsv"] = "tsv" if hits.calibrated else ""
    score: Column[Hit] = Column(
        "score", lambda hit: f"{hit.score:.4f}", lambda hit: f"{hit.score:.2f}", right=True, only=only
    )
    if hits.calibrated:
        others = [Column("fit", lambda hit: hit.strength, lambda hit: f"{hit.strength} {hit.relevance:.0%}"), *others]
    why: Column[Hit] = Column("why", lambda hit: "; ".join(map(str, hit.why)), only="tsv")
    session: Column[Hit] = Column("session", lambda hit: hit.memory.session, only="tsv")
    around: Column[Hit] = Column("context", lambda hit: " | ".join(turns_around(hit)), only="tsv")

    def text_and_marks(hit: Hit) -> str:
        """As a line of a pack."""
        return marked_text(hit.memory) + (f" [{', '.join(hit.marks)}]" if hit.marks else "")

    def with_marks(hit: Hit) -> str:
        reasons = (f"relevance {hit.relevance:.2f}, score {hit.score:.2f}", *hit.why) if explain else ()
        conversation = [f"session {hit.memory.session}"] if by_session and hit.memory.session else []
        return "\n".join(
            [headline(hit.memory), *(f"  {each}" for each in (*hit.marks, *conversation, *turns_around(hit), *reasons))]
        )

    return [
        id,
        score,
        *others,
        replace(text, text=text_and_marks, brief=with_marks),
        *([session] if by_session else []),
        *([around] if with_turns else []),
        *([why] if explain else []),
        space,
    ]


def turns_around(hit: Hit) -> list[str]:
    """A line for each turn that was said before or after the hit: on which side, by whom, and what."""

    def line(turn: Memory) -> str:
        side = "before" if (turn.position or 0) < (hit.memory.position or 0) else "after"
        return f"{side}, {turn.role}: {headline(turn)}" if turn.role else f"{side}: {headline(turn)}"

    return [line(turn) for turn in hit.context]


def former_record(memory: Memory) -> dict[str, Json]:
    return {"id": memory.id, "text": memory.text, "until": iso(memory.held_until)}


def hit_record(hit: Hit) -> dict[str, Json]:
    return {
        **memory_record(hit.memory),
        "score": hit.score,
        "relevance": hit.relevance,
        "fit": hit.strength,
        "why": [asdict(reason) for reason in hit.why],
        "collapsed": list(hit.collapsed),
        "was": None if hit.was is None else former_record(hit.was),
        "conflicts": [
            {"id": each.id, "at": iso(each.at), "newer": each.newer, "kind": each.kind, "is_hit": each.is_hit}
            for each in hit.conflicts
        ],
        "context": [memory_record(memory) for memory in hit.context],
    }
