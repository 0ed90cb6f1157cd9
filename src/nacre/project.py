"""Which project a folder belongs to, so that every worktree and clone of a repository shares one space."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from nacre.files import atomic_write, private_folder

KEY_DIGITS = 8  # of the key in a space's name: a thousand projects collide on one of ten thousand machines
GIT_SECONDS = 10.0  # a history of a million commits takes a few
KNOWN_PROJECTS = 1_000  # in the cache
NAMELESS = re.compile(r"[^\w.]+")
# Variables that a git hook may have set, and that would lead git to another repository.
MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
REMOTE = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+(?=/))?[:/]+(.+?)(?:\.git)?/*")


@dataclass(frozen=True, slots=True)
class Project:
    """`key` is the same for every clone; `name` is for people, and may differ between clones."""

    name: str
    key: str

    def space(self, known: Iterable[str] = ()) -> str:
        """The first clone names the space; the others find it by its key."""
        ending = f"-{self.key}"
        return next((space for space in known if space.endswith(ending)), f"{self.name}{ending}")

    def owns(self, space: str) -> bool:
        """Whether a space of this name belongs to this project."""
        return space.endswith(f"-{self.key}")


@dataclass(frozen=True, slots=True)
class Repository:
    """`own` is the git folder of this worktree, `shared` that of the repository."""

    own: Path
    shared: Path

    @property
    def name(self) -> str:
        folder = self.shared.parent if self.shared.name == ".git" else self.shared
        return folder.name.removesuffix(".git")


@lru_cache(maxsize=256)
def project_of(folder: Path) -> Project:
    repository = repository_of(folder)
    if repository is None:
        absolute = folder.expanduser().absolute()
        return Project(readable(absolute.name), digest(f"folder {resolved(absolute)}"))
    return Project(readable(repository.name), known_key(repository))


def repository_of(folder: Path) -> Repository | None:
    """The nearest one in the folder or its parents, found as git does, without running git.

    A bare repository counts only where no other repository encloses it: git checks out files that look like one, so a
    cloned repository could claim to be any other.
    """
    start = folder.expanduser().absolute()
    bare: Path | None = None
    for at in (start, *start.parents):
        own = git_folder(at)
        if own is not None:
            return Repository(own, shared_folder(own))
        if bare is None and is_bare(at):
            bare = at
    return None if bare is None else Repository(bare, resolved(bare))


def git_folder(at: Path) -> Path | None:
    """A `.git` folder, or what the `.git` file of a worktree or submodule points to."""
    entry = at / ".git"
    try:
        if (entry / "HEAD").is_file():
            return entry
        if not entry.is_file():
            return None
        target = at / first_line(entry).removeprefix("gitdir:").strip()
        return target if target.is_dir() and points_back(target, entry) else None
    except (OSError, ValueError):  # a path that is too long, or holds a NUL
        return None


def points_back(target: Path, entry: Path) -> bool:
    """Whether the folder that a `.git` file names knows of it: an unpacked archive may hold a `.git` file that names
    the repository of another project."""
    real = resolved(target)
    worktree = first_line(real / "gitdir")
    if worktree:
        return resolved(real / worktree) == resolved(entry)
    return any((parent / ".git" / "modules") in real.parents for parent in resolved(entry.parent).parents)


def is_bare(at: Path) -> bool:
    return (at / "HEAD").is_file() and (at / "objects").is_dir() and (at / "refs").is_dir()


def shared_folder(own: Path) -> Path:
    """For a worktree, the folder of its repository, which must contain the worktree's own folder."""
    real = resolved(own)
    try:
        common = resolved(real / first_line(real / "commondir"))
    except ValueError:
        return real
    return common if real.parent == common / "worktrees" else real


def known_key(repository: Repository) -> str:
    """From the cache, which knows a repository by its folder and its settings file, so that another repository at the
    same path is not mistaken for it."""
    place, number = str(repository.shared), fingerprint(repository.shared)
    cached = read_cache().get(place)
    if cached is not None and cached[0] == number:
        return cached[1]
    key = key_of(repository)
    write_cache(place, number, key)
    return key


def key_of(repository: Repository) -> str:
    """From the first commit, which stays when a remote is added or moved. Without commits, or in a shallow clone, from
    the remote; else from the folder."""
    shallow = (repository.shared / "shallow").exists()
    first = "" if shallow else first_commit(repository)
    if first:
        return digest(f"commit {first}")
    remote = origin(repository.shared)
    return digest(f"remote {normalised(remote)}" if remote else f"folder {repository.shared}")


def first_commit(repository: Repository) -> str:
    """Along first parents: a merged foreign history does not make it another project."""
    import subprocess

    words = ["git", f"--git-dir={repository.own}", "rev-list", "--first-parent", "--max-parents=0", "HEAD"]
    around = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    # A repository's own settings may name programs to fetch with: nothing is fetched, so none of them runs.
    around |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    try:
        answer = subprocess.run(
            words, capture_output=True, text=True, env=around, timeout=GIT_SECONDS, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def origin(shared: Path) -> str:
    """The address of the remote `origin`, read from git's own settings."""
    inside = False
    with suppress(OSError, UnicodeDecodeError):
        for line in (shared / "config").read_text("utf-8").splitlines():
            if line.lstrip().startswith("["):
                inside = line.strip().replace("'", '"') == '[remote "origin"]'
            elif inside and line.strip().lower().startswith("url"):
                return line.partition("=")[2].strip().strip('"')
    return ""


def normalised(remote: str) -> str:
    """The same for every spelling of one address, without user and protocol."""
    if remote.startswith(("/", ".", "~", "file:")):
        return remote.removeprefix("file://").rstrip("/").removesuffix("/.git").removesuffix(".git")
    match = REMOTE.fullmatch(remote)
    return f"{match.group(1)}/{match.group(2)}".lower() if match else remote.lower()


def cache_file() -> Path:
    from platformdirs import user_state_path

    return user_state_path("nacre", appauthor=False) / "projects.json"


def read_cache() -> dict[str, tuple[str, str]]:
    try:
        cache = json.loads(cache_file().read_text("utf-8"))
        return {place: (str(number), str(key)) for place, (number, key) in cache.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_cache(place: str, number: str, key: str) -> None:
    """Failing is harmless: git is then run again."""
    cache = read_cache()
    cache.pop(place, None)
    entries = dict([*cache.items(), (place, (number, key))][-KNOWN_PROJECTS:])
    file = cache_file()
    with suppress(OSError):
        private_folder(file.parent)
        atomic_write(file, json.dumps(entries))


def fingerprint(folder: Path) -> str:
    """The folder's inode alone is not enough, because file systems reuse it. The settings file is written when a
    repository is created, and rarely afterwards."""
    try:
        status, settings = folder.stat(), (folder / "config").stat()
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}:{settings.st_ino}:{settings.st_mtime_ns}"


def first_line(file: Path) -> str:
    try:
        return file.read_text("utf-8").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""


def resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def readable(name: str) -> str:
    return NAMELESS.sub("-", name).strip("-.").lower() or "project"


def digest(identity: str) -> str:
    return blake2b(identity.encode(), digest_size=KEY_DIGITS // 2).hexdigest()
