"""Counters kept in the transaction say what counting all memories would say."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from nacre.model import Filter, Memory
from nacre.model.memory import size
from nacre.protocols import ALL, IndexesRebuilt, Tallied
from nacre.storage.in_memory import InMemoryBackend
from nacre.storage.sqlite import SQLiteBackend
from tests.samples import SPACE, derived, listed, memory, put, removed, written

FIELDS: tuple[Tallied, ...] = ("type", "status", "source", "tags", "contexts", "anti_contexts", "entities", "week")
NOW = 500.0
FILTERS = (
    ALL,
    Filter.live(NOW),
    Filter.where(status="trashed"),
    Filter.where(superseded_by__ne="", status__ne="trashed"),
    Filter.where(superseded_by__unset=True),
    Filter.where(status__in=("archived", "trashed")),
    Filter.where(importance__ge=0.0),
    Filter.live(NOW) & Filter.where(tags="a"),
    Filter.where(entities__all=("c.d",), status__ne="trashed"),
    Filter.where(tags="nobody has it"),
    Filter.live(NOW) & Filter.where(tags="a", entities="b"),
    Filter.live(NOW) & Filter.where(tags=("a", "b")),
    Filter.where(tags__none="a"),
    Filter.where(tags="a", type="semantic"),
    Filter.live(NOW) & Filter.where(metadata__experience_type="success"),
    Filter.live(NOW) & Filter.where(metadata__experience_type__in=("success", "failure", "nobody has it")),
    Filter.where(metadata__experience_type="success", tags="a"),
    Filter.where(metadata__experience_type__ne="success"),
    Filter.where(metadata__experience_type=1),
    Filter.live(NOW) & Filter.where(metadata__compressed=True),
    Filter.where(metadata__compressed=2**40),
    Filter.where(metadata__compressed__in=("yes", True)),
)


def varied(random: Random) -> Memory:
    names = ("a", "b", "c.d")
    return memory(
        f"m{random.randrange(12)}", status=random.choice(("short_term", "archived", "trashed")),
        superseded_by=random.choice(("", "", "m1")), expires_at=random.choice((None, None, 400.0, 600.0)),
        type=random.choice(("semantic", "episodic")), source=random.choice(("", "book")),
        tags=tuple(random.choices(names, k=random.randrange(3))), entities=tuple(random.choices(names, k=2)),
        created_at=random.uniform(-2e6, 2e6),
        metadata={
            "experience_type": random.choice(("success", "success", "failure", 1, ["success"], None)),
            "compressed": random.choice((True, False, 2**40, 2**70, None)),
        },
        contexts=random.choice(((), ("work",))), anti_contexts=random.choice(((), ("home",))),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_counters_agree_with_the_reference_after_every_write(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    store, reference = SQLiteBackend(tmp_path / "s.db"), InMemoryBackend()
    for _ in range(40):
        new, act = varied(random), random.randrange(6)
        for each in (store, reference):
            if act == 0 and each.get_many(SPACE, [new.id]):
                removed(each, new.id)
            elif act == 1:
                put(each, (new, derived(f"word {new.type}")))
            else:
                written(each, (new, derived(f"word {new.type}")))
    for where in FILTERS:
        assert store.count(SPACE, where) == reference.count(SPACE, where)
        assert store.size(SPACE, where) == reference.size(SPACE, where)
        for field in FIELDS:
            ours, theirs = store.tally(SPACE, field, where), reference.tally(SPACE, field, where)
            assert list(ours.items()) == list(theirs.items()), (where, field)
    assert store.health(thorough=True).problems == ()
    assert recounted(store)
    store.close()


def test_experiences_are_counted_and_their_bytes_summed_without_reading_one(tmp_path: Path) -> None:
    """So that neither grows with their number."""
    store = SQLiteBackend(tmp_path / "s.db")
    kinds = ("success", "success", "failure")
    stored = [memory(f"m{n}", metadata={"experience_type": kind}) for n, kind in enumerate(kinds)]
    written(store, *stored, memory("other"))
    experiences = Filter.live(NOW) & Filter.where(metadata__experience_type__in=("success", "failure"))
    assert (store.count(SPACE, experiences), store.size(SPACE, experiences)) == (3, sum(map(size, stored)))
    with store._connected() as connection:
        connection.execute("UPDATE counter SET n = n + 100 WHERE field IN ('metadata.experience_type', 'size')")
    assert (store.count(SPACE, experiences), store.size(SPACE, experiences)) == (203, sum(map(size, stored)) + 200)
    store.close()


def test_a_damaged_record_that_is_left_out_is_not_counted_either(tmp_path: Path) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    written(store, *(memory(f"m{n}", tags=("a",)) for n in range(3)))
    with store._connected() as connection:
        connection.execute("UPDATE version SET importance = NULL WHERE row = 2")
    assert len(listed(store, SPACE)) == 2
    assert (store.count(SPACE, Filter.where(tags="a")), store.count(SPACE, ALL)) == (2, 2)
    assert store.tally(SPACE, "tags", ALL) == {"a": 2}
    store.close()


def recounted(store: SQLiteBackend) -> bool:
    """Whether counting everything again changes nothing."""
    sql = "SELECT * FROM counter"
    totals = "SELECT name, memories, stems FROM present"
    with store._connected() as connection:
        before = [sorted(connection.execute(each).fetchall()) for each in (sql, totals)]
    store.commit([IndexesRebuilt()])
    with store._connected() as connection:
        return before == [sorted(connection.execute(each).fetchall()) for each in (sql, totals)]
