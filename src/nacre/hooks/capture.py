"""Captures the new turns of a transcript: reads on from the last position, and stores no turn twice.

Nor is a turn stored that was purged or taken back by an undo, or that was said while capture was off.
A change that the user announces in them is compared with notes and earlier turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import InvalidInput, SecretRefused
from nacre.hooks import unread
from nacre.hooks.channel import log_line
from nacre.model import Conflict, Memory
from nacre.model.journal import READ_POSITION
from nacre.model.memory import Json
from nacre.model.review import newer_first
from nacre.recall.turns import announced_changes, is_users_statement
from nacre.transfer.ingest import conversations
from nacre.transfer.ingest.ingest import draft_item, store_new, was_ever_stored
from nacre.transfer.ingest.items import Item, clean_text, lines, parse_time
from nacre.transfer.permission import demand_import

if TYPE_CHECKING:
    from nacre.hooks.request import Request
    from nacre.memory_store import MemoryStore

GEMINI = "gemini-cli"
LINES = 200  # per operation: about 60 turns, a tenth of a second; the time limit is checked between two
MARK_BYTES = 256  # before the read position: they show whether it is still the same file
DIGEST_BYTES = 8
TRIES = 20  # when another hook reads the same transcript
COMPARED = 8  # turns of one operation, the latest: each takes some 50 ms


class AlreadyCaptured(Exception):
    """Another hook has captured the same turns meanwhile."""


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a transcript was read. `mark` is a digest of the bytes before `offset`; `turns` counts stored ones. What
    was said until `passed` is not stored any more, also not from a file that took the place of this one."""

    offset: int = 0
    turns: int = 0
    mark: str = ""
    at: float = 0.0
    passed: float = 0.0

    @classmethod
    def from_term(cls, term: Mapping[str, Json] | None) -> ReadPosition:
        """What another version wrote beside these fields is left out."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in (term or {}).items() if name in names})  # type: ignore[arg-type]


def capture_request(store: MemoryStore, request: Request, *, until: float | None = None) -> int:
    """Returns how many turns were stored."""
    transcript = request.transcript
    if not store.settings.hook_capture:
        if transcript is not None and transcript.is_file() and store.can_edit_vocabulary:
            pass_over(store, transcript.absolute())
        return 0
    if answer := request.text("prompt_response"):
        return capture_exchange(store, request.session, request.text("prompt"), answer, until=until)
    if transcript is None or not transcript.is_file():
        return 0
    return capture(store, transcript.absolute(), session=request.session, until=until)


def capture_with_left(
    file: Path,
    request: Request,
    opened: Callable[[Request], AbstractContextManager[MemoryStore]],
    *,
    until: float | None = None,
) -> None:
    """Captures the request, then what others have left uncaptured; the note of each goes with its last turn.

    Never raises: an error is logged, and the next one is captured.
    """
    others = (each.with_key_of(request) for each in unread.left(file) if each.transcript != request.transcript)
    capture_each(file, chain((request,), others), opened, until=until)


def capture_each(
    file: Path,
    requests: Iterable[Request],
    opened: Callable[[Request], AbstractContextManager[MemoryStore]],
    *,
    until: float | None = None,
) -> None:
    """Removes the note of each that was captured to its end, and those that are of no use any more."""
    unread.remove_useless(file)
    for request in requests:
        try:
            with opened(request) as store:
                capture_and_copy(store, request, until=until)
        except Exception as error:  # noqa: BLE001 - it may not keep the others from being captured
            log_line(request.event, f"{type(error).__name__}: {error}")
            continue
        if until is not None and time.monotonic() >= until:
            return  # there may be more in it
        unread.remove(file, request)


def capture_and_copy(store: MemoryStore, request: Request, *, until: float | None = None) -> int:
    """As `capture_request`; then the automatic copy of the store is started where one is due."""
    stored = capture_request(store, request, until=until)
    if stored:
        from nacre.lifecycle.automatic_backup import start_if_due

        start_if_due(store, request.settings())
    return stored


def capture_exchange(store: MemoryStore, session: str, prompt: str, answer: str, *, until: float | None = None) -> int:
    """One prompt and its answer, which Gemini CLI gives to its hook; its transcript is not written line by line."""
    demand_import(store)
    name, now, source = f"{GEMINI} {session}", store.now(), GEMINI
    for _ in range(TRIES):
        term = store.vocabulary(READ_POSITION).get(name)
        turns = ReadPosition.from_term(term).turns
        items = [
            Item(text, session, f"{turns + place}", role, "", now)
            for place, (role, said) in enumerate((("user", prompt), ("assistant", answer)))
            if (text := clean_text(conversations.INSERTED.sub("", said)))
        ]
        drafts = [draft for place, item in enumerate(items) if (draft := drafted(store, item, turns + place, source))]
        after = ReadPosition(turns=turns + len(items), at=now)
        with suppress(AlreadyCaptured):
            unjournaled = {(READ_POSITION, name): expecting(term, after)}
            stored = store_new(store, "capture", drafts, unjournaled=unjournaled, why=source)
            note_changes(store, drafts, until)
            return stored
    return 0


def drafted(store: MemoryStore, item: Item, position: int, source: str) -> Memory | None:
    """None for what may not be stored."""
    try:
        return draft_item(store, item, position, source)
    except (SecretRefused, InvalidInput):
        return None


def expecting(term: Mapping[str, Json] | None, after: ReadPosition) -> Callable[[object], Mapping[str, Json]]:
    def advance(current: object) -> Mapping[str, Json]:
        if current != term:
            raise AlreadyCaptured
        return asdict(after)

    return advance


def capture(store: MemoryStore, transcript: Path, *, session: str = "", until: float | None = None) -> int:
    """Returns how many turns were stored. What is left at `until` (monotonic clock) waits for the next hook, but some
    turns are stored in any case: where a program is slow to load, it may be late already.

    Raises `AccessDenied` for an agent with a restricted view.
    """
    demand_import(store)
    saved = faults = 0
    while True:
        term = store.vocabulary(READ_POSITION).get(str(transcript))
        try:
            done = step(store, transcript, term, session, until)
        except AlreadyCaptured:
            faults += 1
            if faults > TRIES:
                return saved
            continue
        if done is None:
            return saved
        saved += done
        if until is not None and time.monotonic() >= until:
            return saved


def step(
    store: MemoryStore, transcript: Path, term: Mapping[str, Json] | None, session: str, until: float | None = None
) -> int | None:
    """Stores turns and the new position in one operation; another one notes what the turns change. None when there is
    nothing more to read."""
    reached = resume_position(ReadPosition.from_term(term), transcript)
    if reached is None:
        return None
    drafts, turns, offset = read_on(store, transcript, reached, session)
    if offset == reached.offset:
        return None
    unjournaled = {
        (READ_POSITION, str(transcript)): expecting(term, position_at(store, transcript, offset, turns, reached.passed))
    }
    source = drafts[0].source if drafts else conversations.CLAUDE_CODE
    # The file may have been replaced, or the conversation continued in a copy of it.
    drafts = [draft for draft in drafts if not was_ever_stored(store, draft.id)]
    stored = store_new(store, "capture", drafts, unjournaled=unjournaled, why=source)
    note_changes(store, drafts, until)
    return stored


def pass_over(store: MemoryStore, transcript: Path) -> None:
    """Moves the position to the end of the file and stores nothing: what is said while capture is off is never stored,
    also not when it is on again."""
    term = store.vocabulary(READ_POSITION).get(str(transcript))
    reached = resume_position(ReadPosition.from_term(term), transcript)
    if reached is None:
        return
    size = transcript.stat().st_size
    entries = (line.entry for line in lines(transcript, reached.offset) if isinstance(line.entry, dict))
    passed = max([reached.passed, *(parse_time(entry.get("timestamp")) or 0.0 for entry in entries)])
    after = position_at(store, transcript, size, reached.turns, passed)
    with suppress(AlreadyCaptured):  # another hook moved the position; the next hook passes over the rest
        store.write("capture", unjournaled={(READ_POSITION, str(transcript)): expecting(term, after)})


def position_at(store: MemoryStore, transcript: Path, offset: int, turns: int, passed: float) -> ReadPosition:
    return ReadPosition(offset, turns, mark_of(transcript, offset), store.now(), passed)


def note_changes(store: MemoryStore, turns: Sequence[Memory], until: float | None) -> None:
    """Compares the changes that the user announces with notes and the user's earlier turns: «we no longer deploy there»
    must not stay behind what it changes, nor behind what says the same as that. Only what is sure is noted, since
    people also think aloud. Without the model, or without time, nothing is compared."""
    if store.settings.on_conflict == "ignore" or not store.embedder.ready:
        return
    changes: list[Conflict] = []
    for turn in announced_changes(turns)[-COMPARED:]:
        if until is not None and time.monotonic() >= until:
            break
        changes += [each for each in store.find_conflicts(turn.id) if is_change(each, turn)]
    known = {(each.a.id, each.b.id) for each in changes}
    for change in tuple(changes):
        if until is None or time.monotonic() < until:
            changes += [each for each in passed_on(store, change) if (each.a.id, each.b.id) not in known]
    if changes:
        store.note_conflicts(changes, why="capture")


def passed_on(store: MemoryStore, change: Conflict) -> list[Conflict]:
    """The change for what says the same as its older side: a note may be too far from the turn in its words."""
    of_older = store.find_conflicts(change.b.id)
    same = [(each, each.other(change.b.id)) for each in of_older if each.kind == "duplicate"]
    conflicts = (replace(change, b=other, similarity=each.similarity, words=("", "")) for each, other in same)
    return [each for each in conflicts if newer_first(each.a, each.b)[0] is each.a and is_change(each, change.a)]


def is_change(conflict: Conflict, turn: Memory) -> bool:
    """Whether the turn surely changes a note or an earlier statement of the user."""
    stated = not conflict.b.role or is_users_statement(conflict.b)
    return conflict.sure and conflict.kind != "duplicate" and conflict.a.id == turn.id and stated


def resume_position(reached: ReadPosition, transcript: Path) -> ReadPosition | None:
    """Where to read on: from the start when the file was cut or replaced. None when nothing was added."""
    try:
        size = transcript.stat().st_size
    except OSError:
        return None
    same = reached.offset <= size and mark_of(transcript, reached.offset) == reached.mark
    if same or not reached.offset:
        return reached if size > reached.offset else None
    return ReadPosition(passed=reached.passed) if size else None


def mark_of(transcript: Path, offset: int) -> str:
    with transcript.open("rb") as file:
        file.seek(max(0, offset - MARK_BYTES))
        raw = file.read(min(offset, MARK_BYTES))
    return blake2b(raw, digest_size=DIGEST_BYTES).hexdigest() if raw else ""


def read_on(store: MemoryStore, transcript: Path, reached: ReadPosition, session: str) -> tuple[list[Memory], int, int]:
    """Drafts of the new turns, the count of turns so far, and the offset after the last complete line."""
    drafts: dict[str, Memory] = {}
    turns, offset = reached.turns, reached.offset
    for line in islice(lines(transcript, reached.offset, complete_only=True), LINES):
        offset = line.end
        codex = conversations.is_codex(line)
        pieces = conversations.codex_pieces if codex else conversations.claude_code_pieces
        source = conversations.CODEX if codex else conversations.CLAUDE_CODE
        for item in pieces(line, session or transcript.stem):
            draft = drafted(store, item, turns, source) if isinstance(item, Item) else None
            if draft is None or (draft.occurred_at is not None and draft.occurred_at <= reached.passed):
                continue
            if draft.id not in drafts:
                turns += 1
            drafts.setdefault(draft.id, draft)
    return list(drafts.values()), turns, offset


def read_positions(store: MemoryStore) -> dict[str, ReadPosition]:
    return {name: ReadPosition.from_term(term) for name, term in store.vocabulary(READ_POSITION).items()}
