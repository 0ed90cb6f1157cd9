"""What the server's API has besides the methods of a store: users, tokens, jobs, files and upkeep."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from nacre.access.capabilities import Role
from nacre.access.view import performed
from nacre.errors import AccessDenied, NameNotFound, SpaceNotFound, UnknownName
from nacre.hooks.inject import InjectionDay, injection_days
from nacre.lifecycle.doctor import Finding, compute_missing, examine
from nacre.lifecycle.jobs import JOBS, backups_of
from nacre.lifecycle.scheduler import MaintenanceScheduler
from nacre.model.instants import DAY, parse_duration
from nacre.model.validate import natural_number
from nacre.rest.endpoints import ADMIN, READER, SPACE, VERSION, WRITER, Endpoint, endpoints
from nacre.rest.wire import to_json
from nacre.server import files
from nacre.server.drawing import MOST_NODES, Drawing, drawing_of
from nacre.server.jobs import Job
from nacre.server.sessions import PERSON
from nacre.server.upkeep import (
    BackupNote,
    SettingLine,
    Upkeep,
    backup_file,
    backup_notes,
    setting_lines,
    upkeep_of,
)
from nacre.server.users import Identity, Token, User
from nacre.transfer.sources import KINDS

if TYPE_CHECKING:
    from nacre.memory_store import MemoryStore
    from nacre.model.memory import Json
    from nacre.protocols import Progress
    from nacre.server.jobs import Jobs
    from nacre.server.users import Registry


@dataclass(frozen=True, slots=True)
class Me:
    """Who asks, by its token; no `spaces` means all."""

    user: str
    role: str
    spaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewToken:
    """`secret` is the token itself, which is shown only now."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class SpaceAbout:
    """A space by itself; `seq` is the number of its last journal entry."""

    name: str
    memories: int
    description: str
    seq: int


@dataclass(frozen=True, slots=True)
class FileFormats:
    """The formats that can be imported and exported, by name; those of files are recognised by their content."""

    imported: tuple[str, ...]
    exported: tuple[str, ...]


class ServerApi:
    """For one request: `store` is the asker's own view of the space that the request names."""

    def __init__(
        self, asker: Identity, store: MemoryStore, registry: Registry, jobs: Jobs, upload: Path | None = None
    ) -> None:
        self.asker = asker
        self.store = store
        self.registry = registry
        self._jobs = jobs
        self.upload = upload

    def me(self) -> Me:
        return Me(self.asker.user, str(self.asker.role), self.asker.spaces)

    def space(self) -> SpaceAbout:
        notes, last = {note.name: note for note in self.store.space_notes()}, self.store.journal(limit=1)
        note = notes.get(self.store.space)
        if note is None and not last:
            raise SpaceNotFound(self.store.space, notes)
        held, about = (0, "") if note is None else (note.memories, note.description)
        return SpaceAbout(self.store.space, held, about, last[0].seq if last else 0)

    def doctor(self) -> list[Finding]:
        """What `nacre doctor` finds, without repairing anything."""
        self.store.access.demand("examine the store")
        return examine(self.store.settings)

    def drawing(self, limit: int = MOST_NODES) -> Drawing:
        """The whole space as a graph."""
        return drawing_of(self.store, natural_number("limit", limit))

    # Upkeep

    def settings(self) -> list[SettingLine]:
        """What each setting means; values and sources only for admins of all spaces."""
        return setting_lines(self.store.settings, visible=self.store.access.unrestricted)

    def injections(self) -> list[InjectionDay]:
        """What hooks put before prompts, by day."""
        return injection_days(self.registry.backend, self.store.space)

    def maintenance(self, preview: bool = False) -> Upkeep:
        self.store.access.demand("see the maintenance")
        return upkeep_of(self.store, preview=preview)

    def start_maintenance(self, job: str) -> Job:
        """Runs one job of maintenance in this space, due or not."""
        self.store.access.demand("run the maintenance")
        UnknownName.check("job", job, JOBS)
        store = self.store

        def work(progress: Progress) -> Json:
            result = MaintenanceScheduler(store, store.settings).tick(jobs=[job], progress=progress)
            notes = [str(each.error or each.note) for each in result.results]
            busy = [f"Another maintenance is at work ({result.held_by}); repeat it later."] if result.held_by else []
            results: list[Json] = [
                {"done": each.done, "note": each.note, "error": each.error} for each in result.results
            ]
            return {"notes": [*notes, *busy], "results": results}

        return self._jobs.start("maintenance", store.space, self.asker.user, with_operations(work))

    def start_repair(self) -> Job:
        """Computes what the doctor finds missing: vectors, or all that is derived."""
        self.store.access.demand("repair the store")
        store = self.store

        def work(progress: Progress) -> Json:
            return {"memories": compute_missing(store, examine(store.settings), progress)}

        return self._jobs.start("repair", "", self.asker.user, work)

    def backups(self) -> list[BackupNote]:
        self.store.access.demand("see the backups")
        return backup_notes(self.store.settings)

    def start_backup(self) -> Job:
        """Raises `InvalidInput` for a store that is not a file."""
        self.store.access.demand("make a backup")
        store = self.store
        backups = backups_of(store.settings)

        def work(_progress: Progress) -> Json:
            return {"name": backups.make(store, store.now()).name}

        return self._jobs.start("backup", "", self.asker.user, work)

    def backup_to_restore(self, name: str) -> str:
        """The path of a copy that may be put in the store's place; whoever runs the server does that, once nobody else
        uses the store."""
        self.store.access.demand("restore a backup")
        self._jobs.demand_none("restore a backup")
        return str(backup_file(self.store.settings, name))

    # Files

    def formats(self) -> FileFormats:
        return FileFormats((*KINDS, "zip"), tuple(files.EXPORTS))

    def export(self, format: str = "nacre") -> files.Download:
        """All of the space but the trash, without what looks like a secret."""
        UnknownName.check("format", format, files.EXPORTS)
        folder = Path(tempfile.mkdtemp(prefix=files.temporary_prefix("export")))
        try:
            return files.export_download(self.store, format, folder, self.store.now())
        except BaseException:  # a part of the memories may be in it already
            rmtree(folder, ignore_errors=True)
            raise

    # Users and tokens

    def users(self) -> list[User]:
        self._demand_admin()
        own = {token.user for token in self.tokens()}
        return [user for user in self.registry.users() if not self.asker.spaces or user.name in own]

    def add_user(self, name: str, note: str = "") -> User:
        self.store.access.demand("add a user")
        return self.registry.add_user(name, note)

    def remove_user(self, name: str) -> int:
        self.store.access.demand("remove a user")
        return self.registry.remove_user(name, keep_admin=self._admitted_by_token)

    def tokens(self) -> list[Token]:
        self._demand_admin()
        return [token for token in self.registry.tokens() if self.asker.manages(token.spaces)]

    def create_token(
        self, user: str, role: str, spaces: Sequence[str] | None = None, expires: str = "", note: str = ""
    ) -> NewToken:
        self._demand_admin()
        if not self.asker.manages(spaces or ()):
            raise AccessDenied("This token may make tokens only for its own spaces; name some of these.")
        others = [token for token in self.registry.tokens() if token.user == user]
        if self.asker.spaces:
            self._demand_visible(user, has_tokens=bool(others))
        if user != self.asker.user and not all(self.asker.manages(token.spaces) for token in others):
            raise AccessDenied(f"{user} has tokens for other spaces, too; an admin of all spaces must make this one.")
        days = parse_duration(expires) / DAY if expires else None
        return NewToken(*self.registry.create_token(user, role, spaces, days=days, note=note))

    @property
    def _admitted_by_token(self) -> bool:
        """Who is admitted by an OAuth issuer or uses `nacre web` stays an admin without any token of the server."""
        return self.asker.token not in ("", PERSON)

    def _demand_admin(self) -> None:
        self.asker.demand_role(Role.ADMIN, "manage users and tokens")

    def _demand_visible(self, user: str, *, has_tokens: bool) -> None:
        """An admin of some spaces must not learn who else is a user. One without a token may get its first from it."""
        seen = [each.name for each in self.users()]
        new = not has_tokens and any(each.name == user for each in self.registry.users())
        if user not in seen and not new:
            names = ", ".join(seen) or "none"
            raise AccessDenied(
                f"You see no user {user!r} (you see {names}); ask an admin of all spaces to add the user, or to make "
                "this token."
            )

    def revoke_token(self, id: str) -> bool:
        known = [token.id for token in self.tokens()]
        if id not in known:
            raise NameNotFound("token", id, known, "`nacre token list`")
        self.registry.revoke(id, keep_admin=self._admitted_by_token)
        return True

    # Jobs

    def jobs(self) -> list[Job]:
        return self._jobs.list(self.asker)

    def job(self, id: str) -> Job:
        return self._jobs.get(id, self.asker)

    def start_scan(self, threshold: float | None = None) -> Job:
        """Looks for conflicts in the whole space, and puts them into the review queue."""
        store = self.store

        def work(progress: Progress) -> Json:
            conflicts = store.find_conflicts(threshold=threshold, progress=progress)
            return {"conflicts": len(conflicts), "noted": store.note_conflicts(conflicts, why="scan")}

        return self._jobs.start("scan", store.space, self.asker.user, work)

    def start_reindex(self, restart: bool = False) -> Job:
        store = self.store
        self.store.access.demand("reindex the store")
        return self._jobs.start(
            "reindex",
            "",
            self.asker.user,
            lambda progress: {"memories": store.reindex(restart=restart, progress=progress)},
        )

    def start_import(
        self, name: str = "", format: str = "", dry_run: bool = False, on_conflict: str = "skip", why: str = "",
        collections: Sequence[str] = (),
    ) -> Job:  # fmt: skip
        """Imports the file that was sent as the body."""
        from nacre.transfer.import_archive import check_allowed

        store, sent = self.store, self.upload
        assert sent is not None
        check_allowed(store, {"on_conflict": on_conflict})
        upload = files.Upload.named(sent, name)

        def work(progress: Progress) -> Json:
            try:
                done = files.import_upload(
                    store, upload.file, format=format, on_conflict=on_conflict, dry_run=dry_run, why=why,
                    collections=collections, progress=progress,
                )  # fmt: skip
            finally:
                upload.remove()
            return to_json(asdict(done))

        try:
            return self._jobs.start("import", store.space, self.asker.user, with_operations(work))
        except BaseException:  # nobody will import it
            upload.remove()
            raise


def with_operations(work: Callable[[Progress], Json]) -> Callable[[Progress], Json]:
    """The result names the operations that were written, oldest first, so that they can be undone."""

    def noting(progress: Progress) -> Json:
        operations: list[str] = []
        performed.set(operations)
        result = work(progress)
        assert isinstance(result, dict)
        return {**result, "operations": list(dict.fromkeys(operations))}

    return noting


@cache
def all_endpoints() -> tuple[Endpoint, ...]:
    def of_server(
        verb: str, path: str, method: str, role: Role, about: str, status: int = 200, *, upload: bool = False,
        download: bool = False,
    ) -> Endpoint:  # fmt: skip
        return Endpoint(
            verb, path, method, role, about, status=status, owner=ServerApi, upload=upload, download=download
        )

    return (
        *endpoints(),
        of_server("GET", f"{VERSION}/me", "me", READER, "Who you are, by your token."),
        of_server("GET", SPACE, "space", READER, "A space by itself."),
        of_server("GET", f"{SPACE}/drawing", "drawing", READER, "The whole space as a graph, to be drawn."),
        of_server("GET", f"{VERSION}/doctor", "doctor", ADMIN, "What is wrong with the store, and how to repair it."),
        of_server("GET", f"{VERSION}/users", "users", ADMIN, "The users of the server."),
        of_server("POST", f"{VERSION}/users", "add_user", ADMIN, "Add a user.", 201),
        of_server("DELETE", f"{VERSION}/users/{{name}}", "remove_user", ADMIN, "Remove a user and its tokens."),
        of_server("GET", f"{VERSION}/tokens", "tokens", ADMIN, "The tokens; never the tokens themselves."),
        of_server("POST", f"{VERSION}/tokens", "create_token", ADMIN, "Make a token, which is shown once.", 201),
        of_server("DELETE", f"{VERSION}/tokens/{{id}}", "revoke_token", ADMIN, "Revoke a token."),
        of_server("GET", f"{VERSION}/jobs", "jobs", READER, "The jobs that you may see."),
        of_server("GET", f"{VERSION}/jobs/{{id}}", "job", READER, "How far a job has come."),
        of_server("POST", f"{VERSION}/jobs/reindex", "start_reindex", ADMIN, "Compute all vectors again.", 202),
        of_server("POST", f"{SPACE}/jobs/scan", "start_scan", WRITER, "Look for conflicts everywhere.", 202),
        of_server(
            "POST", f"{SPACE}/jobs/import", "start_import", ADMIN, "Import the file in the body.", 202, upload=True
        ),
        of_server("GET", f"{SPACE}/export", "export", READER, "The space as a file.", download=True),
        of_server("GET", f"{VERSION}/formats", "formats", READER, "What can be imported and exported."),
        of_server("GET", f"{SPACE}/settings", "settings", READER, "The settings, and where each comes from."),
        of_server("GET", f"{SPACE}/injections", "injections", READER, "What hooks put before prompts, by day."),
        of_server("GET", f"{SPACE}/maintenance", "maintenance", ADMIN, "What maintenance did, and does next."),
        of_server("POST", f"{SPACE}/jobs/maintenance", "start_maintenance", ADMIN, "Run one job of maintenance.", 202),
        of_server("POST", f"{VERSION}/jobs/repair", "start_repair", ADMIN, "Compute what is missing.", 202),
        of_server("GET", f"{VERSION}/backups", "backups", ADMIN, "The copies of the store."),
        of_server("POST", f"{VERSION}/jobs/backup", "start_backup", ADMIN, "Make a copy of the store.", 202),
        Endpoint(
            "POST",
            f"{VERSION}/backups/{{name}}/restore",
            "backup_to_restore",
            ADMIN,
            "Put a copy in its place.",
            owner=ServerApi,
            restores=True,
            operation="restore_backup",
        ),
    )
