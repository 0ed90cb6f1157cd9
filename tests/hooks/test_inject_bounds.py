"""What is put before a prompt, and what no longer, at the bounds of words, trust, importance and length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.hooks.inject import for_prompt, for_session, middle_out
from nacre.hooks.request import Request
from nacre.model import Pack
from nacre.settings import Settings
from tests.embedders import Moody

QUESTION = "copper kettle whistle kitchen stove morning"  # six words


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    settings = Settings(store=":memory:", hook_inject=50_000.0)
    with MemoryStore(settings=settings, embedder=Moody(256)) as opened:
        yield opened


def prompted(store: MemoryStore, prompt: str, **payload: Any) -> list[str]:
    return ids(for_prompt(store, Request("prompt", {"prompt": prompt, **payload}, "")))


def begun(store: MemoryStore, **payload: Any) -> list[str]:
    return ids(for_session(store, Request("session-start", payload, "")))


def ids(pack: Pack | None) -> list[str]:
    return [] if pack is None else pack.ids()


def without_model(store: MemoryStore) -> None:
    embedder = store.embedder
    assert isinstance(embedder, Moody)
    embedder.ready = embedder.well = False


@pytest.mark.parametrize(("prompt", "answered"), [("kettle", False), ("the kettle", False), ("copper kettle", True)])
def test_a_prompt_of_fewer_than_two_words_asks_nothing(store: MemoryStore, prompt: str, answered: bool) -> None:
    store.remember("The copper kettle is broken", id="kettle")
    assert prompted(store, prompt) == (["kettle"] if answered else [])


def test_a_command_of_the_client_asks_nothing(store: MemoryStore) -> None:
    store.remember("The copper kettle is broken", id="kettle")
    assert prompted(store, "  /copper kettle") == []


@pytest.mark.parametrize(("text", "answered"), [("copper kettle whistle", True), ("copper kettle drum", False)])
def test_without_a_model_half_of_the_words_must_stand_in_the_memory(
    store: MemoryStore, text: str, answered: bool
) -> None:
    store.remember(text, id="m")
    assert prompted(store, QUESTION) == ["m"]
    without_model(store)
    assert prompted(store, QUESTION) == (["m"] if answered else [])


@pytest.mark.parametrize(("text", "answered"), [("copper kettle", True), ("copper drum", False)])
def test_without_a_model_one_shared_word_is_never_enough(store: MemoryStore, text: str, answered: bool) -> None:
    store.remember(text, id="m")
    without_model(store)
    assert prompted(store, "copper kettle") == (["m"] if answered else [])


def test_without_a_model_words_of_the_title_count(store: MemoryStore) -> None:
    store.remember("whistles", title="Copper kettle", id="m")
    without_model(store)
    assert prompted(store, QUESTION) == ["m"]


@pytest.mark.parametrize(("trust", "given"), [(0.5, True), (0.49, False)])
def test_what_is_trusted_less_than_half_is_not_injected(store: MemoryStore, trust: float, given: bool) -> None:
    store.remember("copper kettle whistle", id="m", trust=trust, importance=0.9)
    assert prompted(store, QUESTION) == (["m"] if given else [])
    assert begun(store) == (["m"] if given else [])


def test_a_stricter_setting_of_trust_holds_for_injections() -> None:
    settings = Settings(store=":memory:", min_trust=0.8)
    with MemoryStore(settings=settings, embedder=Moody(256)) as strict:
        strict.remember("copper kettle whistle", id="doubted", trust=0.7, pinned=True)
        strict.remember("copper kettle stove", id="trusted", trust=0.8, pinned=True, on_conflict="ignore")
        assert prompted(strict, QUESTION) == ["trusted"]
        assert begun(strict) == ["trusted"]


def test_turns_of_the_session_itself_are_not_injected_and_those_of_others_are(store: MemoryStore) -> None:
    store.remember("copper kettle whistle", id="own", session="s1", role="user", position=0)
    store.remember("copper kettle stove", id="other", session="s2", role="user", position=0)
    assert prompted(store, QUESTION, session_id="s1") == ["other"]


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"importance": 0.7}, True),
        ({"importance": 0.69}, False),
        ({"importance": 0.1, "pinned": True}, True),
        ({"importance": 0.9, "type": "episodic"}, False),
        ({"importance": 0.9, "pinned": True, "type": "episodic"}, False),
        ({"importance": 0.9, "type": "procedural"}, True),
    ],
)
def test_a_session_begins_with_what_is_pinned_or_at_least_so_important(
    store: MemoryStore, fields: dict[str, Any], given: bool
) -> None:
    store.remember("The copper kettle is broken", id="m", **fields)
    assert begun(store) == (["m"] if given else [])


def test_a_session_begins_with_fifty_at_most_of_each_kind(store: MemoryStore) -> None:
    store.remember_many({"text": f"rule {n}", "id": f"p{n}", "pinned": True, "importance": 0.2} for n in range(51))
    store.remember_many({"text": f"fact {n}", "id": f"i{n}", "importance": 0.8} for n in range(51))
    given = begun(store)
    assert [sum(id.startswith(kind) for id in given) for kind in "pi"] == [50, 50]


@pytest.mark.parametrize("length", [1_999, 2_000])
def test_a_prompt_of_two_thousand_characters_is_read_whole(length: int) -> None:
    assert middle_out("x" * length) == "x" * length


def test_of_a_longer_prompt_its_two_ends_are_read() -> None:
    prompt = "a" * 1_000 + "b" + "c" * 1_000
    assert middle_out(prompt) == "a" * 1_000 + "\n" + "c" * 1_000


def test_a_memory_of_six_hundred_characters_is_given_whole_and_a_longer_one_around_what_is_asked(
    store: MemoryStore,
) -> None:
    first, last = "Boats sail under old bridges. " * 15, "The copper kettle sings. "
    whole = (first + last).ljust(599, "x") + "."
    long = "Gulls cry above the bay at noon. " * 40 + last + "Herons sleep in the reeds. " * 39 + "Night falls."
    store.remember(whole, id="whole")
    store.remember(long, id="long", on_conflict="ignore")
    pack = for_prompt(store, Request("prompt", {"prompt": "copper kettle sings"}, ""))
    assert pack is not None
    texts = {item.memory.id: item.memory.text for item in pack.items}
    assert texts["whole"] == whole
    assert texts["long"].startswith("… ") and texts["long"].endswith(" …")
    assert "copper kettle sings" in texts["long"]
    assert 560 <= len(texts["long"]) <= 604
    assert store.get("long").text == long  # type: ignore[union-attr]
