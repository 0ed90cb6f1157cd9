"""What is packed into a column comes out as it went in, and what cannot have been packed is named as damage."""

from __future__ import annotations

import pytest

from nacre.model import Link
from nacre.model.filter import Condition
from nacre.storage.tables import (
    DamagedRecord,
    counts_of,
    has_status,
    names_of,
    pack_lists,
    packed_stems,
    unpack_lists,
    unpacked_stems,
)
from tests.samples import memory


def test_lists_links_and_metadata_come_out_as_they_went_in() -> None:
    links = (Link(to="m2", rel="supports", weight=0.5),)
    packed = memory(tags=("lämp", "lamp"), entities=("Ada",), metadata={"depth": [1, {"a": None}]}, links=links)
    fields: dict[str, object] = {}
    unpack_lists(pack_lists(packed), fields)
    assert fields == {name: getattr(packed, name) for name in ("tags", "entities", "metadata", "links")}
    assert pack_lists(memory()) == "{}"


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        '{"tags": [1]}',
        '{"tags": 3}',
        '{"metadata": []}',
        '{"colour": ["red"]}',
        '{"links": [{}]}',
        '{"tags": ["tea"]} {}',
        "[" * 9_999,
    ],
)
def test_lists_that_nobody_packed_are_damage(stored: str) -> None:
    with pytest.raises(DamagedRecord):
        unpack_lists(stored, {})


def test_stems_keep_their_fields_though_the_last_are_empty() -> None:
    assert unpacked_stems(packed_stems((" lamp  tea ", "", "cup")), 5) == ("lamp tea", "", "cup", "", "")
    assert unpacked_stems(None, 2) == ("", "")


def test_a_name_counts_once_for_a_memory_and_as_often_as_it_is_listed() -> None:
    twice = memory(tags=("lamp", "lamp"))
    assert names_of(twice, ("lamp", ""))["tags", "lamp"] == 2
    assert counts_of(1, twice)[1, "tags", "short_term", "lamp"] == 1
    assert not counts_of(1, memory(tags=("lamp",), expires_at=5.0)), "it would count on after its end"


@pytest.mark.parametrize(("counted_as", "current"), [("short_term", True), ("short_term*", False), ("trashed", True)])
def test_the_counted_status_tells_what_was_superseded(counted_as: str, current: bool) -> None:
    assert has_status(counted_as, [Condition("superseded_by", "eq", "")]) is current
