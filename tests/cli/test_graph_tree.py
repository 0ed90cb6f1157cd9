"""Trees of memories."""

from __future__ import annotations

from nacre.cli.commands.links import tree
from nacre.model import Edge, Graph, Memory


def graph(*edges: Edge, ids: str = "") -> Graph:
    names = dict.fromkeys([*ids, *(id for edge in edges for id in edge[:2])])
    return Graph({id: Memory(id, f"text of {id}") for id in names}, edges)


def test_every_link_and_every_memory_is_drawn_once() -> None:
    triangle = graph(Edge("a", "b", "related"), Edge("b", "c", "causes"), Edge("a", "c", "mentions"))
    assert list(tree(triangle, ["a"])) == [
        "a text of a",
        "├─ related → b text of b",
        "│  └─ causes → c text of c",
        "└─ mentions → c (above)",
    ]


def test_two_links_of_one_pair_are_two_branches_and_the_stronger_comes_first() -> None:
    twice = graph(Edge("a", "b", "related", 0.2), Edge("b", "a", "causes", 0.9))
    assert list(tree(twice, ["a"])) == ["a text of a", "├─ causes ← b text of b", "└─ related → b (above)"]


def test_a_memory_without_a_link_to_the_seeds_is_drawn_by_itself() -> None:
    assert list(tree(graph(ids="ab"), ["b"])) == ["b text of b", "a text of a"]


def test_plain_strokes_are_ascii() -> None:
    lines = "\n".join(tree(graph(Edge("a", "b", "related"), Edge("c", "a", "related")), ["a"], plain=True))
    assert lines.isascii()
    assert lines.splitlines()[1:] == ["|- related -> b text of b", "`- related <- c text of c"]


def test_a_chain_longer_than_a_call_stack_is_drawn() -> None:
    chain = graph(*(Edge(f"m{n}", f"m{n + 1}", "related") for n in range(2000)))
    assert len(list(tree(chain, ["m0"]))) == 2001
