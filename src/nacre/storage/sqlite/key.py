"""The key of an encrypted file: how a connection gets it, and what a file is that does not open with it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import apsw

from nacre.errors import NotEncrypted, WeakKey, WrongKey

# ChaCha20 with Poly1305: every page is authenticated, in the file, its log and its journal alike. Named on purpose:
# the library's default may change, and a store must not.
CIPHER = "chacha20"
# PBKDF2-HMAC-SHA256, as the library derives keys itself, so that a tool built on it opens the file with the passphrase
# after `PRAGMA kdf_iter = 600000`. That is the number OWASP advises; the library's own is a tenth of it. Done here,
# because the library would repeat it for every connection, and every thread has one: this way it is 0.2 s a process.
ITERATIONS = 600_000
LEAST_CHARACTERS = 8  # of a new passphrase; anything shorter is found by trying
SALT_BYTES = 16  # the file begins with it
RAW_BYTES = 32
RAW = re.compile(rf"[0-9a-fA-F]{{{2 * RAW_BYTES}}}")

PLAIN = b"SQLite format 3\x00"
HEADER_BYTES = 24
# Of the header, the bytes that stay legible: 32 a page for nonce and tag, then three constants of the format.
LEGIBLE = bytes((32, 64, 32, 32))
NEW = bytes(HEADER_BYTES)
PROOFS = 3  # tries: another process may be writing the first page at that moment


@dataclass(frozen=True, slots=True)
class Key:
    """A passphrase, or a key of 32 bytes as 64 hex digits, which needs no derivation. It is never shown."""

    secret: str = field(repr=False)

    @property
    def is_raw(self) -> bool:
        return RAW.fullmatch(self.secret) is not None

    def check_strength(self) -> None:
        """Asked when a file gets this key, never when one is opened with it. Raises `WeakKey`."""
        if not self.is_raw and len(self.secret.strip()) < LEAST_CHARACTERS:
            raise WeakKey(LEAST_CHARACTERS)

    def raw(self, salt: bytes) -> str:
        """In hex, with the salt, as the driver takes it."""
        known = self.secret if self.is_raw else derived(self.secret, salt)
        return f"raw:{known}{salt.hex()}"


@lru_cache(maxsize=8)
def derived(passphrase: str, salt: bytes) -> str:
    from hashlib import pbkdf2_hmac  # milliseconds that a plain store need not wait for

    return pbkdf2_hmac("sha256", passphrase.encode(), salt, ITERATIONS, RAW_BYTES).hex()


def header(connection: apsw.Connection) -> bytes:
    """The file's first bytes; only before the key is given. Read through the driver: were the file opened and closed
    beside it, the system would drop the locks that this process holds on it."""
    return connection.read("main", 0, 0, HEADER_BYTES)[1]


def is_plain(header: bytes) -> bool:
    return header.startswith(PLAIN)


def is_encrypted(header: bytes) -> bool:
    return not is_plain(header) and header.endswith(LEGIBLE)


def unlock(connection: apsw.Connection, path: Path, key: Key | None) -> None:
    """Comes before anything is read. Without a key an encrypted file is not touched: the driver would take its pages
    for plain ones, and what a crash left to be rolled back would be lost."""
    found = header(connection)
    if key is None:
        if is_encrypted(found):
            raise WrongKey(path, given=False)
        return
    if is_plain(found):
        raise NotEncrypted(path)
    if found == NEW or is_encrypted(found):
        salt = os.urandom(SALT_BYTES) if found == NEW else found[:SALT_BYTES]
        if found != NEW:
            prove(connection, path, key, salt)
        apply(connection, key, salt)


def apply(connection: apsw.Connection, key: Key, salt: bytes) -> None:
    connection.pragma("cipher", CIPHER)
    connection.pragma("key", key.raw(salt))


def prove(connection: apsw.Connection, path: Path, key: Key, salt: bytes) -> None:
    """Tries the key on the file alone, before the connection reads its log. A log that a crash left behind is read by
    whoever opens it first; with a wrong key nothing in it can be read, it would pass for empty, and a writer with the
    right key would write over it."""
    place = f"{Path(connection.filename).absolute().as_uri()}?mode=ro&immutable=1"
    for _ in range(PROOFS):
        checker = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            apply(checker, key, salt)
            checker.pragma("schema_version")
            return
        except (apsw.NotADBError, apsw.CorruptError) as error:
            reason = error
        finally:
            checker.close()
    raise WrongKey(path, given=True) from reason


def set_checkpoint_on_close(connection: apsw.Connection, *, on: bool) -> None:
    """The last connection that closes a file moves what is in its log into it, and removes the log. SQLite finds the
    log by the file's name: a connection whose file was replaced meanwhile would move the log of the new file into the
    old one, and what others wrote would be lost."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if on else 1)
