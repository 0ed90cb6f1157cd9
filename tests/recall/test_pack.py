"""The best memories that fit the budget."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput
from nacre.model import Counterpart, Hit, Link, Recollection
from nacre.model.fence import fenced
from nacre.model.instants import DAY
from nacre.recall.pack import ALL_WEAK, estimated_tokens, without_padding
from nacre.recall.pack import pack as pack_with_fence
from tests.embedders import WordBag
from tests.samples import Clock, memory

JUNE = 1_750_000_000.0  # 15 June 2025

pack = partial(pack_with_fence, fence=False)


def recalled(*texts: str) -> Recollection:
    hits = (Hit(memory(f"m{i}", text), 1.0 - i / 10) for i, text in enumerate(texts))
    return Recollection(tuple(hits), notes=("a note",))


def test_each_line_names_the_type_and_comes_in_rank_order_under_the_header() -> None:
    packed = pack(recalled("first", "second"), 100)
    assert packed.text == "## Relevant memory\n- (semantic) first\n- (semantic) second"
    assert packed.ids() == ["m0", "m1"]
    assert (packed.truncated, packed.budget, packed.notes) == (False, 100, ("a note",))


def test_with_ids_each_line_begins_with_a_short_one_and_the_budget_covers_it() -> None:
    made = "0f84c2d1-5b6e-4f3a-9c7d-2e1b0a9f8c7d"
    named = Recollection((Hit(memory(made, "first"), 1.0), Hit(memory("chosen", "second"), 0.5)))
    packed = pack(named, 100, header="", ids=True)
    assert packed.text == "- 0f84c2d1 (semantic) first\n- chosen (semantic) second"
    assert packed.used_tokens == sum(map(estimated_tokens, packed.text.split("\n")))


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
def test_dates_sources_and_conflicts_stand_behind_the_text() -> None:
    noted = (Link("b", "conflicts", data={"kind": "contradiction"}),)
    dated = memory("a", "it opened", occurred_at=JUNE, source="the Times", links=noted)
    hits = (Hit(dated, 0.9), Hit(memory("b", "it never did", created_at=JUNE + 2 * DAY, superseded_by="c"), 0.8))
    assert pack(Recollection(hits), 100, header="").text.splitlines() == [
        '- (semantic) it opened [2025-06-15, the Times, conflicts with "it never did" of 2025-06-17]',
        '- (semantic) it never did [2025-06-17, superseded, conflicts with "it opened" of 2025-06-15]',
    ]


@pytest.mark.parametrize("kind", ["update", "contradiction", None])
def test_a_conflict_is_marked_only_beside_its_other_side_but_for_what_replaces_it(kind: str | None) -> None:
    """A link of an older store may not say of which kind it is."""
    link = Link("b", "conflicts", data={"kind": kind} if kind else {})
    hits = (
        Hit(memory("a", "tea", created_at=JUNE, links=(link,)), 0.9),
        Hit(memory("b", "x" * 400, created_at=JUNE + DAY), 0.8),
    )
    text = pack(Recollection(hits), 500).text
    assert f'{"newer:" if kind == "update" else "conflicts with"} "xxx' in text
    assert f'{"updates" if kind == "update" else "conflicts with"} "tea" of 2025-06-15]' in text
    alone = pack(Recollection(hits[:1]), 500, header="")
    assert alone.text == "- (semantic) tea [2025-06-15]"
    packed = pack(Recollection(hits), 60, header="")
    newer = f', newer: "{"x" * 79}…" of 2025-06-16' if kind == "update" else ""
    assert packed.text == f"- (semantic) tea [2025-06-15{newer}]"
    assert packed.used_tokens == estimated_tokens(packed.text) <= 60
    small = pack(Recollection(hits), 28, header="")  # enough for the name of what is there, not for a quotation
    assert small.text == "- (semantic) tea [2025-06-15]" and small.used_tokens <= 28


@pytest.mark.parametrize("link", [Link("b", "contradicts"), Link("b", "conflicts", data={"kind": "duplicate"})])
def test_what_was_settled_and_what_says_the_same_is_not_marked(link: Link) -> None:
    hits = (Hit(memory("a", "tea", links=(link,)), 0.9), Hit(memory("b", "milk"), 0.8))
    assert pack(Recollection(hits), 100, header="").text == "- (semantic) tea\n- (semantic) milk"


@pytest.mark.parametrize(
    ("times", "date"),
    [
        ({"created_at": JUNE}, "2025-06-15"),
        ({"created_at": JUNE + DAY, "occurred_at": JUNE}, "2025-06-15"),
        ({"created_at": JUNE + DAY, "valid_from": JUNE}, "since 2025-06-15"),
        ({"created_at": JUNE - DAY, "updated_at": JUNE + DAY, "valid_from": JUNE}, "since 2025-06-15"),
        ({"created_at": JUNE - DAY, "valid_from": JUNE}, "from 2025-06-15"),
        ({"created_at": JUNE - DAY, "valid_until": JUNE}, "until 2025-06-15"),
        ({"created_at": JUNE, "valid_from": JUNE, "valid_until": JUNE + DAY}, "2025-06-15 to 2025-06-16"),
    ],
)
def test_every_line_has_a_short_date(times: dict[str, float], date: str) -> None:
    line = pack(Recollection((Hit(memory("a", "tea", **times), 0.9),)), 100, header="").text
    assert line == f"- (semantic) tea [{date}]"
    assert estimated_tokens(f" [{date}]") <= 7


def test_a_line_says_what_held_before_and_until_when() -> None:
    old = memory("old", "We send mail\nby SendGrid " + "x" * 100, valid_until=JUNE)
    line = pack(Recollection((Hit(memory("new", "Postmark it is"), 0.9, was=old),)), 100, header="").text
    assert line.startswith('- (semantic) Postmark it is [was: "We send mail by SendGrid xxx')
    assert line.endswith('xxx…", until 2025-06-15]')
    assert len(line) < 160


def test_a_line_does_not_say_of_a_change_to_come_that_it_was(tmp_path: Path) -> None:
    clock = Clock(JUNE)
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock) as store:
        old = store.remember("The rent is 400")
        store.remember("The rent is 450", replaces=old.id, valid_from=JUNE + 30 * DAY)
        for at in (JUNE + DAY, JUNE + 60 * DAY):
            clock.now = at
            text = store.recall_pack("What is the rent?", header="", fence=False).text
            assert text == '- (semantic) The rent is 450 [from 2025-07-15, until 2025-07-15: "The rent is 400"]'


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


@pytest.mark.slow
def test_packing_inherits_the_filters_and_the_exclusion_of_superseded_ones(store: MemoryStore) -> None:
    old, new = store.list_recent(2, tag="even")
    store.supersede(old.id, new.id)
    ids = store.recall_pack("tea", tag="even").ids()
    assert old.id not in ids
    assert new.id in ids
    assert len(ids) == 2
    assert len(store.recall_pack("tea", tag="even", include_superseded=True)) == 3
    assert len(store.recall_pack("tea", min_importance=0.2, type="semantic", token_budget=40)) == 2


@pytest.mark.slow
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


def test_a_pack_says_nothing_twice() -> None:
    texts = (
        "The ferry leaves at nine", "the FERRY leaves, at nine!", "ferry leaves at nine", "So the ferry leaves at nine",
        "The ferry leaves at nine and comes back at noon with the mail", "ferry",
    )  # fmt: skip
    packed = pack(recalled(*texts), 500)
    assert (list(packed.ids()), packed.truncated) == (["m0", "m4", "m5"], False)
    dated = tuple(Hit(memory(str(at), "We sailed", occurred_at=float(at)), 1.0) for at in (1, 2))
    assert len(pack(Recollection(dated), 500).items) == 2


def test_a_text_that_takes_back_another_is_packed_with_it() -> None:
    texts = "The code of the alarm in the hall is 4711.", "The code of the alarm in the hall is 4711 no longer."
    assert len(pack(recalled(*texts), 200)) == len(pack(recalled(*reversed(texts)), 200)) == 2


def test_both_sides_of_a_conflict_are_packed_however_alike_they_are() -> None:
    text = "The code of the alarm in the hall at home is 4711"
    noted = memory("new", f"{text} again", links=(Link("old", "conflicts"),))
    packed = pack(Recollection((Hit(memory("old", text), 1.0), Hit(noted, 0.9))), 200)
    assert packed.ids() == ["old", "new"] and packed.text.count('conflicts with "The code of the alarm') == 2


def test_of_copies_the_one_with_a_date_is_packed() -> None:
    hits = Hit(memory("undated", "we met Ann"), 1.0), Hit(memory("dated", "we met Ann", occurred_at=JUNE), 0.9)
    assert pack(Recollection(hits), 100).ids() == pack(Recollection(hits[::-1]), 100).ids() == ["dated"]


def test_a_pack_is_not_padded_with_weak_hits_beside_a_likely_one() -> None:
    hits = [
        Hit(memory(f"m{number}", f"Berth {number} is swept."), 0.9, relevance=relevance)
        for number, relevance in enumerate((0.6, 0.1, 0.25, 0.1, 0.1, 0.1))
    ]
    weak = [hit for hit in hits if hit.strength == "weak"]
    for some, numbers, notes in ((hits, [0, 2], ()), (weak, [1, 3, 4], (ALL_WEAK,)), ([], [], ())):
        kept = without_padding(Recollection(tuple(some)))
        assert (kept.hits, kept.notes) == (tuple(hits[number] for number in numbers), notes)
    assert without_padding(Recollection(tuple(hits), calibrated=False)).hits == tuple(hits)


def test_a_pack_is_fenced_unless_the_caller_says_otherwise(store: MemoryStore) -> None:
    assert fenced([]).splitlines()[0] in store.recall_pack("tea").text
    assert fenced([]).splitlines()[0] not in store.recall_pack("tea", fence=False).text


def test_turns_that_state_nothing_are_packed_only_where_turns_are_asked_for() -> None:
    with MemoryStore(":memory:", embedder="hashing") as store:
        asked = "How do I deploy the shop to the staging server?"
        store.remember(asked, session="s", position=0, role="user")
        store.remember(
            "The staging server of the shop: deploy it with make ship.", session="s", position=1, role="user"
        )
        assert [each.memory.position for each in store.recall_pack("deploy the shop to the staging server").items] == [
            1
        ]
        both = store.recall_pack("deploy the shop to the staging server", session="s")
        assert {each.memory.position for each in both.items} == {0, 1}


def test_what_is_newer_and_no_hit_is_left_out_before_the_memory_that_names_it() -> None:
    newer = Counterpart("b", JUNE + DAY, newer=True, kind="update", text="x" * 40, is_hit=False)
    hits = (Hit(memory("a", "tea", created_at=JUNE), 0.9, conflicts=(newer,)),)
    assert "newer:" in pack(Recollection(hits), 100, header="").text
    short = pack(Recollection(hits), 10, header="")
    assert short.text == "- (semantic) tea [2025-06-15]" and short.used_tokens <= 10


def test_what_has_ended_is_not_named_as_newer() -> None:
    link = Link("a", "conflicts", data={"kind": "update"})
    hits = (
        Hit(memory("a", "tea", created_at=JUNE), 0.9),
        Hit(memory("b", "milk", created_at=JUNE + DAY, valid_until=JUNE + 2 * DAY, links=(link,)), 0.8),
    )
    assert 'newer: "milk"' in pack(Recollection(hits), 100, header="", at=JUNE + DAY).text
    assert 'conflicts with "milk"' in pack(Recollection(hits), 100, header="", at=JUNE + 9 * DAY).text
    assert "milk" not in pack(Recollection(hits), 12, header="", at=JUNE + 9 * DAY).text
