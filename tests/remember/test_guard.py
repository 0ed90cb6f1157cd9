"""No secret is kept by any way in, unless somebody asked for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.errors import InvalidInput, SecretRefused, UnknownName
from nacre.remember.guard import Guard
from nacre.settings import Settings
from tests.embedders import WordBag

# Put together here, so that no file holds what a scanner would take for a key.
SECRET = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
SAID = f"The deploy token is {SECRET}, ask before using it"


def opened(path: Path, **settings: object) -> MemoryStore:
    return MemoryStore(path, embedder=WordBag(), settings=Settings(**settings))  # type: ignore[arg-type]


WAYS: dict[str, Callable[[MemoryStore], object]] = {
    "remember": lambda store: store.remember(SAID),
    "remember_many": lambda store: store.remember_many([SAID, {"text": "x", "source_notes": SAID}]),
    "title": lambda store: store.remember("x", title=SAID),
    "tags": lambda store: store.remember("x", tags=[SECRET], entities=[SECRET]),
    "metadata": lambda store: store.remember("x", metadata={"deep": [{"token": SECRET}], "plain": SAID}),
    "links": lambda store: store.remember("x", links=[Link("other", data={"note": SAID})]),
    "relation": lambda store: store.remember("x", links=[Link("other", rel=SECRET), Link("other", rel=f"{SECRET}2")]),
    "edit": lambda store: store.edit("known", text=SAID, source=SAID),
    "why": lambda store: store.edit("known", importance=0.9, why=SAID),
    "link": lambda store: store.link("known", "other", data={"note": SAID}, why=SAID),
    "link of a relation": lambda store: store.link("known", "other", SECRET),
    "undo": lambda store: store.undo(why=SAID),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_a_secret_is_nowhere_in_the_file(tmp_path: Path, way: str) -> None:
    with opened(tmp_path / "s.db") as store:
        store.remember("plain words", id="known", on_conflict="ignore")
        WAYS[way](store)
        told = json.dumps([memory.to_dict() for memory in store.iterate()])
    assert way in ("why", "undo") or "[REDACTED:" in told or way == "link"
    for file in tmp_path.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name


def test_a_name_that_holds_a_secret_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        naming: list[Callable[[str], object]] = [
            store.register_relation, store.register_type,
            lambda name: store.merge_entities("Rosa", name), lambda name: store.merge_entities(name, "Rosa"),
        ]  # fmt: skip
        for name in naming:
            with pytest.raises(InvalidInput, match=r"secret \(github_token\); choose another") as error:
                name(SECRET)
            assert SECRET not in str(error.value)
            name("harmless")
    with opened(tmp_path / "s.db", secrets="allow") as store:
        store.register_relation(SECRET)


def test_the_kind_is_told_and_the_secret_is_not(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        result = store.remember_result(SAID)
    assert "github" in result.memory.text.lower() and SECRET not in result.memory.text
    assert len(result.notes) == 1 and "github" in result.notes[0].lower() and SECRET not in result.notes[0]


def test_what_is_refused_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db", secrets="refuse") as store:
        with pytest.raises(SecretRefused, match="looks like a secret") as refused:
            store.remember(SAID)
        assert SECRET not in str(refused.value) and refused.value.kinds
        with pytest.raises(SecretRefused):
            store.remember_many(["harmless", SAID])
        assert store.count() == 0
        assert store.remember("harmless").text == "harmless"


def test_a_space_may_be_told_to_keep_them(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db", secrets="allow") as store:
        assert store.remember(SAID).text == SAID


def test_personal_data_stays_unless_it_is_to_go(tmp_path: Path) -> None:
    said = "Write to " + "rosa.keller" + "@" + "example.net" + " about the lease"
    with opened(tmp_path / "a.db") as store:
        assert store.remember(said).text == said
    with opened(tmp_path / "b.db", personal_data="redact") as store:
        assert "@" not in store.remember(said).text


def test_unknown_policies_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'redact'"):
        Guard("redacted")
    with pytest.raises(UnknownName, match="personal data"):
        Guard(personal="maybe")


def test_a_password_that_was_taken_for_a_name_goes_with_that_in_the_text() -> None:
    """It was stored before there was a guard; alone it does not look like a secret."""
    word = "Quay" + "Tern7Lantern"
    stored = Memory("a", f"The gate has password: {word}, says Odile", entities=("Odile", word, "Elsewhere"))
    read = Guard().before_read(stored)
    assert word not in read.text and read.entities == ("Odile", "Elsewhere")
    assert Guard("allow").before_read(stored) == stored
