"""What commands ask a server for (`--store https://…`) where they would otherwise work on the store itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import quote, urlencode

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import Refused
from nacre.errors import InvalidInput

if TYPE_CHECKING:
    from nacre.client import RemoteProjectStore
    from nacre.lifecycle.doctor import Finding
    from nacre.lifecycle.jobs import JobResult
    from nacre.protocols import Progress
    from nacre.server.upkeep import BackupNote, Upkeep
    from nacre.server.users import Token, User
    from nacre.transfer.archive import ImportSummary
    from nacre.transfer.export import Choice

T = TypeVar("T")
DAY = "d"
AHKAI = ".ahkai"  # AI-Houkai's form
EXPORTED = {None: "nacre", "archive": "nacre", "jsonl": "jsonl", "csv": "csv"}  # how a server calls the formats


def is_remote(cli: CliContext) -> bool:
    from nacre.factory import is_server

    return is_server(cli.settings().store)


def open_server(cli: CliContext) -> RemoteProjectStore:
    from nacre.client import RemoteProjectStore

    store = cli.open(any_space=True)
    assert isinstance(store, RemoteProjectStore)
    return store


def made(kind: type[T], data: dict[str, Any]) -> T:
    """A value of JSON; what a newer server says besides is left out."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in data.items() if name in names})


def findings(cli: CliContext) -> list[Finding]:
    from nacre.lifecycle.doctor import Finding

    with open_server(cli) as store:
        return [made(Finding, each) for each in store.ask_server("GET", "doctor")]


def repair(cli: CliContext, progress: Progress | None) -> int:
    with open_server(cli) as store:
        return int(store.run_job("jobs/repair", {}, progress)["memories"])


def make_backup(cli: CliContext) -> str:
    with open_server(cli) as store:
        return str(store.run_job("jobs/backup", {})["name"])


def backups(cli: CliContext) -> list[BackupNote]:
    from nacre.server.upkeep import BackupNote

    with open_server(cli) as store:
        return [made(BackupNote, each) for each in store.ask_server("GET", "backups")]


def upkeep(cli: CliContext, *, preview: bool = False) -> tuple[str, Upkeep]:
    """The space, and what maintenance did and does there."""
    from nacre.server.upkeep import Upkeep, UpkeepJob

    with open_server(cli) as store:
        data = store.ask_server("GET", f"{store.address}/maintenance?preview={str(preview).lower()}")
        return store.space, made(Upkeep, {**data, "jobs": [made(UpkeepJob, each) for each in data["jobs"]]})


def maintain(cli: CliContext, jobs: Iterable[str], now: float, *, dry_run: bool) -> list[JobResult]:
    """In one space. Those that are due, where none is named."""
    from nacre.lifecycle.jobs import JobResult

    space, state = upkeep(cli, preview=dry_run)
    wanted = list(jobs) or [each.job for each in state.jobs if each.next_at is not None and each.next_at <= now]
    if dry_run:
        return [
            JobResult(
                each.job,
                each.would_do,
                "" if each.would_fail else each.would,
                space,
                error=each.would if each.would_fail else "",
                dry=True,
            )
            for each in state.jobs
            if each.job in wanted
        ]
    results = []
    with open_server(cli) as store:
        for job in wanted:
            done = store.run_job(f"{store.address}/jobs/maintenance", {"job": job})
            if not done["results"]:
                raise Refused(" ".join(done["notes"]))
            results += [JobResult(job, space=space, **each) for each in done["results"]]
    return results


def export_space(store: RemoteProjectStore, out: Path | BinaryIO, choice: Choice, form: str | None, force: bool) -> int:
    """Writes what the server exports: all of the space but the trash. How many bytes that is."""
    from nacre.files import atomic_write
    from nacre.transfer.export import Choice
    from nacre.transfer.export_files import MARKDOWN

    if choice != Choice() or form == MARKDOWN:
        raise InvalidInput(
            "A server exports a space as a whole: an archive, JSON lines or CSV. Name such a file and no filters, or"
            " run the export where the server runs."
        )
    ahkai = isinstance(out, Path) and out.suffix == AHKAI
    data = store.download(f"{store.address}/export?format={'ahkai' if ahkai else EXPORTED[form]}")
    if not isinstance(out, Path):
        return out.write(data)
    if out.exists() and not force:
        raise InvalidInput(f"{out} already exists; add --force to replace it, or choose another name.")
    atomic_write(out, data)
    return len(data)


def import_file(store: RemoteProjectStore, path: Path, form: str, how: dict[str, Any]) -> ImportSummary:
    """Sends the file, which the server imports as a job."""
    from nacre.transfer.archive import ImportSummary

    known = ("on_conflict", "dry_run", "why", "progress")
    others = [name for name, value in how.items() if value and name not in (*known, "named_faults")]
    if others:
        raise InvalidInput(
            f"A server imports a file as it is, without {', '.join(sorted(others))}. Leave that out, or run the import "
            "where the server runs."
        )
    if path.is_dir():
        raise InvalidInput(
            "A server takes one file; pack the folder as a .zip, or run the import where the server runs."
        )
    query = {
        "name": path.name,
        "format": form,
        "on_conflict": how.get("on_conflict") or "skip",
        "why": how.get("why", ""),
    }
    query["dry_run"] = str(bool(how.get("dry_run"))).lower()
    options = urlencode({name: value for name, value in query.items() if value})
    result = store.run_job(f"{store.address}/jobs/import?{options}", path.read_bytes(), how.get("progress"))
    operations = result["operations"] or [""]
    left_out = [f"Left out: {reason} ({count:,})." for reason, count in result["left_out"].items()]
    return ImportSummary(
        imported=result["new"],
        overwritten=result["changed"],
        skipped=result["unchanged"],
        errors=result["broken"],
        notes=(*result["notes"], *result["faults"], *left_out),
        batch=operations[-1],
    )


class RemoteUsers:
    """The users and tokens of the server, with the methods of `Registry`."""

    def __init__(self, store: RemoteProjectStore) -> None:
        self._store = store

    def users(self) -> list[User]:
        from nacre.server.users import User

        return [made(User, each) for each in self._store.ask_server("GET", "users")]

    def add_user(self, name: str, note: str = "") -> User:
        from nacre.server.users import User

        return made(User, self._store.ask_server("POST", "users", {"name": name, "note": note}))

    def remove_user(self, name: str) -> int:
        return int(self._store.ask_server("DELETE", f"users/{quote(name, safe='')}"))

    def tokens(self) -> list[Token]:
        return [self._token(each) for each in self._store.ask_server("GET", "tokens")]

    def create_token(
        self, user: str, role: str, spaces: Sequence[str] | None = None, *, days: float | None = None, note: str = ""
    ) -> tuple[Token, str]:
        opened = {} if spaces is None else {"spaces": list(spaces)}
        body = {"user": user, "role": role, "note": note, **opened}
        answer = self._store.ask_server("POST", "tokens", {**body, "expires": "" if days is None else f"{days}{DAY}"})
        return self._token(answer["token"]), str(answer["secret"])

    def revoke(self, id: str) -> None:
        self._store.ask_server("DELETE", f"tokens/{quote(id, safe='')}")

    @staticmethod
    def _token(data: dict[str, Any]) -> Token:
        from nacre.server.users import Token

        return made(Token, {**data, "spaces": tuple(data["spaces"])})
