"""nacre remember."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import cast

import click

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.cli.lookup import resolve_id
from nacre.cli.options import TextCommand, command, field_options, option
from nacre.cli.ui.output import put, say
from nacre.cli.ui.prompts import count_of, progress_line, read_stdin, text_argument
from nacre.cli.ui.records import ended_note, excerpt, expired_note
from nacre.engine.remember import POLICIES
from nacre.errors import ConflictError, ConflictWarning
from nacre.memory_store import MemoryStore
from nacre.model import Conflict, Memory, RememberResult
from nacre.model.memory import short_id, without_none
from nacre.model.review import Outcome
from nacre.model.validate import Fields, memory_text
from nacre.project_store import personal as personal_store
from nacre.remember.suggest import is_about_user


@command("remember", cls=TextCommand)
@click.argument("words", nargs=-1, metavar="TEXT|-")
@option("--stdin", "Read the text from stdin, as - does.")
@option("--lines", "Each line on stdin is a memory of its own.")
@option("-g --tag TAG", "A tag; repeat for several.", to="tags", multiple=True)
@option("--entity NAME", "Whom or what it is about; repeat.", to="entities", multiple=True)
@field_options
@option("--created-at TIME", "When it was written down, if not now: 2024-05-01, or words such as last week; UTC.")
@option("--pin", "Protect it from decay.", to="pinned", default=None)
@option("--id ID", "Your own id for it.")
@option(
    "--on-conflict",
    "Where it conflicts with another memory: note it for review, do not look, only warn, replace that, or refuse."
    " The setting on_conflict decides unless given; --lines does not look.",
    choices=POLICIES,
)
@option("--replaces ID", "The memory whose place it takes; both in one operation.")
@option("--personal", "Store it in your personal space, which is read in every project.")
def remember_command(
    cli: CliContext, /, words: tuple[str, ...], stdin: bool, lines: bool, on_conflict: str | None, replaces: str | None,
    personal: bool, **described: object,
) -> None:  # fmt: skip
    """Store a text, or the text on stdin, and print its id.

    \b
      nacre remember "The staging server is at 10.0.0.7" -g ops
      nacre remember - < notes.md
      grep TODO *.py | nacre remember --lines -t prospective

    A text with --session and --role is a turn of that conversation, and comes after its last turn.
    """
    if not (words or stdin or lines):
        raise click.UsageError("Give the text to remember, or - to read it from stdin.")
    if lines and (words not in ((), ("-",)) or described["id"] or replaces):
        raise click.UsageError("--lines reads every text from stdin, makes the ids itself, and replaces nothing.")
    known = cli.settings()
    fields = {"type": known.default_type, **without_none(**described)}
    if not fields["entities"]:
        del fields["entities"]  # an empty list would say that it names nobody
    if replaces:  # it keeps the type and the tags of what it replaces
        fields = {name: value for name, value in fields.items() if name not in ("type", "tags") or described[name]}
    text = "" if lines else memory_text("text", text_argument(words, stdin=stdin))  # before a store is made for it
    with cli.open_or_make(alone=False) as both:
        refusal = f"`--personal` cannot be combined with the space {both.space!r}; leave out one of them."
        if personal and not cli.choose_space().named:
            refusal = (
                f"The token opens the space {both.space!r} alone, and not your personal one; leave out --personal."
            )
        store = personal_store(both, refusal) if personal else both
        if lines:
            remember_lines(store, fields, on_conflict or "ignore")
        else:
            old = None if replaces is None else resolve_id(store, replaces)
            id = remember_text(store, text, fields, on_conflict or known.on_conflict, old)
            say(*misunderstandings(words, cast("tuple[str, ...]", described["tags"])))
            if store.beside is not None and is_about_user(text):
                say("It seems to be about you, not about this project: `nacre remember --personal` stores it for all"
                    f" projects, and `nacre forget {short_id(id)}` removes it here.")  # fmt: skip


def misunderstandings(words: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    """What was stored as it was typed, and perhaps not as it was meant."""
    if len(words) == 1 and names_file(words[0]):
        file = quote(words[0])
        yield (
            f"This is the name of a file, and only the name was stored: `nacre undo` takes it back, "
            f"`nacre ingest {file}` stores the notes in the file, `nacre remember - < {file}` its text as one memory."
        )
    for tag in tags:
        parts = [part.strip() for part in tag.split(",") if part.strip()]
        if len(parts) > 1:
            yield f"{tag!r} is one tag; {' '.join(f'--tag {quote(part)}' for part in parts)} gives {len(parts)}."


def names_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False


def remember_text(
    store: MemoryStore, text: str, fields: dict[str, object], policy: str, replaces: str | None = None
) -> str:
    """Returns the id."""
    try:
        with without_warnings():
            result = store.remember_result(text, on_conflict=policy, replaces=replaces, **cast("Fields", fields))
    except ConflictError as error:
        report_refused(error)
        raise Refused("nothing was stored; --on-conflict note stores it beside them.") from error
    put(result.memory.id)
    report_result(result, replaces)
    say(*result.notes, *expired_note(result.memory, store.now()), *ended_note(result.memory, store.now()))
    return result.memory.id


@contextmanager
def without_warnings() -> Iterator[None]:
    """Of conflicts, which `report_result` says in plain sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConflictWarning)
        yield


def remember_lines(store: MemoryStore, fields: dict[str, object], policy: str) -> None:
    texts = [line for line in read_stdin().split("\n") if line.strip()]
    if policy == "ignore":
        try:
            with progress_line() as progress:
                memories = store.remember_many([{**fields, "text": text} for text in texts], progress=progress)
        except KeyboardInterrupt as error:
            error.add_note("What was stored stays; the same command again stores the rest, and no line twice.")
            raise
        for memory in memories:
            put(memory.id)
        new = {memory.id for memory in memories if memory.version <= 1 and not memory.access_count}
        known = f"; {len(memories) - len(new):,} known already" if len(new) < len(memories) else ""
        say(f"Stored {count_of(len(new))}{known}.")
        if memories:
            say(*expired_note(memories[0], store.now()), *ended_note(memories[0], store.now()))
    else:  # line by line, each compared with those before it; a refusal ends it, and what was stored stays
        done = 0
        try:
            for text in texts:
                remember_text(store, text, fields, policy)
                done += 1
        finally:
            say(f"Stored {done:,} of {count_of(len(texts), 'line', 'lines')}.")
    waiting = store.stats().waiting_for_model
    if waiting:
        say(f"{count_of(waiting)} found by words alone until the model can be used; `nacre doctor` says why it cannot.")


KINDS = {
    "contradiction": "This contradicts",
    "update": "This seems to update",
    "duplicate": "This seems to say the same as",
}


OUTCOMES: Mapping[Outcome, str] = {
    "known": "Known already: {id}. It was not stored again.",
    "merged": "Nothing was added: {id} represents both; `nacre undo` takes that back.",
    "replaced": "It took the place of {replaced}; `nacre undo` takes that back.",
    "replaced_by_known": "Known already: {id}, which now replaces {replaced}; `nacre undo` takes that back.",
}


def report_result(result: RememberResult, replaces: str | None = None) -> None:
    """What a new or edited memory conflicts with, what became of it, and what to do."""
    for conflict, other in zip(result.conflicts, result.others, strict=True):
        say(conflict_sentence(conflict, other))
    sentence = OUTCOMES.get(result.outcome)
    if sentence is not None:
        replaced = ", ".join(map(short_id, result.replaced if replaces is None else [replaces]))
        say(sentence.format(id=short_id(result.memory.id), replaced=replaced))
    elif result.conflicts:
        say(remedy(result))


def conflict_sentence(conflict: Conflict, other: Memory) -> str:
    """How the new memory conflicts with the other side, which may be newer."""
    if conflict.a.text == conflict.b.text:
        return f"The same text is already there: {short_id(other.id)}."
    if other.id == conflict.a.id and conflict.kind == "update":
        opening = f"{short_id(other.id)}, which is newer, seems to update this"
    else:
        opening = f"{KINDS.get(conflict.kind, f'This conflicts ({conflict.kind}) with')} {short_id(other.id)}"
    return f"{opening} ({conflict.explanation}): {excerpt(other)}"


def remedy(result: RememberResult) -> str:
    several = len(result.conflicts) > 1
    review = f"`nacre review` settles {'them' if several else 'it'}, " if result.noted else ""
    ways = ", ".join(replacing_command(each, result.memory.id, several=several) for each in result.conflicts)
    return f"{'All' if several else 'Both'} are kept: {review}{ways}, `nacre undo` takes this one back."


def replacing_command(conflict: Conflict, new: str, *, several: bool) -> str:
    newer, older = short_id(conflict.a.id), short_id(conflict.b.id)
    which = "this one, which is older" if conflict.b.id == new else older if several else "the other"
    return f"`nacre memory supersede {older} {newer}` replaces {which}"


def report_refused(error: ConflictError) -> None:
    for conflict in error.conflicts:
        if isinstance(conflict, Conflict):
            say(conflict_sentence(conflict, conflict.other(error.memory_id)))
