"""Two words become one, once a person has said so."""

from __future__ import annotations

from nacre.cli.asking import counted, sure
from nacre.cli.faults import Misused
from nacre.cli.lesson.answering import give_one
from nacre.cli.output import say
from nacre.lessons import Answer, LessonBook
from nacre.lessons.vocabulary import Vocabulary, normal

UNDO = "`nacre undo` takes it back."


def confirm_merge(book: LessonBook, kind: str, old: str, new: str) -> None:
    """Ends the command unless the answer is yes."""
    words = Vocabulary(book.store, kind)
    name, into = normal(old), words.resolve(new)
    having = sum(count for each, count in words.counts().items() if each == name or each.startswith(f"{name}."))
    sure(f"Make the {kind} {name!r} one with {into!r}, on {counted(having, 'lesson', 'lessons')}?")


def tell_merge(kind: str, pair: tuple[str, str], merged: Answer[int], form: str | None) -> None:
    old, new = map(normal, pair)
    changed = counted(merged.data, "lesson", "lessons")
    outcome = f"The {kind} {old!r} is {new!r} now, on {changed} and from now on; {UNDO}"
    give_one(merged, form, lambda _: say(outcome))


def tell(done: Answer[bool], form: str | None, outcome: str) -> None:
    give_one(done, form, lambda new: say(f"{outcome}; {UNDO}" if new else "That is so already."))


def one_of(**given: object) -> str | None:
    """What is to be done; one thing at a time."""
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        named = ", ".join(f"--{name}" for name in chosen)
        raise Misused(f"{named} are {len(chosen)} things to do; give one of them.")
    return chosen[0] if chosen else None
