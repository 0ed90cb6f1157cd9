"""Flag, environment, project file, user file, default: the first that speaks wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import ConfigError
from nacre.settings import Settings, converted, default_store, has_password, settings, without_password
from tests.trusting import trusted


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    file = tmp_path / "user" / "config.toml"
    file.parent.mkdir()
    file.write_text('space = "of-user"\nembedder = "hashing"\ndefault_type = "episodic"\n')
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    deep = tmp_path / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    trusted(tmp_path / "project" / ".nacre.toml", 'space = "of-project"\nstore = "memories.db"\n')
    return deep


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    found = settings(environment={}, folder=tmp_path, user_file=tmp_path / "none.toml")
    assert found == Settings(store=str(default_store()))


def test_each_source_overrules_the_ones_below_it(user_file: Path, folder: Path) -> None:
    def space(flags: dict[str, object], environment: dict[str, str], at: Path) -> str:
        return settings(flags, environment=environment, folder=at, user_file=user_file).space

    assert space({"space": "of-flag"}, {"NACRE_SPACE": "of-environment"}, folder) == "of-flag"
    assert space({"space": None}, {"NACRE_SPACE": "of-environment"}, folder) == "of-environment"
    assert space({}, {"NACRE_SPACE": "  "}, folder) == "of-project"
    assert space({}, {}, user_file.parent) == "of-user"


def test_what_a_nearer_source_does_not_say_comes_from_the_farther_one(user_file: Path, folder: Path) -> None:
    found = settings(
        {"agent": "vi"}, environment={"NACRE_DEFAULT_IMPORTANCE": "0.25"}, folder=folder, user_file=user_file
    )
    assert (found.agent, found.default_importance, found.space) == ("vi", 0.25, "of-project")
    assert (found.embedder, found.default_type) == ("hashing", "episodic")


def test_a_variable_that_is_not_a_setting_is_named_with_the_nearest_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('key = "env:NACRE_OWN_KEY"\n', "utf-8")
    environment = {"NACRE_SCOPE_QUOTA": "1", "NACRE_OWN_KEY": "x", "NACRE_HOOK_LIMIT": "2", "NACRE_SPACE": "here"}
    said: list[str] = []
    found = settings(environment=environment, folder=tmp_path, user_file=tmp_path / "own.toml", notify=said.append)
    assert found.space == "here"
    assert said == [
        "NACRE_SCOPE_QUOTA is ignored, because 'scope_quota' is not a setting; did you mean 'scope_quota_mb'?"
    ]


def test_a_path_in_a_file_is_meant_from_where_the_file_lies(folder: Path, user_file: Path) -> None:
    found = settings(environment={}, folder=folder, user_file=user_file)
    assert found.store == str(folder.parent.parent / "memories.db")


def test_in_memory_in_a_file_stays_in_memory(tmp_path: Path) -> None:
    trusted(tmp_path / ".nacre.toml", 'store = ":memory:"')
    assert settings(environment={}, folder=tmp_path, user_file=tmp_path / "none").store == ":memory:"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("spce = 'x'", "did you mean 'space'\\?$"),
        ("decay_rate = 'much'", "not a number"),
        ("decay_rate = inf", "a number from 0 on"),
        ("trash_days = -1", "a number from 0 on"),
        ("retain_max_count = 0.5", "a whole number"),
        ("default_importance = nan", "from 0 to 1"),
        ("min_trust = 2", "from 0 to 1"),
        ("space = 5", "in quotes"),
        ("space = ", "cannot be read"),
        ("[table]\nx = 1", "not a setting"),
        (f"decay_rate = 1{'0' * 400}", "not a number"),
        (f"decay_rate = 1{'0' * 5000}", "cannot be read"),
        ("store = '~nobody-of-that-name/x.db'", "home folder"),
    ],
)
def test_a_setting_that_cannot_be_read_names_its_file_and_key(tmp_path: Path, written: str, said: str) -> None:
    own = tmp_path / "config.toml"
    own.write_text(written)
    with pytest.raises(ConfigError, match=said) as caught:
        settings(environment={}, folder=tmp_path, user_file=own)
    assert "config.toml" in str(caught.value)


def test_an_unreadable_number_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="NACRE_DECAY_RATE"):
        settings(environment={"NACRE_DECAY_RATE": "lots"}, folder=tmp_path, user_file=tmp_path / "none")


def test_a_key_file_is_meant_from_where_the_settings_lie_and_other_keys_stay_as_they_are(tmp_path: Path) -> None:
    def key(written: str) -> str:
        trusted(tmp_path / ".nacre.toml", f"key = {written!r}")
        return settings(environment={}, folder=tmp_path, user_file=tmp_path / "none").key

    assert key("file:keys/own.key") == f"file:{tmp_path / 'keys' / 'own.key'}"
    assert key("file:/etc/own.key") == f"file:{Path('/etc/own.key')}"
    assert [key(other) for other in ("env:MINE", "keyring:mine", "file:", "")] == [
        "env:MINE",
        "keyring:mine",
        "file:",
        "",
    ]


def test_a_key_written_where_it_does_not_belong_is_not_repeated(tmp_path: Path) -> None:
    own = tmp_path / "config.toml"
    own.write_text("key = 123456789")
    with pytest.raises(ConfigError, match="sets key") as caught:
        settings(environment={}, folder=tmp_path, user_file=own)
    assert "123456789" not in str(caught.value)


@pytest.mark.parametrize(("value", "tokens"), [("true", 500.0), ("off", 0.0), ("0", 0.0), ("80", 80.0), ("1", 1.0)])
def test_the_tokens_of_a_hook_are_a_number_or_a_switch(value: str, tokens: float) -> None:
    assert converted("hook_inject", value, "x") == tokens


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:{}@db/mem", "postgresql://ada@db/mem"),
        ("postgresql://ada:{}@x@db/mem?application_name=a@b", "postgresql://ada@db/mem?application_name=a@b"),
        ("postgresql://db/mem?user=ada&password={}&sslmode=require", "postgresql://db/mem?user=ada&password=…&sslmode=require"),
        ("postgresql://db/mem?sslpassword={}", "postgresql://db/mem?sslpassword=…"),
        ("postgresql://db/mem?pass%77ord={}&sslmode=require", "postgresql://db/mem?pass%77ord=…&sslmode=require"),
        ("postgresql://db/mem?PASSWORD={}", "postgresql://db/mem?PASSWORD=…"),
        ("host=db password='{} two' user=ada", "host=db password=… user=ada"),
        ("https://ada:{}@memory.example.org/", "https://ada@memory.example.org/"),
        ("https://ada[1]:{}@memory.example.org/", "https://ada[1]@memory.example.org/"),
        ("postgresql://[ada:{}@db/mem", "postgresql://[ada@db/mem"),
        ("postgresql://ada:{}@[::1]:5432/mem", "postgresql://ada@[::1]:5432/mem"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    password = "-".join(("not", "a", "real", "one"))
    assert has_password(address.format(password)) and without_password(address.format(password)) == shown
    assert without_password(shown.replace("…", "")) == shown.replace("…", "") and not has_password(
        shown.replace("…", "")
    )
    assert "PASSWORD" in without_password(address.format(password), "PASSWORD")


@pytest.mark.parametrize(
    "address",
    [
        "http://host:8080/path/@team",
        "https://host:8443/x?mail=ada@example.org",
        "https://host:8443?mail=ada@example.org",
        "https://host:8443#@here",
        "http://[::1]:8080/@team",
        "postgresql://one,[fe80::1%eth0]:5432/mem?user=ada@example",
        "postgresql://one:5432/mem@home",
        "postgresql://one:5432,two:5433/mem?user=ada@example",
    ],
)
def test_a_port_before_an_at_sign_is_no_password(address: str) -> None:
    assert not has_password(address) and without_password(address) == address


@pytest.mark.parametrize("password", ["1234", "12,34", "5432@x", "a/b", "2024#x", "12?x", "12,x?y", "12/x"])
def test_a_password_of_digits_or_with_signs_is_hidden(password: str) -> None:
    shown = without_password(f"postgresql://ada:{password}@host:5432/mem")
    assert password not in shown and shown.startswith("postgresql://ada@")
