"""Writers that note in a file what they are about to do and what they have done, and readers that check every answer
against these notes: lists, counts and recalls of the present and of any earlier moment."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from nacre import MemoryStore
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.retention import compress_old
from nacre.recall_options import Scope
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.torture.acts import new_id, token, written
from tests.torture.workers import EMBEDDER

MOST = 12  # memories of a writer: more are purged, so that a note stays short
IMPORTED = 300  # more than a chunk of an import
SEVERAL = 3
OPERATIONS = ("remember", "remember_many", "edit", "edit", "tag", "forget", "purge", "undo", "undo")
EVERYTHING: Scope = {"include_trashed": True, "include_superseded": True, "include_archived": True}
TRASHED = "trashed"

Standing = tuple[str, str, tuple[str, ...]]  # text, status, tags
State = Mapping[str, Standing]


@dataclass(slots=True)
class Spell:
    """So many rounds at least, however busy the machine is, and so many seconds."""

    seconds: float
    rounds: int
    done: int = 0
    _started: float = field(default_factory=time.monotonic)

    def __iter__(self) -> Iterator[int]:
        while self.done < self.rounds or time.monotonic() < self._started + self.seconds:
            yield self.done
            self.done += 1


def opened(path: str, name: str) -> MemoryStore:
    return MemoryStore(path, embedder=EMBEDDER, actor=name, on_conflict="ignore")


def notes_of(path: str, name: str) -> Path:
    return Path(f"{path}.{name}.notes")


class Notes(AbstractContextManager["Notes"]):
    """What a writer notes: the state before an operation begins (`plan`), and after it has returned (`done`)."""

    def __init__(self, path: str, name: str) -> None:
        self._file = notes_of(path, name).open("a")
        self.done({}, [])

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def plan(self, state: State, purged: list[str]) -> None:
        self._write({"state": state, "purged": purged})

    def done(self, state: State, purged: list[str]) -> None:
        """From this moment until the next operation begins, the store stands like this."""
        at = time.time()
        self._write({"state": state, "purged": purged, "at": at})
        while time.time() <= at:
            pass  # the next operation must not have the same time

    def _write(self, note: Mapping[str, object]) -> None:
        self._file.write(json.dumps(note) + "\n")
        self._file.flush()


# Writers


def write_with_notes(path: str, name: str, seed: int, seconds: float, rounds: int) -> int:
    """Returns how many operations it did."""
    random, spell = Random(seed), Spell(seconds, rounds)
    state: State = {}
    before: State | None = None  # the last operation, where it can be undone
    with opened(path, name) as store, Notes(path, name) as notes:
        for _ in spell:
            operation = next_operation(state, before, random)
            after, purged = changed(operation, state, before, random)
            notes.plan(after, purged)
            perform(store, name, operation, state, after)
            notes.done(after, purged)
            before = None if operation in ("purge", "undo") else state
            state = after
    return spell.done


def next_operation(state: State, before: State | None, random: Random) -> str:
    live = [id for id, each in state.items() if each[1] != TRASHED]
    if len(state) > MOST:
        return "purge"
    possible = [name for name in OPERATIONS if live or name in ("remember", "remember_many", "undo")]
    return random.choice([name for name in possible if name != "undo" or before is not None])


def changed(operation: str, state: State, before: State | None, random: Random) -> tuple[State, list[str]]:
    """The state after the operation, and what it removes for good."""
    live = sorted(id for id, each in state.items() if each[1] != TRASHED)
    after = dict(state)
    if operation == "undo":
        return before or {}, []
    if operation in ("remember", "remember_many"):
        new = [new_id(random) for _ in range(1 if operation == "remember" else SEVERAL)]
        return after | {id: (written(id, random), "short_term", ()) for id in new}, []
    if operation == "purge":
        gone = random.sample(sorted(state), min(SEVERAL, len(state)))
        return {id: each for id, each in after.items() if id not in gone}, gone
    id = random.choice(live)
    text, status, tags = after[id]
    after[id] = {
        "edit": (f"{written(id, random)} revision {random.getrandbits(32)}", status, tags),
        "tag": (text, status, (*tags, f"t{random.getrandbits(32)}")),
        "forget": (text, TRASHED, tags),
    }[operation]
    return after, []


def perform(store: MemoryStore, name: str, operation: str, state: State, after: State) -> None:
    different = [id for id in after if after[id] != state.get(id)]
    if operation == "undo":
        store.undo(store.journal(actor=name, limit=1)[0])
    elif operation == "purge":
        store.purge(*(id for id in state if id not in after))
    elif operation in ("remember", "remember_many"):
        store.remember_many([{"id": id, "text": after[id][0], "session": name} for id in different])
    elif operation == "edit":
        store.edit(different[0], text=after[different[0]][0])
    elif operation == "tag":
        store.tag(*different, add=after[different[0]][2][-1:])
    else:
        store.forget(*different)


def import_with_notes(path: str, name: str, seed: int, seconds: float, rounds: int) -> int:
    """Imports an archive and takes that back, again and again."""
    random, spell = Random(seed), Spell(seconds, rounds)
    state = {id: (written(id, random), "short_term", ()) for id in (new_id(random) for _ in range(IMPORTED))}
    archive = Path(f"{path}.{name}.nacre")
    with MemoryStore(":memory:", embedder=EMBEDDER) as source:
        source.remember_many([{"id": id, "text": each[0], "session": name} for id, each in state.items()])
        export_archive(source, archive)
    with opened(path, name) as store, Notes(path, name) as notes:
        for _ in spell:
            notes.plan(state, [])
            import_archive(store, archive)
            notes.done(state, [])
            notes.plan({}, [])
            store.undo(store.journal(operation="import", limit=1)[0])
            notes.done({}, [])
    return spell.done


def maintain(path: str, name: str, seconds: float, rounds: int) -> int:
    """What maintenance does beside all that, except what would change a memory."""
    spell = Spell(seconds, rounds)
    with opened(path, name) as store:
        for number in spell:
            compress_old(store, 0)
            DecayEngine(store).plan()
            store.catch_up()
            store.backup(f"{path}.copy-{number}.db").unlink()
            faults = store.health().problems
            assert faults == (), faults  # pytest does not explain what another process asserts
    return spell.done


# Readers


@dataclass(slots=True)
class Known:
    """What a reader has read of a writer's notes. `moments` are the states that the store had at a time, `planned` the
    last state that may be there by now."""

    file: Path
    moments: list[tuple[float, State]] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    purged: set[str] = field(default_factory=set)
    being_purged: set[str] = field(default_factory=set)
    _read: int = 0

    def refresh(self) -> None:
        if not self.file.exists():
            return
        with self.file.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self._read += len(line)
                self._note(json.loads(line))

    def _note(self, note: Mapping[str, object]) -> None:
        state = {id: (text, status, tuple(tags)) for id, (text, status, tags) in note["state"].items()}  # type: ignore[attr-defined]
        purged = set(note["purged"])  # type: ignore[call-overload]
        self.being_purged |= purged
        self.states.append(state)
        if "at" in note:
            self.purged |= purged
            self.moments.append((float(str(note["at"])), state))


def read_and_check(path: str, names: list[str], seed: int, seconds: float, rounds: int) -> list[str]:
    """Every wrong answer, in words."""
    random, wrong, spell = Random(seed), list[str](), Spell(seconds, rounds)
    known = {name: Known(notes_of(path, name)) for name in names}
    with opened(path, "reader") as store:
        for _ in spell:
            name = random.choice(names)
            while not known[name].moments:  # a writer that has not begun yet
                known[name].refresh()
            known[name].refresh()
            wrong += past_errors(store, name, known[name], random)
            wrong += present_errors(store, name, known[name], random)
            if wrong:
                break
    return wrong


def past_errors(store: MemoryStore, name: str, known: Known, random: Random) -> Iterator[str]:
    at, state = random.choice(known.moments[-50:] if random.random() < 0.5 else known.moments)
    gone = set(known.purged)
    scope: Scope = {**EVERYTHING, "session": name, "as_of": at}
    listed = store.list_recent(2 * IMPORTED, **scope)
    count = store.count(session=name, as_of=at)
    known.refresh()
    sure = {id: each for id, each in state.items() if id not in known.being_purged}
    possible = {id: each for id, each in state.items() if id not in gone}
    answer = {each.id: (each.text, each.status, each.tags) for each in listed}
    if len(answer) != len(listed):
        yield f"{name} as of {at}: the list names a memory twice"
    yield from (f"{name} as of {at}: {id} is missing" for id in sure if id not in answer)
    for id, each in answer.items():
        if possible.get(id) != each:
            yield f"{name} as of {at}: the list has {id} as {each}, and it was {possible.get(id)}"
    live = sum(each[1] != TRASHED for each in sure.values()), sum(each[1] != TRASHED for each in possible.values())
    if not live[0] <= count <= live[1]:
        yield f"{name} as of {at}: {count} are counted, and {live} were live"
    yield from past_recall_errors(store, name, at, sure, random)


def past_recall_errors(store: MemoryStore, name: str, at: float, sure: State, random: Random) -> Iterator[str]:
    live = sorted(id for id, each in sure.items() if each[1] != TRASHED)
    if live:
        id = random.choice(live)
        best = [hit.memory for hit in store.recall(token(id), 1, as_of=at, session=name)]
        if [(each.id, each.text) for each in best] != [(id, sure[id][0])] and not was_purged(store, id):
            yield f"{name} as of {at}: {id} is not recalled as {sure[id][0]!r}, but {[each.text for each in best]}"


def was_purged(store: MemoryStore, id: str) -> bool:
    """While the question was asked."""
    return any(entry.operation.name == "purge" for entry in store.journal(id, limit=1))


def present_errors(store: MemoryStore, name: str, known: Known, random: Random) -> Iterator[str]:
    """The answer holds for some state between the last that was noted before and the last planned after."""
    first = len(known.states) - 1
    asked = known.moments[-1][1]
    if not asked:
        return
    id = random.choice(sorted(asked))
    hits = [hit.memory for hit in store.recall(token(id), 3, session=name, touch=random.random() < 0.5)]
    known.refresh()
    possible = known.states[max(0, first - 1) :]
    for hit in hits:
        if not any(state.get(hit.id, ("", TRASHED))[:2] == (hit.text, hit.status) for state in possible):
            yield f"{name}: {hit.id} is recalled as {hit.text!r} ({hit.status}), which it was in no possible state"
    always = all(id in state and state[id][1] != TRASHED for state in possible)
    if always and id not in [hit.id for hit in hits]:
        yield f"{name}: {id} is live and not recalled"
