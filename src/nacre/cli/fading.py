"""How memories fade, as the commands about it share it: options, the engine they mean, columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nacre.cli.options import Number, combine
from nacre.cli.ui.columns import ROOMY, headline, short
from nacre.cli.ui.output import Column
from nacre.cli.ui.records import memory_record
from nacre.cli.ui.times import age
from nacre.errors import UnknownName
from nacre.lifecycle.decay import MODELS
from nacre.lifecycle.jobs import listed
from nacre.model import Memory
from nacre.model.instants import iso

if TYPE_CHECKING:
    from nacre.lifecycle.decay import DecayEngine
    from nacre.memory_store import MemoryStore
    from nacre.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
Scored = tuple[Memory, float]


def model_options(command: F) -> F:
    return combine(
        click.option(
            "--model",
            type=click.Choice(list(MODELS)),
            help="simple: importance and time; strength: also uses, validation and ties. The setting decay_model.",
        ),
        click.option(
            "--decay-rate",
            type=Number(min=0),
            metavar="RATE",
            help="How fast; in the simple model 0.1 halves in 7 days. The setting decay_rate.",
        ),
    )(command)


def min_score_option(command: F) -> F:
    help = "What scores less is let go. The setting decay_min_score."
    return click.option("--min-score", type=Number(0, 1), metavar="0-1", help=help)(command)


def protect_option(command: F) -> F:
    help = "Never of this type; repeat for others, '' for none. The setting decay_protect."
    return click.option("--protect-type", "protected", metavar="TYPE", multiple=True, help=help)(command)


def engine_of(
    store: MemoryStore,
    settings: Settings,
    model: str | None,
    decay_rate: float | None,
    min_score: float | None = None,
    protected: tuple[str, ...] = (),
) -> DecayEngine:
    """What is not given, the settings say."""
    from nacre.lifecycle.decay import DecayEngine

    return DecayEngine(
        store,
        settings.decay_rate if decay_rate is None else decay_rate,
        settings.decay_min_score if min_score is None else min_score,
        protected_types(store, settings, protected),
        model or settings.decay_model,
    )


def protected_types(store: MemoryStore, settings: Settings, given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        return listed(settings.decay_protect)
    return known_types(store, tuple(name for name in given if name))


def known_types(store: MemoryStore, given: tuple[str, ...]) -> tuple[str, ...]:
    known = store.types()
    for name in given:
        if name not in known:
            raise UnknownName("memory type", name, known)
    return given


def score_columns(now: float) -> list[Column[Scored]]:
    return [
        Column("id", lambda each: each[0].id, lambda each: short(each[0].id), style="cyan"),
        Column("score", lambda each: f"{each[1]:.4f}", lambda each: f"{each[1]:.3f}", right=True),
        Column("type", lambda each: each[0].type, lambda each: each[0].type, style="magenta", least_width=ROOMY),
        Column("imp", lambda each: f"{each[0].importance:g}", lambda each: f"{each[0].importance:.2f}", right=True),
        Column("last used", lambda each: iso(each[0].last_accessed), lambda each: age(each[0].last_accessed, now)),
        Column("uses", uses, uses, right=True, least_width=ROOMY),
        Column("text", lambda each: each[0].text, lambda each: headline(each[0]), wide=True),
    ]


def uses(each: Scored) -> str:
    return str(each[0].access_count)


def score_record(each: Scored) -> dict[str, object]:
    memory, score = each
    return {**memory_record(memory), "score": round(score, 6)}
