"""The API's description for programs (OpenAPI 3.1) and for people, made from the table of endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date
from functools import cache
from html import escape
from types import NoneType
from typing import Any, Literal, get_args, get_origin, is_typeddict

from nacre import __version__
from nacre.model import Listing
from nacre.model.filter import Filter
from nacre.model.validate import alternatives
from nacre.rest.endpoints import ARGUMENTS, PATH_NAME, Endpoint, Parameter
from nacre.rest.problems import CONTENT_TYPE
from nacre.rest.wire import COMPUTED, field_hints, field_names, is_object, to_json
from nacre.server.api import all_endpoints

OPENAPI = "/v1/openapi.json"  # the address of the description for programs
Schema = dict[str, Any]
SCALARS: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
CONDITION: Schema = {
    "type": "object",
    "required": ["field", "op", "value"],
    "properties": {"field": {"type": "string"}, "op": {"type": "string"}, "value": {}},
}
SPACE_NAME: Schema = {
    "name": "space", "in": "path", "required": True, "schema": {"type": "string"},
    "description": "The name of the space.",
}  # fmt: skip
KEY_HEADER: Schema = {
    "name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "minLength": 16, "maxLength": 200},
    "description": "A random text: the same request with the same key is carried out once, and answered alike.",
}  # fmt: skip
MATCH_HEADER: Schema = {
    "name": "If-Match", "in": "header", "schema": {"type": "string"},
    "description": "The ETag that you have read: the memory is changed only if it still has it, else 412.",
}  # fmt: skip
EXPECT_HEADER: Schema = {
    "name": "Nacre-Expect", "in": "header", "content": {"application/json": {"schema": {
        "type": "object", "additionalProperties": {"type": "integer"},
    }}},
    "description": "The versions that memories must have, by their ids, such as {\"ID\": 3}: if one has another, "
    "nothing is changed (412).",
}  # fmt: skip
IN_ONE: Schema = {
    "name": ARGUMENTS, "in": "query", "content": {"application/json": {"schema": {"type": "object"}}},
    "description": "Any of the parameters as one JSON object, such as {\"limit\": 20}, instead of one by one.",
}  # fmt: skip


class Schemas:
    """Collects the records that the API's types refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, hint: Any) -> Schema:
        kinds = alternatives(hint)
        if len(kinds) > 1:
            schemas = [self.of(kind) for kind in kinds]
            distinct = [each for at, each in enumerate(schemas) if each not in schemas[:at]]
            return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        kind, origin, inner = kinds[0], get_origin(kinds[0]) or kinds[0], get_args(kinds[0])
        if kind in SCALARS:
            return {"type": SCALARS[kind]}
        if kind is NoneType:
            return {"type": "null"}
        if origin is Literal:
            return {"enum": list(inner)}
        if kind is Filter:
            return {"type": "array", "items": CONDITION}
        if isinstance(origin, type) and issubclass(origin, date):
            return {"type": "string"}
        return self._composed(kind, origin, inner)

    def _composed(self, kind: Any, origin: Any, inner: tuple[Any, ...]) -> Schema:
        if kind is Listing or is_dataclass(origin) or hasattr(origin, "_fields") or is_typeddict(kind):
            return self._reference(origin)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1]) if len(inner) == 2 else {}}
        if isinstance(origin, type) and issubclass(origin, Iterable):
            return {"type": "array", "items": self.of(inner[0]) if inner else {}}
        return {}

    def _reference(self, cls: Any) -> Schema:
        name = cls.__name__
        if name not in self.components:
            self.components[name] = {}  # a record may refer to itself
            self.components[name] = self._record(cls)
        return {"$ref": f"#/components/schemas/{name}"}

    def _record(self, cls: Any) -> Schema:
        if cls is Listing:
            from nacre.model import Memory

            return {
                "type": "object",
                "properties": {"memories": {"type": "array", "items": self.of(Memory)}, "cursor": {"type": "string"}},
            }
        names = cls._fields if hasattr(cls, "_fields") else field_names(cls)
        hints = field_hints(cls)
        properties = {each: self.of(hints[each]) for each in names}
        properties |= {each: {"description": "Computed."} for each in COMPUTED.get(cls, ())}
        about = " ".join((cls.__doc__ or "").split())
        required = {"required": sorted(cls.__required_keys__)} if is_typeddict(cls) else {}
        return {"type": "object", "description": about, "properties": properties, **required}


@cache
def openapi() -> dict[str, Any]:
    schemas, paths = Schemas(), dict[str, dict[str, Any]]()
    for endpoint in all_endpoints():
        paths.setdefault(endpoint.path, {})[endpoint.verb.lower()] = described(endpoint, schemas)
    schemas.components["Problem"] = {
        "type": "object",
        "description": "What went wrong (`detail`), and what to do next (`remedy`).",
        "properties": {
            **{name: {"type": "string"} for name in ("type", "title", "detail", "remedy", "message")},
            "status": {"type": "integer"}, "facts": {"type": "object"},
        },
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Nacre", "version": __version__,
            "description": "Long-term memory for AI agents. Times are UTC seconds since 1970; in a request also dates "
            "and words such as \"last week\". In a query, `2025` is a year, `20250501` a day, and `arguments` has any "
            "parameters as one JSON object; a name that no path can hold is there or in the body, and `-` in the path.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas.components,
        },
    }  # fmt: skip


def described(endpoint: Endpoint, schemas: Schemas) -> dict[str, Any]:
    parameters = [
        {"name": each.name, "in": each.place, "required": each.required, "description": each.about,
         "schema": with_default(schemas.of(each.hint), each)}
        for each in endpoint.parameters if each.place != "body"
    ]  # fmt: skip
    if endpoint.in_space:
        parameters.insert(0, SPACE_NAME)
    if not endpoint.reads:
        parameters += [KEY_HEADER, EXPECT_HEADER]
        if PATH_NAME.search(endpoint.path.partition("/memories/")[2]):
            parameters.append(MATCH_HEADER)
    if endpoint.verb in ("GET", "DELETE") and endpoint.parameters:
        parameters.append(IN_ONE)
    description: dict[str, Any] = {
        "operationId": endpoint.name, "summary": endpoint.about, "x-role": str(endpoint.role),
        "parameters": parameters, "responses": responses(endpoint, schemas),
    }  # fmt: skip
    body = body_of(endpoint, schemas)
    return {**description, "requestBody": body} if body else description


def body_of(endpoint: Endpoint, schemas: Schemas) -> Schema:
    if endpoint.upload:
        return {"required": True, "content": {"application/octet-stream": {}}}
    fields = [each for each in endpoint.parameters if each.place == "body"]
    if not fields:
        return {}
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [each.name for each in fields if each.required],
        "properties": {
            each.name: {**with_default(schemas.of(each.hint), each), "description": each.about} for each in fields
        },
    }
    return {"required": bool(schema["required"]), "content": {"application/json": {"schema": schema}}}


def with_default(schema: Schema, parameter: Parameter) -> Schema:
    if parameter.default is None or parameter.required or "$ref" in schema:
        return schema
    return {**schema, "default": to_json(parameter.default)}


def responses(endpoint: Endpoint, schemas: Schemas) -> Schema:
    problem = {"content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    if endpoint.download:
        content: Schema = {"application/octet-stream": {}}
    else:
        result = schemas.of(endpoint.returns)
        sent = result if is_object(endpoint.returns) else {"type": "object", "properties": {"result": result}}
        content = {"application/json": {"schema": sent}}
    return {
        str(endpoint.status): {"description": "Done.", "content": content},
        "default": {"description": "It was refused, or failed.", **problem},
    }


@cache
def docs_page() -> str:
    """All endpoints on one page, without a script."""
    rows = []
    for endpoint in all_endpoints():
        parameters = "".join(
            f"<li><code>{escape(each.name)}</code> ({each.place}{', required' if each.required else ''}): "
            f"{escape(each.about)}</li>"
            for each in endpoint.parameters
        )
        rows.append(
            f"<section><h2><code>{endpoint.verb} {escape(endpoint.path)}</code></h2>"
            f"<p>{escape(endpoint.about)} Role: {endpoint.role}.</p><ul>{parameters}</ul></section>"
        )
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}h2{font-size:1em;margin-top:2em}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Nacre API</title><style>{style}</style>'
        f'<h1>Nacre API</h1><p>For programs: <a href="{OPENAPI}">openapi.json</a>. '
        f"Send your token as <code>Authorization: Bearer TOKEN</code>.</p>{''.join(rows)}</html>"
    )
