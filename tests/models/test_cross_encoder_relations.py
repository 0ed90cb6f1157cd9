"""The shipped cross-encoder as the judge of two texts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple

import pytest

from nacre.errors import ConflictModelError
from nacre.models import cross_encoder
from nacre.models.cross_encoder import TOKENS_A_RUN, ShippedConflictModel, differ_in_one_place
from nacre.models.onnx_session import runs

PAIRS = [
    ("Bob lives in Paris.", "Bob moved to Berlin."),
    ("Deploys run on Friday", "Deploys do not run on Friday"),
    ("The office is in Berlin", "Berlin is where the office is"),
    ("Tea is nice.", "The bus is late."),
]


@pytest.fixture
def model() -> Iterator[ShippedConflictModel]:
    """Which has read nothing yet."""
    cross_encoder._read_before.clear()
    yield ShippedConflictModel()
    cross_encoder._read_before.clear()


@pytest.mark.slow
def test_each_pair_gets_four_probabilities_of_which_the_right_one_is_high(model: ShippedConflictModel) -> None:
    relations = model.relations(PAIRS)
    assert [sum(astuple(each)[:4]) for each in relations] == pytest.approx([1.0] * 4)
    moved, denied, same, other = relations
    assert min(moved.contradiction + moved.update, denied.contradiction, same.duplicate, other.unrelated) > 0.9


def test_a_change_that_does_not_name_its_subject_is_seen_as_a_version(model: ShippedConflictModel) -> None:
    older = "CI = Jenkins on the grey box under the desk, port 8080"
    said = model.relations(
        [(older, "Grey box unplugged. Builds live in Buildkite."), (older, "The desk got a new lamp.")]
    )
    replaced, resembling = (relation.version or 0.0 for relation in said)
    assert replaced > 0.6 > 0.2 > resembling


def test_what_is_said_of_a_pair_does_not_depend_on_the_others_of_its_call(model: ShippedConflictModel) -> None:
    together = model.relations(PAIRS)
    cross_encoder._read_before.clear()
    for pair, relation in zip(PAIRS, together, strict=True):
        assert astuple(model.relations([pair])[0]) == pytest.approx(astuple(relation), abs=1e-5)


def test_no_pairs_need_no_model_and_a_pair_that_was_read_is_not_read_again(
    model: ShippedConflictModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = model.relations(PAIRS[:1])

    def never() -> None:
        raise AssertionError

    monkeypatch.setattr(cross_encoder, "graph", never)
    assert model.relations([]) == []
    assert ShippedConflictModel().relations([PAIRS[0], PAIRS[0]]) == first * 2


@pytest.mark.parametrize(
    ("older", "newer", "one_place"),
    [
        ("The office is in Berlin", "The office is in Munich", True),
        ("Use flake8 for linting", "Use ruff for linting", True),
        ("Our CEO is Maria Lopez.", "Our CEO is John Kim.", True),
        ("Iron in 2021: 2.4 g", "Iron in 2023: 1.9 g", False),
        ("The office is in Berlin", "The office is in Berlin", False),
        ("The office is in Berlin", "The office is in Berlin now", False),
        ("Bob lives in Paris.", "Bob moved to Berlin.", False),
        ("tea", "coffee", False),
        ("", "", False),
    ],
)
def test_texts_that_differ_in_one_place_have_a_head_of_their_own(older: str, newer: str, one_place: bool) -> None:
    assert differ_in_one_place(older, newer) is one_place


def test_another_value_in_one_place_is_a_conflict_and_another_thing_is_none(model: ShippedConflictModel) -> None:
    moved, other = model.relations(
        [("The office is in Berlin", "The office is in Munich"), ("Anna speaks French.", "Anna speaks German.")]
    )
    assert moved.contradiction + moved.update > 0.9
    assert other.unrelated > 0.5


@pytest.mark.slow
def test_texts_of_any_length_and_script_are_read(model: ShippedConflictModel) -> None:
    long = "The meeting about the roof is on Monday. " * 300
    for relation in model.relations([("", ""), (long, long), ("显微镜", "\ud800 \x00"), ("[SEP]", "[CLS] x")]):
        assert sum(astuple(relation)[:4]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Übung macht den Meister, sagt meine Oma", "Ubung macht den Meister, sagt meine Oma"),
        ("The roof is new. " * 100 + "Anna has paid.", "The roof is new. " * 100 + "Ben was fired."),
        ("ዛሬ ዝናብ ይዘንባል", "ሱቁ ተዘግቷል ነገ"),
    ],
    ids=["accents", "beyond the limit", "a script that it does not know"],
)
def test_nothing_is_said_of_texts_that_the_model_cannot_tell_apart(
    model: ShippedConflictModel, older: str, newer: str
) -> None:
    assert model.relations([(older, newer)])[0].unrelated == 1.0


def test_a_text_that_was_read_does_not_stay_in_the_process(model: ShippedConflictModel) -> None:
    model.relations(PAIRS)
    assert all(isinstance(name, bytes) and len(name) == 64 for name in cross_encoder._read_before)
    assert len(cross_encoder._read_before) == len(PAIRS)


def test_damaged_constants_are_reported_as_the_model_is(
    model: ShippedConflictModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(name: str) -> None:
        raise ValueError(f"{name} is damaged")

    monkeypatch.setattr(cross_encoder, "shipped", damaged)
    cross_encoder.constants.cache_clear()
    with pytest.raises(ConflictModelError, match="is damaged"):
        _ = model.noted


@pytest.mark.slow
def test_several_threads_share_one_session(model: ShippedConflictModel) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: model.relations(PAIRS), range(4)))
    assert all(answer == answers[0] for answer in answers)


def test_a_conflict_is_sure_later_than_it_is_noted(model: ShippedConflictModel) -> None:
    assert 0.5 <= model.noted < model.sure < 1


def test_a_damaged_file_is_named_in_the_error(model: ShippedConflictModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> None:
        raise ValueError("cross_encoder.bin is damaged")

    monkeypatch.setattr(cross_encoder, "graph", damaged)
    with pytest.raises(ConflictModelError, match=r"cross_encoder\.bin is damaged.*exact rules alone"):
        model.relations(PAIRS)


@pytest.mark.slow
def test_naming_the_model_loads_nothing() -> None:
    code = (
        "import sys; from nacre.models.cross_encoder import ShippedConflictModel; ShippedConflictModel(); "
        "assert not {'numpy', 'onnxruntime'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_onnxruntime_it_is_said_that_rules_judge_alone(
    model: ShippedConflictModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross_encoder._graph.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConflictModelError, match="onnxruntime is not installed"):
        model.relations(PAIRS)


def test_runs_hold_pairs_of_one_length_and_are_bounded() -> None:
    lengths = [8, 128, 8, 128, 128, 9]
    result = list(runs(lengths, TOKENS_A_RUN))
    assert sorted(position for run in result for position in run) == list(range(len(lengths)))
    assert all(len({lengths[position] for position in run}) == 1 for run in result)
    assert all(sum(lengths[position] for position in run) <= TOKENS_A_RUN for run in result)
