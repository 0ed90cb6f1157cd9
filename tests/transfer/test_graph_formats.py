"""Graphs for other programs: each format must be read back by a parser of its own, whatever the memories say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.model import Edge, Graph, Memory
from nacre.transfer.graph_formats import LONGEST_LABEL, dot, graphml, html, mermaid

NASTY = 'a "quoted" [bracket] {brace} (round) <b>&amp;</b> | pipe ; semi # hash `tick` \\ back\nnew line </script>'
XML = "{http://graphml.graphdrawing.org/xmlns}"
# Any text at all: quotes, brackets, line ends, controls, other scripts.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def graph(*edges: Edge, texts: dict[str, str] | None = None) -> Graph:
    names = dict.fromkeys([*(texts or {}), *(id for edge in edges for id in edge[:2])])
    return Graph({id: Memory(id, (texts or {}).get(id, f"text of {id}")) for id in names}, edges)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    ids = draw(st.lists(TEXTS.filter(lambda text: text.isprintable()), min_size=1, max_size=5, unique=True))
    ties = st.builds(Edge, st.sampled_from(ids), st.sampled_from(ids), TEXTS, st.floats(0, 1))
    edges = draw(st.lists(ties, max_size=6))
    return graph(*edges, texts={id: draw(TEXTS) for id in ids})


# --- Graphviz -------------------------------------------------------------------------------------------------------
STRING = r'"((?:[^"\\\n]|\\.)*)"'
DOT_LINE = re.compile(rf"  {STRING}(?: -> {STRING})? \[label={STRING}\];")


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def read_dot(text: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    lines = text.split("\n")
    assert lines[:2] == ["digraph nacre {", "  node [shape=box];"] and lines[-1] == "}"
    nodes, ties = {}, []
    for line in lines[2:-1]:
        found = DOT_LINE.fullmatch(line)
        assert found, line
        source, target, label = (None if part is None else unquoted(part) for part in found.groups())
        if target is None:
            nodes[str(source)] = str(label)
        else:
            ties.append((str(source), target, str(label)))
    return nodes, ties


def test_dot_names_every_node_and_tie_in_quotes() -> None:
    lines = dot(graph(Edge('a"', "b\\", "related"))).split("\n")
    assert '  "a\\"" [label="text of a\\""];' in lines
    assert '  "a\\"" -> "b\\\\" [label="related"];' in lines


@pytest.mark.slow
@given(graphs())
def test_dot_is_read_back_whatever_the_texts_say(drawn: Graph) -> None:
    nodes, ties = read_dot(dot(drawn))
    assert list(nodes) == list(drawn.nodes)
    assert [tie[:2] for tie in ties] == [edge[:2] for edge in drawn.edges]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it() -> None:
    drawn = dot(graph(Edge("a", "b", NASTY), texts={"a": NASTY, "b": "b"}))
    subprocess.run(["dot", "-Tsvg"], input=drawn.encode(), capture_output=True, check=True, timeout=60)


def test_a_label_tells_the_title_and_the_standing_and_is_cut() -> None:
    old = Memory("a", "x" * 200, title="rope", superseded_by="b")
    (label,) = read_dot(dot(Graph({"a": old})))[0].values()
    assert label.startswith("rope: xxx") and label.endswith("… (superseded)")
    assert len(label.removesuffix(" (superseded)")) == LONGEST_LABEL


# --- Mermaid --------------------------------------------------------------------------------------------------------
LABEL = r'"((?:[^"\[\](){}<>|;`\\\n#]|#\d+;)*)"'
MERMAID_LINE = re.compile(rf"  (n\d+)(?:\[{LABEL}\]| -->\|{LABEL}\| (n\d+))")


def read_mermaid(text: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    first, *lines = text.split("\n")
    assert first == "flowchart LR"
    nodes, ties = {}, []
    for line in lines:
        found = MERMAID_LINE.fullmatch(line)
        assert found, line
        name, label, rel, target = found.groups()
        if target is None:
            nodes[name] = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label)
        else:
            ties.append((name, target, re.sub(r"#(\d+);", lambda code: chr(int(code[1])), rel)))
    return nodes, ties


def test_mermaid_keeps_quotes_brackets_and_line_ends_inside_of_labels() -> None:
    nodes, ties = read_mermaid(mermaid(graph(Edge("a", "b", 'is "not"'), texts={"a": NASTY, "b": "end"})))
    assert nodes["n0"].startswith('a "quoted" [bracket] {brace} (round) <b>') and "\n" not in nodes["n0"]
    assert ties == [("n0", "n1", 'is "not"')]


@given(graphs())
def test_mermaid_is_read_back_whatever_the_texts_say(drawn: Graph) -> None:
    nodes, ties = read_mermaid(mermaid(drawn))
    assert len(nodes) == len(drawn.nodes) and len(ties) == len(drawn.edges)


# --- GraphML --------------------------------------------------------------------------------------------------------
def read_graphml(text: str) -> tuple[dict[str, dict[str, str]], list[dict[str, str]]]:
    root = ElementTree.fromstring(text.encode())
    keys = {key.attrib["id"]: key.attrib["attr.name"] for key in root.iter(f"{XML}key")}

    def told(element: ElementTree.Element) -> dict[str, str]:
        return {keys[data.attrib["key"]]: data.text or "" for data in element.iter(f"{XML}data")}

    nodes = {node.attrib["id"]: told(node) for node in root.iter(f"{XML}node")}
    return nodes, [{**edge.attrib, **told(edge)} for edge in root.iter(f"{XML}edge")]


def test_graphml_carries_text_type_weight_and_relation() -> None:
    drawn = Graph(
        {"a": Memory("a", NASTY, type="episodic", tags=("x", "y")), "b": Memory("b", "b\r\nc", title="t")},
        (Edge("a", "b", "similar_to", 0.25),),
    )
    nodes, edges = read_graphml(graphml(drawn))
    assert (nodes["a"]["text"], nodes["a"]["type"], nodes["a"]["tags"]) == (NASTY, "episodic", "x, y")
    assert (nodes["b"]["text"], nodes["b"]["title"]) == ("b\r\nc", "t")
    assert edges == [{"source": "a", "target": "b", "rel": "similar_to", "weight": "0.25"}]


@given(graphs())
def test_graphml_is_read_back_whatever_the_texts_say(drawn: Graph) -> None:
    nodes, edges = read_graphml(graphml(drawn))
    assert list(nodes) == list(drawn.nodes)
    assert [(e["source"], e["target"], float(e["weight"])) for e in edges] == [
        (e.source, e.target, e.weight) for e in drawn.edges
    ]


# --- the page -------------------------------------------------------------------------------------------------------
class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.script = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.script += data

    def data(self) -> Any:
        found = re.search(r"^const graph = (.*);$", self.script, re.MULTILINE)
        assert found
        return json.loads(found.group(1))


def test_the_page_holds_every_memory_and_a_text_cannot_end_its_script() -> None:
    plain = Page(html(graph(Edge("a", "b", "related"))))
    page = Page(html(graph(Edge("a", "b", "</script><img src=x>"), texts={"a": NASTY, "b": "<!-- <script>"})))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert page.data()["nodes"][0]["text"] == NASTY
    assert page.data()["edges"] == [["a", "b", "</script><img src=x>", 1.0]]


@given(graphs())
def test_the_page_is_read_back_whatever_the_texts_say(drawn: Graph) -> None:
    page = html(drawn)
    assert page.isascii()
    assert [node["id"] for node in Page(page).data()["nodes"]] == list(drawn.nodes)


def test_the_page_needs_no_network() -> None:
    page = Page(html(graph(Edge("a", "b", "related"))))
    assert not [attrs for _, attrs in page.tags if {"src", "href"} & attrs.keys()]
    (policy,) = [attrs["content"] for _, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'")


def test_the_page_is_readable_in_light_and_dark() -> None:
    assert "prefers-color-scheme: dark" in html(graph())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no JavaScript here")
def test_two_hundred_memories_are_laid_out_apart(tmp_path: Path) -> None:
    ties = [Edge(f"m{n // 3}", f"m{n}", "related") for n in range(1, 200)]
    asked = """
      const { nodes, ties } = linked(graph), step = layout(nodes, ties);
      let steps = 0;
      while (step()) steps++;
      console.log(JSON.stringify({ steps, places: nodes.map((node) => [node.x, node.y]) }));
    """
    script = tmp_path / "page.js"
    script.write_text(Page(html(graph(*ties))).script + asked, encoding="utf-8")
    said = subprocess.run(["node", str(script)], capture_output=True, text=True, check=True, timeout=120).stdout
    found = json.loads(said)
    places = found["places"]
    assert len(places) == 200 and 50 < found["steps"] < 2000
    close = sum(abs(x - p) + abs(y - q) < 4 for i, (x, y) in enumerate(places) for p, q in places[:i])
    assert close == 0
