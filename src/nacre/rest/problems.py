"""Errors as `application/problem+json` and back: the same class, with the same sentence and facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nacre import errors
from nacre.errors import (
    AccessDenied,
    ArchiveRefused,
    Cancelled,
    ConflictError,
    HistoryLost,
    ImportConflict,
    InvalidInput,
    IssuerUnreachable,
    LinkRefused,
    MemoryNotFound,
    NacreError,
    NameNotFound,
    OperationNotFound,
    OperationStopped,
    SpaceNotFound,
    StorageError,
    StoreBusy,
    SupersedeCycle,
    UndoBlocked,
    UndoRefused,
    VersionMismatch,
)
from nacre.model import Conflict, Operation
from nacre.model.memory import Json
from nacre.rest.wire import Reading, to_json

CONTENT_TYPE = "application/problem+json"
# The first match wins.
STATUSES: tuple[tuple[type[NacreError], int, str], ...] = (
    (MemoryNotFound, 404, "There is no such memory"),
    (SpaceNotFound, 404, "There is no such space"),
    (NameNotFound, 404, "There is nothing of this name"),
    (OperationNotFound, 404, "There is no such operation"),
    (VersionMismatch, 412, "The memory was changed meanwhile"),
    (AccessDenied, 403, "This token does not allow it"),
    (ConflictError, 409, "It conflicts with what is stored"),
    (ImportConflict, 409, "The ids exist already"),
    (UndoBlocked, 409, "Later operations depend on it"),
    (UndoRefused, 409, "It cannot be undone"),
    (OperationStopped, 409, "It was stopped before it was complete"),
    (SupersedeCycle, 409, "A memory cannot replace itself"),
    (LinkRefused, 409, "The link is not allowed"),
    (HistoryLost, 410, "The journal does not reach back so far"),
    (InvalidInput, 400, "The request cannot be understood"),
    (IssuerUnreachable, 503, "Tokens cannot be checked now"),
    (StoreBusy, 503, "The store is busy"),
    (Cancelled, 503, "The request was cancelled"),
    (ArchiveRefused, 400, "The file cannot be taken"),
    (StorageError, 500, "The store cannot be read or written"),
    (NacreError, 500, "It could not be done"),
)
FACTS = ("later", "conflicts", "memory_id", "kinds", "collisions", "count", "expected", "actual", "reason")


def status_of(error: NacreError) -> tuple[int, str]:
    return next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))


def problem(error: NacreError, write: Callable[[object], Json] = to_json) -> dict[str, Json]:
    """`write` makes JSON of its facts."""
    status, title = status_of(error)
    facts = {name: write(getattr(error, name)) for name in FACTS if name in vars(error)}
    return problem_of(type(error).__name__, status, title, str(error), **facts)


def problem_of(name: str, status: int, title: str, sentence: str, **facts: Json) -> dict[str, Json]:
    """`detail` says what happened, `remedy` what to do next; `message` is both."""
    detail, remedy = split_remedy(sentence)
    about: dict[str, Json] = {"type": f"urn:nacre:error:{name}", "title": title, "status": status, "detail": detail}
    return {**about, "remedy": remedy, "message": sentence, **({"facts": facts} if facts else {})}


def split_remedy(sentence: str) -> tuple[str, str]:
    """Every message ends with its remedy, after a semicolon or in sentences of its own."""
    for mark in ("; ", ". "):
        before, _, after = sentence.partition(mark) if mark == ". " else sentence.rpartition(mark)
        if before and after:
            return f"{before.rstrip('.')}.", after[0].upper() + after[1:]
    return sentence, ""


def error_of(about: Mapping[str, Any]) -> NacreError:
    """The error that a server met; one of a newer server that is not known here is a `NacreError`."""
    name = str(about.get("type", "")).rpartition(":")[2]
    kind = getattr(errors, name, None)
    kind = kind if isinstance(kind, type) and issubclass(kind, NacreError) else NacreError
    error = errors.rebuild_error(kind, (str(about.get("message") or about.get("detail") or name),))
    facts, reading = about.get("facts") or {}, Reading(strict=False)
    for fact, value in facts.items():
        if fact == "later":
            value = reading.read(fact, tuple[Operation, ...], value)
        elif fact == "conflicts":
            value = reading.read(fact, tuple[Conflict, ...], value)
        setattr(error, fact, tuple(value) if isinstance(value, list) else value)
    return error
