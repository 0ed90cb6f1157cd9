"""What every command shares: the global options, and the store that they name."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

    from nacre.errors import StoreNotFound
    from nacre.memory_store import MemoryStore
    from nacre.project_store import ProjectStore
    from nacre.protocols import Embedder
    from nacre.settings import Settings, SpaceChoice

STORE_SUFFIX = ".db"  # of a store unless it is named otherwise
SIMILAR_NAME = 0.8  # of difflib: two letters swapped, or one missing in a word of five

MOST_WAITING = 100  # review items that are counted for the first screen


@dataclass(slots=True)
class CliContext:
    """`flags` are named as the settings that they override. They may come before the command or after it."""

    flags: dict[str, str] = field(default_factory=dict)
    debug: bool = False
    notified: set[str] = field(default_factory=set)
    may_ask: bool = True  # for the passphrase of an encrypted store
    reported_empty: bool = False  # whether it was said that nothing is stored yet

    def settings(self) -> Settings:
        from nacre.settings import settings

        return settings(self.flags, notify=self.notify)

    def unlocked_settings(self) -> Settings:
        """For who opens the store: where it is encrypted, no setting names the key and a person is at a terminal, asks
        for the passphrase, which is kept for this command alone. Raises `WrongKey` after three wrong ones."""
        known = self.settings()
        if self.may_ask and not known.key and asks_for_key(known):
            self.flags["key"] = read_passphrase(known)
            known = self.settings()
        return known

    def space_settings(self) -> Settings:
        """With those of the space that the command works in."""
        return self.unlocked_settings().for_space(self.choose_space().space)

    def choose_space(self, known: Iterable[str] = ()) -> SpaceChoice:
        """For the folder in which the command is called; `known` are the spaces of the store."""
        from nacre.settings import choose_space

        return choose_space(Path.cwd(), known, flags=self.flags)

    def notify(self, notice: str) -> None:
        """Says it on stderr, once for each command."""
        if notice not in self.notified:
            from nacre.cli.ui.output import say

            self.notified.add(notice)
            say(f"nacre: {notice}")

    def open(self, *, any_space: bool = False, alone: bool = True) -> ProjectStore:
        """For commands that make no store. Where there is no default store yet, opens an empty one in memory.

        Raises `StoreNotFound` and `SpaceNotFound` for what the options or the environment name and is not there; with
        `any_space` a space that is not there is an empty one.
        """
        known = self.settings()
        if not store_exists(known):
            return self._open_empty(known)
        store = self._opened(known, alone=alone)
        try:
            if self.names("space") and not any_space and not has_space(store):
                from nacre.errors import SpaceNotFound

                raise SpaceNotFound(known.space, [note.name for note in store.space_notes()])
        except BaseException:  # also where a server does not open the space
            store.close()
            raise
        if not self.names("space") and not any_space and not store.settings.scope:
            for note in empty_space_notes(store):
                self.notify(note)
        return store

    def open_with_personal(self) -> ProjectStore:
        """As `open`, with `personal` beside the space: for commands that search, list, or name a memory by its id."""
        return self.open(alone=False)

    def open_if_it_exists(self) -> ProjectStore:
        """For a dry run of what would make a store: where there is none, an empty one in memory."""
        known = self.settings()
        return self._opened(known) if store_exists(known) else self._empty_store(known)

    @contextmanager
    def open_or_make(self, *, alone: bool = True) -> Iterator[ProjectStore]:
        """For commands that write: makes the store and the space where they are missing, and says so on stderr."""
        from difflib import get_close_matches
        from shlex import quote

        from nacre.cli.ui.output import say
        from nacre.factory import store_name
        from nacre.settings import DEFAULT

        known = self.settings()
        new_store = not store_exists(known)
        with self._opened(known, alone=alone) as store:
            new_space = not new_store and not has_space(store)
            others = [DEFAULT, *(note.name for note in store.space_notes())] if new_space else []
            if new_store:
                say(f"Created the store {store_name(known.store)}.")
            yield store
            if new_space and has_space(store):
                near = get_close_matches(store.space, others, n=1, cutoff=SIMILAR_NAME) if self.names("space") else []
                meant = f" Did you mean {near[0]!r}?" if near else ""
                remedy = f" `nacre --space {quote(store.space)} undo` takes this back." if near else ""
                say(f"Created the space {store.space!r}.{meant}{remedy}", *namesake_notes(store, store.spaces()))

    def _open_empty(self, known: Settings) -> ProjectStore:
        from nacre.cli.ui.output import say
        from nacre.factory import is_empty_file, store_file

        if is_empty_file(known.store):
            from nacre.lifecycle.doctor import empty_file_note

            self.reported_empty = True
            say(empty_file_note(store_file(known.store).absolute()))
            return self._empty_store(known)
        if self.names("store"):
            raise store_not_found(known.store)
        self.reported_empty = True
        say(f"Nothing is remembered yet; `nacre remember TEXT` makes the store {store_file(known.store).absolute()}.")
        return self._empty_store(known)

    def _empty_store(self, known: Settings) -> ProjectStore:
        """In memory, so that no file is made."""
        from nacre.settings import IN_MEMORY

        return self._opened(replace(known, store=IN_MEMORY, key="", journal_mirror=""))

    def names(self, setting: str) -> bool:
        """Whether an option or the environment names it; a settings file may name what is still to be made."""
        from nacre.settings import ENVIRONMENT

        return bool(self.flags.get(setting) or os.environ.get(ENVIRONMENT + setting.upper(), "").strip())

    def _opened(self, known: Settings, *, alone: bool = True) -> ProjectStore:
        from nacre.factory import is_server
        from nacre.model.journal import PERSON
        from nacre.project_store import ProjectStore

        configure_logging(debug=self.debug)
        if not known.key and known.store == self.settings().store:
            known = replace(known, key=self.unlocked_settings().key)
        if is_server(known.store):
            from nacre.client import RemoteProjectStore

            return RemoteProjectStore.open(known, self.choose_space, actor=PERSON, alone=alone)
        store = ProjectStore.open(known, self.choose_space, actor=PERSON, alone=alone)
        opened_at = self.now()
        store.at_close = lambda closing: back_up_if_written(closing, known, opened_at)
        return store

    def review_line(self) -> str:
        """How many review items wait, for the first screen. Empty where none does, where nothing is stored yet, or
        where the store cannot be read: the screen must come up all the same. A store over a network is not asked."""
        from nacre.errors import NacreError
        from nacre.model.review import QUICK_KINDS
        from nacre.settings import ADDRESS

        try:
            known = self.settings()
            if ADDRESS.match(known.store) or not store_exists(known):
                return ""
            with replace(self, may_ask=False)._opened(known, alone=False) as store:  # as `nacre review` opens it
                waiting = len(store.review(kinds=QUICK_KINDS, limit=MOST_WAITING))
        except (NacreError, OSError):
            return ""
        count = f"{waiting} or more" if waiting == MOST_WAITING else str(waiting)
        what = "review item waits" if waiting == 1 else "review items wait"
        line = f"{count} {what} for you (names that may be one are not counted); `nacre review` asks about them."
        return line if waiting else ""

    def embedder(self) -> Embedder:
        """Without a store, for what makes stores of its own."""
        from nacre.factory import make_embedder

        configure_logging(debug=self.debug)
        return make_embedder(self.settings())

    def now(self) -> float:
        return time.time()


def at_terminal() -> bool:
    """Whether a person can be asked, and sees the question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def asks_for_key(known: Settings) -> bool:
    from nacre.factory import is_encrypted, store_file
    from nacre.settings import ADDRESS, IN_MEMORY

    if known.store == IN_MEMORY or ADDRESS.match(known.store) or not at_terminal():
        return False
    return store_file(known.store).is_file() and is_encrypted(known.store)


def read_passphrase(known: Settings) -> str:
    """The value of the setting `key` for what was typed, once it opens the store."""
    from nacre.cli.ui.output import say
    from nacre.cli.ui.prompts import TRIES, read_hidden
    from nacre.errors import ConfigError, WrongKey
    from nacre.factory import open_backend, store_file, typed_key_setting

    file = store_file(known.store)
    for _ in range(TRIES):
        setting = typed_key_setting(read_hidden(f"Passphrase of {file}: "))
        try:
            open_backend(known.store, replace(known, key=setting)).close()
        except (WrongKey, ConfigError):  # or nothing at all was typed
            say("That passphrase does not open it.")
            continue
        return setting
    raise WrongKey(file, key_set=True)


def back_up_if_written(store: MemoryStore, known: Settings, since: float) -> None:
    """Looking into a store makes no copy of it."""
    backend, beside = store.unrestricted_backend, store.beside
    spaces = [store.space] if beside is None else [store.space, beside.space]
    if all(entry.operation.at < since for space in spaces for entry in backend.journal(space, limit=1)):
        return
    from nacre.lifecycle.automatic_backup import start_if_due

    start_if_due(store, known)


def store_exists(known: Settings) -> bool:
    from nacre.factory import has_file, is_database, is_server
    from nacre.settings import IN_MEMORY

    return known.store == IN_MEMORY or is_database(known.store) or is_server(known.store) or has_file(known.store)


def store_not_found(store: str) -> StoreNotFound:
    """For a file, with the names of the stores in its folder."""
    from nacre.errors import StoreNotFound
    from nacre.factory import store_file

    file = store_file(store).absolute()
    others = file.parent.iterdir() if file.parent.is_dir() else ()
    beside = [each.name for each in others if each.is_dir() or each.suffix in (file.suffix, STORE_SUFFIX)]
    return StoreNotFound(file, beside)


def has_space(store: ProjectStore) -> bool:
    """Whether the store's space holds a memory, was created, or has a journal. Always for an agent that sees only a
    part of the store: it must not learn what else there is."""
    from nacre.settings import DEFAULT, PERSONAL

    if store.space in (DEFAULT, PERSONAL, store.personal_space) or store.settings.scope:
        return True
    known = any(note.name == store.space for note in store.space_notes())
    return known or bool(store.in_space(store.space).journal(limit=1))


MOST_SPACES_NAMED = 5


def empty_space_notes(store: ProjectStore) -> list[str]:
    """Where the memories of this store are, if the space that was chosen has none."""
    from shlex import quote

    from nacre.project import namesakes
    from nacre.settings import DEFAULT

    filled = store.spaces()
    if store.space in filled:
        return []
    notes = namesake_notes(store, filled)
    if (store.beside.space if store.beside else store.personal_space) in filled:
        return notes
    unread = store.unread_note(filled)
    named = {*namesakes(store.space, filled), *([DEFAULT] if unread else ())}
    others = [space for space in filled if space not in named]
    if others:
        counts = ", ".join(f"{space!r} ({filled[space]:,})" for space in others[:MOST_SPACES_NAMED])
        more = ", …" if len(others) > MOST_SPACES_NAMED else ""
        notes.append(f"Memories are in {counts}{more}; `--space {quote(others[0])}` looks there.")
    return [*notes, unread] if unread else notes


def namesake_notes(store: ProjectStore, filled: Mapping[str, int]) -> list[str]:
    """Of a project whose remote changed, the memories are in a space with another key. Nothing can tell it from
    another project of the same name, so that they are never taken over by themselves."""
    from shlex import quote

    from nacre.cli.ui.prompts import count_of
    from nacre.project import namesakes

    return [
        f"The space {each!r} has {count_of(filled[each])}, of this project under its former remote or of another one "
        f"of the same name; `nacre space copy {quote(each)} {quote(store.space)}` copies them into this space."
        for each in namesakes(store.space, filled)
    ]


def configure_logging(*, debug: bool) -> None:
    """A command says on stderr itself what a person should know; the log would say it twice."""
    import logging

    if debug:
        logging.basicConfig(level=logging.DEBUG)
    else:
        logging.getLogger("nacre").addHandler(logging.NullHandler())
        add_stderr(logging.getLogger("nacre.damage"))  # nobody else says that a record is damaged and left out
        if sys.stderr.isatty():  # as a progress line
            add_stderr(logging.getLogger("nacre.waiting"))  # nobody else says what a command waits for


def add_stderr(log: logging.Logger) -> None:
    """Shows the messages of this logger on stderr; a server may have written a part of them."""
    import logging

    import click

    from nacre.cli.ui.output import printable

    class Stderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(f"nacre: {printable(record.getMessage())}", err=True)

    if not log.handlers:
        log.addHandler(Stderr())
