"""A LangGraph graph that remembers between its runs, without a model: python examples/langgraph_store.py"""

from __future__ import annotations

from typing import TypedDict

from langgraph.config import get_store
from langgraph.graph import START, StateGraph

from nacre.integrations.langgraph import NacreStore


class State(TypedDict):
    said: str
    known: list[str]


def listen(state: State) -> dict[str, list[str]]:
    store = get_store()
    known = store.search(("users", "ann"), query=state["said"], limit=3)
    store.put(("users", "ann"), state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in known]}


def main(path: str = "agent.db") -> None:
    store = NacreStore.open(path)  # or NacreStore(MemoryStore(…)): the memory of your other tools
    graph = StateGraph(State).add_node("listen", listen).add_edge(START, "listen").compile(store=store)
    graph.invoke({"said": "My sister Eva lives in Ghent.", "known": []})
    print(graph.invoke({"said": "Where does Eva live?", "known": []})["known"])
    store.store.close()


if __name__ == "__main__":
    main()
