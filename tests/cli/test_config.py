"""nacre config: what is set, by whom, and changing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.access.capabilities import ScopeLevel
from nacre.cli.commands.config import check_value, value_text
from nacre.engine.remember import POLICIES
from nacre.memory_store import MemoryStore
from nacre.remember.guard import PERSONAL_POLICIES, SECRET_POLICIES, SUSPICIOUS_POLICIES
from nacre.remember.suggest import IMPORTANCES
from nacre.settings import Settings, descriptions
from tests.command_line import CommandLine


@pytest.fixture
def own(elsewhere: Path) -> Path:
    return elsewhere / "config" / "nacre" / "config.toml"


def listed(nacre: CommandLine) -> dict[str, tuple[Any, str]]:
    return {each["key"]: (each["value"], each["source"]) for each in nacre.json("config", "list")}


def test_each_value_is_listed_with_its_source(nacre: CommandLine, own: Path, elsewhere: Path) -> None:
    nacre.ok("config", "set", "trash_days", "9")
    nacre.ok("config", "set", "--project", "decay_rate", "0.5")
    nacre.ok("trust", "--yes")
    nacre.ok("config", "set", "spaces.work.decay_rate", "0.25")
    result = listed(nacre)
    assert result["trash_days"] == (9.0, str(own))
    assert result["decay_rate"] == (0.5, str(elsewhere / ".nacre.toml"))
    assert result["spaces.work.decay_rate"] == (0.25, str(own))
    assert result["embedder"] == ("hashing", "NACRE_EMBEDDER")
    assert result["default_type"] == ("semantic", "default")
    assert set(Settings.__dataclass_fields__) - {"spaces"} <= set(result)
    assert nacre.json("config", "get", "space", "--space", "x") == {"key": "space", "value": "x", "source": "--space"}
    assert "default_type" not in nacre.ok("config", "list", "--changed")


def test_get_says_what_is_in_effect_in_the_space(nacre: CommandLine, own: Path) -> None:
    nacre.ok("config", "set", "trash_days", "9")
    nacre.ok("config", "set", "spaces.work.trash_days", "5")
    assert nacre.ok("config", "get", "trash_days") == "9"
    of_space = nacre("--space", "work", "config", "get", "trash_days")
    assert of_space.stdout == "5\n" and "for the space 'work' alone" in of_space.stderr.replace("\n", " ")
    expected = {"key": "spaces.work.trash_days", "value": 5.0, "source": str(own)}
    assert nacre.json("--space", "work", "config", "get", "trash_days") == expected


def test_a_setting_is_written_used_and_taken_out(
    nacre: CommandLine, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_SPACE")
    nacre.ok("config", "set", "space", "work")
    assert nacre.ok("config", "get", "space") == "work"
    assert nacre.json("stats")["space"] == "work"
    assert "It is empty now, the default." in nacre("config", "unset", "space").stderr
    assert nacre.ok("config", "get", "space") == ""
    assert nacre("config", "unset", "space").exit_code == 1
    assert own.read_text("utf-8") == ""


def test_a_type_that_the_store_has_learned_can_be_the_default(nacre: CommandLine) -> None:
    with MemoryStore(nacre.store, embedder="hashing") as store:
        store.register_type("recipe")
    nacre.ok("config", "set", "default_type", "recipe")
    assert nacre.json("show", nacre.ok("remember", "bread"))["type"] == "recipe"


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("decay_rat", "1", "did you mean 'decay_rate'"),
        ("decay_rate", "fast", "not a number"),
        ("secrets", "hide", "redact, refuse"),
        ("maintenance_every", "decay=often", "is not a duration"),
        ("embedder", "multilingul", "did you mean 'multilingual'"),
        ("backup_every", "often", "is not a duration"),
        ("default_importance", "7", "from 0 to 1"),
        ("default_type", "semantc", "did you mean 'semantic'"),
        ("space", "", "space is empty"),
        ("spaces.work.default_type", "foo", "memory type"),
        ("spaces.work.store", "x", "complete store"),
        ("spaces.work.xyzzy", "x", "nacre config list"),
    ],
)
def test_a_wrong_key_or_value_is_reported_and_not_written(
    nacre: CommandLine, own: Path, key: str, value: str, sentence: str
) -> None:
    refused = nacre("config", "set", key, value)
    assert refused.exit_code == 2 and sentence in refused.stderr
    assert not own.exists()
    assert nacre("config", "get", "decay_rat").exit_code == 2


def test_a_setting_that_another_source_overrides_is_reported(nacre: CommandLine) -> None:
    assert "NACRE_EMBEDDER wins" in nacre("config", "set", "embedder", "english").stderr


def test_the_key_of_a_service_is_not_listed(nacre: CommandLine) -> None:
    secret = "sk-" + "9f8e" * 6
    nacre.ok("config", "set", "embedder_key", secret)
    for form in ("table", "tsv", "json", "yaml"):
        assert secret not in nacre.ok("config", "list", "-f", form)
    assert nacre.ok("config", "get", "embedder_key") == secret


def test_only_the_password_of_an_address_is_hidden(nacre: CommandLine) -> None:
    allowed = "/password=[a-z]+/"
    assert f"to {allowed}; it was empty" in nacre("config", "set", "secrets_allow", allowed).stderr
    nacre.ok("config", "set", "embedder_url", "https://ada:sesame@host/v1")
    for form in ("tsv", "json"):
        listed = nacre.ok("config", "list", "-f", form)
        assert allowed in listed and "https://ada@host/v1" in listed and "sesame" not in listed


def test_the_paths_are_reported(nacre: CommandLine, own: Path, elsewhere: Path) -> None:
    assert nacre.ok("config", "path") == str(own)
    nacre.ok("config", "set", "--project", "space", "x")
    assert nacre.json("config", "path")["project"] == str(elsewhere / ".nacre.toml")


def test_the_words_are_those_that_the_parts_know() -> None:
    real = {
        "on_conflict": POLICIES,
        "secrets": SECRET_POLICIES,
        "personal_data": PERSONAL_POLICIES,
        "suspicious": SUSPICIOUS_POLICIES,
        "importance": IMPORTANCES,
        "scope": tuple(map(str, ScopeLevel)),
    }
    for key, words in real.items():
        assert set(descriptions()[key].values) == set(words), key


def test_every_setting_is_described(nacre: CommandLine) -> None:
    rendered = {each["key"]: each for each in nacre.json("config", "describe")}
    assert set(rendered) == set(Settings.__dataclass_fields__) - {"spaces"}
    assert all(each["about"].endswith(".") for each in rendered.values())
    assert all(each["example"] and each["type"] and each["group"] for each in rendered.values())
    assert len(rendered) < 45
    for key, each in rendered.items():
        check_value(key, each["example"])
        assert each["example"] != value_text(each["default"]), key
    assert "One of: redact, refuse, allow." in nacre.ok("config", "describe", "secrets")
    assert nacre("config", "describe", "secret").exit_code == 2


def test_a_change_names_the_new_value_and_the_old_one_but_no_secret(nacre: CommandLine) -> None:
    assert "now sets trash_days to 40; it was 30." in nacre("config", "set", "trash_days", "40").stderr
    assert "now sets trash_days to 50; it was 40." in nacre("config", "set", "trash_days", "50").stderr
    assert "now sets trash_days to 50.\n" in nacre("config", "set", "trash_days", "50").stderr
    assert (
        "now sets backup_folder to ~/copies; it was empty."
        in nacre("config", "set", "backup_folder", "~/copies").stderr
    )
    secret = "sk-" + "x" * 20
    said = nacre("config", "set", "embedder_key", secret)
    assert secret not in said.output


def test_a_key_and_a_mirror_are_said_to_exclude_each_other_where_the_store_is_plain(nacre: CommandLine) -> None:
    nacre.ok("config", "set", "journal_mirror", "mirror.jsonl")
    refused = nacre("config", "set", "key", "file:key")
    assert refused.exit_code and "The settings `key` and `journal_mirror` exclude each other" in refused.stderr
    assert "The store is encrypted" not in refused.stderr


@pytest.mark.parametrize(
    "key", ["a." * 20_000 + "a", "spaces.x." + "a." * 500 + "a", "x = {" + "'!' . " * 9_000 + "a = 1}\ny"]
)
def test_settings_nested_without_end_end_in_a_sentence(nacre: CommandLine, elsewhere: Path, key: str) -> None:
    (elsewhere / ".nacre.toml").write_text(f"{key} = 1\n")
    assert "is ignored, because a key in it has more than 20 dots" in nacre("config", "list").stderr
    assert nacre("config", "trust", "--yes").exit_code


@pytest.mark.parametrize(
    ("key", "lead"), [("backup_folder", ""), ("journal_mirror", ""), ("token", "file:"), ("key", "file:")]
)
def test_a_relative_path_starts_from_the_current_folder(
    nacre: CommandLine, own: Path, elsewhere: Path, key: str, lead: str
) -> None:
    path = elsewhere / "kept" / "here"
    result = nacre("config", "set", key, f"{lead}kept/here")
    assert result.exit_code == 0 and f"{own} now sets {key} to {lead}{path}" in result.stderr
    assert f'"{lead}{path}"' in own.read_text("utf-8")


def test_a_store_of_the_current_folder_is_the_one_that_is_opened_next(
    nacre: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre.ok("--store", "back.db", "remember", "the ferry leaves at nine", "--id", "ferry")
    monkeypatch.delenv("NACRE_STORE")
    nacre.ok("config", "set", "store", "back.db")
    assert [each["id"] for each in nacre.json("list")] == ["ferry"]


@pytest.mark.parametrize("value", ["", ":memory:", "postgresql://host/nacre", "https://host:8790", "/full/path.db"])
def test_what_is_no_relative_path_is_written_as_it_is(nacre: CommandLine, own: Path, value: str) -> None:
    nacre.ok("config", "set", "store", value)
    assert f'store = "{value}"' in own.read_text("utf-8")


def test_a_path_of_a_project_stays_relative_to_its_file(nacre: CommandLine, elsewhere: Path) -> None:
    nacre.ok("config", "set", "--project", "backup_folder", "kept")
    assert 'backup_folder = "kept"' in (elsewhere / ".nacre.toml").read_text("utf-8")


def test_a_negative_number_is_a_value_and_no_option(nacre: CommandLine) -> None:
    assert "decay_rate" in nacre("config", "set", "decay_rate", "-3").stderr
    assert "No such option" not in nacre("config", "set", "decay_rate", "-.5").stderr
    assert "No such option" in nacre("config", "set", "decay_rate", "--projekt").stderr


def test_what_the_user_writes_to_a_new_or_trusted_file_of_a_project_needs_no_further_consent(
    nacre: CommandLine, elsewhere: Path
) -> None:
    file = elsewhere / ".nacre.toml"
    assert "may not set" not in nacre("config", "set", "--project", "decay_rate", "0.5").stderr
    assert listed(nacre)["decay_rate"] == (0.5, str(file))
    nacre.ok("config", "set", "--project", "trash_days", "9")
    nacre.ok("config", "unset", "--project", "decay_rate")
    assert listed(nacre)["trash_days"] == (9.0, str(file))
    file.write_text(file.read_text() + "decay_rate = 0.25\n")  # by somebody else
    before = file.read_text()
    refused = nacre("config", "set", "--project", "trash_days", "8")
    assert refused.exit_code != 0 and "run `nacre config trust` there first" in refused.stderr
    assert (file.read_text(), listed(nacre)["trash_days"][1]) == (before, str(file))
    nacre.ok("config", "set", "--project", "hook_capture", "off")  # which any project may set
    assert listed(nacre)["decay_rate"][0] != 0.5
    nacre("config", "unset", "--project", "decay_rate")
    assert "has changed since you trusted it" in nacre("config", "list").stderr


@pytest.mark.parametrize(("key", "value"), [("rerank_ms", "fast"), ("trash_days", "never")])
def test_a_wrong_number_is_refused_with_the_default_as_an_example(nacre: CommandLine, key: str, value: str) -> None:
    assert f"Write {getattr(Settings(), key):g}, for example" in nacre("config", "set", key, value).stderr
