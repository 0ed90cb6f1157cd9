"""Makes benchmarks/PEERS.md from the figures: a table for each part, and where another memory is better than Nacre."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from peers.environments import PEERS

NACRE = "nacre"
MB = 1e-6
Figures = dict[str, Any]
# How many times better than these Nacre is to be at the largest size; agreed before the first measurement.
REQUIRED = (
    ("recall, p50", ("mem0", "chroma", "mempalace"), 5.0),
    ("remember, p50", ("mem0", "chroma", "mempalace"), 2.0),
    ("cold start", ("mem0", "chroma", "mempalace"), 8.0),
)


@dataclass(frozen=True, slots=True)
class Column:
    """`value` reads a peer's figure; `higher` says which way is better, None for a count that only explains."""

    title: str
    value: Callable[[Figures], Any]
    unit: str = ""
    higher: bool | None = True

    def of(self, figures: Figures) -> float | None:
        try:
            value = self.value(figures)
        except (KeyError, TypeError):
            return None
        return None if value is None else float(value)

    def cell(self, figures: Figures) -> str:
        return rendered(self.of(figures), self.unit)


def rendered(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "n":
        return f"{value:,.0f}"
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"
    return f"{text} {unit}".strip()


def at(*path: str, times: float = 1.0) -> Callable[[Figures], Any]:
    def read(figures: Figures) -> Any:
        value: Any = figures
        for name in path:
            value = value[name]
        return None if value is None else value * times

    return read


METRICS = tuple(Column(name, at(name)) for name in ("any@1", "any@5", "any@10", "recall@10"))
SUITES = (
    ("locomo", "LoCoMo: turns of long conversations"),
    ("beam", "BEAM: messages of long chats"),
    ("notes", "Notes: ordinary notes of three projects"),
)
TRUTH = (
    Column("newest version above every outdated one", at("newest_first"), "%"),
    Column("unanswerable questions answered with nothing", at("unanswerable_silent"), "%"),
    Column("answerable questions answered with nothing", at("answerable_silent"), "%", higher=False),
)
SPEED = (
    Column("recall, p50", at("recall", "p50_ms"), "ms", higher=False),
    Column("recall, p95", at("recall", "p95_ms"), "ms", higher=False),
    Column("remember, p50", at("remember", "p50_ms"), "ms", higher=False),
    Column("remember, p95", at("remember", "p95_ms"), "ms", higher=False),
    Column("cold start", at("cold", "seconds"), "s", higher=False),
    Column("resident memory", at("recall", "resident_bytes", times=MB), "MB", higher=False),
)
FILL = (
    Column("filling", at("texts_per_second"), "texts/s"),
    Column("on disk", at("disk_bytes", times=MB), "MB", higher=False),
    Column("load", at("load"), "", higher=None),
)
KILLS = (
    Column("kills", at("rounds"), "n", higher=None),
    Column("acknowledged writes", at("acknowledged"), "n", higher=None),
    Column("lost in kills", at("lost"), "n", higher=False),
)
WRITERS = (
    Column("writes tried", at("tried"), "n", higher=None),
    Column("errors with two writers", at("errors"), "n", higher=False),
    Column("acknowledged", at("acknowledged"), "n", higher=None),
    Column("lost with two writers", at("lost"), "n", higher=False),
)
DUPLICATES = "What is neither an error nor acknowledged was taken as a duplicate of another text."
NETWORK = (Column("attempts to connect to another machine", at("attempts"), "n", higher=False),)
INSTALLED = (
    Column("packages", at("installed", "packages"), "n", higher=False),
    Column("installed size", at("installed", "bytes", times=MB), "MB", higher=False),
)


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    figures: dict[str, Figures]
    columns: Sequence[Column]
    text: str = ""

    def lines(self) -> Iterator[str]:
        yield f"### {self.title}"
        yield ""
        if self.text:
            yield self.text
            yield ""
        yield "| | " + " | ".join(column.title for column in self.columns) + " |"
        yield "|---|" + "---:|" * len(self.columns)
        for name in PEERS:
            if name in self.figures:
                yield f"| {PEERS[name].title} | " + " | ".join(c.cell(self.figures[name]) for c in self.columns) + " |"
        yield ""
        for name, each in self.figures.items():
            for kind in ("failed", "error", "first_error"):
                if kind in each:
                    yield f"- {PEERS[name].title}: {one_line(each[kind])}"
        yield ""

    def better_than_nacre(self) -> Iterator[str]:
        own = self.figures.get(NACRE, {})
        for column in self.columns:
            mine = column.of(own)
            if column.higher is None or mine is None:
                continue
            ahead = [name for name, each in self.figures.items() if beats(column, column.of(each), mine)]
            if ahead:
                others = ", ".join(f"{PEERS[name].title} {column.cell(self.figures[name])}" for name in ahead)
                yield f"- {self.title}, {column.title}: {others}; Nacre {column.cell(own)}."


def beats(column: Column, value: float | None, mine: float) -> bool:
    return value is not None and (value > mine if column.higher else value < mine)


def one_line(message: object) -> str:
    return " ".join(str(message).split())[:160]


def tables(content: dict[str, Any]) -> list[Table]:
    parts: dict[str, Any] = content["parts"]

    def of(part: str) -> dict[str, Figures]:
        return {name: each or {} for name, each in parts.get(part, {}).get("figures", {}).items()}

    def sizes(kind: str) -> list[str]:
        return sorted((part for part in parts if part.startswith(kind)), key=size_in)

    every = [
        *(Table(title, of(part), METRICS, asked_text(of(part))) for part, title in SUITES),
        Table("Changed facts and silence", of("notes"), TRUTH, truth_text(of("notes"))),
        *(Table(f"{size_in(part):,} memories", of(part), SPEED) for part in sizes("speed")),
        *(Table(f"Filling a store with {size_in(part):,} memories", of(part), FILL) for part in sizes("fill")),
        Table("Kills (SIGKILL) during writes", of("kills"), KILLS),
        Table("Two processes write to one store", of("two writers"), WRITERS, DUPLICATES),
        Table("Network", of("network"), NETWORK, "With each memory's own setting for usage reports."),
        Table("Installation", content["peers"], INSTALLED, "With the weights of the model that it needs."),
    ]
    return [table for table in every if table.figures]


def asked_text(figures: dict[str, Figures]) -> str:
    counted = next((each for each in figures.values() if "n" in each), {})
    source = f" about {counted['conversations']} conversations" if "conversations" in counted else ""
    return f"{counted.get('n', 0):,} questions{source}; per cent."


def truth_text(figures: dict[str, Figures]) -> str:
    counted = next((each for each in figures.values() if "changed_n" in each), {})
    return (
        f"{counted.get('changed_n', 0)} questions about facts that changed, asked without settling anything;"
        f" {counted.get('unanswerable_n', 0)} questions that no note answers."
    )


def size_in(part: str) -> int:
    last = part.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0


def requirements(content: dict[str, Any]) -> Iterator[str]:
    """Whether the figures that were agreed before are reached, at the largest size that was measured."""
    timed = [part for part in content["parts"] if part.startswith("speed")]
    if not timed:
        return
    figures = content["parts"][max(timed, key=size_in)]["figures"]
    columns = {column.title: column for column in SPEED}
    for title, names, times in REQUIRED:
        mine = columns[title].of(figures.get(NACRE, {}))
        for name in names:
            theirs = columns[title].of(figures.get(name, {}))
            if mine and theirs:
                verdict = "met" if theirs / mine >= times else "MISSED"
                yield f"| {title}, beside {PEERS[name].title} | {theirs / mine:.1f}x | {times:g}x | {verdict} |"


def write_report(content: dict[str, Any], target: Path | TextIO) -> None:
    text = "\n".join(report(content)).rstrip() + "\n"
    if isinstance(target, Path):
        target.write_text(text, encoding="utf-8")
    else:
        target.write(text)


def report(content: dict[str, Any]) -> Iterator[str]:
    yield "# Nacre beside other memories for agents"
    yield ""
    yield (
        "Every memory runs in an environment and a process of its own, gets the same texts and the same questions over"
        ' the same pipe, and is measured in turn. `make bench-peers` repeats it (`PEERS="--quick"` for a small part);'
        " this page is made from `benchmarks/peers/results.json`. No language model is asked anywhere: recall is"
        " measured as the share of questions for which the right turn or note is among the first hits. Times are the"
        " least of three runs, filling is one run."
    )
    yield ""
    yield f"{content.get('machine', '')}. {measured_when(content)}"
    yield ""
    yield from set_up(content["peers"])
    every = tables(content)
    yield "## Where another memory is better"
    yield ""
    lines = [line for table in every for line in table.better_than_nacre()]
    yield from lines or ["Nowhere in these figures."]
    yield ""
    met = list(requirements(content))
    if met:
        yield "## What was required"
        yield ""
        yield "| | measured | required | |"
        yield "|---|---:|---:|---|"
        yield from met
        yield ""
    yield "## Figures"
    yield ""
    for table in every:
        yield from table.lines()


def measured_when(content: dict[str, Any]) -> str:
    said = [f"{part} {each['date']}{load_text(each.get('loads', ()))}" for part, each in content["parts"].items()]
    return f"Measured: {'; '.join(said)}." if said else ""


def load_text(loads: Sequence[float]) -> str:
    return f", load {min(loads)}-{max(loads)}" if loads else ""


def set_up(peers: dict[str, Figures]) -> Iterator[str]:
    yield "## What was measured"
    yield ""
    yield "| memory | version | how it was set up |"
    yield "|---|---|---|"
    for name in PEERS:
        if name in peers:
            each = peers[name]
            versions = each.get("installed", {}).get("versions", {})
            version = ", ".join(f"{package} {number}" for package, number in sorted(versions.items()))
            how = each["changes"] if "skipped" not in each else f"Skipped: {each['skipped']}."
            yield f"| {each['title']} | {version} | {one_paragraph(how)} |"
    yield ""


def one_paragraph(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
