"""A simulated year of an agent's memories: what maintenance lets go, what it keeps, and whether anybody misses it."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from results import machine
from year_changes import WAYS, changes, first_hits
from year_report import Taken, counted, fates, figures, state_table, undone
from year_texts import LASTING, Told, year
from year_world import RECALLED, Answered, World

QUARTERS = 4
SAMPLED = 400  # questions at a checkpoint; at the end all of them are asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--per-day", type=int, default=55)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"{machine()}; load before the start {os.getloadavg()[0]:.1f}\n", flush=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        plan = year(given.days, given.per_day, given.seed)
        world = World(Path(folder), plan, given.seed, changes(given.days, given.seed))
        met = lived(world, given.days, Path(folder))
    print(f"\nThe whole took {time.perf_counter() - started:,.0f} s.")
    sys.exit(0 if met else 1)


def lived(world: World, days: int, folder: Path) -> bool:
    checkpoints = {days * quarter // QUARTERS for quarter in range(1, QUARTERS)}
    print(
        "| day | told | live | superseded | in the trash | purged | junk gone | any@5, tended | left alone | ms a day |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for day in range(days):
        world.live_through(day)
        if day + 1 in checkpoints:
            checkpoint(world, day + 1, sampled(questions(world)))
    checkpoint(world, days, sampled(questions(world)))
    asked = world.asked(questions(world))
    used = Answered.of(found for id, found in asked.items() if id in world.used)
    taken = Taken(fates(world), used, Answered.of(asked.values()), undone(world, folder / "copy.db"))
    changed = changed_table(world)
    world.close()
    print(f"\n{changed}")
    print(f"\n{state_table(world, taken.fates)}\n")
    rows, met = figures(world, taken)
    print(rows)
    return met


def changed_table(world: World) -> str:
    """What comes first for the facts that changed: the present value, the outdated one beside which the newer is named,
    the outdated one alone."""
    lines = ["| a change that was told | n | tended | left alone |", "|---|---|---|---|"]
    tended, left_alone = (first_hits(store, world.changes, RECALLED) for store in (world.tended, world.left_alone))
    lines += [f"| {way} | {tended[way].asked} | {tended[way]} | {left_alone[way]} |" for way in WAYS]
    real, false = (world.settled.get(each, 0) for each in (True, False))
    return "\n".join(lines) + f"\n\nConflicts that waited for review: {real} changes, {false} others."


def checkpoint(world: World, day: int, asked: Sequence[Told]) -> None:
    found, now = Answered.of(world.asked(asked).values()), fates(world)
    print(f"| {day} | {counted(world, now)} | {percent(found.tended, found.asked)} | "
          f"{percent(found.left_alone, found.asked)} | {1000 * sum(world.seconds) / len(world.seconds):.0f} |",
          flush=True)  # fmt: skip


def questions(world: World) -> list[Told]:
    return [told for told in world.told.values() if told.kind in LASTING]


def sampled(asked: Sequence[Told]) -> Sequence[Told]:
    return asked if len(asked) <= SAMPLED else Random(len(asked)).sample(asked, SAMPLED)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f}"


if __name__ == "__main__":
    main()
