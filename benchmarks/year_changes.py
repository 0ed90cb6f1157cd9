"""Facts that change within the year: told once, told again with another value, and asked for at the end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model import Recollection
from year_texts import values

SOONEST, LATEST = 20, 89  # days until a fact changes
# What is told first, the question, the value, and the change: said openly, by the new value alone, in other words.
FACTS = (
    ("{firm}'s account manager for us is {who}.", "Who looks after our account at {firm}?", "{who}",
     ("{new_who} has taken over our account at {firm} from {who}.", "{firm}'s account manager for us is {new_who}.",
      "Questions about our account at {firm} go to {new_who}.")),
    ("The {topic} of {firm} runs on the host {host}.", "On which machine is {firm}'s {topic}?", "{host}",
     ("{firm}'s {topic} moved from {host} to {new_host}.", "The {topic} of {firm} runs on the host {new_host}.",
      "For the {topic} of {firm} log in to {new_host}.")),
    ("{who} has the office {number} in {place}.", "In which room does {who} sit?", "{number}",
     ("{who} now sits in room {new_number}, no longer in {number}.", "{who} has the office {new_number} in {place}.",
      "To see {who}, go to room {new_number}.")),
    ("The weekly call about the {topic} of {firm} is at {hour}:{minute}.", "When is the call on {firm}'s {topic}?",
     "{hour}:{minute}",
     ("The weekly call about the {topic} of {firm} was moved to {new_hour}:{new_minute}.",
      "The weekly call about the {topic} of {firm} is at {new_hour}:{new_minute}.",
      "We ring {firm} about the {topic} every week at {new_hour}:{new_minute}.")),
    ("Our plan for the {topic} at {firm} costs {number} euros a month.", "How much is our {topic} plan at {firm}?",
     "{number}",
     ("{firm} changed our plan for the {topic} from {number} to {new_number} euros a month.",
      "Our plan for the {topic} at {firm} costs {new_number} euros a month.",
      "Since the renewal {firm} takes {new_number} euros from us every month for the {topic}.")),
)  # fmt: skip
WAYS = ("openly", "by the value alone", "in other words")


@dataclass(frozen=True, slots=True)
class Change:
    """A fact and its change; the two memories of one fact have ids that differ in the last letter."""

    id: str
    day: int
    changed: int
    way: str
    before: str
    after: str
    question: str
    old: str
    new: str


def changes(days: int, seed: int) -> list[Change]:
    """One is told on every day on which there is time left for it to change."""
    chance, asked, made = Random(f"changes {seed}"), set[str](), list[Change]()
    for day in range(max(0, days - LATEST - 1)):
        while True:
            before, question, value, ways = chance.choice(FACTS)
            known, other = values(chance), values(chance)
            known |= {f"new_{name}": each for name, each in other.items()}
            old, new = value.format(**known), value.replace("{", "{new_").format(**known)
            if old != new and question.format(**known) not in asked:
                break
        asked.add(question.format(**known))
        way = chance.randrange(len(WAYS))
        texts = (before.format(**known), ways[way].format(**known), question.format(**known))
        changed = day + chance.randint(SOONEST, LATEST)
        made.append(Change(f"c{day}", day, changed, WAYS[way], *texts, old, new))
    return made


def remember_changes(stores: Sequence[MemoryStore], plan: Sequence[Change], day: int) -> None:
    """One by one, as people tell them: each is compared with what is known."""
    for change in plan:
        for store in stores:
            if change.day == day:
                store.remember(change.before, id=f"{change.id}a")
            if change.changed == day:
                store.remember(change.after, id=f"{change.id}b")


def settle_conflicts(store: MemoryStore, settled: dict[bool, int]) -> None:
    """As who looks through the queue would: the newer of two versions holds, anything else is no conflict. Counts both,
    by whether it was a change."""
    for item in store.review(kinds="conflict", limit=None):
        assert item.conflict is not None
        newer, older = item.conflict.a.id, item.conflict.b.id
        versions = {newer[-1], older[-1]} == {"a", "b"} and newer[:-1] == older[:-1]
        with suppress(InvalidInput):  # one of the two went with the decision before
            store.decide(item, "newer" if versions else "not_a_conflict")
            settled[versions] = settled.get(versions, 0) + 1


@dataclass(slots=True)
class FirstHits:
    """What a store says first of the facts that changed."""

    asked: int = 0
    present: int = 0
    marked: int = 0  # the outdated value, beside which the newer one is named
    as_current: int = 0  # the outdated value alone

    def add(self, change: Change, recalled: Recollection) -> None:
        self.asked += 1
        first = recalled[0] if recalled else None
        if first is None:
            return
        if change.new in first.memory.text:
            self.present += 1
        elif change.old in first.memory.text:
            named = any(each.id == f"{change.id}b" for each in first.conflicts)
            self.marked += named
            self.as_current += not named

    def __str__(self) -> str:
        shares = (100 * part / max(1, self.asked) for part in (self.present, self.marked, self.as_current))
        return " / ".join(f"{each:.1f}" for each in shares)


def first_hits(store: MemoryStore, plan: Sequence[Change], recalled: int) -> dict[str, FirstHits]:
    """By the way in which the change was told."""
    found = {way: FirstHits() for way in WAYS}
    for change in plan:
        found[change.way].add(change, store.recall(change.question, recalled, touch=False))
    return found
