"""Tokens of some 270 services, made at run time from their published formats, in the places where people leave them.

A third of the formats, chosen by a digest of their names before any rule was written, is kept apart: the rules were
not written for them. `python benchmarks/token_formats.py` prints what is caught; `--unseen` for the third.
"""

from __future__ import annotations

import argparse
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from nacre.safety.secrets import scrub

TABLE = Path(__file__).parent / "secret_samples" / "formats.txt"
HEX = string.digits + "abcdef"
ALNUM = string.ascii_letters + string.digits
CLASSES = {
    "A": ALNUM,
    "a": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": HEX,
    "H": HEX.upper(),
    "w": ALNUM + "_-",
    "b": ALNUM + "+/",
    "l": string.ascii_lowercase,
    "L": string.ascii_letters,
    "d": string.digits,
    "B": string.ascii_uppercase + "234567",
}
SETTINGS = {
    "bare": (
        "{}",
        "I pasted {} yesterday, please rotate it",
        "We use {} for the nightly deployment.",
        "2026-03-01T10:00:00Z INFO worker[12]: got {} from the queue",
        'client = Client("{}")',
    ),
    "named": (
        "The {service} API key is {}",
        "our {service} token: {}",
        "{service} secret for staging is now {}.",
        "Remember the {service} access token {}",
    ),
    "assignment": (
        "{SERVICE}_API_KEY={}",
        'export {SERVICE}_TOKEN="{}"',
        "{name}:\n  api_key: {}\n  region: eu",
        '{{"{name}_token": "{}", "page": 2}}',
        '{name}_secret = "{}"',
        "{name}_api_key:\n  {}",
    ),
    "header": (
        "Authorization: Bearer {}",
        "Authorization: {}",
        'curl -H "X-Api-Key: {}" https://api.service.test/v1',
        "headers = {{'x-auth-token': '{}'}}",
    ),
    "address": (
        "https://api.service.test/v1/items?api_key={}&page=2",
        "https://bot:{}@git.service.test/team/app.git",
    ),
    "log": (
        "2026-03-01 10:00:00,123 DEBUG http.client: sent token={} status=200",
        "[10:00:00] request failed: invalid api key: {}",
    ),
}


@dataclass(frozen=True, slots=True)
class Format:
    service: str
    pieces: tuple[str, ...]

    @property
    def unseen(self) -> bool:
        return sha256(self.service.encode()).digest()[0] % 3 == 0

    @property
    def sort(self) -> str:
        """Of a bare token: known by a literal prefix, by chance only, or not at all (it reads like any hash)."""
        first = self.pieces[0]
        if first.startswith("'") and len(first.replace("~", "")) > 3:
            return "literal prefix"
        if any("." in piece or ":" in piece for piece in self.pieces if piece.startswith("'")):
            return "literal prefix"
        made = self.token(Random(0))
        return "like a hash" if set(made) <= set(HEX + "-") else "no mark of its own"

    def token(self, random: Random) -> str:
        return "".join(part(piece, random) for piece in self.pieces)


def part(piece: str, random: Random) -> str:
    if piece.startswith("'"):
        return piece[1:].replace("~~", "\0").replace("~", "").replace("\0", "~")
    if piece == "g":
        return "-".join("".join(random.choices(HEX, k=size)) for size in (8, 4, 4, 4, 12))
    return "".join(random.choices(CLASSES[piece[0]], k=int(piece[1:])))


def formats() -> list[Format]:
    rows = [row.split(";") for row in TABLE.read_text("utf-8").splitlines() if row and not row.startswith("#")]
    return [Format(name.strip(), tuple(pieces.split())) for name, pieces in rows]


def samples(each: Format, setting: str, count: int) -> Iterator[tuple[str, str]]:
    """Pairs of a token and the text that holds it."""
    random = Random(f"{each.service} {setting}")
    company = each.service.split()[0]
    name = "".join(sign if sign.isalnum() else "_" for sign in company.lower())
    for _ in range(count):
        for frame in SETTINGS[setting]:
            token = each.token(random)
            yield token, frame.format(token, service=company, SERVICE=name.upper(), name=name)


def caught(token: str, text: str) -> bool:
    """Neither half of it is left."""
    clean, middle = scrub(text).text, len(token) // 2
    return token[:middle] not in clean and token[middle:] not in clean


def measured(chosen: Iterable[Format], count: int, show: bool) -> dict[tuple[str, str], list[int]]:
    figures: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for each in chosen:
        for setting in SETTINGS:
            for token, text in samples(each, setting, count):
                good = caught(token, text)
                row = figures[each.sort, setting]
                row[0] += good
                row[1] += 1
                if show and not good and not (setting == "bare" and each.sort == "like a hash"):
                    print(f"    {each.service} / {setting}: {text!r}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unseen", action="store_true", help="the third that no rule was written for")
    parser.add_argument("--count", type=int, default=4, help="tokens of each format in each text")
    parser.add_argument("--show", action="store_true", help="every miss")
    given = parser.parse_args()
    chosen = [each for each in formats() if each.unseen == given.unseen]
    print(f"{len(chosen)} of {len(formats())} formats")
    figures = measured(chosen, given.count, given.show)
    print("| token | setting | made | caught |\n|---|---|---|---|")
    for (sort, setting), (good, made) in sorted(figures.items()):
        print(f"| {sort} | {setting} | {made} | {good / made:.1%} |")


if __name__ == "__main__":
    main()
