"""Makes a random key in a file of its own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from nacre.errors import ConfigError
from nacre.files import private_folder, private_opener
from nacre.storage.sqlite.backup import folder_to_disk
from nacre.storage.sqlite.key import RAW_BYTES


def make_key_file(file: Path) -> None:
    """On the disk before the key is used: a key that is lost in a power cut would take the store with it."""
    try:
        private_folder(file.parent)
        with open(file, "x", encoding="ascii", opener=private_opener) as opened:
            opened.write(secrets.token_hex(RAW_BYTES) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        folder_to_disk(file.parent)
    except FileExistsError as error:
        raise ConfigError(f"{file} is there already, and no key is written over; name it as file:{file}.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"No key file can be made at {file} ({reason}); choose another place.") from error
