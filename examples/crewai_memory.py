"""CrewAI's memory in a store, without a model: python examples/crewai_memory.py"""

from __future__ import annotations

from crewai.memory.unified_memory import Memory

from nacre import MemoryStore
from nacre.integrations.crewai import NacreStorage


def main(path: str = "agent.db") -> None:
    with MemoryStore(path, space="farm", actor="crewai") as store:
        storage = NacreStorage(store)
        # For a crew: Crew(…, memory=memory). Without scope, categories and importance, CrewAI asks its model for them.
        memory = Memory(storage=storage, embedder=storage.embed)
        memory.remember("The goats are fed at dawn.", scope="/farm", categories=["goats"], importance=0.7)
        for match in memory.recall("When are the goats fed?", depth="shallow", limit=1):
            print(match.record.content)


if __name__ == "__main__":
    main()
