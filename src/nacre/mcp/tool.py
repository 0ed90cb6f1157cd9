"""JSON schemas of what a tool takes and gives, as short as they can be: an agent pays for each character."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from nacre.errors import InvalidInput
from nacre.model.memory import Json, Memory

if TYPE_CHECKING:
    from nacre.lessons.book import LessonBook
    from nacre.memory_store import MemoryStore
    from nacre.model import Conflict
    from nacre.protocols import LanguageModel, Progress

Schema: TypeAlias = dict[str, Json]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
RECORD: Schema = {"type": "object"}
BASIC_TYPES: Mapping[object, Schema] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    Any: ANYTHING,
    dict: RECORD,
}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXTS = array(TEXT)
RECORDS = array(RECORD)


def record(**properties: Schema) -> Schema:
    """Every property may be there; clients check what comes against this, so that it promises nothing more."""
    return {"type": "object", "properties": dict(properties)}


@cache
def signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)


def input_schema(function: Callable[..., object]) -> Schema:
    """What the function takes after its first parameter. A default that means "nothing said" is not told."""
    properties: Schema = {}
    required: list[Json] = []
    for parameter in list(signature(function).parameters.values())[1:]:
        told = schema_of(parameter.annotation)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default not in (None, "", ()):
            told = {**told, "default": parameter.default}
        properties[parameter.name] = told
    whole: Schema = {"type": "object", "properties": properties}
    return {**whole, "required": required} if required else whole


def schema_of(annotation: object) -> Schema:
    """None beside a type is left out: whoever does not mean it leaves the argument out."""
    if annotation in BASIC_TYPES:
        return dict(BASIC_TYPES[annotation])
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return {**schema_of(inside[0]), "description": inside[1].description}
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (list, tuple):
        return array(schema_of(inside[0]))
    if origin is dict:
        return dict(RECORD)
    if origin in (Union, UnionType):
        (meant,) = [each for each in inside if each is not NoneType]
        return schema_of(meant)
    raise TypeError(f"no schema is known for {annotation!r}")


Effect: TypeAlias = Literal["reads", "writes", "removes"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose text reads better than its JSON."""

    data: Mapping[str, Json]
    text: str


ToolResult: TypeAlias = "Mapping[str, Json] | list[Json] | Answer"


@dataclass(frozen=True, slots=True)
class Tool:
    """`run` takes a session and then the arguments; its signature is the schema. `about` is all that a model reads.
    What it `returns` is a schema too; a list is handed over under `result`, as the protocol asks for objects."""

    name: str
    run: Callable[..., ToolResult]
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


SHORTEST_ID = 6  # characters


@dataclass(frozen=True, slots=True)
class ToolSession:
    """`model` is the client's own, where it lends it."""

    store: MemoryStore
    progress: Progress
    model: LanguageModel | None = None

    def id(self, prefix: str) -> str:
        """An agent may name a memory by the first characters of its id, as it was shown; a guess is no name."""
        found = self.store.resolve_id(prefix)
        if found != prefix and len(prefix) < SHORTEST_ID:
            raise InvalidInput(f"{prefix!r} is too short to name a memory; give the first 8 characters of its id.")
        return found

    def clean(self, conflict: Conflict) -> Conflict:
        """Without secrets that were kept before there was a guard; what a recall gives is clean already."""
        return replace(conflict, a=self.store.shown(conflict.a), b=self.store.shown(conflict.b))

    def clean_text(self, text: str) -> str:
        return self.store.shown(Memory(id="", text=text)).text

    def lessons(self) -> LessonBook:
        from nacre.lessons.book import LessonBook

        return LessonBook(store=self.store)
