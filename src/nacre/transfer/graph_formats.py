"""Renders a graph of memories as Graphviz, GraphML, Mermaid, or a self-contained HTML page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from xml.sax.saxutils import escape, quoteattr

from nacre.model import Edge, Graph, Memory
from nacre.model.instants import iso
from nacre.model.memory import TRASHED

LONGEST_LABEL = 60  # characters of a text in a drawing; GraphML and the page have the full text
LONGEST_TEXT = 4_000  # in the page, for each memory
PAGE, DATA = "graph_page.html", "/*GRAPH*/null"
# Terminal controls, marks that change the writing direction, and characters that XML does not allow.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
MERMAID_ENTITY = re.compile(r"""["'`#&<>\[\](){}|;\\]""")
GRAPHML_NODE = {"label": "string", "text": "string", "title": "string", "type": "string", "tags": "string",
                "state": "string", "created_at": "string", "importance": "double", "confidence": "double"}  # fmt: skip
GRAPHML_EDGE = {"rel": "string", "weight": "double"}


def dot(graph: Graph) -> str:
    """For Graphviz."""
    nodes = [f"  {quoted(id)} [label={quoted(label(memory))}];" for id, memory in graph.nodes.items()]
    edges = [f"  {quoted(e.source)} -> {quoted(e.target)} [label={quoted(e.rel)}];" for e in graph.edges]
    return "\n".join(["digraph nacre {", "  node [shape=box];", *nodes, *edges, "}"])


def mermaid(graph: Graph) -> str:
    """For Markdown. Nodes are numbered, because Mermaid allows few characters in an id."""
    names = {id: f"n{place}" for place, id in enumerate(graph.nodes)}
    nodes = [f'  {names[id]}["{in_mermaid(label(memory))}"]' for id, memory in graph.nodes.items()]
    edges = [f'  {names[e.source]} -->|"{in_mermaid(one_line(e.rel))}"| {names[e.target]}' for e in graph.edges]
    return "\n".join(["flowchart LR", *nodes, *edges])


def graphml(graph: Graph) -> str:
    """For Gephi, yEd, Cytoscape and NetworkX, with the full texts."""
    return "\n".join([
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(key("node", name, kind) for name, kind in GRAPHML_NODE.items()),
        *(key("edge", name, kind) for name, kind in GRAPHML_EDGE.items()),
        '  <graph id="nacre" edgedefault="directed">',
        *(line for id, memory in graph.nodes.items() for line in graphml_node(id, memory)),
        *(line for edge in graph.edges for line in graphml_edge(edge)),
        "  </graph>",
        "</graphml>",
    ])  # fmt: skip


def html(graph: Graph) -> str:
    """One file that any browser can show, zoom and search; plain ASCII."""
    page = files(__package__).joinpath(PAGE).read_text(encoding="utf-8")
    contents = {
        "nodes": [page_node(id, memory) for id, memory in graph.nodes.items()],
        "edges": [[edge.source, edge.target, edge.rel, edge.weight] for edge in graph.edges],
    }
    text = json.dumps(contents)
    for sign in "<>&":  # `</script>` in a memory must not end the script
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return page.replace(DATA, text)


def label(memory: Memory) -> str:
    line = one_line(f"{memory.title}: {memory.text}" if memory.title else memory.text)
    short = line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"
    return f"{short} ({state(memory)})" if state(memory) else short


def state(memory: Memory) -> str:
    return "trashed" if memory.status == TRASHED else "superseded" if memory.superseded_by else ""


def one_line(text: str) -> str:
    return " ".join(UNPRINTABLE.sub("", text).split())


def quoted(text: str) -> str:
    line = UNPRINTABLE.sub("", text).replace("\r", " ").replace("\n", " ")
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def in_mermaid(text: str) -> str:
    """Escapes whatever could end a label, begin markup or be read as an instruction."""
    return MERMAID_ENTITY.sub(lambda match: f"#{ord(match.group())};", text)


def key(of: str, name: str, kind: str) -> str:
    return f'  <key id="{of}_{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>'


def graphml_node(id: str, memory: Memory) -> Iterator[str]:
    values: dict[str, object] = {
        "label": label(memory), "text": memory.text, "title": memory.title, "type": memory.type,
        "tags": ", ".join(memory.tags), "state": state(memory), "created_at": iso(memory.created_at),
        "importance": memory.importance, "confidence": memory.confidence,
    }  # fmt: skip
    yield f"    <node id={attribute(id)}>"
    yield from (data("node", name, value) for name, value in values.items() if value != "")
    yield "    </node>"


def graphml_edge(edge: Edge) -> Iterator[str]:
    yield f"    <edge source={attribute(edge.source)} target={attribute(edge.target)}>"
    yield data("edge", "rel", edge.rel)
    yield data("edge", "weight", edge.weight)
    yield "    </edge>"


def data(of: str, name: str, value: object) -> str:
    # A carriage return would be read back as a line end.
    return f'      <data key="{of}_{name}">{escape(UNPRINTABLE.sub("", str(value)), {chr(13): "&#13;"})}</data>'


def attribute(text: str) -> str:
    return quoteattr(UNPRINTABLE.sub("", text))


def page_node(id: str, memory: Memory) -> dict[str, object]:
    cut = memory.text if len(memory.text) <= LONGEST_TEXT else memory.text[: LONGEST_TEXT - 1] + "…"
    return {
        "id": id, "label": label(memory), "text": UNPRINTABLE.sub("", cut), "type": memory.type,
        "tags": list(memory.tags), "state": state(memory),
        "created": iso(memory.created_at) if memory.created_at else "",
    }  # fmt: skip
