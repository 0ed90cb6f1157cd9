"""Every error that Nacre raises on purpose, each with its remedy in the message.

NacreError
├── InvalidInput (ValueError)        the input cannot be stored or searched
│   ├── UnknownName                  a name outside a known set, with the nearest one
│   │   └── NameNotFound             a user, a token or a job that a request names and is not there
│   ├── WrongType (TypeError)        a value of the wrong type
│   ├── AmbiguousId                  an id prefix that fits several memories
│   ├── SecretRefused                a text with a secret, where the settings refuse such texts
│   ├── WeakKey                      a new passphrase that is too short
│   └── ConfigError                  a setting that cannot be read
│       ├── MissingExtra (ImportError)  an optional package that is not installed
│       └── PlainMirror              a journal mirror in plain text beside an encrypted store
├── VersionMismatch (RuntimeError)   a memory that was changed since the caller read it
├── MemoryNotFound (KeyError)        no memory has this id in the space
├── SpaceNotFound (KeyError)         a space that was named and is not in the store
│   └── SpaceNotOpen                 a space that the token does not open, whether the store has it or not
├── AccessDenied (PermissionError)   what an agent's capabilities do not include
│   ├── QueryCostExceeded            a query that costs more than the agent may spend
│   └── QuotaExceeded                more than the agent may store
├── IssuerUnreachable (OSError)      an OAuth issuer that cannot be asked about a token
├── SupersedeCycle (ValueError)      a succession that would lead back to itself
├── LinkRefused (ValueError)         a link that is not allowed: to itself, or against `strict_links`
├── ConflictError (ValueError)       what `on_conflict="raise"` found; nothing was stored
├── ImportConflict (ValueError)      ids of an archive that are here already, where that is an error
├── UndoRefused (RuntimeError)       there is no such operation, or no way back
│   ├── OperationNotFound            the journal of the space has no such operation
│   └── UndoBlocked                  later operations changed the same memories; they are named
├── MigrationRefused (RuntimeError)  a store that cannot be moved to where it was asked
├── OperationStopped (RuntimeError)  what it had written was undone, or its space renamed or deleted
├── Cancelled (RuntimeError)         a caller no longer wants the operation; nothing was written
├── HistoryLost (LookupError)        the journal does not reach back so far, or cannot be read
├── StorageError (OSError)           the file, the disk, the schema
│   ├── NotAStore                    some other file, or a damaged one
│   │   └── StoreDamaged             a Nacre store of which a part cannot be read
│   ├── WrongKey (PermissionError)   an encrypted file, and no key or another one
│   ├── NotEncrypted (ValueError)    a plain file, and a key
│   ├── StoreNotFound (FileNotFoundError)  a store that was named to be read, and is not there
│   ├── StoreUnreachable             a path that cannot be opened or created
│   ├── DatabaseRefused              a database that cannot be reached or used
│   ├── StoreReadOnly                the file or its disk cannot be written
│   ├── StoreFull                    the disk is full
│   ├── StoreIncomplete              the target of a migration that was interrupted
│   ├── StoreInUseAtFork             a process that was forked while a thread of its parent used the store
│   ├── StoreBusy                    another process holds the store too long
│   ├── SchemaMismatch               a store made by another version
│   ├── ArchiveRefused               a portable archive that is damaged, foreign or too large
│   └── EmbeddingMismatch (ValueError)  the store's vectors are of another model
├── EmbeddingError (RuntimeError)    a text could not be embedded
│   ├── ModelUnavailable             the model is not loaded yet, damaged, or not installed
│   └── EmbeddingServiceFailed       an embedding endpoint refused or broke off
├── LanguageModelError (RuntimeError)  a language model gave no answer
├── RerankingError (RuntimeError)    a reranker gave no scores
└── ConflictModelError (RuntimeError)  the conflict model cannot be run
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, TypeVar

V = TypeVar("V")

SIMILAR = 0.7  # of difflib: a letter or two are wrong; at 0.5 `version` is taken for `lesson`
SHORTEST_PREFIX = 3  # characters that may stand for a longer name
LONGEST_NAMED = 200  # characters of a caller's name in a message


def shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAMED else f"{name[:LONGEST_NAMED]}…"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one most likely means, or None where no name is near enough to be suggested."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=SIMILAR)
    longer = [each for each in names if len(name) >= SHORTEST_PREFIX and each.startswith(name)]
    return next(iter([*near, *longer]), None)


class NacreError(Exception):
    def __reduce__(self) -> tuple[object, ...]:
        # Constructors take facts, not the message; pickling must not call them.
        return rebuild_error, (type(self), self.args), self.__dict__

    def __str__(self) -> str:
        # KeyError quotes its message and OSError rewrites it.
        return str(self.args[0]) if self.args else type(self).__name__


def rebuild_error(kind: type[NacreError], args: tuple[object, ...]) -> NacreError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class InvalidInput(NacreError, ValueError):
    pass


class UnknownName(InvalidInput):
    """`how_to_add` is the command that makes the name a known one, where there is such."""

    def __init__(self, kind: str, name: str, known: Iterable[str], how_to_add: str = "") -> None:
        names, short = sorted(known), shortened(str(name))
        near = nearest_name(short.lower(), names)
        add = f", or add it (`{how_to_add}`)" if how_to_add else ""
        rest = f"use one of: {', '.join(names)}{add}." if names else "there are none, so leave it out."
        super().__init__(f"Unknown {kind} {short!r}; {f'did you mean {near!r}{add}?' if near else rest}")

    @classmethod
    def check(cls, kind: str, name: object, known: Collection[str]) -> None:
        """Raises unless the name is known."""
        if name not in known:
            raise cls(kind, str(name), known)

    @classmethod
    def get(cls, kind: str, name: str, known: Mapping[str, V]) -> V:
        """What is known under the name. Raises unless it is."""
        cls.check(kind, name, known)
        return known[name]


class NameNotFound(UnknownName):
    """`known` are the names that the caller may see, `where` says where they are listed."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str) -> None:
        short = shortened(str(name))
        near = nearest_name(short, sorted(known))
        meant = f"did you mean {near!r}? " if near else ""
        NacreError.__init__(self, f"There is no {kind} {short!r}; {meant}{where} lists them.")


class WrongType(InvalidInput, TypeError):
    def __init__(self, name: str, wanted: str, value: object) -> None:
        super().__init__(f"{name} must be {wanted}, not {type(value).__name__}; convert it first.")


class AmbiguousId(InvalidInput):
    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        first = ", ".join(candidates[:5])
        super().__init__(f"The id prefix {prefix!r} fits several memories ({first}); give more characters.")


class SecretRefused(InvalidInput):
    """`kinds` names the kinds of secrets, never the secrets."""

    def __init__(self, kinds: Sequence[str]) -> None:
        distinct = tuple(dict.fromkeys(kinds))
        super().__init__(
            f"Nothing was kept: the text holds what looks like a secret ({', '.join(distinct)}). "
            "Take it out, or set `secrets` to redact."
        )
        self.kinds = distinct


class WeakKey(InvalidInput):
    def __init__(self, least: int) -> None:
        super().__init__(
            f"The passphrase is too short: it needs at least {least} characters. Nothing was changed. "
            "Choose a longer one, or 64 hex digits, as `openssl rand -hex 32` prints them."
        )


class ConfigError(InvalidInput):
    pass


class MissingExtra(ConfigError, ImportError):
    """`what` needs an optional package of the extra `extra`; `otherwise` is another remedy."""

    def __init__(self, what: str, extra: str, otherwise: str = "") -> None:
        way_out = f", or {otherwise}" if otherwise else ""
        remedy = f'run `pip install ".[{extra}]"` in the checkout of Nacre'
        super().__init__(f"{what} needs an optional package; {remedy}{way_out}.")


class PlainMirror(ConfigError):
    def __init__(self, mirror: Path | str) -> None:
        super().__init__(
            f"The settings `key` and `journal_mirror` exclude each other: the mirror {mirror} would repeat in plain "
            "text what an encrypted store holds. Set `journal_mirror` to nothing, or do without `key`, in which case "
            "`nacre store decrypt` decrypts an encrypted store."
        )


class MemoryNotFound(NacreError, KeyError):
    def __init__(self, id: str, space: str, other: str = "") -> None:
        place = f"spaces {space!r} and {other!r}" if other else f"space {space!r}"
        super().__init__(
            f"No memory {shortened(id)!r} in the {place}; `nacre list` shows the ids, `--space` chooses another space."
        )


class VersionMismatch(NacreError, RuntimeError):
    """`expected` is the version that the caller read, `actual` the present one."""

    def __init__(self, id: str, expected: int, actual: int) -> None:
        super().__init__(
            f"The memory {shortened(id)!r} has the version {actual} by now, not {expected}; nothing was changed. "
            "Read it again and repeat."
        )
        self.expected = expected
        self.actual = actual


class SpaceNotFound(NacreError, KeyError):
    """`known` are the existing spaces."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        near = nearest_name(name, sorted(known))
        meant = f"did you mean {near!r}? " if near else ""
        super().__init__(f"there is no space {name!r} in this store; {meant}`nacre space list` shows them all.")


class SpaceNotOpen(SpaceNotFound):
    """`opened` are the spaces that the token names; none means all but the personal spaces of other users. `how` says
    how to choose one, where the interface is known."""

    def __init__(self, name: str, opened: Sequence[str], how: str = "") -> None:
        others = f"it opens {', '.join(opened)}. Choose one of these" if opened else "choose another space"
        others += f" {how}" if how else ""
        NacreError.__init__(
            self, f"This token does not open the space {name!r}; {others}, or ask an admin for a token."
        )


class AccessDenied(NacreError, PermissionError):
    pass


class QueryCostExceeded(AccessDenied):
    def __init__(self, cost: float, limit: float) -> None:
        super().__init__(
            f"This question costs {cost:g}, and {limit:g} is allowed; ask for fewer memories, or narrow it down."
        )


class QuotaExceeded(AccessDenied):
    def __init__(self, megabytes: float) -> None:
        super().__init__(
            f"Nothing was kept: more than the {megabytes:g} MB that are allowed would be held. "
            "Purge what is no longer needed, or have the quota raised."
        )


class IssuerUnreachable(NacreError, OSError):
    def __init__(self, issuer: str, reason: str) -> None:
        super().__init__(
            f"Tokens of {issuer} cannot be checked now ({reason}). Repeat it in a moment; if it stays so, tell an "
            "admin of the server."
        )
        self.reason = reason


class SupersedeCycle(NacreError, ValueError):
    def __init__(self, old: str, new: str) -> None:
        super().__init__(
            "A memory cannot replace itself; name two different ones."
            if old == new
            else f"{old} cannot be superseded by {new}: {new} is itself superseded, in the end, by {old}. "
            f"Restore {new} first."
        )


class LinkRefused(NacreError, ValueError):
    pass


class NamedConflict(Protocol):
    """What the errors say of a conflict."""

    def named_for(self, id: str, /) -> str: ...


class ConflictError(NacreError, ValueError):
    """`conflicts` are those found, each with its reason; `memory_id` is what the refused memory would have had."""

    def __init__(self, conflicts: Sequence[NamedConflict], memory_id: str = "") -> None:
        named = "; ".join(conflict_names(conflicts[:3], memory_id))
        super().__init__(
            f"Nothing was stored: {named}{' …' if len(conflicts) > 3 else ''}. "
            "Edit or supersede the stored memory, or store this one too, with on_conflict='note'."
        )
        self.conflicts = tuple(conflicts)
        self.memory_id = memory_id


class ConflictWarning(UserWarning):
    """`conflicts` are those that the memory `memory_id` was stored beside."""

    def __init__(self, conflicts: Sequence[NamedConflict], memory_id: str = "") -> None:
        named = "; ".join(conflict_names(conflicts, memory_id))
        super().__init__(f"Stored beside what it conflicts with: {named}.")
        self.conflicts = tuple(conflicts)
        self.memory_id = memory_id


def conflict_names(conflicts: Sequence[NamedConflict], memory_id: str) -> list[str]:
    """Each as a conflict of the memory with this id, where one is given."""
    return [each.named_for(memory_id) if memory_id else str(each) for each in conflicts]


class ImportConflict(NacreError, ValueError):
    """`collisions` are the first ids that exist already, `count` is the number of all."""

    def __init__(self, collisions: Sequence[str], count: int) -> None:
        named = ", ".join(id[:36] for id in collisions[:3])
        more = " …" if count > 3 else ""
        super().__init__(
            f"Nothing was imported: {count:,} of the archive's ids are here already ({named}{more}). "
            "Skip, overwrite or rename them, or import into another space."
        )
        self.collisions = tuple(collisions)
        self.count = count


class UndoRefused(NacreError, RuntimeError):
    pass


class OperationNotFound(UndoRefused):
    def __init__(self, batch: str) -> None:
        super().__init__(
            f"There is no such operation in the journal as {shortened(batch)!r}; `nacre journal` lists them."
        )


class UndoBlocked(UndoRefused):
    """`later` are the operations that prevent it, newest first; `state` says how the subject depends on them."""

    def __init__(
        self,
        subject: str,
        later: Sequence[object],
        state: str = "was changed after this operation",
        remedy: str = "undo the later operations first, or with this one (`--cascade`)",
    ) -> None:
        named = ", ".join(f"{each.name} {each.short_batch}" for each in later[:5])  # type: ignore[attr-defined]
        which = f" ({named}{', …' if len(later) > 5 else ''})" if named else ""
        super().__init__(f"{subject} {state}{which}; {remedy if later else 'this operation was undone already'}.")
        self.subject, self.state, self.later = subject, state, tuple(later)


class MigrationRefused(NacreError, RuntimeError):
    pass


class OperationStopped(NacreError, RuntimeError):
    """`event` is what somebody did to an operation that was not complete."""

    def __init__(self, operation: str, event: str, remedy: str) -> None:
        super().__init__(f"This operation ({operation}) was stopped, because {event} meanwhile. {remedy}")


class Cancelled(NacreError, RuntimeError):
    def __init__(self) -> None:
        super().__init__("The call was cancelled before it wrote anything; repeat it if it is still wanted.")


class HistoryLost(NacreError, LookupError):
    pass


EXAMINE = " Run `nacre doctor` to examine it."  # the doctor leaves it out


class StorageError(NacreError, OSError):
    pass


class NotAStore(StorageError):
    def __init__(self, path: Path | str, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{path} is not a readable Nacre store ({reason}). Restore a backup, or choose another file with --store."
        )


class StoreDamaged(NotAStore):
    def __init__(self, path: Path | str, reason: str) -> None:
        self.reason = reason
        StorageError.__init__(
            self,
            f"{path} is damaged ({reason}). Run `nacre doctor --fix`, which keeps everything that can be read, "
            "or put a copy back with `nacre store backup restore`.",
        )


class WrongKey(StorageError, PermissionError):
    def __init__(self, path: Path | str, *, key_set: bool) -> None:
        state = "the key that was given does not open it" if key_set else "no key was given"
        asked = "" if key_set else "; a command at a terminal asks for a passphrase"
        super().__init__(
            f"{path} cannot be read: it is encrypted, and {state}. "
            f"Name the right one with the setting `key` (file:PATH, env:VARIABLE or keyring:NAME){asked}."
        )


class NotEncrypted(StorageError, ValueError):
    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"{path} is not encrypted, and a key was given. "
            "Leave the setting `key` empty, or run `nacre store encrypt` to encrypt the store."
        )


class StoreNotFound(StorageError, FileNotFoundError):
    """`beside` are the names of the stores in the folder of the missing one."""

    def __init__(self, path: Path | str, beside: Iterable[str]) -> None:
        near = nearest_name(Path(path).name, sorted(beside))
        meant = f"did you mean {str(Path(path).with_name(near))!r}? " if near else ""
        super().__init__(f"there is no store at {path}; {meant}`nacre remember` makes a new one.")


class StoreUnreachable(StorageError):
    def __init__(self, path: Path | str, reason: str, remedy: str = "") -> None:
        remedy = remedy or "Check the path and its permissions, or choose another file with --store."
        super().__init__(f"The store {path} cannot be opened ({reason}). {remedy}")


class DatabaseRefused(StorageError):
    """`address` is that of the database, without its password."""

    def __init__(self, address: str, reason: str, remedy: str) -> None:
        super().__init__(f"The database {address} cannot be used ({reason}). {remedy}")


class StoreReadOnly(StorageError):
    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"The store {path} cannot be written: the file, its folder or the disk is read-only. "
            "Make it writable, or choose another file with --store."
        )


class StoreFull(StorageError):
    """`kept` says what a long operation has written before, and what to do about it."""

    def __init__(self, path: Path | str, kept: str = "") -> None:
        super().__init__(
            f"The disk that holds {path} is full; {kept or 'nothing was changed. Free some space and repeat.'}"
        )
        self.path = path


class StoreIncomplete(StorageError):
    def __init__(self, store: str, source: str) -> None:
        super().__init__(
            f"{store} is an unfinished copy of {source}, and cannot be used yet. Run `nacre store migrate {source} "
            f"{store}` again to complete it. To give it up, delete the file, or the schema `nacre` of the database."
        )


class StoreInUseAtFork(StorageError):
    """SQLite cannot be used in a process that was copied while another thread was inside it."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"This process was forked while another thread of its parent used {path}, and cannot use that store. "
            "Fork when no thread uses it, or start the process with the method 'spawn'."
        )


class StoreBusy(StorageError):
    def __init__(self, path: Path | str, seconds: float, holder: str = "process") -> None:
        super().__init__(
            f"Another {holder} has held {path} for more than {seconds:g} s; nothing was changed. "
            f"Repeat, or end the {holder} that holds it."
        )


class SchemaMismatch(StorageError):
    def __init__(self, path: Path | str, schema: int, known: int) -> None:
        super().__init__(
            f"{path} was made by another version of nacre (schema {schema}; this version has {known}). Run "
            "`nacre export` with that version and import the archive here; to begin a new store, move the file to "
            "another folder."
        )


class ArchiveRefused(StorageError):
    """`remedy` is that of the command line; other interfaces may have another one."""

    def __init__(self, path: Path | str, reason: str, remedy: str) -> None:
        super().__init__(f"{path} was not taken: {reason}. {remedy}")
        self.reason, self.remedy = reason, remedy


class EmbeddingMismatch(StorageError, ValueError):
    def __init__(self, stored: str, current: str, difference: str = "") -> None:
        other = "which is another model now" if stored == current else f"but {current!r} is configured"
        super().__init__(
            f"This store was indexed with {stored!r}, {other}{difference}. "
            "Run `nacre store reindex`, or configure the first model again."
        )


class EmbeddingError(NacreError, RuntimeError):
    pass


class ModelUnavailable(EmbeddingError):
    def __init__(self, model: str, reason: str, remedy: str) -> None:
        super().__init__(f"The embedding model {model} is not available ({reason}). {remedy}")


class EmbeddingServiceFailed(EmbeddingError):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"The embedding service at {url} did not answer as expected ({reason}). "
            "Check that it runs and that the model's name is right."
        )


class LanguageModelError(NacreError, RuntimeError):
    def __init__(self, model: str, reason: str, remedy: str) -> None:
        super().__init__(f"The language model {model} gave no answer ({reason}). {remedy}")


class RerankingError(NacreError, RuntimeError):
    def __init__(self, reranker: str, reason: str, remedy: str) -> None:
        super().__init__(f"The reranker {reranker} gave no scores ({reason}). {remedy}")


class ConflictModelError(NacreError, RuntimeError):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The conflict model cannot be run ({reason}), so conflicts were judged by exact rules alone. "
            "Install nacre again, or set conflict_judge to rules."
        )
