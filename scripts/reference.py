"""Writes the generated pages of docs/reference: REST, MCP tools, errors, settings, Python API. See `make docs`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ForwardRef

import nacre
from nacre import errors
from nacre.errors import NacreError
from nacre.hooks.client import LIMIT_SECONDS, LIMIT_VARIABLE
from nacre.mcp.profiles import profile_named
from nacre.mcp.server import costs
from nacre.model.validate import Fields
from nacre.recall_options import RecallOptions, Scope
from nacre.rest.endpoints import descriptions as parameter_descriptions
from nacre.rest.problems import status_of
from nacre.server.api import all_endpoints
from nacre.settings import ENVIRONMENT, Settings, descriptions

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
WRITTEN = "Written by `make docs` from the code itself; change the code, not this page.\n"
PROFILES: Mapping[str, str] = {
    "core": "The default: eight tools that cover a day's work.",
    "full": "Everything that the Python API offers.",
    "houkai": "The tools of AI-Houkai, under their own names.",
    "mnemosyne": "The tools of Mnemosyne, under their own names.",
    "lessons": "The tools of ai-lessons, under their own names.",
}
PYTHON: Mapping[str, tuple[str, ...]] = {
    "Stores": ("nacre.MemoryStore", "nacre.AsyncMemoryStore", "nacre.client.RemoteStore"),
    "What they return": tuple(
        f"nacre.{name}"
        for name in nacre.__all__
        if name not in ("MemoryStore", "AsyncMemoryStore", "__version__") and not name.endswith("Error")
    ),
    "Lessons": ("nacre.lessons.LessonBook", "nacre.lessons.Lesson", "nacre.lessons.LessonHit", "nacre.lessons.Answer"),
    "Minds": ("nacre.minds.CognitiveMemory", "nacre.minds.HierarchicalMemory", "nacre.minds.ExperienceStore"),
}


# The keyword options that several methods take, each with one of these methods and with what is listed elsewhere.
OPTIONS: tuple[tuple[type, str, frozenset[str]], ...] = (
    (Scope, "list_recent", frozenset()),
    (RecallOptions, "recall", frozenset(Scope.__annotations__)),
    (Fields, "remember_result", frozenset()),
)
OPTIONS_OPENING = """\
`**scope`, `**options` and `**fields` in the signatures above stand for these keyword arguments; each may be left out.
An `Instant` is a number of seconds since 1970, a date or words such as "last week". Where the text says an object, give
a value of the class in the column of types.
"""


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


REST_OPENING = """\
`nacre serve` answers under `/v1`; `/v1/openapi.json` describes all of it for programs, and `/v1/docs` for people.
Send the token as `Authorization: Bearer …`. A role includes those before it: reader, writer, reviewer, admin. Errors
are `application/problem+json` with `detail` and `remedy`. A memory's `ETag` is its version; with `If-Match` a change
is refused (412) if somebody changed it meanwhile; the header `Nacre-Expect: {"ID": 3}` says the same of any memories
that a request changes. With an `Idempotency-Key` a request that is sent again is carried out once.

Parameters in bold are required. A parameter that is not in the path is in the query of a GET or DELETE, and in the
JSON body of other requests. In a query `2025` is a year and `20250501` a day; other numbers are seconds since 1970. The
parameter `arguments` has any others as one JSON object, for example an empty list. A name that no path can hold, such
as an empty one, is written there or in the body, and `-` in its place in the path.

| request | role | what it does | parameters |
|---|---|---|---|"""
ERRORS_OPENING = """\
Every error that Nacre raises on purpose is a `NacreError`, ends with what to do next, and has changed nothing, except
that `remember_many` and imports keep the parts that were complete, and so does an undo on a full disk, which the next
`undo` completes. The command line prints the sentence and returns
an exit code; REST answers with a status; Python programs catch the class, or the built-in class that it also is.

| error | is also | REST | when |
|---|---|---|---|"""
SETTINGS_OPENING = f"""\
`nacre config set NAME VALUE` writes one to your own `config.toml` and `nacre config list` says where each value comes
from: an option of the command wins over the environment (`{ENVIRONMENT}` and the name in capitals), this over the
nearest `.nacre.toml` upwards, this over your own file, and that over the default. A table `[spaces.NAME]` in a file
holds what is different in one space: a value in it wins over the environment and the files in that space; an argument
of the call (`--on-conflict`, `on_conflict=`) wins over it.

A project's `.nacre.toml` may only choose a space of that project and turn the hooks off, until you run
`nacre config trust` there.

`{LIMIT_VARIABLE}` is not a setting but a variable of the environment alone: after how many seconds a hook gives up,
{LIMIT_SECONDS:g} unless set; three times as many where no later hook could read what was said (Gemini CLI). Raise it
on a slow machine."""
TOOLS_OPENING = """\
`nacre mcp --profile NAME` chooses what an agent sees; `nacre mcp --list` shows the same with the cost of each tool.
"""


def rest() -> Iterator[str]:
    yield f"# REST\n\n{WRITTEN}\n{REST_OPENING}"
    for endpoint in all_endpoints():
        names = ", ".join(f"**{each.name}**" if each.required else each.name for each in endpoint.parameters)
        yield f"| `{endpoint.verb} {endpoint.path}` | {endpoint.role} | {cell(endpoint.about)} | {names} |"


def tools() -> Iterator[str]:
    yield f"# MCP tools\n\n{WRITTEN}\n{TOOLS_OPENING}"
    for name, about in PROFILES.items():
        profile = profile_named(name)
        tokens = sum(each.tokens for each in costs(profile))
        yield f"## {name}\n\n{about} {len(profile.tools)} tools, about {tokens:,} tokens.\n"
        for tool in profile.tools:
            yield f"### {name}: {tool.name}\n\n{' '.join(tool.about.split())} It {tool.effect}.\n"
            if tool.arguments:
                yield "| argument | what it is |\n|---|---|"
                yield "\n".join(f"| `{each}` | {cell(said)} |" for each, said in tool.arguments.items()) + "\n"


def all_errors(kind: type[NacreError] = NacreError, depth: int = 0) -> Iterator[tuple[type[NacreError], int]]:
    yield kind, depth
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from all_errors(child, depth + 1)


def meanings() -> dict[str, str]:
    """What the tree at the head of errors.py says about each."""
    found = {}
    for line in (errors.__doc__ or "").splitlines():
        name, _, meaning = line.lstrip("│├└─ ").partition(" ")
        if meaning.startswith("("):
            meaning = meaning.partition(")")[2]
        found[name] = meaning.strip()
    return found


def error_page() -> Iterator[str]:
    yield f"# Errors\n\n{WRITTEN}\n{ERRORS_OPENING}"
    said = meanings()
    for kind, depth in all_errors():
        builtin = [
            base.__name__ for base in kind.__bases__ if not issubclass(base, NacreError) and base is not Exception
        ]
        status, title = status_of(kind.__new__(kind))
        when = said.get(kind.__name__) or (inspect.getdoc(kind) if kind.__doc__ else "") or title
        yield f"| {'&emsp;' * depth}`{kind.__name__}` | {', '.join(builtin)} | {status} | {cell(when)} |"


def settings_page() -> Iterator[str]:
    yield f"# Settings\n\n{WRITTEN}\n{SETTINGS_OPENING}"
    known, usual = descriptions(), Settings()
    for group in dict.fromkeys(each.group for each in known.values()):
        yield f"\n## {group}\n\n| setting | type | default | example | what it says |\n|---|---|---|---|---|"
        for name, each in known.items():
            if each.group == group:
                kind = ", ".join(f"`{value}`" for value in each.values) or each.type
                default = value_text(getattr(usual, name))
                shown = f"`{default}`" if default else "empty"
                yield f"| `{name}` | {kind} | {shown} | `{each.example}` | {cell(each.about)} |"


def value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def python() -> Iterator[str]:
    yield f"# The Python API\n\n{WRITTEN}"
    yield "Errors have [their own page](errors.md), adapters [theirs](../guides/integrations.md).\n"
    for title, names in PYTHON.items():
        yield f"## {title}\n"
        for name in names:
            yield f"::: {name}\n    options:\n      heading_level: 3\n"
        if title == "Stores":
            yield from options_section()


def options_section() -> Iterator[str]:
    known = parameter_descriptions()
    yield f"## Options\n\n{OPTIONS_OPENING}"
    for kind, method, elsewhere in OPTIONS:
        yield f"::: {kind.__module__}.{kind.__name__}\n    options:\n      heading_level: 3\n      members: false\n"
        yield "| option | type | what it says |\n|---|---|---|"
        for name, annotation in kind.__annotations__.items():
            if name not in elsewhere:
                about = known.get(f"{method}.{name}") or known[name]
                yield f"| `{name}` | {option_type(annotation)} | {cell(about)} |"
        yield ""


def option_type(annotation: ForwardRef) -> str:
    """As it is annotated, but None, which means that it is left out."""
    kinds = annotation.__forward_arg__.split(" | ")
    return " or ".join(f"`{kind}`" for kind in kinds if kind != "None")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "rest.md": rest, "mcp-tools.md": tools, "errors.md": error_page, "settings.md": settings_page,
    "python.md": python,
}  # fmt: skip


def page(name: str) -> str:
    return "\n".join(PAGES[name]()).rstrip() + "\n"


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (FOLDER / name).write_text(page(name), "utf-8")
        print(FOLDER / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
