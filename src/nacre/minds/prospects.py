"""Prospective memory: what to do once something comes up; an intention waits, is triggered, and is resolved."""

from __future__ import annotations

from dataclasses import replace

from nacre.engine.engine import Composed
from nacre.errors import InvalidInput
from nacre.minds.acting import Acting
from nacre.minds.numbering import ALL, begins
from nacre.minds.records import (
    ACTION,
    PENDING,
    PRIORITY,
    RESOLVED,
    STATE,
    TRIGGER,
    TRIGGERED,
    ProspectiveMemory,
    priority,
    word,
)
from nacre.model import Filter, Memory
from nacre.remember.validate import memory_text, storable_text
from nacre.text.tokens import STOP_WORDS, words

PROSPECTIVE, PREFIX = "prospective", "pro_"
OURS = begins(PREFIX)
WAITING = OURS & Filter.where(metadata__state=PENDING)


class Prospects(Acting):
    def store_prospective(
        self, description: str, trigger_condition: str, action_on_trigger: str, priority: int = 1
    ) -> str:
        trigger, action = (
            memory_text("trigger_condition", trigger_condition),
            memory_text("action_on_trigger", action_on_trigger),
        )
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise InvalidInput(f"priority is {priority!r}; give a whole number, the higher the sooner.")
        draft = self.store.draft(
            description,
            id_prefix=PREFIX,
            type=PROSPECTIVE,
            metadata={TRIGGER: trigger, ACTION: action, STATE: PENDING, PRIORITY: priority},
        )
        # Of the trigger as it is kept: what was a secret in it must not come back word by word.
        waiting = replace(draft, contexts=tuple(signs(word(draft, TRIGGER))))
        self._act("store_prospective", [waiting], lambda: Composed(new=[waiting]))
        return draft.id

    def check_triggers(self, content: str) -> list[ProspectiveMemory]:
        """The waiting intentions of which a trigger word occurs in the content, as a whole word; the most urgent
        first. All of them are triggered from now on, in one act.

        Common words such as "the" trigger nothing, unless a trigger has no others.
        """
        said = dict.fromkeys(words(storable_text("content", content)))
        if not said:
            return []

        def decide() -> Composed:
            due = self.store.list_recent(ALL, where=WAITING & Filter.where(contexts__any=tuple(said)))
            return Composed(edits={memory.id: triggered for memory in due})

        done = sorted(self._act("trigger", [], decide), key=most_urgent)
        return [ProspectiveMemory.of(memory) for memory in done]

    def resolve_prospective(self, node_id: str) -> bool:
        """False when there is no such intention, or it was resolved already."""

        def decide() -> Composed | None:
            memory = self.store.get(node_id)
            if memory is None or memory.type != PROSPECTIVE or memory.status == "trashed":
                return None
            return Composed(edits={node_id: resolved})

        return bool(self._act("resolve", [], decide))

    def get_prospective(self, status: str = PENDING, limit: int = 20) -> list[ProspectiveMemory]:
        """Of this state, the most urgent of the newest first."""
        found = self.store.list_recent(limit, where=OURS & Filter.where(metadata__state=status))
        return [ProspectiveMemory.of(memory) for memory in sorted(found, key=most_urgent)]


def signs(trigger: str) -> list[str]:
    """The words that set it off, each as a context of the memory, where the store's own filter finds them."""
    told = words(trigger)
    wanted = [each for each in told if each not in STOP_WORDS] or told
    return list(dict.fromkeys(wanted))


def triggered(memory: Memory) -> Memory:
    return moved(memory, TRIGGERED)


def resolved(memory: Memory) -> Memory:
    return moved(memory, RESOLVED)


def moved(memory: Memory, state: str) -> Memory:
    return memory if word(memory, STATE) == state else replace(memory, metadata={**memory.metadata, STATE: state})


def most_urgent(memory: Memory) -> tuple[int, float]:
    return -priority(memory), memory.created_at
