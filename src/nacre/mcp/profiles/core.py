"""The default profile: the eight tools that an agent needs daily. Every further tool takes room in its context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from nacre.errors import InvalidInput, nearest_name
from nacre.factory import is_server
from nacre.mcp.records import (
    conflict_record,
    cut,
    hit_lines,
    hit_reference,
    ids_answer,
    journal_answer,
    line,
    memories_of,
    references,
    review_record,
)
from nacre.mcp.tool import Answer, ToolSession, read_profile
from nacre.model.fence import escaped, fenced
from nacre.model.instants import iso
from nacre.model.journal import MEMORY, JournalEntry
from nacre.model.memory import SUSPICION, TRASHED, Json, Memory, short_id, without_none
from nacre.model.review import MEANINGS, Outcome, RememberResult, ReviewItem
from nacre.settings import without_password

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.recall_options import Scope

NOTHING = "Nothing relevant is remembered."
NOTHING_WAITS = "Nothing waits for a decision."
DECIDE = "To decide, repeat `review` with the `item` and one `decision` of its kind:"
UNDO_DECISION = "`history` with undo 'last' takes it back."
SECONDS = len("2026-03-31T21:00:00")
NEAREST = "Nothing that is remembered fits. The nearest, which probably does not answer:"
OLDER = "It may conflict with these; settle it with `review`, or repeat with `replaces`:"
NEWER = "It may conflict with these, which are newer; settle it with `review`:"
OUTCOMES: Mapping[Outcome, str] = {
    "stored": "stored: {id} {place}",
    "known": "known already: {id} {place}",
    "merged": "merged: {id} {place}",
    "replaced": "stored: {id}, in the place of {replaced}, {place}",
    "replaced_by_known": "known already: {id}, in the place of {replaced}, {place}",
}
ABOUT_USER = (
    "It seems to be about the user, not about this project. To know it in every project, remember it with scope "
    '"personal" and forget this one.'
)
FOR_REPETITIONS = 3  # times as many hits, where turns with the same words took places
MOST = 100  # memories in one answer: about ten thousand tokens
LONGEST_NEAREST = 300  # characters of what probably does not answer
MOST_QUOTED = 10  # memories that an undo quotes
SUGGESTED_BUDGET = 200  # tokens, of which a memory of usual length takes a quarter


def remember(
    session: ToolSession,
    text: str,
    type: Literal["semantic", "episodic", "procedural", "feedback"] | None = None,
    tags: list[str] | None = None,
    importance: float | None = None,
    entities: list[str] | None = None,
    source: str | None = None,
    replaces: str | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
    scope: Literal["project", "personal"] = "project",
) -> Answer:
    from nacre.project_store import personal
    from nacre.remember.suggest import is_about_user

    fields = without_none(
        type=type, tags=tags, importance=importance, source=source, entities=entities, valid_from=valid_from,
        valid_until=valid_until,
    )  # fmt: skip
    refusal = f"This server uses the space {session.store.space!r} alone; repeat without `scope`."
    store = personal(session.store, refusal) if scope == "personal" else session.store
    old = session.id(replaces) if replaces else None
    stored = store.remember_result(text, replaces=old, **fields)
    replaced = stored.replaced if old is None else (old,)
    names = {
        "id": escaped(short_id(stored.memory.id)),
        "place": f"in the space {escaped(stored.memory.space)}",
        "replaced": ", ".join(escaped(short_id(each)) for each in replaced),
    }
    conflicts, lines = conflicts_in(session, stored, OLDER)
    own = stored.memory.space == session.store.personal_space
    suggests = not own and session.store.beside is not None and is_about_user(text)
    data: dict[str, Json] = {
        "id": stored.memory.id,
        "space": stored.memory.space,
        "action": stored.action,
        "conflicts": conflicts,
    }
    text_of_answer = "\n".join([OUTCOMES[stored.outcome].format(**names), *lines])
    return Answer(data, text_of_answer, (*stored.notes, ABOUT_USER) if suggests else stored.notes)


def conflicts_in(session: ToolSession, stored: RememberResult, older: str) -> tuple[list[Json], list[str]]:
    """The conflicts of a new or edited memory, as records and as lines; `older` stands above those that are not
    newer."""
    conflicts = [session.clean(each) for each in stored.conflicts]
    if not conflicts:
        return [], []
    others = [(session.store.clean(other), each) for other, each in zip(stored.others, conflicts, strict=True)]
    newer = all(other.id == each.a.id for other, each in others)
    lines = [NEWER if newer else older, fenced([line(other, each.kind) for other, each in others])]
    return [conflict_record(each) for each in conflicts], lines


def recall(
    session: ToolSession,
    query: str,
    k: int = 5,
    type: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    valid_at: str | None = None,
) -> Answer:
    from nacre.recall.turns import without_repetitions

    wanted = bounded("k", k)
    scope: Scope = {"type": type, "tag": tag, "since": since, "until": until, "as_of": as_of, "valid_at": valid_at}
    hits = session.store.recall(query, wanted, **scope)
    if len(without_repetitions(hits)) < len(hits):  # they took the places of others
        hits = session.store.recall(query, FOR_REPETITIONS * wanted, touch=False, **scope)
        hits = replace(hits, hits=tuple(without_repetitions(hits))[:wanted])
    text = fenced(hit_lines(hits)) if hits else nothing(hits.nearest.memory if hits.nearest else None)
    notes = hits.notes if hits or not tag else (*hits.notes, *unknown_tag(session, tag))
    return Answer({"memories": [hit_reference(hit) for hit in hits]}, text, notes)


def unknown_tag(session: ToolSession, tag: str) -> tuple[str, ...]:
    """That no memory has it; a tag counts as it is written."""
    tags = session.store.tally("tags")
    if tag in tags:
        return ()
    folded = {each.casefold(): each for each in tags}
    near = nearest_name(tag.casefold(), folded)
    return (f"No memory has the tag {tag!r}" + (f"; {folded[near]!r} is one." if near else "."),)


def nothing(nearest: Memory | None) -> str:
    """What is said instead of hits. A text that gives orders to its reader is not quoted unasked."""
    if nearest is None or SUSPICION in nearest.metadata:
        return NOTHING
    return "\n".join([NEAREST, fenced([line(replace(nearest, text=cut(nearest.text, LONGEST_NEAREST)))])])


def context(session: ToolSession, task: str, budget: int = 800) -> Answer:
    if budget < 1:
        raise InvalidInput(f"A budget of {budget} tokens holds no memory; give {SUGGESTED_BUDGET} or more.")
    packed = session.store.recall_pack(task, token_budget=budget, fence=True, ids=True)
    if packed.truncated and not packed.items:
        raise InvalidInput(f"What matters does not fit into {budget} tokens; give {SUGGESTED_BUDGET} or more.")
    data: dict[str, Json] = {
        "memories": references(each.memory for each in packed.items),
        "used_tokens": packed.used_tokens,
        "truncated": packed.truncated,
    }
    return Answer(data, packed.text or nothing(packed.nearest), packed.notes)


def forget(session: ToolSession, ids: list[str], why: str = "") -> Answer:
    meant = session.ids(ids)
    before = {memory.id for memory in session.store.get_many(meant) if memory.status != TRASHED}
    session.store.forget(*meant, why=why)
    gone = [id for id in meant if id in before]
    state = "it was" if len(meant) == 1 else "all were"
    return ids_answer("forgotten", gone, "Moved to the trash", f"Nothing to do: {state} in the trash already.")


def link(session: ToolSession, source: str, target: str, rel: str = "related", remove: bool = False) -> Answer:
    start, end = session.id(source), session.id(target)
    named = escaped(f"{short_id(start)} {rel} {short_id(end)}")
    if remove:
        count = session.store.unlink(start, end, rel)
        return Answer({"removed": count}, f"Removed: {named}." if count else f"There was no such link: {named}.")
    made = session.store.link(start, end, rel)
    text = f"{'Linked' if made.new else 'Linked already'}: {named}."
    return Answer({"rel": made.link.rel, "new": made.new}, text, made.notes)


def review(
    session: ToolSession,
    item: str | None = None,
    decision: str | None = None,
    text: str = "",
    why: str = "",
    limit: int = 10,
) -> Answer:
    if bool(item) != bool(decision):
        raise InvalidInput("Nothing was decided: give both `item` and `decision` to decide, or neither to list.")
    if item and decision:
        # A conflict is merged into a text, other items into a name, and each takes only its own.
        done = session.store.decide(item, decision, into=text, text=text, why=why)
        done_line = f"Decided: {escaped(decision)}. {UNDO_DECISION}" if done else "Left as it is."
        return Answer({"decided": done, "items": []}, done_line)
    most = bounded("limit", limit)
    waiting = session.store.review(limit=most + 1)
    items = [each.cleaned(session.store.clean) for each in waiting[:most]]
    if not items:
        return Answer({"items": []}, NOTHING_WAITS)
    lines = [DECIDE]
    for kind in dict.fromkeys(each.kind for each in items):
        lines += [f"{kind}:", *(f"  {name}: {meaning}" for name, meaning in MEANINGS[kind].items())]
    lines.append(fenced(item_lines(items)))
    more = ("More waits; decide some of these, or raise `limit`.",) if len(waiting) > most else ()
    return Answer({"items": [review_record(each) for each in items]}, "\n".join(lines), more)


def item_lines(items: Iterable[ReviewItem]) -> list[str]:
    """The reason of each, which quotes the memories, and these below it; one that is in several, whole in the first."""
    lines: list[str] = []
    seen: set[str] = set()
    for item in items:
        pair, kind = item.conflict, item.kind
        if pair is not None:
            sure = "sure" if pair.sure else "not sure"
            kind = f"{kind}: {pair.kind}, {sure}, {pair.similarity:.2f} alike"
        lines.append(f"- {escaped(short_item_id(item))} ({kind}) {escaped(item.why)}")
        sides = [("newer", pair.a), ("older", pair.b)] if pair is not None else [("", item.memory)]
        for side, memory in sides:
            if memory is not None:
                lines.append(side_line(side, memory, in_full=memory.id not in seen))
                seen.add(memory.id)
    return lines


def side_line(side: str, memory: Memory, *, in_full: bool) -> str:
    if not in_full:
        return f"- {side} {escaped(short_id(memory.id))}: see above"
    return line(memory, f"stored {iso(memory.created_at)[:SECONDS]}Z", label=side)


def short_item_id(item: ReviewItem) -> str:
    """The ids of memories are shortened as everywhere; an item of another kind has a name of its own."""
    return ":".join(map(short_id, item.id.split(":"))) if item.memory is not None else item.id


def history(session: ToolSession, id: str | None = None, undo: str | None = None, limit: int = 10) -> Answer:
    if undo:
        return undone(session, session.store.undo(None if undo == "last" else undo))
    if id:
        return versions(session, session.id(id))
    return journal_answer(session, session.store.journal(limit=bounded("limit", limit)))


def undone(session: ToolSession, entries: Iterable[JournalEntry]) -> Answer:
    """With the memories as they are now, or as they were where they are gone."""
    by_id = {entry.memory_id: entry for entry in entries}
    answer = ids_answer("undone", list(by_id), "Undone, of", "Nothing was undone.")
    changed = [entry for entry in by_id.values() if entry.kind == MEMORY][:MOST_QUOTED]
    memories = memories_of(session, changed)
    lines = []
    for entry in changed:
        state = "gone" if entry.after is None else "back" if entry.before is None else "as before"
        if entry.memory_id in memories:
            lines.append(line(memories[entry.memory_id], state))
    return replace(answer, text="\n".join([answer.text, fenced(lines)])) if lines else answer


def versions(session: ToolSession, id: str) -> Answer:
    past = session.store.history(id).cleaned(session.store.clean)
    memories = past.versions
    lines = [line(each, f"written {iso(each.created_at)}", shorten=False) for each in memories]
    lines += [
        f"- {escaped(each.operation)} of {escaped(short_id(each.new))} at {iso(each.at)}: "
        f"{escaped(each.before, keep_lines=True)} -> {escaped(each.after, keep_lines=True)}"
        + (f" [{escaped(each.why)}]" if each.why else "")
        for each in past.transitions
    ]
    return Answer({"versions": references(memories)}, fenced(lines))


def status(session: ToolSession) -> Answer:
    counted, (ready, model) = session.store.stats(), model_state(session.store)
    access = access_of(session.store)
    waiting, beside = len(session.store.review(limit=MOST)), session.store.beside
    kinds = ", ".join(f"{count:,} {escaped(kind)}" for kind, count in counted.by_type.items())
    pending = f"; {counted.waiting_for_model:,} memories wait for it" if counted.waiting_for_model else ""
    lines = [
        f"{counted.active:,} memories in the space {escaped(session.store.space)}" + (f": {kinds}" if kinds else ""),
        *([] if beside is None else [f"{beside.count():,} in the space {escaped(beside.space)}, which is read too"]),
        f"{waiting} wait for a decision (`review`)",
        f"search by meaning: {model} ({escaped(counted.embedder)}){pending}",
        *(f"{name}: {escaped(str(value))}" for name, value in access.items()),
    ]
    if counted.top_tags:
        lines.append(fenced([f"- tags: {', '.join(map(escaped, counted.top_tags))}"]))
    data: dict[str, Json] = {
        "memories": counted.active,
        "review": waiting,
        "model_ready": ready,
        "waiting_for_model": counted.waiting_for_model,
        "space": session.store.space,
        "also_read": "" if beside is None else beside.space,
        **access,
    }
    return Answer(data, "\n".join(lines))


def model_state(store: MemoryStore) -> tuple[bool | None, str]:
    """Whether the model is loaded, in words, too; only a server knows that of its own."""
    if is_server(store.settings.store):
        return None, "by the server"
    return store.embedder.ready, "ready" if store.embedder.ready else "not ready"


def access_of(store: MemoryStore) -> dict[str, Json]:
    """What may be done here, and where."""
    rights, place = store.user_rights, place_of(store)
    role, spaces = rights or ("", ())
    allowed = f"{role} in {', '.join(spaces) or 'all spaces'}" if rights else store.settings.scope or "unrestricted"
    return {"access": allowed, **({"store": place} if place else {})}


def place_of(store: MemoryStore) -> str:
    """Where the store is; empty for a user of a server, which tells nobody where it keeps its own."""
    place = store.settings.store
    return without_password(place) if is_server(place) or store.user_rights is None else ""


def bounded(name: str, wanted: int) -> int:
    if wanted > MOST:
        raise InvalidInput(f"{name} is {wanted:,}, and at most {MOST} are returned at once; narrow the question.")
    if wanted < 1:
        raise InvalidInput(f"{name} is {wanted:,}; give at least 1.")
    return wanted


PROFILE = read_profile("core", remember, recall, context, forget, link, review, history, status)
