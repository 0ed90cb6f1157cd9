"""Reads the public training data into plain examples. Paths come from the command line; nothing is downloaded here."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

SEED = 20261115
NEGATIVES = 12  # kept for each question; training draws a few of them anew in each epoch
LONGEST = 700  # characters of a passage; what follows would be cut off by the token limit
SOURCES = ("hotpot", "longmemeval", "qmsum", "snli", "semanticmemo", "notes", "talks", "across")
WIDEST_SPAN = 25  # turns; a longer one is about everything
SAME = 0.92  # cosine from which on a note says the same as an answer, and is no negative
LEAST = 20  # characters of a turn that can answer a question
SPEECH_MARKS = re.compile(r"\{[^}]*\}|\s+(?=[.,?!])")


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the passages that answer it, and passages near them that do not."""

    question: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    source: str

    def to_json(self) -> str:
        return json.dumps([self.question, self.positives, self.negatives, self.source], ensure_ascii=False)


def lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from map(json.loads, file)


def example(
    question: str, positives: Sequence[str], negatives: Sequence[str], source: str, most: int = NEGATIVES
) -> Example:
    chosen = random.Random(f"{SEED}{question}").sample(list(negatives), min(most, len(negatives)))
    return Example(question, tuple(each[:LONGEST] for each in positives), tuple(n[:LONGEST] for n in chosen), source)


def hotpot(path: Path) -> Iterator[Example]:
    """HotpotQA: supporting sentences, against the other sentences of the same ten paragraphs."""
    for record in json.loads(path.read_text()):
        wanted = {(title, place) for title, place in record["supporting_facts"]}
        sentences = {
            (title, place): f"{title}: {sentence.strip()}"
            for title, paragraph in record["context"]
            for place, sentence in enumerate(paragraph)
            if sentence.strip()
        }
        positives = [text for at, text in sentences.items() if at in wanted]
        if positives:
            negatives = [text for at, text in sentences.items() if at not in wanted]
            yield example(record["question"], positives, negatives, "hotpot")


def longmemeval(path: Path) -> Iterator[Example]:
    """LongMemEval: turns that hold the answer, against the other turns of the same conversations."""
    for record in json.loads(gzip.decompress(path.read_bytes())):
        turns = [turn for session in record["haystack_sessions"] for turn in session if turn["content"].strip()]
        positives = [turn["content"] for turn in turns if turn.get("has_answer")]
        if positives:
            negatives = [turn["content"] for turn in turns if not turn.get("has_answer")]
            yield example(record["question"], positives, negatives, "longmemeval")


def qmsum(path: Path) -> Iterator[Example]:
    """QMSum: the turns of the relevant spans of a meeting, against its other turns."""
    for record in lines(path):
        if record["split"] != "train":
            continue
        turns = [f"{who}: {SPEECH_MARKS.sub('', text).strip()}" for who, text in record["turns"]]
        for asked in record["queries"]:
            spans = [range(int(first), int(last) + 1) for first, last in asked["spans"]]
            relevant = {place for span in spans for place in span if place < len(turns)}
            positives = [turns[place] for place in sorted(relevant) if len(turns[place]) >= 2 * LEAST]
            negatives = [text for place, text in enumerate(turns) if place not in relevant and len(text) >= 2 * LEAST]
            if positives and len(positives) <= WIDEST_SPAN:
                yield example(asked["q"], positives, negatives, "qmsum")


def entailed(path: Path, most: int) -> Iterator[Example]:
    """SNLI: what follows from a sentence, against what contradicts it: keeps the sense for short plain sentences."""
    by_premise: dict[str, dict[str, list[str]]] = {}
    for record in lines(path):
        by_premise.setdefault(record["sentence1"], {}).setdefault(record["gold_label"], []).append(record["sentence2"])
    known = [(one, kinds) for one, kinds in by_premise.items() if "entailment" in kinds and "contradiction" in kinds]
    for premise, kinds in random.Random(SEED).sample(known, min(most, len(known))):
        yield example(premise, kinds["entailment"], kinds["contradiction"], "snli")


def rephrased(path: Path, most: int) -> Iterator[Example]:
    """semanticmemo: the same request in other words, against requests of the opposite."""
    records = list(lines(path))
    opposite: dict[str, list[str]] = {}
    for record in records:
        if not record["label"]:
            opposite.setdefault(record["prompt_a"], []).append(record["prompt_b"])
    same = [record for record in records if record["label"]]
    for record in random.Random(SEED).sample(same, min(most, len(same))):
        others = opposite.get(record["prompt_a"], [])
        yield example(record["prompt_a"], [record["prompt_b"]], others, "semanticmemo")


def notes(
    folder: Path, held_out: Sequence[str] = (), most: int = NEGATIVES, near: Near | None = None, name: str = "notes"
) -> Iterator[Example]:
    """Notes, or turns of conversations, and questions about them, those in the notes' own words too, against the other
    notes of the same world, but not against other versions of the fact, which no embedder could tell from the newest.
    With `near`, half of these are the notes that an embedder takes for the likeliest.
    Questions in another language than their answer are "across": only together with the multilingual part can they be
    answered."""
    for path in sorted(folder.glob("*.notes.jsonl")):
        author = path.name.split(".")[0]
        if author in held_out:
            continue
        own_words = path.with_name(f"{author}.restated.jsonl")
        asked = [*lines(path.with_name(f"{author}.questions.jsonl")), *(lines(own_words) if own_words.exists() else ())]
        versions = other_versions(path.with_name(f"{author}.chains.jsonl"))
        for world, texts in worlds(path).items():
            questions = [each for each in asked if each["world"] == world and each["answers"]]
            ranked = near([each["q"] for each in questions], list(texts.values())) if near and questions else None
            for row, each in enumerate(questions):
                answers = {texts[id] for id in each["answers"]}
                ids = {id for answer in each["answers"] for id in versions.get((world, answer), ())}
                known = answers | {texts[id] for id in ids if id in texts}
                others = [text for text in texts.values() if text not in known]
                source = "across" if each["kind"] == "crosslingual" else name
                positives = [texts[id] for id in sorted(each["answers"])]
                texts_of_world, half = list(texts.values()), most // 2
                first = nearest_others(ranked, row, texts_of_world, answers, known, half) if ranked else []
                rest = example(each["q"], positives, [t for t in others if t not in first], source, most - len(first))
                yield Example(rest.question, rest.positives, (*(t[:LONGEST] for t in first), *rest.negatives), source)


def other_versions(path: Path) -> dict[tuple[str, str], set[str]]:
    """By world and note, the notes that state the same fact at another time."""
    found: dict[tuple[str, str], set[str]] = {}
    for each in lines(path) if path.exists() else ():
        for id in each["ids"]:
            found.setdefault((each["world"], id), set()).update(each["ids"])
    return found


def worlds(path: Path) -> dict[str, dict[str, str]]:
    """The texts of each world by their ids."""
    found: dict[str, dict[str, str]] = {}
    for each in lines(path):
        found.setdefault(each["world"], {})[each["id"]] = each["text"]
    return found


class Ranked(NamedTuple):
    """Cosines of each question with each text, and of the texts with each other."""

    asked: np.ndarray
    alike: np.ndarray


Near: TypeAlias = Callable[[Sequence[str], Sequence[str]], Ranked]


def nearest_others(
    ranked: Ranked, row: int, texts: Sequence[str], answers: set[str], known: set[str], most: int
) -> list[str]:
    """The texts nearest to a question, without the known ones (the answers and their other versions) and what says
    nearly the same as an answer."""
    right = [place for place, text in enumerate(texts) if text in answers]
    wrong = [int(place) for place in np.argsort(-ranked.asked[row]) if texts[place] not in known]
    return [texts[place] for place in wrong[: most + 2] if ranked.alike[place, right].max() < SAME][:most]


def pair_texts(folder: Path) -> Iterator[str]:
    """The texts of the labelled pairs, for distilling."""
    for path in sorted(folder.glob("*.jsonl")):
        for record in lines(path):
            yield from (record["old"], record["new"])


def sentences(paths: Sequence[Path]) -> Iterator[str]:
    """Single sentences of SNLI, STS-B (English train) and Tatoeba, for distilling on short everyday texts."""
    for path in paths:
        for record in lines(path):
            if record.get("split", "train") != "train" or record.get("lang", "en") not in ("en", "deu", "fra", "spa"):
                continue
            for name in ("sentence1", "sentence2", "a", "b", "en"):
                if isinstance(record.get(name), str):
                    yield record[name]
