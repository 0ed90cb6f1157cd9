"""What became of each memory of the year, and whether what must hold does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, quantiles

import apsw

from nacre.lifecycle.decay import ACTOR as DECAY
from nacre.lifecycle.reflection import TAG
from nacre.model import Memory
from year_texts import KINDS, LASTING, PASSING, Told
from year_world import DAY, Answered, World, everything

# Condensed: a reflection stands for it. Merged: consolidation let another stand for it. Where what stands for it no
# longer says it, it is lost from sight, though not from the store.
FATES = ("live", "condensed", "merged", "lost in either", "trash", "purged")
KEPT = ("live", "merged")


@dataclass(frozen=True, slots=True)
class Undone:
    """`same` counts the memories that stood after the undo as they had before the act."""

    acts: int
    memories: int
    same: int


@dataclass(frozen=True, slots=True)
class Taken:
    fates: Mapping[str, str]
    used: Answered
    all: Answered
    undone: Undone


def fates(world: World) -> dict[str, str]:
    now = everything(world.tended)
    return {id: fate(now, told) for id, told in world.told.items()}


def fate(now: Mapping[str, Memory], told: Told) -> str:
    memory = now.get(told.id)
    if memory is None:
        return "purged"
    if memory.status == "trashed":
        return "trash"
    if not memory.superseded_by:
        return "live"
    heir = head(now, memory)
    if heir is None or heir.status == "trashed" or not told.answers(heir.text):
        return "lost in either"
    return "condensed" if TAG in heir.tags else "merged"


def head(now: Mapping[str, Memory], memory: Memory) -> Memory | None:
    heir: Memory | None = memory
    while heir is not None and heir.superseded_by:
        heir = now.get(heir.superseded_by)
    return heir


def counted(world: World, now: Mapping[str, str]) -> str:
    """Cells of the table of checkpoints."""
    found = Counter(now.values())
    junk = [id for id, told in world.told.items() if told.kind in PASSING]
    gone = sum(now[id] != "live" for id in junk)
    hidden = found["condensed"] + found["merged"] + found["lost in either"]
    cells = (len(now), found["live"], hidden, found["trash"], found["purged"])
    return " | ".join(f"{cell:,}" for cell in cells) + f" | {100 * gone / max(1, len(junk)):.1f} %"


def state_table(world: World, now: Mapping[str, str]) -> str:
    lines = ["| kind | told | " + " | ".join(FATES) + " | used | of these kept |", "|---" * (len(FATES) + 4) + "|"]
    for kind in KINDS:
        ids = [id for id, told in world.told.items() if told.kind == kind]
        found = Counter(now[id] for id in ids)
        used = [id for id in ids if id in world.used]
        cells = [len(ids), *(found[each] for each in FATES), len(used), sum(now[id] in KEPT for id in used)]
        lines.append(f"| {kind} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(lines)


def figures(world: World, taken: Taken) -> tuple[str, bool]:
    """The second table, once the stores are closed, and whether all that must hold does."""
    told, now = world.told, taken.fates
    pinned = [id for id in told if told[id].kind == "pinned"]
    procedures = [id for id in told if told[id].kind == "procedure"]
    junk = [id for id in told if told[id].kind in PASSING]
    condensed = [id for id in world.used if now[id] == "condensed"]
    used = [id for id in world.used if now[id] != "condensed"]
    rows = [
        all_of("pinned and live", pinned, now, ("live",)),
        all_of("procedures and kept", procedures, now),
        all_of("used and kept", used, now),
        ("used episodes that a reflection holds", f"{len(condensed):,}", None),
        unused(world, now),
        ("junk gone", share(sum(now[id] != "live" for id in junk), len(junk)), None),
        ("junk purged for good", share(sum(now[id] == "purged" for id in junk), len(junk)), None),
        compared("any@5 of the questions as they were asked, day by day", world.answered),
        compared("any@5 at the end, what was used", taken.used),
        compared("any@5 at the end, everything that lasts", taken.all),
        ("decay acts within the grace, undone in a copy", f"{taken.undone.acts:,}", None),
        ("memories that stood as before after it", share(taken.undone.same, taken.undone.memories),
         taken.undone.same == taken.undone.memories),
        *costs(world),
    ]  # fmt: skip
    lines = ["| | figure | |", "|---|---|---|"]
    lines += [f"| {what} | {figure} | {verdict(holds)} |" for what, figure, holds in rows]
    return "\n".join(lines), all(holds is not False for _, _, holds in rows)


Row = tuple[str, str, bool | None]


def all_of(what: str, ids: list[str], now: Mapping[str, str], good: Sequence[str] = KEPT) -> Row:
    kept = sum(now[id] in good for id in ids)
    other = Counter(now[id] for id in ids if now[id] != "live")
    others = "".join(f", {count:,} {fate}" for fate, count in other.items())
    return what, f"{kept:,} of {len(ids):,}{others}", kept == len(ids)


def unused(world: World, now: Mapping[str, str]) -> Row:
    ids = [id for id, told in world.told.items() if told.kind in LASTING and id not in world.used]
    what, figure, _ = all_of("lasting, never used, and kept", ids, now)
    return what, figure, None


def compared(what: str, found: Answered) -> Row:
    tended, left_alone = (f"{100 * part / max(1, found.asked):.1f}" for part in (found.tended, found.left_alone))
    figure = f"{tended} tended, {left_alone} left alone, n = {found.asked:,}"
    return what, figure, found.tended >= found.left_alone


def costs(world: World) -> list[Row]:
    files = [f"{file.stat().st_size / 1e6:.1f} MB" for file in world.files]
    inside = [f"{in_use(file) / 1e6:.1f} MB" for file in world.files]
    taken = [1000 * each for each in world.seconds]
    p95 = quantiles(taken, n=20)[18]
    jobs = ", ".join(f"{name} {count:,}" for name, count in world.done.items() if count)
    return [
        ("on disk", f"{files[0]} tended, {files[1]} left alone", None),
        ("of these in use, the rest is free for what comes", f"{inside[0]} tended, {inside[1]} left alone", None),
        ("maintenance a day", f"{mean(taken):.0f} ms mean, {p95:.0f} ms p95, {max(taken):.0f} ms at most", None),
        ("done by the jobs in all", jobs, None),
    ]


def in_use(file: Path) -> int:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    pages, free, size = (
        int(str(connection.pragma(name))) for name in ("page_count", "freelist_count", "page_size")
    )  # fmt: skip
    connection.close()
    return (pages - free) * size


def share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / max(1, whole):.1f} %)"


def verdict(holds: bool | None) -> str:
    return "" if holds is None else "met" if holds else "MISSED"


def undone(world: World, file: Path) -> Undone:
    """Takes back every decay act that is younger than the grace, newest first, in a copy of the store."""
    world.tended.backup(file)
    since = world.clock.now - world.settings.trash_days * DAY + 1  # what is exactly so old was purged this night
    with world.opened(file) as copy:
        entries = copy.journal(operation="decay", actor=DECAY, since=since, limit=None)
        acts = list(dict.fromkeys(entry.operation.batch for entry in entries))
        stood = {memory.id: memory for memory in copy.get_many([entry.memory_id for entry in entries])}
        before = {entry.memory_id: entry.before or {} for entry in entries}
        for act in acts:
            copy.undo(act)
        now = everything(copy)
        same = sum(now.get(id) == as_before(stood[id], before[id]) for id in stood)
        return Undone(len(acts), len(before), same)


def as_before(memory: Memory, before: Mapping[str, object]) -> Memory:
    fields = memory.to_dict() | before  # type: ignore[operator]
    return replace(Memory.from_dict(fields), trashed_from="")
