"""The best memories that fit the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model import Hit, Link, Recollection
from nacre.recall.pack import estimated_tokens, pack
from tests.embedders import WordBag
from tests.samples import memory


def recalled(*texts: str) -> Recollection:
    hits = (Hit(memory(f"m{i}", text), 1.0 - i / 10) for i, text in enumerate(texts))
    return Recollection(tuple(hits), notes=("a note",))


def test_each_line_names_the_type_and_comes_in_rank_order_under_the_header() -> None:
    packed = pack(recalled("first", "second"), 100)
    assert packed.text == "## Relevant memory\n- (semantic) first\n- (semantic) second"
    assert packed.ids() == ["m0", "m1"]
    assert (packed.truncated, packed.budget, packed.notes) == (False, 100, ("a note",))


def test_what_does_not_fit_is_passed_over_and_the_walk_goes_on() -> None:
    packed = pack(recalled("short one", "x" * 400, "short two"), 20)
    assert packed.ids() == ["m0", "m2"]
    assert packed.truncated


def test_the_budget_covers_the_lines_alone_and_what_is_used_is_their_sum() -> None:
    line = estimated_tokens("- (semantic) first")
    packed = pack(recalled("first"), line, header="a header far longer than the whole budget is")
    assert (packed.used_tokens, len(packed), packed.truncated) == (line, 1, False)
    packed = pack(recalled("first", "second"), 100)
    assert packed.used_tokens == sum(item.tokens for item in packed.items)


def test_tokens_are_a_quarter_of_the_characters_and_at_least_one() -> None:
    assert [estimated_tokens("x" * n) for n in (0, 1, 4, 10, 14, 40)] == [1, 1, 1, 2, 4, 10]


def test_a_caller_s_counter_overrules_the_estimate() -> None:
    packed = pack(recalled("one two three", "four"), 5, token_counter=lambda line: len(line.split()))
    assert packed.ids() == ["m0"]
    assert packed.used_tokens == 5


def test_without_a_header_the_lines_stand_alone() -> None:
    assert pack(recalled("first"), 100, header="").text == "- (semantic) first"


def test_when_nothing_fits_the_text_is_empty() -> None:
    packed = pack(recalled("first"), 0)
    assert (packed.text, packed.items, packed.used_tokens, packed.truncated) == ("", (), 0, True)
    assert pack(Recollection(), 100) == pack(Recollection(), 100, header="x")
    assert not pack(Recollection(), 100).truncated


@pytest.mark.accepts("H11.13")
def test_dates_sources_and_doubts_stand_behind_the_text() -> None:
    dated = memory("a", "it opened", occurred_at=1_750_000_000.0, source="the Times", links=(Link("b", "contradicts"),))
    hits = (Hit(dated, 0.9), Hit(memory("b", "it never did", superseded_by="c"), 0.8))
    assert pack(Recollection(hits), 100, header="").text.splitlines() == [
        "- (semantic) it opened [2025-06-15, the Times, contradicts another of these]",
        "- (semantic) it never did [superseded, contradicts another of these]",
    ]
    assert "contradicts" not in pack(Recollection(hits[:1]), 100).text


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(InvalidInput, match="0 or more"):
        pack(recalled("first"), -1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as opened:
        for number in range(5):
            opened.remember(f"tea note {number}", tags=["odd" if number % 2 else "even"], importance=number / 10)
        opened.remember("tea " * 300, id="long")
        yield opened


def test_packing_inherits_the_filters_and_the_exclusion_of_superseded_ones(store: MemoryStore) -> None:
    old, new = store.list_recent(2, tag="even")
    store.supersede(old.id, new.id)
    ids = store.recall_pack("tea", tag="even").ids()
    assert old.id not in ids
    assert new.id in ids
    assert len(ids) == 2
    assert len(store.recall_pack("tea", tag="even", include_superseded=True)) == 3
    assert len(store.recall_pack("tea", min_importance=0.2, type="semantic", token_budget=40)) == 2


def test_only_what_is_packed_counts_as_used(store: MemoryStore) -> None:
    packed = store.recall_pack("tea", token_budget=50)
    assert packed.truncated
    used = {found.id for found in store.list_recent(99) if found.access_count == 1}
    assert used == set(packed.ids())
    assert "long" not in used


def test_at_most_so_many_items_are_considered(store: MemoryStore) -> None:
    packed = store.recall_pack("tea note", max_items=2)
    assert len(packed) == 2
    assert not packed.truncated
