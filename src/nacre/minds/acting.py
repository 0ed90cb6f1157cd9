"""Acts of a mind that must look before they write: what they look at cannot change before they have written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nacre.engine.changes import Change
from nacre.engine.engine import Composed, changes
from nacre.minds.opening import Mind
from nacre.model import Memory
from nacre.protocols import Transaction


class Acting(Mind):
    def _act(
        self, name: str, drafts: Sequence[Memory], decide: Callable[[], Composed | None], *, why: str = ""
    ) -> list[Memory]:
        """One act, decided when every other writer waits; None changes nothing. Returns what is new or has changed.

        What is embedded of the drafts is computed before: `decide` gives them back with the same words, and its edits
        leave words alone.
        """
        engine = self.store.acting_as(self.agent_name)
        derived = engine.derived(drafts)[0] if drafts else []
        done: list[Memory] = []

        def plan(transaction: Transaction) -> list[Change] | None:
            decided = decide()
            found = {} if decided is None else changes(engine, self.store.space, decided, derived, {}, transaction)
            if found is None:
                return None
            done.extend(change.subject for change in found.values())
            return list(found.values())

        engine.commit(name, plan, why)
        return done
