"""nacre graph in the languages of other programs"""

from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest

from tests.command_line import CommandLine

XML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture
def tied(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", 'Söder said "no" [twice] </script>', "--id", "quote-memory")
    nacre.ok("remember", "Postgres keeps orders", "--id", "pg-memory")
    nacre.ok("link", "quote", "pg", "--rel", "depends_on", "--weight", "0.5")
    return nacre


def test_mermaid_is_printed_for_markdown(tied: CommandLine) -> None:
    assert tied.ok("graph", "pg", "--format", "mermaid").split("\n") == [
        "flowchart LR",
        '  n0["Postgres keeps orders"]',
        '  n1["Söder said #34;no#34; #91;twice#93; #60;/script#62;"]',
        '  n1 -->|"depends_on"| n0',
    ]


def test_graphml_is_xml_with_texts_and_weights(tied: CommandLine) -> None:
    root = ElementTree.fromstring(tied.ok("graph", "pg", "-f", "graphml").encode())
    texts = {data.text for data in root.iter(f"{XML}data")}
    assert {'Söder said "no" [twice] </script>', "Postgres keeps orders", "depends_on", "0.5"} <= texts


def test_graphml_is_true_to_its_encoding_on_any_stream(tied: CommandLine) -> None:
    printed = tied.process("graph", "pg", "-f", "graphml", env={**os.environ, "PYTHONIOENCODING": "latin-1"}).stdout
    assert printed.isascii() and "S&#246;der" in printed
    ElementTree.fromstring(printed.encode())


def test_html_is_one_whole_page(tied: CommandLine) -> None:
    page = tied.ok("graph", "-f", "html")
    assert page.startswith("<!doctype html>") and page.endswith("</html>")
    assert page.count("</script>") == 1 and "quote-memory" in page


def test_a_page_of_nothing_is_still_a_page(nacre: CommandLine) -> None:
    assert '{"nodes": [], "edges": []}' in nacre.ok("graph", "-f", "html")


def test_an_unknown_format_names_those_that_there_are(nacre: CommandLine) -> None:
    result = nacre("graph", "-f", "svg")
    assert result.exit_code == 2
    assert all(form in result.output for form in ("ascii", "dot", "mermaid", "graphml", "html", "json"))
