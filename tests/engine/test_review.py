"""The review queue: what waits, and the acts that settle it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from math import inf

import pytest

from nacre import Memory, MemoryStore
from nacre.conflicts.difference import differing_words
from nacre.engine.engine import entity_kind
from nacre.errors import ConflictError, ConflictWarning, InvalidInput, MemoryNotFound, UnknownName
from nacre.model import Link
from nacre.model.memory import SUSPICION
from nacre.model.review import DECISIONS, KINDS
from nacre.protocols import Page
from tests.engine.conftest import Ticking
from tests.samples import existing

YEAR = 366 * 86_400.0
OLD, NEW = "The port of the server is 80", "The port of the server is 90"


def content(store: MemoryStore) -> dict[str, Memory]:
    found = store.iterate(include_trashed=True, include_superseded=True)
    return {memory.id: replace(memory, last_accessed=0.0, access_count=0) for memory in found}


def vocabulary(store: MemoryStore) -> list[object]:
    return [store.backend.terms(kind) for kind in ("relation", entity_kind(store.space))]


def acts(store: MemoryStore) -> list[str]:
    return [act.name for act in dict.fromkeys(entry.operation for entry in store.journal(limit=None))]


@pytest.fixture
def waiting(store: MemoryStore, clock: Ticking) -> MemoryStore:
    """One thing of each kind, and one of no kind."""
    store.remember("An old rule that nobody confirmed", id="stale", type="procedural")
    store.remember("The choir sang in the park", id="event", type="episodic", entities=["Sarah Chen", "S. Chen"])
    clock.at += YEAR
    store.remember(OLD, id="old", tags=["net"], importance=0.9, contexts=["work"], metadata={"a": 1})
    store.remember(NEW, id="new", title="The port", metadata={"b": 2})
    store.remember("Perhaps it rains", id="doubtful", confidence=0.2)
    store.remember("Somebody said so", id="distrusted", trust=0.2)
    store.link("event", "stale", "Refine")
    return store


ITEMS = {
    "conflict": "new:old", "unvalidated": "doubtful", "stale": "stale", "word": "relation:Refine",
    "entity": "entity:Sarah Chen:S. Chen",
}  # fmt: skip


def test_everything_that_waits_is_listed_with_why(waiting: MemoryStore) -> None:
    found = waiting.review()
    assert [(item.kind, item.id) for item in found] == [
        ("conflict", "new:old"),
        ("unvalidated", "doubtful"),
        ("unvalidated", "distrusted"),
        ("stale", "stale"),
        ("word", "relation:Refine"),
        ("entity", "entity:Sarah Chen:S. Chen"),
    ]
    told = [item.why for item in found]
    assert told[0].endswith(": new '90', old '80'") and "_" not in told[0]
    assert told[1] == "confidence 0.2, never validated"
    assert told[2] == "trust 0.2, never validated"
    assert "366 days" in told[3]
    assert "'refines'" in told[4]
    assert "initials" in told[5]
    assert found[0].conflict is not None
    assert (found[0].conflict.a.id, found[0].conflict.b.id, found[0].conflict.words) == ("new", "old", ("90", "80"))
    assert all(item.decisions == DECISIONS[item.kind] for item in found)


@pytest.mark.parametrize(
    "earlier",
    [{"created_at": 1_000.0}, {"occurred_at": 1_000.0}, {"valid_from": 1_000.0}],
    ids=lambda each: next(iter(each)),
)
def test_the_newer_side_is_the_one_of_the_later_time_whichever_was_written_first(
    store: MemoryStore, earlier: dict[str, float]
) -> None:
    store.remember(NEW, id="new")
    result = store.remember_result(OLD, id="old", **earlier)  # type: ignore[arg-type]
    (conflict,) = result.conflicts
    assert (conflict.a.id, conflict.b.id, conflict.words) == ("new", "old", ("90", "80"))
    assert [other.id for other in result.others] == ["new"]
    assert "new '90', old '80'" in conflict.explanation
    assert [link.to for link in existing(store, "old").links] == ["new"]
    (item,) = store.review()
    assert item.id == "new:old" and item.conflict is not None and item.why == conflict.explanation
    assert (item.conflict.a.id, item.conflict.b.id, item.conflict.words) == ("new", "old", ("90", "80"))
    for asked in (None, "new", "old"):
        assert [(each.a.id, each.b.id) for each in store.find_conflicts(asked)] == [("new", "old")]
    assert store.note_conflicts(store.find_conflicts()) == 0  # noted already, by the older one
    assert store.decide("old:new", "newer")
    assert existing(store, "old").superseded_by == "new" and not existing(store, "new").superseded_by


def test_what_is_older_by_its_own_time_replaces_nothing(store: MemoryStore) -> None:
    store.remember(NEW, id="new")
    with pytest.raises(ConflictError, match="with new, which is newer"):
        store.remember(OLD, id="old", created_at=1_000.0, on_conflict="raise")
    with pytest.warns(ConflictWarning, match="with new, which is newer"):
        store.remember(OLD, id="warned", created_at=1_000.0, on_conflict="warn")
    store.purge("warned")
    for earlier in ({"created_at": 1_000.0}, {"occurred_at": 1_000.0}):
        store.remember(OLD, id="old", on_conflict="supersede", **earlier)  # type: ignore[arg-type]
        assert not existing(store, "new").superseded_by and [item.id for item in store.review()] == ["new:old"]
        store.purge("old")


def test_a_pair_that_both_sides_note_waits_once(store: MemoryStore) -> None:
    store.remember("The big door is open", id="one", on_conflict="ignore")
    store.remember("The red sea is wide", id="two", on_conflict="ignore")
    for source, target in (("one", "two"), ("two", "one")):
        store.link(source, target, "conflicts", data={"kind": "contradiction"})
    assert [item.id for item in store.review()] == ["two:one"]
    assert store.decide("two", "newer") and store.review() == []


def test_kinds_and_a_limit_narrow_the_queue(waiting: MemoryStore) -> None:
    assert [item.id for item in waiting.review(kinds="stale")] == ["stale"]
    assert [item.kind for item in waiting.review(kinds=["word", "conflict"])] == ["word", "conflict"]
    assert len(waiting.review(limit=2)) == 2
    assert waiting.review(kinds="stale", stale_days=1000) == []
    with pytest.raises(UnknownName, match="conflict"):
        waiting.review(kinds="conflicts")


def test_reading_the_review_is_no_operation(waiting: MemoryStore) -> None:
    before = content(waiting), waiting.journal(limit=None)
    waiting.review()
    assert (content(waiting), waiting.journal(limit=None)) == before


def test_contradictions_come_before_updates_and_duplicates_last(store: MemoryStore) -> None:
    for id, text in (("a1", "Use tabs here"), ("b1", OLD), ("c1", "The big door is open")):
        store.remember(text, id=id, tags=[id[0]])
    for id, kind in (("a1", "duplicate"), ("b1", "update"), ("c1", "contradiction")):
        store.remember(f"{id} once more", id=f"{id}x", tags=["z"], links=[Link(id, "conflicts", data={"kind": kind})])
    assert [item.id for item in store.review(kinds="conflict")] == ["c1x:c1", "b1x:b1", "a1x:a1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "decision"), [(kind, decision) for kind in KINDS for decision in DECISIONS[kind] if decision != "skip"]
)
def test_every_decision_is_one_act_settles_the_item_and_is_undone_by_one_undo(
    waiting: MemoryStore, kind: str, decision: str
) -> None:
    before, count, words = content(waiting), len(acts(waiting)), vocabulary(waiting)
    assert waiting.decide(ITEMS[kind], decision, into="refines" if kind == "word" else "", why="so decided")
    assert len(acts(waiting)) == count + 1
    assert waiting.journal()[0].operation.why == "so decided"
    assert ITEMS[kind] not in [item.id for item in waiting.review()]
    assert (content(waiting), vocabulary(waiting)) != (before, words)
    waiting.undo()
    assert (content(waiting), vocabulary(waiting)) == (before, words)
    assert ITEMS[kind] in [item.id for item in waiting.review()]
    assert waiting.health(thorough=True).problems == ()


@pytest.mark.parametrize("kind", KINDS)
def test_skipping_does_nothing(waiting: MemoryStore, kind: str) -> None:
    before, told = content(waiting), waiting.journal(limit=None)
    assert not waiting.decide(ITEMS[kind], "skip")
    assert (content(waiting), waiting.journal(limit=None)) == (before, told)
    assert ITEMS[kind] in [item.id for item in waiting.review()]


def test_keeping_both_ties_them_and_the_pair_is_not_brought_up_again(waiting: MemoryStore) -> None:
    waiting.decide("new:old", "keep_both")
    assert existing(waiting, "new").links == (Link("old", "contradicts"),)
    assert waiting.find_conflicts("new") == waiting.find_conflicts("old") == []


def test_what_both_are_true_is_not_marked_for_ever(waiting: MemoryStore) -> None:
    assert "updates " in waiting.recall_pack("port of the server", min_relevance=0.0).text
    waiting.decide("new:old", "keep_both")
    packed = waiting.recall_pack("port of the server", min_relevance=0.0)
    assert {"new", "old"} <= set(packed.ids())
    assert "conflict" not in packed.text and "contradict" not in packed.text


def test_what_is_not_a_conflict_is_never_asked_again(waiting: MemoryStore) -> None:
    waiting.decide("new:old", "not_a_conflict", why="two servers")
    assert existing(waiting, "new").links == (Link("old", "distinct_from"),)
    assert waiting.find_conflicts("new") == waiting.find_conflicts("old") == []
    assert not {"new", "old"} <= {memory.id for each in waiting.find_conflicts() for memory in (each.a, each.b)}
    assert "new:old" not in [item.id for item in waiting.review()]
    assert "conflict" not in waiting.recall_pack("port of the server", min_relevance=0.0).text
    waiting.edit("new", tags=["net"])
    assert existing(waiting, "new").links == (Link("old", "distinct_from"),)
    waiting.undo(last=2)
    assert "new:old" in [item.id for item in waiting.review()]


@pytest.mark.parametrize(("decision", "rel"), [("not_a_conflict", "distinct_from"), ("keep_both", "contradicts")])
def test_a_conflict_that_was_linked_by_hand_is_settled_by_a_decision_too(
    store: MemoryStore, decision: str, rel: str
) -> None:
    store.remember("The gate is green", id="old")
    store.remember("Ducks swim on the lake", id="new", on_conflict="ignore")
    for _ in range(2):  # somebody may link them again
        store.link("old", "new", "conflicts")
        assert [item.id for item in store.review(kinds="conflict")] == ["new:old"]
        before = content(store)
        assert store.decide("new:old", decision)
        assert store.review(kinds="conflict") == []
        assert (existing(store, "new").links, existing(store, "old").links) == ((Link("old", rel),), ())
        batch = store.undo()[0].operation.batch
        assert content(store) == before
        store.undo(batch)


def test_an_edited_text_is_compared_as_a_new_one_is(store: MemoryStore) -> None:
    store.remember("The port of the mail server is 80", id="old")
    store.remember("Ducks swim on the lake", id="new")
    store.edit("new", tags=["net"])
    assert existing(store, "new").links == ()
    store.edit("new", text="The port of the mail server is 90")
    assert [item.id for item in store.review(kinds="conflict")] == ["new:old"]
    store.edit("new", text="The port of the mail server is 91")
    assert [(link.to, link.rel) for link in existing(store, "new").links] == [("old", "conflicts")]
    store.undo(last=2)
    assert (existing(store, "new").text, existing(store, "new").links) == ("Ducks swim on the lake", ())


def test_an_edit_drops_what_no_longer_holds_on_either_side_and_finds_what_does(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    store.remember(NEW, id="new")
    store.remember("The lamp in the hall is green", id="lamp")
    for edited in ("old", "new"):
        assert [item.id for item in store.review(kinds="conflict")] == ["new:old"]
        store.edit(edited, text="The choir sings on Mondays")
        assert store.review(kinds="conflict") == []
        assert all(link.rel != "conflicts" for link in existing(store, "new").links)
        store.undo()
    assert [item.id for item in store.review(kinds="conflict")] == ["new:old"]
    store.edit("lamp", text="The port of the server is 100")
    assert {"lamp:new", "lamp:old"} & {item.id for item in store.review(kinds="conflict")}


def test_keeping_both_of_a_duplicate_says_that_they_are_distinct(store: MemoryStore) -> None:
    store.remember("Use tabs here", id="a")
    store.remember("Use tabs here", id="b")
    store.decide("b:a", "keep_both")
    assert existing(store, "b").links == (Link("a", "distinct_from"),)


@pytest.mark.parametrize(("decision", "heir", "former"), [("newer", "new", "old"), ("older", "old", "new")])
def test_one_may_take_the_place_of_the_other(waiting: MemoryStore, decision: str, heir: str, former: str) -> None:
    waiting.decide("new:old", decision)
    assert (existing(waiting, former).superseded_by, existing(waiting, heir).superseded_by) == (heir, "")
    assert [(link.to, link.rel) for link in existing(waiting, heir).links] == [(former, "supersedes")]
    assert existing(waiting, former).links == ()


def test_merging_keeps_what_only_one_of_them_knew(waiting: MemoryStore) -> None:
    waiting.decide("new:old", "merge", text="The port of the server was 80 and is 90")
    merged = existing(waiting, "new")
    assert (merged.text, merged.title) == ("The port of the server was 80 and is 90", "The port")
    assert (merged.tags, merged.contexts, merged.importance) == (("net",), ("work",), 0.9)
    assert merged.metadata == {"a": 1, "b": 2}
    assert existing(waiting, "old").superseded_by == "new"
    assert [hit.memory.id for hit in waiting.recall("was", strategy="keyword")] == ["new"]


def test_merging_without_a_text_keeps_the_newer_one(waiting: MemoryStore) -> None:
    waiting.decide("new:old", "merge")
    assert existing(waiting, "new").text == NEW


def test_nothing_waits_after_more_items_than_there_can_be(waiting: MemoryStore) -> None:
    assert not waiting.review(offset=sys.maxsize - 1, limit=5)
    assert not waiting.entity_suggestions(5, offset=sys.maxsize - 1)
    for refused in (waiting.review, waiting.entity_suggestions):
        with pytest.raises(InvalidInput, match="offset is -1; give 0 or more"):
            refused(offset=-1)
    for unlisted in (waiting.review, waiting.entity_suggestions, waiting.entities):
        with pytest.raises(InvalidInput, match="limit is -1; give 0 or more"):
            unlisted(limit=-1)


@pytest.mark.parametrize(
    ("kind", "settle", "decision"),
    [
        ("conflict", lambda store: store.decide("new:old", "not_a_conflict"), "newer"),
        ("conflict", lambda store: store.decide("new:old", "keep_both"), "keep_both"),
        ("conflict", lambda store: store.edit("new", text="The gull sings over the bay"), "newer"),
        ("unvalidated", lambda store: store.decide("doubtful", "validate"), "trash"),
        ("unvalidated", lambda store: store.edit("doubtful", confidence=0.9), "trash"),
        ("stale", lambda store: store.validate("stale"), "trash"),
        ("word", lambda store: store.decide("relation:Refine", "keep"), "merge"),
        ("entity", lambda store: store.decide(ITEMS["entity"], "distinct"), "merge"),
    ],
)
def test_a_decision_does_not_override_what_settled_the_item_meanwhile(
    waiting: MemoryStore, kind: str, settle: Callable[[MemoryStore], object], decision: str
) -> None:
    (item,) = (each for each in waiting.review() if each.id == ITEMS[kind])
    settle(waiting)
    before = content(waiting), vocabulary(waiting)
    with pytest.raises(InvalidInput, match="meanwhile; `nacre review` lists what waits"):
        waiting.decide(item, decision, into="refines" if kind == "word" else "")
    assert (content(waiting), vocabulary(waiting)) == before


def test_merging_what_was_edited_meanwhile_is_found_by_its_own_words(waiting: MemoryStore) -> None:
    (item,) = waiting.review(kinds="conflict")
    waiting.write("edit", edits={"new": waiting.editing(text="The window faces north")})  # which compares nothing
    waiting.decide(item, "merge")
    assert existing(waiting, "new").text == "The window faces north"
    assert [hit.memory.id for hit in waiting.recall("window", strategy="keyword")] == ["new"]
    assert not waiting.recall("90", strategy="keyword")
    best = waiting.recall("The port\n\nThe window faces north", k=1, strategy="semantic")[0]
    assert (best.memory.id, round(best.score, 2)) == ("new", 1.0)


@pytest.mark.parametrize(("decision", "gone"), [("trash_newer", "new"), ("trash_older", "old")])
def test_either_may_go_to_the_trash(waiting: MemoryStore, decision: str, gone: str) -> None:
    waiting.decide("new:old", decision)
    assert [id for id, memory in content(waiting).items() if memory.status == "trashed"] == [gone]


def test_validating_says_when(waiting: MemoryStore, clock: Ticking) -> None:
    waiting.decide("stale", "validate")
    validated = existing(waiting, "stale").last_validated_at
    assert validated is not None
    assert clock.at - validated < 10


def test_a_word_that_is_kept_is_known_from_then_on(waiting: MemoryStore) -> None:
    waiting.decide("relation:Refine", "keep")
    assert "Refine" in waiting.relations()
    assert [link.rel for link in existing(waiting, "event").links] == ["Refine"]


def test_a_word_that_is_merged_is_renamed_in_every_tie(waiting: MemoryStore) -> None:
    waiting.link("event", "stale", "refines", weight=0.5)
    waiting.link("old", "stale", "Refine")
    waiting.decide("relation:Refine", "merge", into="refines")
    assert "Refine" not in waiting.relations()
    assert [(link.to, link.rel) for link in existing(waiting, "event").links] == [("stale", "refines")]
    assert ("stale", "refines") in [(link.to, link.rel) for link in existing(waiting, "old").links]
    for into in ("", "nothing", "refines"):
        with pytest.raises(InvalidInput):
            waiting.decide("relation:Refine", "merge", into=into)


def test_an_id_may_be_its_first_characters(waiting: MemoryStore) -> None:
    assert waiting.decide("relation:R", "keep")
    assert waiting.decide("sta", "validate")
    with pytest.raises(InvalidInput, match="things that wait"):
        waiting.decide("d", "validate")
    for nothing in ("", "zzz", "event"):
        with pytest.raises(InvalidInput, match="nothing that waits"):
            waiting.decide(nothing, "skip")


def test_a_decision_that_the_item_does_not_offer_is_refused(waiting: MemoryStore) -> None:
    before = waiting.journal(limit=None)
    for id, decision in (("new:old", "validate"), ("stale", "keep_both"), ("relation:Refine", "trash"), ("stale", "x")):
        with pytest.raises(UnknownName, match="decision"):
            waiting.decide(id, decision)
    assert waiting.journal(limit=None) == before


def test_an_item_that_no_longer_stands_is_refused(waiting: MemoryStore) -> None:
    items = {item.id: item for item in waiting.review()}
    waiting.decide("new:old", "newer")
    waiting.purge("stale")
    waiting.decide("relation:Refine", "merge", into="refines")
    before = content(waiting)
    for id, decision, error in (
        ("new:old", "keep_both", InvalidInput),
        ("stale", "validate", MemoryNotFound),
        ("relation:Refine", "keep", InvalidInput),
    ):
        with pytest.raises(error):
            waiting.decide(items[id], decision)
    with pytest.raises(InvalidInput, match="nothing that waits"):
        waiting.decide("new:old", "newer")
    assert content(waiting) == before


HIDINGS: dict[str, Callable[[MemoryStore], object]] = {
    "forget": lambda store: store.forget("old"),
    "supersede": lambda store: store.supersede("old", "event"),
    "unlink": lambda store: store.unlink("new", "old", "conflicts"),
    "purge": lambda store: store.purge("old"),
}


@pytest.mark.parametrize("hide", HIDINGS)
def test_a_conflict_leaves_the_queue_when_a_side_no_longer_stands(waiting: MemoryStore, hide: str) -> None:
    HIDINGS[hide](waiting)
    assert waiting.review(kinds="conflict") == []


def test_what_is_pinned_or_only_happened_does_not_grow_stale(waiting: MemoryStore) -> None:
    waiting.edit("stale", pinned=True)
    assert waiting.review(kinds="stale") == []


def test_what_was_confirmed_long_ago_is_stale_again(waiting: MemoryStore, clock: Ticking) -> None:
    waiting.validate("doubtful", confidence=0.3)
    assert [item.id for item in waiting.review(kinds="unvalidated")] == ["distrusted"]
    clock.at += YEAR
    assert "doubtful" in [item.id for item in waiting.review(kinds="stale")]
    assert existing(waiting, "doubtful").confidence == 0.3


@pytest.fixture
def crowded(store: MemoryStore) -> MemoryStore:
    """Twelve noted conflicts, the contradictions last."""
    for n in range(12):
        kind = "contradiction" if n > 8 else "update"
        store.remember(f"Door {n} is open", id=f"old{n}", tags=[f"t{n}"], confidence=0.2)
        link = Link(f"old{n}", "conflicts", data={"kind": kind})
        store.remember(f"Window {n} is shut", id=f"new{n}", links=[link], on_conflict="ignore")
    return store


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the newer memories whose words were looked at."""
    seen: list[str] = []

    def counted(newer: str, older: str) -> tuple[str, str]:
        seen.append(newer)
        return differing_words(newer, older)

    monkeypatch.setattr("nacre.conflicts.difference.differing_words", counted)
    return seen


@pytest.mark.slow
def test_only_the_conflicts_that_are_returned_are_judged(crowded: MemoryStore, judged: list[str]) -> None:
    assert [item.id for item in crowded.review(limit=3)] == ["new9:old9", "new10:old10", "new11:old11"]
    assert judged == ["Window 9 is shut", "Window 10 is shut", "Window 11 is shut"]


def test_a_first_screen_reads_only_the_memories_of_its_own_conflicts(
    crowded: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    backend = type(crowded.backend)
    get_many = backend.get_many

    def counted(self: object, space: str, ids: Sequence[str]) -> list[Memory]:
        read.extend(ids)
        return get_many(self, space, ids)  # type: ignore[arg-type]

    monkeypatch.setattr(backend, "get_many", counted)
    monkeypatch.setattr("nacre.engine.review.SCREEN", 2)
    assert [item.id for item in crowded.review(limit=2)] == ["new9:old9", "new10:old10"]
    assert read == ["new9", "old9", "new10", "old10"]


@pytest.mark.slow
def test_a_decision_by_id_reads_only_the_memories_that_it_names(
    crowded: MemoryStore, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: set[str] = set()
    backend = type(crowded.backend)
    get_many, page = backend.get_many, backend.page

    def counted_many(self: object, space: str, ids: Sequence[str]) -> list[Memory]:
        memories: list[Memory] = get_many(self, space, ids)  # type: ignore[arg-type]
        read.update(memory.id for memory in memories)
        return memories

    def counted_page(self: object, *args: object, **options: object) -> Page:
        result: Page = page(self, *args, **options)  # type: ignore[arg-type]
        read.update(memory.id for memory in result.memories)
        return result

    monkeypatch.setattr(backend, "get_many", counted_many)
    monkeypatch.setattr(backend, "page", counted_page)
    monkeypatch.setattr("nacre.engine.entities.similar_names", forbidden)
    assert crowded.decide("new5:old5", "keep_both")
    assert (read, judged) == ({"new5", "old5"}, ["Window 5 is shut"])
    read.clear()
    assert crowded.decide("old7", "validate")
    # Only the times of both say whether it is the newer of its pair, whose id would begin so.
    assert (read, judged) == ({"old7", "new7"}, ["Window 5 is shut", "Window 7 is shut"])


def forbidden(*_: object) -> None:
    raise AssertionError("names were compared for an id that is none of an entity")


@pytest.mark.slow
def test_the_first_characters_may_end_anywhere_in_the_id_of_a_conflict(crowded: MemoryStore) -> None:
    assert crowded.decide("new5:", "keep_both")
    assert crowded.decide("new6:ol", "keep_both")
    with pytest.raises(InvalidInput, match="things that wait"):
        crowded.decide("new1", "keep_both")
    assert len(crowded.review(kinds="conflict")) == 10


@pytest.mark.slow
def test_a_list_that_stops_early_continues_with_the_same_items(
    crowded: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [item.id for item in crowded.review()]
    monkeypatch.setattr("nacre.engine.review.SCREEN", 5)
    assert [item.id for item in crowded.review()] == every
    assert len(every) == len(set(every)) == 24


RENTS = {"y2026": ("The rent is 1450 euros", "2026-02-01"), "y2024": ("The rent is 1300 euros", "2024-02-01"),
         "y2025": ("The rent is 1380 euros", "2025-02-01")}  # fmt: skip


def rents(store: MemoryStore, clock: Ticking) -> list[str]:
    """Three values of one thing, not stored in the order of their times; the items that wait for it."""
    clock.at = 1_790_000_000.0
    for id, (text, created) in RENTS.items():
        store.remember(text, id=id, created_at=created, on_conflict="ignore")
    for newer, older in (("y2026", "y2024"), ("y2025", "y2024"), ("y2026", "y2025")):
        store.link(newer, older, "conflicts", data={"kind": "update", "reason": "value", "sure": True})
    items = [item.id for item in store.review(kinds="conflict")]
    assert sorted(items) == ["y2025:y2024", "y2026:y2024", "y2026:y2025"]
    return items


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_chain_that_is_decided_in_any_order_holds_each_value_until_the_next(
    store: MemoryStore, clock: Ticking, order: Sequence[int]
) -> None:
    items = rents(store, clock)
    for item in (items[at] for at in order):
        if item in [each.id for each in store.review(kinds="conflict")]:
            store.decide(item, "newer")
    assert store.review(kinds="conflict") == []
    assert [existing(store, id).superseded_by for id in sorted(RENTS)] == ["y2025", "y2026", ""]
    for at, id in (("2024-06-01", "y2024"), ("2025-07-01", "y2025"), ("2026-07-01", "y2026")):
        assert [each.id for each in store.list_recent(valid_at=at)] == [id]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("older", "held_in"),
    [
        ({"y2026:y2025"}, ["y2024", "y2025", "y2025"]),
        ({"y2026:y2025", "y2026:y2024"}, ["y2024", "y2025", "y2025"]),
        ({"y2025:y2024"}, ["y2024", "y2024", "y2026"]),
        ({"y2026:y2025", "y2026:y2024", "y2025:y2024"}, ["y2024", "y2024", "y2024"]),
    ],
)
def test_what_is_decided_to_be_wrong_has_never_held_in_any_order(
    store: MemoryStore, clock: Ticking, older: set[str], held_in: list[str], order: Sequence[int]
) -> None:
    items = rents(store, clock)
    for item in (items[at] for at in order):
        if item in [each.id for each in store.review(kinds="conflict")]:
            store.decide(item, "older" if item in older else "newer")
    assert store.review(kinds="conflict") == []
    for at, id in zip(("2024-06-01", "2025-07-01", "2026-07-01"), held_in, strict=True):
        assert [each.id for each in store.list_recent(valid_at=at)] == [id]
    assert all((each.valid_until or inf) >= each.created_at for each in content(store).values())


def test_what_a_decision_had_rejected_can_be_restored(waiting: MemoryStore) -> None:
    before = existing(waiting, "new")
    waiting.decide("new:old", "older")
    assert not existing(waiting, "new").holds_at(before.created_at)
    assert waiting.restore("new")
    assert existing(waiting, "new").holds_at(before.created_at) and existing(waiting, "new").valid_until is None
    assert existing(waiting, "old").valid_from is None


@pytest.mark.parametrize("end", [None, 1_800_000_000.0])
@pytest.mark.parametrize("start", [None, 1_200_000_000.0])
@pytest.mark.parametrize("purged", [False, True])
def test_what_a_decision_had_rejected_gets_the_times_back_that_were_given(
    waiting: MemoryStore, start: float | None, end: float | None, purged: bool
) -> None:
    waiting.edit("new", valid_from=start, valid_until=end)
    before = existing(waiting, "new")
    waiting.decide("new:old", "older")
    rejected = existing(waiting, "new")
    assert rejected.valid_from == rejected.valid_until
    if purged:
        waiting.purge("old")
    waiting.restore("new")
    back = existing(waiting, "new")
    assert (back.valid_from, back.valid_until, back.metadata) == (start, end, before.metadata)


def test_other_metadata_does_not_take_the_times_from_what_was_rejected(waiting: MemoryStore) -> None:
    waiting.edit("new", valid_from=1_200_000_000.0)
    waiting.decide("new:old", "older")
    waiting.edit("new", metadata={"seen": True})
    assert not existing(waiting, "new").holds_at(1_300_000_000.0)
    waiting.restore("new")
    back = existing(waiting, "new")
    assert (back.valid_from, back.valid_until, back.metadata) == (1_200_000_000.0, None, {"seen": True})


@pytest.mark.parametrize("redacted", [False, True])
def test_what_was_deleted_stays_so_when_what_had_replaced_it_is_rejected(
    store: MemoryStore, clock: Ticking, redacted: bool
) -> None:
    rents(store, clock)
    store.decide("y2026:y2025", "newer")
    assert store.redact("y2025") if redacted else store.forget("y2025")
    before = existing(store, "y2025")
    store.decide("y2026:y2024", "older")
    assert existing(store, "y2025") == before and before.status == "trashed"


def test_a_time_that_was_changed_after_a_decision_stays(waiting: MemoryStore) -> None:
    waiting.decide("new:old", "older")
    waiting.edit("new", valid_until=1_800_000_000.0)
    waiting.restore("new")
    assert (existing(waiting, "new").valid_from, existing(waiting, "new").valid_until) == (None, 1_800_000_000.0)


def test_what_was_replaced_and_rejected_holds_again_without_an_end(store: MemoryStore, clock: Ticking) -> None:
    rents(store, clock)
    store.decide("y2026:y2025", "newer")
    store.decide("y2025:y2024", "older")
    store.purge("y2026")
    store.restore("y2025")
    assert (existing(store, "y2025").valid_from, existing(store, "y2025").valid_until) == (None, None)


def test_what_was_replaced_before_it_was_asked_about_still_waits(store: MemoryStore, clock: Ticking) -> None:
    rents(store, clock)
    store.decide("y2026:y2025", "newer")
    before = content(store)
    assert {item.id for item in store.review(kinds="conflict")} == {"y2026:y2024", "y2025:y2024"}
    store.decide("y2025:y2024", "older")  # the value between was never right
    assert [item.id for item in store.review(kinds="conflict")] == ["y2026:y2024"]
    store.decide("y2026:y2024", "newer")
    assert store.review(kinds="conflict") == []
    assert [each.id for each in store.list_recent(valid_at="2025-07-01")] == ["y2024"]
    for _ in range(2):
        store.undo()
    assert {id: replace(each, version=0) for id, each in content(store).items()} == {
        id: replace(each, version=0) for id, each in before.items()
    }
    store.decide("y2026:y2024", "newer")
    store.decide("y2025:y2024", "older")  # the one that was not replaced yet
    assert existing(store, "y2025").superseded_by == "y2026"
    assert [each.id for each in store.list_recent(valid_at="2025-07-01")] == ["y2024"]


def test_what_was_replaced_otherwise_does_not_wait(store: MemoryStore, clock: Ticking) -> None:
    rents(store, clock)
    store.supersede("y2025", "y2026")
    assert [item.id for item in store.review(kinds="conflict")] == ["y2026:y2024"]


def test_a_pair_of_the_same_moment_that_both_sides_note_waits_once(store: MemoryStore) -> None:
    for id, text in (("one", "The big door is open"), ("two", "The red sea is wide")):
        store.remember(text, id=id, created_at=1_000.0, on_conflict="ignore")
    for source, target in (("one", "two"), ("two", "one")):
        store.link(source, target, "conflicts", data={"kind": "contradiction"})
    assert len(store.review(kinds="conflict")) == 1
    assert store.decide("two:one", "newer") and store.review(kinds="conflict") == []


@pytest.mark.parametrize(
    ("decision", "confirmed"),
    [
        ("newer", {"new"}),
        ("older", {"old"}),
        ("merge", {"new"}),
        ("trash_newer", {"old"}),
        ("trash_older", {"new"}),
        ("keep_both", {"new", "old"}),
        ("not_a_conflict", set()),
    ],
)
def test_what_is_chosen_as_right_is_confirmed(waiting: MemoryStore, decision: str, confirmed: set[str]) -> None:
    waiting.decide("new:old", decision)
    assert {id for id in ("new", "old") if existing(waiting, id).last_validated_at} == confirmed


def test_of_several_items_with_an_id_the_decision_chooses(store: MemoryStore, clock: Ticking) -> None:
    store.remember(OLD, id="old")
    clock.at += 2 * YEAR
    store.remember(NEW, id="new", created_at=clock.at - 1.5 * YEAR)
    assert {(item.id, item.kind) for item in store.review()} >= {("new", "stale"), ("new:old", "conflict")}
    assert store.decide("new", "newer")
    assert existing(store, "old").superseded_by == "new"
    assert "new" not in [item.id for item in store.review(kinds="stale")]


def test_a_conflict_does_not_confirm_what_the_guard_has_marked(waiting: MemoryStore) -> None:
    waiting.edit("new", metadata={SUSPICION: ["it gives orders"]})
    waiting.decide("new:old", "newer")
    assert existing(waiting, "old").superseded_by == "new" and existing(waiting, "new").last_validated_at is None


def test_the_first_of_a_chain_does_not_wait_beside_the_last_though_its_own_end_is_later(
    store: MemoryStore, clock: Ticking
) -> None:
    rents(store, clock)
    store.edit("y2024", valid_until="2027-01-01")
    store.decide("y2025:y2024", "newer")
    assert [item.id for item in store.review(kinds="conflict")] == ["y2026:y2024", "y2026:y2025"]
    store.decide("y2026:y2025", "newer")
    assert store.review(kinds="conflict") == []


def test_what_was_replaced_does_not_wait_beside_what_is_of_the_same_moment(store: MemoryStore, clock: Ticking) -> None:
    rents(store, clock)
    for id in RENTS:
        store.edit(id, valid_from="2026-01-01")
    (item, *_) = store.review(kinds="conflict")
    assert store.decide(item, "newer")
    assert len(store.review(kinds="conflict")) == 1


def test_a_text_that_was_written_anew_is_not_stale(store: MemoryStore, clock: Ticking) -> None:
    for id in ("rewritten", "tagged"):
        store.remember(f"The code of the gate {id} is 1111", id=id, on_conflict="ignore")
    clock.at += YEAR
    store.edit("rewritten", text="The gate needs no code")
    store.tag("tagged", add=["gate"])
    assert [item.id for item in store.review(kinds="stale")] == ["tagged"]
    clock.at += YEAR
    assert {item.id: item.why for item in store.review(kinds="stale")} == {
        "rewritten": "not confirmed for 366 days",
        "tagged": "not confirmed for 732 days",
    }


def test_duplicates_that_are_merged_last_as_long_as_either_and_keep_their_links(
    store: MemoryStore, clock: Ticking
) -> None:
    store.remember("The landlord is Mrs Ito", id="old", valid_from=500.0)
    store.remember("The landlord is Mrs Ito", id="new", valid_from=900.0, expires_at=clock.at + 1_000)
    store.remember("The checklist of the flat", id="list", on_conflict="ignore")
    store.link("list", "old", "mentions")
    store.edit("new", links=[Link("old", "conflicts", data={"kind": "duplicate", "reason": "the same words"})])
    before = content(store)
    (item,) = store.review(kinds="conflict")
    store.decide(item, "merge")
    merged = existing(store, "new")
    assert (merged.expires_at, merged.valid_from) == (None, 500.0)
    assert existing(store, "list").links == (Link("new", "mentions"),)
    store.undo()
    assert content(store) == before
