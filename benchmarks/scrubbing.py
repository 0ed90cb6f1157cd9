"""What share of secrets of every kind is caught, what ordinary text is mistaken for one, and how fast."""

from __future__ import annotations

import argparse
import ast
import gzip
import sys
import sysconfig
import time
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from random import Random

from tests.safety.factories import leaked, secrets

from nacre.safety.secrets import scrub
from nacre.safety.token_rules import RULES
from texts import memories, questions

SHORTEST, LONGEST = 12, 1000  # of an ordinary line: shorter ones say nothing, longer ones are data
FOLDERS_LEFT_OUT = {"test", "tests", "idle_test", "lib2to3", "site-packages", "__pycache__"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=200, help="secrets of each kind")
    parser.add_argument("--lines", type=int, default=40_000, help="ordinary lines of each sort")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="every miss and every false hit")
    parser.add_argument("folders", nargs="*", type=Path, help="of ordinary text, to be counted line by line instead")
    given = parser.parse_args()
    if given.folders:
        for folder in given.folders:
            in_folder(folder, given.show)
        return
    caught(given.each, given.seed, given.show)
    mistaken(given.lines, given.seed, given.show)
    speed(given.lines, given.seed)
    worst()


def in_folder(folder: Path, show: bool) -> None:
    count = hits = 0
    for line in lines_of(folder):
        count += 1
        found = scrub(line).findings
        hits += bool(found)
        if show and found:
            print(f"    {found[0].kind}: {line[max(0, found[0].start - 60) : found[0].end + 20]!r}")
    print(f"| {folder.name} | {count:,} | {hits} | {1e4 * hits / max(count, 1):.2f} |")


def lines_of(folder: Path) -> Iterator[str]:
    """Of every text file in it, also of packed ones such as manual pages."""
    for file in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        if b"\0" not in raw[:2000]:
            yield from (line[:2000] for line in raw.decode("utf-8", errors="replace").splitlines())


def worst() -> None:
    """Texts made of the rules' own pieces."""
    print("\n| hostile text, 500,000 characters | MB/s on one core |\n|---|---|")
    for part in ("aaa1Q~", "password=", "pass: ab12cd34 \n", "key", "sk-", "eyJhbGciOi.", "A1b2" * 6 + " ", "://a:b@"):
        print(f"| {part!r} | {rate([part * (500_000 // len(part))]):.1f} |")


def caught(each: int, seed: int, show: bool) -> None:
    print("| kind | made | caught | named as that kind |\n|---|---|---|---|")
    for kind in sorted({rule.kind for rule in RULES}):
        made = secrets(kind, each, seed)
        scrubbed = [scrub(item.text) for item in made]
        held = [not leaked(item, result.text) for item, result in zip(made, scrubbed, strict=True)]
        named = sum(any(found.kind == kind for found in result.findings) for result in scrubbed)
        print(f"| {kind} | {len(made)} | {sum(held) / len(made):.1%} | {named / len(made):.1%} |")
        if show:
            missed = [item for item, good in zip(made, held, strict=True) if not good]
            print(*(f"    missed: {item.text!r}" for item in missed[:12]), sep="\n", file=sys.stderr)


def mistaken(count: int, seed: int, show: bool) -> None:
    print("\n| ordinary text | lines | MB | lines with a hit | per 10,000 |\n|---|---|---|---|---|")
    for name, lines in ordinary(count, seed).items():
        hits = [(line, result) for line in lines if (result := scrub(line)).findings]
        size = sum(map(len, lines)) / 1e6
        print(f"| {name} | {len(lines):,} | {size:.1f} | {len(hits)} | {1e4 * len(hits) / len(lines):.2f} |")
        if show:
            print(*sorted({f"    hit: {r.findings[0].kind}: {line!r}" for line, r in hits}), sep="\n", file=sys.stderr)


def ordinary(count: int, seed: int) -> dict[str, list[str]]:
    return {
        "memories and questions": [*memories(count // 2, seed), *questions(count // 2, seed)],
        "packages' descriptions": chosen(descriptions(), count, seed),
        "docstrings": chosen(docstrings(), count, seed),
        "lines of code": chosen(code(), count, seed),
    }


def chosen(lines: Iterator[str], count: int, seed: int) -> list[str]:
    fitting = sorted({line.strip() for line in lines if SHORTEST <= len(line.strip()) <= LONGEST})
    return Random(seed).sample(fitting, min(count, len(fitting)))


def sources() -> Iterator[Path]:
    folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
    for folder in sorted(folders):
        for file in sorted(folder.rglob("*.py")):
            if not FOLDERS_LEFT_OUT & set(file.relative_to(folder).parts):
                yield file


def code() -> Iterator[str]:
    for file in sources():
        yield from file.read_text("utf-8", errors="replace").splitlines()


def docstrings() -> Iterator[str]:
    for file in sources():
        try:
            tree = ast.parse(file.read_text("utf-8", errors="replace"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from (ast.get_docstring(node) or "").split("\n\n")


def descriptions() -> Iterator[str]:
    for distribution in distributions():
        yield from (distribution.read_text("METADATA") or "").splitlines()


def speed(count: int, seed: int) -> None:
    print("\n| text | MB/s on one core |\n|---|---|")
    for name, lines in ordinary(count, seed).items():
        print(f"| {name}, line by line | {rate(lines):.1f} |")
        print(f"| {name}, in one piece | {rate([chr(10).join(lines)]):.1f} |")


def rate(texts: list[str]) -> float:
    """The best of three: a shared machine only ever adds time."""
    return max(once(texts) for _ in range(3))


def once(texts: list[str]) -> float:
    started = time.process_time()
    for text in texts:
        scrub(text)
    return sum(map(len, texts)) / 1e6 / (time.process_time() - started)


if __name__ == "__main__":
    main()
