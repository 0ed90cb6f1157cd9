"""Grouping by vectors: as a plain loop over all pairs would do it, only faster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nacre.lifecycle import clustering
from nacre.lifecycle.clustering import by_centroid, by_seed, mean_direction
from nacre.protocols import Vectors

# Small whole numbers: their products are exact in any order, so that a threshold falls the same way for both.
matrices = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(-3, 3), min_size=width, max_size=width), min_size=1, max_size=40)
)


def seeded(rows: list[list[int]], threshold: float) -> list[tuple[int, ...]]:
    """Every seed compared with every row, as the reference does it."""
    taken: set[int] = set()
    groups = []
    for seed in range(len(rows)):
        if seed in taken:
            continue
        near = [
            row
            for row in range(len(rows))
            if row != seed and row not in taken and dot(rows[seed], rows[row]) >= threshold
        ]
        taken.update((seed, *near))
        groups.append((seed, *near))
    return groups


def dot(one: list[int], other: list[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def matrix(rows: list[list[int]]) -> Vectors:
    return np.array(rows, np.float32)


def units(count: int, dimensions: int, seed: int) -> Vectors:
    found = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    directions: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return directions


@given(rows=matrices, threshold=st.integers(-4, 12))
def test_groups_by_seed_are_those_of_a_plain_loop_over_all_pairs(rows: list[list[int]], threshold: int) -> None:
    assert [tuple(group) for group in by_seed(matrix(rows), threshold)] == seeded(rows, threshold)


@given(rows=matrices, threshold=st.integers(-4, 12), block=st.integers(1, 7))
def test_the_size_of_a_block_changes_nothing(rows: list[list[int]], threshold: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "BLOCK", block)
        assert [tuple(group) for group in by_seed(matrix(rows), threshold)] == seeded(rows, threshold)


def test_more_rows_than_a_block_on_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = units(300, 8, seed=3)
    at_once = [tuple(group) for group in by_seed(vectors, 0.71)]
    monkeypatch.setattr(clustering, "BLOCK", 16)
    assert [tuple(group) for group in by_seed(vectors, 0.71)] == at_once
    assert 20 < len(at_once) < 250
    assert sorted(row for rows in at_once for row in rows) == list(range(300))


def test_the_mean_direction_of_a_group_has_the_length_of_one() -> None:
    [group] = by_seed(units(5, 3, seed=1), -1.0)
    assert group == [0, 1, 2, 3, 4]
    assert float(np.linalg.norm(mean_direction(units(5, 3, seed=1)[group]))) == pytest.approx(1.0)


@given(seed=st.integers(0, 10_000), count=st.integers(0, 40), threshold=st.floats(-0.5, 0.99))
def test_groups_by_centroid_are_those_of_a_plain_sequence(seed: int, count: int, threshold: float) -> None:
    """M7: the first unassigned is the seed; each later one joins if near enough to the running average."""
    vectors = units(count, 3, seed)
    free, groups = list(range(count)), []
    while free:
        members = [free.pop(0)]
        for row in list(free):
            cosine = float(vectors[row] @ mean_direction(vectors[members]))
            assume(abs(cosine - threshold) > 1e-5)
            if cosine >= threshold:
                members.append(row)
                free.remove(row)
        groups.append(tuple(members))
    assert [tuple(group) for group in by_centroid(vectors, threshold)] == groups


def test_a_centroid_moves_with_those_who_join() -> None:
    """A chain that a seed would cut: the third is too far from the first, but not from the middle."""
    angles = np.radians([0, 30, 50])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    threshold = float(np.cos(np.radians(40)))
    assert [tuple(group) for group in by_centroid(vectors, threshold)] == [(0, 1, 2)]
    assert [tuple(group) for group in by_seed(vectors, threshold)] == [(0, 1), (2,)]


def test_what_points_nowhere_is_alone() -> None:
    vectors = np.zeros((3, 2), np.float32)
    assert [tuple(group) for group in by_centroid(vectors, 0.5)] == [(0,), (1,), (2,)]
    assert [tuple(group) for group in by_seed(vectors, 0.5)] == [(0,), (1,), (2,)]
    assert not np.isnan(mean_direction(vectors[by_seed(vectors, 0.5)[0]])).any()
    assert by_seed(np.zeros((0, 2), np.float32), 0.5) == by_centroid(np.zeros((0, 2), np.float32), 0.5) == []
