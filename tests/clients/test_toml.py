"""One table of a TOML text is changed, and every other line stays."""

from __future__ import annotations

import tomllib

import pytest

from nacre.clients import toml
from nacre.clients.files import CannotEdit

PLACE = ("mcp_servers", "nacre")
ENTRY: dict[str, object] = {"command": "/opt/nacre", "args": ["mcp"], "env": {"NACRE_STORE": "C:\\mé\x7f.db"}}

KEPT = {
    "nothing": "",
    "plain": 'model = "m" # the model\n\n[mcp_servers.docs]\ncommand = "docs"\n',
    "a table that comes in pieces": "[mcp_servers.a]\nx = 1\n\n[other]\ny = 2\n\n# b is new\n[mcp_servers.b]\nz = 3\n",
    "our name in a text": 'note = """\n[mcp_servers.nacre]\ncommand = "no"\n"""\nlist = [\n  1, # one\n  2,\n]\n',
    "Windows line ends": '# top\r\nmodel = "m"\r\n\r\n[mcp_servers.docs]\r\ncommand = "d"\r\n',
    "byte order mark": '\ufeffmodel = "m"\n',
    "lists of tables": '[[profiles]]\nname = "a"\n\n[[profiles]]\nname = "b"\n',
    "a like name": '[mcp_servers.nacre-two]\ncommand = "t"\n',
    "dotted names": 'mcp_servers.docs.command = "d"\n\n[tui]\ntheme = "dark"\n',
}


@pytest.mark.parametrize("text", KEPT.values(), ids=list(KEPT))
def test_what_was_there_stays_and_comes_back_when_ours_is_taken_out(text: str) -> None:
    after = toml.put(text, PLACE, ENTRY)
    assert after.startswith(text)
    assert toml.read(after)["mcp_servers"]["nacre"] == ENTRY
    assert ("\r\n" in text) == ("\r\n" in after) and ("\r" not in text or after.count("\n") == after.count("\r\n"))
    assert toml.put(after, PLACE, ENTRY) == after
    assert toml.take(after, PLACE) == text


def test_a_table_that_differs_is_replaced_in_place_with_what_is_in_it() -> None:
    text = (
        '# a\n[mcp_servers.nacre] # old\ncommand = "old"\n\n[mcp_servers.nacre.env]\nA = "1"\n\n# about b\n[b]\nx = 1\n'
    )
    after = toml.put(text, PLACE, {"command": "new"})
    assert after == '# a\n[mcp_servers.nacre] # old\ncommand = "new"\n\n# about b\n[b]\nx = 1\n'


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('mcp_servers.nacre.command = "x"\nmodel = "m"\n', 'model = "m"\n'),
        ('[mcp_servers]\nnacre = { command = "x" }\n# docs\ndocs = { command = "d" }\n', "[mcp_servers]\n# docs\n"),
        ('[mcp_servers."nacre"]\ncommand = "x"\n[z]\na = 1\n', "[z]\na = 1\n"),
    ],
)
def test_other_ways_to_write_our_table_are_understood(text: str, rest: str) -> None:
    assert toml.take(text, PLACE).startswith(rest)
    after = tomllib.loads(toml.put(text, PLACE, ENTRY))
    assert after["mcp_servers"]["nacre"] == ENTRY
    before = tomllib.loads(text)
    del before["mcp_servers"]["nacre"], after["mcp_servers"]["nacre"]
    assert {key: value for key, value in after.items() if value} == {
        key: value for key, value in before.items() if value
    }


def test_a_table_on_one_line_with_others_is_changed_in_place() -> None:
    text = 'mcp_servers = { docs = { command = "d" }, nacre = { command = "x" } }\n'
    after = toml.put(text, PLACE, ENTRY)
    assert after.startswith('mcp_servers = { docs = { command = "d" }, nacre = {') and after.count("\n") == 1
    assert toml.read(after) == {"mcp_servers": {"docs": {"command": "d"}, "nacre": ENTRY}}
    assert toml.read(toml.take(text, PLACE)) == {"mcp_servers": {"docs": {"command": "d"}}}


def test_a_text_is_left_alone_where_something_else_is_in_the_way() -> None:
    with pytest.raises(CannotEdit, match=r"write \[mcp_servers\.NAME\]"):
        toml.put("mcp_servers = 3\n", PLACE, ENTRY)


def test_a_text_that_is_no_toml_is_an_error() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        toml.put("model = \n", PLACE, ENTRY)


def test_what_is_printed_is_what_is_written() -> None:
    assert toml.render({"mcp_servers": {"my server": ENTRY}}) + "\n" == toml.put(
        "", ("mcp_servers", "my server"), ENTRY
    )
