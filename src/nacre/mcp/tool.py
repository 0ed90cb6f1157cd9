"""JSON schemas of what a tool takes and gives, as short as they can be: an agent pays for each character."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from nacre.model.memory import Json

Schema: TypeAlias = dict[str, Json]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
TRUTH: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
RECORD: Schema = {"type": "object"}
PLAIN: Mapping[object, Schema] = {str: TEXT, int: WHOLE, float: NUMBER, bool: TRUTH, Any: ANYTHING, dict: RECORD}


def several(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXTS = several(TEXT)
RECORDS = several(RECORD)


def record(**properties: Schema) -> Schema:
    """Every property may be there; clients check what comes against this, so that it promises nothing more."""
    return {"type": "object", "properties": dict(properties)}


@cache
def signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)


def taken(function: Callable[..., object]) -> Schema:
    """What the function takes after its first parameter. A default that means "nothing said" is not told."""
    properties: Schema = {}
    required: list[Json] = []
    for parameter in list(signature(function).parameters.values())[1:]:
        told = of(parameter.annotation)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default not in (None, "", ()):
            told = {**told, "default": parameter.default}
        properties[parameter.name] = told
    whole: Schema = {"type": "object", "properties": properties}
    return {**whole, "required": required} if required else whole


def of(annotation: object) -> Schema:
    """None beside a type is left out: whoever does not mean it leaves the argument out."""
    if annotation in PLAIN:
        return dict(PLAIN[annotation])
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return {**of(inside[0]), "description": inside[1].description}
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (list, tuple):
        return several(of(inside[0]))
    if origin is dict:
        return dict(RECORD)
    if origin in (Union, UnionType):
        (meant,) = [each for each in inside if each is not NoneType]
        return of(meant)
    raise TypeError(f"no schema is known for {annotation!r}")


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
