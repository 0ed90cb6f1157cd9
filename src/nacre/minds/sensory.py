"""Sensory memory: raw observations that are gone after a while, unless attention makes an episode of them."""

from __future__ import annotations

from dataclasses import replace

from nacre.engine.engine import Composed
from nacre.errors import InvalidInput
from nacre.minds.episodes import Episodes
from nacre.minds.numbering import ALL, HIDDEN_TOO, begins, highest, narrowed, numbered
from nacre.minds.records import MODALITY, SensoryItem, word
from nacre.model import Filter, Link, Memory
from nacre.model.journal import UNATTENDED
from nacre.remember.validate import number, required_label

SENSORY, PREFIX = "sensory", "sen_"
OURS = begins(PREFIX)
ATTENDED_TO = "attended_to"
ATTENTION = "sensory-attention"  # the source of an episode that began as an observation
LONGEST_TTL = 10 * 365 * 86_400.0  # seconds; what should last longer is no passing impression


class Sensory(Episodes):
    def record_sensory(self, modality: str, raw_data: str, ttl_seconds: float = 300) -> str:
        """Hidden from the moment that it expires, and removed by `prune_expired_sensory`."""
        lasting = number("ttl_seconds", ttl_seconds, 0, LONGEST_TTL)
        draft = self.store.draft(
            raw_data,
            id_prefix=PREFIX,
            type=SENSORY,
            metadata={MODALITY: required_label("modality", modality)},
            expires_at=self.store.now() + lasting,
        )

        def decide() -> Composed:
            return Composed(new=[numbered(draft, highest(self.store, SENSORY, OURS), self.store.now())])

        return self._act("record_sensory", [draft], decide)[0].id

    def get_recent_sensory(self, limit: int = 10) -> list[SensoryItem]:
        """What has not expired, newest first."""
        return [SensoryItem.of(memory) for memory in self.store.list_recent(limit, type=SENSORY, where=OURS)]

    def attend_to_sensory(self, sensory_id: str, reason: str) -> str | None:
        """Makes an episode of an observation and ties the two, in one act; None when there is no such observation or
        it has expired."""
        if not isinstance(reason, str):
            raise InvalidInput(f"The reason must be text, not {type(reason).__name__}; say why it matters.")
        seen = self._perceived(sensory_id)
        if seen is None:
            return None
        told = f"[{word(seen, MODALITY)}] {seen.text} -- attended: {reason}"
        episode = self._episode_draft(told, ATTENTION)

        def attended(memory: Memory) -> Memory:
            return replace(memory, links=(*memory.links, Link(episode.id, ATTENDED_TO)))

        def decide() -> Composed | None:
            if self._perceived(sensory_id) is None:
                return None
            return Composed(new=[self._next_episode(episode)], edits={sensory_id: attended})

        return episode.id if self._act("attend", [episode], decide) else None

    def prune_expired_sensory(self) -> int:
        """Removes what has expired, for good and in one act; returns how many.

        Raw data is short-lived by its nature and may be private: neither the trash nor the journal keeps it. `undo`
        passes this by, as it does what maintenance removes.
        """
        now = self.store.now()
        gone = OURS & Filter.where(expires_at__le=now)
        ids = [memory.id for memory in self.store.list_recent(ALL, **narrowed(HIDDEN_TOO, SENSORY, gone))]
        engine = self.store.acting_as(self.agent_name)
        return engine.purge(self.store.space, ids, only=gone.admits, why=UNATTENDED) if ids else 0

    def _perceived(self, id: str) -> Memory | None:
        memory = self.store.get(id)
        there = memory is not None and memory.type == SENSORY and Filter.live(self.store.now()).admits(memory)
        return memory if there else None
