"""Whatever comes on stdin, the server answers who waits, reports the rest, and goes on serving."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nacre.mcp.stdio import outline
from tests.mcp.test_stdio import Pipe, call

HALF_EMOJI = b"\\ud83d"


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """One server for all of these: each must leave it serving."""
    folder = tmp_path_factory.mktemp("odd")
    opened = Pipe(folder / "store.db", folder)
    yield opened
    opened.end()


def asked(pipe: Pipe, line: bytes) -> Any:
    assert pipe.process.stdin is not None and pipe.process.stdout is not None
    pipe.process.stdin.write(line + b"\n")
    pipe.process.stdin.flush()
    return json.loads(pipe.process.stdout.readline())


def remembering(arguments: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"remember","arguments":'
    return head + arguments + b"}}"


def still_serves(pipe: Pipe) -> bool:
    found = pipe.ask("tools/call", call("status"))
    return bool(found["id"] == pipe.asked and found["result"]["content"][0]["text"].startswith("0 memories"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (b'{"text":"half of an emoji: ' + HALF_EMOJI + b'"}', "surrogate"),
        (b'{"text":"a name and \xff\xfe"}', "not UTF-8"),
        (b'{"text":"x","importance":NaN}', "importance"),
        (b'{"text":"x","importance":1e999}', "importance"),
        (b'{"text":"x","importance":' + b"9" * 5_000 + b"}", "importance|number"),
        (b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion|could not be read"),
        (b'{"text":"' + b"x" * 3_000_000 + b'"}', "3,000,000 characters"),
        (b'{"text":"a NUL \\u0000"}', "NUL"),
        (b'{"te' + HALF_EMOJI + b'xt":"x"}', "surrogate"),
    ],
    ids=["half emoji", "bytes", "nan", "infinity", "huge number", "deep", "megabytes", "nul", "half emoji in a name"],
)
def test_an_odd_call_gets_an_error_result_and_the_next_is_answered(pipe: Pipe, arguments: bytes, says: str) -> None:
    found = asked(pipe, remembering(arguments))
    assert found["id"] == "odd" and found["result"]["isError"]
    (block,) = found["result"]["content"]
    assert any(each in block["text"] for each in says.split("|")), block["text"]
    assert still_serves(pipe)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":5,"method":"' + HALF_EMOJI + b'"}',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[1]}',
        b'{"params":{"id":9},"method":"prompts/get","id":5,"jsonrpc":"1.0"}',
        b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"\xff"}}',
    ],
)
def test_a_request_that_is_no_call_gets_an_error_under_its_id(pipe: Pipe, line: bytes) -> None:
    found = asked(pipe, line)
    assert found["id"] == 5 and "could not be read" in found["error"]["message"]
    assert still_serves(pipe)


@pytest.mark.parametrize("line", [b"", b"no JSON at all", b"null", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b'"'])
def test_a_line_that_nobody_waits_for_is_passed_over(pipe: Pipe, line: bytes) -> None:
    assert pipe.process.stdin is not None
    pipe.process.stdin.write(line + b"\n")
    assert still_serves(pipe)


@pytest.mark.slow
def test_the_id_is_found_in_what_is_no_json() -> None:
    assert outline(b'{"params":{"id":1,"x":[{"id":2}]},"id" : 3,"method":"m", nonsense') == (b"3", b'"m"')
    assert outline(b'{"method":"id","text":"\\"id\\":4"}') is None
    assert outline(b'{"id":"a","arguments":' + b"[" * 500_000) == (b'"a"', b"")
    assert outline(b'{"id":null}') is None and outline(b"") is None


@pytest.mark.parametrize("id", [b"1.5", b'"' + b"x" * 1_000 + b'"', '"é"'.encode(), b'"a \\" quote"', b"1e3"])
def test_any_text_or_number_may_be_the_id_of_an_error(id: bytes) -> None:
    assert outline(b'{"id":' + id + b',"method":"m", nonsense') == (id, b'"m"')


@pytest.mark.parametrize("id", [b"true", b"{}", b"[1]", b"NaN", b'"' + HALF_EMOJI + b'"', b'"\xff"', b'"open'])
def test_an_id_that_no_answer_can_carry_becomes_null(id: bytes) -> None:
    outlined = outline(b'{"method":"m","id":' + id)
    assert outlined is not None and outlined[0] == b"null"


def test_a_text_that_is_never_closed_is_read_in_linear_time() -> None:
    """In quadratic time this would take a day."""
    assert outline(b'{"id":7,"method":"m","text":"' + b'\\"' * 2_000_000) == (b"7", b'"m"')


@pytest.mark.parametrize("id", ["1.5", '"é"', '"' + "x" * 300 + '"'])
def test_a_malformed_request_is_answered_under_its_unusual_id(pipe: Pipe, id: str) -> None:
    answer = asked(pipe, f'{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":[1]}}'.encode())
    assert answer["id"] == json.loads(id) and "could not be read" in answer["error"]["message"]
    assert still_serves(pipe)


@pytest.mark.slow
def test_a_request_with_a_fraction_as_its_id_is_refused_and_not_taken_for_a_notification(pipe: Pipe) -> None:
    answer = asked(pipe, b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}')
    assert answer["id"] == 1.5 and "neither a string nor an integer" in answer["error"]["message"]
    assert still_serves(pipe)


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"[1, 2]", b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"[nonsense"])
def test_a_batch_is_refused(pipe: Pipe, line: bytes) -> None:
    answer = asked(pipe, line)
    assert answer["id"] is None and "batch" in answer["error"]["message"]
    assert still_serves(pipe)
