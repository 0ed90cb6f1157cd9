"""Two words become one, once a person has said so."""

from __future__ import annotations

from nacre.cli.errors import UsageProblem
from nacre.cli.lesson.answering import give_one
from nacre.cli.ui.output import say
from nacre.cli.ui.prompts import confirm, count_of
from nacre.lessons import Answer, LessonBook
from nacre.lessons.vocabulary import Vocabulary, normalize

UNDO = "`nacre undo` takes it back."


def confirm_merge(book: LessonBook, kind: str, old: str, new: str) -> None:
    """Ends the command unless the answer is yes."""
    words = Vocabulary(book.store, kind)
    name, into = normalize(old), words.resolve(new)
    having = sum(count for each, count in words.counts().items() if each == name or each.startswith(f"{name}."))
    confirm(f"Make the {kind} {name!r} one with {into!r}, on {count_of(having, 'lesson', 'lessons')}?")


def tell_merge(kind: str, pair: tuple[str, str], merged: Answer[int], form: str | None) -> None:
    old, new = map(normalize, pair)
    changed = count_of(merged.data, "lesson", "lessons")
    outcome = f"The {kind} {old!r} is {new!r} now, on {changed} and from now on; {UNDO}"
    give_one(merged, form, lambda _: say(outcome))


def tell(done: Answer[bool], form: str | None, outcome: str) -> None:
    give_one(done, form, lambda new: say(f"{outcome}; {UNDO}" if new else "That is so already."))


def one_of(**given: object) -> str | None:
    """What is to be done; one thing at a time."""
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        named = ", ".join(f"--{name}" for name in chosen)
        raise UsageProblem(f"{named} are {len(chosen)} things to do; give one of them.")
    return chosen[0] if chosen else None
