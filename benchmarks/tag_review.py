"""How long a review of 5,000 messy tags takes, and how many of its proposals are right."""

from __future__ import annotations

import argparse
import random
import time

from nacre import MemoryStore
from nacre.errors import EmbeddingError
from nacre.lessons import LessonBook
from nacre.lessons.vocabulary import normalize
from nacre.model.memory import LESSON

SEED = 7
WORDS = """
access account adapter alert alias allocation analysis archive argument array artifact assertion asset audit backup
balance bandwidth banner batch benchmark billing binary binding bookmark border boundary bridge browser bucket budget
buffer bundle button calendar callback camera canary capacity carousel category channel chart checkout checksum cipher
cleanup client clipboard cluster codec collection column command comment compiler component compression condition
connection constraint consumer container contract controller cookie coverage crawler credential cursor customer daemon
dashboard dataset deadline debugger decorator delegate delivery design desktop device dialog digest directory discovery
document domain download driver editor element embedding encoder endpoint engine entity envelope error estimate event
exception exchange experiment export expression extension feature feedback fetcher fixture flag folder footer forecast
format formula fragment framework function gateway generator geometry gradient grammar graph handler hardware header
heap helper hierarchy history hook hosting identity image import incident index ingestion inheritance input inspection
installer instance interface interpreter interval inventory invoice iterator journal kernel keyboard label lambda
landing latency layout ledger lexer licence lifecycle listener loader locale locking logger login loop macro manifest
mapping marker matrix measure memory menu message method metric middleware mirror mobile module monitor namespace
navigation network notebook notification object offline onboarding operator orchestration outage overflow package
pagination parameter parser partition password payload payment pipeline platform plugin pointer policy polling portal
prediction priority privacy probe procedure producer profile prompt property protocol prototype provider proxy quality
quota ranking recovery recursion refactor region registry regression release reminder renderer replica report request
resolver resource response retention retry revision rollback router routine runtime sampling sandbox scanner scheduler
schema scraper script search segment selector sensor sequence server service session setting shader shipping sidebar
signal simulation snapshot socket software spinner sprint stack statement storage strategy stream string structure
stylesheet subscription support symbol syntax system table tablet template tenant terminal thread threshold throttle
ticket timeline timeout toggle token tooltip topic tracing traffic transaction translation trigger tunnel tutorial
tuple typography upgrade upload validator variable vector vendor version viewport virtual volume vulnerability wallet
warehouse warning watcher webhook widget window wizard worker workflow workspace wrapper
""".split()  # fmt: skip
MARKED = {"a": "á", "e": "é", "i": "í", "o": "ö", "u": "ü"}
LONG_ENOUGH = 8  # letters of a word that is mistyped: shorter ones are not to be proposed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tags", type=int, default=5_000)
    parser.add_argument("--embedders", default="hashing,multilingual")
    given = parser.parse_args()
    truth = messy(given.tags, random.Random(SEED))
    print("| embedder | tags | seconds | proposals | right | found of the mess |\n|---|---|---|---|---|---|")
    for name in given.embedders.split(","):
        try:
            print(measured(name, truth), flush=True)
        except EmbeddingError as error:
            print(f"| {name} | not installed: {error} |")


def messy(wanted: int, chance: random.Random) -> dict[str, str]:
    """Each tag with what was meant by it; two in five are a mess that somebody made of another."""
    meant = {normalize(name): normalize(name) for name in WORDS}
    while len(meant) < wanted * 3 // 5:
        name = "-".join(chance.sample(WORDS, 2))
        meant.setdefault(name, name)
    clean = list(meant)
    while len(meant) < wanted:
        name = chance.choice(clean)
        meant.setdefault(normalize(spoilt(name, chance)), name)
    return meant


def spoilt(name: str, chance: random.Random) -> str:
    way = chance.choice(("parted", "plural", "marked", "swapped", "dropped", "doubled"))
    if way == "parted":
        return name.replace("-", chance.choice(("_", ".", ""))) if "-" in name else name.upper()
    if way == "plural":
        return name[:-1] + "ies" if name.endswith("y") and name[-2] not in "aeiou" else plural(name)
    if way == "marked":
        at = next((place for place, letter in enumerate(name) if letter in MARKED), 0)
        return name[:at] + MARKED.get(name[at], name[at]) + name[at + 1 :]
    words = name.split("-")
    long = [place for place, word in enumerate(words) if len(word) >= LONG_ENOUGH]
    if not long:
        return plural(name)
    place = chance.choice(long)
    words[place] = slip(words[place], way, chance)
    return "-".join(words)


def plural(name: str) -> str:
    return name + ("es" if name.endswith(("s", "x", "z", "ch", "sh")) else "s")


def slip(word: str, way: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 2)
    if way == "swapped":
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (word[at + 1 :] if way == "dropped" else word[at] + word[at:])


def measured(embedder: str, truth: dict[str, str]) -> str:
    with MemoryStore(":memory:", embedder=embedder) as store:
        fill(store, truth)
        start = time.perf_counter()
        found = LessonBook(store=store).review_tags().data
        seconds = time.perf_counter() - start
    right = [each for each in found if truth[each.keep] == truth[each.merge]]
    mess = [name for name in truth if truth[name] != name]
    solved = {each.merge for each in right} | {each.keep for each in right}
    return (
        f"| {embedder} | {len(truth):,} | {seconds:.1f} | {len(found):,} | {len(right) / max(1, len(found)):.1%} "
        f"| {sum(name in solved for name in mess) / max(1, len(mess)):.1%} |"
    )


def fill(store: MemoryStore, truth: dict[str, str]) -> None:
    """Ten tags a lesson; what was meant stands on three lessons, the mess on one."""
    store.register_type(LESSON)
    names = [name for name in truth for _ in range(3 if truth[name] == name else 1)]
    random.Random(SEED).shuffle(names)
    kept = [names[at : at + 10] for at in range(0, len(names), 10)]
    store.remember_many({"text": " ".join(tags), "type": LESSON, "tags": tags} for tags in kept)


if __name__ == "__main__":
    main()
