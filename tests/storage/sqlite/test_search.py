"""Vectors of a file: found by signs or exactly, packed, purged to the last bit, and never rewritten without need."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from nacre import MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.model import Filter, Memory
from nacre.protocols import Chunk, Derived, EmbedderIdentity, Vectors, Words
from nacre.storage import candidates
from nacre.storage.sqlite import Key, SQLiteBackend, backup, search, signs
from nacre.storage.sqlite.search import Mirror, Mirrors, VectorIndex, VectorState
from tests.embedders import WordBag
from tests.samples import SPACE, Steps, derived, digest_of, memory, put, unit, vectors_now, writing

WIDTH = 128


def unit_rows(rows: Any) -> Vectors:
    halves: NDArray[np.float16] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return halves.astype(np.float32)


def rows(seed: int, pieces: int, width: int = 8) -> Vectors:
    """As the file keeps them."""
    return unit_rows(np.random.default_rng(seed).normal(size=(pieces, width)))


def families(seed: int, count: int, shift: float = 0.0) -> Vectors:
    """Groups of ten that are near each other, as texts are; `shift` gives all of them something in common."""
    random = np.random.default_rng(seed)
    centres = np.repeat(random.normal(size=(-(-count // 10), WIDTH)), 10, axis=0)[:count]
    return unit_rows(centres + random.normal(size=(count, WIDTH)) * 0.5 + shift)


def bags(seed: int, count: int) -> Vectors:
    """Bags of twenty words, counted, some words more common than others: no number is negative."""
    random = np.random.default_rng(seed)
    bag = np.zeros((count, WIDTH))
    np.add.at(bag, (np.repeat(np.arange(count), 20), random.zipf(1.3, 20 * count) % WIDTH), 1)
    return unit_rows(bag)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[apsw.Connection]:
    store = SQLiteBackend(tmp_path / "s.db")
    yield store._connections.get()
    store.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs are used from 256 vectors on, for which others need 4,096."""
    monkeypatch.setattr(search, "SMALL", 256)
    monkeypatch.setattr(search, "BLOCK", 32)
    monkeypatch.setattr(search, "RESCORED", 40)


def write(file: apsw.Connection, rows: Vectors, start: int = 1, step: int = 100, space: str = SPACE) -> None:
    for first in range(0, len(rows), step):
        part = rows[first : first + step]
        numbers = range(start + first, start + first + len(part))
        with file:
            search.write(file, space, numbers, [10 * number for number in numbers], part)
            search.pack_signs(file, space, part.shape[1])


def index_of(file: apsw.Connection, width: int = WIDTH) -> VectorIndex:
    return vectors_now(Mirror(SPACE), file, width)


def share_found(file: apsw.Connection, index: VectorIndex, stored: Vectors, asked: Vectors) -> float:
    """How many of the best ten are found, or others that are as near."""
    found = 0
    for row in asked:
        tenth = np.partition(stored @ row, -10)[-10]
        found += int((index.nearest(file, row, 10)[2] >= tenth - 1e-4).sum())
    return found / (10 * len(asked))


def centre(file: apsw.Connection) -> tuple[int, int, int]:
    ((number, seen, rescored),) = file.execute("SELECT number, vectors, rescored FROM centre").fetchall()
    return number, seen, rescored  # type: ignore[return-value]


def packed(file: apsw.Connection) -> list[int]:
    return [int(count) for (count,) in file.execute("SELECT count FROM signs ORDER BY last")]


def signs_agree(file: apsw.Connection) -> bool:
    """Whether all packed signs are those of the vectors, relative to the centre."""
    known = search.centre_of(file, SPACE)
    assert known is not None
    last = 0
    blocks: list[Any] = file.execute("SELECT last, bits FROM signs ORDER BY last").fetchall()
    for end, bits in blocks:
        halves = search.read_rows(file, SPACE, WIDTH, after=last, upto=end)[2]
        if search.sign_bits(halves, known.mean).tobytes() != bits:
            return False
        last = end
    return True


class GrowingMidway(VectorIndex):
    """Appends a row at the very moment that a search has looked at the size: the worst that a thread can do."""

    armed = False
    _size = 0

    @property
    def size(self) -> int:
        seen = self._size
        if self.armed:
            self.armed = False
            self.append(np.array([seen]), np.array([seen]), rows(9, 1, 16).astype(np.float16))
        return seen

    @size.setter
    def size(self, value: int) -> None:
        self._size = value


class Handed:
    """A lock that another thread takes at the very moment it is free."""

    def __init__(self, then: Callable[[], object]) -> None:
        self.then = [then]

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        if self.then:
            self.then.pop()()


def test_the_index_of_a_mirror_is_that_which_was_asked_for(file: apsw.Connection) -> None:
    mirror, before, after = Mirror(0), VectorState(1, None, 0, None, None), VectorState(2, None, 0, None, None)
    mirror._lock = Handed(lambda: mirror.current(file, after, 384))  # type: ignore[assignment]
    assert mirror.current(file, before, 256).dimensions == 256


@pytest.mark.parametrize("count", [5, 450])
@pytest.mark.parametrize("allowed", [None, np.arange(500), np.arange(3)])
def test_a_search_sees_one_size_from_beginning_to_end(
    file: apsw.Connection, count: int, allowed: np.ndarray[tuple[int], np.dtype[np.int64]] | None
) -> None:
    index, drawn = GrowingMidway(16), rows(1, count, 16)
    index.append(np.arange(count), np.arange(count), drawn.astype(np.float16))
    index.armed = True
    chunks, owners, cosines = index.nearest(file, drawn[0], 3, allowed)
    assert (chunks[0], owners[0], len(cosines)) == (0, 0, 3)
    assert index.size == count + 1


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_signs_are_relative_to_the_mean_so_that_what_all_texts_have_in_common_does_not_hide_the_nearest(
    file: apsw.Connection,
) -> None:
    stored = families(1, 2_000, shift=2.0)
    assert (stored @ stored[0]).mean() > 0.6
    write(file, stored)
    index = index_of(file)
    assert index.centre is not None, "signs are good enough for these"
    assert share_found(file, index, stored, stored[::40]) > 0.97


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_where_signs_lose_neighbours_every_vector_is_compared(file: apsw.Connection) -> None:
    stored = bags(1, 1_000)
    write(file, stored)
    assert centre(file)[2] == 0
    index = index_of(file)
    assert share_found(file, index, stored, stored[::20]) > 0.999
    for place in range(0, 1_000, 10):
        assert index.nearest(file, stored[place], 1)[2][0] == pytest.approx(1, abs=2e-3)


@pytest.mark.slow
def test_a_bag_of_words_finds_the_identical_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SMALL", 512)

    def embed(texts: Any) -> Vectors:
        return np.abs(WordBag(64).embed(texts))

    texts = [f"Shelf {number} keeps {number * 7} cups and {number * 13} plates" for number in range(600)]
    with MemoryStore(tmp_path / "s.db", embedder=embed) as store:
        store.write("fill", new=[store.draft(text) for text in texts])
        for text in texts[::20]:
            assert store.recall(text, k=1, strategy="semantic")[0].memory.text == text


@pytest.mark.parametrize(("share", "expected"), [(1, (400, 1)), (64, (1_200, 10)), (4_096, (0, 1))])
def test_the_rarer_the_sample_the_more_must_be_compared(share: int, expected: tuple[int, int]) -> None:
    """A space of many times as many vectors has as many times as many neighbours for the same places."""
    drawn = families(1, 2_000)
    assert signs.enough(drawn, drawn.mean(axis=0), share * 2_000) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_space_is_checked_again_when_it_has_doubled(file: apsw.Connection) -> None:
    good, bad = families(1, 500), bags(2, 1_500)
    write(file, good[:255])
    assert file.execute("SELECT * FROM centre").fetchall() == []
    write(file, good[255:], 256)
    number, seen, rescored = centre(file)
    assert (number, rescored) == (1, 40)
    assert 256 <= seen < 400
    write(file, bad, 501)
    number, seen, rescored = centre(file)
    assert number > 1
    assert rescored == 0
    assert seen >= 1_000


@pytest.mark.usefixtures("small")
def test_a_space_that_was_measured_by_other_steps_is_checked_at_the_next_packing(file: apsw.Connection) -> None:
    stored = families(1, 350)
    write(file, stored[:256], step=256)
    number, seen, rescored = centre(file)
    write(file, stored[256:288], 257)
    assert centre(file) == (number, seen, rescored), "it has not doubled"
    file.execute("UPDATE centre SET rescored = ?", (4 * search.RESCORED,))
    write(file, stored[288:319], 289, step=1)
    assert centre(file)[2] == 4 * search.RESCORED, "there is no whole block to pack"
    write(file, stored[319:320], 320)
    assert centre(file)[1:] == (320, rescored)
    assert signs_agree(file)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_signs_are_taken_anew_when_the_mean_has_moved(file: apsw.Connection) -> None:
    before, after = families(1, 300, shift=0.6), families(2, 1_500, shift=-0.6)
    write(file, before)
    reader = Mirror(SPACE)
    first = vectors_now(reader, file, WIDTH)
    write(file, after, 301)
    stored = np.concatenate([before, after])
    second = vectors_now(reader, file, WIDTH)
    assert first.centre is not None
    assert second.centre is not None
    assert second.centre.number > first.centre.number
    assert float(np.abs(second.centre.mean - stored.mean(axis=0)).max()) < 0.1
    assert share_found(file, second, stored, after[::50]) > 0.97
    assert sum(packed(file)) > 1_700
    assert signs_agree(file), "none is left that is relative to the former mean"


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_while_the_mean_hardly_moves_the_signs_stay(file: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "WIDENINGS", ((1, 1), (4, 1), (16, 1)))
    stored = families(1, 3_000)[np.random.default_rng(0).permutation(3_000)]
    write(file, stored)
    number, seen, _ = centre(file)
    assert number == 1
    assert seen >= 1_500
    assert share_found(file, index_of(file), stored, stored[::60]) > 0.97


@pytest.mark.usefixtures("small")
def test_signs_are_packed_in_whole_blocks_and_the_rest_is_read_from_the_vectors(file: apsw.Connection) -> None:
    stored = families(1, 300)
    write(file, stored[:255], step=255)
    assert packed(file) == []
    write(file, stored[255:256], 256)
    assert packed(file) == [32] * 8
    write(file, stored[256:287], 257, step=1)
    assert packed(file) == [32] * 8
    write(file, stored[287:], 288, step=1)
    assert packed(file) == [32] * 9
    index = index_of(file)
    assert index.size == 300
    for place in (0, 255, 256, 299):
        assert index.nearest(file, stored[place], 1)[0].tolist() == [place + 1]


@pytest.mark.usefixtures("small")
def test_a_process_that_begins_reads_signs_and_only_the_newest_vectors(file: apsw.Connection) -> None:
    write(file, families(1, 700))
    seen: list[int] = []
    read = search.rows_after

    def counting(*args: Any) -> list[tuple[Any, ...]]:
        seen.append(len(found := read(*args)))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "rows_after", counting)
        assert index_of(file).size == 700
    assert sum(seen) == 700 % 32


@pytest.mark.usefixtures("small")
def test_the_nearest_are_the_same_where_the_cosines_of_others_are_read_with_them(file: apsw.Connection) -> None:
    stored = families(1, 600)
    write(file, stored)
    with file:
        search.remove(file, SPACE, [600])
    index, nobody = index_of(file), 7
    owners = np.array(sorted([10, 20, nobody, 3_000, *range(5_000, 6_001, 10)]))
    for row, allowed in product(stored[:3], (None, np.arange(100, 2_000, 10))):
        alone = index.nearest(file, row, 12, allowed)
        together, cosines = index.search(file, row, 12, allowed, owners)
        assert [each.tolist() for each in alone] == [each.tolist() for each in together]
        assert np.array_equal(cosines, index.cosines(file, row, owners))
    assert cosines[list(owners).index(nobody)] == cosines[-1] == 0


@pytest.mark.usefixtures("small")
def test_a_reader_reads_only_what_changed_since(file: apsw.Connection) -> None:
    stored = families(1, 900)
    write(file, stored[:700])
    reader = Mirror(SPACE)
    vectors_now(reader, file, WIDTH)
    asked: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        read = search.rows_after
        patch.setattr(search, "rows_after", lambda *args: asked.append(args[2]) or read(*args))  # type: ignore[func-returns-value]
        assert vectors_now(reader, file, WIDTH).size == 700
        assert asked == [], "nothing changed"
        write(file, stored[700:710], 701)
        with file:
            search.remove(file, SPACE, [3])
        index = vectors_now(reader, file, WIDTH)
    assert asked[-1] >= 700
    assert index.size == 710
    assert 3 not in index.nearest(file, stored[2], 10)[0]
    assert index.nearest(file, stored[705], 1)[0].tolist() == [706]


def test_a_reader_that_holds_the_vectors_themselves_forgets_a_removed_one(file: apsw.Connection) -> None:
    write(file, rows(1, 5))
    reader = Mirror(SPACE)
    assert len(vectors_now(reader, file, 8).nearest(file, rows(1, 1)[0], 9)[0]) == 5
    with file:
        search.remove(file, SPACE, [2])
    assert sorted(vectors_now(reader, file, 8).nearest(file, rows(1, 1)[0], 9)[0]) == [1, 3, 4, 5]


def test_an_owner_written_during_a_search_is_not_looked_at(file: apsw.Connection) -> None:
    index = VectorIndex(8)
    index.append(np.arange(10), np.full(10, 7), rows(1, 10).astype(np.float16))
    index.cosines(file, rows(1, 1)[0], np.array([7]))  # lists the rows of each owner
    assert index._rows_of(np.array([7]), 4).tolist() == [0, 1, 2, 3]


def test_an_owner_that_came_after_the_rows_were_listed_is_known(file: apsw.Connection) -> None:
    index, drawn = VectorIndex(8), rows(1, 6)
    for place in range(6):
        index.append(np.array([place]), np.array([10 * place]), drawn[place : place + 1].astype(np.float16))
        cosines = index.cosines(file, drawn[place], np.array([10 * place, 0]))
        assert cosines.tolist() == pytest.approx([1, drawn[place] @ drawn[0]], abs=2e-3)


def test_when_removals_are_forgotten_readers_read_everything_again(
    file: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "REMOVALS_LOGGED", 3)
    write(file, rows(1, 10))
    reader = Mirror(SPACE)
    vectors_now(reader, file, 8)
    for chunk in range(1, 6):
        with file:
            search.remove(file, SPACE, [chunk])
    ((left,),) = file.execute("SELECT count(*) FROM removed").fetchall()
    assert left == 1, "the fourth forgets all of them"
    assert sorted(vectors_now(reader, file, 8).nearest(file, rows(1, 1)[0], 10)[0]) == [6, 7, 8, 9, 10]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("rescored", "limit", "expected"), [(40, 5, 40), (40, 30, 120), (160, 5, 160), (160, 30, 480)])
def test_who_wants_more_has_more_compared(
    file: apsw.Connection, monkeypatch: pytest.MonkeyPatch, rescored: int, limit: int, expected: int
) -> None:
    stored = families(1, 600)
    write(file, stored)
    asked: list[int] = []
    read = search.arrays
    monkeypatch.setattr(search, "arrays", lambda rows, width: asked.append(len(rows)) or read(rows, width))  # type: ignore[func-returns-value]
    for chosen_from in (1, 10):
        index = VectorIndex(WIDTH, search.Centre(1, stored.mean(axis=0), 600, rescored, chosen_from))
        index.append(np.arange(1, 601), np.arange(1, 601), stored.astype(np.float16))
        assert len(index.nearest(file, stored[0], limit)[0]) == limit
        assert len(index.nearest(file, stored[0], limit, np.arange(1, 601, 20))[0]) == limit
    assert asked == [expected, 30] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_finer_choice_finds_more_with_as_many_comparisons(file: apsw.Connection) -> None:
    stored = rows(1, 3_000, WIDTH)
    write(file, stored)
    found = []
    for chosen_from in (1, search.CHOSEN_FROM):
        index = VectorIndex(WIDTH, search.Centre(1, stored.mean(axis=0), 3_000, 40, chosen_from))
        index.append(np.arange(1, 3_001), np.arange(1, 3_001), stored.astype(np.float16))
        found.append(share_found(file, index, stored, stored[::60]))
    assert found[1] > found[0] + 0.05


@pytest.mark.parametrize("wanted", [1, 7, 40, 400, 2_999, 3_000, 9_000])
@pytest.mark.parametrize("far", [0.0, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("spread", [1, 6, 60])
def test_the_lowest_distances_are_chosen_whatever_a_part_of_them_shows(wanted: int, far: float, spread: int) -> None:
    random = np.random.default_rng(wanted)
    for rising in (False, True):
        distances = (192 + spread * random.normal(size=3_000)).astype(np.uint16)
        if rising:
            distances.sort()
        distances[:: search.COUNTED_EVERY] += np.uint16(100 * random.integers(2))  # these say too much
        distances[random.random(3_000) < far] = search.FAR
        order = np.lexsort((np.arange(3_000), distances))
        expected = np.sort([place for place in order[:wanted].tolist() if distances[place] != search.FAR])
        assert np.array_equal(search.lowest(distances, wanted), expected)


def test_the_likeliest_have_the_highest_sums_where_their_signs_are_set() -> None:
    stored, asked = rows(1, 500, 100), rows(2, 1, 100)[0]
    mean = stored.mean(axis=0)
    among = np.arange(0, 500, 3)
    sums = (stored[among] > mean) @ asked
    expected = np.sort(among[np.argsort(-sums, kind="stable")[:20]])
    assert np.array_equal(search.likeliest(search.sign_bits(stored, mean), among, asked, 20), expected)


@pytest.mark.usefixtures("small")
def test_where_counts_of_signs_lose_too_many_a_finer_choice_is_tried_first() -> None:
    drawn = families(1, 3_000)[np.random.default_rng(0).permutation(3_000)]
    assert signs.enough(drawn[:2_400], drawn.mean(axis=0), 2_400) == (40, search.CHOSEN_FROM)
    assert signs.enough(drawn, drawn.mean(axis=0), 3_000) == (40, 1)


@pytest.mark.usefixtures("small")
def test_only_some_owners_are_searched_and_none_of_them_is_lost(file: apsw.Connection) -> None:
    stored = families(1, 1_000)
    write(file, stored)
    index = index_of(file)
    for allowed in (np.arange(10, 10_010, 20), np.array([10, 70, 9_990]), np.array([], np.int64)):
        among = stored[allowed // 10 - 1]
        chunks, owners, cosines = index.nearest(file, stored[5], 3, allowed)
        exact = np.sort(among @ stored[5])[::-1][:3]
        assert np.allclose(cosines, exact, atol=1e-3)
        assert np.array_equal(owners, 10 * chunks)
        assert np.isin(owners, allowed).all()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("make", [families, bags])
def test_the_cosine_of_an_owner_is_that_of_its_best_chunk(file: apsw.Connection, make: Any) -> None:
    stored = make(1, 600)
    with file:
        search.write(file, SPACE, range(1, 601), [1 + number // 3 for number in range(600)], stored)
        search.pack_signs(file, SPACE, stored.shape[1])
    index = index_of(file)
    owners = np.array([200, 7, 999, 7, 1])
    exact = (stored @ stored[0]).reshape(200, 3).max(axis=1)
    expected = [exact[199], exact[6], 0, exact[6], exact[0]]
    assert np.allclose(index.cosines(file, stored[0], owners), expected, atol=1e-3)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("chunk", [1, 20, 32, 33, 690])
def test_nothing_of_a_removed_vector_is_left_in_the_file(tmp_path: Path, chunk: int) -> None:
    path = tmp_path / "s.db"
    store = SQLiteBackend(path)
    file, stored = store._connections.get(), families(1, 700)
    write(file, stored)
    vector = stored[chunk - 1].astype("<f2").tobytes()
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert path.read_bytes().count(vector) == 1
    with file:
        search.remove(file, SPACE, [chunk])
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert path.read_bytes().count(vector) == 0
    held = [np.frombuffer(chunks, "<i8") for (chunks,) in file.execute("SELECT chunks FROM signs")]
    assert chunk not in np.concatenate(held)
    assert sum(packed(file)) == (671 if chunk <= 672 else 672)
    index = index_of(file)
    assert len(index.nearest(file, stored[chunk - 1], 700)[0]) == 699 or index.centre is not None
    assert chunk not in index.nearest(file, stored[chunk - 1], 10)[0]
    store.close()


@pytest.mark.usefixtures("small")
def test_when_all_vectors_of_a_space_are_gone_so_is_their_mean(file: apsw.Connection) -> None:
    write(file, families(1, 300))
    with file:
        search.remove(file, SPACE, range(1, 301))
    for table in ("vector", "signs", "centre"):
        assert file.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE signs SET bits = x'00' WHERE row = 2",
        "UPDATE signs SET chunks = owners, owners = chunks, chunks = zeroblob(256) WHERE row = 2",
        "UPDATE signs SET bits = 'words' WHERE row = 2",
        "UPDATE centre SET mean = x'0102030405'",
        "UPDATE centre SET mean = zeroblob(8)",
    ],
)
def test_damaged_signs_are_computed_again_and_nothing_is_lost(
    file: apsw.Connection, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored = families(1, 500)
    write(file, stored)
    file.execute(damage)
    with caplog.at_level(logging.WARNING):
        index = index_of(file)
    assert index.size == 500
    assert share_found(file, index, stored, stored[::20]) > 0.97
    if "signs" in damage:
        assert "nacre store reindex" in caplog.text
        assert any("block of signs" in fault for fault in signs.faults(file))
        with file:
            search.remove(file, SPACE, [40])
        assert list(signs.faults(file)) == [], "a block that is written anew is sound"


@pytest.mark.usefixtures("small")
def test_a_damaged_vector_is_left_out_and_the_others_are_found(
    file: apsw.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    stored = families(1, 500)
    write(file, stored)
    file.execute("UPDATE vector SET halves = x'00' WHERE chunk IN (7, 499)")
    reader = Mirror(SPACE)
    with caplog.at_level(logging.WARNING):
        chunks = vectors_now(reader, file, WIDTH).nearest(file, stored[6], 12)[0]
    assert 7 not in chunks
    assert len(chunks) == 12
    assert "damaged" in caplog.text


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_missing_signs_are_reported_by_the_doctor(tmp_path: Path) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    with writing(store) as transaction:
        for number in range(300):
            put_with_vectors(transaction, f"m{number}", number)
    assert store.health(thorough=True).problems == ()
    file = store._connections.get()
    file.execute("DELETE FROM signs WHERE row = 1")
    (problem,) = store.health(thorough=True).problems
    assert "224 of 256" in problem or "of 288" in problem
    assert "nacre store reindex" in problem
    store.close()


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_copies_and_a_change_of_key_carry_the_signs_along(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"
    store, stored = SQLiteBackend(path), families(1, 500)
    write(store._connections.get(), stored)
    expected = index_of(store._connections.get()).nearest(store._connections.get(), stored[3], 5)
    store.copy_to(copy)
    store.close()
    key = Key("a long enough passphrase")
    backup.rekey(path, None, key)
    assert backup.restore(tmp_path / "back.db", copy, tmp_path / "kept.db", None, None) is None
    for file, secret in ((path, key), (copy, None), (tmp_path / "back.db", None)):
        opened = SQLiteBackend(file, secret)
        connection = opened._connections.get()
        assert packed(connection) == [32] * 15
        again = index_of(connection).nearest(connection, stored[3], 5)
        assert np.array_equal(again, expected)
        opened.close()


def test_mirrors_of_spaces_that_were_not_searched_for_long_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MIRRORED_SPACES", 2)
    mirrors = Mirrors()
    first, second = mirrors.of("first"), mirrors.of("second")
    assert mirrors.of("first") is first
    third = mirrors.of("third")
    assert mirrors.of("first") is first
    assert mirrors.of("third") is third
    assert mirrors.of("second") is not second


def test_mirrors_are_let_go_when_they_hold_too_much_but_never_the_one_in_use(
    file: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MIRRORED_BYTES", 3_000)
    mirrors = Mirrors()
    for start, space in ((1, "small"), (11, "large")):
        write(file, rows(start, 10 if space == "small" else 300), start, space=space)
    small = mirrors.of("small")
    vectors_now(small, file, 8)
    large = mirrors.of("large")
    assert mirrors.of("small") is small
    vectors_now(large, file, 8)
    assert mirrors.of("large") is large
    assert mirrors.of("small") is not small


def test_a_forked_child_has_mirrors_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mirrors = Mirrors()
    parents = mirrors.of("here")
    held = mirrors._lock
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert mirrors.of("here") is not parents
    assert mirrors._lock is not held


FILE_SPACE = "default"
HELD = 320


def put_with_vectors(transaction: Steps, id: str, seed: int, pieces: int = 1) -> None:
    chunks = tuple(Chunk(place, place + 1, f"{id} {seed} {place}".encode()) for place in range(pieces))
    transaction.put(Memory(id, "some text"), Derived(Words(text="some text"), chunks, rows(seed, pieces)))


@pytest.fixture
def store(tmp_path: Path) -> SQLiteBackend:
    store = SQLiteBackend(tmp_path / "store.db")
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("test", 8))
        for number in range(HELD + 500):
            put_with_vectors(transaction, f"m{number}", number, pieces=1 + number % 3)
    with writing(store) as transaction:
        for number in range(0, 300, 7):
            put_with_vectors(transaction, f"m{number}", number + 100_000)
            transaction.remove(FILE_SPACE, f"m{number + 1}")
            put_with_vectors(transaction, f"m{HELD + number}", number + 200_000, pieces=2)
    with writing(store) as transaction:
        transaction.remove(FILE_SPACE, "m100")
        put_with_vectors(transaction, "m200", 7, pieces=4)
    return store


@pytest.mark.slow
def test_reading_the_vectors_of_a_page_does_not_load_the_space(store: SQLiteBackend) -> None:
    ids = [memory.id for memory in store.iterate(FILE_SPACE, Filter())]
    assert store.vectors(FILE_SPACE, ids).keys() == set(ids)
    assert not store._mirrors()._by_space


@pytest.mark.slow
def test_what_was_written_last_counts(store: SQLiteBackend) -> None:
    found = store.vectors(FILE_SPACE, ["m200", "m7", "m100", "m8", f"m{HELD + 14}", "nobody"])
    assert set(found) == {"m200", "m7", f"m{HELD + 14}"}
    assert np.array_equal(found["m200"], rows(7, 4))
    assert np.array_equal(found["m7"], rows(100_007, 1))
    assert np.array_equal(found[f"m{HELD + 14}"], rows(200_014, 2))


def test_a_store_without_vectors_has_none(tmp_path: Path) -> None:
    assert SQLiteBackend(tmp_path / "empty.db").vectors(FILE_SPACE, ["m"]) == {}


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_vector_is_not_replaced_by_another(tmp_path: Path, lost: int) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(
        store,
        *((memory(id), derived(id, unit(*row))) for id, row in zip("abc", ((1,), (0, 1), (0, 0, 1)), strict=True)),
    )
    digests = [digest_of(f"{id}/0") for id in "abc"]
    assert set(store.vectors_for(digests)[1]) == set(digests)
    with store._connected() as connection:
        chunks = [int(id) for (id,) in connection.execute("SELECT id FROM chunk ORDER BY id")]
        search.remove(connection, 1, [chunks[lost]])
    _, found = store.vectors_for(digests)
    assert set(found) == set(digests) - {digests[lost]}
    store.close()


def test_the_same_text_is_embedded_once(tmp_path: Path) -> None:
    embedder = WordBag()
    with MemoryStore(tmp_path / "s.db", embedder=embedder) as store:
        store.remember("copper kettle", on_conflict="ignore")
        store.remember("copper kettle", on_conflict="ignore")
    assert embedder.asked.count("copper kettle") == 1


def test_a_new_tag_writes_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with MemoryStore(path, embedder="hashing") as store:
        store.remember("copper kettle", id="m1", on_conflict="ignore")
        reader = apsw.Connection(str(path))
        tables = ("SELECT * FROM chunk", "SELECT * FROM vector", "SELECT * FROM removed")
        before = [reader.execute(table).fetchall() for table in tables]
        store.edit("m1", tags=["kitchen"])
        assert [reader.execute(table).fetchall() for table in tables] == before
        assert store.recall("kitchen", k=1, strategy="keyword")[0].memory.id == "m1"
        store.edit("m1", text="iron kettle")
        assert [reader.execute(table).fetchall() for table in tables] != before
        assert len(reader.execute(tables[1]).fetchall()) == 2  # the earlier text has its own still
        reader.close()


def test_a_pending_memory_whose_vectors_are_there_is_pending_no_more_when_it_is_embedded(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember("copper kettle", on_conflict="ignore")
        writer = apsw.Connection(str(tmp_path / "s.db"))
        writer.execute("UPDATE content SET pending = 1")
        writer.close()
        assert store.catch_up() == 1
        assert store.catch_up() == 0


def test_an_earlier_state_is_searched_without_reading_all_that_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came later is left out by the number of its content, of words and of vectors."""
    monkeypatch.setattr(candidates, "WEIGHED", 3)
    for module in (candidates, search):
        monkeypatch.setattr(module, "POSTINGS_READ", 300)
    monkeypatch.setattr(search, "SMALL", 64)
    read: list[Filter] = []
    allowed = search.SQLiteIndex.allowed

    def noted(index: search.SQLiteIndex, where: Filter, replaced: Filter | None = None) -> Any:
        read.append(where)
        return allowed(index, where, replaced)

    monkeypatch.setattr(search.SQLiteIndex, "allowed", noted)
    clock = count(1_760_000_000).__next__
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=clock) as store:
        old = store.remember_many([f"kettle {n} of the old house" for n in range(300)])
        edited = store.edit(old[7].id, text="The kettle of Marta is in the old house")
        then = clock()
        store.edit(old[8].id, text="The kettle of Marta is in another house")
        store.tag(*(each.id for each in old[:40]), add=["later"])
        store.remember_many([f"kettle {n} of the new house" for n in range(900)])
        assert store.recall("Marta", 3, as_of=then)[0].memory.text == edited.text
        hits = store.recall("kettle", 20, as_of=then)
        assert {hit.memory.id for hit in hits} <= {each.id for each in old}
        assert len(hits) == 20 and "another" not in " ".join(hit.memory.text for hit in hits)
    assert not read


@pytest.mark.slow
@pytest.mark.parametrize("case", ["trashed", "undone", "by tag", "as of", "agent"])
@pytest.mark.parametrize("strategy", ["keyword", "auto"])
def test_a_common_word_finds_what_lies_behind_many_newer_texts(
    case: str, strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "WEIGHED", 3)
    for module in (candidates, search):
        monkeypatch.setattr(module, "POSTINGS_READ", 300)
    file, clock = tmp_path / "s.db", count(1_760_000_000).__next__
    capabilities = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with (
        MemoryStore(file, embedder=WordBag(), clock=clock, agent="ada", capabilities=capabilities) as ada,
        MemoryStore(file, embedder=WordBag(), clock=clock, agent="bob") as bob,
    ):
        written = ada.remember_many([{"text": f"kettle {n} of the old house", "tags": ["old"]} for n in range(5)])
        then = clock()
        newer = bob.remember_many([f"kettle {n} in the new kitchen" for n in range(400)])
        reader, options = (ada if case == "agent" else bob), dict[str, Any]()
        if case == "trashed":
            bob.forget(*(each.id for each in newer))
        elif case == "undone":
            bob.undo()
        elif case == "by tag":
            options = {"all_tags": ["old"]}
        elif case == "as of":
            options = {"as_of": then}
        hits = reader.recall("kettle", 5, strategy=strategy, **options)
    assert {hit.memory.id for hit in hits} == {each.id for each in written}
    assert all(any(reason.startswith("words") for reason in map(str, hit.why)) for hit in hits)


@pytest.mark.usefixtures("small")
def test_others_write_while_the_signs_of_a_space_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, written = tmp_path / "s.db", []
    measure = signs.measure

    def beside(*arguments: Any) -> Any:
        with apsw.Connection(str(path)) as other:  # waits for nobody
            other.execute("INSERT OR REPLACE INTO meta VALUES ('beside', 1)")
        written.append(True)
        return measure(*arguments)

    monkeypatch.setattr(signs, "measure", beside)
    with MemoryStore(path, embedder=WordBag()) as store:
        store.remember_many([f"kettle {number} of the old house" for number in range(256)])
    rows = apsw.Connection(str(path)).execute("SELECT (SELECT sum(count) FROM signs), vectors FROM centre").fetchall()
    assert (written, rows) == ([True], [(256, 256)])  # a batch


@pytest.mark.usefixtures("small")
def test_what_another_process_measured_meanwhile_stands(file: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, measure = families(1, 600), signs.measure
    search.write(file, SPACE, range(1, 601), range(1, 601), stored)

    def beside(*arguments: Any) -> Any:
        measurement = measure(*arguments)
        monkeypatch.setattr(signs, "measure", measure)
        search.pack_signs(file, SPACE, stored.shape[1])
        return measurement

    monkeypatch.setattr(signs, "measure", beside)
    search.pack_signs(file, SPACE, stored.shape[1])
    assert file.execute("SELECT count(*), max(number) FROM centre").fetchall() == [(1, 1)]
    assert file.execute("SELECT sum(count), count(DISTINCT last) FROM signs").fetchall() == [(576, 18)]
    assert not list(signs.faults(file))


@pytest.mark.usefixtures("small")
def test_what_was_measured_of_vectors_that_were_cleared_meanwhile_is_not_written(
    file: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, measure = families(1, 600), signs.measure
    search.write(file, SPACE, range(1, 601), range(1, 601), stored)

    def beside(*arguments: Any) -> Any:
        measurement = measure(*arguments)
        search.clear(file)  # for another embedder
        search.write(file, SPACE, range(601, 701), range(601, 701), families(2, 100))
        return measurement

    monkeypatch.setattr(signs, "measure", beside)
    search.pack_signs(file, SPACE, stored.shape[1])
    assert file.execute("SELECT (SELECT count(*) FROM centre), (SELECT count(*) FROM signs)").fetchall() == [(0, 0)]
