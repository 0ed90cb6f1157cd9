"""The journal and the vocabulary."""

from __future__ import annotations

from dataclasses import replace

from nacre.model import JournalEntry, JournalFilter, Operation
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json
from nacre.protocols import Backend
from tests.samples import SPACE, entry, writing


def batches(store: Backend, told: JournalFilter, *, newest_first: bool = True, limit: int | None = None) -> list[str]:
    return [e.operation.batch for e in store.journal(SPACE, told, newest_first=newest_first, limit=limit)]


def acted(act: Operation) -> JournalEntry:
    return replace(entry(), operation=act)


def test_entries_come_back_as_they_were_written_newest_first_and_numbered_by_the_store(store: Backend) -> None:
    first = entry("a", batch="b1", at=1.5, after={"text": "x", "tags": ["t"], "links": [{"to": "y"}]}, seq=99)
    second = entry(
        "b", batch="b2", operation="edit", at=2.5, before={"importance": 0.5}, after={"importance": 0.75}, why="so"
    )
    with writing(store) as transaction:
        transaction.append([first, second])
    found = store.journal(SPACE)
    assert [e.memory_id for e in found] == ["b", "a"]
    assert found[0].seq > found[1].seq
    assert (found[0].operation, found[0].before, found[0].after) == (second.operation, second.before, second.after)
    assert (found[1].operation, found[1].before, found[1].after) == (first.operation, None, first.after)


def test_the_journal_is_narrowed_by_memory_and_batch_and_cut_by_limit(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry("a", batch="b1"), entry("b", batch="b1"), entry("a", batch="b2")])
    assert batches(store, JournalFilter(memory_id="a")) == ["b2", "b1"]
    assert [e.memory_id for e in store.journal(SPACE, JournalFilter(batch="b1"), newest_first=False)] == ["a", "b"]
    assert batches(store, JournalFilter(memory_id="a", batch="b1")) == ["b1"]
    assert batches(store, EVERYTHING, limit=1) == ["b2"]
    assert batches(store, JournalFilter(memory_id="a"), newest_first=False, limit=1) == ["b1"]
    assert batches(store, JournalFilter(batch="nothing")) == []


def test_the_journal_is_narrowed_to_several_memories(store: Backend) -> None:
    with writing(store) as transaction:
        written = (("a", "b1"), ("b", "b2"), ("c", "b3"), ("a", "b4"))
        transaction.append([entry(id, batch=batch) for id, batch in written])
    assert batches(store, JournalFilter(memory_ids=("a", "c", "elsewhere"))) == ["b4", "b3", "b1"]
    assert batches(store, JournalFilter(memory_ids=("a", "b"), after=1), newest_first=False) == ["b2", "b4"]
    assert batches(store, JournalFilter(memory_id="a", memory_ids=("a", "b"), batch="b1")) == ["b1"]
    assert batches(store, JournalFilter(memory_id="c", memory_ids=("a", "b"))) == []
    assert batches(store, JournalFilter(memory_ids=())) == []


def test_the_operations_that_wrote_a_memory_since_an_entry_come_newest_first(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry("a", batch="b1"), entry("b", batch="b2"), entry("a", batch="b3")])
    first, other, last = store.journal(SPACE, newest_first=False)
    assert store.operations_since(SPACE, "a", first.seq) == [last.operation, first.operation]
    assert store.operations_since(SPACE, "a", other.seq) == [last.operation]
    assert store.operations_since(SPACE, "a", last.seq + 1) == store.operations_since("nowhere", "a", 0) == []


def test_a_batch_is_found_by_its_first_characters(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry(batch=batch) for batch in ("ab", "abc", "abd", "b", "a%", "a_", "A", "é1")])
    assert batches(store, JournalFilter(batch="ab")) == ["abd", "abc", "ab"]
    assert batches(store, JournalFilter(batch="abc")) == ["abc"]
    assert batches(store, JournalFilter(batch="a%")) == ["a%"]
    assert batches(store, JournalFilter(batch="a_")) == ["a_"]
    assert batches(store, JournalFilter(batch="é")) == ["é1"]
    assert len(batches(store, JournalFilter(batch=""))) == 8


def test_the_journal_is_narrowed_by_act_and_actor_and_time(store: Backend) -> None:
    acts = [("remember", "lib", 1.0), ("edit", "cli", 2.0), ("edit", "lib", 3.0), ("forget", "cli", 3.0)]
    with writing(store) as transaction:
        transaction.append(
            [acted(Operation(name, actor, at, f"b{number}")) for number, (name, actor, at) in enumerate(acts)]
        )
    assert batches(store, JournalFilter(operation="edit")) == ["b2", "b1"]
    assert batches(store, JournalFilter(actor="cli")) == ["b3", "b1"]
    assert batches(store, JournalFilter(operation="edit", actor="cli")) == ["b1"]
    assert batches(store, JournalFilter(since=2.0)) == ["b3", "b2", "b1"]
    assert batches(store, JournalFilter(until=2.0)) == ["b1", "b0"]
    assert batches(store, JournalFilter(since=2.5, until=2.9)) == []
    assert batches(store, JournalFilter(since=3.0, until=3.0, operation="forget")) == ["b3"]


def test_after_and_upto_go_by_the_order_of_writing(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry(batch=f"b{number}", at=float(9 - number)) for number in range(4)])
    numbers = [e.seq for e in store.journal(SPACE, newest_first=False)]
    assert batches(store, JournalFilter(after=numbers[1])) == ["b3", "b2"]
    assert batches(store, JournalFilter(upto=numbers[1])) == ["b1", "b0"]
    assert batches(store, JournalFilter(after=numbers[0], upto=numbers[2])) == ["b2", "b1"]
    assert batches(store, JournalFilter(after=numbers[3])) == batches(store, JournalFilter(upto=numbers[0] - 1)) == []


def test_an_entry_tells_what_kind_of_thing_it_is_about(store: Backend) -> None:
    about = [entry("omen"), replace(entry("omen", after={"description": "x"}), kind="relation")]
    with writing(store) as transaction:
        transaction.append(about)
    assert [(e.memory_id, e.kind) for e in store.journal(SPACE, newest_first=False)] == [
        ("omen", "memory"),
        ("omen", "relation"),
    ]
    assert len(store.journal(SPACE, JournalFilter(memory_id="omen"))) == 2


def test_numbers_rise_over_transactions(store: Backend) -> None:
    for batch in ("b1", "b2", "b3"):
        with writing(store) as transaction:
            transaction.append([entry("a", batch=batch)])
    numbers = [e.seq for e in store.journal(SPACE, newest_first=False)]
    assert numbers == sorted(set(numbers))


def test_scrubbing_takes_the_content_and_the_reason_but_keeps_that_something_was_done(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append(
            [entry("a", after={"text": "secret"}, why="secret too", at=4.0), entry("b", after={"x": 1}, at=4.0)]
        )
        transaction.scrub_journal(SPACE, "a")
        transaction.scrub_journal(SPACE, "nobody")
    a, b = store.journal(SPACE, newest_first=False)
    assert (a.before, a.after, a.operation.why, a.operation.at, a.operation.name) == (None, None, "", 4.0, "remember")
    assert b.after == {"x": 1}


def test_an_empty_difference_is_not_a_missing_one(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry("a", before={}, after={})])
    assert (store.journal(SPACE)[0].before, store.journal(SPACE)[0].after) == ({}, {})


def test_scrubbing_a_memory_leaves_a_word_of_the_same_name_alone(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append(
            [entry("omen", after={"text": "x"}), replace(entry("omen", after={"y": 1}), kind="relation")]
        )
        transaction.scrub_journal(SPACE, "omen")
    assert [e.after for e in store.journal(SPACE, newest_first=False)] == [None, {"y": 1}]


def test_what_was_written_by_a_time_is_everything_up_to_the_last_entry_of_that_time(store: Backend) -> None:
    """The clock ran backwards between the second and the third, which gets the time of the second."""
    with writing(store) as transaction:
        transaction.append([entry(batch=f"b{at:g}", at=at) for at in (10.0, 30.0, 20.0, 40.0)])
    ten, thirty, twenty, forty = (e.seq for e in store.journal(SPACE, newest_first=False))
    assert ten < thirty < twenty < forty
    assert store.seq_at(SPACE, 9.9) == 0
    assert store.seq_at(SPACE, 10.0) == store.seq_at(SPACE, 20.0) == store.seq_at(SPACE, 29.9) == ten
    assert store.seq_at(SPACE, 30.0) == store.seq_at(SPACE, 39.0) == twenty
    assert store.seq_at(SPACE, 40.0) == store.seq_at(SPACE, 1e12) == forty
    assert store.seq_at("elsewhere", 1e12) == 0


def test_the_border_of_a_journal_splits_no_operation(store: Backend) -> None:
    """Three long operations overlap: 2 to 4, 3 to 7 and 9 to 10."""
    with writing(store) as transaction:
        transaction.append([entry(batch=batch) for batch in "abcbdecfgg"])
        transaction.append([entry(batch="g", space="there") for _ in range(3)])
    borders = [store.border(SPACE, upto) for upto in range(12)]
    assert borders == [0, 1, 1, 1, 1, 1, 1, 7, 8, 8, 10, 11]
    assert store.border("there", 3) == 3 and store.border("nowhere", 0) == 0


def test_a_whole_journal_begins_with_nothing(store: Backend) -> None:
    assert store.journal_begins(SPACE) == (0, 0.0)
    with writing(store) as transaction:
        transaction.append([entry(at=5.0)])
        assert transaction.forget_journal(SPACE, 0) == 0
    assert store.journal_begins(SPACE) == (0, 0.0)


def test_a_forgotten_journal_says_where_it_begins_and_goes_on_counting(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry(batch=f"b{at}", at=float(at)) for at in range(1, 5)])
        transaction.append([entry("other", space="there", batch="theirs", at=1.0)])
    numbers = [e.seq for e in store.journal(SPACE, newest_first=False)]
    with writing(store) as transaction:
        assert transaction.forget_journal(SPACE, numbers[1]) == 2
        assert transaction.forget_journal(SPACE, numbers[1]) == 0
    assert batches(store, EVERYTHING) == ["b4", "b3"]
    assert store.journal_begins(SPACE) == (numbers[1], 2.0)
    assert store.seq_at(SPACE, 0.5) == store.seq_at(SPACE, 2.5) == numbers[1]
    assert [e.operation.batch for e in store.journal("there")] == ["theirs"]
    assert store.journal_begins("there") == (0, 0.0)
    with writing(store) as transaction:
        assert transaction.forget_journal(SPACE, numbers[3] + 100) == 2
        transaction.append([entry(batch="b5", at=5.0)])
    assert store.journal_begins(SPACE) == (numbers[3], 4.0)
    assert [e.seq for e in store.journal(SPACE)] == [numbers[3] + 1]
    assert store.seq_at(SPACE, 4.5) == numbers[3]


def test_the_vocabulary_keeps_each_term_once_by_kind_with_its_data(store: Backend) -> None:
    with writing(store) as transaction:
        assert store.term("type", "omen") is None
        for kind, name in (("type", "omen"), ("type", "dream"), ("type", "omen"), ("relation", "omen")):
            transaction.put_term(kind, name, {})
        transaction.put_term("relation", "omen", {"description": "“foretells”", "review": True, "n": [1, None]})
    assert store.term("type", "omen") == {}
    assert store.term("relation", "omen") == {"description": "“foretells”", "review": True, "n": [1, None]}
    assert list(store.terms("type").items()) == [("dream", {}), ("omen", {})]
    assert store.terms("relation") == {"omen": {"description": "“foretells”", "review": True, "n": [1, None]}}
    assert store.terms("nothing") == {}


def test_a_word_that_is_put_as_none_is_gone(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.put_term("relation", "a", {"x": 1})
        transaction.put_term("relation", "b", {})
        transaction.put_term("relation", "a", None)
        transaction.put_term("relation", "nobody", None)
    assert store.terms("relation") == {"b": {}}


def test_a_stored_term_does_not_change_with_the_callers_data(store: Backend) -> None:
    given: dict[str, Json] = {"description": "first"}
    with writing(store) as transaction:
        transaction.put_term("relation", "a", given)
    given["description"] = "changed"
    assert store.terms("relation") == {"a": {"description": "first"}}


def test_no_entry_is_earlier_than_the_one_before_though_that_was_dropped(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry(batch="b1", at=5.0), entry(batch="b2", at=3.0), entry(space="other", at=3.0)])
        transaction.forget_journal(SPACE, 2)
        transaction.append([entry(batch="b3", at=4.0)])
    assert [e.operation.at for space in (SPACE, "other") for e in store.journal(space)] == [5.0, 3.0]
