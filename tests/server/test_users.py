"""Users and tokens: shown once, stored as a hash, expired and revoked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.access.view import USER_KIND
from nacre.errors import AccessDenied, InvalidInput, NacreError, UnknownName
from nacre.protocols import TOKEN_KIND, TermSet
from nacre.server.users import Identity, Registry
from tests.samples import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def registry(clock: Clock) -> Iterator[Registry]:
    with MemoryStore(":memory:", embedder="hashing") as store:
        made = Registry(store.acting_as("server").store, clock)
        made.add_user("ada")
        yield made


def test_a_token_says_who_asks_and_the_store_has_only_its_hash(registry: Registry) -> None:
    token, secret = registry.create_token("ada", "reviewer", ["team", "team", "home"])
    assert registry.identify(secret) == Identity("ada", Role.REVIEWER, ("team", "home"), token.id)
    stored = registry._backend.terms(TOKEN_KIND)[token.id]
    assert secret.split("_", 2)[2] not in repr(stored) and len(str(stored["hash"])) == 64
    assert registry.tokens() == [token]


def test_a_wrong_an_expired_and_a_revoked_token_open_nothing(registry: Registry, clock: Clock) -> None:
    token, secret = registry.create_token("ada", "reader", days=1)
    for wrong in ("", "x", secret[:-1], secret + "x", secret.replace(token.id, "0" * 12), secret.upper()):
        with pytest.raises(AccessDenied, match="not known"):
            registry.identify(wrong)
    clock.now += 86_401
    with pytest.raises(AccessDenied, match="expired"):
        registry.identify(secret)
    other, secret = registry.create_token("ada", "reader")
    registry.revoke(other.id)
    with pytest.raises(AccessDenied, match="not known"):
        registry.identify(secret)
    with pytest.raises(UnknownName):
        registry.revoke(other.id)


def test_a_user_that_is_removed_takes_its_tokens_along(registry: Registry) -> None:
    registry.add_user("bea")
    kept = registry.create_token("bea", "reader")[1]
    secrets = [registry.create_token("ada", "admin")[1] for _ in range(2)]
    assert registry.remove_user("ada") == 2
    for secret in secrets:
        with pytest.raises(AccessDenied):
            registry.identify(secret)
    assert registry.identify(kept).user == "bea" and [user.name for user in registry.users()] == ["bea"]
    with pytest.raises(UnknownName):
        registry.remove_user("ada")


def before_the_next_commit(registry: Registry, monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Lets somebody else be faster than the next commit."""
    backend, commit = registry.backend, registry.backend.commit

    def overtaken(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(backend, "commit", commit)
        deed()
        return commit(*args, **options)

    monkeypatch.setattr(backend, "commit", overtaken)


def test_no_token_is_made_for_a_user_who_is_removed_meanwhile(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_next_commit(registry, monkeypatch, lambda: registry.remove_user("ada"))
    with pytest.raises(UnknownName):
        registry.create_token("ada", "admin")
    assert registry.users() == [] and registry.tokens() == []


def test_a_token_that_is_made_while_its_user_is_removed_goes_along(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_next_commit(registry, monkeypatch, lambda: registry.create_token("ada", "admin"))
    assert registry.remove_user("ada") == 1 and registry.tokens() == []


def test_the_last_admin_of_all_spaces_goes_only_where_that_is_meant(registry: Registry, clock: Clock) -> None:
    token = registry.create_token("ada", "admin")[0]
    registry.add_user("bea")
    for role, spaces, days in (("admin", ["team"], None), ("writer", None, None), ("admin", None, 1)):
        registry.create_token("bea", role, spaces, days=days)
    clock.now += 86_401  # the one that is an admin's has expired
    with pytest.raises(AccessDenied, match=r"make one for another user first, or run .* user remove ada"):
        registry.remove_user("ada", keep_admin=True)
    with pytest.raises(AccessDenied, match=r"make one beside it first, or run .* token revoke"):
        registry.revoke(token.id, keep_admin=True)
    assert registry.remove_user("bea", keep_admin=True) == 3 and token in registry.tokens()
    second = registry.create_token("ada", "admin")[0]
    registry.revoke(token.id, keep_admin=True)
    registry.revoke(second.id)
    other = registry.create_token("ada", "writer")[0]
    registry.revoke(other.id, keep_admin=True)  # there was no admin before, either
    assert registry.tokens() == []


def test_two_admins_who_remove_each_other_leave_one(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.add_user("bea")
    for user in ("ada", "bea"):
        registry.create_token(user, "admin")
    before_the_next_commit(registry, monkeypatch, lambda: registry.remove_user("bea", keep_admin=True))
    with pytest.raises(AccessDenied, match="Nobody else"):
        registry.remove_user("ada", keep_admin=True)
    assert [user.name for user in registry.users()] == ["ada"]


def test_a_token_whose_user_is_gone_opens_nothing(registry: Registry) -> None:
    secret = registry.create_token("ada", "admin")[1]
    registry.backend.commit([TermSet(USER_KIND, "ada", None)])
    with pytest.raises(AccessDenied, match="was removed"):
        registry.identify(secret)


def test_what_cannot_be_a_user_or_a_token_is_refused(registry: Registry) -> None:
    for name in ("", "two words", "x" * 41, "a/b"):
        with pytest.raises(InvalidInput):
            registry.add_user(name)
    with pytest.raises(InvalidInput, match="already"):
        registry.add_user("ada")
    with pytest.raises(UnknownName, match="ada"):
        registry.create_token("adda", "reader")
    with pytest.raises(UnknownName, match="reader"):
        registry.create_token("ada", "raeder")
    with pytest.raises(InvalidInput, match="list of spaces is empty"):
        registry.create_token("ada", "reader", [])
    with pytest.raises(InvalidInput, match="small letters"):
        registry.create_token("ada", "reader", ["PERSONAL@ada"])
    with pytest.raises(InvalidInput, match="expired"):
        registry.create_token("ada", "reader", days=0)
    for days in (36_501, 1e300, float("inf"), float("nan")):  # a date that nobody can print
        with pytest.raises(InvalidInput, match="100 years"):
            registry.create_token("ada", "reader", days=days)


def test_who_may_manage_which_spaces() -> None:
    root, admin, writer = (Identity("u", role, spaces, "") for role, spaces in (
        (Role.ADMIN, ()), (Role.ADMIN, ("a", "b")), (Role.WRITER, ())))  # fmt: skip
    assert root.manages(()) and root.manages(["x"])
    assert admin.manages(["a"]) and not admin.manages(["a", "x"]) and not admin.manages(())
    assert not writer.manages(["a"])


@pytest.mark.parametrize("restricted", [False, True])
def test_tokens_open_a_renamed_space_under_its_new_name(tmp_path: Path, restricted: bool) -> None:
    with MemoryStore(tmp_path / "s.db", space="old", embedder="hashing") as store:
        registry = Registry(store.acting_as("server").store, time.time)
        registry.add_user("ada")
        wide, narrow = (registry.create_token("ada", "admin", spaces)[1] for spaces in (None, ("other", "old", "new")))
        store.remember("The pier opens at nine")
        who = registry.identify(wide)
        renaming = store.as_user(who.user, who.capabilities) if restricted else store
        renaming.rename_space("new")
        assert registry.identify(narrow).spaces == ("other", "new")
        assert registry.identify(wide).spaces == ()
        renaming.undo(renaming.journal(limit=1)[0].operation.batch)
        assert registry.identify(narrow).spaces == ("other", "old")


@pytest.mark.parametrize("restricted", [False, True])
def test_no_renaming_and_no_undo_of_one_opens_a_space_to_a_token_for_another(tmp_path: Path, restricted: bool) -> None:
    with MemoryStore(tmp_path / "s.db", space="alpha", embedder="hashing") as store:
        registry = Registry(store.acting_as("server").store, time.time)
        registry.add_user("ben")
        token, secret = registry.create_token("ben", "reader", ["beta"])
        store.remember("The pier opens at nine")
        renaming = store.as_user("ann", Identity("ann", Role.ADMIN, (), "").capabilities) if restricted else store
        with pytest.raises(InvalidInput, match="token names 'beta'"):
            renaming.rename_space("beta")
        assert registry.identify(secret).spaces == ("beta",) and list(store.spaces()) == ["alpha"]
        registry.revoke(token.id)
        renaming.rename_space("beta")
        batch = renaming.journal(limit=1)[0].operation.batch
        later = registry.create_token("ben", "reader", ["alpha"])[0]
        with pytest.raises(NacreError, match="token names 'alpha'"):
            renaming.undo(batch)
        registry.revoke(later.id)
        made_since = registry.create_token("ben", "reader", ["beta"])[1]
        renaming.undo(batch)
        assert registry.identify(made_since).spaces == ("alpha",) and list(store.spaces()) == ["alpha"]
