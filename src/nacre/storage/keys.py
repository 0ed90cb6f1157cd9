"""Where a key is: in a file, a variable, the keyring or typed by a person; and making a random one."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre.errors import ConfigError, MissingExtra
from nacre.files import create_private, is_open_to_others, private_folder
from nacre.storage.sqlite.backup import folder_to_disk
from nacre.storage.sqlite.connection import RAW_BYTES


def make_key_file(file: Path) -> None:
    """On the disk before the key is used: a key that is lost in a power cut would take the store with it."""
    try:
        private_folder(file.parent)
        created = create_private(file, f"{secrets.token_hex(RAW_BYTES)}\n".encode("ascii"))
        folder_to_disk(file.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"No key file can be made at {file} ({reason}); choose another place.") from error
    if not created:
        raise ConfigError(f"{file} is there already, and a key is never overwritten; name it as file:{file}.")


log = logging.getLogger(__name__)

FORMS = "file:PATH, env:VARIABLE or keyring:NAME"
TYPED = "typed"
SERVICE = "nacre"  # under which the keyring keeps our names
PASSPHRASE = "a passphrase, or a raw key of 64 hex digits"  # what the setting `key` leads to
LONGEST_FILE = 65_536  # bytes: a path that was meant for something else is not read to its end


def named_key(setting: str) -> str:
    """The key itself; empty where the setting is. Raises `ConfigError`, which tells no part of a key."""
    check_place(setting)
    return service_key(setting, "key")


def check_place(setting: str) -> None:
    """Raises `ConfigError`, which tells no part of a key, where the setting `key` is no place of one."""
    kind, _, name = setting.partition(":")
    if setting and (kind not in SOURCES or not name):
        raise ConfigError(
            "The setting `key` does not name where the key is; the key itself never goes into the settings. "
            f"Write {FORMS}."
        )


def service_key(value: str, setting: str) -> str:
    """The key of a service: from where the setting's value names a place (as `key` does), otherwise the value itself.

    Raises `ConfigError`, which tells no part of a key.
    """
    kind, _, name = value.partition(":")
    source = SOURCES.get(kind)
    return value if source is None or not name else source(name, setting)


def from_file(name: str, setting: str) -> str:
    file = Path(name).expanduser()
    try:
        with file.open("rb") as opened:
            content = opened.read(LONGEST_FILE + 1)
            mode = os.fstat(opened.fileno()).st_mode
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"The key file {file} cannot be read ({reason}). Name the right one in `{setting}`."
        ) from error
    if is_open_to_others(mode):
        log.warning("Others may read the key file %s; run `chmod 600` on it.", file)
    return legible(content, f"The key file {file}", setting)


def from_environment(name: str, setting: str) -> str:
    if name not in os.environ:
        raise ConfigError(f"The variable {name}, which the setting `{setting}` names, is not set. Set it to the key.")
    return legible(os.fsencode(os.environ[name]), f"The variable {name}", setting)


def from_keyring(name: str, setting: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise MissingExtra(f"The keyring, which the setting `{setting}` names,", "keyring") from error
    try:
        secret: str | None = keyring.get_password(SERVICE, name)
    except KeyringError as error:
        raise ConfigError(
            f"The system's keyring does not answer ({type(error).__name__}). "
            f"Unlock it, or set `{setting}` to file:PATH."
        ) from error
    if not secret:
        raise ConfigError(f"The keyring has no key {name!r}. Run `keyring set {SERVICE} {name}` to keep one there.")
    return legible(secret.encode(), f"The key {name!r} of the keyring", setting)


def legible(content: bytes, origin: str, setting: str) -> str:
    """Without the line's end that editors and shells add."""
    wanted = PASSPHRASE if setting == "key" else "the key of the service"
    if len(content) > LONGEST_FILE:
        raise ConfigError(f"{origin} is too long for one. Use {wanted}.")
    try:
        key = content.decode("utf-8").strip("\r\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{origin} is no text. Use {wanted}.") from None
    if not key.strip():
        raise ConfigError(f"{origin} is empty. Put {wanted} into it.")
    return key


_typed: dict[str, str] = {}


def typed_setting(name: str, key: str) -> str:
    """A setting that leads to a key which a person has typed; it is kept in this process alone."""
    _typed[name] = key
    return f"{TYPED}:{name}"


def from_typed(name: str, setting: str) -> str:
    if name not in _typed:
        raise ConfigError(f"Nobody has typed the key that the setting `{setting}` names. Write {FORMS}.")
    return legible(_typed[name].encode(), "The passphrase", setting)


SOURCES: Mapping[str, Callable[[str, str], str]] = {
    "file": from_file,
    "env": from_environment,
    "keyring": from_keyring,
    TYPED: from_typed,
}
