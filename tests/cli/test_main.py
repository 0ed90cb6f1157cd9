"""The command as a process: what it imports, its streams, its end."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from nacre.cli.catalogue import COMMANDS, OLD_NAMES, SECTIONS
from tests import forked
from tests.cli.terminal import PATIENCE, conversation
from tests.command_line import CommandLine
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nacre"
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
FIRST_SCREEN = [section for section in SECTIONS if section.first_screen]
HEAVY = ("numpy", "apsw", "rich", "onnxruntime", "asyncio", "nacre.memory_store", "nacre.cli.commands")


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("init", "the first `nacre remember TEXT` makes the store"),
        ("status", "`nacre stats` counts"),
        ("review list", "`nacre review` alone lists"),
        ("graph entities list", "`nacre graph entities` alone lists"),
        ("graph entities Ada", "`nacre graph entities about Ada` lists the memories"),
        ("graph entities abuot", "Did you mean 'about'?"),
        ("list Ada lovelace", "`nacre recall 'Ada lovelace'` finds memories, `nacre list --tag Ada` those"),
    ],
)
def test_what_a_newcomer_types_is_answered_with_the_command_for_it(nacre: CommandLine, words: str, remedy: str) -> None:
    refused = nacre(*words.split())
    assert refused.exit_code == 2 and remedy in " ".join(refused.stderr.split())


@pytest.mark.parametrize("group", ["review", "graph entities", "store backup", "hook", "token", "memory"])
def test_a_line_of_the_help_of_a_group_does_not_end_in_dots(nacre: CommandLine, group: str) -> None:
    commands = nacre.ok(*group.split(), "--help").partition("Commands:")[2].splitlines()
    assert commands and [line for line in commands if line.rstrip().endswith("...")] == []


def test_help_imports_nothing_heavy_and_no_command() -> None:
    code = (
        "import sys\nfrom nacre.cli.main import nacre\nnacre.main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(entry.name in done.stdout for section in FIRST_SCREEN for entry in section.entries)


def test_the_first_screen_has_few_commands_in_five_groups_and_an_example(nacre: CommandLine) -> None:
    result = nacre()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    shown = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("  nacre ")]
    assert 12 <= len(shown) <= 18 and set(shown) <= set(COMMANDS)
    assert [line for line in lines if line.endswith(":")] == [f"{section.title}:" for section in FIRST_SCREEN]
    assert len([line for line in lines if line.startswith("  nacre ")]) == 3
    assert "`nacre help --all`" in result.stdout and "wait" not in lines[-1]


def test_the_example_of_the_first_screen_works(nacre: CommandLine) -> None:
    examples = [line.strip() for line in nacre.ok().splitlines() if line.startswith("  nacre ")]
    for line in examples:
        nacre.ok(*shlex.split(line)[1:])
    assert nacre.json("list") == []


def test_the_first_screen_says_how_many_review_items_wait(nacre: CommandLine) -> None:
    nacre.ok("remember", "The office closes at six.", "--id", "a")
    nacre.ok("remember", "Pears ripen in September.", "--id", "b")
    nacre.ok("graph", "link", "a", "b", "--relation", "hinders")  # a new relation waits to be confirmed
    assert nacre.ok("memory", "validate", "a") == nacre.ok("memory", "validate", "b") == ""
    says = "1 review item waits for you (names that may be one are not counted); `nacre review` asks about them."
    assert nacre.ok().splitlines()[-1] == says


def test_the_first_screen_comes_up_where_the_store_cannot_be_read(nacre: CommandLine) -> None:
    nacre.store.write_bytes(b"no store at all" * 100)
    result = nacre()
    assert result.exit_code == 0 and "remember" in result.stdout and "wait" not in result.stdout.splitlines()[-1]


def test_help_lists_every_command_and_explains_one(nacre: CommandLine) -> None:
    listed = nacre.ok("help", "--all")
    assert [path for path in (*COMMANDS, *OLD_NAMES.values()) if f"  {path} " not in listed] == []
    assert nacre.ok("help", "graph", "link") == nacre.ok("graph", "link", "--help")
    assert nacre.ok("help", "store") == nacre.ok("store", "--help")
    result = nacre("help", "graph", "xyzzy")
    assert result.exit_code == 2 and "No such command 'graph xyzzy'" in result.stderr


@pytest.mark.parametrize(("old", "path"), OLD_NAMES.items())
def test_an_older_name_still_works_and_is_not_listed(nacre: CommandLine, old: str, path: str) -> None:
    assert old not in COMMANDS and old in nacre.ok(old, "--help").splitlines()[0]
    assert nacre.ok(old, "--help").partition("\n")[2] == nacre.ok(*path.split(), "--help").partition("\n")[2]


def test_no_text_names_a_command_by_its_older_name() -> None:
    """Hints, errors, prompts for models and the documentation."""
    names = "|".join(sorted(map(re.escape, OLD_NAMES), key=len, reverse=True))
    older = re.compile(rf"(?<![-.@/\w])nacre (?:--(?:store|space) \S+ )*({names})(?![\w.-])")
    files = [*SOURCE.rglob("*"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    texts = {file: file.read_text("utf-8") for file in files if file.suffix in (".py", ".md", ".txt", ".toml", ".html")}
    page = ROOT / "docs" / "reference" / "cli.md"
    texts[page] = texts[page].partition("## Older names")[0]
    assert [(file.name, match[0]) for file, text in texts.items() for match in older.finditer(text)] == []


@pytest.mark.parametrize(
    ("older", "now"),
    [
        (["graph", "link", "a", "b", "--rel", "causes", "--why", "seen"], "graph link"),
        (["graph", "neighbors", "a", "--rel", "causes"], "graph neighbors"),
        (["journal", "tail", "--act", "remember"], "journal tail"),
        (["lesson", "list", "--tags", "x,y", "--contexts", "z"], "lesson list"),
    ],
)
def test_older_spellings_of_options_are_understood_and_not_shown(
    nacre: CommandLine, older: list[str], now: str
) -> None:
    nacre.ok("remember", "The pump failed.", "--id", "a")
    nacre.ok("remember", "The cellar is wet.", "--id", "b")
    assert nacre(*older).exit_code == 0
    help = nacre.ok(*now.split(), "--help").split()
    assert not {word.rstrip(",") for word in help} & {"--rel", "--why", "--act", "--tags", "--contexts"}


def test_an_older_option_has_the_effect_of_the_new_one(nacre: CommandLine) -> None:
    for id, text in zip("abcd", ("Rain fell.", "The cellar is wet.", "Bread is up.", "Ada has a dog."), strict=True):
        nacre.ok("remember", text, "--id", id)
    nacre.ok("graph", "link", "a", "b", "--rel", "causes", "--why", "seen")
    nacre.ok("graph", "link", "c", "d", "--relation", "causes", "--reason", "seen")
    assert [each["rel"] for each in nacre.json("graph", "neighbors", "a")] == ["causes"]
    entries = nacre.json("journal", "--operation", "link")
    assert [each["why"] for each in entries] == ["seen", "seen"]


@pytest.mark.parametrize(
    ("typed", "path"), [("lnik", "graph link"), ("bakup", "store backup"), ("spacs", "space list")]
)
def test_a_mistyped_name_of_a_grouped_command_leads_to_its_group(nacre: CommandLine, typed: str, path: str) -> None:
    assert f"Did you mean {path!r}?" in nacre(typed).stderr


def test_a_mistyped_name_within_a_group_names_the_nearest(nacre: CommandLine) -> None:
    assert "Did you mean 'archive'?" in nacre("memory", "archve", "x").stderr
    assert "`nacre memory --help` lists them all." in nacre("memory", "purg", "x").stderr


def test_a_group_imports_only_the_module_of_the_command_that_runs() -> None:
    code = (
        "import sys\nfrom nacre.cli.main import nacre\nnacre.main(['store', '--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('nacre.cli.commands.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['nacre.cli.commands.store']"
    assert "migrate" in done.stdout and "encrypt" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(nacre: CommandLine, command: str) -> None:
    assert "Usage: nacre" in nacre.ok(command, "--help")


def test_an_unknown_command_names_the_nearest(nacre: CommandLine) -> None:
    assert "Did you mean 'recall'" in nacre("recal", "x").stderr
    result = nacre("xyzzy")
    assert result.exit_code == 2 and "nacre --help" in result.stderr


@pytest.mark.parametrize("typed", ["redac", "purg", "redact-all"])
def test_a_command_that_deletes_for_good_is_never_suggested(nacre: CommandLine, typed: str) -> None:
    stderr = nacre(typed, "x").stderr
    assert f"No such command {typed!r}" in stderr and "'redact'" not in stderr and "'purge'" not in stderr


def test_who_looks_for_redo_learns_how_to_undo_an_undo(nacre: CommandLine) -> None:
    nacre.ok("remember", "kept after all", "--id", "x")
    nacre.ok("undo")
    result = nacre("redo")
    assert result.exit_code == 2 and "`nacre undo OPERATION` undoes an undo too; `nacre journal` shows" in result.stderr
    nacre.ok("undo", nacre.json("journal", "-n", "1")[0]["batch"])
    assert [each["id"] for each in nacre.json("list")] == ["x"]


def test_what_help_says_about_an_unknown_name_is_what_its_group_says(nacre: CommandLine) -> None:
    assert "`nacre undo OPERATION`" in nacre("help", "redo").stderr
    assert "`nacre --version`" in nacre("help", "version").stderr
    assert "`nacre trash restore` is for lessons too" in nacre("help", "lesson", "restore").stderr
    for words in (["lesson", "redo"], ["help", "lesson", "redo"], ["graph", "redo"]):
        assert "nacre undo" not in nacre(*words).stderr, words
    assert "`nacre help --all` lists them all." in nacre("xyzzy").stderr


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("find", "recall"),
        ("search", "recall"),
        ("add", "remember"),
        ("rm", "forget"),
        ("delete", "forget"),
        ("remove", "forget"),
        ("ls", "list"),
        ("get", "show"),
    ],
)
def test_a_name_from_other_programs_names_the_command_that_does_it(nacre: CommandLine, typed: str, named: str) -> None:
    result = nacre(typed, "x")
    assert result.exit_code == 2 and f"No such command {typed!r}. `nacre {named}" in result.stderr


def test_the_version_is_printed(nacre: CommandLine) -> None:
    assert nacre.new_interpreter("--version").stdout.startswith("nacre ")


@pytest.mark.slow
def test_a_memory_passes_from_one_process_to_the_next(nacre: CommandLine) -> None:
    id = nacre.new_interpreter("remember", "from one process").stdout.strip()
    (matches,) = json.loads(nacre.new_interpreter("recall", "process", "-f", "json").stdout)
    assert (matches["id"], matches["text"]) == (id, "from one process")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_reason_to_complain(nacre: CommandLine) -> None:
    nacre.ok("remember", "x", "--id", "x")
    read, write = os.pipe()
    os.close(read)
    done = nacre.new_interpreter("list", capture_output=False, stdout=write, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")
    for words in (["list", "-f", "json"], ["list", "-f", "table"], ["show", "x"]):
        with TemporaryFile() as nothing, TemporaryFile() as err:
            process = forked.start(words, streams=(nothing.fileno(), write, err.fileno()))
            assert process.wait(PATIENCE) == 141, words
            assert err.seek(0, os.SEEK_END) == 0
    os.close(write)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_of_a_terminal_is_a_crash(nacre: CommandLine, encoding: str) -> None:
    nacre.ok("remember", "中文 é 😀", "--id", "x")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["list", "-f", "table"], ["show", "x"], ["pack", "é"], ["list", "-f", "json"]):
        done = nacre.process(*words, env=environment, encoding=encoding)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["text"] == "中文 é 😀"
    assert nacre.new_interpreter("list", env=environment, encoding=encoding).returncode == 0


def test_a_terminal_gets_a_coloured_table(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty")
    seen, _ = conversation("list")
    assert DATE.search(seen) and "\x1b[" in seen


def test_no_color_means_a_table_without_colour(nacre: CommandLine) -> None:
    id = "abcdef12-aaaa-4bbb-8ccc-123456789abc"
    nacre.ok("remember", "the sea is salty", "--id", id)
    for words in (["list"], ["show", "abc"], ["doctor"]):
        seen, _ = conversation(*words, NO_COLOR="1")
        assert "\x1b[3" not in seen
        assert words != ["list"] or (DATE.search(seen) and id not in seen)


@pytest.mark.slow
@pytest.mark.usefixtures("nacre")
def test_ctrl_c_ends_with_130_and_one_word() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre", "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"The ferry")
    process.stdin.flush()
    pipe = process.stdin.fileno()
    wait_for(lambda: not unread(pipe), "the reading of the input")  # it has begun to read when nothing is left
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, b"", b"nacre: stopped.\n")


def unread(pipe: int) -> int:
    """How many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--limt", "3"], "Did you mean '--limit'?"),
        (["list", "--json"], "Write `-f json`."),
        (["version"], "`nacre --version` prints the version."),
        (["store", "bakup"], "Did you mean 'backup'?"),
        (["help", "store", "bakup"], "Did you mean 'store backup'?"),
        (["config", "set", "recall_k", "3"], "`nacre config list` has them all."),
        (["--spce", "work", "list"], "Did you mean '--space'?"),
    ],
)
def test_a_mistyped_word_is_answered_with_what_was_meant(nacre: CommandLine, words: list[str], said: str) -> None:
    result = nacre(*words)
    assert result.exit_code == 2 and said in result.stderr and "lesson" not in result.stderr


@pytest.mark.parametrize("group", ["store", "maintenance", "config", "memory", "mind", "lesson", "user"])
def test_a_group_without_a_command_prints_its_help(nacre: CommandLine, group: str) -> None:
    result = nacre(group)
    assert (result.exit_code, result.stderr) == (0, "") and result.stdout.strip() == nacre.ok(group, "--help").strip()
    assert nacre(group, "xyzzy").exit_code == 2


def test_an_id_that_is_not_in_the_trash_names_the_list_of_the_trash(nacre: CommandLine) -> None:
    nacre.ok("remember", "Plums are blue.")
    assert "`nacre trash list` shows the ids" in nacre("trash", "restore", "zz").stderr


def test_undo_says_what_is_left_to_undo(nacre: CommandLine) -> None:
    assert "Nothing has been done in this space yet" in nacre("undo").stderr
    nacre.ok("remember", "Plums are blue.", "--id", "a")
    nacre.ok("remember", "Pears are green.", "--id", "b")
    batch = nacre.json("journal", "-n", "1")[0]["batch"]
    nacre.ok("memory", "purge", "a", "-y")
    assert f"`nacre undo {batch[:8]}` undoes the remember before it" in nacre("undo").stderr
