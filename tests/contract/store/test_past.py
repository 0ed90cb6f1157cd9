"""Earlier states: what was written stays readable as it was, for every question, until it is scrubbed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nacre.model import Filter, Link, Memory, Operation
from nacre.protocols import ALL, AnyChange, Backend, Change, EmbedderIdentity, Reader, Scrubbed, Search
from tests.samples import SPACE, derived, entry, ids, listed, memory, put, removed, unit, writing, written

WORDS = ("tea", "milk", "water")
READS = 25


def answers(reader: Reader) -> dict[str, Any]:
    """All that one state can be asked, with the scores of a search."""
    gathered = reader.gather(SPACE, Search(WORDS, unit(1)))
    return {
        "newest": listed(reader, SPACE),
        "updated": listed(reader, SPACE, order="updated"),
        "iterate": list(reader.iterate(SPACE, ALL)),
        "values": list(reader.values(SPACE, ALL, ("id", "updated_at"))),
        "many": reader.get_many(SPACE, ["c", "a", "b", "nobody"]),
        "versions": [each.version for each in listed(reader, SPACE)],
        "ids": reader.ids_like(SPACE, "", 9),
        "count": reader.count(SPACE, Filter.where(tags="x")),
        "tags": reader.tally(SPACE, "tags", ALL),
        "edges": reader.edges(SPACE),
        "replaced": ids(reader.replaced_by(SPACE, "c")),
        "words": {term: scores(reader, term) for term in WORDS},
        "rarity": dict(zip(gathered.terms, gathered.rarity.round(5).tolist(), strict=True)),
        "near": ids(reader.by_vector(SPACE, unit(1, 0.1), ALL, 9)),
        "vectors": {id: rows.round(2).tolist() for id, rows in reader.vectors(SPACE, ["a", "b", "c"]).items()},
        "candidates": sorted(ids(gathered.places)),
        "journal": reader.journal(SPACE),
    }


def scores(reader: Reader, *terms: str) -> dict[str, float]:
    return {match.id: round(match.score, 5) for match in reader.by_words(SPACE, terms, ALL, 9)}


def filled(store: Backend) -> list[dict[str, Any]]:
    """Writes a short history and returns what the store answered after each of its entries."""
    steps: list[Callable[[], int]] = [
        lambda: written(store, (memory("a", "old", tags=("x",), updated_at=1.0), derived("tea", unit(1)))),
        lambda: written(store, (memory("b", links=(Link("a"),), updated_at=2.0), derived("tea", unit(1, 1)))),
        lambda: written(store, memory("a", "old", tags=("y",), updated_at=3.0)),
        lambda: written(store, (memory("a", "new", tags=("y",), updated_at=4.0), derived("milk", unit(0, 1)))),
        lambda: written(store, memory("b", links=(Link("c", "cites"),), superseded_by="c", updated_at=5.0)),
        lambda: written(store, (memory("c", session="s", position=1), derived("water", unit(1, 0.5)))),
        lambda: removed(store, "a"),
        lambda: written(store, (memory("a", "again"), derived("tea", unit(0, 0, 1)))),
        lambda: removed(store, "b", "c"),
    ]
    recorded = [answers(store)]
    for step in steps:
        step()
        recorded.append(answers(store))
    return recorded


def test_every_earlier_state_answers_as_it_did_then(store: Backend) -> None:
    recorded = filled(store)
    for seq, then in enumerate(recorded[:-1]):
        assert answers(store.at(SPACE, seq)) == then, seq
    assert answers(store.at(SPACE, 10)) == recorded[-1]
    assert answers(store.at(SPACE, 99)) == recorded[-1]


def test_a_change_in_place_leaves_the_names_and_links_of_versions_before_the_present_one(store: Backend) -> None:
    written(store, memory("a", tags=("x",), links=(Link("b", weight=0.25),)))
    written(store, memory("a", "new", tags=("x",), links=(Link("b", weight=0.25),)))
    put(store, memory("a", "new", tags=("y",), links=(Link("b", weight=0.5),)))
    for reader, tag, weight in ((store.at(SPACE, 1), "x", 0.25), (store.at(SPACE, 2), "y", 0.5), (store, "y", 0.5)):
        assert reader.tally(SPACE, "tags", ALL) == {tag: 1}
        assert reader.count(SPACE, Filter.where(tags=tag)) == 1
        assert [edge.weight for edge in reader.edges(SPACE)] == [weight]


def test_a_memory_counts_the_journaled_writes_it_has_seen(store: Backend) -> None:
    written(store, memory("a"))
    written(store, memory("a", "edited"), memory("b"))
    assert [each.version for each in store.get_many(SPACE, ["a", "b"])] == [2, 1]
    put(store, (memory("a", "edited", version=7), derived("words", unit(1))))
    store.touch(SPACE, ["a"], 9.0)
    assert [each.version for each in store.get_many(SPACE, ["a"])] == [2]
    assert [each.version for each in store.at(SPACE, 1).get_many(SPACE, ["a"])] == [1]


def test_a_version_is_no_part_of_what_a_memory_says(store: Backend) -> None:
    written(store, memory("a"))
    assert store.get_many(SPACE, ["a"]) == [memory("a")]
    assert "version" not in store.get_many(SPACE, ["a"])[0].to_dict()


def test_what_is_written_without_an_entry_changes_the_present_state_alone(store: Backend) -> None:
    seq = written(store, (memory("a"), derived("tea")))
    written(store, memory("a", importance=0.9))
    put(store, (memory("a", importance=0.9), derived("tea", unit(1))))
    assert [each.importance for each in store.at(SPACE, seq).get_many(SPACE, ["a"])] == [0.5]
    assert store.at(SPACE, seq + 1).get_many(SPACE, ["a"]) == store.get_many(SPACE, ["a"])
    assert ids(store.by_vector(SPACE, unit(1), ALL, 5)) == ["a"]
    assert store.pending(5) == []


def test_uses_in_the_past_are_those_of_the_present(store: Backend) -> None:
    seq = written(store, memory("a"))
    written(store, memory("a", "edited"))
    store.touch(SPACE, ["a"], 9.0)
    then = store.at(SPACE, seq).get_many(SPACE, ["a"])[0]
    assert (then.text, then.last_accessed, then.access_count) == ("text of a", 9.0, 1)


def test_of_several_states_written_before_one_entry_the_last_counts(store: Backend) -> None:
    written(store, memory("a", "first"))
    with writing(store) as transaction:
        transaction.put(memory("a", "passing"))
        transaction.put(memory("a", "second"))
        transaction.append([entry("a", at=2.0)])
    assert [each.text for each in store.at(SPACE, 1).get_many(SPACE, ["a"])] == ["first"]
    assert [(each.text, each.version) for each in store.get_many(SPACE, ["a"])] == [("second", 2)]


def test_nothing_of_a_purged_memory_is_left_in_the_past(store: Backend) -> None:
    written(store, (memory("a", "secret"), derived("tea", unit(1))), memory("b", superseded_by="a"))
    written(store, (memory("a", "edited secret"), derived("milk", unit(1))))
    with writing(store) as transaction:
        transaction.remove(SPACE, "a")
        transaction.scrub_journal(SPACE, "a")
        transaction.append([entry("a", at=5.0)])
    for seq in range(5):
        then = store.at(SPACE, seq)
        assert then.get_many(SPACE, ["a"]) == []
        assert then.by_words(SPACE, ["tea", "milk"], ALL, 9) == then.by_vector(SPACE, unit(1), ALL, 9) == []
        assert then.gather(SPACE, Search(("tea", "milk"), unit(1))).places == ()
    assert ids(store.at(SPACE, 2).replaced_by(SPACE, "a")) == ["b"]
    assert store.health(thorough=True).problems == ()


def test_an_id_that_is_used_again_after_a_purge_begins_anew(store: Backend) -> None:
    written(store, memory("a", "secret"))
    with writing(store) as transaction:
        transaction.remove(SPACE, "a")
        transaction.scrub_journal(SPACE, "a")
        transaction.append([entry("a")])
    written(store, memory("a", "other"))
    assert [each.version for each in store.get_many(SPACE, ["a"])] == [1]
    assert store.at(SPACE, 1).get_many(SPACE, ["a"]) == store.at(SPACE, 2).get_many(SPACE, ["a"]) == []


def test_a_redacted_memory_reads_so_since_it_first_existed_and_not_before(store: Backend) -> None:
    written(store, memory("other"))
    written(store, (memory("a", "secret", tags=("secret",)), derived("tea", unit(1))))
    written(store, (memory("a", "edited secret"), derived("milk", unit(1))))
    redacted = Change(store.get(SPACE, "a"), memory("a", "[redacted]"), derived("redacted"), journaled=False)
    store.commit([redacted, Scrubbed(SPACE, "a")], None, Operation("redact", "tester", 0.0, "b5"), lambda: 5.0)
    texts = [[each.text for each in store.at(SPACE, seq).get_many(SPACE, ["a"])] for seq in range(5)]
    assert texts == [[], [], ["[redacted]"], ["[redacted]"], ["[redacted]"]]
    assert store.at(SPACE, 2).by_words(SPACE, ["tea", "milk"], ALL, 9) == []
    assert store.at(SPACE, 3).by_vector(SPACE, unit(1), ALL, 9) == []
    assert [each.version for each in store.get_many(SPACE, ["a"])] == [3]


def test_what_is_redacted_under_an_id_that_was_used_before_begins_with_its_own_first_entry(store: Backend) -> None:
    written(store, memory("a", "first"))
    removed(store, "a")
    written(store, memory("other"))
    written(store, memory("a", "secret"))
    redacted = Change(store.get(SPACE, "a"), memory("a", "[redacted]"), derived("redacted"), journaled=False)
    store.commit([redacted, Scrubbed(SPACE, "a")], None, Operation("redact", "tester", 0.0, "b5"), lambda: 5.0)
    texts = [[each.text for each in store.at(SPACE, seq).get_many(SPACE, ["a"])] for seq in range(6)]
    assert texts == [[], [], [], [], ["[redacted]"], ["[redacted]"]]


def test_words_that_few_have_are_counted_in_the_state_that_is_asked(store: Backend) -> None:
    seq = written(store, *((memory(f"m{n}"), derived("tea kettle" if n < 3 else "kettle")) for n in range(20)))
    then = scores(store, "tea", "kettle")
    written(store, *((memory(f"n{n}"), derived("tea tea pot")) for n in range(50)))
    removed(store, "m0")
    assert scores(store, "tea", "kettle") != then
    assert scores(store.at(SPACE, seq), "tea", "kettle") == then


def test_states_that_ended_before_the_journal_begins_are_dropped_and_later_ones_stay(store: Backend) -> None:
    recorded = filled(store)
    with writing(store) as transaction:
        assert transaction.forget_journal(SPACE, 4) == 4
    for seq in range(4, 9):
        then, now = recorded[seq], answers(store.at(SPACE, seq))
        assert {**now, "journal": []} == {**then, "journal": []}, seq
    assert [e.seq for e in store.journal(SPACE, newest_first=False)] == list(range(5, 11))


def test_the_past_goes_along_when_a_space_is_renamed(store: Backend) -> None:
    filled(store)
    before = [sorted(ids(listed(store.at(SPACE, seq), SPACE))) for seq in range(11)]
    with writing(store) as transaction:
        transaction.rename_space(SPACE, "new")
    assert [sorted(ids(listed(store.at("new", seq), "new"))) for seq in range(11)] == before
    assert {each.space for each in listed(store.at("new", 2), "new")} == {"new"}
    assert ids(store.at("new", 1).by_words("new", ["tea"], ALL, 9)) == ["a"]


def test_changes_since_an_entry_are_named_once_by_their_last(store: Backend) -> None:
    filled(store)
    assert store.changes_since(SPACE, 0) == ["a", "b", "c"]
    assert store.changes_since(SPACE, 5) == ["a", "b", "c"]
    assert store.changes_since(SPACE, 8) == ["b", "c"]
    assert store.changes_since(SPACE, 10) == store.changes_since("nowhere", 0) == []


def test_the_journal_entry_of_a_removal_has_the_uses_that_were_counted(store: Backend) -> None:
    used = memory("a", "tea", last_accessed=5.0)
    operations = [Operation(name, "tester", 0.0, name) for name in ("remember", "forget")]
    store.commit([Change(None, used, derived("tea"))], None, operations[0], lambda: 6.0)
    store.touch(SPACE, ["a"], 7.0)
    store.touch(SPACE, ["a"], 8.0)
    store.commit([Change(store.get(SPACE, "a"), None)], None, operations[1], lambda: 9.0)
    (removal, _) = store.journal(SPACE)
    assert removal.before is not None
    assert (removal.before["access_count"], removal.before["last_accessed"]) == (2, 8.0)


def test_texts_that_were_written_since_an_entry_are_found_by_their_words(store: Backend) -> None:
    seq = written(store, (memory("a", "Green  TEA"), derived("green tea", unit(1))))
    written(store, (memory("b", "green tea"), derived("green tea", unit(1))), (memory("c", "milk"), derived("milk")))
    assert ids(store.written_since(SPACE, 0, ["green tea", "oats"])) == ["a", "b"]
    assert ids(store.written_since(SPACE, seq, ["green tea"])) == ["b"]
    assert (
        store.written_since("nowhere", 0, ["green tea"])
        == store.at(SPACE, seq).written_since(SPACE, seq, ["milk"])
        == []
    )


def test_the_last_position_of_each_session_is_known(store: Backend) -> None:
    spots = {"a": ("one", 0), "b": ("one", 4), "c": ("two", 2), "d": ("three", None), "e": ("", 9)}
    turns = [memory(id, id, session=session, position=at) for id, (session, at) in spots.items()]
    seq = written(store, *((turn, derived(turn.id)) for turn in turns))
    asked = ["one", "two", "three", "four"]
    assert store.last_positions(SPACE, seq, asked) == {"one": 4, "two": 2}
    written(store, (memory("f", "f", session="one", position=5, status="trashed"), derived("f")))
    assert store.last_positions(SPACE, seq, ["one"]) == {"one": 5}
    assert store.last_positions(SPACE, seq, ["one"], Filter.where(status="short_term")) == {"one": 4}
    assert store.at(SPACE, seq).last_positions(SPACE, seq, ["one"]) == {"one": 4}
    assert store.last_positions("nowhere", seq, ["one"]) == store.last_positions(SPACE, seq, []) == {}


def test_a_change_of_the_embedder_leaves_the_words_of_the_past(store: Backend) -> None:
    seq = written(store, (memory("a", "old"), derived("tea", unit(1))))
    written(store, (memory("a", "new"), derived("milk", unit(1))))
    with writing(store) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 8))
    then = store.at(SPACE, seq)
    assert ids(then.by_words(SPACE, ["tea"], ALL, 9)) == ["a"]
    assert then.by_vector(SPACE, unit(1), ALL, 9) == []
    assert ids(store.pending(9)) == ["a"]


def test_vectors_that_are_computed_again_for_a_text_are_those_of_its_earlier_versions_too(store: Backend) -> None:
    seq = written(store, (memory("a", "old", tags=("x",)), derived("tea", unit(1))))
    written(store, memory("a", "old", tags=("y",)))
    with writing(store) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 8))
    put(store, (memory("a", "old", tags=("y",)), derived("tea", unit(0, 1))))
    then = store.at(SPACE, seq)
    assert ids(then.by_vector(SPACE, unit(0, 1), ALL, 9)) == ["a"]
    assert [each.tags for each in then.get_many(SPACE, ["a"])] == [("x",)]


def test_a_reader_of_the_past_is_not_disturbed_by_writers(store: Backend) -> None:
    """Every answer is that of one state, while another thread edits, adds and removes."""
    put(store, *((memory(f"m{i}", "old", tags=("x",)), derived("tea", unit(1, i))) for i in range(10)))
    seq = written(store, memory("m0", "old", tags=("x",)))
    then = answers_of(store.at(SPACE, seq))
    stop, rounds = threading.Event(), list[int]()

    def write() -> None:
        for number in range(10_000):
            written(store, (memory(f"m{number % 10}", f"new {number}"), derived("milk", unit(0, 1))))
            written(store, (memory(f"n{number}", "later", tags=("x",)), derived("tea", unit(1))))
            removed(store, f"n{number}")
            rounds.append(number)
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [answers_of(store.at(SPACE, seq)) for _ in range(READS)]
        present = [listed(store, SPACE) for _ in range(READS)]
    finally:
        stop.set()
        writer.join()
    assert rounds, "the writer failed"
    assert all(each == then for each in seen)
    assert all(len(each) in (10, 11) for each in present)


def answers_of(reader: Reader) -> tuple[list[Memory], list[str], list[str], int]:
    candidates = reader.gather(SPACE, Search(("tea", "milk"), unit(1), pool=20))
    texts = reader.get_many(SPACE, ids(candidates.places))
    return listed(reader, SPACE), ids(candidates.places), [each.text for each in texts], reader.count(SPACE, ALL)


def test_links_to_what_is_scrubbed_lose_their_data_in_every_state_and_in_the_journal(store: Backend) -> None:
    quote, other = Link("a", "quotes", data={"kind": "secret", "said": "secret"}), Link("c", "quotes", data={"x": 1})
    written(store, memory("a"), memory("b"), memory("gone", links=(quote,)))
    first = written(store, memory("b", links=(quote,)))
    written(store, memory("b", links=(other, replace(quote, data={"said": "another secret"}))))
    removed(store, "gone")
    before = store.get(SPACE, "b")
    assert before is not None
    after = replace(before, links=(other,))
    purge: list[AnyChange] = [
        Change(before, after),
        Change(store.get(SPACE, "a"), None, journaled=False),
        Scrubbed(SPACE, "a"),
    ]
    committed = store.commit(purge, None, Operation("purge", "tester", 0.0, "b9"), lambda: 9.0)
    assert store.at(SPACE, first).get_many(SPACE, ["b"])[0].links == (Link("a", "quotes"),)
    assert store.at(SPACE, first + 1).get_many(SPACE, ["b"])[0].links == (other, Link("a", "quotes"))
    assert [edge.kind for edge in store.at(SPACE, first).edges(SPACE, into=["a"])] == ["", ""]
    assert "secret" not in repr((committed, store.journal(SPACE)))
    assert store.health(thorough=True).problems == ()


def test_a_link_to_what_is_redacted_stays_without_its_data(store: Backend) -> None:
    written(store, memory("a", "secret"))
    written(store, memory("b", links=(Link("a", "quotes", 0.5, {"kind": "secret", "said": "secret"}),)))
    redacted = Change(store.get(SPACE, "a"), memory("a", "[redacted]"), derived("redacted"), journaled=False)
    store.commit([redacted, Scrubbed(SPACE, "a")], None, Operation("redact", "tester", 0.0, "b5"), lambda: 5.0)
    assert [each.links for each in store.get_many(SPACE, ["b"])] == [(Link("a", "quotes", 0.5),)]
    assert [edge.kind for edge in store.edges(SPACE, into=["a"])] == [""]
    assert "secret" not in repr(store.journal(SPACE))
    assert store.health(thorough=True).problems == ()


def test_only_the_named_memories_lose_the_data_of_links(store: Backend) -> None:
    quote = Link("a", "quotes", data={"kind": "said", "said": "secret"})
    written(store, memory("a"), memory("own", agent="ada", links=(quote,)), memory("other", links=(quote,)))
    scrubbed = Scrubbed(SPACE, "a", Filter.where(agent="ada"))
    store.commit([scrubbed], None, Operation("redact", "ada", 0.0, "b5"), lambda: 5.0)
    assert [each.links for each in store.get_many(SPACE, ["own", "other"])] == [(Link("a", "quotes"),), (quote,)]
    assert {edge.source: edge.kind for edge in store.edges(SPACE, into=["a"])} == {"own": "", "other": "said"}
    entries = {entry.memory_id: repr(entry) for entry in store.journal(SPACE) if entry.operation.name != "redact"}
    assert [id for id, entry in entries.items() if "secret" in entry] == ["other"]
