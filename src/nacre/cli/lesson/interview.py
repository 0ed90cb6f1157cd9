"""Asks a person for a lesson: one question after the other, a preview, and then what to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import click
from prompt_toolkit import prompt
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.validation import Validator

from nacre.cli.commands.review import Choice, ask_choice
from nacre.cli.commands.show import label_line
from nacre.cli.errors import Interrupted, UsageProblem
from nacre.cli.lesson.completing import Words, known_words
from nacre.cli.lesson.options import parted
from nacre.cli.ui.output import printable, put, say
from nacre.errors import NacreError
from nacre.lessons import LessonBook
from nacre.lessons.lesson import AGENT_TAG, normalize_title
from nacre.lessons.validate_terms import TermValidator
from nacre.lessons.vocabulary import CONTEXT, SOURCE, TAG, Vocabulary, check_known
from nacre.model.levels import LEVELS, NAMES, level_named, level_of

T = TypeVar("T")
Given = dict[str, object]

SAVE = Choice("s", "save", "save", "The lesson is kept.")
AGAIN = Choice("e", "edit again", "again", "All is asked again, with what you said as proposals.")
CANCEL = Choice("c", "cancel", "", "Nothing is kept.")
CONTENT = "Content (several lines; a line with a single dot, Esc Enter or Ctrl-D ends it):\n"


def interview(book: LessonBook, proposed: Mapping[str, object], keep: Callable[[Given], T]) -> T:
    """What `keep` makes of the lesson. What it refuses is asked again, so that nothing typed is lost."""
    given = dict(proposed)
    while True:
        given = agreed(book, given)
        try:
            return keep(dict(given))
        except NacreError as error:
            say(str(error))


def agreed(book: LessonBook, given: Given) -> Given:
    """Asks until the person wants to keep it; ends the command where they do not."""
    try:
        while True:
            given = Questions(book, given).answers()
            put("\n".join(["", *preview(given), ""]))
            choice = ask_choice((SAVE, AGAIN, CANCEL))
            if choice is SAVE:
                return given
            if choice is not AGAIN:
                raise UsageProblem("nothing was kept.")
    except (KeyboardInterrupt, EOFError) as error:
        raise Interrupted("stopped; nothing was kept.") from error


class Questions:
    def __init__(self, book: LessonBook, proposed: Mapping[str, object]) -> None:
        self._book = book
        self._store = book.store
        self._proposed = proposed

    def answers(self) -> Given:
        title, content = self._title(), self._content()
        tags = self._tags()
        likely = self._book.suggest_contexts(title, content, tags).data
        if likely:
            say(f"Lessons like it apply in: {', '.join(likely)}")
        contexts = self._contexts("Applies in", "contexts", likely)
        anti_contexts = self._contexts("Does not apply in", "anti_contexts")
        source = self._source()
        notes = self._line("What the source said, and where", "source_notes") if source else ""
        return {
            "title": title, "content": content, "tags": tags, "contexts": contexts, "anti_contexts": anti_contexts,
            "source": source, "source_notes": notes, "confidence": self._confidence(source),
        }  # fmt: skip

    def _title(self) -> str:
        there = Validator.from_callable(lambda text: bool(text.strip()), "Say in a few words what it teaches.")
        return normalize_title(self._line("Title", "title", validator=there))

    def _content(self) -> str:
        there = Validator.from_callable(lambda text: bool(text.strip()), "A lesson needs a content.")
        proposed = str(self._proposed.get("content", ""))
        return prompt(CONTENT, multiline=True, key_bindings=endings(), default=proposed, validator=there).strip("\n")

    def _tags(self) -> tuple[str, ...]:
        words = Vocabulary(self._store, TAG)
        known = {name: told for name, told in known_words(words).items() if not name.startswith(AGENT_TAG)}
        given = words.resolve_all(parted(self._line("Tags", "tags", Words(known, several=True))))
        return tuple(dict.fromkeys(meant(words, name) for name in given))

    def _contexts(self, question: str, field: str, likely: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The likely ones are offered first."""
        words = Vocabulary(self._store, CONTEXT)
        known = {**dict.fromkeys(likely, "of lessons like it"), **known_words(words)}
        return words.resolve_all(parted(self._line(question, field, Words(known, several=True))))

    def _source(self) -> str:
        words = Vocabulary(self._store, SOURCE)
        given = words.resolve(self._line("Source", "source", Words(known_words(words), several=False)))
        return meant(words, given) if given else ""

    def _confidence(self, source: str) -> str | float:
        wording = TermValidator(self._store)
        usual = level_of(wording.confidence(None, wording.source(source)[1])).name
        levels = Words(dict.fromkeys(reversed(NAMES), ""), several=False)
        fitting = Validator.from_callable(is_level, f"Write {', '.join(NAMES)}, or nothing for {usual}.")
        given = self._line(f"Confidence, {usual} unless you say", "confidence", levels, fitting)
        return level_named(given).name if given else usual

    def _line(
        self, question: str, field: str, completer: Completer | None = None, validator: Validator | None = None
    ) -> str:
        proposed, keys = written(self._proposed.get(field)), completing() if completer else None
        answer: str = prompt(
            f"{question}: ", default=proposed, completer=completer, validator=validator, key_bindings=keys
        )
        return answer.strip()


def completing() -> KeyBindings:
    """Where only one word is meant, Tab writes it at once: who types fast must not be ahead of it."""
    keys = KeyBindings()

    @keys.add("tab")
    def completed(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        found = list(buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
        if len(found) == 1:
            buffer.apply_completion(found[0])
        elif buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    return keys


def endings() -> KeyBindings:
    """Beside Esc Enter, which always ends several lines."""
    keys = KeyBindings()

    @keys.add("enter")
    def line_ended(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line.strip() == "." and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor(len(buffer.document.current_line_before_cursor))
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("c-d")
    def ended(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def meant(words: Vocabulary, name: str) -> str:
    """A word that nobody knows may be another one, misspelt: one key takes that."""
    near = check_known(words, [name])[1].get(name, ())
    if not near:
        return name
    say(f"{words.kind} {name!r} not recognized, did you mean {near[0]!r}?")
    keys = ("y", *(str(at) for at in range(2, len(near) + 1)))
    others = [Choice(key, other, other, f"Takes {other}.") for key, other in zip(keys, near, strict=True)]
    choice = ask_choice((*others, Choice("n", f"no, {name}", name, f"Keeps {name}, which is new.")))
    return choice.decision or name


def is_level(text: str) -> bool:
    return not text.strip() or text.strip().lower().replace("_", "-").replace(" ", "-") in LEVELS


def written(value: object) -> str:
    if isinstance(value, float):
        return level_of(value).name
    return ", ".join(value) if isinstance(value, tuple | list) else str(value or "")


def preview(given: Given) -> Iterator[str]:
    """As it would be kept."""
    yield click.style(printable(str(given["title"])), bold=True)
    yield ""
    yield printable(str(given["content"]))
    yield ""
    names = {"tags": "tags", "contexts": "applies in", "anti_contexts": "not in", "source": "source"}
    for field, name in {**names, "source_notes": "notes", "confidence": "confidence"}.items():
        if given[field]:
            yield label_line(name, written(given[field]))
