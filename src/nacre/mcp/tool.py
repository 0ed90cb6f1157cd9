"""A tool as a profile lists it: a name, a function over a visit, what to tell a model of it, what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nacre.mcp.schema import Schema
from nacre.model.memory import Json

Effect: TypeAlias = Literal["reads", "writes", "removes"]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer whose text reads better than its JSON."""

    data: Mapping[str, Json]
    text: str


Given: TypeAlias = "Mapping[str, Json] | list[Json] | Told"


@dataclass(frozen=True, slots=True)
class Tool:
    """`run` takes a visit and then the arguments; its signature is the schema. `about` is all that a model reads.
    What it `returns` is a schema too; a list is handed over under `result`, as the protocol asks for objects."""

    name: str
    run: Callable[..., Given]
    about: str
    returns: Schema
    effect: Effect = "reads"


@dataclass(frozen=True, slots=True)
class Profile:
    """`refusing` says how an error looks to the agent, for a profile whose reference answered with one in a shape of
    its own; by default it is the sentence alone."""

    name: str
    tools: tuple[Tool, ...]
    instructions: str
    refusing: Callable[[str], Mapping[str, Json]] | None = None
