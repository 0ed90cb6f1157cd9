"""Acts that follow from a seed, and the plain model that says how a store stands after each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import cast
from uuid import UUID

from nacre import Memory, MemoryStore
from nacre.engine.supersede import PURGED
from nacre.model.journal import JournalEntry
from nacre.model.memory import CONFLICTS

WORDS = (
    "anchor barley cobalt dynamo ember falcon granite harbour indigo juniper kestrel lantern meadow nickel orchard"
    " pepper quarry raven saddle timber umbrella velvet walnut yonder zephyr"
).split()
LARGEST_BATCH = 40  # below the store's own batch: one call, one transaction
NAMES = ("remember", "remember", "remember_many", "edit", "edit", "supersede", "forget", "purge")
NEEDED = {"edit": 1, "supersede": 2, "forget": 3, "purge": 3}  # live memories that an operation must find
SEVERAL = 3
UNDONE = 0.15  # of the acts that can be


@dataclass(frozen=True, slots=True)
class Step:
    """`texts` stand beside `ids` where the act writes texts."""

    name: str
    ids: tuple[str, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    text: str
    status: str = "short_term"
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Every memory as it stands, and every act of the journal with the memories that it names, oldest first."""

    memories: Mapping[str, Standing]
    journal: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def live(self) -> list[str]:
        return [id for id, each in self.memories.items() if each.status != "trashed" and not each.superseded_by]


def token(id: str) -> str:
    """One word that only this memory's text holds."""
    return "zq" + id.replace("-", "")[:14]  # longer, it would look like a secret


def written(id: str, random: Random) -> str:
    return f"{token(id)} {' '.join(random.sample(WORDS, 6))}"


def steps(state: State, random: Random) -> Iterator[tuple[Step, State]]:
    """Endless: the next act, and how the store must stand once it is done. Now and then the last one is undone."""
    before: State | None = None
    while True:
        if before is not None and random.random() < UNDONE:
            ids = state.journal[-1][1]
            step, state = Step("undo", ids), State(before.memories, (*state.journal, ("undo", ids[::-1])))
            before = None
        else:
            step = next_step(state, random)
            before = None if step.name == "purge" else state
            state = after(state, step)
        yield step, state


def next_step(state: State, random: Random) -> Step:
    live = sorted(state.live())
    name = random.choice([name for name in NAMES if len(live) >= NEEDED.get(name, 0)])
    if name in ("remember", "remember_many"):
        ids = tuple(new_id(random) for _ in range(1 if name == "remember" else random.randint(2, LARGEST_BATCH)))
        return Step(name, ids, tuple(written(id, random) for id in ids))
    if name == "edit":
        id = random.choice(live)
        return Step(name, (id,), (written(id, random) + f" revision {random.getrandbits(32)}",))
    return Step(name, tuple(random.sample(live, 2 if name == "supersede" else random.randint(1, SEVERAL))))


def new_id(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128)))


def after(state: State, step: Step) -> State:
    memories = dict(state.memories)
    if step.name in ("remember", "remember_many"):
        memories |= {id: Standing(text) for id, text in zip(step.ids, step.texts, strict=True)}
    elif step.name == "edit":
        memories[step.ids[0]] = replace(memories[step.ids[0]], text=step.texts[0])
    elif step.name == "supersede":
        old, new = step.ids
        memories[old] = replace(memories[old], superseded_by=new)
        memories[new] = replace(memories[new], supersedes=(*memories[new].supersedes, old))
    elif step.name == "forget":
        memories |= {id: replace(memories[id], status="trashed") for id in step.ids}
    else:
        memories = {id: without_successor(each, step.ids) for id, each in memories.items() if id not in step.ids}
    told = "remember" if step.name == "remember_many" else step.name
    return State(memories, (*state.journal, (told, named(state, step))))


def without_successor(standing: Standing, purged: tuple[str, ...]) -> Standing:
    """Only live memories are purged here: what they had superseded stays hidden."""
    return replace(standing, superseded_by=PURGED) if standing.superseded_by in purged else standing


def named(state: State, step: Step) -> tuple[str, ...]:
    """A purge names first the memories whose successor it removes."""
    if step.name != "purge":
        return step.ids
    return (*(id for gone in step.ids for id, each in state.memories.items() if each.superseded_by == gone), *step.ids)


def perform(store: MemoryStore, step: Step) -> None:
    if step.name == "remember":
        # A noted conflict would be a link that the model does not know, and that a purge removes.
        store.remember(step.texts[0], id=step.ids[0], on_conflict="ignore")
    elif step.name == "remember_many":
        store.remember_many([{"id": id, "text": text} for id, text in zip(step.ids, step.texts, strict=True)])
    elif step.name == "edit":
        store.edit(step.ids[0], text=step.texts[0])
    elif step.name == "supersede":
        store.supersede(*step.ids)
    elif step.name == "forget":
        store.forget(*step.ids)
    elif step.name == "undo":
        store.undo()
    else:
        store.purge(*step.ids)


def superseded_ids(memory: Memory) -> tuple[str, ...]:
    return tuple(link.to for link in memory.links if link.rel == "supersedes")


def observed(store: MemoryStore) -> State:
    """As the file tells it; a store that nobody writes to now is compared with the model so."""
    everything = store.iterate(include_trashed=True, include_superseded=True)
    memories = {
        each.id: Standing(each.text, each.status, each.superseded_by, superseded_ids(each)) for each in everything
    }
    told: dict[str, tuple[str, tuple[str, ...]]] = {}
    for entry in reversed(store.journal(limit=None)):
        ids = told[entry.operation.batch][1] if entry.operation.batch in told else ()
        if drops_notes_alone(entry) or (ids and is_purged_edit(entry)):
            continue
        told[entry.operation.batch] = (entry.operation.name, (*ids, entry.memory_id))
    return State(memories, tuple(told.values()))


def is_purged_edit(entry: JournalEntry) -> bool:
    """Of an edit, an entry that a purge has emptied. Only the first names what was edited; another told of a note."""
    return entry.operation.name == "edit" and entry.before is None and entry.after is None


def drops_notes_alone(entry: JournalEntry) -> bool:
    """An edit also takes back what other memories note of the text before; the model knows of no conflicts."""
    images = [image for image in (entry.before, entry.after) if image is not None]
    fields = {name for image in images for name in image} - {"updated_at"}
    links = [link for image in images for link in cast("list[dict[str, str]]", image.get("links", []))]
    return len(images) == 2 and fields == {"links"} and all(link["rel"] == CONFLICTS for link in links)
