"""What the commands that change a store's key share: where the new key is, and what is to be done afterwards."""

from __future__ import annotations

from pathlib import Path

from nacre.cli.errors import Refused, UsageProblem
from nacre.cli.ui.output import say
from nacre.factory import key_named, make_access, open_store
from nacre.settings import KEY_FILE, Settings

SETTING = "NACRE_KEY"


def chosen_key(named: str | None, new_file: str | None, known: str, option: str) -> str:
    """The setting that names the new key: as given, of a file that is yet to be made, or as the settings have it.

    What is wrong with it is said now, before anybody is asked.
    """
    if named and new_file:
        raise UsageProblem(f"{option} and --new-key-file name two keys; give one of them.")
    if new_file:
        return lasting(KEY_FILE + new_file)
    setting = lasting(named or known)
    if not setting:
        named_by = "file:PATH, env:VARIABLE, keyring:NAME"
        raise UsageProblem(f"no key was named; give {option} ({named_by}) or --new-key-file PATH.")
    key = key_named(setting)
    if key is not None:
        key.check_strength()
    return setting


def lasting(setting: str) -> str:
    """A path from here is told as one from anywhere: it goes into the settings."""
    name = setting.removeprefix(KEY_FILE)
    return setting if name in (setting, "") else KEY_FILE + str(Path(name).expanduser().absolute())


def check_opens(settings: Settings) -> None:
    """With the key that the settings name, by one who may; what is wrong is said before anybody is asked."""
    access = make_access(settings, settings.space, settings.agent, settings.session, None)
    if access is not None:
        access.demand("change the key of the store")
    open_store(settings.store, settings).close()


def tell_setting(setting: str, settings: Settings) -> None:
    if lasting(settings.key) == setting:
        say("The setting `key` names the key already.")
    else:
        say(f"Now put  key = '{setting}'  into the settings, or set {SETTING}; and keep a copy of the key elsewhere.")


def check_no_mirror(settings: Settings) -> None:
    """A mirror of the journal is plain text: it would go on repeating what the store encrypts."""
    mirrors = [settings.journal_mirror, *(str(own.get("journal_mirror", "")) for own in settings.spaces.values())]
    if any(mirrors):
        named = ", ".join(mirror for mirror in mirrors if mirror)
        raise Refused(
            f"the journal is mirrored in plain text ({named}), which would repeat what is encrypted. Set "
            "`journal_mirror` to nothing, delete the mirror and its archives beside it, and repeat."
        )


def tell_copies(*, plain: bool) -> None:
    """Of what the change does not reach: `plain` where it was not encrypted before."""
    say(f"Backups made before stay as they were: {'not encrypted' if plain else 'they open with the old key'}.")
