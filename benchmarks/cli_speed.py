"""What a command costs from its start to its end: CPU time of the process, cold, on a store of 10,000 memories."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nacre import MemoryStore
from texts import memories, questions

RESULTS = Path(__file__).with_name("CLI.md")
REPEATS = 15
SPACE = "speed"
STARTING = "-c", "pass"
NUMBER = "NUMBER"  # is another one in each run
REMEMBERED = f"The lamps of hall {NUMBER} are lit by {NUMBER} people."


@dataclass(frozen=True, slots=True)
class Measured:
    """`target` is in milliseconds of CPU time, user and system together; None where there is none."""

    name: str
    milliseconds: float
    target: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--embedder", default="multilingual")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.db"
        with MemoryStore(path, space=SPACE, embedder=given.embedder) as store:
            store.remember_many(memories(given.size, seed=1))
        environment = {
            **os.environ,
            "NACRE_STORE": str(path),
            "NACRE_SPACE": SPACE,
            "NACRE_EMBEDDER": given.embedder,
        }
        table = report(measured(environment, given.repeats), given.size, given.embedder)
    RESULTS.write_text(table, "utf-8")
    print(table)


def measured(environment: dict[str, str], repeats: int) -> list[Measured]:
    nacre = ("-m", "nacre")
    asked = questions(1, seed=2)[0]
    commands: tuple[tuple[str, tuple[str, ...], float | None], ...] = (
        ("python alone", STARTING, None),
        ("nacre --version", (*nacre, "--version"), None),
        ("nacre --help", (*nacre, "--help"), 150.0),
        ("nacre list", (*nacre, "list"), 250.0),
        ("nacre recall", (*nacre, "recall", asked), 700.0),
        ("nacre remember", (*nacre, "remember", REMEMBERED), None),
    )
    return [Measured(name, cheapest(words, environment, repeats), target) for name, words, target in commands]


def cheapest(words: tuple[str, ...], environment: dict[str, str], repeats: int) -> float:
    """The least of several: whatever else runs on the machine can only add."""
    calls = (tuple(word.replace(NUMBER, str(run)) for word in words) for run in range(repeats))
    return min(cost(call, environment) for call in calls)


def cost(words: tuple[str, ...], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def report(found: list[Measured], size: int, embedder: str) -> str:
    lines = [
        "# What a command costs",
        "",
        f"CPU time (user and system) of a whole process on a store of {size:,} memories with {embedder}, the least of "
        "several runs;",
        "`python benchmarks/cli_speed.py` repeats it. The targets are for a machine on which Python alone takes 12 ms;",
        "a busy one is slower. The first command after an installation that needs a model, and one each week, reads",
        "the files of the model through, which takes 0.3 s more.",
        "",
        "| command | CPU ms | target |",
        "|---|---|---|",
        *(
            f"| `{each.name}` | {each.milliseconds:.0f} | {'' if each.target is None else f'<= {each.target:.0f}'} |"
            for each in found
        ),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
