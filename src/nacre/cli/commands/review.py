"""nacre review and nacre review conflicts: find what contradicts, and decide on it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.commands.edit import edit_both, keeping_typed
from nacre.cli.errors import Refused
from nacre.cli.lookup import find_memories
from nacre.cli.options import command, form_option, global_options, limit_option, option, why_option, yes_option
from nacre.cli.ui.output import Column, Form, one_line, print_items, printable, put, say, wrapped
from nacre.cli.ui.prompts import END, confirm, count_of, key_reader, progress_line
from nacre.cli.ui.records import excerpt, is_current, marked_text, memory_record
from nacre.cli.ui.times import age
from nacre.errors import AccessDenied, InvalidInput, MemoryNotFound, UnknownName
from nacre.model import Conflict, Memory
from nacre.model.memory import Json, short_id
from nacre.model.recollection import effective_from
from nacre.model.review import DECISIONS, KINDS, STALE_DAYS, ReviewItem, item_named, kinds_named, newer_first

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore

stale_option = option(
    "--stale-days DAYS", "Days without confirmation after which a memory is stale.", default=STALE_DAYS
)


@click.group("review", cls=HelpGroup, invoke_without_command=True)
@option("--kind", "Only these; repeat for several.", to="kinds", choices=KINDS, multiple=True)
@stale_option
@limit_option(50)
@option("--list", "List what waits, and ask nothing.", to="listed")
@form_option()
@global_options
@click.pass_context
def review_command(
    ctx: click.Context, kinds: tuple[str, ...], stale_days: float, limit: int, listed: bool, form: Form
) -> None:
    """Decide on what waits for you: conflicts, stale memories, names.

    Unconfirmed memories and new relations wait, too. On a terminal it asks, one key a decision; in a pipe, with --list
    or with -f it lists. `review decide` is for scripts, and `review decide-all` settles all of one kind alike.
    """
    if ctx.invoked_subcommand is not None:
        return
    cli: CliContext = ctx.obj
    with cli.open_with_personal() as store:
        items = store.review(kinds=kinds or KINDS, stale_days=stale_days, limit=limit or None)
        if items and not listed and is_interactive(form):
            refusal = refusal_to_decide(store)
            if not refusal:
                review_steps([partial(item_step, store, item, cli) for item in items], store)
                return
            say(f"{refusal} Waiting for a decision:")
    columns: list[Column[ReviewItem]] = [
        Column("item", lambda item: item.id, lambda item: short_item(item.id), style="cyan"),
        Column("kind", lambda item: item.kind, style="magenta"),
        Column("decisions", lambda item: ",".join(item.decisions), only="tsv"),
        Column("why", lambda item: item.why, only="tsv"),
        Column("what", item_text, describe_item, wide=True, wraps=True),
    ]
    print_items(items, columns, item_record, form, "Nothing waits for a decision.")


@command("decide ITEM DECISION", stale_option, why_option, group=review_command)
@option("--into NAME", "With `merge`: the relation that a new one means, or what two names go by.", default="")
@option("--text TEXT", "With `merge` of a conflict: what the two say together.", default="")
def decide(cli: CliContext, item: str, decision: str, into: str, text: str, stale_days: float, why: str) -> None:
    """Settle the ITEM that `nacre review` lists; the first characters of its id, or of both its ids, suffice.

    \b
      of a conflict     keep_both, not_a_conflict, newer, older, merge, trash_newer, trash_older
      of a memory       validate, trash
      of a relation     keep, merge (with --into); its kind is `word`
      of two names      merge (--into says which name stays), distinct
      of each of them   skip, which decides nothing: it still waits
    """
    with cli.open_with_personal() as store:
        decision = decision.replace("-", "_")
        waiting = store.review(kinds=kinds_named(item), stale_days=stale_days, limit=None)
        matched = item_named(waiting, item, decision)
        done = store.decide(matched, decision, into=into, text=text, why=why, stale_days=stale_days)
    undo = " `nacre undo` takes it back." if done else ""
    say(f"{short_item(matched.id)}: {outcome_of(matched.kind, decision)}{undo}")


@command("decide-all KIND DECISION", stale_option, yes_option, why_option, group=review_command)
def decide_all(cli: CliContext, kind: str, decision: str, stale_days: float, yes: bool, why: str) -> None:
    """Settle all that waits of one KIND in this space alike: `nacre review decide-all entity distinct`.

    KIND is conflict, unvalidated, stale, word (a relation that is new) or entity; `nacre review decide --help` lists
    the decisions of each. A merge is made one by one.
    """
    decision = decision.replace("-", "_")
    UnknownName.check("kind of review item", kind, KINDS)
    UnknownName.check(f"decision on a {kind}", decision, DECISIONS[kind])
    if decision in ("merge", "skip"):
        raise InvalidInput(f"{decision!r} is decided one by one; `nacre review` asks for each.")
    with cli.open() as store:
        items = store.review(kinds=(kind,), stale_days=stale_days, limit=None)
        if not items:
            say("Nothing waits for a decision.")
            return
        if refusal := refusal_to_decide(store):
            raise AccessDenied(refusal)
        if not yes:
            show_some(items)
        confirm(f"Settle {count_of(len(items), 'item', 'items')} with the decision {decision!r}?", yes=yes)
        settled = [item for item in items if decide_if_waiting(store, item, decision, why, stale_days)]
    passed = len(items) - len(settled)
    if settled:
        say(f"Settled {count_of(len(settled), 'item', 'items')}: {outcome_of(kind, decision)}")
    if passed:
        say(f"{count_of(passed, 'item', 'items')} no longer waited: settled by an earlier decision or somebody else.")
    if settled:
        say(f"`nacre undo --last {len(settled)}` takes it back.")


def refusal_to_decide(store: MemoryStore) -> str:
    """Why the server would refuse a decision of this user; empty if it would not."""
    from nacre.access.capabilities import Role

    rights = store.user_rights
    if rights is None or Role(rights[0]).includes(Role.REVIEWER):
        return ""
    needed = f"Decisions need the role reviewer, and this token has the role {rights[0]}"
    return f"{needed}; ask an admin of the server for another token."


MOST_SHOWN = 10  # items above the question whether all are settled: a screen has room for the question


def show_some(items: Sequence[ReviewItem]) -> None:
    for item in items[:MOST_SHOWN]:
        say(indent(describe_item(item), "  "))
    if len(items) > MOST_SHOWN:
        say(f"  and {len(items) - MOST_SHOWN} more; `nacre review --list -n 0` lists all.")


def decide_if_waiting(store: MemoryStore, item: ReviewItem, decision: str, why: str, stale_days: float) -> bool:
    """False where it no longer waits, since an earlier decision has settled it."""
    try:
        return store.decide(item, decision, why=why, stale_days=stale_days)
    except (InvalidInput, MemoryNotFound):
        if any(each.id == item.id for each in store.review(kinds=(item.kind,), stale_days=stale_days, limit=None)):
            raise
        return False


def describe_item(item: ReviewItem) -> str:
    if item.conflict is None:
        return f"{item_text(item)}\n({item.why})" if item.memory is not None else item.why
    sides = (("newer", item.conflict.a), ("older", item.conflict.b))
    lines = [f"{name}  {short_id(memory.id)}  {memory.date}  {excerpt(memory)}" for name, memory in sides]
    return "\n".join((f"{item.conflict.kind}: {item.conflict.explanation}", *lines))


@command("conflicts [ID]", why_option, form_option(), group=review_command)
@option("--threshold 0-1", "From which similarity two texts count as duplicates where the model did not read them; "
        "0.8, unless given.")  # fmt: skip
@option("--note", "Put them into the review queue.")
def conflicts_command(
    cli: CliContext, id: str | None, threshold: float | None, note: bool, why: str, form: Form
) -> None:
    """Find memories that contradict, update or repeat each other, worst first. With an ID, only conflicts of that one.

    Pairs that were decided before are passed over.
    """
    with cli.open_with_personal() as store:
        asked = find_memories(store, [id])[0].id if id is not None else None
        with progress_line() as progress:
            matched = store.find_conflicts(asked, threshold=threshold, progress=progress)
        noted = store.note_conflicts(matched, why=why) if note and matched else 0
    print_items(matched, conflict_columns(), conflict_record, form, "No conflicts found.")
    if not matched:
        return
    if note:
        waiting = f"{count_of(noted, 'conflict waits', 'conflicts wait')} for a decision now"
        say(f"{waiting if noted else 'They wait already'}; `nacre review` settles them.")
    else:
        say(f"{count_of(len(matched), 'conflict', 'conflicts')}; --note puts them into the queue of `nacre review`.")


def conflict_columns() -> list[Column[Conflict]]:
    return [
        Column("kind", lambda each: each.kind, style="magenta"),
        Column("reason", lambda each: each.reason),
        Column("newer words", lambda each: each.words[0], only="tsv"),
        Column("older words", lambda each: each.words[1], only="tsv"),
        Column("words", lambda each: "\n".join(each.words) if any(each.words) else "", only="table"),
        Column("alike", lambda each: f"{each.similarity:.3f}", lambda each: f"{each.similarity:.2f}", right=True),
        Column("newer", lambda each: each.a.id, only="tsv"),
        Column("older", lambda each: each.b.id, only="tsv"),
        Column("newer text", lambda each: marked_text(each.a), only="tsv"),
        Column("older text", lambda each: marked_text(each.b), only="tsv"),
        Column("newer, older", both_texts, wide=True, wraps=True, only="table"),
    ]


MARGIN = " " * 9
NO_BREAK_SPACE = "\u00a0"  # between the words of a choice, so that they stay on one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one key does. `meaning` says what it will do; in a review `outcome` says what was done, and a step fills in
    the names in braces. `decision` is empty where another key decides, or none is taken.

    It may ask first: for a line of text, for both texts in the editor, or for one of `further` choices."""

    key: str
    label: str
    meaning: str
    decision: str = ""
    outcome: str = ""
    asks: str = ""
    in_editor: bool = False
    further: tuple[Choice, ...] = ()


TRASH_ONE = (
    Choice(
        key="n",
        label="the newer",
        decision="trash_newer",
        meaning="Move the newer one to the trash.",
        outcome="The newer one is in the trash.",
    ),
    Choice(
        key="o",
        label="the older",
        decision="trash_older",
        meaning="Move the older one to the trash.",
        outcome="The older one is in the trash.",
    ),
    Choice(key="c", label="neither", meaning="Go back to the other choices."),
)
CONFLICT = (
    Choice(
        key="b",
        label="both are true",
        decision="keep_both",
        meaning="Keep both, and do not compare them again.",
        outcome="Both are kept.",
    ),
    Choice(
        key="d",
        label="not a conflict",
        decision="not_a_conflict",
        meaning="They are about different things; do not compare them again.",
        outcome="Kept as two different things; they are not compared again.",
    ),
    Choice(
        key="n",
        label="newer holds",
        decision="newer",
        meaning="Replace the older one.",
        outcome="The newer one replaced the older.",
    ),
    Choice(
        key="o",
        label="older holds",
        decision="older",
        meaning="Replace the newer one.",
        outcome="The older one replaced the newer.",
    ),
    Choice(
        key="m",
        label="merge",
        decision="merge",
        meaning="Merge both into the newer one; your editor opens with both texts.",
        outcome="Merged into the newer one.",
        in_editor=True,
    ),
    Choice(
        key="t",
        label="trash one",
        meaning="Move one of them to the trash; you are asked which.",
        further=TRASH_ONE,
    ),
)
CONFIRM = (
    Choice(
        key="v",
        label="validate",
        decision="validate",
        meaning="Confirm that it still holds.",
        outcome="It still holds.",
    ),
    Choice(
        key="t",
        label="trash",
        decision="trash",
        meaning="Move it to the trash.",
        outcome="Moved to the trash.",
    ),
)
RELATION = (
    Choice(
        key="k",
        label="keep",
        decision="keep",
        meaning="Keep this relation.",
        outcome="The store keeps this relation.",
    ),
    Choice(
        key="m",
        label="merge",
        decision="merge",
        meaning="Give its links another relation; you are asked which.",
        outcome="Its links have the other relation now.",
        asks="Which relation does it mean?",
    ),
)
ENTITY = (
    Choice(
        key="m",
        label="one",
        decision="merge",
        meaning="Both names mean the same; you may say which one stays.",
        outcome="Both names mean one now.",
        asks="Which name does it go by (empty: the fuller one)?",
    ),
    Choice(
        key="d",
        label="two",
        decision="distinct",
        meaning="They are two; do not ask again.",
        outcome="Kept as two names; you are not asked again.",
    ),
)
CHOICES = {"conflict": CONFLICT, "unvalidated": CONFIRM, "stale": CONFIRM, "word": RELATION, "entity": ENTITY}
SKIP = Choice(key="s", label="skip", decision="skip", meaning="Decide later.", outcome="Skipped; it still waits.")
QUIT = Choice(key="q", label="quit", meaning="Stop here; what is settled stays settled.")
UNDO = Choice(key="u", label="undo", meaning="Take back your last decision, and decide again.", outcome="Taken back.")


def outcome_of(kind: str, decision: str) -> str:
    """What was done by a decision, in words."""
    choices = (*CHOICES[kind], *TRASH_ONE, SKIP)
    return next(choice.outcome for choice in choices if choice.decision == decision)


@dataclass(frozen=True, slots=True)
class Step:
    """A review item: its title, the choices, and the function that applies one and returns the outcome."""

    title: str
    choices: tuple[Choice, ...]
    apply: Callable[[Choice], str]
    details: str = ""


def is_interactive(form: Form) -> bool:
    """Whether a person can be asked."""
    return form is None and sys.stdin.isatty() and sys.stdout.isatty()


def review_steps(steps: Sequence[Callable[[], Step | None]], store: MemoryStore) -> None:
    """Applies each decision at once; one that fails is reported, and the item still waits. A step that is None is an
    item that no longer waits. The last decision can be taken back, and its item is asked about again."""
    settled: list[int] = []  # the steps that were decided on, for undo
    passed: list[int] = []  # the steps that no longer waited when their turn came, for the count at the end
    began = 0
    try:
        while True:
            at, step = first_waiting(steps, began)
            if at > began:
                passed += range(began, at)
                say(passed_line(at - began, decided=bool(settled)))
            if step is None:
                break
            choice = ask_step(step, f"{at + 1} of {len(steps)}", undo=bool(settled))
            if choice is QUIT:
                break
            if choice is UNDO:
                began = settled.pop()
                passed = [each for each in passed if each < began]
                store.undo()
                say(UNDO.outcome)
                continue
            if apply_choice(step, choice):
                settled.append(at)
            began = at + 1
    except KeyboardInterrupt as error:
        error.add_note(f"{settled_line(settled, passed, len(steps))} `nacre review` goes on with the rest.")
        raise
    say(settled_line(settled, passed, len(steps)))


def first_waiting(steps: Sequence[Callable[[], Step | None]], begin: int) -> tuple[int, Step | None]:
    """The first step from this place on whose item still waits, and its place."""
    for at in range(begin, len(steps)):
        if (step := steps[at]()) is not None:
            return at, step
    return len(steps), None


def passed_line(number: int, *, decided: bool) -> str:
    """Says why the next number is not one more than the last."""
    waits, them = ("item no longer waits", "it") if number == 1 else ("items no longer wait", "them")
    return f"{number} {waits}: {'an earlier decision' if decided else 'somebody else'} settled {them}."


def settled_line(settled: Sequence[int], passed: Sequence[int], total: int) -> str:
    others = f", and {count_of(len(passed), 'other', 'others')} no longer {'waits' if len(passed) == 1 else 'wait'}"
    undo = " `nacre undo` takes back the last." if settled else ""
    return f"Settled {len(settled)} of {total}{others if passed else ''}.{undo}"


def ask_step(step: Step, number: str, *, undo: bool) -> Choice:
    title = f"\n{click.style(number, dim=True)}  {click.style(one_line(step.title), bold=True)}"
    put(wrapped(title, sys.stdout, " " * (len(number) + 2)))
    if step.details:
        put(wrapped(step.details, sys.stdout))
    return ask_decision(step.choices, (SKIP, UNDO, QUIT) if undo else (SKIP, QUIT))


def apply_choice(step: Step, choice: Choice) -> bool:
    """Whether something was decided."""
    if choice is SKIP:
        say(SKIP.outcome)
        return False
    try:
        say(step.apply(choice))
    except (InvalidInput, MemoryNotFound, Refused) as error:
        say(f"Nothing was decided: {error}")
        return False
    return True


def item_step(store: MemoryStore, waiting: ReviewItem, cli: CliContext) -> Step | None:
    item = current_item(store, waiting)
    if item is None:
        return None

    def apply(choice: Choice) -> str:
        edited = [item.conflict.a, item.conflict.b] if item.conflict is not None and choice.in_editor else []
        typed = edit_both(edited) if edited else ask_text(f"{choice.asks} ") if choice.asks else ""
        into, text = (typed, "") if item.kind in ("word", "entity") else ("", typed)
        as_read = store.expecting({memory.id: memory.version for memory in edited}, check=False)
        with keeping_typed(text or "", *edited):
            if into is None or text is None or not as_read.decide(item, choice.decision, into=into, text=text):
                raise InvalidInput("it still waits.")
        return choice.outcome

    title, details = item_texts(item, cli.now())
    return Step(title, CHOICES[item.kind], apply, details)


def current_item(store: MemoryStore, item: ReviewItem) -> ReviewItem | None:
    if item.conflict is not None:
        newer, older = store.get(item.conflict.a.id), store.get(item.conflict.b.id)
        if newer is None or older is None:
            return None
        if not (is_current(newer) and is_current(older)):  # what else was replaced may wait all the same
            waiting = store.review(kinds=("conflict",), limit=None)
            return next((each for each in waiting if each.is_named(item.id)), None)
        conflict = replace(item.conflict, a=newer, b=older)
        if newer_first(newer, older)[0] is not newer:  # an earlier decision has changed when one began to hold
            conflict = replace(conflict, a=older, b=newer, words=conflict.words[::-1])
        return replace(item, memory=conflict.a, conflict=conflict)
    if item.names:
        return item if len({store.resolve_entity(name) for name in item.names}) > 1 else None
    if item.memory is None:
        return item
    memory = store.get(item.memory.id)
    same = memory is not None and memory.last_validated_at == item.memory.last_validated_at
    return replace(item, memory=memory) if memory is not None and same and is_current(memory) else None


def item_texts(item: ReviewItem, now: float) -> tuple[str, str]:
    """The title, and what it is about."""
    conflict = item.conflict
    if conflict is not None:
        newer = f"  newer  {memory_text(conflict.a, now, conflict.words[0])}"
        older = f"  older  {memory_text(conflict.b, now, conflict.words[1])}"
        reason = f"{conflict.kind}: {conflict.explanation} ({conflict.similarity:.2f} alike)"
        return reason, f"{newer}\n{older}"
    if item.memory is not None:
        return f"{item.kind}: {item.why}", f"  {memory_text(item.memory, now)}"
    return item.why, ""


def memory_text(memory: Memory, now: float, decisive: str = "") -> str:
    head = f"{click.style(short_id(memory.id), fg='cyan')}  {age(effective_from(memory), now)}"
    return f"{head}\n{indent(highlight(printable(memory.text), decisive), MARGIN)}"


def highlight(text: str, words: str) -> str:
    """The words that decided, where the text has them as they are."""
    matched = re.search(re.escape(words), text, re.IGNORECASE) if words else None
    if not matched:
        return text
    return text[: matched.start()] + click.style(matched[0], fg="yellow", bold=True) + text[matched.end() :]


def ask_decision(choices: Sequence[Choice], always: Sequence[Choice]) -> Choice:
    choice = ask_choice((*choices, *always))
    while choice.further:
        which = ask_choice(choice.further)
        choice = which if which.decision else ask_choice((*choices, *always))
    return choice


def ask_choice(choices: Sequence[Choice]) -> Choice:
    keys = {choice.key: choice for choice in choices}
    offers = (f"[{click.style(each.key, bold=True)}] {each.label}".replace(" ", NO_BREAK_SPACE) for each in choices)
    line = wrapped("  ".join((*offers, "[?]")), sys.stdout).replace(NO_BREAK_SPACE, " ") + " "
    with key_reader() as press:
        write(line)
        while (typed := press_key(press)) not in keys and typed != END:
            help = (f"  {each.key}  {each.label:<14}  {each.meaning}\n" for each in choices)
            answer = "".join(help) if typed == "?" else "None of these keys; ? explains them.\n"
            write(f"{typed if typed.isprintable() else ''}\n{answer}{line}")
    write(f"{typed}\n" if typed in keys else "\n")
    return keys.get(typed, QUIT)


def press_key(press: Callable[[], str]) -> str:
    try:
        return press().lower()
    except KeyboardInterrupt:
        write("\n")  # the last words belong on a line of their own
        raise


def write(text: str) -> None:
    click.echo(text, file=sys.stdout, nl=False)


def ask_text(question: str) -> str | None:
    """None when the person would rather not say."""
    try:
        return str(click.prompt(question, default="", show_default=False, prompt_suffix="")).strip()
    except click.Abort:
        write("\n")
        return None


def conflict_record(conflict: Conflict) -> dict[str, Json]:
    return {
        "kind": conflict.kind,
        "reason": conflict.reason,
        "similarity": round(conflict.similarity, 4),
        "words": {"newer": conflict.words[0], "older": conflict.words[1]},
        "newer": memory_record(conflict.a),
        "older": memory_record(conflict.b),
    }


def item_record(item: ReviewItem) -> dict[str, Json]:
    return {
        "id": item.id,
        "kind": item.kind,
        "why": item.why,
        "decisions": list(item.decisions),
        "word": item.word,
        "names": list(item.names),
        "conflict": None if item.conflict is None else conflict_record(item.conflict),
        "memory": None if item.memory is None or item.conflict is not None else memory_record(item.memory),
    }


def both_texts(conflict: Conflict) -> str:
    """The two texts, one a line."""
    return "\n".join(f"{short_id(memory.id)} {excerpt(memory)}" for memory in (conflict.a, conflict.b))


def short_item(id: str) -> str:
    """`nacre review decide` understands it so, too."""
    newer, apart, older = id.partition(":")
    if newer in ("relation", "entity") and apart:
        return id
    return f"{short_id(newer)}:{short_id(older)}" if apart else short_id(id)


def item_text(item: ReviewItem) -> str:
    if item.conflict is not None:
        return both_texts(item.conflict)
    return excerpt(item.memory) if item.memory is not None else item.word or " = ".join(item.names)
