"""Arguments with which every endpoint can be called, for tests that walk through all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from nacre.memory_store import MemoryStore
from nacre.rest.endpoints import Endpoint

OTHER = "space of others"
CONFLICT = {
    "a": {"id": "m2", "text": "Ferry 2 leaves at 2 o'clock"}, "b": {"id": "m1", "text": "Ferry 1 leaves at 1 o'clock"},
    "similarity": 0.9, "kind": "update", "reason": "numbers differ",
}  # fmt: skip
# By method; of the names, `m1` and `m2` are memories of the space. Methods that are not here need none.
VALUES: Mapping[str, Mapping[str, Any]] = {
    "remember_result": {"text": "The ferry leaves at nine"},
    "remember_many": {"items": ["One more", {"text": "And another", "tags": ["x"]}]},
    "draft": {"text": "A draft"},
    "get_many": {"ids": ["m1", "m2"]},
    "vectors": {"ids": ["m1"]},
    "forget": {"ids": ["m3"]},
    "restore": {"ids": ["m4"]},
    "purge": {"ids": ["m5"]},
    "redact": {"ids": ["m6"]},
    "pin": {"ids": ["m1"]},
    "unpin": {"ids": ["m7"]},
    "archive": {"ids": ["m1"]},
    "unarchive": {"ids": ["m8"]},
    "tag": {"ids": ["m1"], "add": ["new"]},
    "bump": {"ids": ["m1"], "by": 0.1},
    "touch": {"ids": ["m1"]},
    "resolve_id": {"prefix": "m1"},
    "get": {"id": "m1"},
    "edit": {"id": "m1", "title": "Another title"},
    "edit_result": {"id": "m1", "title": "Another title"},
    "validate": {"id": "m1"},
    "supersede": {"old": "m1", "new": "m2"},
    "merge": {"keep": "m1", "others": ["m2"]},
    "history": {"id": "m1"},
    "neighbors": {"id": "m1"},
    "find_conflicts": {"memory_id": "m1"},
    "recall": {"query": "When does the ferry leave?"},
    "recall_pack": {"query": "When does the ferry leave?"},
    "tally": {"field": "type"},
    "prune_links": {"edges": [{"source": "m1", "target": "m2", "rel": "related", "weight": 0.01}]},
    "link": {"source": "m1", "target": "m3"},
    "unlink": {"source": "m1", "target": "m2"},
    "subgraph": {"ids": ["m1"]},
    "path": {"start": "m1", "end": "m2"},
    "diff": {"earlier": 0},
    "resolve_operation": {"prefix": "BATCH"},
    "operation": {"batch": "BATCH"},
    "compact": {"older_than_days": 0},
    "note_conflicts": {"conflicts": [CONFLICT]},
    "decide": {"item": "m9", "decision": "validate"},
    "merge_entities": {"into": "Harbour", "others": ["Haven"]},
    "unalias": {"name": "Old Haven"},
    "memories_about": {"name": "Harbour"},
    "resolve_entity": {"name": "Harbour"},
    "register_type": {"name": "odd"},
    "register_relation": {"name": "smuggles"},
    "vocabulary": {"kind": "tag"},
    "create_space": {"name": "SPACE", "description": "What it is for"},
    "copy_space": {"target": "SPACE two"},
    "move": {"ids": ["m1"], "to": "SPACE two"},
    "rename_space": {"new": "SPACE two"},
    "add_user": {"name": "somebody"},
    "remove_user": {"name": "nobody"},
    "create_token": {"user": "ada", "role": "reader", "spaces": ["SPACE"]},
    "revoke_token": {"id": "000000000000"},
    "job": {"id": "0000000000000000"},
    "start_maintenance": {"job": "decay"},
    "backup_to_restore": {"name": "none.db"},
}
WHOLE_STORE = (
    "register_type", "register_relation", "start_reindex", "add_user", "remove_user", "catch_up", "doctor",
    "maintenance", "start_maintenance", "start_repair", "backups", "start_backup", "backup_to_restore",
)  # fmt: skip


def filled(store: MemoryStore) -> None:
    """With the memories that the arguments name."""
    for number in range(1, 9):
        entities = ["Harbour"] if number % 2 else ["Haven"]
        store.remember(
            f"Ferry {number} leaves at {number} o'clock", id=f"m{number}", entities=entities, on_conflict="ignore"
        )
    store.remember("Perhaps the ferry is late", id="m9", confidence=0.2)
    store.link("m1", "m2", weight=0.01)
    store.forget("m4")
    store.pin("m7")
    store.archive("m8")
    store.merge_entities("Harbour", "Old Haven")


def values_of(endpoint: Endpoint, space: str, batch: str) -> dict[str, Any]:
    known = {each.name for each in endpoint.parameters}
    values = dict(VALUES.get(endpoint.method, {}))
    if endpoint.of_one and "ids" in values:
        values["id"] = values.pop("ids")[0]
    if endpoint.method == "undo" and endpoint.of_one:
        values["batch"] = batch
    if endpoint.method == "find_conflicts" and "memory_id" not in endpoint.path:
        values = {}
    replaced = {name: fill(value, space, batch) for name, value in values.items()}
    assert replaced.keys() <= known, (endpoint.name, replaced.keys() - known)
    return replaced


def request(endpoint: Endpoint, space: str, values: Mapping[str, Any]) -> tuple[str, str, object, object]:
    """The method, the path, the body and the query that say so."""
    known, path = {each.name: each for each in endpoint.parameters}, endpoint.path.replace("{space}", quote(space))
    query: dict[str, object] = {}
    body: dict[str, object] = {}
    for name, value in values.items():
        place = known[name].place
        if place == "path":
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        elif place == "query":
            query[name] = "null" if value is None else value
        else:
            body[name] = value
    return endpoint.verb, path, None if endpoint.verb in ("GET", "DELETE") else body, query


def fill(value: Any, space: str, batch: str) -> Any:
    if isinstance(value, list):
        return [fill(each, space, batch) for each in value]
    return value.replace("SPACE", space).replace("BATCH", batch) if isinstance(value, str) else value
