"""Tags, sources and contexts on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.terminal import conversation
from tests.command_line import CommandLine

KEYS = "[?] "


@pytest.fixture
def book(nacre: CommandLine) -> CommandLine:
    lessons = (
        ("one", "javascript,api.jira", "team.review"), ("two", "javascript", "team.review"), ("three", "js", "solo"),
    )  # fmt: skip
    return nacre.after(
        *(
            ("lesson", "add", "--title", f"Lesson {id}", "--content", f"About {id}", "--tags", tags,
             "--contexts", contexts, "--id", id)
            for id, tags, contexts in lessons
        )
    )  # fmt: skip


def tags_of(nacre: CommandLine, id: str) -> Any:
    return nacre.json("lesson", "show", id)["data"]["tags"]


def named(nacre: CommandLine, command: str, *words: str) -> dict[str, Any]:
    return {each["name"]: each for each in nacre.json("lesson", command, *words)["data"]}


# tags


@pytest.mark.accepts("L7.4")
def test_tags_are_listed_by_name_or_by_use(book: CommandLine) -> None:
    assert [row.split("\t")[0] for row in book.ok("lesson", "tags").splitlines()] == ["api.jira", "javascript", "js"]
    assert book.ok("lesson", "tags", "--counts").splitlines()[0].split("\t")[:2] == ["javascript", "2"]
    assert named(book, "tags")["javascript"]["count"] == 2


def test_an_empty_book_has_no_tags_and_says_so(nacre: CommandLine) -> None:
    result = nacre("lesson", "tags")
    assert (result.exit_code, result.stdout) == (0, "") and "No lesson has a tag" in result.stderr


@pytest.mark.accepts("L8.4")
def test_tags_are_merged_after_a_question_and_the_merge_undone(book: CommandLine) -> None:
    refused = book("lesson", "tags", "--merge", "js", "javascript", input="n\n")
    assert refused.exit_code == 2 and "on 1 lesson?" in refused.stderr
    assert tags_of(book, "three") == ["js"]
    done = book("lesson", "tags", "--merge", "js", "javascript", input="y\n")
    assert "on 1 lesson" in done.stderr and "`nacre undo`" in done.stderr
    assert tags_of(book, "three") == ["javascript"]
    assert named(book, "tags")["javascript"]["aliases"] == ["js"]
    book.ok("undo")
    assert tags_of(book, "three") == ["js"]


def test_yes_merges_without_a_question_and_a_script_without_it_is_reported(book: CommandLine) -> None:
    assert "--yes" in book("lesson", "tags", "--merge", "js", "javascript", input="").stderr
    book.ok("lesson", "tags", "--merge", "js", "javascript", "--yes", "--why", "one word")
    assert tags_of(book, "three") == ["javascript"]
    assert book.json("journal")[0]["why"] == "one word"


def test_an_alias_is_resolved_from_now_on(book: CommandLine) -> None:
    result = book("lesson", "tags", "--alias", "js", "javascript")
    assert "from now on" in result.stderr and "1 lessons still have 'js'" in result.stderr
    book.ok("lesson", "add", "--title", "New", "--content", "New", "--tags", "JS", "--id", "new")
    assert tags_of(book, "new") == ["javascript"]
    assert "so already" in book("lesson", "tags", "--alias", "js", "javascript").stderr


def test_synonyms_and_children_are_found_together(book: CommandLine) -> None:
    book.ok("lesson", "tags", "--synonym", "js", "javascript")
    results = {each["id"] for each in book.json("lesson", "list", "--tags", "js")["data"]}
    assert results == {"one", "two", "three"}
    book.ok("lesson", "tags", "--unrelate", "js", "javascript")
    assert [each["id"] for each in book.json("lesson", "list", "--tags", "js")["data"]] == ["three"]
    book.ok("lesson", "tags", "--child", "js", "languages")
    assert [each["id"] for each in book.json("lesson", "list", "--tags", "languages")["data"]] == ["three"]


@pytest.mark.slow
def test_a_known_tag_is_not_warned_of(book: CommandLine) -> None:
    book.ok("lesson", "tags", "--know", "rust,go")
    added = ("lesson", "add", "--title", "X", "--content", "Y", "--tags")
    assert "not recognized" not in book(*added, "rust").stderr
    assert "not recognized" in book(*added, "zig").stderr
    assert "known already" in book("lesson", "tags", "--know", "rust").stderr


@pytest.mark.accepts("L8.4")
def test_proposals_are_listed_in_a_pipe_until_they_are_settled(book: CommandLine) -> None:
    result = book("lesson", "tags", "--review")
    assert result.stdout.split("\t")[:2] == ["js", "javascript"] and "--merge OLD NEW" in result.stderr
    (proposal,) = book.json("lesson", "tags", "--review")["data"]
    assert (proposal["keep"], proposal["merge"], proposal["counts"]) == ("javascript", "js", {"javascript": 2, "js": 1})
    book.ok("lesson", "tags", "--apart", "js", "javascript")
    assert "No two tags seem to mean the same" in book("lesson", "tags", "--review").stderr


@pytest.mark.parametrize(("key", "left"), [("m", "javascript"), ("o", "js")])
def test_a_proposal_is_decided_with_one_key_on_a_terminal(book: CommandLine, key: str, left: str) -> None:
    seen, code = conversation("lesson", "tags", "--review", answers=((KEYS, key),))
    assert code == 0 and "javascript (2) and js (1)" in seen and "Settled 1 of 1" in seen
    assert f"is {left!r} now, on " in seen
    assert tags_of(book, "two") == tags_of(book, "three") == [left]


def test_two_tags_are_marked_distinct_with_one_key_or_left_waiting(book: CommandLine) -> None:
    for key in ("s", "q"):
        seen, _ = conversation("lesson", "tags", "--review", answers=((KEYS, key),))
        assert "Settled 0 of 1" in seen
    assert len(book.json("lesson", "tags", "--review")["data"]) == 1
    seen, _ = conversation("lesson", "tags", "--review", answers=((KEYS, "k"),))
    assert "Kept apart; nobody is asked again." in seen
    assert book.json("lesson", "tags", "--review")["data"] == []
    assert tags_of(book, "three") == ["js"]


def test_two_things_at_once_are_refused(book: CommandLine) -> None:
    result = book("lesson", "tags", "--review", "--alias", "a", "b")
    assert result.exit_code == 2 and "--review, --alias" in result.stderr


# sources


def test_every_book_knows_some_sources(nacre: CommandLine) -> None:
    known = named(nacre, "sources")
    assert {"tested", "documented", "observed", "inferred", "hearsay"} <= set(known)
    assert known["tested"]["typical_confidence"] == "high"


def test_a_source_is_added_described_anew_and_deprecated(book: CommandLine) -> None:
    book.ok("lesson", "sources", "--add", "measured", "--description", "with figures", "--typical", "very-high")
    book.ok("lesson", "sources", "--add", "measured", "--description", "with a clock")
    added = named(book, "sources")["measured"]
    assert (added["description"], added["typical_confidence"]) == ("with a clock", "very-high")
    book.ok("lesson", "add", "--title", "X", "--content", "Y", "--source", "measured", "--id", "x")
    assert book.json("lesson", "show", "x")["data"]["confidence"] == "very-high"
    book.ok("lesson", "sources", "--deprecate", "measured")
    assert "deprecated" in book("lesson", "edit", "x", "--source", "measured").stderr
    book.ok("lesson", "sources", "--undeprecate", "measured")
    assert named(book, "sources")["measured"]["deprecated"] is False


def test_a_description_without_a_source_is_refused(nacre: CommandLine) -> None:
    assert "--add NAME" in nacre("lesson", "sources", "--typical", "low").stderr


@pytest.fixture
def rumoured(book: CommandLine) -> CommandLine:
    book.ok("lesson", "add", "--title", "X", "--content", "Y", "--source", "rumour", "--id", "x")
    return book


def test_a_source_that_came_up_by_itself_waits_for_review(rumoured: CommandLine) -> None:
    assert list(named(rumoured, "sources", "--review")) == ["rumour"]
    assert "--confirm" in rumoured("lesson", "sources", "--review").stderr
    rumoured.ok("lesson", "sources", "--confirm", "rumour")
    assert "No source waits" in rumoured("lesson", "sources", "--review").stderr


def test_sources_are_merged(rumoured: CommandLine) -> None:
    rumoured.ok("lesson", "sources", "--merge", "rumour", "hearsay", "--yes")
    assert rumoured.json("lesson", "show", "x")["data"]["source"] == "hearsay"
    assert "rumour" not in named(rumoured, "sources")


def test_a_waiting_source_is_decided_on_a_terminal(rumoured: CommandLine) -> None:
    ask = ("lesson", "sources", "--review")
    seen, _ = conversation(*ask, answers=((KEYS, "m"), ("is meant? ", "nonsense\n")))
    assert "there is no source 'nonsense'" in seen and "Settled 0 of 1" in seen
    seen, _ = conversation(*ask, answers=((KEYS, "m"), ("is meant? ", "hearsay\n")))
    assert "Its lessons have 'hearsay' now." in seen
    assert rumoured.json("lesson", "show", "x")["data"]["source"] == "hearsay"
    rumoured.ok("undo")
    seen, _ = conversation(*ask, answers=((KEYS, "k"),))
    assert "The source stays, and no longer waits." in seen
    assert named(rumoured, "sources", "--review") == {}
    assert rumoured.json("lesson", "show", "x")["data"]["source"] == "rumour"


# contexts


def test_contexts_are_listed_and_merged(book: CommandLine) -> None:
    assert named(book, "contexts")["team.review"]["count"] == 2
    book.ok("lesson", "edit", "three", "--anti-contexts", "team.reviews")
    book.ok("lesson", "contexts", "--merge", "team.reviews", "team.review", "--yes")
    merged = named(book, "contexts")["team.review"]
    assert (merged["count"], merged["anti_count"], merged["aliases"]) == (2, 1, ["team.reviews"])
    assert book.ok("lesson", "contexts").splitlines()[0].split("\t") == [
        "team.review",
        "2",
        "1",
        "team.reviews",
        "team",
    ]


def test_contexts_lie_in_each_other(book: CommandLine) -> None:
    book.ok("lesson", "contexts", "--child", "pairing", "team.review")
    assert {each["id"] for each in book.json("lesson", "list", "--context", "team")["data"]} == {"one", "two"}
    assert "so already" in book("lesson", "contexts", "--child", "pairing", "team.review").stderr
    book.ok("lesson", "contexts", "--unrelate", "pairing", "team.review")
    assert "so already" in book("lesson", "contexts", "--unrelate", "pairing", "team.review").stderr
    book.ok("lesson", "contexts", "--synonym", "solo", "alone")
    assert [each["id"] for each in book.json("lesson", "list", "--context", "alone")["data"]] == ["three"]


def test_a_book_without_contexts_says_how_to_have_some(nacre: CommandLine) -> None:
    assert "--context" in nacre("lesson", "contexts").stderr


def test_a_child_is_explained_as_tags_and_as_contexts_work(book: CommandLine) -> None:
    assert "'js' is found under 'javascript' now" in book("lesson", "tags", "--child", "js", "javascript").stderr
    result = book("lesson", "contexts", "--child", "solo", "team")
    assert "What applies in 'team' applies in 'solo' too now" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["tags", "--alias", "js", "javascript"],
        ["tags", "--synonym", "js", "javascript"],
        ["tags", "--child", "js", "javascript"],
        ["tags", "--apart", "js", "javascript"],
        ["tags", "--know", "python"],
        ["contexts", "--child", "solo", "team"],
        ["sources", "--add", "measured"],
        ["sources", "--confirm", "tested"],
        ["sources", "--deprecate", "tested"],
    ],
)
def test_the_reason_for_a_change_of_terms_is_in_the_journal(book: CommandLine, words: list[str]) -> None:
    book.ok("lesson", *words, "--why", "agreed on")
    assert book.json("journal")[0]["why"] == "agreed on"


def test_the_reason_for_removing_a_relation_is_in_the_journal(book: CommandLine) -> None:
    for kind, pair in (("tags", ("js", "javascript")), ("contexts", ("solo", "team"))):
        book.ok("lesson", kind, "--child", *pair)
        book.ok("lesson", kind, "--unrelate", *pair, "--why", "was wrong")
        assert book.json("journal")[0]["why"] == "was wrong"
