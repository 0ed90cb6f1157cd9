"""Export and import of lessons on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine

ADDRESS = "@".join(("olga", "example.org"))


@pytest.fixture
def book(nacre: CommandLine) -> CommandLine:
    lessons = (("one", "git,ci"), ("two", "sensitive.pay"), ("three", "api.jira"))
    return nacre.after(
        *(
            ("lesson", "add", "--title", f"Lesson {id}", "--content", f"Ask {ADDRESS} of {id}", "--tags", tags,
             "--id", id)
            for id, tags in lessons
        ),
        ("lesson", "link", "one", "three", "--relation", "example_of"),
    )  # fmt: skip


def ids(nacre: CommandLine, *words: str) -> set[str]:
    return {each["id"] for each in nacre.json(*words, "lesson", "list")["data"]}


@pytest.mark.parametrize("name", ["lessons.json", "lessons.yaml"])
def test_what_is_exported_to_a_file_is_imported_elsewhere(book: CommandLine, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    assert f"Wrote 3 lessons to {file}." in book("lesson", "export", "-o", str(file), "--no-redact").stderr
    would = book("--space", "other", "lesson", "import", str(file), "--dry-run")
    assert "3 new, 0 changed, 0 unchanged" in would.stderr and "--dry-run" in would.stderr
    assert book("--space", "other", "lesson", "list").exit_code == 1, "there is still no such space"
    done = book("--space", "other", "lesson", "import", str(file))
    assert done.exit_code == 0 and "3 new" in done.stderr and "`nacre --space other undo`" in done.stderr
    lesson = book.json("--space", "other", "lesson", "show", "one")["data"]
    assert (lesson["content"], lesson["tags"]) == (f"Ask {ADDRESS} of one", ["git", "ci"])
    assert lesson["links"][0]["relation"] == "example_of"


def test_stdout_and_stdin_carry_lessons_between_processes(book: CommandLine) -> None:
    written = book.process("lesson", "export", "--format", "yaml", "--tags", "git")
    assert written.returncode == 0 and written.stdout.startswith("format: nacre-lessons")
    read = book.process("--space", "other", "lesson", "import", input=written.stdout)
    assert (read.returncode, read.stdout) == (0, "") and "1 new" in read.stderr
    assert ids(book, "--space", "other") == {"one"}


def test_sensitive_tags_and_personal_data_stay_at_home(book: CommandLine) -> None:
    result = book("lesson", "export", "--exclude-tags", "sensitive,pii")
    rendered = json.loads(result.stdout)
    assert {each["id"] for each in rendered["lessons"]} == {"one", "three"}
    assert ADDRESS not in result.stdout and "--no-redact" in result.stderr
    assert ADDRESS in book("lesson", "export", "--no-redact").stdout


@pytest.mark.parametrize(("policy", "title"), [("skip", "Changed here"), ("overwrite", "Lesson one")])
def test_what_is_here_already_is_treated_as_asked(book: CommandLine, tmp_path: Path, policy: str, title: str) -> None:
    file = tmp_path / "lessons.json"
    book.ok("lesson", "export", "-o", str(file), "--no-redact")
    book.ok("lesson", "edit", "one", "--title", "Changed here")
    rendered = book.json("lesson", "import", str(file), "--on-existing", policy)
    assert rendered["success"] and rendered["data"]["new"] == 0
    assert book.json("lesson", "show", "one")["data"]["title"] == title


def test_one_that_is_here_can_be_a_fault(book: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "lessons.json"
    book.ok("lesson", "export", "-o", str(file))
    result = book("lesson", "import", str(file), "--on-existing", "error")
    assert result.exit_code == 2 and "exists already" in result.stderr
    book.ok("memory", "redact", "one", "--yes")
    refused = book("lesson", "import", str(file), "--on-existing", "error").stderr
    assert "'one' was redacted; choose skip" in refused and "overwrite" not in refused


def test_what_is_no_file_of_lessons_is_refused_in_one_sentence(book: CommandLine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"lessons": [')
    for words in (["import", str(broken)], ["import", str(tmp_path / "none.json")]):
        result = book("lesson", *words)
        assert result.exit_code == 2 and result.stderr.startswith("nacre: ") and result.stderr.count("\n") == 1
