"""The nearest are the nearest: against brute force, over edits, removals and two processes' worth of readers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nacre.model import Filter, Operation
from nacre.protocols import Change, Chunk, Derived, EmbedderBound, EmbedderIdentity, Vectors, Words
from nacre.storage.sqlite import SQLiteBackend, search
from nacre.storage.sqlite.search import RESCORED, VectorIndex
from tests.samples import digest_of, memory, vectors_now, writing

DIMENSIONS = 16
NO_FILE = apsw.Connection(":memory:")  # an index without signs reads nothing
SPACES = ("one", "two")


def random_rows(random: np.random.Generator, count: int, dimensions: int = DIMENSIONS) -> Vectors:
    rows = random.standard_normal((count, dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def filled(rows: Vectors) -> VectorIndex:
    index = VectorIndex(rows.shape[1])
    numbers = np.arange(1, len(rows) + 1)
    for start in range(0, len(rows), 37):
        part = slice(start, start + 37)
        index.append(numbers[part], numbers[part] * 10, rows[part].astype(np.float16))
    return index


@given(
    seed=st.integers(0, 2**32), count=st.integers(1, RESCORED), dimensions=st.integers(1, 130),
    limit=st.integers(1, 20), gone=st.sets(st.integers(1, RESCORED)),
    only=st.none() | st.sets(st.integers(1, RESCORED)),
)  # fmt: skip
def test_without_signs_the_index_is_exact(
    seed: int, count: int, dimensions: int, limit: int, gone: set[int], only: set[int] | None
) -> None:
    random = np.random.default_rng(seed)
    rows = random_rows(random, count, dimensions)
    index, asked = filled(rows), random_rows(random, 1, dimensions)[0]
    index.discard(sorted(gone))
    allowed = None if only is None else np.asarray(sorted(10 * each for each in only), np.int64)
    chunks, owners, cosines = index.nearest(NO_FILE, asked, limit, allowed)
    exact = rows.astype(np.float16).astype(np.float32) @ asked
    alive = [i for i in range(count) if i + 1 not in gone and (only is None or i + 1 in only)]
    expected = sorted(exact[alive], reverse=True)[:limit]
    assert np.allclose(cosines, expected, atol=1e-5)
    assert set(chunks) <= {i + 1 for i in alive}
    assert np.array_equal(owners, chunks * 10)
    assert np.allclose(exact[chunks - 1], cosines, atol=1e-5)


@given(seed=st.integers(0, 2**32), count=st.integers(1, 300), dimensions=st.integers(1, 200))
def test_the_distance_by_signs_counts_the_numbers_on_different_sides_of_the_mean(
    seed: int, count: int, dimensions: int
) -> None:
    random = np.random.default_rng(seed)
    rows, mean = random_rows(random, count, dimensions), random_rows(random, 1, dimensions)[0]
    bits = search.sign_bits(rows, mean)
    expected = ((rows > mean) != (rows[0] > mean)).sum(axis=1)
    distances = search.differing(bits, bits[:, 0], count)
    assert np.array_equal(distances, expected)
    left_out = random.random(count) < 0.2
    distances[left_out] = search.FAR
    wanted = int(random.integers(1, count + 3))
    assert sorted(distances[search.lowest(distances, wanted)]) == sorted(expected[~left_out])[:wanted]


@pytest.mark.slow
@pytest.mark.accepts("L8.12")
def test_with_signs_nearly_all_of_the_best_are_found_on_data_with_neighbours(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    centres = random_rows(random, 300, 384)
    rows = np.repeat(centres, 30, axis=0) + random.standard_normal((9000, 384)).astype(np.float32) * 0.03
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    store = SQLiteBackend(tmp_path / "s.db")
    with store._connected() as file, file:
        search.write(file, "here", range(1, 9001), range(1, 9001), rows)
        search.pack_signs(file, "here", rows.shape[1])
        index, found = vectors_now(search.Mirror("here"), file, 384), 0
        assert index.centre is not None
        for asked in centres[:50]:
            best = set(np.argsort(-(rows.astype(np.float16).astype(np.float32) @ asked))[:10] + 1)
            found += len(best & set(index.nearest(file, asked, 10)[0]))
    store.close()
    assert found >= 0.97 * 500


class TwoReaders(RuleBasedStateMachine):
    """One store writes, another on the same file only reads; both must answer as a list of vectors would."""

    @initialize(seed=st.integers(0, 2**32))
    def open(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "store.db"
        self.writer, self.reader = SQLiteBackend(path), SQLiteBackend(path)
        self.model: dict[tuple[str, str], Vectors] = {}

    @rule(
        space=st.sampled_from(SPACES),
        ids=st.lists(st.integers(0, 5), min_size=1, max_size=4),
        chunks=st.integers(1, 3),
    )
    def put(self, space: str, ids: list[int], chunks: int) -> None:
        with writing(self.writer) as transaction:
            for id in ids:
                rows = random_rows(self.random, chunks)
                cut = tuple(Chunk(i, i + 1, digest_of(f"{rows[i]}")) for i in range(chunks))
                transaction.put(memory(str(id), space=space), Derived(Words(), cut, rows))
                self.model[space, str(id)] = rows

    @rule(space=st.sampled_from(SPACES), ids=st.lists(st.integers(0, 5), min_size=1, max_size=4))
    def remove(self, space: str, ids: list[int]) -> None:
        with writing(self.writer) as transaction:
            for id in ids:
                transaction.remove(space, str(id))
                self.model.pop((space, str(id)), None)

    @rule(space=st.sampled_from(SPACES), id=st.integers(0, 5))
    def fail_midway(self, space: str, id: int) -> None:
        known = self.writer.get(space, str(id))
        made = Derived(Words(), (Chunk(0, 1, b"x"),), random_rows(self.random, 1))
        changes = [Change(None, memory("x", space=space), made), *([] if known is None else [Change(known, None)])]
        with pytest.raises(ZeroDivisionError):
            self.writer.commit(changes, None, Operation("write", "tester", 0.0, "b1"), lambda: 1 / 0)

    @rule(dice=st.integers(1, 6))
    def change_embedder(self, dice: int) -> None:
        if dice == 6:  # seldom: after it nothing old is left that could be mistaken
            self.writer.commit([EmbedderBound(EmbedderIdentity("another", DIMENSIONS), anew=True)])
            self.model = {key: rows[:0] for key, rows in self.model.items()}

    @rule()
    def ask_the_reader(self) -> None:
        """Now and then, so that it has several acts to catch up with."""
        for space in SPACES:
            self.compare(self.reader, space)

    @invariant()
    def the_writer_and_the_file_agree(self) -> None:
        if hasattr(self, "writer"):
            assert self.writer.health().vectors == sum(len(rows) for rows in self.model.values())
            for space in SPACES:
                self.compare(self.writer, space)

    def compare(self, store: SQLiteBackend, space: str) -> None:
        asked = random_rows(self.random, 1)[0]
        halves = {
            id: rows.astype(np.float16).astype(np.float32)
            for (owner, id), rows in self.model.items()
            if owner == space and len(rows)
        }
        expected = sorted(((float((rows @ asked).max()), id) for id, rows in halves.items()), reverse=True)
        found = store.by_vector(space, asked, Filter(), 50)
        assert [match.id for match in found] == [id for _, id in expected]
        assert np.allclose([match.score for match in found], [score for score, _ in expected], atol=1e-5)

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            for store in (self.writer, self.reader):
                for space in SPACES:
                    self.compare(store, space)
            self.writer.close()
            self.reader.close()
            self.folder.cleanup()


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs are packed, taken anew and trimmed within a few dozen steps instead of thousands; the best 400 by signs are
    all that there are, so that answers stay exact."""
    if request.cls is not None:
        monkeypatch.setattr(search, "BLOCK", 2)
        monkeypatch.setattr(search, "SMALL", 5)
        monkeypatch.setattr(search, "PACKED_AT_ONCE", 7)
        monkeypatch.setattr(search, "REMOVALS_LOGGED", 12)


TestTwoReaders = pytest.mark.slow(TwoReaders.TestCase)
TestTwoReaders.settings = settings(stateful_step_count=40)
