"""One place of a JSON text is changed, and every other character stays."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nacre.clients import jsonc
from nacre.clients.files import CannotEdit

PLACE = ("mcpServers", "nacre")
ENTRY = {"command": "/opt/nacre", "args": ["mcp"], "env": {"NACRE_STORE": "/home/é/m.db"}}

KEPT = {
    "comments": """{
  // the editor
  "theme": "dark", /* for now */
  "mcpServers": {
    // docs
    "docs": {"command": "d"}
  }
}
""",
    "trailing commas": '{\n    "mcpServers": {\n        "docs": {"command": "d"}, // first\n    },\n}\n',
    "tabs": '{\n\t"a": [1, 2],\n\t"b": {\n\t\t"c": null\n\t}\n}',
    "Windows line ends": '{\r\n  "a": 1, // one\r\n  "b": 2 // two\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "one line": '{"a":1,"mcpServers":{"docs":{"command":"d"}}}',
    "one line with a comma": '{"a": 1, }',
    "comment before the end": '{\n  "a": 1 // last\n  // nothing follows\n}\n',
    "names in other places": '{\n  "projects": {"nacre": {"mcpServers": {"nacre": 1}}},\n  "note": "mcpServers: {"\n}',
    "a brace in a text": '{\n  "a": "}, // no comment",\n  "b": "/* nor this"\n}',
    "closed on the last line": '{\n  "a": 1}',
    "empty with a comment": '{\n  "mcpServers": { // none yet\n  }\n}',
    "escaped names": '{\n  "m\\u0063p": {"x\\"y": 1},\n  "z": -1.5e-3\n}',
}


@pytest.mark.parametrize("text", KEPT.values(), ids=list(KEPT))
def test_what_was_there_stays_and_comes_back_when_ours_is_taken_out(text: str) -> None:
    after = jsonc.put(text, PLACE, ENTRY)
    expected = jsonc.read(text)
    expected["mcpServers"] = {**expected.get("mcpServers", {}), "nacre": ENTRY}  # type: ignore[dict-item]
    assert jsonc.read(after) == expected
    assert jsonc.put(after, PLACE, ENTRY) == after
    assert jsonc.take(after, PLACE) == text


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "// only words\n", "/* here */", "{}", "{\n}\n", "{ }"])
def test_a_text_without_settings_becomes_one_with_ours(text: str) -> None:
    after = jsonc.put(text, PLACE, ENTRY)
    assert jsonc.read(after) == {"mcpServers": {"nacre": ENTRY}}
    assert after.startswith(text.rstrip("{ }\n"))
    assert jsonc.read(jsonc.take(after, PLACE)) == {}


def test_a_new_entry_follows_the_habits_of_the_text() -> None:
    assert jsonc.put('{\r\n\t"a": 1\r\n}\r\n', ("s", "n"), {"x": [1]}) == (
        '{\r\n\t"a": 1,\r\n\t"s": {\r\n\t\t"n": {\r\n\t\t\t"x": [\r\n\t\t\t\t1\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n'
    )
    assert jsonc.put('{"a": 1}', ("n",), {"x": 2}) == '{"a": 1, "n": {"x": 2}}'


def test_an_entry_that_differs_is_replaced_in_its_place() -> None:
    text = '{\n  "mcpServers": {\n    "nacre": {"command": "old"}, // mine\n    "docs": 1\n  }\n}\n'
    after = jsonc.put(text, PLACE, {"command": "new"})
    assert after == text.replace('{"command": "old"}', '{\n      "command": "new"\n    }')


def test_of_a_name_that_is_there_twice_the_one_that_counts_is_changed_and_both_are_taken_out() -> None:
    text = '{"mcpServers": {"nacre": {"command": "a"}, "x": 1, "nacre": {"command": "b"}}}'
    assert jsonc.put(text, PLACE, {"command": "c"}).count('"a"') == 1
    assert json.loads(jsonc.put(text, PLACE, {"command": "c"}))["mcpServers"]["nacre"] == {"command": "c"}
    assert jsonc.take(text, PLACE) == '{"mcpServers": {"x": 1}}'


def test_null_makes_room_for_an_object() -> None:
    assert jsonc.read(jsonc.put('{"mcpServers": null}', PLACE, 1)) == {"mcpServers": {"nacre": 1}}


@pytest.mark.parametrize("standing", ['"text"', "[]", "3"])
def test_something_else_in_the_way_is_not_overwritten(standing: str) -> None:
    with pytest.raises(CannotEdit, match="mcpServers is not an object"):
        jsonc.put(f'{{"mcpServers": {standing}}}', PLACE, ENTRY)


def test_a_list_grows_at_its_end_and_shrinks_anywhere() -> None:
    text = '{\n  "hooks": [\n    1, // one\n    2\n  ]\n}'
    after = jsonc.append(text, ("hooks",), {"n": 3})
    assert jsonc.read(after) == {"hooks": [1, 2, {"n": 3}]} and "// one" in after
    assert jsonc.take(after, ("hooks", 2)) == text
    assert jsonc.take(text, ("hooks", 0)) == '{\n  "hooks": [\n    // one\n    2\n  ]\n}'
    assert jsonc.read(jsonc.append("", ("a", "b"), 1)) == {"a": {"b": [1]}}
    with pytest.raises(CannotEdit, match="not a list"):
        jsonc.append('{"a": {}}', ("a",), 1)


def test_what_held_only_ours_goes_with_it_and_what_is_not_there_changes_nothing() -> None:
    assert jsonc.take('{\n  "a": 1,\n  "mcpServers": {\n    "nacre": 1\n  }\n}', PLACE) == '{\n  "a": 1\n}'
    for text in ('{\n  "mcpServers": {}\n}', "", "// x", '{"mcpServers": 3}', '{"mcpServers": [1]}'):
        assert jsonc.take(text, PLACE) == text


BROKEN = [
    "{",
    '{"a": }',
    '{"a": 1 "b": 2}',
    "{'a': 1}",
    '{"a": 1}}',
    "[1,,2]",
    '{"a": "\n"}',
    "{/* }",
    "nonsense",
    "{,}",
]


@pytest.mark.parametrize("text", [*BROKEN, "[" * 100_000])
def test_what_is_no_json_is_an_error_that_says_where(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1|nested too deeply"):
        jsonc.put(text, PLACE, ENTRY)


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null"])
def test_json_that_is_no_object_cannot_take_an_entry(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        jsonc.put(text, PLACE, ENTRY)


NAMES = some.sampled_from(["a", "mcpServers", "nacre", 'q"', "é", ""])
VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
GAPS = some.sampled_from(["", " ", "\n", "\n\t", "\r\n  ", " // x, {\n", "/* ] */", "\n  // y\n  "])


@some.composite
def texts(draw: some.DrawFn) -> str:
    """JSON with blanks and comments strewn between its parts."""
    whole = json.dumps(draw(some.dictionaries(NAMES, VALUES, max_size=4)), ensure_ascii=False)
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', whole)
    commaed = [
        "/**/," + part if part in "}]" and parts[at - 1] not in "{[" and draw(some.booleans()) else part
        for at, part in enumerate(parts)
    ]
    pieces = [  # what stands between a name and its value belongs to the entry, and goes with it
        part if ":" in (part, commaed[at - 1]) else draw(GAPS) + part for at, part in enumerate(commaed)
    ]
    return "".join(pieces) + draw(GAPS)


@pytest.mark.slow
@given(texts(), some.lists(NAMES, min_size=1, max_size=3))
def test_any_text_keeps_its_meaning_and_its_comments(text: str, path: list[str]) -> None:
    expected = jsonc.read(text)
    inner: object = expected
    for name in path[:-1]:
        held = inner.get(name) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or (held is not None and not isinstance(held, dict)):
            break
        if held is None:
            inner[name] = held = {}
        inner = held
    else:
        if isinstance(inner, dict):
            standing = inner.get(path[-1])
            after = jsonc.put(text, path, ENTRY)
            inner[path[-1]] = ENTRY
            assert jsonc.read(after) == expected
            assert jsonc.put(after, path, ENTRY) == after
            assert standing is not None or comments(after) == comments(text)
            assert path[-1] not in (at(jsonc.read(jsonc.take(after, path)), path[:-1]) or {})
            assert comments(jsonc.take(after, path)) == comments(after)
            return
    with pytest.raises(CannotEdit):
        jsonc.put(text, path, ENTRY)


def at(found: object, path: list[str]) -> dict[str, object] | None:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def comments(text: str) -> list[str]:
    words = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    return sorted(found.strip() for found in re.findall(r"//[^\n]*|/\*.*?\*/", words))
