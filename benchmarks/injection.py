"""What share of attacks on a model is marked, what harmless text is mistaken for one, and how fast.

Half of the texts, chosen by a digest before the rules were written, is held out: the rules were not tuned on them.
`python benchmarks/injection.py` measures the development half, `--held-out` the other; folders of ordinary text may
follow, whose lines should not be marked.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from nacre.safety.injection import SUSPICIOUS_SCORE, suspicion

TEXTS = Path(__file__).parent / "injection_texts"
FORMS = {
    **dict.fromkeys(("override", "deepset", "leak"), "orders and questions about the prompt (deepset-like)"),
    "roleplay": "role-play frames (in-the-wild-like)",
    "bipia": "orders hidden in data (BIPIA-like)",
    "exfil": "requests to send data out",
    "forged": "forged turns and tool calls",
    "folded": "disguised letters",
}
OTHER = "other languages"


def held_out(text: str) -> bool:
    return sha256(text.encode()).digest()[0] % 2 == 0


def attacks(held: bool) -> Iterator[tuple[str, str]]:
    for row in (TEXTS / "attacks.txt").read_text("utf-8").splitlines():
        form, _, text = row.partition(": ")
        if held_out(row) == held:
            yield FORMS.get(form, OTHER), text.replace("\\n", "\n")


def harmless(held: bool) -> list[str]:
    rows = (TEXTS / "harmless.txt").read_text("utf-8").splitlines()
    return [row.replace("\\n", "\n") for row in rows if held_out(row) == held]


def marked(text: str) -> bool:
    return suspicion(text).score >= SUSPICIOUS_SCORE


def report(held: bool, show: bool) -> None:
    figures: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for form, text in attacks(held):
        good = marked(text)
        figures[form][0] += good
        figures[form][1] += 1
        if show and not good:
            print(f"    missed ({form}): {text!r}")
    print("| attacks | texts | marked |\n|---|---|---|")
    for form, (hits, all_of_them) in sorted(figures.items()):
        print(f"| {form} | {all_of_them} | {hits / all_of_them:.0%} |")
    caught, count = (sum(row[place] for row in figures.values()) for place in (0, 1))
    print(f"| all | {count} | {caught / count:.0%} |")
    wrong = [text for text in harmless(held) if marked(text)]
    print(f"\nHarmless look-alikes marked: {len(wrong)} of {len(harmless(held))}")
    if show:
        print(*(f"    wrong: {text!r} {suspicion(text).reasons}" for text in wrong), sep="\n")


def ordinary(folder: Path, show: bool) -> None:
    lines = wrong = size = 0
    started = time.process_time()
    for file in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
        raw = file.read_bytes()[:2_000_000]
        if b"\0" in raw or file.suffix in {".gz", ".pyc", ".xz", ".zip"}:
            continue
        for line in raw.decode("utf-8", errors="replace").splitlines():
            lines, size = lines + 1, size + len(line)
            if marked(line):
                wrong += 1
                if show:
                    print(f"    {file.name}: {line[:200]!r} {suspicion(line).reasons}")
    spent = time.process_time() - started
    print(f"{folder}: {wrong} of {lines:,} lines marked, {size / 1e6 / max(spent, 1e-9):.1f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--show", action="store_true", help="every miss and every false alarm")
    parser.add_argument("folders", nargs="*", type=Path)
    given = parser.parse_args()
    report(given.held_out, given.show)
    for folder in given.folders:
        ordinary(folder, given.show)


if __name__ == "__main__":
    main()
