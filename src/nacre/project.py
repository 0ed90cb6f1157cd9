"""Which project a folder belongs to: the repository around it, so that its worktrees and clones share one space."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from nacre.files import atomic_write, private_folder, user_folder

KEY_DIGITS = 8  # of the key in a space's name: a thousand projects collide on one of ten thousand machines
GIT_SECONDS = 10.0  # a history of a million commits takes a few
KNOWN_PROJECTS = 1_000  # in the cache
NAME_CHARACTERS = 60  # of a space's name; a remote may have any name
NOT_IN_A_NAME = re.compile(r"[^\w.]+")
IN_A_NAME = re.compile(rf"[\w.-]{{1,{NAME_CHARACTERS}}}")
# Variables that a git hook may have set, and that would lead git to another repository.
MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
REMOTE_KIND, FOLDER_KIND = "remote", "folder"  # of an identity
KINDS = {REMOTE_KIND: "remote", "commit": "first commit", FOLDER_KIND: "path"}
LOCAL = ("/", ".", "~", "file:")  # so begins the address of a folder on this machine
READ_BY_GIT = ("config", "objects", "refs", "packed-refs")
LONGEST_CHAIN = 4  # clones of clones
LONGEST_POINTER, LONGEST_CONFIG = 64_000, 1_000_000  # bytes: a clone may hold files that fill the memory
REMOTE = re.compile(r"(?:[\w+.-]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+(?=/))?[:/]+(.+?)(?:\.git)?/*")


class Project(NamedTuple):
    """`key` is the same for every clone; `name` is for people, and may differ between clones. `others` are keys by
    which it may have been known before: without its remote, or without a commit. `known_by` says what the key was made
    from."""

    name: str
    key: str
    others: tuple[str, ...] = ()
    known_by: str = ""

    def space(self, known: Iterable[str] = ()) -> str:
        """The first clone names the space; the others find it by its key. What began under another key stays there."""
        spaces = list(known)
        matches = (space for key in (self.key, *self.others) for space in spaces if space.endswith(f"-{key}"))
        return next(matches, f"{self.name}-{self.key}")

    def owns(self, space: str) -> bool:
        """Whether a space of this name belongs to this project. A name is one word: a cloned repository may choose it,
        and a model reads it."""
        name, _, key = space.rpartition("-")
        return key in (self.key, *self.others) and IN_A_NAME.fullmatch(name) is not None


PROJECT_SPACE = re.compile(rf"(?P<word>.+)-(?P<key>[0-9a-f]{{{KEY_DIGITS}}})")


def namesakes(space: str, known: Iterable[str]) -> list[str]:
    """The spaces of projects with the same name as that of this space, and another key: of other projects, or of the
    same one when it had another remote."""
    own = PROJECT_SPACE.fullmatch(space)
    matches = ((each, PROJECT_SPACE.fullmatch(each)) for each in known if each != space)
    return [each for each, match in matches if own and match and match["word"] == own["word"]]


class Repository(NamedTuple):
    """`own` is the git folder of this worktree, `shared` that of the repository."""

    own: Path
    shared: Path

    @property
    def name(self) -> str:
        folder = self.shared.parent if self.shared.name == ".git" else self.shared
        return folder.name.removesuffix(".git")


@lru_cache(maxsize=256)
def project_of(folder: Path) -> Project | None:
    """None for a folder that is in no repository."""
    repository = repository_of(folder)
    if repository is None:
        return None
    identities = identities_of(repository)
    first, *others = map(digest, identities)
    kind, _, value = identities[0].partition(" ")
    name = value.rpartition("/")[2] if kind == REMOTE_KIND else repository.name
    return Project(readable(name), first, tuple(others), f"its {KINDS[kind]} {value}")


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
        if (entry / "HEAD").is_file() or (entry.is_symlink() and entry.is_file()):
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
    own = setting(real, "[core]", "worktree") or setting(real, "[core]", "worktree", "config.worktree")
    return bool(own) and resolved(real / own) == resolved(entry.parent)


def is_bare(at: Path) -> bool:
    return (at / "HEAD").is_file() and (at / "objects").is_dir() and (at / "refs").is_dir()


def shared_folder(own: Path) -> Path:
    """For a worktree, the folder of its repository, which must contain the worktree's own folder. A link is not
    followed: see `is_own`."""
    real = resolved(own.parent) / own.name
    try:
        common = resolved(real / first_line(real / "commondir"))
    except ValueError:
        return real
    return common if real.parent == common / "worktrees" else real


def is_own(repository: Repository) -> bool:
    """Whether git finds everything in the repository's own folder: an unpacked archive may hold links to the repository
    of another project, and pipes that are never answered."""
    shared = repository.shared
    head = first_line(repository.own / "HEAD").removeprefix("ref:").strip()
    parts = [repository.own / "HEAD", *(shared / name for name in (*READ_BY_GIT, head))]
    return not (shared / "commondir").exists() and all(
        resolved(part).is_relative_to(shared) and (part.is_file() or part.is_dir() or not part.exists())
        for part in parts
    )


def has_objects(shared: Path) -> bool:
    with suppress(OSError):
        return any(any(each.iterdir()) for each in (shared / "objects").iterdir() if each.is_dir())
    return False


def identities_of(repository: Repository, hops: int = LONGEST_CHAIN) -> list[str]:
    """What the repository is known by, the best first: its remote, its first commit, its path. A clone of a folder on
    this machine is known as that folder's repository is."""
    path = f"{FOLDER_KIND} {repository.shared}"
    if not is_own(repository):
        return [path]
    commit = known_commit(repository)
    # Without a commit nothing shows that it is a clone. Without git, or of a shallow clone, the commit is not known.
    remote = origin(repository.shared) if commit or has_objects(repository.shared) else ""
    cloned = Path(remote.removeprefix("file://")).expanduser() if hops and remote.startswith(LOCAL) else None
    source = None if cloned is None else repository_of(repository.shared.parent / cloned)
    # The commit shows that it is a clone: anybody can write a path into an archive that is unpacked here.
    if source is not None and source.shared != repository.shared and commit and commit == known_commit(source):
        return [*identities_of(source, hops - 1), path]
    address = f"{REMOTE_KIND} {normalised(remote)}" if remote else ""
    return [each for each in (address, f"commit {commit}" if commit else "", path) if each]


def known_commit(repository: Repository) -> str:
    """The first commit, from the cache, which knows a repository by its folder and its settings file, so that another
    repository at the same path is not mistaken for it. Empty without commits, and where the history was cut short."""
    if (repository.shared / "shallow").exists():
        return ""
    place, number = str(repository.shared), fingerprint(repository.shared)
    cached = read_cache().get(place)
    if cached is not None and cached[0] == number:
        return cached[1]
    commit = first_commit(repository)
    if commit:
        write_cache(place, number, commit)
    return commit


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
    """The address of the remote `origin`."""
    return setting(shared, '[remote "origin"]', "url")


def setting(shared: Path, section: str, key: str, file: str = "config") -> str:
    """Read from git's own settings."""
    inside = False
    for line in regular_text(shared / file, LONGEST_CONFIG).splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip().replace("'", '"') == section
        elif inside and line.strip().lower().startswith(key):
            return line.partition("=")[2].strip().strip('"')
    return ""


def normalised(remote: str) -> str:
    """The same for every spelling of one address, without user and protocol."""
    if remote.startswith(LOCAL):
        return remote.removeprefix("file://").rstrip("/").removesuffix("/.git").removesuffix(".git")
    match = REMOTE.fullmatch(remote)
    return f"{match.group(1)}/{match.group(2)}".lower() if match else remote.lower()


def cache_file() -> Path:
    return user_folder("state") / "projects.json"


def read_cache() -> dict[str, tuple[str, str]]:
    """The fingerprint and the first commit of each repository, by its folder."""
    try:
        cache = json.loads(cache_file().read_text("utf-8"))
        return {place: (str(number), str(commit)) for place, (number, commit) in cache.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_cache(place: str, number: str, commit: str) -> None:
    """Failing is harmless: git is then run again."""
    cache = read_cache()
    cache.pop(place, None)
    entries = dict([*cache.items(), (place, (number, commit))][-KNOWN_PROJECTS:])
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
    return regular_text(file).partition("\n")[0].strip()


def regular_text(file: Path, longest: int = LONGEST_POINTER) -> str:
    """Empty where it cannot be read, or has more bytes than git would write. Reading a pipe would wait for ever."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            content = opened.read(longest + 1)
        return content.decode("utf-8") if len(content) <= longest else ""
    except (OSError, ValueError):
        return ""


def resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def readable(name: str) -> str:
    return NOT_IN_A_NAME.sub("-", name)[:NAME_CHARACTERS].strip("-.").lower() or "project"


def digest(identity: str) -> str:
    return blake2b(identity.encode(), digest_size=KEY_DIGITS // 2).hexdigest()
