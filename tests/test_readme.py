"""The examples of the README are run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.memory_store import MemoryStore

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.usefixtures("elsewhere")
def test_the_python_example_does_what_its_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    first, second, *_ = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(first + second, names)
    assert "(ruff / flake8)" in capsys.readouterr().out
    with MemoryStore("notes.db", embedder="hashing") as store:
        old = next(memory for memory in store.iterate(include_superseded=True) if "pylint" in memory.text)
        assert [(each.before, each.after) for each in store.history(old.id).transitions] == [
            ("pylint", "flake8"),
            ("flake8", "ruff"),
        ]
        assert store.journal(operation="undo") and store.edges(rel="related") == []
