"""Walks a person through the review queue, one key a decision."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import TYPE_CHECKING

import click

from nacre.cli.ui.columns import short
from nacre.cli.ui.conflicts import conflict_reason, is_current
from nacre.cli.ui.output import one_line, printable, put, say
from nacre.cli.ui.prompts import END, key_reader
from nacre.cli.ui.times import age
from nacre.errors import InvalidInput, MemoryNotFound
from nacre.model import Conflict, Memory
from nacre.model.review import ReviewItem

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

MARGIN = " " * 9


@dataclass(frozen=True, slots=True)
class Choice:
    """`decision` is empty where another key decides, or none is taken."""

    key: str
    label: str
    decision: str
    outcome: str = ""
    asks: str = ""


SKIP = Choice("s", "skip", "skip", "Skipped; it still waits.")
QUIT = Choice("q", "quit", "", "What is settled stays settled.")
TRASH = Choice("t", "trash", "trash", "Moved to the trash.")
CHOICES: dict[str, tuple[Choice, ...]] = {
    "conflict": (
        Choice("b", "both stand", "keep_both", "Both stand, and are not compared again."),
        Choice("n", "newer holds", "newer", "The newer one took the place of the older."),
        Choice("o", "older holds", "older", "The older one took the place of the newer."),
        Choice("m", "merge", "merge", "Merged into the newer one.", "What they say together (empty: the newer text): "),
        Choice("t", "trash one", ""),
    ),
    "unvalidated": (Choice("v", "validate", "validate", "It still holds."), TRASH),
    "stale": (Choice("v", "validate", "validate", "It still holds."), TRASH),
    "word": (
        Choice("k", "keep", "keep", "The store keeps this relation."),
        Choice("m", "merge", "merge", "Its ties have the other relation now.", "Which relation does it mean? "),
    ),
    "entity": (
        Choice("m", "one", "merge", "Both names mean one now.", "Which name does it go by (empty: the fuller one)? "),
        Choice("d", "two", "distinct", "They are two, and nobody is asked again."),
    ),
}
TRASH_ONE = (
    Choice("n", "the newer", "trash_newer", "The newer one is in the trash."),
    Choice("o", "the older", "trash_older", "The older one is in the trash."),
    Choice("c", "neither", ""),
)


def walk_through(store: MemoryStore, items: Sequence[ReviewItem], now: float) -> None:
    """Each decision is carried out at once; what an earlier one settled on its way is passed over."""
    settled = 0
    for at, waiting in enumerate(items, 1):
        item = as_it_stands(store, waiting)
        if item is None:
            continue
        put("\n".join(["", *shown(item, now, f"{at} of {len(items)}")]))
        choice = chosen(item)
        if choice is QUIT:
            break
        if carried_out(store, item, choice):
            settled += 1
            if settled == 1:
                say("`nacre undo` takes it back.")
    say(f"Settled {settled} of {len(items)}.")


def as_it_stands(store: MemoryStore, item: ReviewItem) -> ReviewItem | None:
    if item.conflict is not None:
        newer, older = store.get(item.conflict.a.id), store.get(item.conflict.b.id)
        if newer is None or older is None or not (is_current(newer) and is_current(older)):
            return None
        return replace(item, memory=newer, conflict=replace(item.conflict, a=newer, b=older))
    if item.names:
        return item if len({store.resolve_entity(name) for name in item.names}) > 1 else None
    if item.memory is None:
        return item
    memory = store.get(item.memory.id)
    same = memory is not None and memory.last_validated_at == item.memory.last_validated_at
    return replace(item, memory=memory) if memory is not None and same and is_current(memory) else None


def shown(item: ReviewItem, now: float, place: str) -> list[str]:
    if item.conflict is not None:
        head = f"{item.conflict.kind}: {conflict_reason(item.conflict)} ({item.conflict.similarity:.2f} alike)"
        return [titled(place, head), *sides(item.conflict, now)]
    head = f"{item.kind}: {item.why}" if item.memory is not None else item.why
    return [titled(place, head), *([f"  {told(item.memory, now)}"] if item.memory is not None else [])]


def titled(place: str, head: str) -> str:
    return click.style(place, dim=True) + "  " + click.style(one_line(head), bold=True)


def sides(conflict: Conflict, now: float) -> list[str]:
    newer, older = conflict.words
    return [
        f"  newer  {told(conflict.a, now, newer)}",
        f"  older  {told(conflict.b, now, older)}",
    ]


def told(memory: Memory, now: float, decisive: str = "") -> str:
    head = f"{click.style(short(memory.id), fg='cyan')}  {age(memory.created_at, now)}"
    return f"{head}\n{indent(highlighted(printable(memory.text), decisive), MARGIN)}"


def highlighted(text: str, words: str) -> str:
    """The words that decided, where the text has them as they are."""
    if not words:
        return text
    found = re.search(re.escape(words), text, re.IGNORECASE)
    return (
        text
        if not found
        else text[: found.start()] + click.style(found[0], fg="yellow", bold=True) + text[found.end() :]
    )


def chosen(item: ReviewItem) -> Choice:
    choice = ask_choice((*CHOICES[item.kind], SKIP, QUIT))
    while choice.label == "trash one":
        which = ask_choice(TRASH_ONE)
        choice = which if which.decision else ask_choice((*CHOICES[item.kind], SKIP, QUIT))
    return choice


def ask_choice(choices: Sequence[Choice]) -> Choice:
    keys = {choice.key: choice for choice in choices}
    line = "  ".join(f"[{click.style(each.key, bold=True)}] {each.label}" for each in choices) + "  [?] "
    with key_reader() as press:
        write(line)
        while (typed := pressed(press)) not in keys and typed != END:
            if typed == "?":
                write(f"?\n{helped(choices)}\n{line}")
    write(f"{typed}\n" if typed in keys else "\n")
    return keys.get(typed, QUIT)


def pressed(press: Callable[[], str]) -> str:
    try:
        return press().lower()
    except KeyboardInterrupt:
        write("\n")  # the last words belong on a line of their own
        raise


def write(text: str) -> None:
    click.echo(text, file=sys.stdout, nl=False)


def helped(choices: Sequence[Choice]) -> str:
    return "\n".join(f"  {each.key}  {each.label:<12}  {each.outcome}" for each in choices)


def ask_text(question: str) -> str | None:
    """None when the person would rather not say."""
    try:
        return str(click.prompt(question, default="", show_default=False, prompt_suffix="")).strip()
    except click.Abort:
        write("\n")
        return None


def carried_out(store: MemoryStore, item: ReviewItem, choice: Choice) -> bool:
    given = ask_text(choice.asks) if choice.asks else ""
    if given is None:
        say("Nothing was decided; it still waits.")
        return False
    into, text = (given, "") if item.kind in ("word", "entity") else ("", given)
    try:
        done = store.decide(item, choice.decision, into=into, text=text)
    except (InvalidInput, MemoryNotFound) as error:
        say(f"Nothing was decided: {error}")
        return False
    say(choice.outcome)
    return done
