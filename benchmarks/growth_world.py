"""The stores that `growth.py` measures: memories of our own with the word distribution of real texts, at any size.

Word frequencies follow Zipf's law: function words come first, then words of the shipped vocabulary, so that a text has
as many tokens as a real one of its length. Everything is a function of a memory's number, so that a fill can be
continued and a question asked about any memory.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from nacre import Link, MemoryStore
from nacre.model.memory import Json
from nacre.models.cross_encoder import VOCABULARY as WORDPIECES
from nacre.models.shipped import shipped
from nacre.protocols import Embedder, Progress

DIMENSIONS = 384
SPACE = "work"
OTHER_SPACES = ("home", "laboratory")  # a tenth of the memories, with the same words: they must not change anything
OTHERS_PER_TEN = 1
BATCH = 256
START = 1_730_000_000.0
YEAR = 365 * 86_400.0
RARE_TAG, RARE_EVERY = "rare", 997
COMMON_TAGS = 40
TAGGED_LATER = 8  # old memories that each batch tags, so that the past differs from the present in more than its end
FUNCTION_WORDS = (
    "the of and to in is that for it on with as was at by be this from are or an have not which but were their has had"
    " been its all more when than will one if would there can about after also they other some only into over new"
).split()
FUNCTION_SET = frozenset(FUNCTION_WORDS)
COMMON_WORD, COMMON_EVERY = "project", 3  # as frequent as a function word, but a question may ask for it
CONTENT_WORDS, SHORTEST_WORD = 6_000, 4
TOPICS = 300
PER_SESSION = 30  # memories
# Of the content words, the shares that come from the conversation's own few words and from those or the topic's: real
# texts have neighbours in meaning, and without them no search by vectors could do better than compare with all.
OF_SESSION, OF_TOPIC = 0.3, 0.6
SHORTEST, LONGEST = 10, 30  # words of a text
NAMES = 400  # entities: a person or product is mentioned about as often as its rank says


def vocabulary() -> list[str]:
    known = shipped(WORDPIECES).read_text(encoding="utf-8").split()
    words = [word for word in known if len(word) >= SHORTEST_WORD and word.isascii() and word.isalpha()]
    content = [word for word in words if word not in FUNCTION_SET and word != COMMON_WORD]
    return [*FUNCTION_WORDS, *Random("vocabulary").sample(content, CONTENT_WORDS)]


VOCABULARY = vocabulary()
NAME_LIST = [word.capitalize() for word in VOCABULARY[-NAMES:]]


def zipf(count: int) -> NDArray[np.float64]:
    weights = 1.0 / (np.arange(count) + 2.7)  # Mandelbrot's offset: the first words are less extreme than Zipf's own
    return np.cumsum(weights / weights.sum())


WORD_SHARES, NAME_SHARES = zipf(len(VOCABULARY)), zipf(NAMES)


def text(number: int, seed: str = "memory") -> str:
    """Two sentences of about twenty words: function words, words of its topic, of its conversation, and any."""
    random = Random(f"{seed} {number}")
    topic = topic_words(Random(f"topic {number // PER_SESSION}").randrange(TOPICS))
    session = session_words(number // PER_SESSION)
    words = []
    for _ in range(random.randint(SHORTEST, LONGEST)):
        word = pick(VOCABULARY, WORD_SHARES, random)
        if word not in FUNCTION_SET:
            chance = random.random()
            word = (
                random.choice(session) if chance < OF_SESSION else random.choice(topic) if chance < OF_TOPIC else word
            )
        words.append(word)
    middle = len(words) // 2
    first, second = " ".join(words[:middle]), " ".join(words[middle:])
    about = f" for the {COMMON_WORD}" if number % COMMON_EVERY == 0 else ""
    return f"{name_of(number)} {first}{about}. {second.capitalize()} {random.randrange(10_000)}."


@lru_cache(maxsize=512)
def topic_words(topic: int) -> list[str]:
    return content_words(f"topic words {topic}", 60)


@lru_cache(maxsize=64)
def session_words(session: int) -> list[str]:
    return content_words(f"session words {session}", 12)


def content_words(seed: str, count: int) -> list[str]:
    random = Random(seed)
    drawn = (pick(VOCABULARY, WORD_SHARES, random) for _ in range(5 * count))
    return [word for word in drawn if word not in FUNCTION_SET][:count]


def pick(words: Sequence[str], shares: NDArray[np.float64], random: Random) -> str:
    return words[int(np.searchsorted(shares, random.random()))]


def name_of(number: int) -> str:
    return pick(NAME_LIST, NAME_SHARES, Random(f"name {number}"))


def question(number: int) -> str:
    """Asks for the memory of this number with its name and four of its words."""
    words = [word for word in re.findall(r"\w+", text(number))[1:] if word.islower() and word not in FUNCTION_SET]
    return f"what about {name_of(number)} and {' '.join(words[:4])}?"


def id_of(number: int) -> str:
    return f"m{number:07d}"


def time_of(number: int, size: int) -> float:
    """The fill is spread over a year, whatever its size."""
    return START + YEAR * number / size


def fields_of(number: int, size: int) -> dict[str, object]:
    random = Random(f"fields {number}")
    tags = [f"tag{int(COMMON_TAGS * random.random() ** 2)}"]
    if number % RARE_EVERY == 0:
        tags.append(RARE_TAG)
    at = time_of(number, size)
    return {
        "id": id_of(number),
        "text": text(number),
        "title": f"Note {number}" if number % 5 == 0 else "",
        "type": ("semantic", "episodic", "episodic", "procedural")[number % 4],
        "tags": tags,
        "contexts": [f"area{random.randrange(9)}"],
        "entities": [name_of(number)],
        "importance": round(random.random(), 2),
        "confidence": 0.3 if number % 50 == 0 else 0.9,
        "session": f"s{number // PER_SESSION}",
        "position": number % PER_SESSION,
        "role": ("user", "assistant")[number % 2],
        "created_at": at,
        "occurred_at": at,
        "last_accessed": at + 3600 * random.random(),
        "links": links_of(number, random),
    }


def links_of(number: int, random: Random) -> list[Link]:
    """Every fifth memory is linked to an earlier one, and every hundredth conflicts with one."""
    links = [Link(id_of(random.randrange(number)), "related", 0.5)] if number and number % 5 == 0 else []
    if number > 1 and number % 100 == 1:
        data: dict[str, Json] = {"kind": "contradiction", "reason": "negation", "similarity": 0.8}
        links.append(Link(id_of(number - 1), "conflicts", data=data))
    return links


class SumOfWords:
    """Vectors at a rate that lets a million be filled: each word has a random direction, a text the sum of its words'.

    Frequent words weigh less, as in a trained model, so that texts which share a rare word are near each other.
    """

    identity = f"growth-sum-of-words-{DIMENSIONS}"
    dimensions = DIMENSIONS
    token_limit = 1_000_000
    ready = True

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(each) // 4 for each in texts]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, each in enumerate(texts):
            words = re.findall(r"\w+", each.lower()) or [""]
            total = np.sum([direction(word) for word in words], axis=0)
            rows[row] = total / np.linalg.norm(total)
        return rows


@lru_cache(maxsize=50_000)
def direction(word: str) -> NDArray[np.float32]:
    random = np.random.default_rng(zlib.crc32(word.encode()))
    weight = 0.1 if word in FUNCTION_SET else 1.0
    return np.asarray(weight * random.standard_normal(DIMENSIONS), dtype=np.float32)


class SimulatedClock:
    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self) -> float:
        self.at += 0.001  # two operations are never at the same time
        return self.at


def open_store(path: Path, embedder: Embedder | str, at: float, **options: object) -> MemoryStore:
    return MemoryStore(path, space=SPACE, embedder=embedder, clock=SimulatedClock(at), **options)  # type: ignore[arg-type]


def fill(path: Path, size: int, embedder: Embedder | str, progress: Progress) -> int:
    """Continues where an earlier fill ended; returns how many memories were added."""
    clock, added = SimulatedClock(START), 0
    with MemoryStore(path, space=SPACE, embedder=embedder, clock=clock) as store:
        for first in range(0, size, BATCH):
            numbers = range(first, min(first + BATCH, size))
            if store.get(id_of(numbers[-1])) is not None:
                continue
            clock.at = max(clock.at, time_of(first, size))
            store.remember_many(fields_of(number, size) for number in numbers)
            added += len(numbers)
            elsewhere = store.in_space(OTHER_SPACES[first // BATCH % len(OTHER_SPACES)])
            elsewhere.remember_many(text(number, "elsewhere") for number in numbers[:: 10 // OTHERS_PER_TEN])
            change_some(store, first, Random(f"change {first}"))
            progress(numbers[-1] + 1, size, "filling")
    return added


def change_some(store: MemoryStore, first: int, random: Random) -> None:
    """Tags old memories and replaces a few, so that the past differs from the present."""
    if not first:
        return
    old = [id_of(random.randrange(first)) for _ in range(TAGGED_LATER)]
    store.tag(*old[:-2], add=[f"later{first // BATCH % 20}"])
    successors = {id: id_of(first) for id in old[-2:]}
    present = [id for id in successors if (memory := store.get(id)) is not None and memory.superseded_by is None]
    store.write("supersede", successors={id: id_of(first) for id in present})
