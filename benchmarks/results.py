"""Both sides' figures side by side, with the ratio and what it must be, as a table for people."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

Unit = Literal["ms", "texts/s", "MB"]
SCALES: dict[Unit, float] = {"ms": 1e3, "texts/s": 1.0, "MB": 1e-6}
MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "ARM, 64 bits", "arm64": "ARM, 64 bits"}
PACKAGES = ("nacre", "onnxruntime", "chromadb", "sentence-transformers", "torch")


@dataclass(frozen=True, slots=True)
class Row:
    """`required` is how many times better Nacre must be; `chroma` is None where there is nothing to compare."""

    what: str
    size: int | None
    unit: Unit
    nacre: float
    chroma: float | None = None
    required: float | None = None

    @property
    def ratio(self) -> float | None:
        if self.chroma is None:
            return None
        return self.nacre / self.chroma if self.unit == "texts/s" else self.chroma / self.nacre

    @property
    def verdict(self) -> str:
        if self.ratio is None or self.required is None:
            return ""
        return "met" if self.ratio >= self.required else "MISSED"

    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            "" if self.size is None else f"{self.size:,}",
            shown(self.nacre, self.unit),
            shown(self.chroma, self.unit),
            "" if self.ratio is None else f"{self.ratio:.1f}x",
            "" if self.required is None else f"{self.required:g}x",
            self.verdict,
        )


HEAD = ("", "memories", "Nacre", "Chroma", "ratio", "required", "")


def shown(value: float | None, unit: Unit) -> str:
    if value is None:
        return ""
    scaled = value * SCALES[unit]
    return f"{scaled:,.0f} {unit}" if scaled >= 100 else f"{scaled:,.1f} {unit}"


def table(rows: Sequence[Row]) -> str:
    """Markdown, aligned so that it reads as well in a terminal."""
    whole = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in whole) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in whole
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kind = MACHINES.get(platform.machine().lower(), platform.machine())
    return f"{cores} cores, {kind}, {platform.system()}, Python {platform.python_version()}"


def packages() -> str:
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def write(file: Path, rows: Sequence[Row], *, date: str, repeats: int, load: float) -> None:
    file.write_text(
        "# Nacre against a memory over Chroma\n\n"
        f"Measured on {date}: {machine()}; {packages()}; load before the start {load:.1f}.\n\n"
        "The reference side does what AI-Houkai does: one Chroma collection with cosine distance, all-MiniLM-L6-v2"
        " under sentence-transformers, and a touch of each recalled memory. Nacre has its shipped models, and by"
        " default reads the best hits together with the question, for which the other side has nothing. Both sides do"
        " the same work on the same texts,"
        f" each in processes of its own, in turns; each figure is the best of {repeats} runs, because a shared machine"
        " only ever adds time. Single acts are medians within a run. The ratio says how many times better Nacre is."
        " `make bench` measures again.\n\n" + table(rows) + "\n",
        encoding="utf-8",
    )
