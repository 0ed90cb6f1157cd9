"""A change set is written as a whole, or not at all where something is no longer as its plan has read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from nacre.model import Filter, JournalFilter, Link, Operation
from nacre.protocols import (
    AnyChange,
    Backend,
    Change,
    Committed,
    EmbedderBound,
    EmbedderIdentity,
    Expected,
    JournalDropped,
    Outdated,
    Scrubbed,
    Search,
    SpacePurged,
    SpaceRenamed,
    TermChange,
    TermSet,
)
from tests.samples import SPACE, derived, ids, listed, memory, unit

EVERYTHING = Filter()
OPERATION = Operation("write", "tester", 0.0, "b1")
A, B = memory("a", "first"), memory("b", links=(Link("a"),))


def commit(store: Backend, *changes: AnyChange, expected: Expected | None = None, at: float = 5.0) -> Committed:
    result = store.commit(changes, expected, OPERATION, lambda: at)
    assert isinstance(result, Committed)
    return result


@pytest.fixture
def filled(store: Backend) -> Backend:
    commit(
        store, Change(None, A, derived("first", unit(1))), Change(None, B), TermChange(SPACE, "type", "omen", None, {})
    )
    return store


def everything(store: Backend) -> tuple[object, ...]:
    return (
        [(each, each.version) for each in listed(store, SPACE, order="oldest")],
        store.journal(SPACE),
        store.edges(SPACE),
        store.terms("type"),
        store.embedder(),
        ids(store.by_words(SPACE, ["second"], EVERYTHING, 5)),
        store.journal_begins(SPACE),
    )


def test_what_is_committed_has_numbers_a_time_and_versions(filled: Backend) -> None:
    result = commit(filled, Change(A, replace(A, text="second")), Change(B, None), Change(None, memory("c")), at=7.0)
    assert [(entry.seq, entry.memory_id, entry.operation.at) for entry in result.entries] == [
        (4, "a", 7.0), (5, "b", 7.0), (6, "c", 7.0),
    ]  # fmt: skip
    assert result.versions == {(SPACE, "a"): 2, (SPACE, "c"): 1}
    assert filled.journal(SPACE, newest_first=False)[3:] == list(result.entries)
    assert filled.at(SPACE, 3).get_many(SPACE, ["a", "b"]) == [A, B]


def test_the_time_is_taken_last_and_never_runs_backwards(filled: Backend) -> None:
    times: list[int] = []

    def clock() -> float:
        times.append(len(filled.journal(SPACE)))
        return 1.0

    result = filled.commit([Change(A, None)], None, OPERATION, clock)
    assert isinstance(result, Committed) and result.entries[0].operation.at == 5.0
    assert times == [3]


def test_an_error_in_the_middle_writes_nothing(filled: Backend) -> None:
    before = everything(filled)

    def broken() -> float:
        raise ZeroDivisionError

    changes: list[AnyChange] = [
        Change(A, replace(A, text="second"), derived("second", unit(0, 1))),
        Change(B, None),
        TermChange(SPACE, "type", "dream", None, {}),
        EmbedderBound(EmbedderIdentity("another", 8)),
        Scrubbed(SPACE, "a"),
        JournalDropped(SPACE, 1),
    ]
    with pytest.raises(ZeroDivisionError):
        filled.commit(changes, None, OPERATION, broken)
    assert everything(filled) == before
    commit(filled, *changes)
    assert all(now != then for now, then in zip(everything(filled), before, strict=True))


def changed(store: Backend) -> None:
    commit(store, Change(A, replace(A, tags=("new",))))


def removed(store: Backend) -> None:
    commit(store, Change(A, None))


def written_anew(store: Backend) -> None:
    """Its version is 1 again."""
    commit(store, Change(A, None, journaled=False), Scrubbed(SPACE, "a"))
    commit(store, Change(None, memory("a", "another")))
    assert [each.version for each in store.get_many(SPACE, ["a"])] == [1]


@pytest.mark.parametrize("meanwhile", [changed, removed, written_anew])
@pytest.mark.parametrize("relied_on", ["its own change", "what was read"])
def test_nothing_is_written_where_a_memory_is_no_longer_as_it_was(
    filled: Backend, meanwhile: Callable[[Backend], None], relied_on: str
) -> None:
    expected = Expected()
    if relied_on == "what was read":
        assert filled.observed(expected).get(SPACE, "a") == A
    meanwhile(filled)
    before = everything(filled)
    change = Change(A, replace(A, text="second")) if relied_on == "its own change" else Change(B, None)
    result = filled.commit([change, TermSet("type", "dream", {})], expected, OPERATION)
    assert isinstance(result, Outdated)
    assert result.actual.memories == {(SPACE, "a"): filled.get(SPACE, "a")}
    assert everything(filled) == before


def test_an_id_that_was_read_as_free_or_is_new_must_be_free(filled: Backend) -> None:
    expected = Expected()
    assert filled.observed(expected).get(SPACE, "c") is None
    assert isinstance(filled.commit([Change(None, memory("a", "mine"))], None, OPERATION), Outdated)
    commit(filled, Change(None, memory("c")))
    assert isinstance(filled.commit([Change(B, None)], expected, OPERATION), Outdated)
    assert filled.get(SPACE, "a") == A and filled.get(SPACE, "b") == B


def test_uses_that_were_counted_meanwhile_are_kept_and_are_no_conflict(filled: Backend) -> None:
    expected = Expected()
    reader = filled.observed(expected)
    assert ids(reader.page(SPACE, EVERYTHING, limit=9).memories) == ["b", "a"]
    assert reader.get(SPACE, "a") == A
    filled.touch(SPACE, ["a"], 99.0)
    result = commit(filled, Change(A, replace(A, text="second")), expected=expected)
    now = filled.get(SPACE, "a")
    assert now is not None and (now.text, now.access_count, now.last_accessed) == ("second", 1, 99.0)
    assert result.entries[0].after == {"text": "second"}


Ask = Callable[[Backend, Expected], object]
QUESTIONS: dict[str, tuple[Ask, AnyChange]] = {
    "a term": (lambda s, e: s.observed(e).term("type", "omen"), TermSet("type", "omen", None)),
    "no term": (lambda s, e: s.observed(e).term("type", "dream"), TermSet("type", "dream", {})),
    "terms": (lambda s, e: s.observed(e).terms("type"), TermSet("type", "dream", {})),
    "edges": (lambda s, e: s.observed(e).edges(SPACE, into=["a"]), Change(B, replace(B, links=()))),
    "replaced": (lambda s, e: s.observed(e).replaced_by(SPACE, "a"), Change(B, replace(B, superseded_by="a"))),
    "a page": (lambda s, e: s.observed(e).page(SPACE, EVERYTHING, limit=1), Change(None, memory("c", created_at=9.0))),
    "the rest": (lambda s, e: list(s.observed(e).iterate(SPACE, EVERYTHING)), Change(None, memory("c"))),
    "values": (lambda s, e: list(s.observed(e).values(SPACE, EVERYTHING, ("id",))), Change(None, memory("c"))),
    "a count": (lambda s, e: s.observed(e).count(SPACE, EVERYTHING), Change(None, memory("c"))),
    "spaces": (lambda s, e: s.observed(e).spaces(), Change(None, memory("c", space="there"))),
    "the journal": (
        lambda s, e: s.observed(e).journal(SPACE, JournalFilter(memory_id="b")), Change(B, replace(B, tags=("new",))),
    ),
    "an operation's end": (lambda s, e: s.observed(e).border(SPACE, 2), JournalDropped(SPACE, 1)),
    "the embedder": (
        lambda s, e: setattr(e, "embedder", s.embedder()), EmbedderBound(EmbedderIdentity("another", 8)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "an operation's end"])
def test_nothing_is_written_where_another_answer_would_be_given_now(filled: Backend, name: str) -> None:
    ask, change = QUESTIONS[name]
    expected = Expected()
    ask(filled, expected)
    commit(filled, change)
    before = everything(filled)
    result = filled.commit([Change(A, None)], expected, OPERATION)
    assert isinstance(result, Outdated) and len(result.actual) == 1
    assert everything(filled) == before


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "spaces"])  # to which one is added here
def test_unchanged_reads_do_not_block_a_commit(filled: Backend, name: str) -> None:
    ask, _ = QUESTIONS[name]
    expected = Expected()
    ask(filled, expected)
    commit(filled, Change(None, memory("elsewhere", space="spare")), TermSet("relation", "needs", {}))
    commit(filled, Change(A, None), expected=expected)
    assert filled.get(SPACE, "a") is None


def test_more_memories_in_a_space_are_no_other_spaces(filled: Backend) -> None:
    expected = Expected()
    filled.observed(expected).spaces()
    commit(filled, Change(None, memory("c")))
    commit(filled, Change(A, None), expected=expected)
    assert filled.get(SPACE, "a") is None


def test_a_question_gets_the_same_answer_again_and_an_earlier_attempts_reading_is_used(filled: Backend) -> None:
    first = Expected()
    reader = filled.observed(first)
    edges, memories = reader.edges(SPACE, into=["a"]), reader.get_many(SPACE, ["a", "b", "a", "none"])
    assert memories == [A, B]
    commit(filled, Change(A, None), Change(B, None))
    assert reader.edges(SPACE, into=["a"]) == edges and reader.get_many(SPACE, ["b", "a"]) == [B, A]
    second = filled.observed(again := Expected(known=first))
    assert second.get(SPACE, "a") == A and second.edges(SPACE, into=["a"]) == edges
    assert (len(again), again.memories) == (2, {(SPACE, "a"): A})


def test_a_plan_cannot_rely_on_a_search(filled: Backend) -> None:
    with pytest.raises(AttributeError, match="by_words"):
        filled.observed(Expected()).by_words(SPACE, ["first"], EVERYTHING, 5)


def test_what_no_operation_does_is_not_journaled(filled: Backend) -> None:
    length = len(filled.journal(SPACE))
    assert filled.commit([TermSet("type", "dream", {}), Change(A, A, derived("second", unit(0, 1)))]) == Committed(
        versions={(SPACE, "a"): 1}
    )
    assert ids(filled.by_words(SPACE, ["second"], EVERYTHING, 5)) == ["a"]
    assert len(filled.journal(SPACE)) == length and "dream" in filled.terms("type")


def test_a_term_may_be_recorded_without_being_written(filled: Backend) -> None:
    commit(filled, TermChange(SPACE, "type", "omen", {}, None, written=False))
    assert "omen" in filled.terms("type") and filled.journal(SPACE)[0].after is None


def test_a_purged_space_keeps_the_ids_and_nothing_else(filled: Backend) -> None:
    commit(filled, TermSet(f"tag/{SPACE}", "x", {}), TermSet("space", SPACE, {"description": "y"}))
    result = commit(filled, SpacePurged(SPACE))
    assert sorted(entry.memory_id for entry in result.entries) == ["a", "b"]
    assert filled.journal(SPACE, newest_first=False) == list(result.entries)
    assert (listed(filled, SPACE), filled.terms(f"tag/{SPACE}"), filled.terms("space")) == ([], {}, {})
    assert listed(filled.at(SPACE, 2), SPACE) == []
    assert filled.health(thorough=True).problems == ()


def test_a_renamed_space_records_that_and_says_how_many_entries_were_dropped(filled: Backend) -> None:
    (entry,) = commit(filled, SpaceRenamed(SPACE, "there")).entries
    assert (entry.space, entry.seq, entry.before, entry.after) == ("there", 4, {"name": SPACE}, {"name": "there"})
    result = commit(filled, JournalDropped("there", 2))
    assert (result.dropped, result.entries[0].after) == (2, {"dropped": 2})
    assert commit(filled, JournalDropped("there", 2)) == Committed()


def test_a_memory_that_one_operation_writes_twice_counts_as_it_ends(store: Backend) -> None:
    long, short = memory("a", "long"), memory("a", "short")
    commit(store, Change(None, long, derived("tea milk water")), Change(long, short, derived("tea")))
    commit(store, Change(None, memory("b"), derived("tea")))
    both = store.gather(SPACE, Search(("tea",)))
    assert both.shares[0].tolist() == pytest.approx([both.rarity[0]] * 2)  # the shares of texts of usual length
