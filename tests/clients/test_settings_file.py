"""One setting changes in a file of settings; every other line stays as it was written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.clients import toml
from nacre.clients.settings_file import set_value, unset
from nacre.errors import ConfigError
from nacre.settings import from_file

FULL = '''# mine, all of it

store = "notes.db"   # beside this file
agent = """
nano
"""
"decay_rate"=0.5
# of nobody
[spaces.work]  # by day
decay_rate = 0.1

[spaces."at home"]
trash_days = 7
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(FULL, "utf-8")
    return tmp_path / "config.toml"


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("store", "other.db", 'store = "notes.db"   # beside this file', 'store = "other.db"   # beside this file'),
        ("decay_rate", "0.25", '"decay_rate"=0.5', '"decay_rate"=0.25'),
        ("agent", "vi", 'agent = """\nnano\n"""', 'agent = "vi"'),
        ("strict_links", "yes", '"decay_rate"=0.5\n', '"decay_rate"=0.5\nstrict_links = true\n'),
        ("spaces.work.decay_rate", "1", "decay_rate = 0.1", "decay_rate = 1"),
        ("spaces.at home.decay_rate", "1", "trash_days = 7\n", "trash_days = 7\ndecay_rate = 1\n"),
        ("spaces.new.trash_days", "2", "trash_days = 7\n", "trash_days = 7\n\n[spaces.new]\ntrash_days = 2\n"),
    ],
)
def test_only_the_one_line_changes(file: Path, key: str, value: str, old: str, new: str) -> None:
    set_value(file, key, value)
    assert file.read_text("utf-8") == FULL.replace(old, new)
    from_file(file)


def test_a_file_is_made_with_its_folder(tmp_path: Path) -> None:
    set_value(tmp_path / "deep" / "config.toml", "space", "work")
    set_value(tmp_path / "deep" / "config.toml", "trash_days", "3.5")
    assert (tmp_path / "deep" / "config.toml").read_text("utf-8") == 'space = "work"\ntrash_days = 3.5\n'


def test_what_was_set_can_be_taken_out_again(file: Path) -> None:
    assert unset(file, "agent") and unset(file, "spaces.work.decay_rate")
    assert file.read_text("utf-8") == FULL.replace('agent = """\nnano\n"""\n', "").replace("decay_rate = 0.1\n", "")
    assert not unset(file, "agent")
    assert not unset(file.with_name("none.toml"), "agent")


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("decay_rate", "fast", "not a number"),
        ("strict_links", "perhaps", "true or false"),
        ("decay_rat", "1", "did you mean 'decay_rate'"),
        ("spaces.work.store", "x", "set it for the complete store"),
    ],
)
def test_impossible_edits_are_reported_and_nothing_is_written(file: Path, key: str, value: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        set_value(file, key, value)
    assert file.read_text("utf-8") == FULL


@pytest.mark.parametrize(
    "text",
    [
        "spaces.work.decay_rate = {}\n",
        "spaces = {{ work = {{ decay_rate = {} }} }}\n",
        "[spaces]\nwork.decay_rate = {}\n",
    ],
)
def test_a_setting_is_changed_however_its_table_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.toml").write_text(text.format("0.1"), "utf-8")
    set_value(tmp_path / "c.toml", "spaces.work.decay_rate", "0.2")
    assert (tmp_path / "c.toml").read_text("utf-8") == text.format("0.2")


def test_a_file_that_cannot_be_changed_safely_is_left_to_its_owner(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml, "assigned", lambda *_: "store = 'lost'\n")
    with pytest.raises(ConfigError, match="in an editor"):
        set_value(file, "agent", "vi")
    assert file.read_text("utf-8") == FULL


def test_a_file_that_cannot_be_read_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("store = ", "utf-8")
    with pytest.raises(ConfigError, match="cannot be read"):
        set_value(tmp_path / "c.toml", "space", "x")
    assert (tmp_path / "c.toml").read_text("utf-8") == "store = "


def test_a_secret_file_stays_secret(file: Path) -> None:
    file.chmod(0o600)
    set_value(file, "space", "x")
    assert file.stat().st_mode & 0o777 == 0o600


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["agent", "agent", "secrets_allow"]))
def test_any_text_comes_back_as_it_was_given(tmp_path_factory: pytest.TempPathFactory, value: str, key: str) -> None:
    file = tmp_path_factory.mktemp("any") / "c.toml"
    file.write_text(FULL, "utf-8")
    set_value(file, key, value)
    read = tomllib.loads(file.read_text("utf-8"))
    assert read[key] == value
    assert {**read, key: None} == {**tomllib.loads(FULL), key: None}
