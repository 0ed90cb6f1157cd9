"""How memories fade, drawn: in the terminal, as SVG, as figures."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.aged_memories import opened
from tests.command_line import CommandLine


def test_without_ids_three_examples_are_plotted(nacre: CommandLine) -> None:
    asked = ["decay", "plot", "--model", "simple", "--decay-rate", "0.02"]
    assert nacre.ok(*asked).splitlines()[-1] == "importance 0.1\t0.10\t0.02\tbelow 0.05 on day 35"
    drawn = nacre.ok(*asked, "-f", "table").splitlines()
    assert max(map(len, drawn)) <= 80
    assert [line.split("  ")[0] for line in drawn[1:]] == ["importance 0.9", "importance 0.5", "importance 0.1"]
    assert "▇▇▆▆▅" in drawn[1]


def test_named_memories_are_plotted_with_what_protects_them(nacre: CommandLine) -> None:
    for id in ("plain", "pinned", "tied", "rule"):
        words = ["-t", "procedural"] if id == "rule" else ["--pin"] if id == "pinned" else []
        nacre.ok("remember", f"a text that is {id}", "--id", id, *words)
    nacre.ok("link", "plain", "tied")
    plotted = nacre.json("decay", "plot", "plain", "pinned", "tied", "rule", "--days", "10")
    assert [each["stays"] for each in plotted["curves"]] == [
        "",
        "pinned: stays",
        "linked to: stays",
        "procedural: stays",
    ]
    plain, pinned, tied, _ = (each["points"] for each in plotted["curves"])
    assert plain[0][0] == 0 and plain[-1][0] == 10 and pinned[-1][1] == 1.0
    assert tied[-1][1] > plain[-1][1], "what is tied to lasts longer"
    drawn = nacre.ok("decay", "plot", "plain", "pinned")
    assert "plain a text that is plain\t0.50\t0.39\t" in drawn and "\t1.00\t1.00\tpinned: stays" in drawn


def test_the_model_the_rate_and_the_floor_can_be_chosen(nacre: CommandLine) -> None:
    asked = ["--model", "simple", "--decay-rate", "0.1", "--min-score", "0.2", "--days", "30"]
    result = nacre.json("decay", "plot", "--importance", "0.9", *asked)
    assert (result["model"], result["decay_rate"], result["min_score"], result["days"]) == ("simple", 0.1, 0.2, 30)
    (curve,) = result["curves"]
    assert curve["points"][-1][1] == pytest.approx(0.9 * 2.718281828 ** (-3), abs=1e-4)
    assert "below 0.2 on day 16" in nacre.ok("decay", "plot", "--importance", "0.9", *asked)
    assert "below already" in nacre.ok("decay", "plot", "--importance", "0.1", *asked)
    several = nacre.json("decay", "plot", "--importance", ".9,.5", "--importance", "0.2")["curves"]
    assert [each["points"][0][1] for each in several] == [0.9, 0.5, 0.2]


def test_a_terminal_without_dots_gets_plain_signs(nacre: CommandLine) -> None:
    done = nacre.process("decay", "plot", "-f", "table", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and "*****" in done.stdout and "\\u" not in done.stdout


@pytest.mark.slow
def test_a_plot_is_written_to_a_file(nacre: CommandLine, tmp_path: Path) -> None:
    with opened(nacre) as store:
        store.remember("a <tag> & \x1b[31mred\x1b[0m text", id="odd")
    file = tmp_path / "fades.svg"
    result = nacre("decay", "plot", "odd", "-o", str(file))
    assert result.exit_code == 0 and "Drew 1 curve to" in result.stderr and result.stdout == ""
    assert any("a <tag> & red text" in (each.text or "") for each in ElementTree.parse(file).iter())


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        (["--importance", "2"], 2, "0<=x<=1"),
        (["--importance", "high"], 2, "not a valid float"),
        (["--importance", "nan"], 2, "not a finite number"),
        (["--days", "0"], 2, "0"),
        (["--days", "inf"], 2, "inf"),
        (["-o", "fades.gif"], 2, ".svg or .png"),
        (["zzzz"], 1, "No memory 'zzzz'"),
    ],
)
def test_what_cannot_be_plotted_is_reported(nacre: CommandLine, words: list[str], code: int, output: str) -> None:
    result = nacre("decay", "plot", *words)
    assert result.exit_code == code and output in result.stderr


@pytest.mark.parametrize(
    ("words", "option", "advice"),
    [
        (["decay", "plot", "--importance", "2"], "--importance", "2.0 is not in the range"),
        (["audit", "--confidence", "foo"], "--confidence", "'foo' is not a range of confidence; write"),
        (["fade", "--half-life", "3x"], "--half-life", "'3x' is not a duration; write 12h, 30d or 8w."),
        (["retain", "--compress-older-than", "90"], "--compress-older-than", "write 12h, 30d or 8w."),
        (["trash", "empty", "--older-than", "30x"], "--older-than", "'30x' is not a duration; write 12h, 30d or 8w."),
        (["trash", "empty", "--older-than", "1e999d"], "--older-than", "write 12h, 30d or 8w."),
    ],
)
def test_a_wrong_value_names_its_option_and_the_usage(
    nacre: CommandLine, words: list[str], option: str, advice: str
) -> None:
    result = nacre(*words)
    assert result.exit_code == 2 and result.stderr.startswith("Usage: nacre ")
    assert f"Invalid value for '{option}': " in result.stderr and advice in result.stderr


def test_a_place_that_is_not_there_is_reported(nacre: CommandLine) -> None:
    done = nacre.process("decay", "plot", "-o", "nowhere/fades.svg")
    assert (done.returncode, done.stderr) == (4, "nacre: No such file or directory: nowhere/fades.svg\n")


def test_without_a_subcommand_the_scores_are_listed(nacre: CommandLine) -> None:
    nacre.ok("remember", "the weir is low", "--id", "weir")
    assert nacre.ok("maintenance", "decay") == nacre.ok("maintenance", "decay", "scores")
    assert [each["id"] for each in nacre.json("decay", "--weakest")] == ["weir"]
