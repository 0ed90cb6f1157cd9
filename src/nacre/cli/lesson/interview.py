"""Asks a person for a lesson: one question after the other, a preview, and then what to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import click
from prompt_toolkit import prompt
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, FuzzyCompleter, WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.validation import Validator

from nacre.cli.commands.review import Choice, ask_choice
from nacre.cli.commands.show import label_line
from nacre.cli.errors import Interrupted, UsageProblem
from nacre.cli.lesson.common import split_terms
from nacre.cli.ui.output import printable, put, say
from nacre.errors import NacreError
from nacre.lessons import LessonBook
from nacre.lessons.lesson import AGENT_TAG, normalize_title
from nacre.lessons.vocabulary import CONTEXT, SOURCE, TAG, Key, TermValidator, Vocabulary, check_known
from nacre.model.levels import LEVELS, NAMES, level_named, level_of

T = TypeVar("T")
Fields = dict[str, object]

SAVE = Choice(key="s", label="save", meaning="The lesson is stored.")
AGAIN = Choice(key="e", label="edit again", meaning="All is asked again, with your answers as defaults.")
CANCEL = Choice(key="c", label="cancel", meaning="Nothing is stored.")
CONTENT = "Content (several lines; a line with a single dot, Esc Enter or Ctrl-D ends it):\n"


def interview(book: LessonBook, defaults: Mapping[str, object], save: Callable[[Fields], T]) -> T:
    """Returns the result of `save`. When it refuses the lesson all is asked again, so that no input is lost."""
    fields = dict(defaults)
    while True:
        fields = ask_lesson(book, fields)
        try:
            return save(dict(fields))
        except NacreError as error:
            say(str(error))


def ask_lesson(book: LessonBook, fields: Fields) -> Fields:
    """Asks until the person saves; ends the command when they cancel."""
    try:
        while True:
            fields = Questions(book, fields).answers()
            put("\n".join(["", *preview(fields), ""]))
            choice = ask_choice((SAVE, AGAIN, CANCEL))
            if choice is SAVE:
                return fields
            if choice is not AGAIN:
                raise UsageProblem("nothing was stored.")
    except (KeyboardInterrupt, EOFError) as error:
        raise Interrupted("stopped; nothing was stored.") from error


class Questions:
    def __init__(self, book: LessonBook, defaults: Mapping[str, object]) -> None:
        self._book = book
        self._store = book.store
        self._defaults = defaults

    def answers(self) -> Fields:
        title, content = self._title(), self._content()
        tags = self._tags()
        likely = self._book.suggest_contexts(title, content, tags).data
        if likely:
            say(f"Similar lessons apply in: {', '.join(likely)}")
        contexts = self._contexts("Applies in", "contexts", likely)
        anti_contexts = self._contexts("Does not apply in", "anti_contexts")
        source = self._source()
        notes = self._line("What the source said, and where", "source_notes") if source else ""
        return {
            "title": title, "content": content, "tags": tags, "contexts": contexts, "anti_contexts": anti_contexts,
            "source": source, "source_notes": notes, "confidence": self._confidence(source),
        }  # fmt: skip

    def _title(self) -> str:
        required = Validator.from_callable(lambda text: bool(text.strip()), "Say in a few words what it teaches.")
        return normalize_title(self._line("Title", "title", validator=required))

    def _content(self) -> str:
        required = Validator.from_callable(lambda text: bool(text.strip()), "A lesson needs a content.")
        default = str(self._defaults.get("content", ""))
        text = prompt(CONTENT, multiline=True, key_bindings=end_keys(), default=default, validator=required)
        return text.strip("\n")

    def _tags(self) -> tuple[str, ...]:
        vocabulary = Vocabulary(self._store, TAG)
        known = {name: text for name, text in describe_terms(vocabulary) if not name.startswith(AGENT_TAG)}
        names = vocabulary.resolve_all(split_terms(self._line("Tags", "tags", TermCompleter(known))))
        return tuple(dict.fromkeys(ask_meant(vocabulary, name) for name in names))

    def _contexts(self, question: str, field: str, likely: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Offers the likely ones first."""
        vocabulary = Vocabulary(self._store, CONTEXT)
        known = {**dict.fromkeys(likely, "of similar lessons"), **dict(describe_terms(vocabulary))}
        return vocabulary.resolve_all(split_terms(self._line(question, field, TermCompleter(known))))

    def _source(self) -> str:
        vocabulary = Vocabulary(self._store, SOURCE)
        completer = TermCompleter(dict(describe_terms(vocabulary)))
        name = vocabulary.resolve(self._line("Source", "source", completer))
        return ask_meant(vocabulary, name) if name else ""

    def _confidence(self, source: str) -> str | float:
        validator = TermValidator(self._store)
        usual = level_of(validator.confidence(None, validator.source(source)[1])).name
        levels = TermCompleter(dict.fromkeys(reversed(NAMES), ""))
        is_valid = Validator.from_callable(is_level, f"Write {', '.join(NAMES)}, or nothing for {usual}.")
        level = self._line(f"Confidence, {usual} unless you say", "confidence", levels, is_valid)
        return level_named(level).name if level else usual

    def _line(
        self, question: str, field: str, completer: Completer | None = None, validator: Validator | None = None
    ) -> str:
        default, keys = as_text(self._defaults.get(field)), completion_keys() if completer else None
        answer: str = prompt(
            f"{question}: ", default=default, completer=completer, validator=validator, key_bindings=keys
        )
        return answer.strip()


class TermCompleter(Completer):
    """Completes one of several terms between commas, by its letters; `known` maps each to the text beside it."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._terms = FuzzyCompleter(WordCompleter(list(known), meta_dict=known), pattern="^.+")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        typed = document.text_before_cursor.rpartition(",")[2].lstrip()
        for offer in self._terms.get_completions(Document(typed.rstrip()), complete_event):
            yield Completion(offer.text, -len(typed), offer.display, offer.display_meta)


def describe_terms(vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Each term that may be used, most used first, with its alias target, description or count."""
    counts = vocabulary.counts()
    for name in sorted({*vocabulary.terms, *counts}, key=lambda name: (-counts.get(name, 0), name)):
        term = vocabulary.terms.get(name)
        if term is not None and term.data.get(Key.DEPRECATED):
            continue
        if term is not None and term.alias_of:
            yield name, f"for {vocabulary.resolve(name)}"
        else:
            description = str(term.data.get(Key.DESCRIPTION, "")) if term is not None else ""
            yield name, description or f"{counts.get(name, 0):,}"


def completion_keys() -> KeyBindings:
    """Tab inserts a single match at once, so that fast typing is not lost."""
    keys = KeyBindings()

    @keys.add("tab")
    def complete(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        matches = list(buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
        if len(matches) == 1:
            buffer.apply_completion(matches[0])
        elif buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    return keys


def end_keys() -> KeyBindings:
    """Keys that end several lines, besides Esc Enter."""
    keys = KeyBindings()

    @keys.add("enter")
    def end_line(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line.strip() == "." and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor(len(buffer.document.current_line_before_cursor))
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("c-d")
    def end_text(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def ask_meant(vocabulary: Vocabulary, name: str) -> str:
    """For an unknown term, offers similar known ones with one key each."""
    near = check_known(vocabulary, [name])[1].get(name, ())
    if not near:
        return name
    say(f"{vocabulary.kind} {name!r} not recognized, did you mean {near[0]!r}?")
    keys = ("y", *(str(at) for at in range(2, len(near) + 1)))
    others = [
        Choice(key=key, label=other, meaning=f"Takes {other}.", decision=other)
        for key, other in zip(keys, near, strict=True)
    ]
    own = Choice(key="n", label=f"no, {name}", meaning=f"Keeps {name}, which is new.", decision=name)
    choice = ask_choice((*others, own))
    return choice.decision or name


def is_level(text: str) -> bool:
    return not text.strip() or text.strip().lower().replace("_", "-").replace(" ", "-") in LEVELS


def as_text(value: object) -> str:
    if isinstance(value, float):
        return level_of(value).name
    return ", ".join(value) if isinstance(value, tuple | list) else str(value or "")


def preview(fields: Fields) -> Iterator[str]:
    yield click.style(printable(str(fields["title"])), bold=True)
    yield ""
    yield printable(str(fields["content"]))
    yield ""
    names = {"tags": "tags", "contexts": "applies in", "anti_contexts": "not in", "source": "source"}
    for field, name in {**names, "source_notes": "notes", "confidence": "confidence"}.items():
        if fields[field]:
            yield label_line(name, as_text(fields[field]))
