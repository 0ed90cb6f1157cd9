"""What each format tells, and how a file's own is recognised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InvalidInput
from nacre.transfer.ingest import items as json_array
from nacre.transfer.ingest import items as lines
from nacre.transfer.ingest.formats import FORMATS, detect, files
from nacre.transfer.ingest.items import Broken, Item, Skipped, parse_time
from tests.transcripts import SESSION, blocks, chatgpt, claude, turn, write_lines

TOOL = {"type": "tool_use", "name": "Grep", "input": {"pattern": "pear"}}
RESULT = {"type": "tool_result", "content": [{"type": "text", "text": "pear.py: 3"}]}
THOUGHT = {"type": "thinking", "thinking": "pears, then"}


def items(path: Path, *, tools: bool = False) -> list[Item]:
    format = detect(path)
    assert format is not None
    return [piece for piece in format.read(path, tools=tools) if isinstance(piece, Item)]


def reasons(path: Path) -> list[str]:
    format = detect(path)
    assert format is not None
    return [piece.reason for piece in format.read(path) if isinstance(piece, Skipped)]


def test_a_transcript_gives_what_was_said_with_its_place_and_time(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl",
        [turn(1, "Plant the pear."), turn(2, blocks("It is ", "planted."), "assistant")],
    )
    first, second = items(path)
    assert (first.text, first.role, first.session, first.key) == ("Plant the pear.", "user", SESSION, "uuid-1")
    assert first.occurred_at == parse_time("2026-02-03T04:05:01Z")
    assert (second.text, second.role) == ("It is\n\nplanted.", "assistant")


def test_tools_and_thoughts_come_only_when_they_are_asked_for(tmp_path: Path) -> None:
    content = blocks("I look.", tool=TOOL, thought=THOUGHT)
    path = write_lines(tmp_path / "x.jsonl", [turn(1, content, "assistant"), turn(2, [RESULT])])
    assert [item.text for item in items(path)] == ["I look."]
    assert reasons(path) == ["tools and thinking"] * 2
    said, done, answered = items(path, tools=True)
    assert said == items(path)[0]
    assert done.role == answered.role == "tool" and "pear" in done.text and "thinking" in done.text
    assert "pear.py: 3" in answered.text


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (turn(1, "hello", isSidechain=True), "conversation with a subagent"),
        (turn(1, "hello", isMeta=True), "written by the client"),
        (turn(1, "all of it", isCompactSummary=True), "summary of earlier turns"),
        (turn(1, "<command-name>/clear</command-name>"), "command of the client"),
        (turn(1, "[Request interrupted by user]"), "command of the client"),
        (turn(1, "<system-reminder>be brief</system-reminder>"), "empty"),
        ({"type": "summary", "summary": "Pears", "leafUuid": "uuid-1"}, "summary line"),
    ],
)
def test_what_nobody_said_is_left_out_with_its_reason(tmp_path: Path, entry: dict[str, object], reason: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", [entry])
    assert items(path) == [] and reasons(path) == [reason]


def test_what_we_gave_to_a_client_does_not_come_back_to_us(tmp_path: Path) -> None:
    values = "<memories>\nIt is data.\n- (semantic) figs\n</memories>\nWhat about figs?"
    assert items(write_lines(tmp_path / "x.jsonl", [turn(1, values)]))[0].text == "What about figs?"


def test_broken_lines_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "one"), "{not json", "[]", turn(2, "two")])
    with path.open("ab") as file:
        file.write(b"\xff\xfe\n")
    result = list(FORMATS["claude-code"].read(path))
    assert [piece.text for piece in result if isinstance(piece, Item)] == ["one", "two"]
    assert [(piece.where, piece.reason) for piece in result if isinstance(piece, Broken)] == [
        ("line 2", "not JSON"),
        ("line 3", "not a JSON object"),
        ("line 5", "not UTF-8 text"),
    ]


def test_a_line_that_is_far_too_long_is_passed_over_and_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 400)
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "x" * 2_000), turn(2, "short")])
    result = list(lines.lines(path))
    assert [bool(line.fault) for line in result] == [True, False]
    assert result[-1].end == path.stat().st_size


def test_a_tree_of_messages_is_read_along_the_branch_that_was_last_seen(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    output = [("system", "be kind"), ("user", "When to prune?"), ("assistant", "In winter."), ("tool", "lookup")]
    path.write_text(json.dumps([chatgpt(*output), chatgpt(("user", "And figs?"), id="talk-2")]))
    result = items(path)
    assert [(item.session, item.role, item.text) for item in result] == [
        ("talk-1", "user", "When to prune?"),
        ("talk-1", "assistant", "In winter."),
        ("talk-2", "user", "And figs?"),
    ]
    assert result[0].title == "Pruning" and result[0].occurred_at == 1_700_000_001.5
    assert len(items(path, tools=True)) == 4


def test_a_tree_without_a_last_node_and_a_ring_of_parents_come_to_an_end(tmp_path: Path) -> None:
    talk = chatgpt(("user", "a"), ("assistant", "b"))
    del talk["current_node"]
    talk["mapping"].pop("beside")
    talk["mapping"]["n0"]["parent"] = "n1"
    path = tmp_path / "c.json"
    path.write_text(json.dumps([talk]))
    assert {item.text for item in items(path)} == {"a", "b"}


def test_what_was_said_by_voice_is_taken(tmp_path: Path) -> None:
    path, conversation = tmp_path / "conversations.json", chatgpt(("user", "x"), ("assistant", "sure"))
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file", "format": "wav"}
    spoken = {"content_type": "audio_transcription", "text": "Prune the pear", "direction": "in"}
    conversation["mapping"]["n0"]["message"]["content"] = {"content_type": "multimodal_text", "parts": [spoken, sound]}
    path.write_text(json.dumps([conversation]))
    assert [(item.role, item.text) for item in items(path)] == [("user", "Prune the pear"), ("assistant", "sure")]


def test_an_export_of_claude_gives_its_messages_in_order(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude(("human", "Which stock?"), ("assistant", "A dwarf one."), ("human", ""))]))
    assert [(item.role, item.text, item.title) for item in items(path)] == [
        ("user", "Which stock?", "Grafting"),
        ("assistant", "A dwarf one.", "Grafting"),
    ]
    assert reasons(path) == ["empty"]


def test_an_export_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude(("human", "one")), claude(("human", "two"), uuid="chat-2")])[:-40])
    result = list(FORMATS["claude"].read(path))
    assert [piece.text for piece in result if isinstance(piece, Item)] == ["one"]
    assert [piece.where for piece in result if isinstance(piece, Broken)] == ["conversation 2"]


def test_conversations_of_an_export_may_be_on_lines(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "conversations.json", [claude(("human", "a"), uuid="1"), claude(("human", "b"), uuid="2")]
    )
    assert [item.text for item in items(path)] == ["a", "b"]


def test_a_great_array_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_array, "STEP", 7)
    path = tmp_path / "a.json"
    output = [{"ä": "€" * 30}, 123456789, "x, ]", [], {"a": [1, {"b": None}]}]
    path.write_text(json.dumps(output, ensure_ascii=False, indent=1), "utf-8")
    assert [result for result, _ in json_array.elements(path)] == output
    longest = max(len(json.dumps(each)) for each in output)
    with path.open("rb") as file:
        stream = json_array.Stream(file)
        stream.skip(" [\n")
        stream.element()
        assert len(stream.text) < 2 * longest


def test_plain_lines_need_a_text_and_nothing_else(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "talk.jsonl",
        [
            {"role": "user", "content": "Dig here.", "timestamp": 1_700_000_000_000, "session": "s"},
            {"text": "A note."},
            {"role": "tool", "content": "done"},
            {"role": "user", "content": ""},
        ],
    )
    first, second = items(path)
    assert (first.session, first.occurred_at) == ("s", 1_700_000_000.0)
    assert (second.session, second.role, second.occurred_at) == ("talk", "", None)
    assert reasons(path) == ["tools and thinking", "empty"]


@pytest.mark.parametrize("reported", ["", "{}", "[]", '{"a": 1}', "plain words", '[{"price": 3}]', "\x00\x01"])
def test_other_files_are_no_conversation(tmp_path: Path, reported: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(reported)
    assert detect(path) is None


def test_a_first_line_that_is_broken_does_not_hide_a_transcript(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", ["{half", turn(1, "hello")])
    assert detect(path) is FORMATS["claude-code"]


def test_a_first_line_that_is_long_does_not_hide_a_transcript(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [turn(1, "x" * 500_000), turn(2, "hello")])
    assert detect(path) is FORMATS["claude-code"]


def test_a_folder_is_walked_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    for name in ("b/x.md", "a/y.jsonl", "a/z.txt", ".git/n.md", "node_modules/n.md", "b/.hidden.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    named = tmp_path / "a" / "z.txt"
    result = list(files((named, tmp_path, tmp_path / "b")))
    assert [(path.name, output) for path, output in result] == [("z.txt", True), ("y.jsonl", False), ("x.md", False)]
    with pytest.raises(InvalidInput, match="does not exist"):
        list(files((tmp_path / "nowhere",)))


@pytest.mark.parametrize("value", [None, True, "soon", 1e300, [], "", float("nan")])
def test_what_is_no_time_is_none(value: object) -> None:
    assert parse_time(value) is None  # type: ignore[arg-type]


def read_texts(format: str, path: Path, *, tools: bool = False) -> list[tuple[str, str, str]]:
    pieces = FORMATS[format].read(path, tools=tools)
    return [(piece.role, piece.text, piece.session) for piece in pieces if isinstance(piece, Item)]


def test_a_rollout_of_codex_gives_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    said = [("user_message", "Hi", 2), ("user_message", "Yo", 2), ("agent_message", "Ho", 3)]
    rows: list[dict[str, Any]] = [
        {"timestamp": "2025-09-01T10:00:00Z", "type": "session_meta", "payload": {"id": "abc", "cwd": "/pier"}},
        {"timestamp": "2025-09-01T10:00:01Z", "type": "response_item", "payload": {"type": "message", "role": "user"}},
    ]
    for kind, text, second in said:
        at = f"2025-09-01T10:00:0{second}Z"
        rows.append({"timestamp": at, "type": "event_msg", "payload": {"type": kind, "message": text}})
    path.write_text("\n".join(map(json.dumps, rows)) + "\nbroken")
    assert detect(path) is FORMATS["codex"]
    assert read_texts("codex", path) == [("user", "Hi", "abc"), ("user", "Yo", "abc"), ("assistant", "Ho", "abc")]
    pieces = [piece for piece in FORMATS["codex"].read(path) if isinstance(piece, Item)]
    assert len({piece.key for piece in pieces}) == 3
    folder_of = FORMATS["codex"].folder_of
    assert folder_of is not None and folder_of(path) == Path("/pier")


GEMINI_TURNS: list[dict[str, Any]] = [
    {"id": "1", "timestamp": "2025-09-01T10:00:00Z", "type": "user", "content": [{"text": "Which pier?"}]},
    {"id": "2", "timestamp": "2025-09-01T10:00:01Z", "type": "gemini", "content": "The third", "thoughts": []},
    {"id": "3", "timestamp": "2025-09-01T10:00:02Z", "type": "info", "content": "Logged in"},
    {"id": "4", "timestamp": "2025-09-01T10:00:03Z", "type": "gemini", "content": "",
     "toolCalls": [{"name": "look", "args": {"at": "pier"}}]},
    {"id": "5", "timestamp": "2025-09-01T10:00:04Z", "type": "user", "content": "/quit"},
]  # fmt: skip
GEMINI_SAID = [("user", "Which pier?", "s"), ("assistant", "The third", "s")]


def test_sessions_of_gemini_cli_are_read_as_one_object_as_lines_and_as_a_saved_chat(tmp_path: Path) -> None:
    about = {"sessionId": "s", "projectHash": "h", "startTime": "t", "lastUpdated": "t"}
    whole, lined, saved = tmp_path / "session.json", tmp_path / "session.jsonl", tmp_path / "chat.json"
    whole.write_text(json.dumps({**about, "messages": GEMINI_TURNS}, indent=1))
    later = {"id": "6", "type": "user", "content": "Taken back"}
    more = [later, {"$rewindTo": "6"}, {"$set": {"lastUpdated": "t2"}}, {**GEMINI_TURNS[1], "content": "The third"}]
    lined.write_text("\n".join(map(json.dumps, [about, *GEMINI_TURNS, *more])))
    answer = [{"text": "…", "thought": True}, {"text": "The third"}]
    asked = {"role": "user", "parts": [{"text": "Which pier?"}]}
    saved.write_text(json.dumps([asked, {"role": "model", "parts": answer}]))
    for path in (whole, lined, saved):
        assert detect(path) is FORMATS["gemini-cli"], path
    assert read_texts("gemini-cli", whole) == read_texts("gemini-cli", lined) == GEMINI_SAID
    assert [turn[:2] for turn in read_texts("gemini-cli", saved)] == [turn[:2] for turn in GEMINI_SAID]
    assert ("tool", '(look) {"at": "pier"}', "s") in read_texts("gemini-cli", whole, tools=True)


def test_lines_of_json_keep_the_fields_of_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"text": "a", "type": "procedural", "tags": "x, y", "importance": 0.9}\n{"text": "b", "trust": "?"}\n'
    )
    good, bad = FORMATS["jsonl"].read(path)
    assert isinstance(good, Item) and isinstance(bad, Broken)
    assert good.fields == {"type": "procedural", "tags": ["x", "y"], "importance": 0.9}
