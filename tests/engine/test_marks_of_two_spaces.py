"""Marks of hits where a project is asked together with `personal`."""

from __future__ import annotations

from nacre.model import Hit, Link, Recollection
from nacre.model.recollection import with_conflicts
from nacre.project_store import merged
from tests.recall.factories import DAY, NOW
from tests.samples import memory


def test_what_the_other_space_leaves_no_room_for_is_named_with_its_words_if_it_replaces() -> None:
    update, contradiction = (
        Link("old", "conflicts", data={"kind": kind, "reason": "value"}) for kind in ("update", "contradiction")
    )
    own = with_conflicts(
        [
            Hit(memory("old", created_at=NOW - 9 * DAY), 1.0, (), relevance=0.9),
            Hit(memory("new", "Kramer does it", created_at=NOW - DAY, links=(update,)), 0.5, (), relevance=0.1),
            Hit(memory("other", created_at=NOW - DAY, links=(contradiction,)), 0.4, (), relevance=0.1),
        ]
    )
    personal = [Hit(memory(f"p{number}"), 0.9, (), relevance=0.5) for number in range(3)]
    hits = merged(Recollection(tuple(own)), Recollection(tuple(personal)), 3, lambda _: 1.0)
    assert [hit.memory.id for hit in hits] == ["old", "p0", "p1"]
    (mark,) = hits[0].marks
    assert mark.startswith("newer: new of ") and mark.endswith(': "Kramer does it"')
