"""The book that a command works in, and the lessons that a person names in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_by_id
from nacre.cli.ui.columns import short
from nacre.lessons import LessonBook
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.memory import LESSON


@contextmanager
def opened(cli: CliContext, *, model: bool = False, make: bool = False, dry_run: bool = False) -> Iterator[LessonBook]:
    """With `model` for what embeds, with `make` for what may write the first lesson or the first word of a store, with
    `dry_run` for what would."""
    with (
        cli.open_if_made() if dry_run else place(cli, model=model, make=make) as store,
        LessonBook(store=store) as book,
    ):
        yield book


def place(cli: CliContext, *, model: bool, make: bool) -> AbstractContextManager[MemoryStore]:
    if make:
        return cli.open_or_make(model=model)
    return cli.open_with_model() if model else cli.open()


def lesson_named(book: LessonBook, prefix: str) -> Memory:
    """The one whose id begins so; in the trash there is none to work with."""
    memory = named_anywhere(book, prefix)
    if memory.status == "trashed":
        id = short(memory.id)
        raise NotFound(f"{id} is in the trash; `nacre lesson restore {id}` brings it back.")
    return memory


def named_anywhere(book: LessonBook, prefix: str) -> Memory:
    memory = find_by_id(book.store, book.store.resolve_id(prefix))
    if memory.type != LESSON:
        id = short(memory.id)
        raise NotFound(f"{id} is a memory of the type {memory.type}, no lesson; `nacre show {id}` shows it.")
    return memory


def ids_named(book: LessonBook, prefixes: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(lesson_named(book, prefix).id for prefix in prefixes))
