"""What is done to the vocabulary is one act, and refuses in one sentence what would tangle it."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.engine.engine import Edit
from nacre.errors import InvalidInput, UnknownName
from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.shelf import Shelf
from nacre.lessons.vocabulary import KINDS, TAG, Vocabulary, normal
from nacre.lessons.word_edits import TYING, WordEdits, aliased, from_seed, inheriting, renaming
from nacre.model import Memory


class Teaching(Shelf):
    def _teach(
        self, act: str, words: WordEdits, edits: Mapping[str, Edit] | None = None, why: str = ""
    ) -> list[Memory]:
        whole = {(kind, name): from_seed(kind, name, edit) for (kind, name), edit in words.items()}
        return self.store.write(act, edits=edits, words=whole, why=why)

    def _standing(self, words: Vocabulary, name: str) -> str:
        """The word as it is kept, aliases not resolved. Raises `InvalidInput` when nobody has it."""
        found = normal(name)
        if not found or not words.known(found):
            near = words.near(found) if found else ()
            remedy = f"did you mean {near[0]!r}?" if near else f"`{words.kind}s` lists those that are."
            raise InvalidInput(f"There is no {words.kind} {name!r}; {remedy}")
        return found


def given(kind: str, name: str) -> str:
    """Raises `InvalidInput` for what is no word, and for the mark of who wrote a lesson."""
    found = normal(name)
    if not found:
        raise InvalidInput(f"A {kind} needs a name; give a word.")
    if kind == TAG and found.startswith(AGENT_TAG):
        raise InvalidInput(f"{found!r} says who wrote a lesson, and is nothing else; choose another tag.")
    return found


def known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise UnknownName("kind of word", kind, KINDS)
    return kind


def apart(kind: str, name: str, other: str) -> None:
    if name == other:
        raise InvalidInput(f"The {kind} {name!r} is the same as itself; name two that differ.")


def no_ring(words: Vocabulary, alias: str, target: str) -> None:
    """An alias must end somewhere. Raises `InvalidInput`."""
    if words.resolve(target) == alias:
        raise InvalidInput(
            f"{target!r} stands for {alias!r} already; do it the other way round, or unrelate them first."
        )


def absorbing(words: Vocabulary, moved: Mapping[str, str]) -> WordEdits:
    """Each old name becomes an alias of its new one, which takes over what was told of it; whatever named the old one
    names the new one."""

    def new_name(name: str) -> str:
        return moved.get(name, name)

    edits: WordEdits = {
        (words.kind, name): renaming(name, new_name)
        for name, word in words.words.items()
        if moved.keys() & {word.alias_of, *(other for key in TYING for other in word.names(key))}
    }
    for old, new in moved.items():
        former = words.words.get(old)
        if former is not None and not former.alias_of:
            edits[words.kind, new] = inheriting(former.data, new, new_name)
    return edits | {(words.kind, old): aliased(new) for old, new in moved.items()}
