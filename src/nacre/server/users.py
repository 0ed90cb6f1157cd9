"""The users of a server and their tokens, as terms of the store, so that every instance over it knows the same ones.

A token is shown once; the store has only its hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nacre.access.capabilities import AgentCapabilities, Role, demand_role, opens, user_capabilities
from nacre.access.view import USER_KIND
from nacre.engine.engine import change_term, set_terms
from nacre.errors import AccessDenied, InvalidInput, NameNotFound, StorageError, UnknownName
from nacre.factory import open_backend, store_file
from nacre.lifecycle.backups import restore
from nacre.model.instants import iso
from nacre.model.validate import space_name, storable_text
from nacre.protocols import TOKEN_KIND, Backend, Clock, Data, Reader, TermSet
from nacre.settings import Settings

PREFIX = "nacre"
SECRET_BYTES = 32
ID_BYTES = 6
TOKEN = re.compile(rf"{PREFIX}_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9_-]{{20,}})\Z")
USER_NAME = re.compile(r"[\w.@+-]{1,40}\Z")
LAST_ADMIN = "Nobody else has a token with the role admin for all spaces, which users, backups and upkeep need"
LONGEST_DAYS = 36_500.0  # a token that lives longer than anybody is one without an end; later dates have no name
Admitted = Mapping[str, Mapping[str, Data]]  # the data of users and tokens, by kind and name


@dataclass(frozen=True, slots=True)
class User:
    name: str
    created_at: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """No `spaces` means all of them; no `expires_at` means never."""

    id: str
    user: str
    role: str
    spaces: tuple[str, ...]
    created_at: float
    expires_at: float | None = None
    note: str = ""

    def manages_server(self, now: float) -> bool:
        """Whether it is one of those with which users, backups and upkeep are managed."""
        valid = self.expires_at is None or self.expires_at > now
        return valid and self.role == Role.ADMIN and not self.spaces


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and what they may do; `token` names the token, and is not the token itself."""

    user: str
    role: Role
    spaces: tuple[str, ...]
    token: str

    @property
    def rights(self) -> str:
        """The same for all tokens of a user that may do the same, such as one that took the place of an expired one."""
        return json.dumps([self.user, self.role, sorted(self.spaces)])

    @property
    def capabilities(self) -> AgentCapabilities:
        return user_capabilities(self.role, self.spaces)

    def reaches(self, space: str) -> bool:
        return opens(self.user, self.role, self.spaces, space)

    def demand_role(self, role: Role, what: str) -> None:
        """Raises `AccessDenied`."""
        demand_role(f"The user {self.user!r}", self.role, role, what)

    def manages(self, spaces: Collection[str]) -> bool:
        """Whether it may give and take tokens for these spaces; none means all."""
        return self.role is Role.ADMIN and (not self.spaces or (bool(spaces) and set(spaces) <= set(self.spaces)))


class Registry:
    """Safe to use from any number of threads, processes and machines."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock

    @property
    def backend(self) -> Backend:
        """The store without any restriction."""
        return self._backend

    def use(self, backend: Backend) -> None:
        """Another file is in the store's place."""
        self._backend = backend

    def admitted(self) -> Admitted:
        """All users and tokens, as they are kept."""
        return {kind: dict(self._backend.terms(kind)) for kind in (USER_KIND, TOKEN_KIND)}

    def admit_only(self, admitted: Admitted) -> None:
        """For a store that took another one's place: a token that was revoked must not come back with it."""
        for kind, known in admitted.items():
            present = self._backend.terms(kind)
            changes = [TermSet(kind, name, known.get(name)) for name in {*present, *known}]
            self._backend.commit([each for each in changes if present.get(each.name) != each.data])

    def users(self) -> list[User]:
        return [user_of(name, data) for name, data in sorted(self._backend.terms(USER_KIND).items())]

    def add_user(self, name: str, note: str = "") -> User:
        """Raises `InvalidInput` for a name that is taken or cannot be one."""
        if not USER_NAME.match(name):
            raise InvalidInput(f"{name!r} cannot be a user's name; use up to 40 letters, digits and . @ + - _.")
        user = User(name, self._clock(), storable_text("note", note))

        def added(before: Data | None) -> Data:
            if before is not None:
                raise InvalidInput(f"There is a user {name!r} already; choose another name.")
            return {"created_at": user.created_at, "note": user.note}

        change_term(self._backend, USER_KIND, name, added)
        return user

    def remove_user(self, name: str, *, keep_admin: bool = False) -> int:
        """Removes the user and revokes its tokens, at once; returns how many. What it wrote stays. Raises
        `NameNotFound`, and with `keep_admin` `AccessDenied` where the last admin of all spaces would go."""
        own: list[str] = []

        def plan(reader: Reader) -> list[TermSet]:
            self._known("user", USER_KIND, name, reader.term(USER_KIND, name))
            own[:] = [id for id, data in reader.terms(TOKEN_KIND).items() if data["user"] == name]
            if keep_admin:
                self._demand_admin_without(own, reader, "for another user", f"user remove {name}")
            return [TermSet(USER_KIND, name, None), *(TermSet(TOKEN_KIND, id, None) for id in own)]

        set_terms(self._backend, plan)
        return len(own)

    def tokens(self) -> list[Token]:
        """The oldest first."""
        stored = self._backend.terms(TOKEN_KIND).items()
        return sorted((token_of(id, data) for id, data in stored), key=lambda token: (token.created_at, token.id))

    def create_token(
        self, user: str, role: str, spaces: Collection[str] | None = None, *, days: float | None = None, note: str = ""
    ) -> tuple[Token, str]:
        """The token's description, and the token itself, which is stored nowhere. It opens all spaces where none are
        given; an empty list, which a program may make by mistake, is refused. Raises `UnknownName`."""
        UnknownName.check("role", role, [str(each) for each in Role])
        if spaces is not None and not spaces:
            raise InvalidInput("The list of spaces is empty; name some, or leave it out for a token that opens all.")
        if days is not None and days <= 0:
            raise InvalidInput("A token cannot have expired already; give a longer time.")
        if days is not None and not days <= LONGEST_DAYS:
            raise InvalidInput(
                "A token can last 100 years at most; give a shorter time, or none for one without an end."
            )
        now, id, secret = self._clock(), secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
        names = tuple(dict.fromkeys(space_name(space) for space in spaces or ()))
        until = None if days is None else now + days * 86_400
        token = Token(id, user, role, names, now, until, storable_text("note", note))
        data = {**asdict(token), "spaces": list(names), "hash": digest(secret)}
        del data["id"]

        def plan(reader: Reader) -> list[TermSet]:  # reads the user: who removes it meanwhile must not miss this token
            if reader.term(USER_KIND, user) is None:
                raise NameNotFound("user", user, self._backend.terms(USER_KIND), "`nacre user list`")
            return [TermSet(TOKEN_KIND, id, data)]

        set_terms(self._backend, plan)
        return token, f"{PREFIX}_{id}_{secret}"

    def revoke(self, id: str, *, keep_admin: bool = False) -> None:
        """Raises `NameNotFound`, and with `keep_admin` `AccessDenied` for the last token of an admin of all spaces."""

        def plan(reader: Reader) -> list[TermSet]:
            self._known("token", TOKEN_KIND, id, reader.term(TOKEN_KIND, id))
            if keep_admin:
                self._demand_admin_without([id], reader, "beside it", f"token revoke {id}")
            return [TermSet(TOKEN_KIND, id, None)]

        set_terms(self._backend, plan)

    def identify(self, text: str) -> Identity:
        """Who shows this token. Raises `AccessDenied`, whatever is wrong with it."""
        match = TOKEN.match(text)
        data = self._backend.term(TOKEN_KIND, match[1]) if match else None
        if match is None or data is None or not hmac.compare_digest(str(data["hash"]), digest(match[2])):
            raise AccessDenied("This token is not known here; ask an admin of the server for another one.")
        token = token_of(match[1], data)
        if self._backend.term(USER_KIND, token.user) is None:
            raise AccessDenied("The user of this token was removed; ask an admin of the server for another token.")
        if token.expires_at is not None and token.expires_at <= self._clock():
            raise AccessDenied(f"This token expired at {iso(token.expires_at)}; ask an admin for another one.")
        return Identity(token.user, Role(token.role), token.spaces, token.id)

    def has_tokens(self) -> bool:
        return bool(self._backend.terms(TOKEN_KIND))

    def _demand_admin_without(self, revoked: Collection[str], reader: Reader, other: str, command: str) -> None:
        """Raises `AccessDenied` where none but these tokens manages the server: nobody could make another over it."""
        tokens = (token_of(id, data) for id, data in reader.terms(TOKEN_KIND).items())
        managing = {token.id for token in tokens if token.manages_server(self._clock())}
        if managing and managing <= set(revoked):
            raise AccessDenied(
                f"{LAST_ADMIN}; make one {other} first, or run `nacre --store STORE {command}` on the store itself, "
                "without the server."
            )

    def _known(self, what: str, kind: str, name: str, before: Data | None) -> None:
        if before is None:
            raise NameNotFound(what, name, self._backend.terms(kind), f"`nacre {what} list`")


def user_of(name: str, data: Mapping[str, Any]) -> User:
    return User(name, **data)


def token_of(id: str, data: Mapping[str, Any]) -> Token:
    known = dict(data)
    known.pop("hash")
    return Token(id, **{**known, "spaces": tuple(known["spaces"])})


def digest(secret: str) -> str:
    """A plain hash suffices: the secret is random and long, so that nobody can try them all."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Restored:
    """`replaced` is where the former file was moved, if there was one. `users` is `kept` where the copy had other users
    and tokens and those of the former store stay, `of the copy` where the former store had none, else empty."""

    replaced: Path | None
    users: Literal["kept", "of the copy", ""]


def restore_keeping_users(settings: Settings, copy: Path | str, now: float, *, key: str | None = None) -> Restored:
    """As `lifecycle.backups.restore`. The users and tokens of the present store stay, so that a token which was revoked
    does not come back; where it has none, or they cannot be read, those of the copy are used. Nobody may have the store
    open."""
    before = admitted_in(settings)
    replaced = restore(settings, copy, now, key=key)
    with closing(open_backend(settings.store, settings)) as backend:
        registry = Registry(backend, lambda: now)
        of_copy = registry.admitted()
        if before:
            registry.admit_only(before)
            return Restored(replaced, "kept" if of_copy != before else "")
    return Restored(replaced, "of the copy" if any(of_copy.values()) else "")


def admitted_in(settings: Settings) -> Admitted:
    """Empty where the store has no users, is not there, or is so damaged that they cannot be read."""
    if not store_file(settings.store).is_file():
        return {}
    try:
        with closing(open_backend(settings.store, settings)) as backend:
            admitted = Registry(backend, lambda: 0.0).admitted()
    except StorageError:
        return {}
    return admitted if any(admitted.values()) else {}
