"""How words lie to each other: which stand for one, mean one, lie in one, or are kept apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from nacre.lessons.vocabulary import DISTINCT, PARENTS, SYNONYMS, Vocabulary
from nacre.lessons.word_edits import TYING
from nacre.model.filter import is_under


def aliases(words: Vocabulary) -> dict[str, tuple[str, ...]]:
    """By what they stand for."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, word in sorted(words.words.items()):
        if word.alias_of:
            found[words.resolve(name)].append(name)
    return {name: tuple(each) for name, each in found.items()}


def named(words: Vocabulary, name: str, key: str) -> tuple[str, ...]:
    return words.words[name].names(key) if name in words.words else ()


def synonyms(words: Vocabulary, name: str) -> tuple[str, ...]:
    return named(words, name, SYNONYMS)


def parents(words: Vocabulary, name: str) -> tuple[str, ...]:
    """The nearest it lies in, by its dots and by what was said."""
    dotted = name.rpartition(".")[0]
    return tuple(dict.fromkeys(each for each in (dotted, *named(words, name, PARENTS)) if each))


def above(words: Vocabulary, name: str) -> Iterator[str]:
    """All that it lies in, nearest first."""
    waiting, seen = [name], {name}
    while waiting:
        for parent in parents(words, waiting.pop(0)):
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
                yield parent


def tied(words: Vocabulary, one: str, other: str) -> bool:
    """Whether anything was said of the two."""
    keys = (*TYING,)
    says = (words.words[a].alias_of == b or any(b in named(words, a, key) for key in keys)
            for a, b in ((one, other), (other, one)) if a in words.words)  # fmt: skip
    return any(says)


def settled(words: Vocabulary, one: str, other: str) -> bool:
    """Nobody need ask whether they are one: it was said, or one lies under the other."""
    return tied(words, one, other) or is_under(one, {other}) or is_under(other, {one})


def kept_apart(words: Vocabulary, one: str, other: str) -> bool:
    return other in named(words, one, DISTINCT)
