"""Measures recall on notes: remembered one by one on their dates, asked, and asked again when changes are settled.

A folder holds `memories.jsonl` (id, text, created_at, project, perhaps type and tags), `questions.jsonl` (q, project,
kind, answers, stale, asked_at, note) and perhaps `chains.jsonl` (project, ids: the versions of a fact, oldest first).
`training/notes/author5` means the files of that author: `author5.notes.jsonl`, `author5.questions.jsonl`, perhaps
`author5.silent.jsonl` (questions that nothing answers) and `author5.chains.jsonl`, in which a project is called world;
`training/notes/author5.restated` the same notes with the questions of `author5.restated.jsonl` alone.
Nothing has a date there: the notes are of one day, a minute apart, and what is outdated follows from the chains.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, TypeVar

from nacre.bench.datasets import Corpus, Question, Turn
from nacre.bench.metrics import (
    Abstention,
    Scores,
    Summary,
    abstention,
    calibration_error,
    percentile,
    score,
    share,
    summarize,
)
from nacre.bench.run import (
    DEFAULT,
    DEFAULTS,
    RANKERS,
    WARM_UP,
    Place,
    Stored,
    measured_settings,
    selected_rankers,
    temporary_file,
    timed,
)
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.model import Recollection
from nacre.model.instants import seconds
from nacre.protocols import Embedder, Progress
from nacre.settings import Settings

DEPTH = 10
DISPLAYED = 5  # hits of a recall, unless more are asked for
CHANGED, UNANSWERABLE, FOREIGN = "changed", "unanswerable", "foreign subject"
T = TypeVar("T")
UNDATED = "2026-01-01"  # notes without a date are of one day, and asked about on it
MINUTE = 60.0  # between two of them: which one is newer must be known, and recency must not tell them apart
OF_AUTHOR, RESTATED = ("notes", "questions", "silent", "chains"), ".restated"
FORM = "a folder with memories.jsonl, questions.jsonl and perhaps chains.jsonl"


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    text: str
    project: str
    created_at: float
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """`stale` are outdated versions, which should be below the answers."""

    text: str
    project: str
    kind: str
    answers: frozenset[str]
    stale: frozenset[str]
    asked_at: float | None
    note: str
    near: tuple[str, ...] = ()  # notes that look like an answer


Chain: TypeAlias = tuple[str, tuple[str, ...]]  # a project, and the versions of a fact, oldest first


@dataclass(frozen=True, slots=True)
class Notes:
    memories: tuple[Note, ...]
    questions: tuple[Asked, ...]
    chains: tuple[Chain, ...]

    def last(self) -> float:
        """When everything is remembered and asked."""
        return max((*(note.created_at for note in self.memories), *(each.asked_at or 0.0 for each in self.questions)))

    def versions(self) -> dict[tuple[str, str], set[str]]:
        """By project and id, all versions of the facts that a note states, itself included; a note of several facts is
        in several chains."""
        versions: dict[tuple[str, str], set[str]] = {}
        for project, ids in self.chains:
            for id in ids:
                versions.setdefault((project, id), set()).update(ids)
        return versions


def load_notes(folder: Path) -> Notes:
    """Raises `InvalidInput`, which names the file and the line."""
    author = folder.name.removesuffix(RESTATED)
    of_author = {kind: folder.with_name(f"{author}.{kind}.jsonl") for kind in OF_AUTHOR}
    if of_author["notes"].exists():
        notes, silent, file = of_author["notes"], of_author["silent"], of_author["chains"]
        asked = [of_author["questions"], *([silent] if silent.exists() else ())]
        asked = asked if author == folder.name else [folder.with_name(f"{folder.name}.jsonl")]
        chains = tuple(read_rows(file, read_chain)) if file.exists() else ()
        undated = enumerate(read_rows(notes, read_note))
        memories = [replace(note, created_at=note.created_at + MINUTE * number) for number, note in undated]
        questions = [
            replace(question, stale=outdated(question, chains))
            for file in asked
            for question in read_rows(file, read_question)
        ]
    else:
        file = folder / "chains.jsonl"
        memories = list(read_rows(folder / "memories.jsonl", read_note))
        questions = list(read_rows(folder / "questions.jsonl", read_question))
        chains = tuple(read_rows(file, read_chain)) if file.exists() else ()
    return Notes(tuple(sorted(memories, key=lambda note: note.created_at)), tuple(questions), chains)


def outdated(question: Asked, chains: Sequence[Chain]) -> frozenset[str]:
    """What should stand below the answers: what the question names, and of a changed fact all versions before the
    answer."""
    if question.kind != CHANGED:
        return question.stale
    return question.stale | earlier_versions(question, chains)


def earlier_versions(question: Asked, chains: Sequence[Chain]) -> frozenset[str]:
    """The versions before those that answer."""
    earlier = [
        ids[: ids.index(answer)]
        for project, ids in chains
        for answer in question.answers
        if project == question.project and answer in ids
    ]
    return frozenset[str]().union(*earlier) - question.answers


def read_rows(file: Path, read: Callable[[Any], T]) -> Iterator[T]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read ({error}); give {FORM}.") from error
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                yield read(json.loads(line))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"Line {number} of {file} cannot be used ({error!r}); give {FORM}.") from error


def read_note(row: Any) -> Note:
    fields = {name: row[name] for name in ("type", "tags") if row.get(name)}
    return Note(
        str(row["id"]), row["text"], project_of(row), seconds(UNDATED if "world" in row else row["created_at"]), fields
    )


def read_chain(row: Any) -> Chain:
    return project_of(row), tuple(row["ids"])


def project_of(row: Any) -> str:
    return str(row["world"] if "world" in row else row["project"])


def read_question(row: Any) -> Asked:
    at = row.get("asked_at")
    return Asked(
        row["q"],
        project_of(row),
        row["kind"],
        frozenset(row["answers"]),
        frozenset(row.get("stale", ())),
        None if at is None else seconds(at),
        row.get("note", ""),
        tuple(row.get("near", ())),
    )


@dataclass(frozen=True, slots=True)
class Answered:
    """What a recall gave: keys of hits, best first; of each of the first five its relevance and whether it answers."""

    question: Asked
    keys: tuple[str, ...]
    relevance: float
    displayed: tuple[tuple[float, bool], ...]
    milliseconds: float

    @property
    def newest_first(self) -> bool:
        """The newest version is above every stale one; one that is absent is below."""
        right = [place for place, key in enumerate(self.keys) if key in self.question.answers]
        stale = [place for place, key in enumerate(self.keys) if key in self.question.stale]
        return bool(right) and (not stale or right[0] < stale[0])


class World:
    """Notes in a temporary store, a space for each project, under a clock of its own."""

    def __init__(self, notes: Notes, store: Callable[[Callable[[], float]], MemoryStore], progress: Progress) -> None:
        self._now = 0.0
        self._notes = notes
        self.store = store(lambda: self._now)
        for type in {str(note.fields["type"]) for note in notes.memories if "type" in note.fields}:
            if type not in self.store.types():
                self.store.register_type(type)
        self._same: dict[tuple[str, str], str] = {}  # by project and id: the memory that stands for this note
        for number, note in enumerate(notes.memories):
            progress(number, len(notes.memories) + len(notes.questions), "remembering and asking")
            self._now = note.created_at
            kept = self.store.in_space(note.project).remember(note.text, id=note.id, **note.fields)
            self._same[note.project, note.id] = kept.id
        self._now = notes.last()

    def settle(self) -> None:
        for project, versions in self._notes.chains:
            space = self.store.in_space(project)
            ids = list(dict.fromkeys(self._same[project, id] for id in versions))
            for old, new in pairwise(ids):
                if (memory := space.get(old)) is not None and not memory.superseded_by:
                    space.supersede(old, new)

    def ask(self, question: Asked) -> Answered:
        space = self.store.in_space(question.project)
        recalled, took = timed(lambda: space.recall(question.text, DEPTH, asked_at=question.asked_at, touch=False))
        keys = self.keys(question, [(hit.memory.id, *hit.collapsed) for hit in recalled])
        displayed = zip(
            (hit.relevance for hit in recalled[:DISPLAYED]), (key in question.answers for key in keys), strict=False
        )
        return Answered(question, keys, best_relevance(recalled), tuple(displayed), took)

    def keys(self, question: Asked, hits: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """For each hit the id by which the question knows it: that of a copy may be the one that it names."""
        named = question.answers | question.stale
        by_memory: dict[str, list[str]] = {}
        for (project, id), memory in self._same.items():
            if project == question.project:
                by_memory.setdefault(memory, []).append(id)
        ids = [[id for memory in hit for id in by_memory.get(memory, (memory,))] for hit in hits]
        return tuple(next((id for id in each if id in named), each[0]) for each in ids)

    def stored(self, project: str) -> Stored:
        """As the plain ways need it."""
        notes = [note for note in self._notes.memories if note.project == project]
        turns = tuple(Turn(note.id, note.text, "", "", 0, note.created_at) for note in notes)
        return Stored(Corpus(turns, ()), self.store.in_space(project), "turn")


def best_relevance(recalled: Recollection) -> float:
    displayed = (*recalled, recalled.nearest) if recalled.nearest else tuple(recalled)
    return max((hit.relevance for hit in displayed), default=0.0)


class Settled(TypedDict):
    """Of the changed facts, percentages: is the newest version above every outdated one, and where is it?"""

    n: int
    newest_first: float | None
    metrics: Scores


class Silence(TypedDict):
    """`silent` is the percentage of these questions that got no hit."""

    n: int
    silent: float | None


class NotesReport(TypedDict):
    """Percentages. `calibration_error` is the expected calibration error of the five hits shown for each question, of
    those with and without an answer: hits are put into ten bins by relevance, and the difference between the mean
    relevance of a bin and the share of answers in it is averaged, each bin counting by its number of hits.
    `abstention` has the area under the curve (`auc`) of the best relevance of a question."""

    suite: str
    embedder: str
    memories: int
    n: int
    metrics: dict[str, Summary]
    changed: dict[str, Settled]
    silence: dict[str, Silence]
    abstention: Abstention
    calibration_error: float | None
    latency_ms: Scores


def run_notes(
    notes: Notes,
    embedder: Embedder,
    *,
    settings: Settings = DEFAULTS,
    progress: Progress | None = None,
    only: Collection[str] | None = None,
    place: Place = temporary_file,
) -> NotesReport:
    """`only` names the rankers to compare; the default is always included. The store is made at a new `place`."""
    if not notes.memories or not notes.questions:
        raise InvalidInput(f"There is nothing to measure; give {FORM}.")
    step, used = progress or no_progress, measured_settings(settings)
    embedder.embed([WARM_UP])  # loads the model before anything is timed, and fails here when there is none
    with place() as where:

        def opened(clock: Callable[[], float]) -> MemoryStore:
            return MemoryStore(where, embedder=embedder, clock=clock, settings=used)

        world = World(notes, opened, step)
        with world.store:
            return measure(world, notes, embedder.identity, step, only)


def no_progress(done: int, total: int, what: str) -> None:
    pass


def measure(world: World, notes: Notes, embedder: str, progress: Progress, only: Collection[str] | None) -> NotesReport:
    for project in {question.project for question in notes.questions}:
        world.store.in_space(project).recall(WARM_UP, DEPTH, touch=False)
    answered = []
    for number, question in enumerate(notes.questions, len(notes.memories)):
        progress(number, len(notes.memories) + len(notes.questions), "remembering and asking")
        answered.append(world.ask(question))
    metrics = {DEFAULT: summary((each.question, each.keys) for each in answered)}
    metrics |= {name: by_plain_way(world, notes, name) for name in selected_rankers(only) if name != DEFAULT}
    world.settle()
    settled = [world.ask(each.question) for each in answered if each.question.kind == CHANGED]
    taken = sorted(each.milliseconds for each in answered)
    return {
        "suite": "notes",
        "embedder": embedder,
        "memories": len(notes.memories),
        "n": sum(bool(question.answers) for question in notes.questions),
        "metrics": metrics,
        "changed": {
            "unsettled": settled_figures([each for each in answered if each.question.kind == CHANGED]),
            "settled": settled_figures(settled),
        },
        "silence": {
            UNANSWERABLE: silence(answered, lambda question: not question.answers),
            FOREIGN: silence(answered, lambda question: not question.answers and question.note == FOREIGN),
            "answerable": silence(answered, lambda question: bool(question.answers)),
        },
        "abstention": abstention(
            [each.relevance for each in answered if each.question.answers],
            [each.relevance for each in answered if not each.question.answers],
        ),
        "calibration_error": calibration_error([hit for each in answered for hit in each.displayed]),
        "latency_ms": {f"p{part}": percentile(taken, part) for part in (50, 95)},
    }


def summary(ranked: Iterator[tuple[Asked, tuple[str, ...]]]) -> Summary:
    return summarize((asked.kind, score(keys, asked.answers)) for asked, keys in ranked if asked.answers)


def by_plain_way(world: World, notes: Notes, name: str) -> Summary:
    stored = {project: world.stored(project) for project in {question.project for question in notes.questions}}
    return summary(
        (each, world.keys(each, [(key,) for key in RANKERS[name](stored[each.project], plain(each)).keys]))
        for each in notes.questions
        if each.answers
    )


def plain(asked: Asked) -> Question:
    return Question(asked.text, asked.answers, asked.kind, asked.asked_at)


def settled_figures(answered: Sequence[Answered]) -> Settled:
    with_stale = [each.newest_first for each in answered if each.question.stale]
    scores: Scores = {}
    if answered:
        means = summary((each.question, each.keys) for each in answered)
        scores = {name: value for name, value in means.items() if isinstance(value, float)}
    return {"n": len(with_stale), "newest_first": share(with_stale), "metrics": scores}


def silence(answered: Sequence[Answered], chosen: Callable[[Asked], bool]) -> Silence:
    silent = [not each.keys for each in answered if chosen(each.question)]
    return {"n": len(silent), "silent": share(silent)}
