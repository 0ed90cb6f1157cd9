"""What the store returns: as columns of a list, as JSON values, as short text and as sentences."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TypeVar

from nacre.cli.ui.output import Column, say, shortened
from nacre.cli.ui.times import age
from nacre.model import Conflict, Hit, JournalEntry, Memory, Operation, RememberResult
from nacre.model.instants import iso
from nacre.model.journal import MEMORY
from nacre.model.memory import NAMES, SUSPICION, Json, plain
from nacre.model.review import ReviewItem

T = TypeVar("T")

SHORT = 8  # characters of an id that a person reads and types
LONGEST_SHOWN = 400  # of a text, in a table; `nacre show` has all of it
INDENT = 2 + SHORT + 2  # before the text of one of them
MOST_OTHERS = 5  # that a row names beside its memory
ROOMY = 100  # columns of a terminal that has place for the tags too


def short(id: str) -> str:
    return id[:SHORT]


def headline(memory: Memory) -> str:
    """Its title and text; one that gives orders to a model is marked."""
    mark = "(untrusted) " if SUSPICION in memory.metadata else ""
    title = f"{memory.title}: " if memory.title else ""
    return shortened(f"{mark}{title}{memory.text}", LONGEST_SHOWN)


def excerpt(memory: Memory) -> str:
    return shortened(headline(memory))


def group_text(first: Memory, others: Sequence[Memory], beside: int) -> str:
    """One memory, and below it those that it represents, each on a line where `beside` characters are taken."""
    room = max(SHORT, shutil.get_terminal_size().columns - beside - INDENT)
    lines = [f"  {short(memory.id)}  {shortened(headline(memory), room)}" for memory in others[:MOST_OTHERS]]
    more = [f"  and {len(others) - MOST_OTHERS:,} more"] if len(others) > MOST_OTHERS else []
    return "\n".join([headline(first), *lines, *more])


def count_column(name: str, count: Callable[[T], int]) -> Column[T]:
    return Column(name, lambda each: str(count(each)), lambda each: f"{count(each):,}", right=True)


def memory_columns(of: Callable[[T], Memory], now: float, *, wraps: bool = False) -> list[Column[T]]:
    return [
        Column("id", lambda item: of(item).id, lambda item: short(of(item).id), style="cyan"),
        Column("type", lambda item: of(item).type, style="magenta"),
        Column("imp", lambda item: f"{of(item).importance:g}", lambda item: f"{of(item).importance:.2f}", right=True),
        Column("created", lambda item: iso(of(item).created_at), lambda item: age(of(item).created_at, now)),
        Column("tags", lambda item: ",".join(of(item).tags), lambda item: " ".join(of(item).tags), least_width=ROOMY),
        Column("text", lambda item: of(item).text, lambda item: headline(of(item)), wide=True, wraps=wraps),
    ]


def hit_columns(now: float, *, explain: bool) -> list[Column[Hit]]:
    columns: list[Column[Hit]] = memory_columns(lambda hit: hit.memory, now, wraps=True)
    id, *others, text = columns
    score: Column[Hit] = Column("score", lambda hit: f"{hit.score:.4f}", lambda hit: f"{hit.score:.2f}", right=True)
    why: Column[Hit] = Column("why", lambda hit: "; ".join(map(str, hit.why)), only="tsv")
    if not explain:
        return [id, score, *others, text]

    def with_reasons(hit: Hit) -> str:
        return "\n".join([headline(hit.memory), *(f"  {reason}" for reason in hit.why)])

    return [id, score, *others, replace(text, brief=with_reasons), why]


TIMES = (
    "created_at", "updated_at", "occurred_at", "valid_from", "valid_until", "expires_at", "last_accessed",
    "last_validated_at", "superseded_at",
)  # fmt: skip


def memory_record(memory: Memory) -> dict[str, Json]:
    """Every field is there, whether it was set or not: a script need not know the defaults."""
    return with_iso_times({name: plain(name, getattr(memory, name)) for name in NAMES})


def hit_record(hit: Hit) -> dict[str, Json]:
    return {
        **memory_record(hit.memory),
        "score": hit.score,
        "relevance": hit.relevance,
        "why": [asdict(reason) for reason in hit.why],
        "collapsed": list(hit.collapsed),
        "context": [memory_record(memory) for memory in hit.context],
    }


def entry_record(entry: JournalEntry) -> dict[str, Json]:
    return {
        "seq": entry.seq,
        "at": iso(entry.operation.at),
        "act": entry.operation.name,
        "actor": entry.operation.actor,
        "batch": entry.operation.batch,
        "why": entry.operation.why,
        "space": entry.space,
        "kind": entry.kind,
        "memory_id": entry.memory_id,
        "before": None if entry.before is None else with_iso_times(entry.before),
        "after": None if entry.after is None else with_iso_times(entry.after),
        "damaged": entry.damaged,
    }


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


def with_iso_times(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: iso_or_none(value) if name in TIMES else value for name, value in fields.items()}


def iso_or_none(at: Json) -> Json:
    return iso(at) if isinstance(at, int | float) else None


NOTHING = "(nothing)"


def entry_subject(entry: JournalEntry) -> str:
    """Of a word of the vocabulary its kind and name, of a memory its short id."""
    return short(entry.memory_id) if entry.kind == MEMORY else f"{entry.kind} {entry.memory_id}".strip()


def entry_summary(entry: JournalEntry) -> str:
    """The text of a memory that came or went; of anything else that changed, what became of it."""
    if entry.damaged:
        return "(cannot be read)"
    why = f"({operation_reason(entry.operation)}) " if entry.operation.why else ""
    fields = entry.after if entry.before is None else entry.before if entry.after is None else None
    if fields is not None and entry.kind == MEMORY:
        return why + str(fields.get("text", ""))
    if entry.kind != MEMORY and entry.after is None:
        return f"{why}gone"
    return why + "; ".join(f"{name}: {became}" for name, (_, became) in field_changes(entry).items())


def operation_reason(operation: Operation) -> str:
    """An undo names the operations that it took back before the reason."""
    if operation.name != "undo":
        return operation.why
    batches, _, why = operation.why.partition(":")
    return "takes back " + ", ".join(map(short, batches.split(","))) + (f":{why}" if why else "")


def field_changes(entry: JournalEntry) -> dict[str, tuple[str, str]]:
    """Every field that the entry changed, before and after; times last, as they follow from the rest."""
    before, after = entry.before or {}, entry.after or {}
    names = sorted(dict.fromkeys((*before, *after)), key=lambda name: name in TIMES)
    return {
        name: (field_text(name, before.get(name)), field_text(name, after.get(name)))
        for name in names
        if name != "updated_at"
    }


def field_text(name: str, value: Json) -> str:
    """Short enough to be printed beside another value."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if name in TIMES:
        return str(iso_or_none(value))
    if name == "links" and isinstance(value, list):
        return ", ".join(link_text(each) for each in value if isinstance(each, dict))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def link_text(link: Mapping[str, Json]) -> str:
    weight = link.get("weight", 1.0)
    return f"{link.get('rel')} → {short(str(link.get('to')))}" + (f" ({weight:g})" if weight != 1.0 else "")


def undo_outcome(entry: JournalEntry) -> str:
    """What an undo left behind."""
    if entry.kind != MEMORY:
        return "is gone again" if entry.after is None else "is as it was before"
    if entry.after is None:
        return f"is no longer there: {shortened(str((entry.before or {}).get('text', '')))}"
    if entry.before is None:
        return f"is back: {shortened(str(entry.after.get('text', '')))}"
    changed = [name.replace("_", " ") for name in field_changes(entry)]
    return f"is as it was before: {', '.join(changed) or 'nothing had changed'}"


# The judge's names for its reasons, as sentences; one that is missing here is printed as it is.
REASONS = {
    "polarity": "one is for it, the other against",
    "value": "the value differs",
    "conflict_model": "judged by reading both",
    "similarity": "they are much alike",
    "custom_fn": "your own rule says so",
    "language_model": "the language model says so",
}
KINDS = {
    "contradiction": "This contradicts",
    "update": "This seems to update",
    "duplicate": "This seems to say the same as",
}


def report_conflicts(result: RememberResult, *, noted: bool) -> None:
    """What a new memory conflicts with, what became of that, and what to do."""
    for conflict in result.conflicts:
        say(conflict_sentence(conflict))
    if result.conflicts:
        say(remedy(result, noted=noted))


def conflict_sentence(conflict: Conflict) -> str:
    if conflict.a.text == conflict.b.text:
        return f"The same text is already there: {short(conflict.b.id)}."
    opening = KINDS.get(conflict.kind, f"This conflicts ({conflict.kind}) with")
    return f"{opening} {short(conflict.b.id)} ({conflict_reason(conflict)}): {excerpt(conflict.b)}"


def conflict_reason(conflict: Conflict) -> str:
    """With the words that decided."""
    reason = REASONS.get(conflict.reason, conflict.reason)
    newer, older = conflict.words
    if newer and older and newer != older:
        return f"{reason}: {newer!r} now, {older!r} before"
    return f"{reason}: {(newer or older)!r}" if newer or older else reason


def remedy(result: RememberResult, *, noted: bool) -> str:
    if result.action == "merged":
        return f"Nothing was added: {short(result.memory.id)} represents both; `nacre undo` takes that back."
    if result.action == "superseded":
        replaced = [short(each.b.id) for each in result.conflicts if each.kind != "duplicate"]
        return f"It took the place of {', '.join(replaced)}; `nacre undo` takes that back."
    ways = f"`nacre supersede {short(result.conflicts[0].b.id)} {short(result.memory.id)}` lets this one stand alone"
    review = "`nacre review` settles it, " if noted else ""
    return f"Both are kept: {review}{ways}, `nacre undo` takes this one back."


def both_texts(conflict: Conflict) -> str:
    """The two texts, one a line."""
    return "\n".join(f"{short(memory.id)} {excerpt(memory)}" for memory in (conflict.a, conflict.b))


def report_refused(conflicts: Sequence[object]) -> None:
    for conflict in conflicts:
        if isinstance(conflict, Conflict):
            say(conflict_sentence(conflict))


def short_item(id: str) -> str:
    """`nacre review decide` understands it so, too."""
    newer, apart, older = id.partition(":")
    if newer in ("relation", "entity") and apart:
        return id
    return f"{short(newer)}:{short(older)}" if apart else short(id)


def item_text(item: ReviewItem) -> str:
    if item.conflict is not None:
        return both_texts(item.conflict)
    return excerpt(item.memory) if item.memory is not None else item.word or " = ".join(item.names)


def expired_note(memory: Memory, now: float) -> list[str]:
    """A warning about what nobody will see."""
    if memory.expires_at is None or memory.expires_at > now:
        return []
    remedy = f"`nacre edit {short(memory.id)} --expires-at ''` lets it stay"
    return [f"It expired {age(memory.expires_at, now)}, so it is neither listed nor recalled; {remedy}."]


def is_current(memory: Memory) -> bool:
    """Whether it can still be in conflict with anything."""
    return memory.status != "trashed" and not memory.superseded_by
