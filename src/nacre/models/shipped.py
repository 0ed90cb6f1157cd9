"""The models that come with the package: which there are, and whether their files are as they were made."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nacre.files import ThreadLock, atomic_write, data_sections, private_folder, user_folder

WEIGHTS = Path(__file__).with_name("weights")
DIGESTS = "digests.json"  # written by the programs in training/ that write the files
REMEDY = "Install Nacre again: its model files are part of the package."


class ShippedModel(NamedTuple):
    """A model that gives no vectors has no dimensions."""

    name: str
    about: str
    licence: str
    dimensions: int
    files: tuple[str, ...]


def read_models() -> Iterator[ShippedModel]:
    for name, lines in data_sections("models/shipped.txt"):
        fields = dict(line.split(": ", 1) for line in lines)
        files = tuple(fields["files"].split())
        yield ShippedModel(name, fields["about"], fields["licence"], int(fields["dimensions"]), files)


MODELS = tuple(read_models())


@cache
def shipped(name: str, folder: Path = WEIGHTS, clock: Callable[[], float] = time.time) -> Path:
    """The file of this name, if it is as it was made. Raises `ValueError` that says what is wrong with it.

    Reading all files takes a third of a second. So one that was read before is not read again for a week, while its
    stamp is the same: writing to a file or putting another one in its place changes that. Damage below the file system,
    by a failing disk, is noticed at the end of that week, or by `faults`.
    """
    path, now = folder / name, clock()
    stamp = stamp_of(path, expected_digest(name, folder), now)
    if stamp is None or not was_read(path, stamp, now):
        read_through(name, folder)
        if stamp is not None:
            note_reading(path, stamp, now)
    return path


def read_through(name: str, folder: Path = WEIGHTS) -> None:
    """Raises `ValueError` that says what is wrong with the file."""
    try:
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error}") from error
    if digest != expected_digest(name, folder):
        raise ValueError(f"{name} is damaged: its digest is not the one that it was made with")


def expected_digest(name: str, folder: Path) -> str:
    try:
        return str(json.loads((folder / DIGESTS).read_text(encoding="utf-8"))[name])
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from error


Stamp: TypeAlias = "list[str | int]"
READINGS = "models-read.json"  # in the user's cache folder: for each file its stamp, and when it was read
WEEK = 7 * 86_400.0
# A file that was changed so shortly before it was read may change again without another time: clocks of file systems
# tick slowly.
SETTLED_SECONDS = 3.0
_noting = ThreadLock()


def stamp_of(path: Path, digest: str, now: float) -> Stamp | None:
    """What changes when the file does; None for one that was changed just now, or cannot be read.

    On Windows, a program that writes to the file and sets its time back is not noticed: `st_ctime` is when it was made.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    changed = max(status.st_mtime, status.st_ctime)
    if not 0 < changed < now - SETTLED_SECONDS:
        return None
    return [digest, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def was_read(path: Path, stamp: Stamp, now: float) -> bool:
    try:
        at, known = readings()[str(path)]
        return bool(known == stamp and 0 <= now - at < WEEK)
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def note_reading(path: Path, stamp: Stamp, now: float) -> None:
    """For later processes. Where it cannot be written, they read the file again."""
    with _noting, suppress(OSError):
        later = {name: each for name, each in readings().items() if Path(name).exists()}
        file = readings_file()
        private_folder(file.parent)
        atomic_write(file, json.dumps({**later, str(path): [now, stamp]}), durable=False)


def readings() -> dict[str, Any]:
    try:
        known = json.loads(readings_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def readings_file() -> Path:
    return user_folder("cache") / READINGS


def faults(model: ShippedModel, folder: Path = WEIGHTS) -> list[str]:
    """Reads the model's files, and says what is wrong: a sentence for each that is not as it was made."""
    sentences = []
    for name in model.files:
        try:
            read_through(name, folder)
        except ValueError as error:
            sentences.append(f"{error}. {REMEDY}")
    return sentences
