"""A setting names where the key is; what is wrong there is one sentence that tells no key."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nacre.errors import ConfigError
from nacre.storage.keys import LONGEST_FILE, make_key_file, named_key

SECRET = "walnut " + "under the snow"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "nacre.key"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    return file


def test_nothing_names_no_key() -> None:
    assert named_key("") == ""


def test_a_file_gives_its_text_without_the_end_of_the_line(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert named_key(f"file:{file}") == SECRET
    assert caplog.records == []


def test_a_home_is_meant_as_a_shell_means_it(elsewhere: Path) -> None:
    (elsewhere / "k").write_text(f"{SECRET}\r\n")
    assert named_key("file:~/k") == SECRET


def test_a_variable_gives_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_MINE", SECRET)
    assert named_key("env:OF_MINE") == SECRET


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_a_key_file_that_others_may_read_is_used_with_a_warning(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.chmod(0o640)
    with caplog.at_level(logging.WARNING):
        assert named_key(f"file:{file}") == SECRET
    assert "chmod 600" in caplog.text and str(file) in caplog.text and SECRET not in caplog.text


@pytest.mark.parametrize("setting", [SECRET, "5a" * 32, "file:", "env:", "files:x", "FILE", ":", "https://x/y"])
def test_a_key_in_the_settings_is_refused_and_not_repeated(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"never goes into the settings. Write file:PATH") as caught:
        named_key(setting)
    assert SECRET not in str(caught.value) and "5a5a" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xff\xfe\x00", "is no text"),
        (b"x" * (LONGEST_FILE + 1), "too long"),
    ],
)
def test_a_file_without_a_usable_key_says_so(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as caught:
        named_key(f"file:{file}")
    assert str(file) in str(caught.value) and "64 hex digits" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.key cannot be read"):
        named_key(f"file:{tmp_path / 'none.key'}")
    with pytest.raises(ConfigError, match="cannot be read"):
        named_key(f"file:{tmp_path}")


def test_a_variable_that_is_not_set_or_empty_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"The variable OF_MINE.*is not set"):
        named_key("env:OF_MINE")
    monkeypatch.setenv("OF_MINE", "")
    with pytest.raises(ConfigError, match="The variable OF_MINE is empty"):
        named_key("env:OF_MINE")


class Locked(Exception):
    pass


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """Stands for the package, which reaches a service of the desktop that no test machine has."""
    kept: dict[tuple[str, str], str] = {}
    package, errors = ModuleType("keyring"), ModuleType("keyring.errors")

    def get_password(service: str, name: str) -> str | None:
        if name == "locked":
            raise Locked(SECRET)
        return kept.get((service, name))

    package.get_password = get_password  # type: ignore[attr-defined]
    errors.KeyringError = Locked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", package)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    return kept


def test_the_keyring_gives_what_it_keeps_for_us(ring: dict[tuple[str, str], str]) -> None:
    ring["nacre", "home"] = SECRET
    assert named_key("keyring:home") == SECRET


def test_a_keyring_without_the_key_or_locked_says_so(ring: dict[tuple[str, str], str]) -> None:
    assert ring == {}
    with pytest.raises(ConfigError, match="Run `keyring set nacre home`"):
        named_key("keyring:home")
    with pytest.raises(ConfigError, match="Unlock it") as caught:
        named_key("keyring:locked")
    assert SECRET not in str(caught.value)


def test_without_the_package_the_exact_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError, match=r'run `pip install "\.\[keyring\]"` in the checkout of Nacre\.'):
        named_key("keyring:home")


def test_a_made_key_is_random_raw_and_its_owners_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "deep" / "a.key", tmp_path / "b.key"
    make_key_file(first)
    make_key_file(second)
    keys = {named_key(f"file:{file}") for file in (first, second)}
    assert len(keys) == 2 and all(len(bytes.fromhex(key)) == 32 for key in keys)
    assert os.name == "nt" or first.stat().st_mode & 0o777 == 0o600


def test_a_made_key_never_replaces_a_file(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is there already"):
        make_key_file(file)
    assert file.read_text().strip() == SECRET
    with pytest.raises(ConfigError, match="choose another place"):
        make_key_file(file / "below" / "a.key")
    assert [each.name for each in tmp_path.iterdir()] == ["nacre.key"]
