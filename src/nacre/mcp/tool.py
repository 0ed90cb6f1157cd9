"""Tools and profiles: what a tool takes and returns, and the session that it runs in.

Schemas are as short as possible: an agent pays for each character.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin

from nacre.errors import InvalidInput
from nacre.model import Conflict
from nacre.model.memory import Json, Memory

if TYPE_CHECKING:
    from nacre.lessons.book import LessonBook
    from nacre.memory_store import MemoryStore
    from nacre.protocols import LanguageModel, Progress

Schema: TypeAlias = dict[str, Json]

BASIC_TYPES: Mapping[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    Any: {},
}
# The names that files of profiles have for types.
NAMED_TYPES: Mapping[str, object] = {
    "text": str, "integer": int, "number": float, "boolean": bool, "anything": Any, "record": dict,
    "texts": list[str], "records": list[dict],  # type: ignore[type-arg]
}  # fmt: skip


def record(**properties: Schema) -> Schema:
    """No property is required: clients check results against the schema."""
    return {"type": "object", "properties": dict(properties)}


@cache
def signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)


def input_schema(function: Callable[..., object], descriptions: Mapping[str, str]) -> Schema:
    """The parameters of the function after the first one. Empty defaults are left out."""
    properties: Schema = {}
    required: list[Json] = []
    for parameter in list(signature(function).parameters.values())[1:]:
        schema = schema_of(parameter.annotation)
        if parameter.name in descriptions:
            schema["description"] = descriptions[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default not in (None, "", ()):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    result: Schema = {"type": "object", "properties": properties}
    return {**result, "required": required} if required else result


def schema_of(annotation: object) -> Schema:
    """`None` beside a type is left out: an agent omits the argument instead."""
    if annotation in BASIC_TYPES:
        return dict(BASIC_TYPES[annotation])
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(inside[0])}
    if origin is dict:
        return schema_of(dict)
    if origin in (Union, UnionType):
        (meant,) = [each for each in inside if each is not NoneType]
        return schema_of(meant)
    raise TypeError(f"there is no schema for {annotation!r}")


# `writes` only adds; what may change or take away what is stored `removes`, though an undo brings it back.
Effect: TypeAlias = Literal["reads", "writes", "removes"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in words. `data` is for programs; it holds nothing of what memories say. `notes` are those of this
    program on the answer."""

    data: Mapping[str, Json]
    text: str
    notes: tuple[str, ...] = ()


ToolResult: TypeAlias = "Mapping[str, Json] | list[Json] | Answer"
Refusing: TypeAlias = "Callable[[str], Mapping[str, Json]]"


@dataclass(frozen=True, slots=True)
class Tool:
    """`run` takes a session and the arguments; its signature is the input schema. `about` is what a model reads, and
    `arguments` describes them. `returns` is the schema of a result that is JSON; None where it is text."""

    name: str
    run: Callable[..., ToolResult]
    about: str
    returns: Schema | None = None
    effect: Effect = "reads"
    arguments: Mapping[str, str] = field(default_factory=dict)
    idempotent: bool = False  # to repeat a call changes nothing more
    always: bool = False  # to be offered from the start, by clients that load other tools on demand


@dataclass(frozen=True, slots=True)
class Profile:
    """`refusing` makes the data of an error, for profiles whose original has its own shape; else it is the sentence."""

    name: str
    tools: tuple[Tool, ...]
    instructions: str
    refusing: Refusing | None = None

    def running(self, functions: Mapping[str, Callable[..., ToolResult]]) -> Profile:
        """The same tools; those that are named here run other functions."""
        return replace(self, tools=tuple(replace(tool, run=functions.get(tool.name, tool.run)) for tool in self.tools))


def read_profile(name: str, *functions: Callable[..., ToolResult], refusing: Refusing | None = None) -> Profile:
    """The tools as `profiles/NAME.toml` describes them, each run by the function of its name.

    Raises `KeyError` for a tool without a function.
    """
    text = (Path(__file__).parent / "profiles" / f"{name}.toml").read_text("utf-8")
    described, run = tomllib.loads(text), {function.__name__.rstrip("_"): function for function in functions}
    tools = (
        Tool(
            tool, run[tool], each["about"], output_schema(each.get("returns", described.get("returns"))),
            each.get("effect", "reads"), each.get("arguments", {}), each.get("idempotent", False),
            each.get("always", False),
        )
        for tool, each in described["tools"].items()
    )  # fmt: skip
    return Profile(name, tuple(tools), described.get("instructions", ""), refusing)


# What a person does at the command line, and the tools that do the same; the first that a profile has is named.
TOOLS_FOR: Mapping[str, tuple[str, str]] = {
    "list": ("`{}` shows ids", "recall search_memories"),
    "review": ("`{}` lists what waits", "review find_conflicts"),
    "journal": ("`{}` lists what was done", "history journal_tail"),
    "restore": ("`{}` can bring it back", "restore history"),
}
ASK_THE_USER = "tell the user, because no tool can do this"
# As in "undo the later operations first, or with this one (`--cascade`)"; new vectors come without being asked for.
REMARK = re.compile(r",? or [^,;.(]*\(`(?:--|nacre )[^`]*`\)| \(`nacre store reindex`[^)]*\)")
CLAUSE = re.compile(r"(?<=[.;]) ")
# As in "`nacre list` shows the ids" and "`--space` chooses another space".
SHELL = re.compile(r"`(?:nacre|pip)\b(?: (\w+))?|(?<![\w-])--\w")


def without_commands(profile: Profile, sentence: str) -> str:
    """For a model, which has tools and no shell: a remedy at the command line becomes the tool to call next."""
    clauses = CLAUSE.split(REMARK.sub("", sentence))
    return " ".join(dict.fromkeys(for_model(profile, clause) for clause in clauses))


def for_model(profile: Profile, clause: str) -> str:
    command = SHELL.search(clause)
    if command is None:
        return clause
    remedy, names = TOOLS_FOR.get(command[1] or "", ("", ""))
    tool = next((name for name in names.split() if name in {each.name for each in profile.tools}), None)
    text = ASK_THE_USER if tool is None else remedy.format(tool)
    first = text if clause[0].islower() or clause[0] == "`" else text[0].upper() + text[1:]
    return first + clause[-1]


def output_schema(described: str | Mapping[str, str] | None) -> Schema | None:
    """Of what is described as one of the `NAMED_TYPES`, or as a record by the type of each property."""
    if described is None:
        return None
    if isinstance(described, str):
        return schema_of(NAMED_TYPES[described])
    return record(**{name: schema_of(NAMED_TYPES[kind]) for name, kind in described.items()})


SHORTEST_ID = 6  # characters


@dataclass(frozen=True, slots=True)
class ToolSession:
    """One call of a client. `model` is the client's language model, where it offers one."""

    store: MemoryStore
    progress: Progress
    model: LanguageModel | None = None

    @property
    def own(self) -> MemoryStore:
        """Without the space beside its own: for maintenance and archives."""
        return self.store.in_space(self.store.space)

    def id(self, prefix: str) -> str:
        """The full id for one that may be shortened. Raises `InvalidInput` for a prefix that is too short."""
        full_id = self.store.resolve_id(prefix)
        if full_id != prefix and len(prefix) < SHORTEST_ID:
            raise InvalidInput(f"{prefix!r} is too short for an id; give at least its first {SHORTEST_ID} characters.")
        return full_id

    def ids(self, prefixes: Sequence[str]) -> list[str]:
        """As `id`, for each. Raises `InvalidInput` where there is none."""
        if not prefixes:
            raise InvalidInput("No memory is named; give the ids as `recall` shows them.")
        return [self.id(prefix) for prefix in prefixes]

    def clean(self, conflict: Conflict) -> Conflict:
        """Without secrets that were stored before there was a guard; the results of a recall are clean already."""
        return conflict.cleaned(self.store.clean)

    def clean_all(self, memories: Iterable[Memory]) -> list[Memory]:
        return [self.store.clean(each) for each in memories]

    def clean_text(self, text: str) -> str:
        return self.store.clean(Memory(id="", text=text)).text

    def lessons(self) -> LessonBook:
        from nacre.lessons.book import LessonBook

        return LessonBook(store=self.own)
