"""The user's consent to what a project's own settings file sets, bound to the file's path and content."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from pathlib import Path
from typing import NamedTuple

from nacre.errors import ConfigError
from nacre.files import atomic_write, open_regular, private_folder, user_folder

FOLDER = "trusted"  # in the user's own configuration folder, one file for each consent
LONGEST_FILE = 64_000  # bytes: no settings file comes near this
MOST_DOTS = 20  # in a key: the parser takes the square of its parts, and every command would wait for it
# Wherever it is, also in an inline table. The length of a quoted part is bounded so that the search is short.
LONG_KEY = re.compile(
    rb"""(?<![\w-])(?:(?:"(?:[^"\\\n]|\\.){0,100}+"|'[^'\n]{0,100}+'|[\w-]++)[ \t]*+\.[ \t]*+){%d}""" % (MOST_DOTS + 1)
)
ROOT = 0  # the administrator can write anywhere in any case


class Consent(NamedTuple):
    """`file` is the settings file, `digest` that of its content, `at` when the user agreed (seconds)."""

    file: str
    digest: str
    at: float


class ProjectFile(NamedTuple):
    """A settings file as it was read once; `fault` says why it may not be used at all, empty where it may."""

    file: Path
    content: bytes
    fault: str

    @property
    def trusted(self) -> bool:
        consent = consent_to(self.file)
        return not self.fault and consent is not None and consent.digest == digest(self.content)


def read_project_file(file: Path) -> ProjectFile:
    """Content and owner come from one open file, so that no other can be put in its place in between."""
    try:
        with open_regular(file) as opened:
            fault = fault_of(file, os.fstat(opened.fileno()))
            content = b"" if fault else opened.read(LONGEST_FILE + 1)
    except OSError as error:
        return ProjectFile(file, b"", f"{file} is ignored, because it cannot be read ({error.strerror or error}).")
    if len(content) > LONGEST_FILE:
        return ProjectFile(file, b"", f"{file} is ignored, because it is too long for a settings file; shorten it.")
    if LONG_KEY.search(content):
        fault = f"{file} is ignored, because a key in it has more than {MOST_DOTS} dots; remove that key."
        return ProjectFile(file, b"", fault)
    return ProjectFile(file, content, fault)


def fault_of(file: Path, status: os.stat_result) -> str:
    """Why somebody else may have written this file; empty where nobody else can have."""
    if os.name == "nt":
        return ""
    user = os.geteuid()
    if status.st_uid not in (user, ROOT):
        return f"{file} is ignored, because it belongs to another user; copy it, or run `chown` on it."
    if writable_by_others(status, user):
        return f"{file} is ignored, because other users can write to it; run `chmod go-w` on it."
    if file.parent.stat().st_mode & stat.S_IWOTH:
        return f"{file} is ignored, because every user can write to its folder; move it to a folder of your own."
    return ""


def writable_by_others(status: os.stat_result, user: int) -> bool:
    return bool(status.st_mode & stat.S_IWOTH) or bool(
        status.st_mode & stat.S_IWGRP and not is_private(status.st_gid, user)
    )


def is_private(group: int, user: int) -> bool:
    """Many systems give each user a group of the same name; what that group may write, only the user may."""
    import grp
    import pwd

    try:
        person, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(members.gr_mem) <= {person.pw_name}
    return person.pw_gid == group and members.gr_name == person.pw_name and alone


def agree(read: ProjectFile, now: float | None = None) -> Consent:
    """Records the user's consent to this very content. Raises `ConfigError` for a file that may not be used."""
    if read.fault:
        raise ConfigError(read.fault)
    consent = Consent(key_of(read.file), digest(read.content), time.time() if now is None else now)
    place = place_of(read.file)
    private_folder(place.parent)
    atomic_write(place, json.dumps(consent._asdict()))
    return consent


def withdraw(file: Path) -> bool:
    """False when there was no consent."""
    try:
        place_of(file).unlink()
    except FileNotFoundError:
        return False
    return True


def consents() -> list[Consent]:
    """Every consent that the user gave, by path."""
    consents_found = [
        consent for place in consent_folder().glob("*.json") if (consent := read_consent(place)) is not None
    ]
    return sorted(consents_found, key=lambda each: each.file)


def consent_to(file: Path) -> Consent | None:
    consent = read_consent(place_of(file))
    return consent if consent is not None and consent.file == key_of(file) else None


def read_consent(place: Path) -> Consent | None:
    """None where there is none, or where somebody else may have written it."""
    try:
        with place.open("rb") as opened:
            if fault_of(place, os.fstat(opened.fileno())):
                return None
            fields = json.loads(opened.read(LONGEST_FILE))
        return Consent(str(fields["file"]), str(fields["digest"]), float(fields["at"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def state_of(consent: Consent) -> str:
    """trusted, changed (the content is another one now), unsafe (others can write to it) or gone."""
    if not Path(consent.file).exists():
        return "gone"
    read = read_project_file(Path(consent.file))
    if read.fault:
        return "unsafe"
    return "trusted" if read.trusted else "changed"


def consent_folder() -> Path:
    return user_folder("config") / FOLDER


def place_of(file: Path) -> Path:
    return consent_folder() / f"{digest(os.fsencode(key_of(file)))[:32]}.json"


def key_of(file: Path) -> str:
    """The folder's real path: a link to a trusted folder is that folder, a link to a trusted file is another file."""
    try:
        return str(file.parent.resolve() / file.name)
    except (OSError, RuntimeError):
        return str(file.absolute())


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
