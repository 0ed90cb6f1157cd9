"""What the server's API has besides the methods of a store: users, tokens and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.access.capabilities import Role
from nacre.errors import AccessDenied, SpaceNotFound, UnknownName
from nacre.lifecycle.doctor import Finding, examine
from nacre.model.instants import DAY, parse_duration
from nacre.rest.endpoints import ADMIN, READER, SPACE, VERSION, WRITER, Endpoint, endpoints
from nacre.rest.wire import to_json
from nacre.server.jobs import Job
from nacre.server.users import Identity, Token, User

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
        self._demand_all_spaces("examine the store")
        return examine(self.store.settings)

    # Users and tokens

    def users(self) -> list[User]:
        self._demand_admin()
        own = {token.user for token in self.tokens()}
        return [user for user in self.registry.users() if not self.asker.spaces or user.name in own]

    def add_user(self, name: str, note: str = "") -> User:
        self._demand_all_spaces("add a user")
        return self.registry.add_user(name, note)

    def remove_user(self, name: str) -> int:
        self._demand_all_spaces("remove a user")
        return self.registry.remove_user(name)

    def tokens(self) -> list[Token]:
        self._demand_admin()
        return [token for token in self.registry.tokens() if self.asker.manages(token.spaces)]

    def create_token(
        self, user: str, role: str, spaces: Sequence[str] = (), expires: str = "", note: str = ""
    ) -> NewToken:
        self._demand_admin()
        if not self.asker.manages(spaces):
            raise AccessDenied("This token may make tokens only for its own spaces; name some of these.")
        days = parse_duration(expires) / DAY if expires else None
        return NewToken(*self.registry.create_token(user, role, spaces, days=days, note=note))

    def revoke_token(self, id: str) -> bool:
        known = [token.id for token in self.tokens()]
        UnknownName.check("token", id, known)
        self.registry.revoke(id)
        return True

    def _demand_admin(self) -> None:
        if self.asker.role is not Role.ADMIN:
            raise AccessDenied("Users and tokens need the role admin; ask an admin of the server.")

    def _demand_all_spaces(self, what: str) -> None:
        if not self.asker.manages(()):
            raise AccessDenied(f"To {what} needs the role admin in all spaces; ask an admin of the server.")

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
        self._demand_all_spaces("reindex the store")
        return self._jobs.start(
            "reindex",
            "",
            self.asker.user,
            lambda progress: {"memories": store.reindex(restart=restart, progress=progress)},
        )

    def start_import(self, on_conflict: str = "skip", why: str = "") -> Job:
        """Imports the archive that was sent as the body."""
        from nacre.transfer.import_archive import check_allowed, import_archive

        store, file = self.store, self.upload
        assert file is not None
        check_allowed(store, {"on_conflict": on_conflict})

        def work(progress: Progress) -> Json:
            try:
                summary = import_archive(store, file, on_conflict=on_conflict, why=why, progress=progress)
            finally:
                file.unlink(missing_ok=True)
            return to_json(asdict(summary))

        return self._jobs.start("import", store.space, self.asker.user, work)


@cache
def all_endpoints() -> tuple[Endpoint, ...]:
    def of_server(verb: str, path: str, method: str, role: Role, about: str, status: int = 200) -> Endpoint:
        return Endpoint(verb, path, method, role, about, status=status, owner=ServerApi)

    return (
        *endpoints(),
        of_server("GET", f"{VERSION}/me", "me", READER, "Who you are, by your token."),
        of_server("GET", SPACE, "space", READER, "A space by itself."),
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
        Endpoint(
            "POST",
            f"{SPACE}/jobs/import",
            "start_import",
            ADMIN,
            "Import the archive in the body.",
            status=202,
            owner=ServerApi,
            upload=True,
        ),
    )
