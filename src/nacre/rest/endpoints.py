"""The table of the REST API: path, HTTP method, the method of `MemoryStore` that it calls, and the role it needs.

Parameters come from the signature of that method; `parameters.txt` says what each means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter as Argument
from inspect import signature
from types import GenericAlias
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from nacre.access.capabilities import Role
from nacre.files import data_sections
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.validate import NewMemory, hints_of

READER, WRITER, REVIEWER, ADMIN = Role
VERSION = "/v1"
SPACE = f"{VERSION}/spaces/{{space}}"
MEMORY = f"{SPACE}/memories/{{id}}"
PATH_NAME = re.compile(r"{(\w+)}")
# Functions of the caller's own program, which cannot be sent.
LOCAL_ONLY = ("contradiction_fn", "progress", "token_counter")
Place = Literal["path", "query", "body"]
# In the query: any parameters as one JSON object, read as those of a body are. Text of digits, an empty list and null
# cannot be distinguished from other values otherwise.
ARGUMENTS = "arguments"
# In the place of a name in a path which no path can hold; the body or the arguments have it.
ELSEWHERE = "-"
# What one request may ask for. A client asks for more in pages, and for many ids in parts.
MOST_LISTED = 1_000  # memories of a page, hits, entries: more would be a long answer that few read
MOST_TURNS = 100  # around each hit, before and after it
MOST_OVERFETCH = 100  # times k
MOST: Mapping[str, int] = {
    **dict.fromkeys(("limit", "k", "max_items", "last"), MOST_LISTED),
    "with_context": MOST_TURNS, "overfetch": MOST_OVERFETCH,
}  # fmt: skip
MANY_IDS = ("get_many", "vectors")  # whose answers grow with the ids; other lists of ids are one operation
EXPECT = "nacre-expect"  # the header with the versions of memories that a write expects, by their ids, as JSON


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    place: Place
    hint: Any
    required: bool
    default: object
    about: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`method` is that of `MemoryStore`, or of another `owner`. `of_one` calls a method of several ids with the one in
    the path; of an `upload` the body is a file, and of a `download` the answer; one that `restores` returns the copy to
    be put in the store's place. `operation` is its name where that of the method does not say what a request does."""

    verb: str
    path: str
    method: str
    role: Role
    about: str
    of_one: bool = False
    status: int = 200
    owner: type = MemoryStore
    upload: bool = False
    download: bool = False
    restores: bool = False
    operation: str = ""

    @property
    def name(self) -> str:
        """Names it in the description of the API and in the metrics."""
        return self.operation or (f"{self.method}_one" if self.of_one else self.method)

    @property
    def in_space(self) -> bool:
        return "{space}" in self.path

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(name for name in PATH_NAME.findall(self.path) if name != "space")

    @property
    def reads(self) -> bool:
        return self.role is READER

    @property
    def returns(self) -> Any:
        return RETURNED.get(self.method) or hints_of(plain_method(self.method, self.owner))["return"]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return parameters_of(self)


def one_and_several(name: str, role: Role, about: str) -> Iterator[Endpoint]:
    verb, path = ("DELETE", MEMORY) if name == "forget" else ("POST", f"{MEMORY}/{name}")
    yield Endpoint(verb, path, name, role, f"{about}: one memory.", of_one=True)
    yield Endpoint("POST", f"{SPACE}/memories/{name}", name, role, f"{about}: several memories, in one operation.")


def table() -> tuple[Endpoint, ...]:
    """Of paths that fit both, the first counts: fixed words come before ids."""
    spaces, memories, entities = f"{VERSION}/spaces", f"{SPACE}/memories", f"{SPACE}/entities"
    return (
        # Memories
        Endpoint("POST", memories, "remember_result", WRITER, "Store a text.", status=201),
        Endpoint("POST", f"{memories}/batch", "remember_many", WRITER, "Store many texts at once.", status=201),
        Endpoint("POST", f"{memories}/draft", "draft", WRITER, "A memory as it would be stored; nothing is written."),
        Endpoint("POST", f"{memories}/read", "get_many", READER, "Memories by their ids."),
        Endpoint("POST", f"{memories}/vectors", "vectors", READER, "The stored vectors of memories."),
        Endpoint("GET", memories, "list_recent", READER, "List memories, page by page."),
        *one_and_several("forget", WRITER, "Move to the trash"),
        *one_and_several("restore", WRITER, "Reverse a forget or a supersede"),
        *one_and_several("purge", ADMIN, "Delete for good, from the journal too"),
        *one_and_several("redact", ADMIN, "Delete the content for good, and leave a mark"),
        *one_and_several("pin", WRITER, "Protect from decay"),
        *one_and_several("unpin", WRITER, "Let decay again"),
        *one_and_several("archive", WRITER, "Hide without losing"),
        *one_and_several("unarchive", WRITER, "Take out of the archive"),
        *one_and_several("tag", WRITER, "Add and remove tags"),
        *one_and_several("bump", WRITER, "Change the importance"),
        *one_and_several("move", ADMIN, "Move to another space"),
        Endpoint("POST", f"{memories}/touch", "touch", READER, "Count a use of memories."),
        Endpoint("GET", f"{memories}/resolve/{{prefix}}", "resolve_id", READER, "The only id that begins so."),
        Endpoint("GET", MEMORY, "get", READER, "One memory."),
        Endpoint("PATCH", MEMORY, "edit", WRITER, "Change a memory."),
        Endpoint("POST", f"{MEMORY}/edit", "edit_result", WRITER, "Change a memory, and say what that did."),
        Endpoint("POST", f"{MEMORY}/validate", "validate", WRITER, "Confirm that it still holds."),
        Endpoint("POST", f"{memories}/{{old}}/supersede", "supersede", WRITER, "Replace a memory by a newer one."),
        Endpoint("POST", f"{memories}/{{keep}}/merge", "merge", REVIEWER, "Merge others into a memory."),
        Endpoint("GET", f"{MEMORY}/history", "history", READER, "Every version of what a memory says."),
        Endpoint("GET", f"{MEMORY}/neighbors", "neighbors", READER, "What a memory is linked to."),
        Endpoint(
            "GET", f"{memories}/{{memory_id}}/conflicts", "find_conflicts", READER, "What a memory conflicts with.",
        ),
        # Recalling and counting
        Endpoint("POST", f"{SPACE}/recall", "recall", READER, "The memories that answer best, with reasons."),
        Endpoint("POST", f"{SPACE}/pack", "recall_pack", READER, "The best memories within a token budget."),
        Endpoint("GET", f"{SPACE}/count", "count", READER, "How many memories there are."),
        Endpoint("GET", f"{SPACE}/tally/{{field}}", "tally", READER, "How many memories have each value of a field."),
        Endpoint("GET", f"{SPACE}/stats", "stats", READER, "What the space holds, counted."),
        Endpoint("GET", f"{SPACE}/timeline", "timeline", READER, "Created, changed and forgotten, by time."),
        # Links
        Endpoint("GET", f"{SPACE}/links/weak", "weak_links", READER, "Links that pruning would remove."),
        Endpoint("POST", f"{SPACE}/links/prune", "prune_links", WRITER, "Remove links that were planned to go."),
        Endpoint("GET", f"{SPACE}/links", "edges", READER, "The links from or to memories."),
        Endpoint("POST", f"{SPACE}/links", "link", WRITER, "Link one memory to another.", status=201),
        Endpoint("DELETE", f"{SPACE}/links", "unlink", WRITER, "Remove links between two memories."),
        Endpoint("POST", f"{SPACE}/graph", "subgraph", READER, "Memories, those near them, and all their links."),
        Endpoint("GET", f"{SPACE}/path", "path", READER, "A shortest way along links."),
        # History and undo
        Endpoint("GET", f"{SPACE}/diff", "diff", READER, "What changed between two times."),
        Endpoint("GET", f"{SPACE}/journal", "journal", READER, "What was done, when and by whom."),
        Endpoint("GET", f"{SPACE}/changes", "changes", READER, "Journal entries after a number; can wait or stream."),
        Endpoint("GET", f"{SPACE}/operations", "operations", READER, "The operations, newest first."),
        Endpoint("GET", f"{SPACE}/operations/resolve/{{prefix}}", "resolve_operation", READER, "A full operation id."),
        Endpoint("GET", f"{SPACE}/operations/{{batch}}", "operation", READER, "Can it be undone, and what blocks it?"),
        Endpoint("POST", f"{SPACE}/operations/{{batch}}/undo", "undo", WRITER, "Undo an operation.", of_one=True),
        Endpoint("POST", f"{SPACE}/undo", "undo", WRITER, "Undo the last operations."),
        Endpoint("POST", f"{SPACE}/journal/compact", "compact", ADMIN, "Drop old journal entries for good."),
        # Conflicts and review
        Endpoint("POST", f"{SPACE}/conflicts/find", "find_conflicts", READER, "Look for conflicts in the space."),
        Endpoint("POST", f"{SPACE}/conflicts", "note_conflicts", WRITER, "Put conflicts into the review queue."),
        Endpoint("GET", f"{SPACE}/review", "review", READER, "What waits for a decision."),
        Endpoint("POST", f"{SPACE}/review/{{item}}/decide", "decide", REVIEWER, "Decide on a review item."),
        # Entities and vocabulary
        Endpoint("GET", f"{entities}/suggestions", "entity_suggestions", READER, "Names that may be one."),
        Endpoint("POST", f"{entities}/merge", "merge_entities", REVIEWER, "Make names aliases of one."),
        Endpoint("DELETE", f"{entities}/aliases/{{name}}", "unalias", REVIEWER, "Let an alias be a name of its own."),
        Endpoint("GET", f"{entities}/{{name}}/memories", "memories_about", READER, "Memories that mention an entity."),
        Endpoint("GET", f"{entities}/{{name}}/resolve", "resolve_entity", READER, "The usual name of an entity."),
        Endpoint("GET", entities, "entities", READER, "Who and what memories mention."),
        Endpoint("GET", f"{SPACE}/types", "types", READER, "The types of memories."),
        Endpoint("POST", f"{SPACE}/types", "register_type", ADMIN, "Add a type, in all spaces."),
        Endpoint("GET", f"{SPACE}/relations", "relations", READER, "The relations that links can have."),
        Endpoint("POST", f"{SPACE}/relations", "register_relation", ADMIN, "Add a relation, in all spaces."),
        Endpoint("GET", f"{SPACE}/vocabulary/{{kind}}", "vocabulary", READER, "The terms that the space was taught."),
        # Spaces and upkeep
        Endpoint("GET", spaces, "space_notes", READER, "The spaces that are open to you."),
        Endpoint("POST", spaces, "create_space", ADMIN, "Create or describe a space."),
        Endpoint("GET", f"{VERSION}/counts", "spaces", READER, "How many memories each space holds."),
        Endpoint("POST", f"{SPACE}/copy", "copy_space", ADMIN, "Copy the space into another."),
        Endpoint("POST", f"{SPACE}/rename", "rename_space", ADMIN, "Rename the space."),
        Endpoint("DELETE", SPACE, "delete_space", ADMIN, "Move all of it to the trash, or delete it for good."),
        Endpoint("GET", f"{VERSION}/health", "health", READER, "The state of the store."),
        Endpoint("POST", f"{VERSION}/catch-up", "catch_up", ADMIN, "Embed what waits for the model."),
    )  # fmt: skip


RETURNED: Mapping[str, Any] = {"get": Memory | None}
# What a value is read as where the method itself takes more, by method and parameter: any mapping, or kinds of terms
# that a program has made up for itself.
READ_AS: Mapping[tuple[str, str], Any] = {
    ("remember_many", "items"): list[str | NewMemory],
    ("vocabulary", "kind"): Literal["tag", "context", "source", "entity", "reference"],
}
WAIT = Parameter("wait", "query", float, False, 0.0, "How many seconds to wait for the first entry, at most 60.")


@cache
def endpoints() -> tuple[Endpoint, ...]:
    return table()


@cache
def fixed_parts() -> frozenset[str]:
    """Words of paths. A name that is the same would lead elsewhere."""
    return frozenset(part for each in endpoints() for part in each.path.split("/") if not part.startswith("{"))


def fits_path(name: str) -> bool:
    """Whether a name can be a part of a path: proxies take out empty parts and dots."""
    return name not in ("", ".", "..") and name not in fixed_parts()


def plain_method(name: str, owner: type = MemoryStore) -> Any:
    """The function as it was written, without the check of its arguments."""
    method = getattr(owner, name)
    return getattr(method, "__wrapped__", method)


@cache
def descriptions() -> Mapping[str, str]:
    """What each parameter means; `method.name` where it means something else than elsewhere."""
    lines = (line for _, lines in data_sections("rest/parameters.txt") for line in lines)
    return {name.strip(): text.strip() for name, _, text in (line.partition("|") for line in lines)}


@cache
def parameters_of(endpoint: Endpoint) -> tuple[Parameter, ...]:
    method = plain_method(endpoint.method, endpoint.owner)
    hints, parameters = hints_of(method), list[Parameter]()
    for each in list(signature(method).parameters.values())[1:]:
        if each.name in LOCAL_ONLY:
            continue
        if each.kind is Argument.VAR_KEYWORD:
            parameters += [made(endpoint, name, hint, False, None) for name, hint in keyword_hints(hints[each.name])]
        elif each.kind is Argument.VAR_POSITIONAL:
            if not endpoint.of_one:
                parameters.append(made(endpoint, each.name, GenericAlias(list, hints[each.name]), True, None))
        else:
            hint = READ_AS.get((endpoint.method, each.name)) or hints.get(each.name, Any)
            parameters.append(made(endpoint, each.name, hint, each.default is Argument.empty, each.default))
    known = {each.name for each in parameters}
    parameters[:0] = [made(endpoint, name, str, True, None) for name in endpoint.path_names if name not in known]
    if endpoint.method == "undo":  # an operation is named in the path or not at all
        left_out = ("last", "any_actor") if endpoint.of_one else ("batch",)
        parameters = [each for each in parameters if each.name not in left_out]
    return (*parameters, WAIT) if endpoint.method == "changes" else tuple(parameters)


def arguments_of(endpoint: Endpoint, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The values, by the names of the API, as arguments of the method."""
    method = plain_method(endpoint.method, endpoint.owner)
    rest, shape = dict(values), list(signature(method).parameters.values())[1:]
    several = next((each.name for each in shape if each.kind is Argument.VAR_POSITIONAL), "")
    arguments: list[Any] = []
    for each in shape if several else ():
        if each.kind is Argument.POSITIONAL_OR_KEYWORD:
            arguments.append(rest.pop(each.name))
        elif each.kind is Argument.VAR_POSITIONAL:
            arguments += rest.pop(several) if several in rest else [rest.pop("id")]
    return arguments, rest


def keyword_hints(unpacked: Any) -> list[tuple[str, Any]]:
    (options,) = get_args(unpacked)
    assert is_typeddict(options)
    return list(get_type_hints(options).items())


def made(endpoint: Endpoint, name: str, hint: Any, required: bool, default: object) -> Parameter:
    place: Place = "query" if endpoint.verb in ("GET", "DELETE") or endpoint.upload else "body"
    if name in endpoint.path_names:
        place, required, hint = "path", True, (hint if get_origin(hint) is Literal else str)
    about = descriptions().get(f"{endpoint.method}.{name}") or descriptions()[name]
    empty = default is Argument.empty or default is None
    return Parameter(name, place, hint, required, None if empty else default, about)
