"""A lesson that was replaced does not take the only place of the one that replaced it."""

from __future__ import annotations

from tests.lessons.booking import new_book


def test_with_a_limit_of_one_a_replaced_best_match_yields_to_its_successor() -> None:
    book = new_book()
    old = book.learn(title="Retry", content="retry the failing request three times").data.id
    new = book.learn(title="Back off", content="wait longer before each further retry of a request").data.id
    book.store.supersede(old, new)
    query = "retry the failing request three times"
    found = book.recall(query, limit=1, include_superseded=True).data
    assert [each.lesson.id for each in found] == [new]
    both = book.recall(query, limit=2, include_superseded=True).data
    assert [each.lesson.id for each in both] == [new, old]
    assert [book.store.get(id).access_count for id in (old, new)] == [1, 2]  # type: ignore[union-attr]
