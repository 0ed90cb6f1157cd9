"""The examples for Python do what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.memory_store import MemoryStore

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "python.md"


@pytest.mark.usefixtures("elsewhere")
def test_the_python_example_does_what_its_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    first, second, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(first + second, names)
    assert "(judged by reading both: new 'ruff', old 'flake8')" in capsys.readouterr().out
    with MemoryStore("notes.db", embedder="hashing") as store:
        old = next(memory for memory in store.iterate(include_superseded=True) if "pylint" in memory.text)
        assert [(each.before, each.after) for each in store.history(old.id).transitions] == [
            ("pylint", "flake8"),
            ("flake8", "ruff"),
        ]
        assert store.journal(operation="undo") and store.edges(rel="related") == []
