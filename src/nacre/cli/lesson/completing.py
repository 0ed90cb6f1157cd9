"""Completes the words of a book while a person types them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from nacre.lessons.vocabulary import Vocabulary, normalize


class Words(Completer):
    """`known` are the words, likeliest first, each with what is told beside it; `several` stand between commas."""

    def __init__(self, known: Mapping[str, str], *, several: bool) -> None:
        self._known = known
        self._several = several

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        before = document.text_before_cursor
        typed = (before.rpartition(",")[2] if self._several else before).lstrip()
        for name in ranked(normalize(typed), self._known):
            yield Completion(name, start_position=-len(typed), display_meta=self._known[name])


def ranked(typed: str, known: Iterable[str]) -> list[str]:
    """Those that begin so, then those that have it inside, then those that have its letters in this order."""
    fitting = [(place, name) for name in known if (place := fit(typed, name)) is not None]
    return [name for _, name in sorted(fitting, key=lambda each: each[0])]


def fit(typed: str, name: str) -> int | None:
    if name.startswith(typed):
        return 0
    if typed in name:
        return 1
    letters = iter(name)
    return 2 if all(letter in letters for letter in typed) else None


def known_words(words: Vocabulary) -> dict[str, str]:
    """The most used first; those that stand for another tell which."""
    return dict(described(words))


def described(words: Vocabulary) -> Iterator[tuple[str, str]]:
    counts = words.counts()
    for name in sorted({*words.terms, *counts}, key=lambda name: (-counts.get(name, 0), name)):
        word = words.terms.get(name)
        if word is not None and word.data.get("deprecated"):
            continue
        if word is not None and word.alias_of:
            yield name, f"for {words.resolve(name)}"
        else:
            told = str(word.data.get("description", "")) if word is not None else ""
            yield name, told or f"{counts.get(name, 0):,}"
