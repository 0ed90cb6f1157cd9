"""Whatever a caller gives to a public method, it works or raises an error of ours; never another one."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, NacreError
from nacre.lessons import LessonBook
from nacre.minds import (
    CognitiveMemory,
    ExperienceStore,
    HierarchicalMemory,
    MemoryConnector,
)
from nacre.model.validate import Changes, Fields
from nacre.recall_options import RecallOptions, Scope
from nacre.settings import Settings


class OneTime:
    """Makes a fresh iterator for each call, since one can be read only once."""

    def __call__(self) -> Iterator[int]:
        return iter([1])


WRONG: tuple[object, ...] = (
    None, 7, -1, 2**64, 10**5000, Fraction(10**400), float("nan"), float("inf"), b"bytes", ["x"], [1], {"a": 1},
    "\ud800", "\0", object(), "x", True, np.array([1, 2]), OneTime(),
)  # fmt: skip
RIGHT = {"ids": "m1", "id": "m1", "text": "the well is deep", "query": "well", "old": "m1", "new": "m2"}
NAMED = {each.__name__: tuple(each.__annotations__) for each in (Scope, RecallOptions, Fields, Changes)}


def make_store(space: str = "default") -> MemoryStore:
    store = MemoryStore(":memory:", settings=Settings(embedder="hashing", space=space))
    store.remember("the well is deep", id="m1")
    store.remember("the rope is short", id="m2")
    return store


SUBJECTS: dict[str, Callable[[], Any]] = {
    "MemoryStore": make_store,
    "LessonBook": lambda: LessonBook(store=make_store()),
    "CognitiveMemory": lambda: CognitiveMemory("ann", store=make_store("ann")),
    "HierarchicalMemory": lambda: HierarchicalMemory("ann", store=make_store("ann")),
    "MemoryConnector": lambda: MemoryConnector("ann", store=make_store("ann")),
    "ExperienceStore": lambda: ExperienceStore("ann", store=make_store("ann")),
}
CLASSES = {each.__name__: each for each in (
    MemoryStore, LessonBook, CognitiveMemory, HierarchicalMemory, MemoryConnector, ExperienceStore,
)}  # fmt: skip


def methods(kind: type) -> list[str]:
    return [
        name for name in dir(kind)
        if not name.startswith("_") and name != "close" and inspect.isfunction(inspect.getattr_static(kind, name))
    ]  # fmt: skip


def calls(kind: type, method: str) -> Iterator[tuple[str, object, list[object], dict[str, object]]]:
    """Each parameter in turn with each wrong value, the others as they should be."""
    parameters = list(inspect.signature(getattr(kind, method)).parameters.values())[1:]
    swallowed = [str(each.annotation) for each in parameters if each.kind is each.VAR_KEYWORD]
    extra = [field for each in swallowed for name, fields in NAMED.items() if name in each for field in fields]
    usual = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    own = [each.name for each in usual]
    extra = [name for name in extra if name not in own]
    for name in [*own, *extra]:
        for value in WRONG:
            wrong = value() if isinstance(value, OneTime) else value
            positional: list[object] = []
            keywords: dict[str, object] = {name: wrong} if name in extra else {}
            for each in usual:
                argument = wrong if each.name == name else RIGHT.get(each.name, "x")
                if each.kind is each.KEYWORD_ONLY:
                    if each.name == name or each.default is each.empty:
                        keywords[each.name] = argument
                elif each.kind is each.VAR_POSITIONAL or each.default is each.empty:
                    positional.append(argument)
                elif each.name == name:
                    keywords[name] = value
            yield name, wrong, positional, keywords


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"), [(name, method) for name, kind in CLASSES.items() for method in methods(kind)]
)
def test_a_wrong_kind_of_value_gives_one_of_our_errors(
    kind: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # "x" is a path to some of them
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")
    subject = SUBJECTS[kind]()
    for name, wrong, positional, keywords in calls(CLASSES[kind], method):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(subject, method)(*positional, **keywords)
                if inspect.isgenerator(found):
                    list(found)
        except NacreError:
            continue
        except Exception as error:  # noqa: BLE001 - exactly these are looked for
            pytest.fail(f"{method}({name}={wrong!r}) raises {type(error).__name__}: {error}")
    getattr(subject, "close", lambda: None)()


def test_the_message_names_the_parameter_and_what_it_takes() -> None:
    with MemoryStore(":memory:", settings=Settings(embedder="hashing")) as store:
        with pytest.raises(InvalidInput, match="limit must be a whole number, not str"):
            store.list_recent(limit="5")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="order"):
            store.list_recent(order="sideways")  # type: ignore[arg-type]


def test_a_wrong_number_of_arguments_stays_pythons_own_error() -> None:
    with MemoryStore(":memory:", settings=Settings(embedder="hashing")) as store, pytest.raises(TypeError):
        store.get()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([None], "each item of items must be text or a mapping, not NoneType"),
        ("abc", "items is one text; give a list"),
        ({"text": "x"}, "items is one mapping; give a list"),
    ],
)
def test_what_is_no_list_of_memories_is_not_stored_as_one(items: Any, said: str) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        with pytest.raises(InvalidInput, match=said):
            store.remember_many(items)
        assert store.count() == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"edits": {"a": 1}}, "each edit must be a function, not int"),
        ({"terms": {("type", "recipe"): "x"}}, "each edit must be a function, not str"),
        ({"unjournaled": {("type", "recipe"): None}}, "each edit must be a function, not NoneType"),
        ({"edits": {"a": lambda memory: memory.text}}, "what an edit returns must be a Memory, not str"),
        ({"successors": {"a": None}}, "each successor must be an id, not NoneType"),
    ],
)
def test_a_write_names_what_is_no_edit_and_no_successor(wrong: Any, said: str) -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        store.remember("The lamp is green", id="a")
        with pytest.raises(InvalidInput, match=said):
            store.write("tidy", **wrong)
