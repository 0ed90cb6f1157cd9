"""Keys of services: where they may be kept, and who may read the file that holds one."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nacre.errors import ConfigError
from nacre.factory import make_embedder, make_language_model, service_key
from nacre.settings import Settings, settings
from tests.command_line import CommandLine
from tests.loopback import Loopback, serving

KEY = "made-up-" + "key-for-tests"
posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")


@pytest.fixture
def nacre(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "store.db")


@pytest.fixture
def own(elsewhere: Path) -> Path:
    return elsewhere / "config" / "nacre" / "config.toml"


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def kept_in_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    errors.KeyringError = RuntimeError  # type: ignore[attr-defined]
    fake.get_password = lambda service, name: KEY if (service, name) == ("nacre", "shop") else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", fake)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)


def test_a_key_is_found_in_the_environment_in_a_file_and_in_the_keyring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("SHOP_KEY", KEY)
    kept_in_keyring(monkeypatch)
    for value in (KEY, "env:SHOP_KEY", f"file:{tmp_path / 'key'}", "keyring:shop"):
        known = Settings(embedder_key=value, language_model_key=value)
        assert [service_key(known, name) for name in ("embedder_key", "language_model_key")] == [KEY, KEY]


@pytest.mark.parametrize("value", ["", "sk-plain", "env:", "other:place", "file:"])
def test_anything_else_is_the_key_itself(value: str) -> None:
    assert service_key(Settings(embedder_key=value), "embedder_key") == value


@pytest.mark.parametrize("value", ["env:NO_SUCH_VARIABLE", "file:/no/such/file", "keyring:none"])
def test_a_key_that_is_not_where_the_setting_says_is_one_clear_error(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_in_keyring(monkeypatch)
    with pytest.raises(ConfigError, match=r"language_model_key|keyring set nacre none"):
        make_language_model(Settings(language_model="openai:x", language_model_key=value), "It")


def test_the_service_gets_the_key_that_the_setting_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    rows = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}
    with serving(Loopback(lambda _body: rows)) as service:
        known = Settings(embedder="openai:x", embedder_url=service.url, embedder_key="env:SHOP_KEY")
        make_embedder(known).embed(["a text"])
    assert service.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_file_is_meant_from_where_the_settings_lie(own: Path) -> None:
    own.parent.mkdir(parents=True)
    own.write_text('embedder_key = "file:a.key"\n[spaces.x]\nlanguage_model_key = "file:b.key"\n')
    found = settings(environment={})
    assert found.embedder_key == f"file:{own.parent / 'a.key'}"
    assert found.for_space("x").language_model_key == f"file:{own.parent / 'b.key'}"


@posix_only
@pytest.mark.parametrize("key", ["language_model_key", "embedder_key", "spaces.work.language_model_key", "trash_days"])
def test_only_its_owner_can_read_the_users_own_file(nacre: CommandLine, own: Path, key: str) -> None:
    own.parent.mkdir(parents=True)
    own.write_text('space = "mine"\n')
    own.chmod(0o644)
    nacre.ok("config", "set", key, "7")
    assert mode(own) == 0o600


@posix_only
def test_a_projects_file_becomes_private_with_the_first_key_in_it(nacre: CommandLine, elsewhere: Path) -> None:
    file = elsewhere / ".nacre.toml"
    nacre.ok("config", "set", "--project", "hook_capture", "false")
    file.chmod(0o644)
    nacre.ok("config", "set", "--project", "embedder_key", "env:SHOP_KEY")
    assert mode(file) == 0o644
    nacre.ok("config", "set", "--project", "embedder_key", KEY)
    assert mode(file) == 0o600


def test_a_plain_key_is_taken_with_advice_and_a_named_one_without(nacre: CommandLine) -> None:
    assert "env:VARIABLE, file:PATH or keyring:NAME" in nacre("config", "set", "embedder_key", KEY).stderr
    assert "plain text" not in nacre("config", "set", "embedder_key", "env:SHOP_KEY").stderr
    assert "env:SHOP_KEY" in nacre.ok("config", "list", "--changed")
