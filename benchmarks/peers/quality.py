"""Which memories find the answers: conversations (LoCoMo, BEAM) and notes, with the metrics of `nacre bench`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nacre.bench.datasets import Corpus, Suite, Turn, load_beam, load_locomo
from nacre.bench.metrics import Scores, means, score, share
from nacre.bench.notes import CHANGED, DEPTH, Asked, Notes, load_notes
from peers.client import Worker
from peers.drivers import Item
from peers.environments import Peer

METRICS = ("any@1", "any@5", "any@10", "recall@10")
LOADERS: dict[str, Callable[[Path], Suite]] = {"locomo": load_locomo, "beam": load_beam}
FILES = {"locomo": "locomo_dev.json.gz", "beam": "beam_100k_dev.json.gz", "notes": "notes_dev"}
SEED = 20261117
QUICK_QUESTIONS = 40
QUICK_NOTES = 60  # questions; all notes are stored, as there are few


class Standing:
    """Which item stands for which: copies of a text, and what a memory took as one."""

    def __init__(self) -> None:
        self._by_text: dict[str, list[str]] = {}
        self._texts: dict[str, str] = {}
        self._taken: dict[str, list[str]] = {}

    def stored(self, item: Item, stand_in: str) -> None:
        self._texts[item.id] = item.text
        self._by_text.setdefault(item.text, []).append(item.id)
        if stand_in != item.id:
            self._taken.setdefault(stand_in, []).append(item.id)

    def key(self, hit: str, named: Iterable[str]) -> str:
        """The id under which a question knows this hit; its own if it does not name a copy."""
        wanted = set(named)
        same = [hit, *self._by_text.get(self._texts.get(hit, ""), ()), *self._taken.get(hit, ())]
        return next((id for id in same if id in wanted), hit)

    def keys(self, hits: Sequence[str], named: Iterable[str]) -> tuple[str, ...]:
        wanted = tuple(named)
        return tuple(dict.fromkeys(self.key(hit, wanted) for hit in dict.fromkeys(hits)))


def load_suite(name: str, file: Path, conversations: int | None, *, quick: bool) -> Suite:
    """A seeded sample where fewer conversations are wanted; a quick run asks only some questions of one."""
    suite = LOADERS[name](file)
    dice = random.Random(SEED)
    wanted = 1 if quick else min(conversations or len(suite.corpora), len(suite.corpora))
    corpora = dice.sample(suite.corpora, wanted)
    if quick:
        asked = dice.sample(corpora[0].questions, min(QUICK_QUESTIONS, len(corpora[0].questions)))
        corpora = [replace(corpora[0], questions=tuple(asked))]
    return replace(suite, corpora=tuple(corpora))


def measure_suite(peer: Peer, suite: Suite) -> dict[str, Any]:
    scores: list[Scores] = []
    stored, seconds = 0, 0.0
    for corpus in suite.corpora:
        with TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
            found, took = measure_corpus(peer, corpus, Path(folder))
        scores += found
        stored += len(corpus.turns)
        seconds += took
    return {
        "conversations": len(suite.corpora),
        **chosen_metrics(scores),
        "stored": stored,
        "texts_per_second": round(stored / seconds, 1),
    }


def measure_corpus(peer: Peer, corpus: Corpus, folder: Path) -> tuple[list[Scores], float]:
    items = [as_item(turn) for turn in corpus.turns]
    standing = Standing()
    scores = []
    with Worker(peer, folder) as worker:
        worker.ask("lean")
        added = worker.add_many(items)
        for item, stand_in in zip(items, added["result"], strict=True):
            standing.stored(item, stand_in)
        for question in corpus.questions:
            if question.gold:
                hits = worker.search(question.text, DEPTH, question.asked_at)["result"]
                scores.append(score(standing.keys(hits, question.gold), question.gold))
    return scores, float(added["seconds"])


def as_item(turn: Turn) -> Item:
    return Item(turn.key, turn.text, turn.at, turn.role, turn.session, turn.position)


def chosen_metrics(scores: Sequence[Scores]) -> dict[str, Any]:
    average = means(scores)
    return {"n": len(scores), **{name: round(average[name], 1) for name in METRICS}}


def load_quick_notes(folder: Path, *, quick: bool) -> Notes:
    notes = load_notes(folder)
    if not quick:
        return notes
    return replace(notes, questions=tuple(random.Random(SEED).sample(notes.questions, QUICK_NOTES)))


def measure_notes(peer: Peer, notes: Notes) -> dict[str, Any]:
    """One store for each project; notes one by one, in the order of their dates."""
    answered: list[tuple[Asked, tuple[str, ...]]] = []
    for project in sorted({note.project for note in notes.memories}):
        with TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
            answered += ask_project(peer, notes, project, Path(folder))
    changed = [newest_first(*each) for each in answered if each[0].kind == CHANGED and each[0].stale]
    silent = [not keys for question, keys in answered if not question.answers]
    wrongly = [not keys for question, keys in answered if question.answers]
    return {
        **chosen_metrics([score(keys, question.answers) for question, keys in answered if question.answers]),
        "changed_n": len(changed),
        "newest_first": share(changed),
        "unanswerable_n": len(silent),
        "unanswerable_silent": share(silent),
        "answerable_silent": share(wrongly),
    }


def ask_project(peer: Peer, notes: Notes, project: str, folder: Path) -> list[tuple[Asked, tuple[str, ...]]]:
    standing = Standing()
    with Worker(peer, folder) as worker:
        worker.ask("lean")
        for note in notes.memories:
            if note.project == project:
                item = Item(note.id, note.text, note.created_at)
                standing.stored(item, worker.add(item)["result"])
        answered = []
        for question in notes.questions:
            if question.project == project:
                hits = worker.search(question.text, DEPTH, question.asked_at or notes.last())["result"]
                # A hit that holds the text of an outdated version counts as that, whatever it stands for.
                named = (*question.stale, *question.answers)
                answered.append((question, standing.keys(hits, named)))
    return answered


def newest_first(question: Asked, keys: Sequence[str]) -> bool:
    right = [place for place, key in enumerate(keys) if key in question.answers]
    stale = [place for place, key in enumerate(keys) if key in question.stale]
    return bool(right) and (not stale or right[0] < stale[0])
