"""nacre remember"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.command_line import CommandLine


def test_the_name_of_a_file_and_tags_in_one_word_are_pointed_out(
    nacre: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-notes.md").write_text("- the ferry leaves at nine\n", encoding="utf-8")
    noted = nacre("remember", "my-notes.md")
    assert noted.exit_code == 0 and "`nacre ingest my-notes.md` stores the notes in the file" in noted.stderr
    assert "file" not in nacre("remember", "other-notes.md").stderr
    assert "file" not in nacre("remember", "x" * 5000).stderr
    warning = nacre("remember", "Staging runs on Oracle", "--tag", "infra, db").stderr
    assert "'infra, db' is one tag; --tag infra --tag db gives 2." in warning
    assert nacre.json("list", "-n", "1")[0]["tags"] == ["infra, db"]


def test_a_text_is_stored_and_its_id_printed(nacre: CommandLine) -> None:
    id = nacre.ok("remember", "The sea is salty")
    assert nacre.json("show", id)["text"] == "The sea is salty"


def test_unquoted_words_are_one_text(nacre: CommandLine) -> None:
    id = nacre.ok("remember", "the", "sea", "is", "salty", "-g", "sea")
    assert nacre.json("show", id)["text"] == "the sea is salty"


def test_every_option_reaches_the_record(nacre: CommandLine) -> None:
    options = {
        "--type": "episodic", "--importance": "0.9", "--source": "mail", "--title": "Sea", "--session": "s1",
        "--role": "user", "--agent": "a1", "--occurred-at": "2026-01-02", "--expires-at": "2099-01-01T10:00:00Z",
        "--valid-from": "2025-12-01", "--valid-until": "2098-01-01T00:00:00Z", "--polarity": "-1",
        "--id": "my-id", "--metadata": '{"page": 3}',
    }  # fmt: skip
    flat = [word for pair in options.items() for word in pair]
    assert nacre.ok("remember", "salty", *flat, "--pin", "-g", "a", "-g", "b") == "my-id"
    kept = nacre.json("show", "my-id")
    assert (kept["type"], kept["importance"], kept["source"], kept["title"]) == ("episodic", 0.9, "mail", "Sea")
    assert (kept["session"], kept["role"], kept["agent"], kept["polarity"]) == ("s1", "user", "a1", -1)
    assert (kept["occurred_at"], kept["expires_at"]) == ("2026-01-02T00:00:00Z", "2099-01-01T10:00:00Z")
    assert (kept["valid_from"], kept["valid_until"]) == ("2025-12-01T00:00:00Z", "2098-01-01T00:00:00Z")
    assert (kept["metadata"], kept["pinned"], kept["tags"]) == ({"page": 3}, True, ["a", "b"])


@pytest.mark.parametrize("words", [["-"], ["--stdin"]])
def test_all_of_stdin_is_one_memory(nacre: CommandLine, words: list[str]) -> None:
    id = nacre.ok("remember", *words, input="first line\n\nsecond line\n")
    assert nacre.json("show", id)["text"] == "first line\n\nsecond line"


def test_each_line_of_stdin_is_a_memory_where_that_is_asked(nacre: CommandLine) -> None:
    result = nacre("remember", "--lines", "-t", "episodic", input="one\n\n  \ntwo\r\n")
    assert len(result.stdout.split()) == 2
    assert "Stored 2 memories" in result.stderr
    assert sorted(each["text"] for each in nacre.json("list", "-t", "episodic")) == ["one", "two"]


def test_the_same_text_again_is_known_and_said_so(nacre: CommandLine) -> None:
    first = nacre.ok("remember", "salty")
    again = nacre("remember", "salty")
    assert (again.exit_code, again.stdout.strip()) == (0, first)
    assert f"Known already: {first[:8]}" in again.stderr
    assert "Stored 1 memory; 2 known already." in nacre("remember", "--lines", input="salty\nsweet\nsweet\n").stderr
    assert len(nacre.json("list")) == 2


def test_many_lines_are_one_operation_that_undo_takes_back(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.memory_store.PART", 2)
    assert len(nacre.ok("remember", "--lines", input="one\ntwo\nthree\nfour\nfive\n").splitlines()) == 5
    entries = nacre.json("journal", "-n", "0")
    assert len(entries) == 5 and len({entry["batch"] for entry in entries}) == 1
    nacre.ok("undo")
    assert nacre.json("list") == []


def test_what_has_expired_already_is_stored_with_a_warning(nacre: CommandLine) -> None:
    for done in (
        nacre("remember", "the sale", "--id", "sale", "--expires-at", "2020-01-01"),
        nacre("remember", "--lines", "--expires-at", "2020-01-01", input="the fair\n"),
        nacre("edit", "sale", "--expires-at", "2021-01-01"),
    ):
        assert done.exit_code == 0 and "so it is neither listed nor recalled; `nacre edit " in done.stderr
    assert "expired" not in nacre("edit", "sale", "--expires-at", "").stderr


def test_the_actor_in_the_journal_is_the_command_line(nacre: CommandLine) -> None:
    nacre.ok("remember", "salty")
    assert nacre.json("journal")[0]["actor"] == "cli"


@pytest.mark.parametrize(
    ("words", "input", "says"),
    [
        ([""], None, "empty"),
        (["  \n "], None, "empty"),
        (["-"], "", "empty"),
        (["-"], "a\0b", "NUL"),
        (["-"], b"\xff\xfe", "not UTF-8"),
        (["x", "-t", "semantik"], None, "did you mean 'semantic'"),
        (["x", "-i", "nan"], None, "importance"),
        (["x", "-i", "1.5"], None, "from 0 to 1"),
        (["x", "-i", "much"], None, "not a valid number"),
        (["x", "--metadata", "[1]"], None, "JSON object"),
        (["x", "--metadata", "{"], None, "Write an object"),
        (["x", "--metadata", "[" * 100_000], None, "Write an object"),
        (["x", "--occurred-at", "someday"], None, "not a time"),
        (["x", "--polarity", "2"], None, "--polarity"),
        ([], None, "- to read it from stdin"),
        (["x", "--lines"], "y", "--lines"),
    ],
)
def test_what_cannot_be_stored_is_refused_as_misuse(
    nacre: CommandLine, words: list[str], input: str | bytes | None, says: str
) -> None:
    result = nacre("remember", *words, input=input)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
    assert nacre.json("list") == []


@pytest.mark.parametrize(("words", "input"), [([""], None), (["-"], " \n")])
def test_an_empty_text_makes_no_store(nacre: CommandLine, words: list[str], input: str | None) -> None:
    nacre.store.unlink()
    result = nacre("remember", *words, input=input)
    assert result.exit_code == 2 and "empty" in result.stderr
    assert not nacre.store.exists()


def test_names_are_recognised_unless_some_are_given(nacre: CommandLine) -> None:
    id = nacre.ok("remember", "Ana Torres lives in Madrid with Luis")
    assert nacre.json("show", id)["entities"] == ["Ana Torres", "Madrid", "Luis"]
    given = nacre.ok("remember", "The quay is closed", "--entity", "harbour")
    assert nacre.json("show", given)["entities"] == ["harbour"]
    assert "Ana Torres" in nacre.ok("entities")


def test_a_known_text_says_what_it_got(nacre: CommandLine) -> None:
    nacre.ok("remember", "salty")
    assert "undo" not in nacre("remember", "salty").stderr
    assert "Added to it: tags; `undo` takes that back." in nacre("remember", "salty", "-g", "sea").stderr


def test_a_text_that_begins_with_a_dash_is_a_text_and_not_an_option(nacre: CommandLine) -> None:
    nacre.ok("remember", "- buy milk", "--id", "milk")
    assert nacre.json("show", "milk")["text"] == "- buy milk"
    assert nacre("remember", "--buy-milk").exit_code == 2  # that is a mistyped option


@pytest.mark.parametrize(
    ("typed", "days"), [("yesterday", (1, 2)), ("3 days ago", (2.9, 4)), ("31.3.2026", None), ("2026-03-31", None)]
)
def test_times_are_taken_as_people_type_them(nacre: CommandLine, typed: str, days: tuple[float, float] | None) -> None:
    nacre.ok("remember", "the pier was closed", "--id", "pier", "--occurred-at", typed)
    at = datetime.fromisoformat(str(nacre.json("show", "pier")["occurred_at"]))
    if days is None:
        assert at.date().isoformat() == "2026-03-31"
    else:
        assert days[0] <= (datetime.now(UTC) - at) / timedelta(days=1) <= days[1]
    assert nacre("remember", "x", "--occurred-at", "some time soon").exit_code == 2


@pytest.mark.parametrize("words", ["friday", "2h", "two weeks"])
def test_an_end_in_words_is_still_to_come(nacre: CommandLine, words: str) -> None:
    result = nacre("remember", "the sale", "--id", "sale", "--expires-at", words, "--valid-until", words)
    assert (result.exit_code, "expired" in result.stderr, "was true until" in result.stderr) == (0, False, False)
    stored = nacre.json("show", "sale")
    now = datetime.now(UTC).isoformat()
    assert stored["expires_at"] > now
    assert stored["valid_until"] > now


def test_what_has_ended_already_is_stored_with_a_warning(nacre: CommandLine) -> None:
    warned = [
        nacre("remember", "the sale", "--id", "sale", "--valid-until", "2020-01-01"),
        nacre("remember", "--lines", "--valid-until", "2020-01-01", input="the fair\n"),
        nacre("edit", "sale", "--valid-until", "2020-01-01T12:00:00Z"),
    ]
    assert all("It was true until 2020-01-01" in result.stderr for result in warned)
    assert "was true" not in nacre("edit", "sale", "--title", "Sale").stderr


def test_a_date_that_may_be_two_days_stores_nothing(nacre: CommandLine) -> None:
    result = nacre("remember", "the sale", "--occurred-at", "03/04/2026")
    assert result.exit_code != 0
    assert "write 2026-03-04 or 2026-04-03" in result.stderr
    assert "write 2026-03-04" in nacre("list", "--since", "03/04/2026").stderr
    assert nacre.json("list") == []


def test_a_wrong_time_is_refused_with_a_plain_date(nacre: CommandLine) -> None:
    assert "write 2026-03-31, " in nacre("remember", "the sale", "--occurred-at", "someday").stderr
    assert "'in 2 weeks'" in nacre("remember", "the sale", "--valid-until", "someday").stderr
