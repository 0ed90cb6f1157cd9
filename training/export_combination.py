"""Computes how the two parts of the multilingual embedder are combined, from sentences and their translations.

python training/export_combination.py TATOEBA XQUAD STSB SENTENCES.json.gz OUT

OUT already holds the two exported parts. A text that is not English gets its place among English texts by a linear map
from the multilingual encoder to the English student, fitted on translations; which texts are English is told by their
pieces, counted in the same data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from export import SEED, read_sentences

from nacre.models.shipped_embedder import (
    LARGEST_ODDS,
    NO_LETTER,
    PROJECTED_WIDTH,
    EnglishPart,
    MultilingualPart,
    englishness,
)

TATOEBA, STS, XQUAD, SENTENCES = 6_000, 3_000, 1_200, 4_000  # texts that are embedded
STEADY = 1.0  # of the ridge regression
WEIGHT = 0.55  # of the multilingual encoder's own numbers, until `projection.py` has learned which of them help
PIECES_LIMIT = 256
UNSEEN = 0.5
Pair = tuple[str, str]  # another language, English


def read_lines(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def translations(tatoeba: Path, xquad: Path, sts: Path) -> tuple[list[Pair], list[Pair], list[Pair]]:
    first = [(row["text"], row["en"]) for row in read_lines(tatoeba)]
    asked: dict[str, dict[str, str]] = {}
    for row in read_lines(xquad):
        asked.setdefault(row["id"], {})[row["lang"]] = row["question"]
    second = [(text, each["en"]) for each in asked.values() for lang, text in each.items() if lang != "en"]
    by_language: dict[str, list[str]] = {}
    for row in read_lines(sts):
        if row["split"] == "train":
            by_language.setdefault(row["lang"], []).extend((row["a"], row["b"]))
    english = by_language.pop("en")
    third = [pair for texts in by_language.values() for pair in zip(texts, english, strict=True)]
    return first, second, third


def language_odds(part: MultilingualPart, pieces: Sequence[str], pairs: Iterable[Pair]) -> np.ndarray:
    """For each piece, how much likelier it is in English than elsewhere: the logarithm, in whole steps of one byte."""
    counts = np.zeros((2, len(pieces)))
    seen: set[str] = set()
    for pair in pairs:
        for language, text in enumerate(pair):
            if text not in seen:
                seen.add(text)
                np.add.at(counts[language], part.encode(text)[1:-1], 1)
    elsewhere, english = np.log((counts + UNSEEN) / (counts + UNSEEN).sum(axis=1, keepdims=True))
    odds = english - elsewhere
    for id, piece in enumerate(pieces):
        letters = [character for character in piece if character.isalpha()]
        if letters and not all("LATIN" in unicodedata.name(letter, "") for letter in letters):
            odds[id] = -LARGEST_ODDS
        elif not counts[:, id].any():
            odds[id] = 0
    steps = np.rint(np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS) / LARGEST_ODDS * 127).astype(np.int8)
    steps[[not any(map(str.isalpha, piece)) for piece in pieces]] = NO_LETTER
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("tatoeba", "xquad", "stsb", "sentences", "out"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    chance = random.Random(SEED)
    english, multilingual = EnglishPart(given.out), MultilingualPart(given.out)
    all_pairs = translations(given.tatoeba, given.xquad, given.stsb)
    pieces = (given.out / "unigram.txt").read_text(encoding="utf-8").split("\n")[:-1]
    odds = language_odds(multilingual, pieces, [pair for pairs in all_pairs for pair in pairs])
    np.save(given.out / "english_pieces.npy", odds)

    pairs = [
        pair
        for some, count in zip(all_pairs, (TATOEBA, XQUAD, STS), strict=True)
        for pair in chance.sample(some, min(count, len(some)))
    ]
    sentences = chance.sample(read_sentences(given.sentences), SENTENCES)
    shares = englishness(odds, [multilingual.encode(text) for text in sentences])
    own = [text for text, share in zip(sentences, shares, strict=True) if share > 0.9]
    foreign, translated = (list(side) for side in zip(*pairs, strict=True))
    inputs = multilingual.rows([*foreign, *translated, *own])
    known = english.rows([*dict.fromkeys(translated), *own])
    places = {text: place for place, text in enumerate([*dict.fromkeys(translated), *own])}
    targets = known[[places[text] for text in [*translated, *translated, *own]]]

    everything = multilingual.rows(sentences)
    mean, target_mean = everything.mean(axis=0), english.rows(own).mean(axis=0)
    centred = inputs - mean
    mapping = np.linalg.solve(
        centred.T @ centred + STEADY * np.eye(centred.shape[1]), centred.T @ (targets - target_mean)
    )
    fitted = centred[: len(foreign)] @ mapping + target_mean
    cosines = (fitted * targets[: len(foreign)]).sum(1) / np.linalg.norm(fitted, axis=1)
    print(f"{len(pairs)} pairs; mean cosine to the translation's own place {cosines.mean():.3f}")
    _, _, directions = np.linalg.svd(np.concatenate([everything - mean, centred[: len(foreign)]]), full_matrices=False)
    np.savez(
        given.out / "combination.npz",
        mean=mean.astype(np.float32),
        mapping=mapping.astype(np.float32),
        shift=target_mean.astype(np.float32),
        projection=np.ascontiguousarray(directions[:PROJECTED_WIDTH].T, np.float32),
        weight=np.float32(WEIGHT),
    )


if __name__ == "__main__":
    main()
