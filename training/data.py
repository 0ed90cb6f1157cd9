"""Reads the public training data into plain examples. Paths come from the command line; nothing is downloaded here."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 20261115
NEGATIVES = 12  # kept for each question; training draws a few of them anew in each epoch
LONGEST = 700  # characters of a passage; what follows would be cut off by the token limit
SOURCES = ("hotpot", "longmemeval", "qmsum", "snli", "semanticmemo", "notes", "across")
WIDEST_SPAN = 25  # turns; a longer one is about everything
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


def notes(folder: Path, held_out: Sequence[str] = (), most: int = NEGATIVES) -> Iterator[Example]:
    """Notes and questions about them, against the other notes of the same world. Questions in another language than
    their answer are "across": only together with the multilingual part can they be answered."""
    for path in sorted(folder.glob("*.notes.jsonl")):
        author = path.name.split(".")[0]
        if author in held_out:
            continue
        texts = {(each["world"], each["id"]): each["text"] for each in lines(path)}
        for asked in lines(path.with_name(f"{author}.questions.jsonl")):
            answers = {(asked["world"], id) for id in asked["answers"]}
            if answers:
                others = [text for at, text in texts.items() if at[0] == asked["world"] and at not in answers]
                source = "across" if asked["kind"] == "crosslingual" else "notes"
                yield example(asked["q"], [texts[at] for at in sorted(answers)], others, source, most)


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
