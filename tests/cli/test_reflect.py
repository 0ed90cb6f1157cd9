"""Condensing at the command line: episodes into what is known, the short term into the long."""

from __future__ import annotations

import json

import pytest

from nacre.errors import LanguageModelError
from tests.cli.aged_memories import days_ago, opened, operations, remember_episodes
from tests.command_line import CommandLine


class Scripted:
    """Answers, or fails at its second question."""

    identity = "scripted"

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked = 0

    def complete(self, prompt: str, *, system: str = "", max_tokens: int = 512) -> str:  # noqa: ARG002
        self.asked += 1
        if self.fails:
            raise LanguageModelError(self.identity, "it is down", "Start it.")
        return "Backups take some forty minutes."


def remember_twins(nacre: CommandLine) -> None:
    with opened(nacre) as store:
        for id, arousal in (("loud", 0.95), ("quiet", 0.8)):
            text = "the release went out and the whole team is thrilled"
            store.remember(text, id=id, valence=0.9, arousal=arousal, created_at=days_ago(2))
        store.remember("a dull remark", id="dull", valence=0.0, arousal=0.0, created_at=days_ago(300))


def test_reflecting_shows_what_it_would_store_and_stores_nothing(nacre: CommandLine) -> None:
    remember_episodes(nacre)
    before = operations(nacre)
    plan = nacre("reflect")
    id, size, importance, episodes, text = plan.stdout.rstrip("\n").split("\t")
    assert (id, size) == ("", "3") and set(episodes.split(",")) == {"episode-0", "episode-1", "episode-2"}
    assert float(importance) > 0 and text.startswith("[Reflection ×3")
    assert "3 episodes would be condensed into 1 memory; --apply" in plan.stderr
    (result,) = nacre.json("reflect")
    assert result["summary"]["source"] == "reflection/dry-run" and len(result["sources"]) == 3
    assert operations(nacre) == before and nacre.json("list", "-t", "semantic") == []


@pytest.mark.parametrize(("way", "left"), [("none", 3), ("soft", 0), ("hard", 0)])
def test_a_reflection_is_one_act_and_undo_takes_it_back(nacre: CommandLine, way: str, left: int) -> None:
    remember_episodes(nacre)
    before = operations(nacre)
    done = nacre("reflect", "--consolidate", way, "--apply", "--yes", "--why", "sunday", "-f", "json")
    assert "Stored 1 summary; `nacre undo`" in done.stderr
    (result,) = json.loads(done.stdout)
    (kept,) = nacre.json("list", "-t", "semantic")
    assert kept["id"] == result["summary"]["id"] and kept["tags"] == ["reflection", "ops"]
    assert operations(nacre) == before + 1 and len(nacre.json("list", "-t", "episodic")) == left
    assert (nacre("show", "episode-0").exit_code == 1) is (way == "hard")
    nacre.ok("undo")
    assert nacre.json("list", "-t", "semantic") == [] and len(nacre.json("list", "-t", "episodic")) == 3


def test_only_what_removes_episodes_asks(nacre: CommandLine) -> None:
    remember_episodes(nacre)
    refused = nacre("reflect", "--consolidate", "hard", "--apply", input="n\n")
    assert refused.exit_code == 2 and "Condense 3 episodes into 1 memory and remove them?" in refused.stderr
    assert nacre.json("list", "-t", "semantic") == []
    nacre.ok("reflect", "--consolidate", "soft", "--apply")
    assert len(nacre.json("list", "-t", "semantic")) == 1
    assert "No 3 episodes are so similar; a lower --threshold" in nacre("reflect").stderr, (
        "what was condensed is left out"
    )


def test_another_model_is_reported_before_anybody_is_asked(nacre: CommandLine) -> None:
    remember_episodes(nacre)
    result = nacre("--embedder", "openai:other", "reflect", "--consolidate", "hard", "--apply", input="y\n")
    assert result.exit_code == 4 and "nacre store reindex" in result.stderr and "remove them?" not in result.stderr


def test_how_alike_and_how_many_can_be_chosen(nacre: CommandLine) -> None:
    remember_episodes(nacre)
    assert nacre.json("reflect", "--min-cluster-size", "4") == []
    assert nacre.json("reflect", "--threshold", "1") == []
    (result,) = nacre.json("reflect", "--summarizer", "extractive")
    assert " | " in result["summary"]["text"]
    assert "episode-" in nacre.ok("reflect", "-f", "table"), "a table names what each summary is made from"


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["reflect", "--threshold", "1.5"], "1.5"),
        (["reflect", "--threshold", "nan"], "nan"),
        (["reflect", "--min-cluster-size", "1"], "1"),
        (["reflect", "--summarizer", "poet"], "central"),
        (["reflect", "--consolidate", "maybe"], "soft"),
        (["reflect", "--summarizer", "language-model"], "set language_model"),
        (["consolidate", "--threshold", "-1"], "-1"),
        (["consolidate", "--similarity", "nan"], "nan"),
    ],
)
def test_what_makes_no_sense_is_reported_in_a_sentence(nacre: CommandLine, words: list[str], output: str) -> None:
    result = nacre(*words)
    assert result.exit_code == 2 and output in result.stderr and "Traceback" not in result.output


def test_a_language_model_writes_the_summary(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_episodes(nacre)
    monkeypatch.setattr("nacre.lifecycle.reflection.make_language_model", lambda *_: Scripted())
    (result,) = nacre.json("reflect", "--summarizer", "language-model")
    assert result["summary"]["text"] == "Backups take some forty minutes."


def test_a_language_model_that_fails_is_reported_and_not_asked_again(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_episodes(nacre)
    with opened(nacre) as store:
        for number in range(3):
            store.remember(f"Anna talked about the summer party in Lisbon, part {number}", type="episodic")
    model = Scripted(fails=True)
    monkeypatch.setattr("nacre.lifecycle.reflection.make_language_model", lambda *_: model)
    result = nacre("reflect", "--summarizer", "language-model")
    assert result.exit_code == 0 and len(result.stdout.splitlines()) == 2
    assert "Condensed without the language model." in result.stderr and "it is down" in result.stderr
    assert model.asked == 1


def test_consolidating_lists_what_it_would_promote_and_changes_nothing(nacre: CommandLine) -> None:
    remember_twins(nacre)
    before = operations(nacre)
    plan = nacre("consolidate")
    promoted, size, worth, others, _ = plan.stdout.rstrip("\n").split("\t")
    assert (promoted, size, others) == ("loud", "2", "quiet") and float(worth) >= 0.6
    assert "3 memories in the short term; consolidating is due from 100 on." in plan.stderr
    assert "Of 3 memories 1 would be promoted, 1 superseded; --apply" in plan.stderr
    assert operations(nacre) == before
    report = nacre.json("consolidate")
    assert (report["due"], report["reason"]) == (
        False,
        "3 memories in the short term; consolidating is due from 100 on",
    )
    assert (report["memories_promoted"], report["memories_archived"], report["memories_skipped"]) == (1, 1, 1)
    assert report["cluster_summaries"][0]["source_ids"] == ["loud", "quiet"]
    assert "quiet" in nacre.ok("consolidate", "-f", "table")


@pytest.mark.parametrize("hard", [False, True])
def test_a_consolidation_is_one_act_and_undo_takes_it_back(nacre: CommandLine, hard: bool) -> None:
    remember_twins(nacre)
    before = operations(nacre)
    words = ["consolidate", "--apply", *(["--hard"] if hard else [])]
    if hard:
        refused = nacre(*words, input="n\n")
        assert (
            refused.exit_code == 2
            and "Promote 1 memory and remove 1?" in refused.stderr
            and operations(nacre) == before
        )
    done = nacre(*words, "--yes")
    assert f"1 promoted, 1 {'removed' if hard else 'superseded'}; `nacre undo`" in done.stderr
    assert operations(nacre) == before + 1 and nacre.json("show", "loud")["status"] == "long_term"
    assert nacre("show", "quiet").exit_code == (1 if hard else 0)
    nacre.ok("undo")
    assert nacre.json("show", "loud")["status"] == "short_term" and nacre.json("show", "quiet")["superseded_by"] == ""


def test_what_is_new_or_worth_little_stays(nacre: CommandLine) -> None:
    nacre.ok("remember", "just now")
    assert "Nothing in the short term is older than 1 h" in nacre("consolidate", "--apply").stderr
    remember_twins(nacre)
    assert "Of 3 memories none is worth 0.99" in nacre("consolidate", "--threshold", "0.99").stderr
    assert len(nacre.ok("consolidate", "--threshold", "0").splitlines()) == 2
